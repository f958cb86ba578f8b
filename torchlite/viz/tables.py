"""Tables for notebooks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

_NUMBER = re.compile(r" *[-−]?\d")


def html_table(rows: Sequence[Sequence[str]], beneath: str = "") -> str:
    """A table whose first row is a header; cells keep their spaces, and columns of numbers stand to the right."""
    numbers = [i > 0 and any([_NUMBER.match(row[i]) for row in rows[1:]]) for i in range(len(rows[0]))]
    sides = ["right" if right else "left" for right in numbers]
    head, *lines = [_line("td" if i else "th", zip(row, sides)) for i, row in enumerate(rows)]
    return f"<table><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table><p>{escape(beneath)}</p>"


def _line(tag: str, cells: Iterable[tuple[str, str]]) -> str:
    style = "white-space:pre;padding:.1em .6em;text-align:"
    made = [f'<{tag} style="{style}{side}">{escape(text)}</{tag}>' for text, side in cells]
    return f"<tr>{''.join(made)}</tr>"
