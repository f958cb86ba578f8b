"""Run many random programs on PyTorch and torchlite, and tell where they differ.

    python -m compat_tests.programs                                 100,000 of them, today's, with a process per core
    python -m compat_tests.programs --count 3000 --seed 1
    python -m compat_tests.programs --only 17,240 --seed 1          these of them again
    python -m compat_tests.programs --module torch                  PyTorch against itself, which must score 100 %
    python -m compat_tests.programs --record 100                    renew the recorded programs

Failures are grouped by the line that differs first, each group with the shortest script found for it; those whose cause
is known (`known.py`) are counted by it.
"""

import argparse
import importlib
import os
import sys
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime

from .hunt import SHOWN, Found, hunt
from .known import CAUSES
from .record import record
from .report import CLASSES


def show(groups: dict[str, list[Found]], most: int) -> None:
    """The groups, gravest and largest first, each with its shortest script."""

    def weight(group: tuple[str, list[Found]]) -> tuple[int, int]:
        field = group[1][0].field
        return CLASSES.index(field) if field in CLASSES else len(CLASSES), -len(group[1])

    for kind, found in sorted(groups.items(), key=weight)[:most]:
        shortest = min(found, key=lambda one: (not one.script, len(one.script)))
        others = "".join(f", {one.number}" for one in found if one is not shortest)
        print(f"──── {len(found)} × {kind}   (program {shortest.number}{others})\n\n{shortest.script}\n")


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main() -> int:
    today = datetime.now(UTC).date().isoformat()
    parser = argparse.ArgumentParser(prog="python -m compat_tests.programs", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=100_000, help="how many programs (default: %(default)s)")
    parser.add_argument("--only", type=numbers, metavar="N,N", help="run these programs by their numbers")
    parser.add_argument("--seed", default=today, help="which programs (default: today's, %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: %(default)s)")
    parser.add_argument("--module", default="torchlite", help="what to hold against torch (default: %(default)s)")
    parser.add_argument("--show", type=int, default=50, metavar="N", help="groups to show (default: %(default)s)")
    parser.add_argument("--scripts", type=int, default=SHOWN, metavar="N", help="of a kind (default: %(default)s)")
    parser.add_argument("--record", type=int, metavar="N", help="record N programs instead of comparing any")
    options = parser.parse_args()
    if options.record:
        record(options.record, options.seed, importlib.import_module("torch"))
        return 0

    began = time.monotonic()
    chosen = options.only or range(options.count)
    last = chosen[0]
    groups: dict[str, list[Found]] = defaultdict(list)
    known: Counter[str] = Counter()
    different = set()
    try:
        for found in hunt(options.seed, chosen, options.module, options.jobs, options.scripts):
            last = found.number
            known.update(found.known)
            if not found.known:
                print(f"program {found.number}: {found.kind}\n{found.script}\n", flush=True)
                groups[found.kind].append(found)
                different.add(found.number)
    except KeyboardInterrupt:
        print(f"interrupted; up to program {last}:\n")
        chosen = chosen[: chosen.index(last) + 1]
    show(groups, options.show)
    for name, times in known.most_common():
        print(f"{times:6} × {name}: {CAUSES[name]}")
    classes = Counter(found.field for group in groups.values() for found in group)
    print(f"unexplained: {dict(classes.most_common()) or 'nothing'}, in {len(groups)} groups")
    agreeing = len(chosen) - len(different)
    print(
        f"{options.module} agrees with torch on {agreeing} of {len(chosen)} random programs of seed {options.seed} "
        f"({agreeing / len(chosen):.3%}), {sum(known.values())} known differences apart; "
        f"{time.monotonic() - began:.0f} s with {options.jobs} processes"
    )
    return int(bool(groups))


if __name__ == "__main__":
    sys.exit(main())
