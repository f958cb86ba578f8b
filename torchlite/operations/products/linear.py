"""Linear maps with a weight and a bias."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from ...core.declare import Op, conj, publish, publish_python, published, sum_to
from ...core.machine import Tensor, by_formula
from ...core.values import Array, Namespace, dt, not_implemented_for, strided
from ...kernels.summing import widened
from ..shapes.shape import Ints
from .added_products import addmm
from .linear_steps import LinearNode
from .matmul import H, by_columns, into_exactly, matmul, product, to_first, to_second, unrounded


def _rows(t: Any) -> Any:
    """A tensor or array as a matrix of what lies along its last dimension."""
    return t if len(t.shape) == 2 else t.reshape((math.prod(t.shape[:-1]), t.shape[-1]))


def _product(xp: Namespace, input: Array, weight: Any) -> Array:
    return _unrounded(xp, input, weight).astype(input.dtype, copy=False)


def _unrounded(xp: Namespace, input: Array, weight: Array) -> Any:
    """`input @ weight.T`, of halves in float32."""
    made = _rows(input).dot(weight.T) if input.dtype.char in "fd" else unrounded(xp, _rows(input), weight.T)
    return made if input.ndim == 2 else made.reshape((*input.shape[:-1], weight.shape[0]))


def _sum(xp: Namespace, bias: Any, input: Array, weight: Array) -> Any:
    if input.dtype.char in "fd" and input.ndim == 2:
        made = input.dot(weight.T)
        made += bias
        return made
    made = _unrounded(xp, input, weight)
    made += bias
    return made.astype(input.dtype, copy=False)


# `input @ weight.T`, or that plus a bias, for a weight that is a matrix and a bias that is a vector. Its node has the
# name of PyTorch's last step, `view` where the input is no matrix, and the edges of its `addmm` or `mm` in their order.
# The other steps are there for those who look (linear_steps.py).


def _is_no_matrix(values: Sequence[Any]) -> bool:
    return len(values[-2]._array.shape) != 2


def _of_input(g: Tensor, weight: Tensor, input_shape: tuple[int, ...], input_stride: tuple[int, ...]) -> Tensor:
    if len(input_shape) != 2:
        return product_with.apply(g, H(weight))
    if by_columns(input_shape, input_stride):
        return to_first(g, weight.t(), input_shape, input_stride)
    return g.mm(conj(weight))


def _of_weight(g: Tensor, input: Tensor, weight_shape: tuple[int, ...], weight_stride: tuple[int, ...]) -> Tensor:
    return to_second(_rows(g), _rows(input), weight_shape[::-1], weight_stride[::-1]).t()


_GRADIENTS = {"input": _of_input, "weight": _of_weight}


def _array_gradients(
    xp: Namespace, g: Array, edges: tuple[Any, ...], input: Array, weight: Array, input_shape: Any, input_stride: Any,
    weight_shape: Any, weight_stride: Any,
) -> list[Any]:  # fmt: skip
    to_input, to_weight = edges[-2:]
    rows = _rows(g)
    of_input = of_weight = None
    if to_input is not None:
        turned = rows is g and by_columns(input_shape, input_stride)
        of_input = xp.dot(weight.T, rows.T).T if turned else xp.dot(rows, weight)
        if rows is not g:
            of_input = of_input.reshape((*g.shape[:-1], of_input.shape[1]))
    if to_weight is not None:
        turned = by_columns(weight_shape, weight_stride)
        of_weight = product(xp, _rows(input).T, rows).T if turned else product(xp, rows.T, _rows(input))
    if len(edges) == 2:
        return [of_input, of_weight]
    return [None if edges[0] is None else rows.sum(0), of_input, of_weight]


_OF_MATRICES = {
    "bias": lambda g: g.sum_rows(),
    "input": lambda g, weight, input_stride: (g @ weight).by_rows(input_stride),
    "weight": lambda g, input, weight_stride: (g.T @ input).by_rows(weight_stride),
}
_BACKWARD: dict[str, Any] = {"on_arrays": by_formula(_array_gradients), "formulas": _OF_MATRICES}
product_with: Op = Op(
    "_linear(Tensor input, Tensor weight)", _product, _GRADIENTS, node="MmBackward0", node_base=LinearNode,
    node_where=("UnsafeViewBackward0", _is_no_matrix),
    linear="each", batch=lambda input, weight: matmul.apply(input, weight.t()), **_BACKWARD,
)  # fmt: skip
sum_with = Op(
    "_linear.bias(Tensor bias, Tensor input, Tensor weight)", _sum,
    {"bias": lambda g, bias_shape: sum_to(g, bias_shape), **_GRADIENTS}, node="AddmmBackward0", node_base=LinearNode,
    node_where=("ViewBackward0", _is_no_matrix),
    batch=lambda bias, input, weight: matmul.apply(input, weight.t()) + bias, **_BACKWARD,
)  # fmt: skip


def _as_one(input: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Op, tuple[Tensor, ...]] | None:
    """The op that is all of `linear`, with its arguments; None where they do not fit."""
    dtype, shape = weight.dtype, weight._array.shape
    if len(shape) != 2 or input._array.shape[-1:] != shape[1:] or input.dtype is not dtype or dtype is dt.bool_:
        return None
    if bias is None:
        return product_with, (input, weight)
    return (sum_with, (bias, input, weight)) if bias._array.shape == shape[:1] and bias.dtype is dtype else None


def _laid_out(t: Tensor) -> bool:
    return t._backend.layout is strided


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`input @ weight.T + bias`."""
    if not (_laid_out(input) and _laid_out(weight)):  # sparse ones are multiplied by `matmul`
        if bias is not None and not (_laid_out(input) or _laid_out(weight)):
            return addmm.apply(bias, input, weight.t(), 1, 1)
        made = matmul.apply(input, weight.t())
        return made if bias is None else made + bias
    one = _as_one(input, weight, bias)
    if one is None:
        return _step_by_step(input, weight, bias)
    op, arguments = one
    return op.apply(*arguments)


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


