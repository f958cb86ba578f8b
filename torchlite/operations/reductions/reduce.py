"""Reductions by arithmetic and logic: sums, means, products, `any` and `all`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import (
    Op,
    Reduction,
    conj,
    describe,
    publish,
    publish_as,
    published,
    reduced_count,
    sum_to,
    with_reduced,
)
from ...core.machine import Tensor, TensorBase, fast, share_on_arrays, spread_on_arrays
from ...core.machine.write import into
from ...core.state import is_watched, local
from ...core.values import Array, Namespace, dt, errors
from ...kernels.summing import add_reduce
from ..formulas import ones
from ..pointwise.arithmetic import divide_by
from ..shapes.joining import cat
from .in_one_kernel import in_one_kernel

# ---- sums

DIMS = "Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None"
OPTIONAL_DIMS = "Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None"
WHOLE = "Tensor self, *, ScalarType? dtype=None"


sum_all = Reduction(
    f"sum({WHOLE})",
    add_reduce,
    lambda g: g,
    integers="int64", linear=True, batch=lambda self, dtype: sum_dim.apply(self, None, False, dtype),
    direct={d: d for d in (dt.float32, dt.float64, dt.int64, dt.complex64, dt.complex128)},
    on_arrays=lambda op: spread_on_arrays, formulas={"self": lambda g: g.spread()}, shows="self_sym_sizes",
)  # fmt: skip
sum_dim: Reduction = Reduction(
    f"sum.dim_IntList({DIMS})", add_reduce, lambda g: g, integers="int64", node="SumBackward1", linear=True,
    shows="dim keepdim self_sym_sizes",
)  # fmt: skip


def publish_total(whole: Any, along: Any) -> None:
    """Publish a reduction whose result is mostly one number."""
    name, general = whole.signature.name, publish(whole, along)
    publish_as(name, fast.total(whole, general), method=False, general=general)
    general = getattr(Tensor, name)
    publish_as(name, fast.total(whole, general), function=False, general=general)


publish_total(sum_all, sum_dim)


@published("sum_to_size(Tensor self, int[] size)", function=False)
def sum_to_size(input: Tensor, size: tuple[int, ...]) -> Tensor:
    """This tensor summed down to `size`, from which it could be broadcast."""
    shape = input._array.shape
    lead = len(shape) - len(size)
    if lead < 0 or any(want not in (have, 1) for want, have in zip(size, shape[lead:], strict=True)):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    return sum_to(input, size) if size else input.sum()


def _nansum(xp: Namespace, array: Array, axis: Any, keepdim: bool) -> Any:
    if array.dtype.kind == "f":
        array = xp.where(xp.isnan(array), array.dtype.type(0), array)
    return add_reduce(xp, array, axis, keepdim)


def _check_nansum(t: Tensor, dim: Any, keepdim: bool, d: dt.dtype | None) -> None:
    errors.wrap_dims(() if dim is None else dim, t.dim())
    if d is not None and d.category != t.dtype.category >= dt.FLOAT and not t.is_complex():
        raise errors.not_implemented_for("nansum_cpu", d)
    if t.is_complex():
        raise RuntimeError("nansum on CPU does not support complex inputs")


def _nansum_vjp(g: Tensor, self: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    known = self.isnan().logical_not()
    return with_reduced(g, self, dim, keepdim).expand(self.shape) * known


nansum = Reduction(
    f"nansum({OPTIONAL_DIMS})", _nansum, _nansum_vjp, integers="int64", check_form=_check_nansum, bare=True,
)  # fmt: skip
publish(nansum)

# ---- means


def _check_mean(t: Tensor, *values: Any) -> None:
    d = values[-1]
    if (d or t.dtype).category < dt.FLOAT:
        what = "Input" if d is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {what} dtype must be either a floating point or complex dtype. "
            f"Got: {(d or t.dtype).legacy}"
        )


def _check_mean_out(out: Any, values: Sequence[Any]) -> None:
    """Where no dtype is asked for, means are computed in the input's, and may not all be written to `out`."""
    t, d = values[0], values[-1]
    if d is not None or not isinstance(out, TensorBase):
        return
    _check_mean(*values)
    if out.dtype.category < t.dtype.category and (len(values) == 2 or out.dtype.category < dt.FLOAT):
        raise errors.cannot_cast(dt.get_default_dtype(), out.dtype) if len(values) > 2 else RuntimeError(
            f"mean.dtype_out(): input types can't be cast to the desired output type {out.dtype.legacy}"
        )


