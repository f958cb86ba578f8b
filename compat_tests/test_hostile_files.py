"""Files that are made to do harm, by hand and by chance, do none, and what PyTorch refuses is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from compat_tests import hostile
from compat_tests.conftest import SEED

pytestmark = pytest.mark.any_build

# What PyTorch stumbles over for reasons of its own: records that are not needed.
LOADED_HERE_ALONE = {"zip with an evil serialization id", "zip with an alignment of text"}
NAMES = list(hostile.files())


def told(program: str, *arguments: str) -> str:
    """What one of the programs of this suite prints, in a process of its own: it forks."""
    command = [sys.executable, "-m", f"compat_tests.{program}", *arguments]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, env=one_thread).stdout


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    return json.loads(told("hostile"))


@pytest.mark.parametrize("name", NAMES)
def test_no_harm(outcomes, name):
    assert not outcomes[name].startswith("harm")


def test_what_pytorch_refuses_is_refused(outcomes):
    pytest.importorskip("torch")
    loaded = [name for name, outcome in outcomes.items() if outcome == "loaded" and not name.startswith("safetensors")]
    theirs = json.loads(told("hostile", "--library", "torch", *loaded))
    refused = {name for name, outcome in theirs.items() if outcome != "loaded" and not outcome.startswith("harm")}
    assert refused == LOADED_HERE_ALONE


def test_damaged_and_forged_files_do_no_harm():
    assert "\nno harm\n" in told("fuzz_files", "--count", "600", "--seed", SEED)
