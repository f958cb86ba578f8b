"""Recurrent layers: a product and one kernel for each step, forward and backward.

Everything lies as (time, batch, gates, size), with gates in the order of the weights. What is kept for the gradient:
the gates' activations, the states that came out, and LSTM's cells, or what GRU's candidate got from the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy

from .products import product
from .raw import STORED, SUMS
from .reductions import total

_PREAMBLE = SUMS + "template <typename T> __device__ T torchlite_sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }"
# What a gate got from the input and from the state, with its biases. A thread does one element of the state; numbers
# are stored as `S`, and computed with as `T`.
_GATE = """
typedef torchlite_sum<S>::type T;
const T h = h_, c = c_;
T y, more;
const ptrdiff_t row = i / size * {gates} * size + i % size;
#define GATE(k) gates[row + k * size]
#define BIAS(k) (biased ? T(b_ih[i % size + k * size]) : T(0))
#define OWN_BIAS(k) (biased ? T(b_hh[i % size + k * size]) : T(0))
#define GIVEN(k) (T(GATE(k)) + BIAS(k))
#define OWN(k) (T(recurrent[row + k * size]) + OWN_BIAS(k))
"""
_GRADIENT = """
typedef torchlite_sum<S>::type T;
const T h = h_, c = c_, y = y_, more = more_;
T carried = carried_;
const ptrdiff_t row = i / size * {gates} * size + i % size;
#define GATE(k) gates[row + k * size]
#define MADE(k) made[row + k * size]
const T to_here = T(g) + T(back);
"""


class _Cell:
    """What one step does: CUDA C++ for its kernel, and for that of its gradient."""

    def __init__(self, name: str, gates: int, step: str, back: str) -> None:
        self.gates = gates
        self.step = cupy.ElementwiseKernel(
            "raw S recurrent, raw S b_ih, raw S b_hh, S h_, S c_, int64 size, bool biased",
            "S y_, S more_, raw S gates",
            _GATE.format(gates=gates) + step + "y_ = S(y); more_ = S(more);", f"torchlite_{name}", preamble=_PREAMBLE,
        )  # fmt: skip
        self.back = cupy.ElementwiseKernel(
            "S g, S back, raw S gates, S h_, S c_, S y_, S more_, int64 size", "S carried_, raw S made, raw S own",
            _GRADIENT.format(gates=gates) + back + "carried_ = S(carried);", f"torchlite_{name}_backward",
            preamble=_PREAMBLE,
        )  # fmt: skip


def _elman(name: str, f: str, slope: str) -> _Cell:
    return _Cell(
        name, 1, f"const T x = GIVEN(0) + OWN(0); y = {f}; more = y;",
        f"MADE(0) = {slope};",
    )  # fmt: skip


_LSTM = _Cell(
    "lstm", 4,
    """
    const T in = torchlite_sigmoid(GIVEN(0) + OWN(0)), forget = torchlite_sigmoid(GIVEN(1) + OWN(1));
    const T candidate = tanh(GIVEN(2) + OWN(2)), out = torchlite_sigmoid(GIVEN(3) + OWN(3));
    GATE(0) = in; GATE(1) = forget; GATE(2) = candidate; GATE(3) = out;
    more = forget * c + in * candidate;
    y = out * tanh(more);
    """,
    """
    const T in = GATE(0), forget = GATE(1), candidate = GATE(2), out = GATE(3), squashed = tanh(more);
    const T into = carried + to_here * out * (T(1) - squashed * squashed);
    MADE(0) = into * candidate * in * (T(1) - in);
    MADE(1) = into * c * forget * (T(1) - forget);
    MADE(2) = into * in * (T(1) - candidate * candidate);
    MADE(3) = to_here * squashed * out * (T(1) - out);
    carried = into * forget;
    """,
)  # fmt: skip
_GRU = _Cell(
    "gru", 3,
    """
    const T reset = torchlite_sigmoid(GIVEN(0) + OWN(0)), update = torchlite_sigmoid(GIVEN(1) + OWN(1));
    more = OWN(2);
    const T candidate = tanh(GIVEN(2) + reset * more);
    GATE(0) = reset; GATE(1) = update; GATE(2) = candidate;
    y = candidate + update * (h - candidate);
    """,
    """
    const T reset = GATE(0), update = GATE(1), candidate = GATE(2), to_all = to_here + carried;
    const T to_candidate = to_all * (T(1) - update) * (T(1) - candidate * candidate);
    MADE(0) = to_candidate * more * reset * (T(1) - reset);
    MADE(1) = to_all * (h - candidate) * update * (T(1) - update);
    MADE(2) = to_candidate;
    own[row] = MADE(0); own[row + size] = MADE(1); own[row + 2 * size] = to_candidate * reset;
    carried = to_all * update;
    """,
)  # fmt: skip
_CELLS = {
    "LSTM": _LSTM,
    "GRU": _GRU,
    "RNN_TANH": _elman("rnn_tanh", "tanh(x)", "to_here * (T(1) - y * y)"),
    "RNN_RELU": _elman("rnn_relu", "x < T(0) ? T(0) : x", "y > T(0) ? to_here : T(0)"),
}


def _known(array: Any, w_hr: Any, sizes: Any) -> bool:
    """Whether all of a batch are there all the time, without a projection."""
    return w_hr is None and array.dtype in STORED and array.size > 0 and len(set(sizes or (0,))) == 1


def _matrix(array: Any) -> Any:
    return array.reshape((-1, array.shape[-1]))


def _times(length: int, reverse: bool) -> Sequence[int]:
    return range(length - 1, -1, -1) if reverse else range(length)


def _recurrent(
    input: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, w_hr: Any, mode: str, sizes: Any,
    reverse: bool,
) -> Any:  # fmt: skip
    if not _known(input, w_hr, sizes) or (b_ih is None) is not (b_hh is None):
        return NotImplemented
    cell, (length, batch, _), size = _CELLS[mode], input.shape, h.shape[1]
    gates = product(_matrix(cupy.ascontiguousarray(input)), w_ih.T).reshape((length, batch, -1))
    states = cupy.empty((length, batch, size), h.dtype)
    more = cupy.empty_like(states) if cell.gates > 1 else states
    biases = (gates, gates) if b_ih is None else (b_ih, b_hh)
    made, here = h, h if c is None else c
    for t in _times(length, reverse):
        recurrent = product(made, w_hh.T)
        cell.step(recurrent, *biases, made, here, size, b_ih is not None, states[t], more[t], gates[t])
        made, here = states[t], more[t]
    last = cupy.empty(0, h.dtype) if c is None else here.copy()
    return states, made.copy(), last, gates, states, more


def _recurrent_backward(
    g: Any, g_h: Any, g_c: Any, input: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, w_hr: Any, gates: Any, states: Any,
    more: Any, mode: str, sizes: Any, reverse: bool, needs: Sequence[bool],
) -> Any:  # fmt: skip
    if not _known(input, w_hr, sizes):
        return NotImplemented
    cell, (length, batch, size) = _CELLS[mode], states.shape
    nothing = cupy.zeros((batch, size), h.dtype)
    back = nothing if g_h is None else g_h
    carried = nothing.copy() if g_c is None else g_c.copy()  # what goes back past the product: of cells, or GRU's state
    made = cupy.empty(gates.shape, gates.dtype)
    own = cupy.empty_like(made) if mode == "GRU" else made
    times = _times(length, reverse)
    for at in range(length - 1, -1, -1):
        t = times[at]
        before, cells = (states[times[at - 1]], more[times[at - 1]]) if at else (h, h if c is None else c)
        given = nothing if g is None else g[t]
        cell.back(given, back, gates[t], before, cells, states[t], more[t], size, carried, made[t], own[t])
        back = product(own[t], w_hh)
    rows, rows_of_state = _matrix(made), _matrix(own)
    to_hh = None
    if needs[4]:
        every = (states[1:], h[None]) if reverse else (h[None], states[:-1])
        to_hh = product(rows_of_state.T, _matrix(cupy.concatenate(every)))
    return (
        product(rows, w_ih).reshape(input.shape) if needs[0] else None,
        (back + carried if mode == "GRU" else back) if needs[1] else None,
        carried if needs[2] else None,
        product(rows.T, _matrix(cupy.ascontiguousarray(input))) if needs[3] else None,
        to_hh, total(rows, 0) if needs[5] else None, total(rows_of_state, 0) if needs[6] else None, None,
    )  # fmt: skip


KERNELS = {"_recurrent": _recurrent, "_recurrent_backward": _recurrent_backward}
