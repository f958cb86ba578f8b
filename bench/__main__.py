"""What work costs in torchlite and in PyTorch, measured side by side in one process.

    python -m bench                                       every group, one after the other
    python -m bench --quick --group kernels,training      two of them, with fewer rounds
    python -m bench --only 'softmax*' --save now          some workloads; figures and charts into the folder `now`
    python -m bench --baseline now/figures.json           and each workload's change since then
    python -m bench --library torch                       PyTorch against itself: what the noise alone does
    python -m bench --accuracy                            errors in units of the last place
    python -m bench --memory                              the most memory that training steps hold

How it is measured is told in `timing.py`. Results are compared first; workloads whose results differ are not timed.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import os
import platform
import sys
from pathlib import Path
from typing import Any

from torchlite.testing.progress import progress

from .report import heading, line, save, saved_ratios, summary
from .timing import Row, Workload, measure, same_results

GROUPS = ("overhead", "surroundings", "func", "random_draws", "optim", "kernels", "sparse", "training", "distributed")
TABLES = ("accuracy", "memory")


def chosen(options: argparse.Namespace) -> list[tuple[str, list[Workload]]]:
    groups = []
    for name in options.group.split(","):
        every: list[Workload] = importlib.import_module(f"bench.{name}").WORKLOADS
        some = [w for w in every if any(fnmatch.fnmatch(w.name, pattern) for pattern in options.only)]
        groups += [(name, some)] if some else []
    return groups


def run(options: argparse.Namespace) -> tuple[list[Row], list[str]]:
    """The figures of all that was chosen, and the names of what gave different results."""
    libraries: Any = tuple(importlib.import_module(name) for name in (options.library, options.against))
    for library in libraries:
        library.set_num_threads(options.threads)
    before = saved_ratios(options.baseline) if options.baseline else {}
    groups, rows, differ = chosen(options), [], []
    bar = progress([workload.name for _, some in groups for workload in some], name=str)
    for group, some in groups:
        print(heading(group, options.library, options.against))
        figures = []
        for workload in some:
            next(bar)
            if not same_results(workload, libraries):
                differ.append(workload.name)
                print(f"{workload.name:<44} the results differ")
                continue
            figures.append(measure(group, workload, libraries, 0.15 if options.quick else 1.5, options.threads))
            print(line(figures[-1], before), flush=True)
        if figures:
            print(summary(figures, before), end="\n\n")
        rows += figures
    bar.close()
    return rows, differ


def main() -> int:
    about = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__, formatter_class=about)
    parser.add_argument("--group", default=",".join(GROUPS), metavar="G[,G]", help="default: %(default)s")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="workloads of such names")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds")
    parser.add_argument("--library", default="torchlite", help="what is measured (default: %(default)s)")
    parser.add_argument("--against", default="torch", help="what it is compared with (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--baseline", metavar="FILE", help="show changes since an earlier run's figures")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="write the figures as JSON, and charts as SVG")
    for table in TABLES:
        parser.add_argument(f"--{table}", action="store_true", help=f"print the table of bench/{table}.py instead")
    options = parser.parse_args()
    options.only = options.only or ["*"]
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before either library starts its threads
        os.environ[variable] = str(options.threads)
    for table in TABLES:
        if getattr(options, table):
            importlib.import_module(f"bench.{table}").main()
            return 0
    rows, differ = run(options)
    if options.save:
        machine = {"machine": platform.processor() or platform.machine(), "threads": options.threads}
        save(options.save, {**machine, "library": options.library, "against": options.against}, rows)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
