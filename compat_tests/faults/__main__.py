"""The command: see the package."""

import argparse
import faulthandler
import sys
import time
from collections import Counter

from torchlite.testing.progress import progress

from . import __doc__ as about
from .catalogue import EXPLAINED, PROGRAMS
from .inject import Injector, Interrupter, Left


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m compat_tests.faults", description=about.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="exceptions to raise (default: %(default)s)")
    parser.add_argument("--interrupts", type=int, default=0, help="real interrupts (default: %(default)s)")
    parser.add_argument("--seed", default="0", help="which ones (default: %(default)s)")
    options = parser.parse_args()
    faulthandler.dump_traceback_later(3600, exit=True)
    lost: list[object] = []
    sys.unraisablehook = lost.append  # an exception inside a finalizer
    failed = False
    for what, source, count in (
        ("exceptions", Injector(options.seed), options.count),
        ("interrupts", Interrupter(options.seed), options.interrupts),
    ):
        start = time.perf_counter()
        lost.clear()
        left: Counter[Left] = Counter()
        runs = 0
        bar = progress(range(count))
        while source.raised < count:  # a program may end before its interrupt comes
            runs += 1
            next(bar, None)
            found = source.one()
            if found is not None:
                left[found] += 1
        bar.close()
        explained = 0
        for each, times in left.most_common():
            if each.program in EXPLAINED:
                explained += times
            else:
                failed = True
                print(f"{times} × {each.program} at {each.where}: {', '.join(each.what)}")
        seconds = time.perf_counter() - start
        print(f"{source.raised} {what} in {runs} runs of {len(PROGRAMS)} programs ({seconds:.0f} s): ", end="")
        print(f"{left.total() - explained} left state, beside {explained} explained; ", end="")
        print(f"{len(lost)} came in finalizers, where Python only tells of them")
    return failed


if __name__ == "__main__":
    sys.exit(main())
