"""`rearrange` and its patterns beside real PyTorch's."""

from __future__ import annotations

import importlib

import pytest

from .side_by_side import same_story


def parsing_of(torch):
    root = "functorch" if torch.__name__ == "torch" else "torchlite.functorch"
    return importlib.import_module(f"{root}.einops._parsing")


PATTERNS = (
    "a b c -> c b a", "a b c -> (a b) c", "... -> (...)", "a ... -> a (...)", "a ... -> (a ...)", "a b c -> a () b 1 c",
    "a b c ... -> ... a b c", "(a) b c -> a b c", "a b c -> a b (c", "a b c -> a b c)", "a b c -> a ((b) c)",
    "a b c -> a b c ...", "1 2 a b c -> a b c", "a b 4 -> a b", "a_ b c -> b c a_", "_a b c -> b c _a",
    "... ... -> ...", "a b c -> a . b c", "a b c -> a b c....", "(...) -> ...", "a b! c -> a b c", "a b c",
    "a -> b -> c", "a a b -> a b", "1a b c -> b c 1a", "a b -> a b", "",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(pattern):
    @same_story
    def story(torch, tell):
        tell(torch.func.rearrange(torch.arange(24.0).reshape(2, 3, 4), pattern))

    story()


EXPRESSIONS = (
    "a b c", "a (b c) d", "a () 1 b", "a ... b", "a (... b)", "3 a", "a (3 b)", "", "(1 2)", "a(b)c", "A1 b2", "a 0",
    "a a", "a . b", "... ...", "_", "a-b", "((a))", "a b)", "(a b",
)  # fmt: skip


@same_story
def test_parsed_expressions(torch, tell):
    parsing = parsing_of(torch)
    for expression in EXPRESSIONS:
        for more in ({}, {"allow_underscore": True, "allow_duplicates": True}):
            try:
                x = parsing.ParsedExpression(expression, **more)
            except ValueError as error:
                tell(expression, error)
                continue
            tell(expression, repr(x.composition), sorted(map(repr, x.identifiers)))
            tell(x.has_ellipsis, x.has_ellipsis_parenthesized, x.has_non_unitary_anonymous_axes)
    for name in ("a", "a1", "1a", "_a", "a_", "_", "", "é", "lambda"):
        tell(parsing.ParsedExpression.check_axis_name_return_reason(name))
    tell([parsing.comma_separate(names) for names in ((), ("a", "b"), (("a",), ("b", "c")), [["a"], []])])
    tell(repr(parsing.AnonymousAxis("2")))
    parsing.AnonymousAxis("0")


@pytest.mark.parametrize("sizes", ({"a": 2}, {"c": 2}, {"a": 2.0}, {"a": "2"}))
def test_sizes_of_parts(sizes):
    @same_story
    def story(torch, tell):
        parsing = parsing_of(torch)
        left, right = parsing.parse_pattern("(a b) d -> d a b", sizes)
        tell(repr(left.composition), repr(right.composition))
        parsing.validate_rearrange_expressions(left, right, sizes)

    story()
