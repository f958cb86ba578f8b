"""The most memory that a training step of a small network holds, in torchlite and in PyTorch.

    python -m bench.memory

Each library runs in a process of its own, where the system's own count of resident pages is read: before the step, and
the highest during it. `malloc` is told to give memory of this size back to the system at once.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

LAYERS, WIDTH, BATCH = 12, 1024, 1024


def resident(what: str) -> int:
    """A line of the kernel's account of this process, in bytes."""
    found = re.search(rf"{what}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found.group(1)) * 1024


def step_in(library: str) -> dict[str, int]:
    """Take a few steps; the bytes held at most during the last, beyond those held before it."""
    torch = __import__(library)
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

    step()
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forget the highest so far
    step()
    return {"peak": resident("VmHWM") - before}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", help="take the steps in this one and print the bytes")
    chosen = parser.parse_args().library
    if chosen:
        print(json.dumps(step_in(chosen)))
        return
    peaks = {}
    for library in ("torch", "torchlite"):
        done = subprocess.run(
            [sys.executable, "-m", "bench.memory", "--library", library],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"},
        )
        peaks[library] = json.loads(done.stdout)["peak"]
        print(f"{library:10} {peaks[library] / 2**20:8.1f} MiB beyond what was held before the step")
    print(f"ratio      {peaks['torchlite'] / peaks['torch']:8.2f}")


if __name__ == "__main__":
    main()
