"""Tables for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def html_table(rows: Sequence[Sequence[str]], beneath: str = "") -> str:
    """A table whose first row is a header; cells keep their spaces, and stand to the right but for the first."""
    head = "".join([f"<th>{escape(cell)}</th>" for cell in rows[0]])
    lines = ["".join([_cell(cell, "right" if i else "left") for i, cell in enumerate(row)]) for row in rows[1:]]
    body = "".join([f"<tr>{line}</tr>" for line in lines])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(beneath)}</p>"


def _cell(text: str, side: str) -> str:
    return f'<td style="white-space:pre;text-align:{side}">{escape(text)}</td>'
