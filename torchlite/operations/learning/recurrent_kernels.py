"""Recurrent layers on arrays: one direction of one layer, through a whole sequence, forward and backward.

Inside, the batch is the last dimension, so that each gate of a step is one block of memory. A sigmoid is computed as
`(tanh(x / 2) + 1) / 2`: with the weights of such gates halved beforehand, one call of `tanh` serves all gates of a
step.

Sequences of several lengths are padded ones: `sizes` says how many of the batch are still there at each time. What is
not there keeps its state, whichever way time runs, and has zeros in all that is kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.values import Array, Namespace


@dataclass
class Kept:
    """What a run keeps for its gradient: activations of the gates, the states that came out, and what else a cell has.

    All are (time, …, batch); what a cell has none of is its gates again.
    """

    gates: Any
    hidden: Any
    more: Any


def span(length: int, batch: int, sizes: Sequence[int] | None, reverse: bool) -> list[tuple[int, int]]:
    """Each time, and how many of the batch are there, in the order in which they are run through."""
    times = list(enumerate(sizes or [batch] * length))
    return times[::-1] if reverse else times


def _stretches(times: Iterable[tuple[int, int]]) -> Iterator[tuple[int, list[int]]]:
    """Times in a row at which as many of the batch are there: how many, and the times."""
    for n, pairs in itertools.groupby(times, lambda pair: pair[1]):
        yield n, [t for t, _ in pairs]


def _in_a_row(times: list[int]) -> slice:
    """Times that follow each other, forwards or backwards, as an index that no device has to be handed."""
    step = -1 if times[-1] < times[0] else 1
    stop = times[-1] + step
    return slice(times[0], None if stop < 0 else stop, step)


def _joined(xp: Namespace, new: Array, old: Array) -> Any:
    """The states of all, of which some are new."""
    n = new.shape[1]
    return new if n == old.shape[1] else xp.concatenate((new, old[:, n:]), 1)


def _clear(a: Any, times: Sequence[tuple[int, int]]) -> None:
    """Zeros for what is not there."""
    for t, n in times:
        if n < a.shape[2]:
            a[t][:, n:] = 0


def _before(xp: Namespace, states: Any, first: Any, times: Sequence[tuple[int, int]]) -> Any:
    """For each time the states that it began with."""
    made = xp.empty_like(states)
    before = first
    for n, some in _stretches(times):
        made[_in_a_row(some)] = before
        if len(some) > 1:
            made[_in_a_row(some[1:]), :, :n] = states[_in_a_row(some[:-1]), :, :n]
        before = _joined(xp, states[some[-1]][:, :n], before)
    return made


def _sigmoids(halves: Any) -> None:
    """From `tanh(x / 2)` to the sigmoid of x, in place."""
    halves *= 0.5
    halves += 0.5


class Cell:
    """What one step does.

    order      places of the gates, which the weights have in another order; those with a sigmoid come first
    sigmoids   how many these are
    apart      whether the last gate takes what comes from the state by itself, with a bias of its own
    """

    order: tuple[int, ...] = (0,)
    sigmoids = 0
    apart = False

    def ordered(self, xp: Namespace, w: Array) -> Array:
        """Rows of weights in the order of the steps."""
        blocks = w.reshape((len(self.order), -1))
        made = xp.empty_like(blocks)
        for to, at in enumerate(self.order):
            made[to] = blocks[at]
        return made.reshape(w.shape)

    def arranged(self, xp: Namespace, w: Any) -> Any:
        """The same, those of sigmoids halved."""
        made = self.ordered(xp, w)
        made[: len(made) // len(self.order) * self.sigmoids] *= 0.5
        return made

    def restored(self, xp: Namespace, gradient: Array) -> Array:
        """Gradients of the gates, (time, gates, size, batch), as rows (time and batch) of what the weights give."""
        t, gates, size, batch = gradient.shape
        made = xp.empty((t, batch, gates, size), gradient.dtype)
        for k, at in enumerate(self.order):
            made[:, :, at] = gradient[:, k].transpose(0, 2, 1)
        return made.reshape((t * batch, gates * size))

    def run(self, xp: Namespace, gates: Any, w: Any, bias: Any, projection: Any, h: Any, c: Any, times: Any) -> Any:
        """Turn what the gates got from the input into their activations; gives what to keep, and the last states."""
        raise NotImplementedError

    def run_back(
        self, xp: Namespace, kept: Kept, w: Any, projection: Any, g: Array, states: Any, ends: Any, times: Any
    ) -> Any:
        """From the gradients `g` of what came out and `ends` of the last states, those of the gates and first states.

        `states` are those that the run began with. The gradients of gates come twice: for the input, and for the state.
        """
        raise NotImplementedError


class Elman(Cell):
    """`h = f(w_ih x + w_hh h)`."""

    def __init__(self, f: str) -> None:
        self.f = f

    def run(self, xp: Namespace, gates: Any, w: Any, bias: Any, projection: Any, h: Any, c: Any, times: Any) -> Any:
        for n, some in _stretches(times):
            gates_, made = gates[..., :n], h[:, :n]
            for t in some:
                given = w.dot(made)
                made = gates_[t]
                made += given
                if self.f == "tanh":
                    xp.tanh(made, made)
                else:
                    xp.maximum(made, 0, out=made)
            h = _joined(xp, made, h)
        return Kept(gates, gates, gates), h, None

    def run_back(
        self, xp: Namespace, kept: Kept, w: Any, projection: Any, g: Array, states: Any, ends: Any, times: Any
    ) -> tuple[Any, ...]:
        y, (to_h, _) = kept.hidden, ends
        made = 1 - y * y if self.f == "tanh" else (y > 0).astype(y.dtype)
        _clear(made, times)
        w = w.T
        for n, some in _stretches(reversed(times)):
            g_, made_, before = g[..., :n], made[..., :n], to_h[:, :n]
            for t in some:
                at = made_[t]
                at *= before + g_[t]
                before = w.dot(at)
            to_h = _joined(xp, before, to_h)
        made = made[:, None]
        return made, made, to_h, None, None


class Gru(Cell):
    """Gates r and z, and a candidate n: `h = n + z (h - n)`, where n takes `r (w_hn h + b_hn)` from the state."""

    order = (0, 1, 2)
    sigmoids = 2
    apart = True

    def run(self, xp: Namespace, gates: Any, w: Any, bias: Any, projection: Any, h: Any, c: Any, times: Any) -> Any:
        size = h.shape[0]
        recurrent = xp.zeros((gates.shape[0], *h.shape), h.dtype)
        hidden = xp.zeros_like(recurrent)
        for n, some in _stretches(times):
            gates_, recurrent_, hidden_, before = gates[..., :n], recurrent[..., :n], hidden[..., :n], h[:, :n]
            for t in some:
                given = w.dot(before)
                both, candidate = gates_[t, : 2 * size], gates_[t, 2 * size :]
                both += given[: 2 * size]
                xp.tanh(both, both)
                _sigmoids(both)
                own = recurrent_[t]
                own += given[2 * size :]
                if bias is not None:
                    own += bias
                candidate += both[:size] * own
                xp.tanh(candidate, candidate)
                made = hidden_[t]
                xp.subtract(before, candidate, made)
                made *= both[size:]
                made += candidate
                before = made
            h = _joined(xp, before, h)
        return Kept(gates, hidden, recurrent), h, None

    def run_back(
        self, xp: Namespace, kept: Kept, w: Any, projection: Any, g: Array, states: Any, ends: Any, times: Any
    ) -> tuple[Any, ...]:
        length, size, batch = kept.hidden.shape
        r, z, n_ = [kept.gates.reshape((length, 3, size, batch))[:, k] for k in range(3)]
        to_h = ends[0]
        of_candidate = (1 - z) * (1 - n_ * n_)
        _clear(of_candidate, times)
        made = xp.empty((length, 3, size, batch), g.dtype)
        xp.multiply(of_candidate, r, made[:, 2])
        xp.multiply(made[:, 2] * (1 - r), kept.more, made[:, 0])
        xp.multiply(_before(xp, kept.hidden, states[0], times) - n_, z * (1 - z), made[:, 1])
        w = w.T
        for n, some in _stretches(reversed(times)):
            g_, made_, z_, of_candidate_ = g[..., :n], made[..., :n], z[..., :n], of_candidate[..., :n]
            before = to_h[:, :n]
            for t in some:
                to_here = before + g_[t]
                at = made_[t]
                at *= to_here
                of_candidate_[t] *= to_here
                before = w.dot(at.reshape((3 * size, n)))
                to_here *= z_[t]
                before += to_here
            to_h = _joined(xp, before, to_h)
        of_input = made.copy()
        of_input[:, 2] = of_candidate
        return of_input, made, to_h, None, None


class Lstm(Cell):
    """Gates o, i, f and g: `c = f c + i g` and `h = o tanh(c)`, which a projection may make smaller."""

    order = (3, 0, 1, 2)
    sigmoids = 3

    def run(self, xp: Namespace, gates: Any, w: Any, bias: Any, projection: Any, h: Any, c: Any, times: Any) -> Any:
        length, _, batch = gates.shape
        size = c.shape[0]
        cells = xp.zeros((length, 2, size, batch), c.dtype)  # and their tanh
        hidden = xp.zeros((length, *h.shape), h.dtype)
        each = gates.reshape((length, 4, size, batch))
        for n, some in _stretches(times):
            gates_, each_, cells_, hidden_ = gates[..., :n], each[..., :n], cells[..., :n], hidden[..., :n]
            made, here = h[:, :n], c[:, :n]
            for t in some:
                at = gates_[t]
                at += w.dot(made)
                xp.tanh(at, at)
                _sigmoids(at[: 3 * size])
                o, i, f, candidate = each_[t]
                before = here
                here, squashed = cells_[t]
                xp.multiply(f, before, here)
                here += i * candidate
                xp.tanh(here, squashed)
                made = hidden_[t]
                if projection is None:
                    xp.multiply(o, squashed, made)
                else:
                    made += projection.dot(o * squashed)
            h, c = _joined(xp, made, h), _joined(xp, here, c)
        return Kept(gates, hidden, cells), h, c

    def run_back(
        self, xp: Namespace, kept: Kept, w: Any, projection: Any, g: Array, states: Any, ends: Any, times: Any
    ) -> tuple[Any, ...]:
        length, _, size, batch = kept.more.shape
        gates = kept.gates.reshape((length, 4, size, batch))
        o, i, f, candidate = [gates[:, k] for k in range(4)]
        cells, squashed = kept.more[:, 0], kept.more[:, 1]
        to_h, to_c = ends
        made = xp.empty_like(gates)
        xp.multiply(gates[:, :3], 1 - gates[:, :3], made[:, :3])
        made[:, 0] *= squashed
        made[:, 1] *= candidate
        made[:, 2] *= _before(xp, cells, states[1], times)
        xp.multiply(i, 1 - candidate * candidate, made[:, 3])
        to_cell = o * (1 - squashed * squashed)
        given: Any = None if projection is None else xp.zeros_like(kept.hidden)
        w = w.T
        for n, some in _stretches(reversed(times)):
            g_, made_, f_, to_cell_ = g[..., :n], made[..., :n], f[..., :n], to_cell[..., :n]
            before, cell_before = to_h[:, :n], to_c[:, :n]
            for t in some:
                to_here = before + g_[t]
                if projection is not None:
                    given[t, :, :n] = to_here
                    to_here = projection.T.dot(to_here)
                into = to_cell_[t]
                into *= to_here
                into += cell_before
                at = made_[t]
                at[0] *= to_here
                at[1:] *= into
                before = w.dot(at.reshape((4 * size, n)))
                cell_before = into * f_[t]
            to_h, to_c = _joined(xp, before, to_h), _joined(xp, cell_before, to_c)
        of_projection = None if given is None else xp.einsum("tpb,thb->ph", given, o * squashed)
        return made, made, to_h, to_c, of_projection


CELLS = {"RNN_TANH": Elman("tanh"), "RNN_RELU": Elman("relu"), "GRU": Gru(), "LSTM": Lstm()}


def forward(
    xp: Namespace, input: Array, h: Array, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, w_hr: Any,
    mode: str, sizes: Any, reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The output, (time, batch, size), the last states and what the gradient needs: gates, hidden states and more."""
    cell = CELLS[mode]
    length, batch, features = input.shape
    times = span(length, batch, sizes, reverse)
    rows = input.reshape((-1, features)).dot(cell.arranged(xp, w_ih).T)
    bias = None if b_ih is None else cell.arranged(xp, b_ih)
    apart = None
    if b_hh is not None:
        own = cell.arranged(xp, b_hh)
        if cell.apart:
            apart = own[-h.shape[1] :, None].copy()
            own[-h.shape[1] :] = 0
        bias = own if bias is None else bias + own
    if bias is not None:
        rows += bias
    gates = _columns(xp, rows.reshape((length, batch, rows.shape[1])))
    _clear(gates, times)
    kept, h, c = cell.run(xp, gates, cell.arranged(xp, w_hh), apart, w_hr, h.T, None if c is None else c.T, times)
    last = xp.empty(0, h.dtype) if c is None else c.T.copy()
    return _columns(xp, kept.hidden), h.T.copy(), last, kept.gates, kept.hidden, kept.more


