"""Tests whose processes work together: on POSIX systems only."""

import sys
import zlib
from pathlib import Path

import pytest

from compat_tests.conftest import SEED

collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []
SHARES = 4


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Several processes that share a busy machine may need long; without the native build CI takes the day's share."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(900))
            if zlib.crc32(f"{SEED} {item.nodeid}".encode()) % SHARES:
                item.add_marker(pytest.mark.with_native)
