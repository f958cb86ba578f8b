"""Linear maps with a weight and a bias."""

from __future__ import annotations

import copy
import math
from typing import Any

from ..core import dtype as dt
from ..core.elementwise import conj, sum_to
from ..core.fast import PRECISE
from ..core.mode import local
from ..core.node import UNVERSIONED, version_of
from ..core.on_arrays import gradients_on_arrays
from ..core.op import Op
from ..core.operands import NOWHERE, edge_of
from ..core.overrides import dispatch, needs_dispatch
from ..core.publish import publish_python
from ..core.schema import Signature
from ..core.tensor import Tensor, wrap
from .linear_steps import LinearNode
from .matmul import H, addmm, matmul, product
from .writing import widened


def _rows(t: Any) -> Any:
    """A tensor or array as a matrix of what lies along its last dimension."""
    return t if len(t.shape) == 2 else t.reshape((math.prod(t.shape[:-1]), t.shape[-1]))


def _product(xp: Any, input: Any, weight: Any) -> Any:
    if input.dtype.char in "fd":
        made = _rows(input).dot(weight.T)
    else:
        made = product(xp, widened(_rows(input)), widened(weight).T).astype(input.dtype, copy=False)
    return made if input.ndim == 2 else made.reshape((*input.shape[:-1], weight.shape[0]))


def _sum(xp: Any, bias: Any, input: Any, weight: Any) -> Any:
    made = _product(xp, widened(input), widened(weight))
    made += bias
    return made.astype(input.dtype, copy=False)


class Linear(Op):
    """`input @ weight.T`, or that plus a bias, for a weight that is a matrix and a bias that is a vector.

    Its node has the name of PyTorch's last step, and the edges of its `addmm` or `mm`, in their order. The other steps
    are there for those who look (linear_steps.py).
    """

    node_base = LinearNode

    def __init__(self, *args: Any, node: str, view: str, **more: Any) -> None:
        super().__init__(*args, node=node, **more)
        self.for_rows = copy.copy(self)  # where the input is no matrix
        self.for_rows._declare_nodes(view, {})


_GRADIENTS = {
    "input": lambda g, weight: product_with.apply(g, H(weight)),
    "weight": lambda g, input: _rows(g).t().mm(conj(_rows(input))),
}
product_with = Linear(
    "_linear(Tensor input, Tensor weight)", _product, _GRADIENTS, node="MmBackward0", view="UnsafeViewBackward0",
    linear="each", batch=lambda input, weight: matmul.apply(input, weight.t()),
)  # fmt: skip
sum_with = Linear(
    "_linear.bias(Tensor bias, Tensor input, Tensor weight)", _sum,
    {"bias": lambda g, bias_shape: sum_to(g, bias_shape), **_GRADIENTS}, node="AddmmBackward0", view="ViewBackward0",
    batch=lambda bias, input, weight: matmul.apply(input, weight.t()) + bias,
)  # fmt: skip


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    dtype, shape, form = weight.dtype, weight.array.shape, input.array.shape
    if len(shape) == 2 and form[-1:] == shape[1:] and input.dtype is dtype is not dt.bool_:
        if bias is None:
            return Op.apply(product_with if len(form) == 2 else product_with.for_rows, input, weight)
        if bias.array.shape == shape[:1] and bias.dtype is dtype:
            return Op.apply(sum_with if len(form) == 2 else sum_with.for_rows, bias, input, weight)
    return _step_by_step(input, weight, bias)


