"""Layers of LSTM as a dispatch mode sees them where PyTorch leaves them to oneDNN: each is one operation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.declare import Op, publish
from ...core.machine import Tensor, functions
from ...core.values import Array, Namespace, dt
from ..shapes.joining import cat, stack
from . import recurrent_kernels

_LSTM = 2  # the number of the mode


def takes(input: Tensor, hx: Tensor, cx: Tensor, params: Sequence[Tensor]) -> bool:
    """Whether PyTorch leaves these layers to oneDNN, which has none with projections."""
    ours = all([t.dtype is dt.float32 and t._backend.device.type == "cpu" for t in (input, hx, cx, *params)])
    return ours and bool(input.numel()) and hx.shape[2] == cx.shape[2]


def _kernel(
    xp: Namespace, input: Array, w_ih: Array, w_hh: Array, b_ih: Array, b_hh: Array, h: Array, c: Array, reverse: bool,
    batch_sizes: Any, mode: int, hidden_size: int, num_layers: int, has_biases: bool, *_: bool,
) -> tuple[Any, ...]:  # fmt: skip
    biases: tuple[Any, Any] = (b_ih, b_hh) if has_biases else (None, None)
    output, h, c, *kept = recurrent_kernels.forward(xp, input, h, c, w_ih, w_hh, *biases, None, "LSTM", None, reverse)
    return output, h, c, xp.concatenate([a.ravel() for a in kept]).view(np.uint8)


def _kept(workspace: Array, input: Array, size: int) -> list[Array]:
    """What the forward pass kept: gates, hidden states and cells."""
    length, batch, _ = input.shape
    flat, made = workspace.view(input.dtype), []
    for shape in ((length, 4 * size, batch), (length, size, batch), (length, 2, size, batch)):
        made.append(flat[: math.prod(shape)].reshape(shape))
        flat = flat[math.prod(shape) :]
    return made


def _backward(
    xp: Namespace, input: Array, w_ih: Array, w_hh: Array, b_ih: Array, b_hh: Array, h: Array, c: Array,
    output: Array, hy: Array, cy: Array, g: Any, g_h: Any, g_c: Any, reverse: bool, mode: int, hidden_size: int,
    num_layers: int, has_biases: bool, train: bool, bidirectional: bool, batch_sizes: Any, batch_first: bool,
    workspace: Array,
) -> tuple[Any, ...]:  # fmt: skip
    gates, hidden, cells = _kept(workspace, input, hidden_size)
    made = recurrent_kernels.backward(
        xp, g, g_h, g_c, input, h, c, w_ih, w_hh, None, gates, hidden, cells, "LSTM", None, reverse,
        [True] * 7 + [False],
    )  # fmt: skip
    to_input, to_h, to_c, to_ih, to_hh, *to_biases = made[:7]
    if not has_biases:
        to_biases = [xp.zeros_like(b_ih), xp.zeros_like(b_hh)]
    return to_input, to_ih, to_hh, *to_biases, to_h, to_c


_backward_op = Op(
    "mkldnn_rnn_layer_backward(Tensor input, Tensor weight1, Tensor weight2, Tensor weight3, Tensor weight4, "
    "Tensor hx_, Tensor cx_tmp, Tensor output, Tensor hy_, Tensor cy_, Tensor? grad_output, Tensor? grad_hy, "
    "Tensor? grad_cy, bool reverse, int mode, int hidden_size, int num_layers, bool has_biases, bool train, "
    "bool bidirectional, int[] batch_sizes, bool batch_first, Tensor workspace) -> (Tensor result0, Tensor result1, "
    "Tensor result2, Tensor result3, Tensor result4, Tensor result5, Tensor result6)",
    _backward,
)


def _gradients(
    grads: Sequence[Any], input: Tensor, weight0: Tensor, weight1: Tensor, weight2: Tensor, weight3: Tensor,
    hx_: Tensor, cx_: Tensor, result0: Tensor, result1: Tensor, result2: Tensor, result3: Tensor, reverse: bool,
    batch_sizes: Any, mode: int, hidden_size: int, num_layers: int, has_biases: bool, bidirectional: bool,
    batch_first: bool, train: bool,
) -> Sequence[Any]:  # fmt: skip
    return _backward_op.apply(
        input, weight0, weight1, weight2, weight3, hx_, cx_, result0, result1, result2, *grads[:3], reverse, mode,
        hidden_size, num_layers, has_biases, train, bidirectional, batch_sizes, batch_first, result3,
    )  # fmt: skip


_layer_op = Op(
    "mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, "
    "Tensor cx_, bool reverse, int[] batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, "
    "bool bidirectional, bool batch_first, bool train) -> (Tensor result0, Tensor result1, Tensor result2, "
    "Tensor result3)",
    _kernel, _gradients, differentiable=3,
)  # fmt: skip
for _op in (_layer_op, _backward_op):
    publish(_op, function=False, method=False)


def _direction(
    x: Tensor, h: Tensor, c: Tensor, weights: Sequence[Tensor], has_biases: bool, reverse: bool, *settings: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """One direction of one layer: the output, and the last states."""
    w_ih, w_hh, *biases = weights
    if not has_biases:
        made = [functions["zeros"](w.shape, dtype=w.dtype, layout=w.layout, device=w.device) for w in (w_hh, w_ih)]
        biases = made[::-1]
    num_layers, *ways = settings
    return _layer_op.apply(
        x, w_ih, w_hh, *biases, h, c, reverse, (), _LSTM, h.shape[-1], num_layers, has_biases, *ways
    )[:3]


def lstm(
    x: Tensor, hx: Tensor, cx: Tensor, params: Sequence[Tensor], has_biases: bool, num_layers: int, dropout: float,
    train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """All layers in both directions: the output, and the last states of each."""
    each = 4 if has_biases else 2
    x, last, at = x.contiguous(), [], 0
    for layer in range(num_layers):
        if layer and train and dropout:
            x = functions["dropout"](x, dropout, train)
        outputs = []
        for reverse in (False, True) if bidirectional else (False,):
            weights = params[at * each : (at + 1) * each]
            output, *states = _direction(
                x, hx.select(0, at), cx.select(0, at), weights, has_biases, reverse, num_layers, bidirectional,
                batch_first, train,
            )  # fmt: skip
            outputs.append(output)
            last.append(states)
            at += 1
        x = outputs[0] if len(outputs) == 1 else cat.apply(outputs, -1)
    h, c = [stack.apply(list(states), 0) for states in zip(*last, strict=True)]
    return x, h, c
