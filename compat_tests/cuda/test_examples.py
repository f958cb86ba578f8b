"""The training scripts of `examples/`, whose default device is set to CUDA for them: the losses are the CPU's."""

from __future__ import annotations

import os
import re
import shutil
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
# Those that print losses and whose tensors are all made on the default device: neither a DataLoader, whose generator is
# the CPU's, nor what comes from NumPy's arrays follows that.
SCRIPTS = (
    "basics/checkpoints", "basics/custom_function", "basics/hooks", "basics/polynomial_regression",
    "densities/diffusion", "densities/real_nvp", "graphs/gat", "graphs/gcn", "images/style_transfer",
    "images/super_resolution", "science/neural_ode", "science/physics_informed", "science/reptile",
    "text/lstm_language_model", "text/seq2seq_attention",
)  # fmt: skip
SMALLER = {  # by what is said at their top
    "science/time_series": ("WAVES, LENGTH, FUTURE = 24, 80, 40", "WAVES, LENGTH, FUTURE = 4, 12, 4"),
    "text/char_gpt": ("CONTEXT, WIDTH, HEADS, LAYERS = 32, 48, 4, 2", "CONTEXT, WIDTH, HEADS, LAYERS = 8, 16, 2, 2"),
}
ALL = (*SCRIPTS, *SMALLER)
EVERY = os.environ.get("TORCHLITE_CUDA_SHARE") == "all"
TODAY = ALL if EVERY else (ALL[sum(SEED.encode()) % len(ALL)],)


def smaller(script: Path, said: tuple[str, str], folder: Path) -> Path:
    """A copy of a script, with what lies beside it, that says something else."""
    shutil.copytree(script.parent, folder, ignore=lambda *_: ["__pycache__"], dirs_exist_ok=True)
    text = script.read_text()
    assert said[0] in text
    made = folder / script.name
    made.write_text(text.replace(*said))
    return made


def losses(script: Path, device: str) -> list[float]:
    before = torch.get_default_device()
    torch.set_default_device(device)
    try:
        with alias.enable(), numbers_of_the_cpu():
            told = run(script, STEPS)
    finally:
        torch.set_default_device(before)
    assert not told["failure"], told["failure"]
    return [float(loss) for loss in LOSS.findall(str(told["printed"]))]


@pytest.mark.parametrize("script", TODAY)
def test_losses_are_the_cpus(script: str, tmp_path: Path) -> None:
    path = EXAMPLES / f"{script}.py"
    if script in SMALLER:
        path = smaller(path, SMALLER[script], tmp_path)
    on_cpu = losses(path, "cpu")
    assert len(on_cpu) >= int(STEPS)
    assert losses(path, "cuda") == pytest.approx(on_cpu, rel=1e-5)
