"""What is known of types of values besides what they say."""

from __future__ import annotations


class Equality:
    """Two types, or sizes, are the same."""

    def __init__(self, lhs: object, rhs: object) -> None:
        self.lhs, self.rhs = lhs, rhs

    def __repr__(self) -> str:
        return f"{self.lhs} = {self.rhs}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equality) and (self.lhs, self.rhs) == (other.lhs, other.rhs)
