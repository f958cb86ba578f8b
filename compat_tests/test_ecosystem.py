"""Packages made for PyTorch, unchanged: the programs of `ecosystem/` under the alias, and on PyTorch if it is there."""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NEEDS = {"skorch": ["sklearn"], "timm": ["torchvision"]}
OPTIONS = {"timm": ["--lazy"]}


def output(*command: str) -> str:
    paths = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HF_HUB_OFFLINE": "1"}
    run = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    return run.stdout


def number(word: str) -> float | None:
    try:
        return float(word.strip("()[]{},:"))
    except ValueError:
        return None


def same(ours: str, theirs: str) -> bool:
    """Whether two words are one, or numbers that rounding can tell apart."""
    a, b = number(ours), number(theirs)
    return ours == theirs or (a is not None and b is not None and math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-5))


@pytest.mark.parametrize("program", sorted(HERE.glob("ecosystem/with_*.py")), ids=lambda program: program.stem[5:])
def test_package(program: Path) -> None:
    package = program.stem.removeprefix("with_")
    for needed in (package, *NEEDS.get(package, ())):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    ours = output("-m", "torchlite", *OPTIONS.get(package, ()), str(program))
    if importlib.util.find_spec("torch") is None:
        return
    theirs = output(str(program))
    apart = [pair for pair in zip_longest(ours.split(), theirs.split(), fillvalue="") if not same(*pair)]
    assert not apart, f"{len(apart)} words differ: {apart[:10]}"
