"""Recurrent networks: Elman's, GRU and LSTM.

One op is one direction of one layer through a whole sequence (its kernels are in `recurrent_kernels.py`). The same in
steps, made of other ops, serves for derivatives of gradients, for batches of sequences and weights, and for what the
kernels do not take.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import Composite, Op, describe, publish, publish_python
from ...core.machine import Tensor, TensorBase, functions
from ...core.state import is_watched, local
from ...core.values import Namespace, dt, warn_once
from ...kernels.summing import widened
from ..products.linear import linear
from ..shapes.joining import cat, stack
from . import one_dnn
from . import recurrent_kernels as rnn_kernels
from . import recurrent_shown as shown
from .packed_sequences import places
from .recurrent_kernels import CELLS, span

# ---- in steps


def _elman(f: str) -> Callable[..., Any]:
    def step(x: Tensor, y: Tensor, h: Tensor, c: Any, w_hr: Tensor | None) -> tuple[Any, ...]:
        return getattr(x + y, f)(), None

    return step


def _gru(x: Tensor, y: Tensor, h: Tensor, c: Any, w_hr: Tensor | None) -> tuple[Any, ...]:
    (xr, xz, xn), (yr, yz, yn) = x.chunk(3, -1), y.chunk(3, -1)
    n = (xn + (xr + yr).sigmoid() * yn).tanh()
    return n + (xz + yz).sigmoid() * (h - n), None


def _lstm(x: Tensor, y: Tensor, h: Tensor, c: Tensor, w_hr: Tensor | None) -> tuple[Any, ...]:
    i, f, g, o = (x + y).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return h if w_hr is None else linear(h, w_hr), c


STEPS = {"RNN_TANH": _elman("tanh"), "RNN_RELU": _elman("relu"), "GRU": _gru, "LSTM": _lstm}


def _in_steps(
    input: Tensor, h: Tensor, c: Tensor | None, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None,
    w_hr: Tensor | None, mode: str, sizes: Any, reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """What the op computes, up to what it keeps for its gradient."""
    length, batch = input.shape[:2]
    step = STEPS[mode]
    given = linear(input, w_ih, b_ih).unbind(0)
    outputs: list[Any] = [None] * length
    for t, n in span(length, batch, sizes, reverse):
        before = h if n == batch else h[:n]
        after, cell = step(
            given[t][:n], linear(before, w_hh, b_hh), before, c if c is None or n == batch else c[:n], w_hr
        )
        outputs[t] = after if n == batch else cat.apply([after, after.new_zeros((batch - n, after.shape[1]))], 0)
        h = after if n == batch else cat.apply([after, h[n:]], 0)
        c = cell if c is None or n == batch else cat.apply([cell, c[n:]], 0)
    return stack.apply(outputs, 0), h, c


# ---- the op


def _wide(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that computes halves in float32."""

    def call(xp: Namespace, *values: Any) -> tuple[Any, ...]:
        d = next(v.dtype for v in values if hasattr(v, "ndim"))
        made = kernel(xp, *[widened(v) if hasattr(v, "ndim") else v for v in values])
        return tuple([None if a is None else a.astype(d, copy=False) for a in made])

    return call


recurrent_backward = Op(
    "_recurrent_backward(Tensor? grad, Tensor? grad_h, Tensor? grad_c, Tensor input, Tensor h, Tensor? c, Tensor w_ih, "
    "Tensor w_hh, Tensor? w_hr, Tensor gates, Tensor hidden, Tensor more, str mode, any sizes, bool reverse, any needs)"
    " -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3, Tensor result4, Tensor result5, "
    "Tensor result6, Tensor result7)",
    _wide(rnn_kernels.backward),
)