linear = publish_python(
    "linear(Tensor input, Tensor weight, Tensor? bias=None)", _linear, function=False, method=False, into=into_exactly,
    comes_to=_as_one,
)


# ---- of two inputs


def _sum_of_products(
    xp: Namespace, i1: Any, i2: Any, i3: Any, expand1: Ints, expand2: Ints, expand3: Ints, sumdim: Ints, unroll_dim: int
) -> Array:
    """The product of three, each repeated along dimensions that it lacks, summed over some."""
    every = range(i1.ndim + len(expand1))
    terms = [[d for d in every if d not in lacking] for lacking in (expand1, expand2, expand3, sumdim)]
    factors = [widened(i) for i in (i1, i2, i3)]
    made = xp.einsum(*[x for pair in zip(factors, terms) for x in pair], terms[-1], optimize=True)
    return made.astype(i1.dtype, copy=False)


def _with_dims(t: Tensor, dims: Ints) -> Tensor:
    for d in sorted(dims):
        t = t.unsqueeze(d)
    return t


def _sum_by_products(i1: Tensor, i2: Tensor, i3: Tensor, *expands: Any) -> Tensor:
    *lacking, sumdim, _ = expands
    factors = [_with_dims(i, dims) for i, dims in zip((i1, i2, i3), lacking)]
    whole = factors[0] * factors[1] * factors[2]
    return whole.sum(sumdim) if sumdim else whole


