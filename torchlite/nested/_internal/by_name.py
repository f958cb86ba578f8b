"""Where it is kept what functions do on nested tensors, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.declare.rules import rules_in
from ...core.machine.registry import aliases

Rule = Callable[..., Any]

RULES: dict[str, Rule] = {}
rule = rules_in(RULES)  # a rule gets the function of torch, and the arguments of the call


def rule_of(name: str) -> Rule | None:
    """What a function of this name does; None where it is made of others, or does nothing."""
    return RULES.get(name)


def name_of(func: Callable[..., Any]) -> str:
    """The name of a function or method of torch; of one that has several, the one by which rules are kept."""
    name = str(getattr(func, "__name__", ""))
    return aliases.get(name, name)
