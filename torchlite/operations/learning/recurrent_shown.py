"""Recurrent layers and cells in the operations that a dispatch mode sees of them, many of which write in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.machine import Tensor
from ..products.linear import linear
from ..shapes.joining import cat, stack
from ..shapes.slicing import slice_
from .packed_sequences import runs

Given = Callable[[], Tensor]  # the product of an input, or of a state, with its weights


def _elman(f: str) -> Callable[..., Any]:
    def step(given: Given, hidden: Given, h: Tensor, c: Any, w_hr: Tensor | None) -> tuple[Any, ...]:
        return getattr(hidden().add_(given()), f)(), None

    return step


def _gru(given: Given, hidden: Given, h: Tensor, c: Any, w_hr: Tensor | None) -> tuple[Any, ...]:
    xr, xz, xn = given().unsafe_chunk(3, 1)
    yr, yz, yn = hidden().unsafe_chunk(3, 1)
    r = yr.add_(xr).sigmoid_()
    z = yz.add_(xz).sigmoid_()
    n = xn.add(yn.mul_(r)).tanh_()
    return (h - n).mul_(z).add_(n), None


def _lstm(given: Given, hidden: Given, h: Tensor, c: Tensor, w_hr: Tensor | None) -> tuple[Any, ...]:
    i, f, g, o = hidden().add_(given()).unsafe_chunk(4, 1)
    i, f, g, o = i.sigmoid_(), f.sigmoid_(), g.tanh_(), o.sigmoid_()
    c = (f * c).add_(i * g)
    h = o * c.tanh()
    return h if w_hr is None else linear(h, w_hr), c


SHOWN = {"RNN_TANH": _elman("tanh"), "RNN_RELU": _elman("relu"), "GRU": _gru, "LSTM": _lstm}


def cell(
    mode: str, x: Tensor, h: Tensor, c: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Any:
    """One step."""
    return SHOWN[mode](lambda: linear(x, w_ih, b_ih), lambda: linear(h, w_hh, b_hh), h, c, None)


def direction(operands: Sequence[Any], mode: str, reverse: bool) -> tuple[Any, ...]:
    """One direction of one layer through a sequence: the output, and the last states."""
    input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr = operands
    outputs = []
    given = linear(input, w_ih, b_ih).unbind(0)
    for x in reversed(given) if reverse else given:
        h, c = SHOWN[mode](lambda x=x: x, lambda h=h: linear(h, w_hh, b_hh), h, c, w_hr)  # type: ignore[misc]
        outputs.append(h)
    return stack.apply(outputs[::-1] if reverse else outputs, 0), h, c


def packed_direction(operands: Sequence[Any], mode: str, sizes: Sequence[int], reverse: bool) -> tuple[Any, ...]:
    """The same for packed sequences, which begin, or end, one after the other."""
    input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr = operands
    given = linear(input, w_ih, b_ih)
    first = (h, c)
    states = _rows(first, 0, sizes[-1]) if reverse else first
    outputs, ended, before = [], [], sizes[-1 if reverse else 0]
    times = list(runs(sizes))
    for start, end in times[::-1] if reverse else times:
        n = end - start
        if n > before:  # sequences that begin, since they are read from their ends
            states = _joined([states, _rows(first, before, n)])
        x = slice_.apply(given, 0, start, end, 1)
        if n < before:
            ended.append(_rows(states, n, before))
            states = _rows(states, 0, n)
        before = n
        h, c = states
        states = SHOWN[mode](lambda x=x: x, lambda h=h: linear(h, w_hh, b_hh), h, c, w_hr)  # type: ignore[misc]
        outputs.append(states[0])
    output = cat.apply(outputs[::-1] if reverse else outputs, 0)
    if reverse:
        return (output, *states)
    return (output, *_joined([states, *ended[::-1]]))


def _rows(states: Sequence[Any], start: int, end: int) -> tuple[Any, ...]:
    return tuple([None if s is None else slice_.apply(s, 0, start, end, 1) for s in reversed(states)][::-1])


def _joined(parts: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    return tuple([None if s[0] is None else cat.apply(list(s), 0) for s in reversed(list(zip(*parts)))][::-1])
