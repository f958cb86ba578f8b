"""On which operators and dtypes torchlite does as PyTorch: ``python -m compat_tests.operators`` writes
``docs/operators.md``.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import torch

from torchlite.testing.progress import progress

from . import op_parity
from .parity import catalog
from .parity.pool import Settings
from .parity.process import fix_hashes
from .parity.result import Result, Task

PAGE = Path(__file__).parent.parent / "docs" / "operators.md"
DTYPES = (
    "bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip
_INTRODUCTION = """
PyTorch has a table of its operators, with inputs to try them on. Each operator runs on those (on {limit} of them,
evenly spread) in both libraries, in every dtype that PyTorch takes: results, their dtypes, shapes, strides and shared
memory are compared, errors, and for `gradients` those of float64. A cell says for how many operators all of it is the
same, of how many. Written on {day} by `python -m compat_tests.operators`; the suite runs more, of fewer dtypes
(`compat_tests/families.toml`), and what it knows to differ, and why, is in `compat_tests/known_gaps.toml`.
"""


def tasks() -> list[Task]:
    """Every operator in every dtype that PyTorch has it in, and its gradients."""
    every = []
    for name, info in op_parity.samples.op_infos().items():
        taken = {str(dtype).removeprefix("torch.") for dtype in info.supported_dtypes("cpu")}
        every += [Task(name, "forward", dtype) for dtype in DTYPES if dtype in taken]
        every += [Task(name, "grad", "float64")] if info.supports_autograd and "float64" in taken else []
    return every


def column(result: Result) -> str:
    return "gradients" if result.check.startswith("grad") else result.check.partition("_")[2]


def table(results: Iterable[Result]) -> list[str]:
    """Families by dtypes: how many operators are the same, of how many."""
    columns, families = [*DTYPES, "gradients"], sorted({result.family for result in results})
    lines = [f"| family | {' | '.join(columns)} |", "|---" + "|--:" * len(columns) + "|"]
    for family in [*families, "**all**"]:
        cells = []
        for name in columns:
            some = [r for r in results if column(r) == name and family in (r.family, "**all**")]
            same = sum(not r.failed for r in some)
            cells.append("" if not some else str(same) if same == len(some) else f"{same} of {len(some)}")
        lines.append(f"| {family} | {' | '.join(cells)} |")
    return lines


def markdown(results: list[Result], limit: int) -> str:
    """The page: the table, then each operator with what differs of it."""
    text = _INTRODUCTION.strip().format(limit=limit, day=f"{datetime.now(UTC):%-d %B %Y}")
    lines = ["---", "hide: [toc]", "---", "", "# Operators and dtypes", ""]
    lines += [*textwrap.wrap(text, 120, break_on_hyphens=False), "", *table(results)]
    lines += ["", "## What differs", "", "| operator | in |", "|---|---|"]
    differing: dict[str, list[str]] = {}
    for result in results:
        if result.failed:
            differing.setdefault(result.operator, []).append(column(result))
    lines += [f"| `{name}` | {', '.join(where)} |" for name, where in sorted(differing.items())]
    lines += ["", "## All operators"]
    for family in sorted(catalog.families()):
        names = dict.fromkeys(r.operator for r in results if r.family == family and r.operator not in differing)
        if names:
            same = f"**{family}**, the same ({len(names)}): " + ", ".join(f"`{name}`" for name in names)
            lines += ["", *textwrap.wrap(same, 120, break_long_words=False, break_on_hyphens=False)]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m compat_tests.operators", description=__doc__)
    parser.add_argument("--limit", type=int, default=2, metavar="N", help="samples of each (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    work = tasks()
    found = op_parity.run_all(work, Settings("torchlite", limit=options.limit, timeout=60), options.workers)
    results = [result for result in progress(found, len(work), lambda r: r.operator) if result.status != "inapplicable"]
    PAGE.write_text(markdown(results, options.limit))


if __name__ == "__main__":
    fix_hashes()
    sys.exit(main())
