"""Packages made for PyTorch, unchanged: the programs of `ecosystem/` under the alias, and on PyTorch if it is there."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from .ecosystem.running import PROGRAMS, apart, is_installed, package_of, run

pytestmark = pytest.mark.any_build


@pytest.mark.parametrize("program", PROGRAMS, ids=package_of)
def test_package(program: Path) -> None:
    if not is_installed(package_of(program)):
        pytest.skip(f"{package_of(program)} is not installed")
    ours = run(program, "-m", "torchlite")
    assert not ours.failed, ours.errors
    if importlib.util.find_spec("torch") is not None:
        assert not apart(ours, run(program))[:10]
