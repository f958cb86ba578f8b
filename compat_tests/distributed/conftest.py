"""Tests whose processes work together: on POSIX systems only."""

import sys
from pathlib import Path

import pytest

collect_ignore_glob = ["test_*.py"] if sys.platform == "win32" else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Several processes that share a busy machine may need long."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(900))
