"""Calls that PyTorch refuses, with its words."""

from __future__ import annotations

import pytest

import torchlite

torch = pytest.importorskip("torch")

CALLS = """
t._chunk_cat([t.ones(2, 3), t.ones(2)], -1, 2)
t._chunk_cat([t.ones(2, 3), t.ones(3)], dim=1, num_chunks=1)
t._chunk_cat([t.ones(2, 3), t.ones(2, 3, 1)], dim=-2, num_chunks=1)
t.amax(t.ones([1] * 65), dim=(0, 1))
t.aminmax(t.ones([1] * 65), dim=0)
t.linspace(1, 2, 3.0)
t.linspace(1, 2, steps=3.5)
t.linspace(t.tensor(0.0), 1, 2.0)
t.linspace(0, 1)
t.linspace(0, 1, 2, dtype=3)
t.linspace(0, 1, 2.0, out=t.ones(2))
t.logspace(1, 2, 3.0)
t.logspace(0, 1, 2, "a")
t.logspace(0, 1, steps=None)
t.narrow_copy(t.ones(3), 0, 0, 5)
t.narrow_copy(t.ones(3), 0, 1, -1)
t.narrow_copy(t.ones(3), 0, -1, -1)
t.narrow_copy(t.ones(3), 0, 5, -1)
t.narrow_copy(t.ones(3), 1, 0, 1)
t.narrow_copy(t.ones(3, 3), 9, 0, -1)
t.nn.functional.max_pool1d(t.ones(1, 2, 4), 2, padding=-1)
t.nn.functional.max_pool1d(t.ones(1, 2, 4), 2, padding=-1, return_indices=True)
t.nn.functional.max_pool1d(t.ones(1, 2, 4), 2, stride=-1, return_indices=True)
t.nn.functional.max_pool1d(t.ones(1, 2, 4), 2, dilation=0, return_indices=True)
t.nn.functional.max_pool2d(t.ones(1, 2, 4, 4), 2, padding=-1, dilation=0)
t.nn.functional.max_pool2d(t.ones(1, 2, 4, 4), 2, padding=2, dilation=0)
t.nn.functional.max_pool2d(t.ones(1, 2, 4, 4), 2, padding=-1, stride=-1)
t.nn.functional.max_pool2d(t.ones(1, 2, 4, 4), 2, dilation=0)
t.nn.functional.max_pool3d(t.ones(1, 2, 4, 4, 4), 2, padding=-1, dilation=0)
(lambda x: t.gather(x, 0, t.zeros(2, dtype=t.int64), out=x[1:]))(t.ones(3))
""".strip().splitlines()


def said(call, t):
    with pytest.raises((RuntimeError, TypeError, IndexError)) as refused:
        eval(call, {"t": t})
    return type(refused.value).__name__, str(refused.value).split("\nException raised")[0]


@pytest.mark.parametrize("call", CALLS)
def test_refusals_have_the_same_words(call):
    assert said(call, torchlite) == said(call, torch)


@pytest.mark.parametrize("lib", [torch, torchlite], ids=["torch", "torchlite"])
def test_places_may_be_written_over_by_what_is_found_there(lib):
    places = lib.tensor([2, 0, 1])
    assert lib.gather(lib.tensor([5, 6, 7]), 0, places, out=places) is places
    assert places.tolist() == [7, 5, 6]