def _step_by_step(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`linear` made of other ops, which say what does not fit."""
    if not input.dim() or not weight.dim():
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.dim()}D and {weight.dim()}D"
        )
    if weight.dim() == 1 and bias is None:
        return matmul.apply(input, weight)
    rows, turned = _rows(input), weight.t()
    made = rows.mm(turned) if bias is None else addmm.apply(bias, rows, turned, 1, 1)
    return made.view((*input.shape[:-1], weight.shape[0]))


_signature = Signature("linear(Tensor input, Tensor weight, Tensor? bias=None)")


def linear(*args: Any, **kwargs: Any) -> Tensor:
    """`input @ weight.T + bias`."""
    state = local.state
    if len(args) == 3 and not kwargs and state.mode.plain:
        made = _at_once(state, *args)
        if made is not None:
            return made
    if needs_dispatch(args, kwargs):
        return dispatch(linear, args, kwargs)
    return _linear(*_signature.bind(args, kwargs))


# ---- plain tensors of one precision, flat


def _at_once(state: Any, input: Any, weight: Any, bias: Any) -> Tensor | None:
    """The result, with its history; None where the general way is to be taken."""
    try:
        backend, dtype = input.backend, input.dtype
        x, w = input.array, weight.array
        if weight.backend is not backend or weight.dtype is not dtype or dtype not in PRECISE:
            return None
        shape = w.shape
        if len(shape) != 2 or x.shape[-1:] != shape[1:]:
            return None
        if bias is None:
            op = product_with
            array = state.quiet(op.kernels[backend], x, w)
        else:
            op = sum_with
            b = bias.array
            if bias.backend is not backend or bias.dtype is not dtype or b.shape != shape[:1]:
                return None
            array = state.quiet(op.kernels[backend], b, x, w)
    except (AttributeError, KeyError):
        return None
    to_input, to_weight = edge_of(input), edge_of(weight)
    to_bias = None if bias is None else edge_of(bias)
    recorded = to_input is not None or to_weight is not None or to_bias is not None
    if not recorded or not state.mode.grad:
        return wrap(array, dtype, backend)
    edges = (to_input, to_weight) if bias is None else (to_bias, to_input, to_weight)
    for edge in edges:
        if edge is NOWHERE:
            return None
    if input.counter is UNVERSIONED or weight.counter is UNVERSIONED:
        return None
    node_class = op.node_class if len(x.shape) == 2 else op.for_rows.node_class
    node = node_class(edges, ((array.shape, dtype, backend),))
    node.operand_forms = None
    node.saved_entries = (
        None if to_weight is None else (input, version_of(input)),
        None if to_input is None else (weight, version_of(weight)),
    )
    if bias is not None:
        node.plain_values = (shape[:1],)
    result = wrap(array, dtype, backend)
    result.edge = (node, 0)
    return result


def _array_gradients(xp: Any, g: Any, edges: tuple[Any, ...], input: Any, weight: Any) -> list[Any]:
    to_input, to_weight = edges[-2:]
    rows = _rows(g)
    of_input = of_weight = None
    if to_input is not None:
        of_input = rows.dot(weight)
        if rows is not g:
            of_input = of_input.reshape((*g.shape[:-1], of_input.shape[1]))
    if to_weight is not None:
        of_weight = rows.T.dot(_rows(input))
    if len(edges) == 2:
        return [of_input, of_weight]
    return [None if edges[0] is None else rows.sum(0), of_input, of_weight]


for _op in (product_with, sum_with):
    gradients_on_arrays(_op, _array_gradients)
    gradients_on_arrays(_op.for_rows, _array_gradients)


# ---- of two inputs


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`input1 @ weight[k] @ input2 + bias[k]` for each k."""
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    for i in range(input1.dim() - 1):
        if input1.shape[i] != input2.shape[i]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {i}: got {input1.shape[i]} and "
                f"{input2.shape[i]}"
            )
    for nr, t in enumerate((input1, input2), 1):
        if t.shape[-1] != weight.shape[nr]:
            raise RuntimeError(
                f"bilinear(): input{nr} size does not match weight size: got {t.shape[-1]} but expected "
                f"{weight.shape[nr]}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )
    outputs, one, other = weight.shape
    rows = _rows(input1)
    # (rows, one) times (outputs, one, other), then the inner product of each row with that of input2.
    half = rows.mm(weight.transpose(0, 1).reshape((one, outputs * other))).view((rows.shape[0], outputs, other))
    made = half.bmm(_rows(input2).unsqueeze(2)).view((*input1.shape[:-1], outputs))
    return made if bias is None else made + bias


publish_python(
    "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None)", bilinear, forms="function"
)
