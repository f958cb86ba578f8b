"""Zeros, numbers and elements that are put into tensors: values, versions and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from compat_tests.side_by_side import same_story

NUMBERS = (0, 2, -1.5, True, -0.0, math.nan, math.inf, 1e300, 1 << 62, 1 << 63, 1 << 64, 1 + 2j)


def targets(torch: Any) -> list[Any]:
    """Tensors of several dtypes and layouts."""
    made = [torch.ones(2, 3, dtype=getattr(torch, d)) for d in ("float32", "float64", "int64", "bfloat16", "bool")]
    x = torch.ones(3, 2)
    return [*made, x.t(), x[1:], x[:0], torch.ones(()), torch.ones(2, 1).expand(2, 3), torch.ones(1).expand(1, 1)]


def told(tell: Callable[..., None], t: Any, call: Callable[[], Any]) -> None:
    try:
        tell(call() is t)
    except (RuntimeError, TypeError) as error:
        tell(type(error), str(error).split("\n")[0])
    tell(t, t._version)


@same_story
def test_numbers(torch: Any, tell: Any) -> None:
    for number in NUMBERS:
        for t in targets(torch):
            told(tell, t, lambda t=t, number=number: t.fill_(number))
    for t in targets(torch):
        told(tell, t, lambda t=t: t.zero_())


@same_story
def test_elements(torch: Any, tell: Any) -> None:
    for source in (torch.arange(6.0).reshape(2, 3), torch.arange(6).reshape(2, 3), torch.arange(6.0).reshape(3, 2).t()):
        for t in targets(torch):
            told(tell, t, lambda t=t, source=source: t.copy_(source))
    x = torch.arange(4.0)
    told(tell, x, lambda: x.copy_(x))
    told(tell, x, lambda: x[:2].copy_(x[2:]))
    tell(x)


@same_story
def test_history(torch: Any, tell: Any) -> None:
    for put in (lambda t: t.zero_(), lambda t: t.fill_(2.0), lambda t: t.copy_(torch.ones(3))):
        leaf = torch.ones(3, requires_grad=True)
        told(tell, leaf, lambda leaf=leaf, put=put: put(leaf))
        with torch.no_grad():
            told(tell, leaf, lambda leaf=leaf, put=put: put(leaf))
        inner = leaf * 1
        tell(put(inner).grad_fn.name(), inner.requires_grad)
        inner.sum().backward()
        tell(leaf.grad)
        with torch.inference_mode():
            t = torch.ones(3)
        try:
            put(t)
        except RuntimeError as error:
            tell(str(error))
    target, source = torch.zeros(3), torch.ones(3, requires_grad=True)
    target.copy_(source).sum().backward()
    tell(target.grad_fn.name(), source.grad)
    kept = torch.ones(3)
    loss = (leaf * kept).sum()
    kept.zero_()
    told(tell, kept, lambda: loss.backward())
