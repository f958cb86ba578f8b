"""Tables for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def html_table(rows: Sequence[Sequence[str]], beneath: str = "") -> str:
    """A table whose first row is a header; cells keep their spaces."""
    head = "".join([f"<th>{escape(cell)}</th>" for cell in rows[0]])
    lines = ["".join([f'<td style="white-space:pre">{escape(cell)}</td>' for cell in row]) for row in rows[1:]]
    body = "".join([f"<tr>{line}</tr>" for line in lines])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(beneath)}</p>"
