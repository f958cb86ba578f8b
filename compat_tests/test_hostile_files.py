"""Files made by hand to do harm do none, and what PyTorch refuses of them is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from compat_tests import hostile

# What PyTorch stumbles over for reasons of its own: records that are not needed, and names in other cases.
LOADED_HERE_ALONE = {
    "zip with an evil serialization id", "zip with an alignment of text", "zip with a name like the pickle's",
}  # fmt: skip
NAMES = list(hostile.files())


def ended(*arguments: str) -> dict[str, str]:
    """How loading the files ends, in a process of its own."""
    command = [sys.executable, "-m", "compat_tests.hostile", *arguments]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=one_thread)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    return ended()


@pytest.mark.parametrize("name", NAMES)
def test_no_harm(outcomes, name):
    assert not outcomes[name].startswith("harm")


def test_what_pytorch_refuses_is_refused(outcomes):
    pytest.importorskip("torch")
    loaded = [name for name, outcome in outcomes.items() if outcome == "loaded" and not name.startswith("safetensors")]
    theirs = ended("--library", "torch", *loaded)
    refused = {name for name, outcome in theirs.items() if outcome != "loaded" and not outcome.startswith("harm")}
    assert refused == LOADED_HERE_ALONE
