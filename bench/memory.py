"""The most memory that training steps hold, in torchlite and in PyTorch.

    python -m bench --memory

Each library takes each model's steps in a process of its own, where the system's own count of resident pages is read:
before a step, and the highest during it. `malloc` is told to give memory back to the system at once.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

LAYERS, WIDTH, BATCH = 12, 1024, 1024
TIMES = 512  # as large as the batches whose time is measured: the tenths of a MiB that malloc keeps are little then
LARGER = {"linear_regression": 32}  # of which a step holds next to nothing


def resident(what: str) -> int:
    """A line of the kernel's account of this process, in bytes."""
    found = re.search(rf"{what}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found.group(1)) * 1024


def deep(torch: Any) -> Callable[[], Any]:
    """A step of a network of a dozen wide layers."""
    torch.manual_seed(0)
    weights = [(torch.randn(WIDTH, WIDTH) / WIDTH**0.5).requires_grad_() for _ in range(LAYERS)]
    inputs, targets = torch.randn(BATCH, WIDTH), torch.randn(BATCH, WIDTH)

    def step() -> None:
        x = inputs
        for w in weights:
            x = torch.relu(x @ w)
        loss = ((x - targets) ** 2).mean()
        del x
        loss.backward()
        with torch.no_grad():
            for w in weights:
                w.sub_(w.grad, alpha=0.01)
                w.grad = None

    return step


def peak_in(library: str, model: str) -> int:
    """The bytes held at most during a step, beyond those held before it."""
    from .training import step_of

    torch = __import__(library)
    torch.set_num_threads(1)
    step = deep(torch) if model == "deep" else step_of(torch, model, TIMES * LARGER.get(model, 1))
    for _ in range(3):
        step()
    ctypes.CDLL(None).malloc_trim(0)
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forget the highest so far
    step()
    return resident("VmHWM") - before


def main() -> None:
    from .training import MODELS

    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TOP_PAD_": "0", "OMP_NUM_THREADS": "1"}
    print("| MiB beyond what was held before the step | torchlite | PyTorch | ratio |\n|---|--:|--:|--:|")
    for model in ("deep", *MODELS):
        peaks = []
        for library in ("torchlite", "torch"):
            command = [sys.executable, "-m", "bench.memory", library, model]
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
            peaks.append(json.loads(done.stdout))
        print(f"| {model} | {peaks[0] / 2**20:.1f} | {peaks[1] / 2**20:.1f} | {peaks[0] / peaks[1]:.2f} |", flush=True)


if __name__ == "__main__":
    print(json.dumps(peak_in(*sys.argv[1:])))
