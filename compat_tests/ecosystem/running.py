"""A program on torchlite and on PyTorch: what both print, compared, and how long they take."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = sorted(HERE.glob("with_*.py"))
NEEDS = {
    "skorch": ["sklearn"], "timm": ["torchvision"], "stable_baselines3": ["gymnasium"], "jaxtyping": ["beartype"],
    "torch_pruning": ["torchvision"], "opt_einsum_fx": ["opt_einsum"], "transformers_trainer": ["accelerate"],
}  # fmt: skip
_PARTS = {"transformers_trainer": "transformers"}  # programs for a part of a package
_DISTRIBUTIONS = {
    "ignite": "pytorch-ignite", "pyro": "pyro-ppl", "whisper": "openai-whisper", "higher": "higher",
    "lightning_fabric": "lightning", "torchcrf": "pytorch-crf", "laplace": "laplace-torch",
    "backpack": "backpack-for-pytorch", "blitz": "blitz-bayesian-pytorch", "ot": "POT",
    "torchmin": "pytorch-minimize", "focal_loss": "focal-loss-torch",
    "curvlinops": "curvlinops-for-pytorch", "transformers_trainer": "transformers",
}  # fmt: skip


@dataclass
class Run:
    """What became of a process."""

    printed: str
    errors: str
    failed: bool
    seconds: float


def package_of(program: Path) -> str:
    return program.stem.removeprefix("with_")


def version(package: str) -> str:
    return importlib.metadata.version(_DISTRIBUTIONS.get(package, package))


def is_installed(package: str) -> bool:
    wanted = (_PARTS.get(package, package), *NEEDS.get(package, ()))
    return all(importlib.util.find_spec(name) is not None for name in wanted)


def purpose(program: Path) -> str:
    return (ast.get_docstring(ast.parse(program.read_text())) or "").splitlines()[0].rstrip(".")


def run(program: Path, *options: str, limit: float | None = None) -> Run:
    """Run a program, on torchlite with the options `-m torchlite`."""
    paths = [str(HERE.parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HF_HUB_OFFLINE": "1"}
    begun = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, *options, str(program)], capture_output=True, text=True, env=environment, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return Run("", f"took longer than {limit} s", True, time.perf_counter() - begun)
    return Run(done.stdout, done.stderr, done.returncode != 0, time.perf_counter() - begun)


def _number(word: str) -> float | None:
    try:
        return float(word.strip("()[]{},:"))
    except ValueError:
        return None


def _same(ours: str, theirs: str) -> bool:
    """Whether two words are one, or numbers that rounding can tell apart."""
    a, b = _number(ours), _number(theirs)
    return ours == theirs or (a is not None and b is not None and math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-5))


def apart(ours: Run, theirs: Run) -> list[tuple[str, str]]:
    """The words that differ."""
    pairs = zip_longest(ours.printed.split(), theirs.printed.split(), fillvalue="")
    return [pair for pair in pairs if not _same(*pair)]