def _mean(xp: Namespace, array: Array, axis: Any, keepdim: bool) -> Any:
    return add_reduce(xp, array, axis, keepdim) / reduced_count(array, axis)


def _mean_vjp(g: Tensor, self_shape: tuple[int, ...], result_numel: int) -> Tensor:
    return divide_by.apply(g.expand(self_shape), math.prod(self_shape) // max(result_numel, 1))


mean_all = Reduction(
    f"mean({WHOLE})",
    _mean,
    _mean_vjp,
    check_form=_check_mean, check_out=_check_mean_out, linear=True,
    batch=lambda self, dtype: mean_dim.apply(self, None, False, dtype),
    direct={d: d for d in (dt.float32, dt.float64, dt.complex64, dt.complex128)}, on_arrays=lambda op: share_on_arrays,
    formulas={"self": lambda g: g.spread() / g.count()}, shows="self_sym_numel self_sym_sizes",
)  # fmt: skip
mean_dim: Reduction = Reduction(
    f"mean.dim({DIMS})", _mean, _mean_vjp, check_form=_check_mean, check_out=_check_mean_out, node="MeanBackward1",
    linear=True, shows="dim keepdim self_sym_numel self_sym_sizes",
    on_arrays=in_one_kernel(lambda follow, backend, g, shape, axes: (
        follow(operator.truediv, backend.xp.broadcast_to(g, shape), math.prod(shape) / g.size)
    )),
)  # fmt: skip
publish_total(mean_all, mean_dim)


@published(f"nanmean({OPTIONAL_DIMS})")
def nanmean(input: Tensor, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    """The mean of the elements that are not NaN."""
    if input.dtype.category < dt.FLOAT:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.legacy}"
        )
    plain = input.detach()
    count = plain.ne(plain).logical_not_().sum(dim, keepdim)
    return input.nansum(dim, keepdim, dtype=dtype) / count


# ---- products

TINY = 1e-8  # by less nothing is divided, since second derivatives would show the rounding


def _prod(xp: Namespace, array: Array, axis: Any, keepdim: bool) -> Any:
    return array.prod(axis, keepdims=keepdim)


def looked_at(t: Tensor) -> bool:
    """Whether a formula may depend on the values of a tensor: those of a transform, or that a mode sees, show none."""
    backend = t._backend.real
    return backend.values and (backend.lazy or not backend.level) and not is_watched()


def products_of_others(x: Tensor, dim: int) -> Tensor:
    """For each element the product of all others along `dim`, by products from both ends; zeros do no harm."""
    x = x.float() if x.dtype in dt.HALVES else x
    n = x.shape[dim] if x.dim() else 1
    if n < 2:
        return x.new_ones(x.shape)
    one = ones(x, [1 if d == dim % x.dim() else n for d, n in enumerate(x.shape)])
    before = cat.apply([one, x.narrow(dim, 0, n - 1)], dim).cumprod(dim)
    return before * cat.apply([one, x.narrow(dim, 1, n - 1).flip(dim)], dim).cumprod(dim).flip(dim)


def _prod_by_division(g: Tensor, self: Tensor, result: Tensor) -> Tensor | None:
    """Where nothing is seen near zero: PyTorch's way, which shows when `self` has changed unnoticed."""
    if not self.dim() or not looked_at(self) or bool((self.detach().abs() <= TINY).any()):
        return None
    return g * conj(result / self)


def _prod_vjp(g: Tensor, self: Tensor, dim: int, result: Tensor) -> Tensor:
    found = _prod_by_division(g, self, result)
    return g * conj(products_of_others(self, dim)) if found is None else found


