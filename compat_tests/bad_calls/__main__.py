"""Call everything badly, and tell where torchlite crashes, hangs, accepts what PyTorch refuses, or errs otherwise.

python -m compat_tests.bad_calls                                   every callable, 200 calls each
python -m compat_tests.bad_calls --names "torch.linalg.*" --count 50 --seed 3
python -m compat_tests.bad_calls --kinds accepted,hang --show 30   the calls themselves, grouped by cause
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

import torch

from .callables import names
from .compare import CLASSES, GRAVE, Finding
from .hunt import hunt, share


def report(found: list[Finding], kinds: list[str], show: int) -> str:
    """The findings of some kinds, by cause, those with the most callables first."""
    lines = []
    for kind in kinds:
        groups: dict[str, list[Finding]] = defaultdict(list)
        for finding in found:
            if finding.kind == kind:
                groups[finding.cause].append(finding)
        for cause, group in sorted(groups.items(), key=lambda g: -len({f.name for f in g[1]}))[:show]:
            where = Counter(f.name for f in group)
            lines.append(f"──── {kind}: {len(group)} calls of {len(where)} callables: {cause}")
            lines.append(f"     {', '.join(name for name, _ in where.most_common(12))}")
            lines += [f"       {f.call}" for f in sorted(group, key=lambda f: len(str(f.call)))[:3]]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m compat_tests.bad_calls", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="bad calls of each callable (default: %(default)s)")
    parser.add_argument("--seed", default="0", help="which calls (default: %(default)s)")
    parser.add_argument("--names", default="*", metavar="GLOB[,GLOB]", help="callables by name, as torch.linalg.*")
    parser.add_argument("--share", type=int, metavar="N", help="so many of the callables, drawn by the seed")
    parser.add_argument("--module", default="torchlite", help="what to hold against torch (default: %(default)s)")
    parser.add_argument("--kinds", default=",".join(GRAVE), help=f"what to show, of {','.join(CLASSES)}")
    parser.add_argument("--show", type=int, default=20, metavar="N", help="groups of each kind (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes at once (default: %(default)s)")
    parser.add_argument("--kept", type=Path, metavar="FOLDER", help="where PyTorch's answers are, for the next time")
    parser.add_argument("--json", metavar="FILE", help="write every finding")
    options = parser.parse_args()

    module = importlib.import_module(options.module)
    patterns = options.names.split(",")
    every = names(torch, module) if options.share is None else share(module, options.share, options.seed)
    chosen = [n for n in every if any(fnmatch.fnmatchcase(n, pattern) for pattern in patterns)]
    calls, found = hunt(module, chosen, options.count, options.seed, options.jobs, options.kept)
    print(report(found, options.kinds.split(","), options.show))
    totals = Counter(f.kind for f in found)
    print(f"{calls} bad calls of {len(chosen)} callables (seed {options.seed}):", end=" ")
    print(", ".join(f"{kind} {totals[kind]}" for kind in CLASSES))
    if options.json:
        rows = [(f.name, str(f.call), f.kind, str(f.theirs), str(f.mine)) for f in found]
        Path(options.json).write_text(json.dumps(rows, indent=0))
    return int(any(totals[kind] for kind in GRAVE))


if __name__ == "__main__":
    sys.exit(main())
