"""``python -m compat_tests.accuracy``: results on hostile inputs, against PyTorch's and float64's."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from torchlite.testing.progress import progress

from ..parity import catalog
from ..parity.pool import Settings, reference_library, subject_library
from ..parity.process import fix_hashes
from .run import operators, survey_all


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m compat_tests.accuracy", description=__doc__.partition("\n")[0])
    parser.add_argument("--ops", default="*", metavar="GLOB[,GLOB]", help="operators by name")
    parser.add_argument("--dtypes", default="float16,bfloat16,float32", metavar="D[,D]")
    parser.add_argument("--limit", type=int, default=4, metavar="N", help="samples an operator and dtype")
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="seconds an operator")
    parser.add_argument("--each", type=int, default=2, metavar="N", help="findings shown of an operator")
    parser.add_argument("--all", action="store_true", help="what has a cause too")
    options = parser.parse_args()
    names = [name for name in operators() if catalog.matches(name, options.ops.split(","))]
    libraries = reference_library(), subject_library(Settings("torchlite"))
    compared, worse, accepted, better = Counter(), Counter(), Counter(), Counter()
    reports = survey_all(names, libraries, options.dtypes.split(","), options.limit, options.timeout)
    for report in progress(reports, len(names), lambda report: report.operator):
        family = catalog.family_of(report.operator)
        compared[family] += report.compared
        shown = [f for f in report.worse if options.all or not f.accepted]
        for explained, table in ((False, worse), (True, accepted)):
            some = [f for f in report.worse if f.accepted is explained]
            table[family] += len({(f.what, f.dtype, f.change, f.sample) for f in some})
        better[family] += report.better
        if report.note:
            print(f"{report.operator}: {report.note}")
        if shown:
            print(f"{report.operator}: worse in {len(report.worse)} of {report.compared}, better in {report.better}")
            for finding in sorted(shown, key=lambda f: -f.verdict.ratio)[: options.each]:
                print(f"    {finding}")
        sys.stdout.flush()
    print(f"\n{'family':<14}{'compared':>10}{'torchlite worse':>18}{'with a cause':>15}{'PyTorch worse':>16}")
    for family in sorted(compared):
        counts = [table[family] for table in (compared, worse, accepted, better)]
        print("{:<14}{:>10}{:>18}{:>15}{:>16}".format(family, *counts))
    totals = [table.total() for table in (compared, worse, accepted, better)]
    print("{:<14}{:>10}{:>18}{:>15}{:>16}".format("all", *totals))
    return int(bool(worse.total()))


if __name__ == "__main__":
    fix_hashes()
    sys.exit(main())
