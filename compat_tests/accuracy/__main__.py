"""``python -m compat_tests.accuracy``: results on hostile inputs, against PyTorch's and float64's."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

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
    options = parser.parse_args()
    names = [name for name in operators() if catalog.matches(name, options.ops.split(","))]
    libraries = reference_library(), subject_library(Settings("torchlite"))
    compared, worse, better = Counter(), Counter(), Counter()
    for report in survey_all(names, libraries, options.dtypes.split(","), options.limit, options.timeout):
        family = catalog.family_of(report.operator)
        compared[family] += report.compared
        worse[family] += len({(f.what, f.dtype, f.change, f.sample) for f in report.worse})
        better[family] += report.better
        if report.note:
            print(f"{report.operator}: {report.note}")
        if report.worse:
            print(f"{report.operator}: worse in {len(report.worse)} of {report.compared}, better in {report.better}")
            for finding in sorted(report.worse, key=lambda f: -f.verdict.ratio)[: options.each]:
                print(f"    {finding}")
        sys.stdout.flush()
    print(f"\n{'family':<14}{'results compared':>18}{'torchlite worse':>18}{'PyTorch worse':>16}")
    for family, count in sorted(compared.items()):
        print(f"{family:<14}{count:>18}{worse[family]:>18}{better[family]:>16}")
    print(f"{'all':<14}{compared.total():>18}{worse.total():>18}{better.total():>16}")
    return int(bool(worse.total()))


if __name__ == "__main__":
    fix_hashes()
    sys.exit(main())