def _prod_all_vjp(g: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """Zeros where two factors are, whatever the gradient is: but to differentiate again takes the products."""
    if not local.state.mode.grad and looked_at(self) and int((self == 0).sum()) > 1:
        return g.new_zeros(self.shape)
    found = _prod_by_division(g, self, result)
    if found is not None:
        return found
    return (g * conj(products_of_others(self.reshape(-1), 0))).reshape(self.shape)


prod_all = Reduction(
    f"prod({WHOLE})",
    _prod,
    _prod_all_vjp,
    integers="int64",
    batch=lambda self, dtype: prod_dim.apply(self.reshape(-1), 0, False, dtype),
)
prod_dim: Reduction = Reduction(
    "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None)",
    _prod,
    _prod_vjp,
    integers="int64",
    node="ProdBackward1",
)
publish(prod_all, prod_dim)

# ---- logarithm of a sum of exponentials


def _logsumexp(xp: Namespace, array: Array, axis: Any, keepdim: bool) -> Any:
    if not array.size:
        return xp.log(add_reduce(xp, array, axis, keepdim))
    if axis is None and array.ndim and not keepdim:
        raise RuntimeError(f"output with shape [] doesn't match the broadcast shape {[1] * array.ndim}")
    top = array.real.max(axis, keepdims=True)
    top = xp.where(xp.isfinite(top), top, top.dtype.type(0))
    total = xp.log(add_reduce(xp, xp.exp(array - top), axis, keepdim))
    return total + (top if keepdim else top.reshape(total.shape))


def _share(xp: Namespace, g: Array, self: Array, result: Array) -> Any:
    return g * xp.exp(self - result)


logsumexp = Reduction(
    "logsumexp(Tensor self, int[1] dim, bool keepdim=False)",
    _logsumexp,
    lambda g, self, result: g * conj((self - result).exp()),
    integers="float",
    on_arrays=in_one_kernel(lambda follow, backend, g, shape, axes, self, result: (
        follow(_share, backend.xp, g, self, result)
    )),
)
publish(logsumexp)

# ---- logic


def _check_logical(name: str) -> Callable[..., None]:
    def check(out: Any, values: Sequence[Any]) -> None:
        if isinstance(out, TensorBase) and out.dtype not in (dt.bool_, dt.uint8):
            raise RuntimeError(f"{name} only supports bool tensor for result, got: {out.dtype.legacy}")

    return check


def _into_bools(op: Op, out: Any, values: Sequence[Any]) -> Any:
    """Whether bytes are true may be written as bools, too."""
    apply = op.apply
    if isinstance(out, TensorBase) and out.dtype is dt.bool_ and values[0].dtype is dt.uint8:
        return into(out, lambda *given: apply(*given).bool(), values, op.name)
    return into(out, apply, values, op.name)


for _name, _kernel in (
    ("any", lambda xp, array, axis, keepdim: array.any(axis, keepdims=keepdim)),
    ("all", lambda xp, array, axis, keepdim: array.all(axis, keepdims=keepdim)),
):
    # bool, but uint8 of uint8; no dimensions in the list mean none
    _words: dict[str, Any] = {
        "result": lambda d: d if d is dt.uint8 else dt.bool_, "none": "none", "asks": False,
        "check_out": _check_logical(_name), "into": _into_bools,
    }  # fmt: skip
    _dims = Reduction(f"{_name}.dims(Tensor self, int[]? dim=None, bool keepdim=False)", _kernel, **_words)
    publish(
        Reduction(
            f"{_name}(Tensor self)", _kernel, batch=lambda self, dims=_dims: dims.apply(self, None, False), **_words
        ),
        Reduction(f"{_name}.dim(Tensor self, int dim, bool keepdim=False)", _kernel, **_words),
        _dims,
    )


def _count_nonzero(xp: Namespace, array: Array, axis: Any, keepdim: bool) -> Any:
    return add_reduce(xp, array != 0, axis, keepdim)


count_nonzero = Reduction("count_nonzero(Tensor self, int? dim=None)", _count_nonzero, result=dt.int64)
count_nonzero_dims = Reduction("count_nonzero.dim_IntList(Tensor self, int[] dim)", _count_nonzero, result=dt.int64)
publish(count_nonzero, count_nonzero_dims)


describe(
    all="Whether all elements are true, of the whole tensor or along dimensions.",
    any="Whether any element is true, of the whole tensor or along dimensions.",
    count_nonzero="How many elements are not zero, of all or along dimensions.",
    logsumexp="""The logarithm of the sum of exponentials along dimensions, computed stably.

    >>> torch.logsumexp(torch.tensor([1000.0, 1000.0]), dim=0)
    tensor(1000.6932)
    """,
    mean="The mean of the elements, of all or along dimensions.",
    nansum="The sum of the elements that are no NaN.",
    prod="The product of the elements, of all or along a dimension.",
    sum="The sum of the elements, of all or along dimensions.",
)
