"""What `rearrange` is told: two sides, which name the dimensions of a tensor, or the parts that these are made of."""

from __future__ import annotations

import functools
import keyword
import re
from collections.abc import Collection, Mapping

from ..core.values import warn

REST = "…"  # stands for any number of dimensions; written "..."


class AnonymousAxis:
    """A part of a dimension that has no name, but a size."""

    def __init__(self, value: str) -> None:
        self.value = int(value)
        if self.value < 1:
            raise ValueError(f"Anonymous axis should have positive length, not {self.value}")

    def __repr__(self) -> str:
        return f"{self.value}-axis"


class ParsedExpression:
    """One side of a pattern. `composition` has for each dimension a list of what it is made of, the outermost first,
    or an ellipsis; dimensions of size one are made of nothing."""

    def __init__(self, expression: str, *, allow_underscore: bool = False, allow_duplicates: bool = False) -> None:
        self.has_ellipsis = False
        self.has_ellipsis_parenthesized: bool | None = None
        self.has_non_unitary_anonymous_axes = False
        self.identifiers: set[str | AnonymousAxis] = set()
        self.composition: list[list[str | AnonymousAxis] | str] = []
        if "." in expression:
            only = "Expression may contain dots only inside ellipsis (...)"
            if "..." not in expression:
                raise ValueError(only)
            if expression.count(".") != 3:
                raise ValueError(f"{only}; only one ellipsis for tensor")
            expression = expression.replace("...", REST)
        group: list[str | AnonymousAxis] | None = None
        for word in re.findall(r"[\w…]+|[^ ]", expression):
            if word == "(":
                if group is not None:
                    raise ValueError("Axis composition is one-level (brackets inside brackets not allowed)")
                group = []
                self.composition.append(group)
            elif word == ")":
                if group is None:
                    raise ValueError("Brackets are not balanced")
                group = None
            elif not (word[0].isalnum() or word[0] in "_…"):
                raise ValueError(f"Unknown character '{word}'")
            else:
                self._add(word, group, allow_underscore, allow_duplicates)
        if group is not None:
            raise ValueError(f"Imbalanced parentheses in expression: '{expression}'")

    def _add(
        self, word: str, group: list[str | AnonymousAxis] | None, allow_underscore: bool, allow_duplicates: bool
    ) -> None:
        if word in self.identifiers and not allow_duplicates:
            raise ValueError(f"Indexing expression contains duplicate dimension '{word}'")
        if word == REST:
            self.has_ellipsis, self.has_ellipsis_parenthesized = True, group is not None
            if group is None:
                self.identifiers.add(REST)
                self.composition.append(REST)
                return
        axis: str | AnonymousAxis | None = word
        if word.isdecimal():
            axis = AnonymousAxis(word) if word != "1" else None
            self.has_non_unitary_anonymous_axes |= axis is not None
        elif word != REST:
            valid, reason = self.check_axis_name_return_reason(word, allow_underscore)
            if not valid:
                raise ValueError(f"Invalid axis identifier: {word}\n{reason}")
        parts = [] if axis is None else [axis]
        self.identifiers.update(parts)
        if group is None:
            self.composition.append(parts)
        else:
            group += parts

    @staticmethod
    def check_axis_name_return_reason(name: str, allow_underscore: bool = False) -> tuple[bool, str]:
        """Whether a dimension may be called so, and if not, why."""
        if not name.isidentifier():
            return False, "not a valid python identifier"
        if (name[0] == "_" or name[-1] == "_") and not (allow_underscore and name == "_"):
            return False, "axis name should should not start or end with underscore"
        if keyword.iskeyword(name):
            warn(f"It is discouraged to use axes names that are keywords: {name}", RuntimeWarning)
        return True, ""

    @staticmethod
    def check_axis_name(name: str) -> bool:
        return ParsedExpression.check_axis_name_return_reason(name)[0]


@functools.lru_cache(256)
def _sides(pattern: str) -> tuple[ParsedExpression, ParsedExpression]:
    parts = pattern.split("->")
    if len(parts) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = map(ParsedExpression, parts)
    if right.has_ellipsis and not left.has_ellipsis:
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if left.has_ellipsis_parenthesized:
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    return left, right


def parse_pattern(pattern: str, axes_lengths: Mapping[str, int]) -> tuple[ParsedExpression, ParsedExpression]:
    """The two sides of a pattern."""
    return _sides(pattern)


def validate_rearrange_expressions(
    left: ParsedExpression, right: ParsedExpression, axes_lengths: Mapping[str, int]
) -> None:
    """Raise where the sides of a pattern, and sizes of parts, do not go together."""
    for length in axes_lengths.values():
        if not isinstance(length, int):
            raise TypeError(f"rearrange axis lengths must be integers, got: {type(length)}")
    if left.has_non_unitary_anonymous_axes or right.has_non_unitary_anonymous_axes:
        raise ValueError("rearrange only supports unnamed axes of size 1")
    if left.identifiers != right.identifiers:
        raise ValueError(
            "Identifiers only on one side of rearrange expression (should be on both): "
            f"{left.identifiers ^ right.identifiers}"
        )
    unknown = set(axes_lengths) - left.identifiers
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")


def comma_separate(collection: Collection[str | Collection[str]]) -> str:
    """Names, and tuples of names, as Python writes them in a call."""
    return ", ".join([
        item if isinstance(item, str) else f"({comma_separate(item)}{',' if len(item) == 1 else ''})"
        for item in collection
    ])  # fmt: skip
