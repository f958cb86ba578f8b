"""Tables of what functions do to tensors that take calls over, by the functions' names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Rule = TypeVar("Rule", bound=Callable[..., Any])


def rules_in(table: dict[str, Any]) -> Callable[[str], Callable[[Rule], Rule]]:
    """A decorator to fill a table: `@rule("add sub")` says what the functions of these names do."""

    def rule(names: str) -> Callable[[Rule], Rule]:
        def keep(f: Rule) -> Rule:
            table.update(dict.fromkeys(names.split(), f))
            return f

        return keep

    return rule
