"""`torch.testing`: what assert_close accepts and says, and which tensors make_tensor makes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from compat_tests.side_by_side import same_story

NAN, INF = float("nan"), float("inf")


def _sparse(torch, places, values):
    return torch.sparse_coo_tensor([places], values, (3,))


PAIRS = {
    "alike": lambda t: (t.ones(2), t.ones(2)),
    "an element": lambda t: (t.tensor([1.0, 2, 3]), t.tensor([1.0, 2, 4])),
    "numbers in tensors": lambda t: (t.tensor(1.0), t.tensor(2.0)),
    "integers in tensors": lambda t: (t.ones((), dtype=t.int64), t.zeros((), dtype=t.int64)),
    "floats": lambda t: (1.0, 2.0),
    "integers": lambda t: (1, 2),
    "bools": lambda t: (True, False),
    "complex numbers": lambda t: (1 + 1j, 2.0 + 0j),
    "None": lambda t: (None, None),
    "strings": lambda t: ("a", "b"),
    "a tensor and a number": lambda t: (t.tensor(1), 1),
    "an integer and a float": lambda t: (1, 1.0),
    "lists": lambda t: ([1, 2], [1, 3]),
    "lists of tensors": lambda t: ([t.tensor([1])], [t.tensor([2])]),
    "nested": lambda t: ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}),
    "keys": lambda t: ({"a": 1.0}, {"b": 2.0}),
    "lengths": lambda t: ([[1, 2], [1]], [[1, 2], [1, 2]]),
    "shapes": lambda t: (t.ones(2), t.ones(3)),
    "dtypes": lambda t: (t.ones(2), t.ones(2).double()),
    "devices": lambda t: (t.ones(2), t.ones(2, device="meta")),
    "integer tensors": lambda t: (t.arange(6).reshape(2, 3), t.arange(6).reshape(2, 3).flip(0)),
    "unsigned": lambda t: (t.tensor([1, 2], dtype=t.uint8), t.tensor([2, 1], dtype=t.uint8)),
    "bool tensors": lambda t: (t.tensor([True]), t.tensor([False])),
    "complex tensors": lambda t: (t.tensor([1 + 1j]), t.tensor([1 + 2j])),
    "halves": lambda t: (t.ones(2, 3, dtype=t.float16), t.ones(2, 3, dtype=t.float16) * 1.01),
    "NaN": lambda t: (t.tensor([NAN, 1]), t.tensor([NAN, 1])),
    "NaN as a number": lambda t: (NAN, NAN),
    "infinity": lambda t: (t.tensor([INF, 1]), t.tensor([1.0, INF])),
    "empty": lambda t: (t.tensor([]), t.tensor([])),
    "arrays": lambda t: (np.ones(2), np.zeros(2)),
    "array and tensor": lambda t: (np.ones(2), t.ones(2)),
    "strides": lambda t: (t.ones(2, 3).t(), t.ones(3, 2)),
    "sparse": lambda t: (_sparse(t, [0, 1], [1.0, 2.0]), _sparse(t, [0, 1], [1.0, 2.0])),
    "sparse values": lambda t: (_sparse(t, [0, 1], [1.0, 2.0]), _sparse(t, [0, 1], [1.0, 3.0])),
    "sparse places": lambda t: (_sparse(t, [0, 1], [1.0, 2.0]), _sparse(t, [0, 2], [1.0, 2.0])),
    "sparse lengths": lambda t: (_sparse(t, [0, 0, 1], [1.0, 2.0, 3.0]), _sparse(t, [0, 1], [3.0, 3.0])),
    "sparse and dense": lambda t: (_sparse(t, [0, 1], [1.0, 2.0]), t.tensor([1.0, 2.0, 0.0])),
    "rows": lambda t: (t.eye(2).to_sparse_csr(), t.ones(2, 2).tril().to_sparse_csr()),
    "columns of rows": lambda t: (t.eye(2).to_sparse_csr(), t.eye(2).flip(0).to_sparse_csr()),
    "columns": lambda t: (t.eye(2).to_sparse_csc(), t.eye(2).mul(2).to_sparse_csc()),
    "blocks": lambda t: (t.eye(4).to_sparse_bsr((2, 2)), t.eye(4).mul(2).to_sparse_bsr((2, 2))),
    "far from zero": lambda t: (t.ones(2, 2), t.zeros(2, 2)),
}
OPTIONS = {
    "default": {},
    "exact": {"rtol": 0, "atol": 0},
    "wide": {"rtol": 0.5, "atol": 0.5},
    "half said": {"rtol": 0.1},
    "NaN equal": {"equal_nan": True},
    "any dtype": {"check_dtype": False},
    "any layout": {"check_layout": False},
    "strides": {"check_stride": True},
    "a message": {"msg": "told"},
    "about the message": {"msg": lambda said: f"told: {said}"},
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("pair", PAIRS)
def test_assert_close(pair, options):
    @same_story
    def program(torch, tell):
        torch.testing.assert_close(*PAIRS[pair](torch), **OPTIONS[options])

    program()


DTYPES = ("float32", "float64", "float16", "bfloat16", "complex64", "int64", "int8", "uint8", "bool")
DTYPES += ("float8_e4m3fn", "float8_e5m2")


@pytest.mark.parametrize("dtype", DTYPES)
def test_make_tensor(dtype):
    @same_story
    def program(torch, tell):
        for options in (
            {},
            {"low": 0, "high": 3},
            {"noncontiguous": True},
            {"low": 0, "high": 2, "exclude_zero": "float8" not in dtype},
            {"low": -1000.5},
            {"low": -math.inf, "high": 3},
            {"low": 0.2, "high": 0.8},
            {"low": 200, "high": 300},
            {"low": 128, "high": 129},
            {"low": -5, "high": 0},
            {"low": 1, "high": 1},
            {"low": 3, "high": 1},
            {"low": NAN},
            {"requires_grad": True},
            {"requires_grad": "yes"},
        ):
            torch.manual_seed(3)
            try:
                made = torch.testing.make_tensor((3, 5), dtype=getattr(torch, dtype), device="cpu", **options)
            except (ValueError, RuntimeError) as error:
                tell(error)
            else:
                tell(made.float() if "float8" in dtype else made, made.dtype, made.stride())

    program()


@same_story
def test_kinds_of_pairs_of_ones_own(torch, tell):
    from importlib import import_module

    comparison = import_module(f"{torch.__name__}.testing._comparison")

    class WordPair(comparison.Pair):
        """Words are the same in capitals and without."""

        def __init__(self, actual, expected, **others):
            self._check_inputs_isinstance(actual, expected, cls=str)
            super().__init__(actual, expected, **others)

        def compare(self):
            if self.actual.lower() != self.expected.lower():
                self._fail(AssertionError, f"{self.actual} is another word than {self.expected}")

    kinds = (WordPair, comparison.NumberPair, comparison.TensorLikePair)

    def said(actual, expected, **options):
        return [str(meta.to_error()) for meta in comparison.not_close_error_metas(
            actual, expected, pair_types=kinds, rtol=0.1, atol=0.0, **options)]  # fmt: skip

    tell(said({"a": ["One", 2.0]}, {"a": ["one", 2.1]}))
    tell(said(["one", torch.ones(2), 3], ["two", torch.zeros(2), 3]))
    tell(said([1], [1, 2]))
    tell(said([None], [None]))
    tell(comparison.originate_pairs([1, "a"], [2, "b"], pair_types=kinds))
