"""The examples of `torch.func` run unmodified in both libraries, and print the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples" / "func").glob("*.py"))
NUMBER = re.compile(r"-?\d+\.\d+")


def printed(*command):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", *command], capture_output=True, text=True, env=environment, check=False
    )
    assert not ran.returncode, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example):
    wanted, found = printed(str(example)), printed("-m", "torchlite", str(example))
    assert NUMBER.sub("#", found) == NUMBER.sub("#", wanted)
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (found, wanted)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-3, abs=2e-4)
    assert "False" not in wanted