def _gradients(
    grads: Sequence[Any], needs: Sequence[bool], input: Tensor, h: Tensor, c: Any, w_ih: Tensor, w_hh: Tensor,
    b_ih: Tensor | None, b_hh: Tensor | None, w_hr: Tensor | None, mode: str, sizes: Any, reverse: bool, result3: Any,
    result4: Any, result5: Any,
) -> Sequence[Any]:  # fmt: skip
    operands = (input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr)
    given = (grads[0], grads[1], None if c is None else grads[2])
    if local.state.mode.grad or any([t._backend.level for t in (*operands, *given) if isinstance(t, TensorBase)]):
        return _gradients_in_steps(given, needs, operands, (mode, sizes, reverse))
    return recurrent_backward.apply(
        *given, input, h, c, w_ih, w_hh, w_hr, result3, result4, result5, mode, sizes, reverse, needs
    )


def _gradients_in_steps(given: Any, needs: Any, operands: Any, settings: Any) -> list[Any]:
    """Gradients that have a history: those of the same in steps."""
    from ...func.reverse import vjp  # which is made of ops

    def run(*changing: Tensor) -> list[Tensor]:
        rest = iter(changing)
        values = [next(rest) if needed else t for t, needed in zip(operands, needs, strict=True)]
        return [r for r, g in zip(_in_steps(*values, *settings), given, strict=True) if g is not None]  # type: ignore[arg-type]

    _, pull = vjp(run, *[t for t, needed in zip(operands, needs, strict=True) if needed])
    found = iter(pull([g for g in given if g is not None]))
    return [next(found) if needed else None for needed in needs]


def _in_steps_for_batches(input: Tensor, *more: Any) -> tuple[Any, ...]:
    output, h, c = _in_steps(input, *more)
    nothing = input.new_zeros(())
    return output, h, nothing if c is None else c, nothing, nothing, nothing


recurrent = Op(
    "_recurrent(Tensor input, Tensor h, Tensor? c, Tensor w_ih, Tensor w_hh, Tensor? b_ih, Tensor? b_hh, Tensor? w_hr, "
    "str mode, any sizes, bool reverse) -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3, "
    "Tensor result4, Tensor result5)",
    _wide(rnn_kernels.forward), _gradients, batch=_in_steps_for_batches, differentiable=3,
)  # fmt: skip


def _fits(
    input: Tensor, h: Tensor, c: Tensor | None, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None,
    w_hr: Tensor | None, mode: str,
) -> bool:  # fmt: skip
    """Whether the kernels take it: floating-point numbers, in shapes that belong together."""
    d, backend = input.dtype, input._backend
    tensors = [t for t in (input, h, c, w_ih, w_hh, b_ih, b_hh, w_hr) if t is not None]
    if d not in dt.FLOATS or not backend.real.values or any([t.dtype is not d for t in tensors]):
        return False
    gates, batch, size = len(CELLS[mode].order), input._array.shape[1], h._array.shape[-1]
    cells = size if c is None else c._array.shape[-1]
    biases = [b for b in (b_ih, b_hh) if b is not None]
    return (
        h._array.shape == (batch, size)
        and (c is None or c._array.shape == (batch, cells))
        and w_ih._array.shape == (gates * cells, input._array.shape[2])
        and w_hh._array.shape == (gates * cells, size)
        and all([b._array.shape == (gates * cells,) for b in biases])
        and (size == cells if w_hr is None else w_hr._array.shape == (size, cells))
    )


def _run(*values: Any) -> tuple[Any, ...]:
    """One direction of one layer: the output, and the last states."""
    *operands, w_hr, mode, sizes, reverse = values
    if is_watched() and sizes is None:
        return shown.direction((*operands, w_hr), mode, reverse)
    if is_watched():
        return shown.packed_direction((*operands, w_hr), mode, sizes, reverse)
    return recurrent.apply(*values)[:3] if _fits(*values[:9]) else _in_steps(*values)


# ---- layers