_trilinear_gradients: dict[str, Any] = {
    "i1": lambda g, i2, i3, expand1, expand2, expand3, sumdim: _trilinear.apply(
        g, conj(i2), conj(i3), sumdim, expand2, expand3, expand1, 1
    ),
    "i2": lambda g, i1, i3, expand1, expand2, expand3, sumdim: _trilinear.apply(
        conj(i1), g, conj(i3), expand1, sumdim, expand3, expand2, 1
    ),
    "i3": lambda g, i1, i2, expand1, expand2, expand3, sumdim: _trilinear.apply(
        conj(i1), conj(i2), g, expand1, expand2, sumdim, expand3, 1
    ),
}
_trilinear: Op = Op(
    "_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, "
    "int unroll_dim=1)",
    _sum_of_products, _trilinear_gradients, linear="each", batch=_sum_by_products, complex_gradients=False,
)  # fmt: skip
publish(_trilinear, method=False)


def _bilinear(xp: Namespace, input1: Array, weight: Array, input2: Any) -> Array:
    """`input1[r] @ weight[k] @ input2[r]` for all rows r and outputs k."""
    outputs, one, other = weight.shape
    first, second, turned = widened(input1), widened(input2), widened(weight).swapaxes(0, 1)
    half = product(xp, first, turned.reshape((one, outputs * other))).reshape((len(first), outputs, other))
    made = xp.matmul(half, second[:, :, None])
    return made.reshape((len(first), outputs)).astype(input1.dtype, copy=False)


def _bilinear_by_products(input1: Tensor, weight: Tensor, input2: Tensor) -> Tensor:
    outputs, one, other = weight.shape
    half = input1.mm(weight.transpose(0, 1).reshape((one, outputs * other))).view((len(input1), outputs, other))
    return half.bmm(input2.unsqueeze(2)).view((len(input1), outputs))


def _bilinear_weight(g: Tensor, i1: Tensor, i2_shape: Any, i3: Tensor) -> Tensor:
    outer = g.unsqueeze(2) * conj(i1).unsqueeze(1)
    return outer.flatten(1).t().mm(conj(i3)).view(i2_shape)


bilinear_rows: Op = Op(
    "_trilinear.rows(Tensor i1, Tensor i2, Tensor i3)", _bilinear,
    {
        "i1": lambda g, i2, i3: bilinear_rows.apply(g, conj(i2).transpose(0, 1), conj(i3)),
        "i2": _bilinear_weight,
        "i3": lambda g, i1, i2: bilinear_rows.apply(conj(i1), conj(i2).permute((2, 1, 0)), g),
    },
    linear="each", batch=_bilinear_by_products, complex_gradients=False, frugal=True, shows="",
    node="TrilinearBackward0",
    made_of=lambda *factors: functools.partial(_trilinear.apply, *factors, (1, 3), (0,), (1, 2), (2, 3), 1),
)  # fmt: skip


def _check_dtypes(**tensors: Tensor) -> None:
    dtypes = {name: t.dtype for name, t in tensors.items()}
    if len({*dtypes.values()}) > 1:
        got = ", ".join([f"{name}: {d.cname}" for name, d in dtypes.items()])
        raise RuntimeError(f"All tensors must have the same dtype, got {got}")
    if dt.bool_ in dtypes.values():
        raise not_implemented_for("bmm", dt.bool_)


@published("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None)", method=False)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`input1 @ weight[k] @ input2 + bias[k]` for each k."""
    _check_dtypes(input1=input1, input2=input2, weight=weight, **({} if bias is None else {"bias": bias}))
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    for i in range(input1.dim() - 1):
        if input1.shape[i] != input2.shape[i]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {i}: got {input1.shape[i]} and "
                f"{input2.shape[i]}"
            )
    for nr, t in enumerate((input1, input2), 1):
        if t.size(-1) != weight.size(nr):
            raise RuntimeError(
                f"bilinear(): input{nr} size does not match weight size: got {t.shape[-1]} but expected "
                f"{weight.shape[nr]}"
            )
    if bias is not None and bias.size(0) != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )
    if weight.dim() != 3:
        raise RuntimeError("number of dimensions must match")
    rows, others = [t.reshape((-1, t.shape[-1])) for t in (input1, input2)]
    made = bilinear_rows.apply(rows, weight, others).view((*input1.shape[:-1], len(weight)))
    return made if bias is None else made + bias
