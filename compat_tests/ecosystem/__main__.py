"""Run the programs of packages that are installed on both, and write the table of `docs/ecosystem.md`."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from torchlite.testing.progress import progress

from .running import PROGRAMS, apart, is_installed, package_of, purpose, run, version

PAGE = Path(__file__).parent.parent.parent / "docs" / "ecosystem.md"
_BEGIN, _END = "<!-- table -->\n", "<!-- end of table -->\n"
_HEAD = "| package | what is run | result | time beside torch |\n|---|---|---|--:|\n"


def row(program: Path, limit: float) -> str:
    """A line of the table."""
    package = package_of(program)
    ours, theirs = run(program, "-m", "torchlite", limit=limit), run(program, limit=limit)
    ratio = "" if ours.failed or theirs.failed else f"{ours.seconds / theirs.seconds:.2f}"
    if theirs.failed:
        result = "stops on PyTorch, too" if ours.failed else "runs; stops on PyTorch"
        print(theirs.errors[-800:])
    elif ours.failed:
        said = (ours.errors.strip().splitlines() or ["it stops"])[-1].replace("|", "/")
        result = f"stops: `{said[:110]}`"
        print(ours.errors[-1200:])
    else:
        different = apart(ours, theirs)
        result = f"{len(different)} words differ" if different else "same"
        if different:
            print(different[:6])
    return f"| {package} {version(package)} | {purpose(program)} | {result} | {ratio} |"


def main() -> None:
    parser = argparse.ArgumentParser("python -m compat_tests.ecosystem", description=__doc__)
    parser.add_argument("packages", nargs="*", help="only these; the other rows stay as they are")
    parser.add_argument("--limit", type=float, default=300, help="seconds for each program, on each")
    options = parser.parse_args()
    before, _, rest = PAGE.read_text().partition(_BEGIN)
    table, _, after = rest.partition(_END)
    old = table.partition(_HEAD)[2]
    rows = {line[2:].split()[0]: line for line in old.splitlines()}
    for program in progress(PROGRAMS, name=package_of):
        package = package_of(program)
        if (not options.packages or package in options.packages) and is_installed(package):
            rows[package] = row(program, options.limit)
            print(rows[package], flush=True)
            lines = "\n".join(rows[name] for name in sorted(rows))
            day = f"Last written to on {datetime.now(UTC):%-d %B %Y}.\n\n"
            PAGE.write_text(f"{before}{_BEGIN}{day}{_HEAD}{lines}\n{_END}{after}")


main()
