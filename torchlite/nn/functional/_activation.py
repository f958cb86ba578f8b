"""Activations."""

from __future__ import annotations

from typing import Any

from ...core.machine import Tensor, functions, overridable
from ...core.values import contiguous_format, dt, warn
from ...operations.pointwise import activations as ops
from ...operations.pointwise import rectifiers as leaky
from ...operations.pointwise.activations import gelu, softplus, softshrink
from ...operations.pointwise.activations import log_sigmoid as logsigmoid
from ...operations.reductions import softmax as soft
from ..headers import known_by_form, named

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "normalize", "prelu",
    "relu", "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus",
    "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
]  # fmt: skip

relu_, threshold_ = functions["relu_"], functions["threshold_"]
celu_, selu_, rrelu_ = functions["celu_"], functions["selu_"], functions["rrelu_"]
elu_, hardtanh_, leaky_relu_ = ops.elu_in_place, ops.hardtanh_in_place, leaky.leaky_relu_inplace
for _f in (elu_, hardtanh_, leaky_relu_):
    _f.__doc__ = f"`{_f.__name__[:-1]}`, written into the tensor itself."
hardshrink, prelu = functions["hardshrink"], functions["prelu"]
_threshold, _celu, _rrelu = functions["threshold"], functions["celu"], functions["rrelu"]


def _either(name: str, doc: str, op: Any, in_place: Any) -> Any:
    """An activation with no other choice than whether to overwrite its input."""

    def activation(input: Tensor, inplace: bool = False) -> Tensor:
        return (in_place if inplace else op)(input)

    return named(name, doc, activation)


relu = _either("relu", "`max(0, input)`.", functions["relu"], relu_)
hardsigmoid = _either(
    "hardsigmoid", "A line from 0 at -3 to 1 at 3, flat beyond.", ops.hardsigmoid, ops.hardsigmoid_in_place
)
hardswish = _either("hardswish", "`input * hardsigmoid(input)`.", ops.hardswish, ops.hardswish_in_place)
selu = _either("selu", "`elu` with the constants that keep mean and variance as they are.", functions["selu"], selu_)
silu = _either("silu", "`input * sigmoid(input)`.", ops.silu, ops.silu_in_place)
mish = _either("mish", "`input * tanh(softplus(input))`.", ops.mish, ops.mish_in_place)


# ---- rectifiers


@overridable
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`input` between 0 and 6."""
    return hardtanh_(input, 0, 6) if inplace else ops.hardtanh(input, 0, 6)


@overridable
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` between two bounds."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (hardtanh_ if inplace else ops.hardtanh)(input, min_val, max_val)


@overridable
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`value` in place of what is not above a threshold."""
    return (threshold_ if inplace else _threshold)(input, threshold, value)


@overridable
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """What is below zero times `negative_slope`."""
    return (leaky_relu_ if inplace else leaky.leaky_relu)(input, negative_slope)


@overridable
def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """What is below zero times a number drawn between two bounds; outside `training`, their mean."""
    return (rrelu_ if inplace else _rrelu)(input, lower, upper, training)


# ---- smooth


@overridable
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`alpha * (exp(input) - 1)` below zero."""
    return (elu_ if inplace else ops.elu)(input, alpha)


@overridable
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`alpha * (exp(input / alpha) - 1)` below zero."""
    return (celu_ if inplace else _celu)(input, alpha)


@overridable
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim` times the sigmoid of the second."""
    if not input.dim():
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return ops.glu(input, dim)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return input.tanh()


def sigmoid(input: Tensor) -> Tensor:
    """`1 / (1 + exp(-input))`."""
    return input.sigmoid()


@overridable
def tanhshrink(input: Tensor) -> Tensor:
    """`input - tanh(input)`."""
    return input - input.tanh()


@overridable
def softsign(input: Tensor) -> Tensor:
    """`input / (1 + |input|)`."""
    return input / (input.abs() + 1)


# ---- along a dimension


def _get_softmax_dim(name: str, ndim: int) -> int:
    """The dimension that softmax and its like took when none was given."""
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if ndim in (0, 1, 3) else 1


def _along(op: Any) -> Any:
    """What functions below come to where they are told the dimension."""
    return lambda input, dim=None, _stacklevel=3, dtype=None: None if dim is None else (op, (input, dim, dtype))


@known_by_form(_along(soft.softmax))
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dt.dtype | None = None) -> Tensor:
    """Positive numbers along `dim`, with sum one, that grow with the input exponentially."""
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim())
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


@overridable
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dt.dtype | None = None) -> Tensor:
    """The `softmax` of `-input`."""
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim())
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


@known_by_form(_along(soft.log_softmax))
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dt.dtype | None = None) -> Tensor:
    """The logarithm of `softmax`."""
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim())
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


@overridable
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A random `softmax`: near one category of those that `logits` weigh, or with `hard` just that one.

    Gradients are those of the soft result. `tau` is how far from one category the soft result is.
    """
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = -functions["empty_like"](logits, memory_format=contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    chosen = functions["zeros_like"](logits, memory_format=contiguous_format).scatter_(dim, index, 1.0)
    return chosen - soft.detach() + soft


@overridable
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """`input` over its `p`-norm along `dim`, which counts for at least `eps`."""
    norm = input.norm(p, dim, keepdim=True)
    if out is None:
        return input / norm.clamp_min(eps).expand_as(input)
    return functions["div"](input, norm.clamp_min_(eps).expand_as(input), out=out)
