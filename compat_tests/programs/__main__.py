"""Run many random programs on PyTorch and torchlite, and tell where they differ.

    python -m compat_tests.programs --count 3000 --seed 1
    python -m compat_tests.programs --count 3000 --skip-missing     leave out ops that torchlite says it lacks
    python -m compat_tests.programs --module torch                  PyTorch against itself, which must score 100 %
    python -m compat_tests.programs --record 100                    renew the recorded programs

Failures are grouped by the op that differs first, each group with the shortest script found for it.
"""

import argparse
import importlib
import sys
from collections import defaultdict
from random import Random
from types import ModuleType

from .draw import draw_program
from .program import Program, Run
from .record import record
from .report import Failure, explain, find_failure


def without_missing(program: Program, torch: ModuleType, module: ModuleType) -> Program:
    """The program less the steps whose op the module does not have, and only the module."""
    errors = zip(program, Run(torch, program).errors, Run(module, program).errors)
    kept = tuple(step for step, theirs, mine in errors if mine != "AttributeError" or theirs == mine)
    return program if len(kept) == len(program) else without_missing(kept, torch, module)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m compat_tests.programs", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="how many programs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which programs (default: %(default)s)")
    parser.add_argument("--module", default="torchlite", help="what to hold against torch (default: %(default)s)")
    parser.add_argument("--skip-missing", action="store_true", help="leave out steps that end in an AttributeError")
    parser.add_argument("--show", type=int, default=50, metavar="N", help="groups to show (default: %(default)s)")
    parser.add_argument("--record", type=int, metavar="N", help="record N programs instead of comparing any")
    options = parser.parse_args()

    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    if options.record:
        record(options.record, options.seed, torch)
        return 0

    module = importlib.import_module(options.module)
    groups: dict[str, list[Failure]] = defaultdict(list)
    for number in range(options.count):
        program = draw_program(Random(f"{options.seed}:{number}"), torch)
        if options.skip_missing:
            program = without_missing(program, torch, module)
        failure = find_failure(program, torch, module)
        if failure:
            groups[failure.kind].append(failure)

    by_size = sorted(groups.items(), key=lambda group: -len(group[1]))
    for kind, failures in by_size[: options.show]:
        shortest = min(failures, key=lambda failure: len(failure.program))
        print(f"──── {len(failures)} × {kind}\n\n{explain(shortest, torch, module)}\n")
    agreeing = options.count - sum(map(len, groups.values()))
    share = agreeing / options.count
    print(
        f"{options.module} agrees with torch on {agreeing} of {options.count} random programs ({share:.2%}); "
        f"{len(groups)} kinds of failure"
    )
    return int(bool(groups))


if __name__ == "__main__":
    sys.exit(main())
