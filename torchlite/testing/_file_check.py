"""`torch.testing.FileCheck`: does a text hold these pieces, in this order?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class _Check:
    kind: str  # "", or what follows "CHECK-"
    text: str
    count: int = 1
    exactly: bool = False

    def __str__(self) -> str:
        kind = f"{self.kind}-{self.count}" if self.kind == "COUNT" else self.kind
        return f"CHECK{'-' * bool(kind)}{kind}: {self.text}"


_LINE = re.compile(r"^\s*#\s*CHECK(?:-(SAME|NEXT|NOT|DAG|REGEX|COUNT-(\d+)(-EXACTLY)?))?:\s*(.*?)\s*$", re.M)


class FileCheck:
    """What a text is to hold, said piece by piece, and checked by `run`; each piece is looked for after the last."""

    def __init__(self) -> None:
        self._checks: list[_Check] = []

    def _add(self, kind: str, text: str, count: int = 1, exactly: bool = False) -> FileCheck:
        self._checks.append(_Check(kind, text, count, exactly))
        return self

    def check(self, test_string: str) -> FileCheck:
        """This comes next, somewhere."""
        return self._add("", test_string)

    def check_not(self, test_string: str) -> FileCheck:
        """This is not between what was found last and what is found next."""
        return self._add("NOT", test_string)

    def check_same(self, test_string: str) -> FileCheck:
        """This comes next, in the same line."""
        return self._add("SAME", test_string)

    def check_next(self, test_string: str) -> FileCheck:
        """This comes next, in the line after."""
        return self._add("NEXT", test_string)

    def check_count(self, test_string: str, count: int, exactly: bool = False) -> FileCheck:
        """This comes so many times, and if `exactly` not once more."""
        return self._add("COUNT", test_string, count, exactly)

    def check_dag(self, test_string: str) -> FileCheck:
        """This comes, before or after what neighbouring calls of this name ask for."""
        return self._add("DAG", test_string)

    def check_regex(self, test_string: str) -> FileCheck:
        """Something that fits this regular expression comes next."""
        return self._add("REGEX", test_string)

    def run(self, *texts: Any) -> None:
        """Check a text; of two, the first says in comments what is checked: `# CHECK-NEXT: …`."""
        *said, text = map(str, texts)
        checks = list(self._checks)
        for kind, count, exactly, what in _LINE.findall("".join(said)):
            checks.append(_Check("COUNT" if count else kind, what, int(count or 1), bool(exactly)))
        if not checks:
            raise RuntimeError("No checks have been added to this instance ofFilecheck! Check for bad input.")
        at = 0
        unwanted: list[_Check] = []
        group = at, at  # where the neighbouring DAG checks began, and how far they reached
        previous = ""
        for check in checks:
            if check.kind == "NOT":
                unwanted.append(check)
            else:
                begin = at
                if check.kind == "DAG":
                    start = group[0] if previous == "DAG" else at
                    found, end = _find(text, check, start)
                    at = max(at, end)
                    group = start, at
                else:
                    found, at = _found(text, check, at)
                _refuse(text, unwanted, begin, found)
                unwanted = [_Check("NOT", check.text)] if check.exactly else []
            previous = check.kind
        _refuse(text, unwanted, at, len(text))


def _find(text: str, check: _Check, at: int) -> tuple[int, int]:
    """Where the piece begins and ends."""
    if check.kind == "REGEX":
        match = re.compile(check.text).search(text, at)
        if match is not None:
            return match.span()
    else:
        found = text.find(check.text, at)
        if found >= 0:
            return found, found + len(check.text)
    what = "regex " * (check.kind == "REGEX")
    raise RuntimeError(
        f'Expected to find {what}"{check.text}" but did not find it\nSearched string:\n{text}\nFrom {check}\n'
    )


def _found(text: str, check: _Check, at: int) -> tuple[int, int]:
    """Where what is asked for begins and ends."""
    first, end = _find(text, check, at) if check.count else (at, at)
    for _ in range(check.count - 1):
        end = _find(text, check, end)[1]
    lines = text.count("\n", at, first)
    if check.kind == "NEXT" and lines == 0:
        raise RuntimeError(f'Expected to find "\\n" but did not find it\nSearched string:\n{text}\nFrom {check}\n')
    if (check.kind == "SAME" and lines) or (check.kind == "NEXT" and lines > 1):
        raise RuntimeError(f'Expected to not find "\\n" but found it\n{text}\nFrom {check}\n')
    return first, end


def _refuse(text: str, unwanted: list[_Check], start: int, end: int) -> None:
    for check in unwanted:
        if check.text in text[start:end]:
            raise RuntimeError(f'Expected to not find "{check.text}" but found it\n{text}\nFrom {check}\n')
