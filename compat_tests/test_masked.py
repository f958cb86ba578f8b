"""torch.masked beside PyTorch's: what becomes of elements, and of whole rows, that are passed over."""

from __future__ import annotations

import functools
import math

import pytest

import torchlite
from compat_tests.side_by_side import same_story

REDUCTIONS = ("sum", "prod", "amax", "amin", "argmax", "argmin", "logsumexp", "mean", "norm", "var", "std")
ALONG = ("cumsum", "cumprod", "softmax", "log_softmax", "softmin")


def inputs(torch):
    """Numbers, and a mask that passes over a whole row."""
    x = torch.tensor([[1.0, -2, 3], [4, 5, -6], [0, 2, 2]], dtype=torch.float64)
    return x, torch.tensor([[True, False, True], [False, False, False], [True, True, True]])


def attempt(tell, call):
    try:
        result = call()
    except (ValueError, TypeError, RuntimeError, IndexError, AssertionError) as error:
        tell(type(error).__name__, str(error))
    else:
        tell(result)


@same_story
def test_reductions(torch, tell):
    x, mask = inputs(torch)
    for name in REDUCTIONS:
        call = getattr(torch.masked, name)
        for keywords in ({}, {"dim": 1}, {"dim": 0, "keepdim": True}, {"dim": -1, "dtype": torch.float32}):
            tell(name, call(x, **keywords), call(x, mask=mask, **keywords), call(x, mask=mask[0], **keywords))


@same_story
def test_what_keeps_the_shape(torch, tell):
    x, mask = inputs(torch)
    for name in ALONG:
        call = getattr(torch.masked, name)
        tell(name, call(x, 1), call(x, 0, mask=mask), call(x, -1, mask=mask[:, :1], dtype=torch.float32))
    tell(torch.masked.normalize(x, 2.0, 1, mask=mask), torch.masked.normalize(x, 1, 0))
    tell(torch.masked.logaddexp(x, -x, input_mask=mask), torch.masked.logaddexp(x, x, other_mask=mask))
    tell(torch.masked.median(x, 1, mask=mask), torch.masked.median(x.long(), 0), torch.masked.median(x))


@same_story
def test_integers_and_bools(torch, tell):
    x, mask = inputs(torch)
    for name in (*REDUCTIONS, "median"):
        for d in (torch.int32, torch.uint8, torch.bool):
            positive = x.abs().to(d)
            attempt(tell, lambda name=name, t=positive: getattr(torch.masked, name)(t, dim=1, mask=mask))


@same_story
def test_norms_and_corrections(torch, tell):
    x, mask = inputs(torch)
    for order in (0, 1, 2.0, 3, math.inf, -math.inf, -2.0):
        tell(order, torch.masked.norm(x, order, 1, mask=mask))
    for keywords in ({"unbiased": False}, {"unbiased": True}, {"correction": 2}, {"correction": 0}):
        tell(torch.masked.var(x, 1, mask=mask, **keywords), torch.masked.std(x, **keywords))
    attempt(tell, lambda: torch.masked.var(x, 1, unbiased=True, correction=1))


@same_story
def test_dimensions_and_masks_that_do_not_fit(torch, tell):
    x, mask = inputs(torch)
    for call in (
        lambda: torch.masked.sum(x, (0, 1), mask=mask), lambda: torch.masked.sum(x, (), mask=mask),
        lambda: torch.masked.sum(x, (0, 0)), lambda: torch.masked.sum(x, 2), lambda: torch.masked.softmax(x, 5),
        lambda: torch.masked.sum(x, mask=mask[None]), lambda: torch.masked.sum(x, mask=mask[:, :2]),
        lambda: torch.masked.sum(x, mask=mask.long()), lambda: torch.masked.sum(torch.tensor(2.0), 0),
    ):  # fmt: skip
        attempt(tell, call)


@same_story
def test_no_gradient_reaches_what_is_passed_over(torch, tell):
    x, mask = inputs(torch)
    mask[1, 0] = True
    x.requires_grad_()
    for name in ("sum", "prod", "amax", "amin", "logsumexp", "mean", "norm", "var", "cumsum", "softmax", "log_softmax"):
        arguments = {"dim": 1, "mask": mask}
        result = getattr(torch.masked, name)(x, **arguments)
        tell(name, torch.autograd.grad(result.nan_to_num(0, 0, 0).pow(2).sum(), x))


@pytest.mark.filterwarnings("ignore")
def test_dtypes_that_reductions_know_nothing_of():
    def program(torch):
        found = []
        x = torch.eye(3, dtype=torch.complex64)
        mask = x.real > 0
        rows, where = torch.eye(3).long().to_sparse_csr(), mask.to_sparse_csr()
        calls = [(name, x, 0, mask) for name in ("amax", "amin", "softmax", "logsumexp")]
        calls += [(name, rows, dim, where) for name in ("amax", "mean", "prod") for dim in (0, 1, (0, 1))]
        for name, t, dim, m in calls:
            options = {"mask": m} if t is x else {"mask": m, "keepdim": True}
            made = functools.partial(getattr(torch.masked, name), t, dim, **options)
            attempt(lambda *told: found.extend(told), made)
        return [v if isinstance(v, str) else v.to_dense().tolist() for v in found]

    assert program(torchlite) == program(pytest.importorskip("torch"))
