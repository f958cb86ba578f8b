"""Size and speed beside PyTorch, as one chart: ``python -m bench.picture`` writes ``docs/pictures/beside_torch.svg``.

Sizes are those of the installed files, with what each library requires; of torchlite, of the checkout's package. What
is timed is a step of training of the models of ``bench/training.py``, in one thread, and an import beyond NumPy's.
"""

from __future__ import annotations

import importlib
import os
import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from .import_time import beyond_numpy
from .report import chart
from .timing import Row, measure

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "pictures" / "beside_torch.svg"


def installed(name: str, seen: set[str]) -> int:
    """The bytes of a distribution and of what it requires."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return 0
    seen.add(name)
    size = sum(file.locate().stat().st_size for file in found.files or () if Path(file.locate()).exists())
    for requirement in found.requires or ():
        needed = re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()
        if "extra ==" not in requirement and needed not in seen:
            size += installed(needed, seen)
    return size


def row(name: str, ours: float, theirs: float) -> Row:
    return Row("torchlite beside PyTorch", name, ours, theirs, ours / theirs)


def main() -> None:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"
    own = sum(path.stat().st_size for path in (ROOT / "torchlite").rglob("*") if path.suffix in (".py", ".pyi", ".so"))
    needed: set[str] = set()
    ours = own + sum(installed(name, needed) for name in ("numpy", "ml_dtypes", "typing_extensions"))
    rows = [
        row("installed size, with what is required", ours, installed("torch", set())),
        row("import, beyond NumPy", beyond_numpy("torchlite", 5), beyond_numpy("torch", 5)),
    ]
    libraries = tuple(importlib.import_module(name) for name in ("torchlite", "torch"))
    for library in libraries:
        library.set_num_threads(1)
    for workload in importlib.import_module("bench.training").WORKLOADS:
        timed = measure("training", workload, libraries, 0.15, 1)
        rows.append(row(f"a training step: {workload.name}", timed.microseconds, timed.against))
    drawn = chart("size and time", rows).replace("time: time of", "time of").replace("the other's", "PyTorch's")
    PICTURE.write_text(drawn)
    for each in rows:
        print(f"{each.name:<44}{each.ratio:8.2f}")


if __name__ == "__main__":
    main()