def _columns(xp: Namespace, states: Array) -> Array:
    """From (time, batch, size) to (time, size, batch), and the other way."""
    return xp.ascontiguousarray(states.transpose(0, 2, 1))


def _sum(xp: Namespace, rows: Array) -> Any:
    """The sum of rows, by the fastest way there is: a product."""
    return xp.ones(rows.shape[0], rows.dtype).dot(rows)


def backward(
    xp: Namespace, g: Array, g_h: Any, g_c: Any, input: Array, h: Array, c: Any, w_ih: Any, w_hh: Any, w_hr: Any,
    gates: Any, hidden: Any, more: Any, mode: str, sizes: Any, reverse: bool, needs: Sequence[bool],
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of input, first states, weights and biases."""
    cell = CELLS[mode]
    length, batch, features = input.shape
    times = span(length, batch, sizes, reverse)
    kept = Kept(gates, hidden, more)
    g = xp.zeros_like(hidden) if g is None else _columns(xp, g)
    first = h.T
    ends = [xp.zeros_like(first) if g_h is None else g_h.T, None]
    if c is not None:
        ends[1] = xp.zeros_like(c.T) if g_c is None else g_c.T
    states = (first, None if c is None else c.T)
    ordered = cell.ordered(xp, w_hh)
    of_input, of_state, to_h, to_c, to_hr = cell.run_back(xp, kept, ordered, w_hr, g, states, ends, times)
    rows = cell.restored(xp, of_input)
    rows_of_state = rows if of_state is of_input else cell.restored(xp, of_state)
    to_input = rows.dot(w_ih).reshape(input.shape) if needs[0] else None
    to_ih = rows.T.dot(input.reshape((-1, features))) if needs[3] else None
    to_hh = None
    if needs[4]:
        before = _columns(xp, _before(xp, hidden, first, times))
        to_hh = rows_of_state.T.dot(before.reshape((-1, h.shape[1])))
    return (
        to_input, xp.ascontiguousarray(to_h.T) if needs[1] else None,
        xp.ascontiguousarray(to_c.T) if needs[2] else None, to_ih, to_hh,
        _sum(xp, rows) if needs[5] else None, _sum(xp, rows_of_state) if needs[6] else None,
        to_hr if needs[7] else None,
    )  # fmt: skip
