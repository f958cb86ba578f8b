"""Patterns of names, as `torch.**`, and trees of the files in a package."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

GlobPattern = str | Iterable[str]


class GlobGroup:
    """A set of patterns that some names match: `*` stands for part of a segment, `**` for any number of segments."""

    def __init__(self, include: GlobPattern, *, exclude: GlobPattern = (), separator: str = ".") -> None:
        self._shown = f"GlobGroup(include={include}, exclude={exclude})"
        self.separator = separator
        self.include = self._compiled(include)
        self.exclude = self._compiled(exclude)

    def __str__(self) -> str:
        return self._shown

    def __repr__(self) -> str:
        return self._shown

    def matches(self, candidate: str) -> bool:
        """Whether a name matches an included pattern, and none that is excluded."""
        candidate = self.separator + candidate
        if any(pattern.fullmatch(candidate) for pattern in self.exclude):
            return False
        return any(pattern.fullmatch(candidate) for pattern in self.include)

    def _compiled(self, patterns: GlobPattern) -> list[re.Pattern[str]]:
        listed = [patterns] if isinstance(patterns, str) else patterns
        return [re.compile("".join([self._segment(s) for s in p.split(self.separator)])) for p in listed]

    def _segment(self, segment: str) -> str:
        separator = re.escape(self.separator)
        if segment == "**":
            return f"({separator}[^{separator}]+)*"
        if "**" in segment:
            raise ValueError("** can only appear as an entire path segment")
        return separator + f"[^{separator}]*".join(map(re.escape, segment.split("*")))


class Directory:
    """A file or a folder in a package."""

    def __init__(self, name: str, is_dir: bool) -> None:
        self.name, self.is_dir = name, is_dir
        self.children: dict[str, Directory] = {}

    def _add_file(self, path: str) -> None:
        *folders, file = path.split("/")
        where = self
        for folder in folders:
            where = where.children.setdefault(folder, Directory(folder, True))
        where.children.setdefault(file, Directory(file, False))

    def has_file(self, filename: str) -> bool:
        """Whether there is a file of this path."""
        where: Directory | None = self
        for part in filename.split("/"):
            where = None if where is None else where.children.get(part)
        return where is not None

    def __str__(self) -> str:
        return "".join(self._lines("─── ", "    ")) if self.is_dir else f"─── {self.name}\n"

    def _lines(self, lead: str, below: str) -> Iterator[str]:
        yield f"{lead}{self.name}\n"
        children = sorted(self.children.values(), key=lambda child: (not child.is_dir, child.name))
        for child in children:
            last = child is children[-1]
            yield from child._lines(below + ("└── " if last else "├── "), below + ("    " if last else "│   "))


def tree(name: str, files: Iterable[str], include: GlobPattern = "**", exclude: GlobPattern = ()) -> Directory:
    """The files of a package that match, as a tree."""
    wanted, top = GlobGroup(include, exclude=exclude, separator="/"), Directory(name, True)
    for file in files:
        if wanted.matches(file):
            top._add_file(file)
    return top
