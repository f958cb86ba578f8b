"""`python -m torchlite --check PACKAGE`: which names of torch a package uses, and which of them torchlite lacks."""

from __future__ import annotations

import ast
import importlib.util
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from .names import lacking, mentioned

_SHOWN = 3  # places for each name


class Findings:
    """What the files of a package name of torch; `needed` and `optional` are the places of what is lacking."""

    def __init__(self, files: Iterator[Path], root: Path) -> None:
        self.used: set[str] = set()
        self.needed: defaultdict[str, list[str]] = defaultdict(list)
        self.optional: defaultdict[str, list[str]] = defaultdict(list)
        self.unread: list[str] = []
        for file in files:
            self._read(file, str(file.relative_to(root)))

    def _read(self, file: Path, shown: str) -> None:
        try:
            mentions = list(mentioned(ast.parse(file.read_bytes(), str(file))))
        except (SyntaxError, ValueError) as error:
            self.unread.append(f"{shown}: {error}")
            return
        for name, line, optional in mentions:
            self.used.add(name)
            absent = lacking(name)
            if absent is not None:
                (self.optional if optional else self.needed)[absent].append(f"{shown}:{line}")

    def __str__(self) -> str:
        lacking_ = {*self.needed, *self.optional}
        lines = [f"{len(self.used)} names of torch used, {len(lacking_)} of them missing in torchlite"]
        only_optional = {name: places for name, places in self.optional.items() if name not in self.needed}
        for title, found in (("missing", self.needed), ("missing where the code expects it", only_optional)):
            for name, places in sorted(found.items()):
                more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
                lines.append(f"  {title}: {name}  ({', '.join(places[:_SHOWN])}{more})")
        return "\n".join((*lines, *(f"  not read: {each}" for each in self.unread)))


def check(what: str) -> int | str:
    """Print what is found; gives the exit status: 1 where a name is missing that the code counts on."""
    place = _place(what)
    if place is None:
        return f"no package, folder or file is called {what!r}"
    files = iter([place]) if place.is_file() else iter(sorted(place.rglob("*.py")))
    findings = Findings(files, place.parent)
    print(f"{what}: {findings}")
    return 1 if findings.needed else 0


def _place(what: str) -> Path | None:
    """Where a package's files are, which is not imported."""
    path = Path(what)
    if path.exists():
        return path.resolve()
    try:
        spec = importlib.util.find_spec(what)
    except (ModuleNotFoundError, ValueError):
        return None
    if spec is None:
        return None
    folders = list(spec.submodule_search_locations or ())
    return Path(folders[0] if folders else spec.origin or "")