def _layers(
    mode: str, x: Tensor, hx: Tensor, cx: Tensor | None, params: Sequence[Tensor], has_biases: bool, num_layers: int,
    dropout_p: float, train: bool, bidirectional: bool, packing: _Packing | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """All layers in both directions: the output, and the last states of each."""
    directions = 2 if bidirectional else 1
    each = (4 if has_biases else 2) + (cx is not None and hx.shape[2] != cx.shape[2])
    if len(params) != each * num_layers * directions:
        raise RuntimeError("got an incorrect number of RNN parameters")
    states, cells = hx.unbind(0), None if cx is None else cx.unbind(0)
    last: list[Tensor] = []
    last_cells: list[Tensor] = []
    for layer in range(num_layers):
        if layer and train and dropout_p:
            x = functions["dropout"](x, dropout_p, train)
        padded = x if packing is None or is_watched() else packing.padded(x)
        outputs = []
        for direction in range(directions):
            at = layer * directions + direction
            w_ih, w_hh, *rest = params[at * each : (at + 1) * each]
            b_ih, b_hh = rest[:2] if has_biases else (None, None)
            w_hr = rest[-1] if each % 2 else None
            sizes = None if packing is None else packing.sizes
            output, h, c = _run(
                padded, states[at], None if cells is None else cells[at], w_ih, w_hh, b_ih, b_hh, w_hr, mode, sizes,
                direction == 1,
            )  # fmt: skip
            outputs.append(output)
            last.append(h)
            last_cells.append(c)
        x = outputs[0] if directions == 1 else cat.apply(outputs, -1 if packing is not None else 2)
        if packing is not None and not is_watched():
            x = packing.packed(x)
    if cx is None:
        return x, stack.apply(last, 0)
    c = stack.apply(last_cells, 0)
    return x, stack.apply(last, 0), c


class _Packing:
    """Packed sequences, which layers take padded."""

    def __init__(self, batch_sizes: Tensor, data: Tensor) -> None:
        self.sizes = tuple(batch_sizes.tolist())
        self.batch, self.data = self.sizes[0], data

    @functools.cached_property
    def places(self) -> Tensor | None:
        return None if self.sizes[-1] == self.batch else places(self.sizes, self.batch, self.data)

    def padded(self, data: Tensor) -> Tensor:
        form = (len(self.sizes), self.batch, data.shape[1])
        if self.places is None:
            return data.view(form)
        return data.new_zeros((form[0] * form[1], form[2])).index_copy(0, self.places, data).view(form)

    def packed(self, x: Tensor) -> Tensor:
        flat = x.reshape((-1, x.shape[2]))
        return flat if self.places is None else flat.index_select(0, self.places)


def _two_states(hx: Sequence[Tensor], name: str = "lstm") -> Sequence[Tensor]:
    if len(hx) != 2:
        raise RuntimeError(f"{name} expects two hidden states")
    return hx


def _tell_of_projections(input: Tensor, hx: Sequence[Tensor]) -> None:
    """Where PyTorch would have taken kernels of a library that has none for projections."""
    taken = input.device.type == "cpu" and input.dtype in (dt.float32, dt.bfloat16) and input.numel()
    if taken and len(hx) == 2 and hx[0].shape[2] != hx[1].shape[2]:
        warn_once("LSTM with projections is not supported with oneDNN. Using default implementation.")


def _declare(name: str, mode: str) -> None:
    """The public function, for padded and for packed sequences."""
    states, count = ("Tensor[] hx", 3) if mode == "LSTM" else ("Tensor hx", 2)

    def both(hx: Any) -> tuple[Any, Any]:
        h, c = _two_states(hx) if mode == "LSTM" else (hx, None)
        return h, c

    def of_padded(
        input: Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
        bidirectional: bool, batch_first: bool,
    ) -> Any:  # fmt: skip
        x = input.transpose(0, 1) if batch_first else input
        if not x.shape[0]:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        if mode == "LSTM":
            _tell_of_projections(input, hx)
            if is_watched() and one_dnn.takes(input, *both(hx), params):
                settings = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
                h, c = both(hx)
                output, *last = one_dnn.lstm(x, h, c, params, *settings)
                return (output.transpose(0, 1) if batch_first else output, *last)
        made = _layers(mode, x, *both(hx), params, has_biases, num_layers, dropout, train, bidirectional)
        turned = made[0].transpose_ if is_watched() else made[0].transpose
        return (turned(0, 1), *made[1:]) if batch_first else made

    def of_packed(
        data: Tensor, batch_sizes: Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float,
        train: bool, bidirectional: bool,
    ) -> Any:  # fmt: skip
        packing = _Packing(batch_sizes, data)
        return _layers(mode, data, *both(hx), params, has_biases, num_layers, dropout, train, bidirectional, packing)

    returned = ", ".join([f"Tensor result{k}" for k in range(count)])
    settings = "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
    publish(
        Composite(
            f"{name}.input(Tensor input, {states}, {settings}, bool batch_first) -> ({returned})", of_padded,
            by_form=False,
        ),
        Composite(
            f"{name}.data(Tensor data, Tensor batch_sizes, {states}, {settings}) -> ({returned})", of_packed,
            by_form=False,
        ),
        names=name, method=False,
    )  # fmt: skip


# ---- cells


def _check_cell(input: Tensor, states: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, gates: int) -> None:
    if input.size(1) != w_ih.size(1):
        raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {w_ih.size(1)}")
    size = w_hh.size(1)
    for nr, h in enumerate(states):
        if input.size(0) != h.size(0):
            raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{nr} batch size {h.size(0)}")
        if h.size(1) != size:
            raise RuntimeError(f"hidden{nr} has inconsistent hidden_size: got {h.size(1)}, expected {size}")
    if w_ih.size(0) != gates * size:
        raise RuntimeError(
            f"weight_ih first dim must be {gates} * hidden_size = {gates * size}, but got {w_ih.size(0)}"
        )


def _cell(
    mode: str, input: Tensor, h: Tensor, c: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Any:
    """One step."""
    _check_cell(input, [h] if c is None else [h, c], w_ih, w_hh, len(CELLS[mode].order))
    if is_watched():
        return shown.cell(mode, input, h, c, w_ih, w_hh, b_ih, b_hh)
    return _run(input.unsqueeze(0), h, c, w_ih, w_hh, b_ih, b_hh, None, mode, None, False)[1:]


def _declare_cell(name: str, mode: str) -> None:
    def of_one(input: Tensor, hx: Tensor, *weights: Any) -> Tensor:
        return _cell(mode, input, hx, None, *weights)[0]

    def of_two(input: Tensor, hx: Any, *weights: Any) -> tuple[Tensor, Tensor]:
        return _cell(mode, input, *_two_states(hx, "lstm_cell"), *weights)

    states = "Tensor[] hx" if mode == "LSTM" else "Tensor hx"
    schema = f"{name}(Tensor input, {states}, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)"
    publish_python(schema, of_two if mode == "LSTM" else of_one, method=False, by_form=False)


for _name, _mode in (("rnn_tanh", "RNN_TANH"), ("rnn_relu", "RNN_RELU"), ("gru", "GRU"), ("lstm", "LSTM")):
    _declare(_name, _mode)
    _declare_cell(f"{_name}_cell", _mode)


describe(
    gru="Layers of gated recurrent units over a sequence: the outputs and the last state.",
    gru_cell="One step of a gated recurrent unit.",
    lstm="Layers of long short-term memory over a sequence: the outputs and the last states.",
    lstm_cell="One step of a long short-term memory: the hidden state and the cell's.",
    rnn_relu="Layers of recurrent units with `relu` over a sequence: the outputs and the last state.",
    rnn_relu_cell="One step of a recurrent unit with `relu`.",
    rnn_tanh="Layers of recurrent units with `tanh` over a sequence: the outputs and the last state.",
    rnn_tanh_cell="One step of a recurrent unit with `tanh`.",
)
