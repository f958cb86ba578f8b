"""`functorch.einops._parsing`: what patterns of `rearrange` say."""

from ...func.patterns import REST as _ellipsis
from ...func.patterns import (
    AnonymousAxis,
    ParsedExpression,
    comma_separate,
    parse_pattern,
    validate_rearrange_expressions,
)

__all__ = [
    "AnonymousAxis", "ParsedExpression", "_ellipsis", "comma_separate", "parse_pattern",
    "validate_rearrange_expressions",
]  # fmt: skip
