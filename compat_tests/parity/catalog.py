"""Families of operators and the configuration of the suite (``families.toml``)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from .compare import Rule
from .operation import Case

_FILE = Path(__file__).parent.parent / "families.toml"


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(_FILE.read_text())


def ci() -> dict[str, Any]:
    """What the suite runs: families, checks, samples an operator and seconds an operator."""
    return _tables()["ci"]


def families() -> tuple[str, ...]:
    return tuple(_tables()["families"])


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether an operator's full name, or its name without the variant, is meant by one of ``patterns``."""
    return any(fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}.*") for pattern in patterns)


@cache
def family_of(name: str) -> str:
    """The family of an operator. Of several matching patterns the one with the most plain characters wins."""
    found = [
        (len(pattern.replace("*", "")), family)
        for family, patterns in _tables()["families"].items()
        for pattern in patterns
        if matches(name, [pattern])
    ]
    return max(found)[1] if found else "unassigned"


def is_random(name: str) -> bool:
    return matches(name, _tables()["values"]["random"])


def has_values(name: str) -> bool:
    """Whether the values of an operator's results say anything: not if they are random or undefined."""
    return not is_random(name) and not matches(name, _tables()["values"]["undefined"])


def is_up_to_sign(name: str) -> bool:
    """Whether an operator's vectors are unique but for their signs or phases."""
    return matches(name, _tables()["values"]["up_to_sign"])


def rule_of(name: str, case: Case, seeded: bool = False) -> Rule:
    """How closely the values of an operator must agree in one case."""
    values = _tables()["values"]
    ties = next((pattern for operator, pattern in _tables()["ties"].items() if matches(name, [operator])), "")
    return Rule(
        values=has_values(name) or (seeded and not matches(name, values["undefined"])),
        up_to_sign=is_up_to_sign(name),
        open=ties if ties and case.has_ties else "",
    )


def is_safe_with_strided_out(name: str) -> bool:
    """Whether PyTorch survives an ``out=`` of any strides."""
    return not matches(name, _tables()["torch"]["unsafe_strided_out"])
