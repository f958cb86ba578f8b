"""Recurrent layers and cells in the operations that a dispatch mode sees of them, many of which write in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.machine import Tensor
from ..products.linear import linear
from ..shapes.joining import stack

Given = Callable[[], Tensor]  # the product of an input, or of a state, with its weights


def _elman(f: str) -> Callable[..., Any]:
    def step(given: Given, hidden: Given, h: Tensor, c: Any) -> Any:
        return getattr(hidden().add_(given()), f)(), None

    return step


def _gru(given: Given, hidden: Given, h: Tensor, c: Any) -> Any:
    xr, xz, xn = given().unsafe_chunk(3, 1)
    yr, yz, yn = hidden().unsafe_chunk(3, 1)
    r = yr.add_(xr).sigmoid_()
    z = yz.add_(xz).sigmoid_()
    n = xn.add(yn.mul_(r)).tanh_()
    return (h - n).mul_(z).add_(n), None


def _lstm(given: Given, hidden: Given, h: Tensor, c: Tensor) -> Any:
    i, f, g, o = hidden().add_(given()).unsafe_chunk(4, 1)
    i, f, g, o = i.sigmoid_(), f.sigmoid_(), g.tanh_(), o.sigmoid_()
    c = (f * c).add_(i * g)
    return o * c.tanh(), c


SHOWN = {"RNN_TANH": _elman("tanh"), "RNN_RELU": _elman("relu"), "GRU": _gru, "LSTM": _lstm}


def cell(mode: str, x: Tensor, h: Tensor, c: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any) -> Any:
    """One step."""
    return SHOWN[mode](lambda: linear(x, w_ih, b_ih), lambda: linear(h, w_hh, b_hh), h, c)


def direction(operands: Sequence[Any], mode: str, reverse: bool) -> tuple[Any, ...]:
    """One direction of one layer through a sequence: the output, and the last states."""
    input, h, c, w_ih, w_hh, b_ih, b_hh = operands
    outputs = []
    given = linear(input, w_ih, b_ih).unbind(0)
    for x in reversed(given) if reverse else given:
        h, c = SHOWN[mode](lambda x=x: x, lambda h=h: linear(h, w_hh, b_hh), h, c)  # type: ignore[misc]
        outputs.append(h)
    return stack.apply(outputs[::-1] if reverse else outputs, 0), h, c
