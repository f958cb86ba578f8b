"""The training scripts of `examples/`, whose default device is set to CUDA for them: the losses are the CPU's."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import torchlite as torch
from compat_tests.conftest import SEED
from compat_tests.examples import run
from torchlite import alias

from .conftest import numbers_of_the_cpu

EXAMPLES = Path(__file__).parents[2] / "examples"
LOSS = re.compile(r"^step +\d+ +loss +(\S+)", re.MULTILINE)
STEPS = os.environ.get("TORCHLITE_STEPS", "2")
# Those that draw no batches by a DataLoader, whose generator is the CPU's, which no default device of CUDA takes.
SCRIPTS = (
    "basics/checkpoints", "basics/custom_function", "basics/hooks", "basics/polynomial_regression",
    "densities/diffusion", "densities/real_nvp", "graphs/gat", "graphs/gcn", "images/style_transfer",
    "images/super_resolution", "science/neural_ode", "science/physics_informed", "science/reptile",
    "text/lstm_language_model", "text/seq2seq_attention",
)  # fmt: skip
SLOW = ("science/time_series", "text/char_gpt")
EVERY = os.environ.get("TORCHLITE_CUDA_SHARE") == "all"
TODAY = (*SCRIPTS, *SLOW) if EVERY else (SCRIPTS[sum(SEED.encode()) % len(SCRIPTS)],)


def losses(script: str, device: str) -> list[float]:
    before = torch.get_default_device()
    torch.set_default_device(device)
    try:
        with alias.enable(), numbers_of_the_cpu():
            told = run(EXAMPLES / f"{script}.py", STEPS)
    finally:
        torch.set_default_device(before)
    assert not told["failure"], told["failure"]
    return [float(loss) for loss in LOSS.findall(str(told["printed"]))]


@pytest.mark.parametrize("script", TODAY)
def test_losses_are_the_cpus(script: str) -> None:
    on_cpu = losses(script, "cpu")
    assert len(on_cpu) >= int(STEPS)
    assert losses(script, "cuda") == pytest.approx(on_cpu, rel=1e-5)
