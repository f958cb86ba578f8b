"""Running totals and differences: an operation carried along one dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import Along, Composite, conj, describe, publish, published, refused
from ...core.machine import Tensor, functions
from ...core.state import local
from ...core.values import Array, Backend, Namespace, dt, not_implemented_for, wrap_dim
from ..formulas import options, zeros
from ..pointwise.arithmetic import divide_by, multiply_by
from ..shapes.joining import cat
from ..shapes.shape import along_dim
from ..shapes.slicing import slice_
from .reduce import TINY, looked_at
from .summing import carried


def running(xp: Namespace, combine: str, array: Array, axis: int) -> Any:
    """All prefixes along `axis` of a ufunc that is associative."""
    ufunc = getattr(xp, combine)
    try:
        return ufunc.accumulate(array, axis)
    except NotImplementedError:  # CuPy accumulates sums and products only
        return _doubled(xp, ufunc, array, axis)


def _doubled(xp: Namespace, combine: Any, array: Array, axis: int) -> Array:
    """The same in log n steps, each over a reach twice as long."""
    moved = xp.moveaxis(array, axis, 0).copy()
    step = 1
    while step < len(moved):
        moved = xp.concatenate([moved[:step], combine(moved[step:], moved[:-step])])
        step *= 2
    return xp.moveaxis(moved, 0, axis)


def positions(xp: Namespace, array: Array, axis: int) -> Array:
    """0, 1, 2, … along `axis`, to be broadcast against `array`."""
    return xp.arange(array.shape[axis]).reshape(along_dim(axis, array.ndim))


def from_the_end(t: Tensor, op: Any, dim: int) -> Tensor:
    """A running total from the last element to the first."""
    return op(t.flip(dim), dim).flip(dim)


def _keeps_dtype(self: Tensor, dim: int, dtype: dt.dtype) -> None:
    if dtype is not self.dtype:
        differs = f"input tensor dtype {self.dtype.cname} and output tensor dtype {dtype.cname} should match"
        raise RuntimeError(f"Bad in-place call: {differs}")


def _in_its_dtype(op: Along, values: list[Any]) -> Tensor:
    """In place, the dtype must stay."""
    at: Any = op.dtype_at
    values[at] = values[at] or values[0].dtype
    return Along.apply_in_place(op, values)


def _no_bools(op: Along, values: Sequence[Any], backend: Backend) -> tuple[list[Any], Any]:
    prepared = Along.prepare(op, values, backend)
    asked = None if op.dtype_at is None else values[op.dtype_at]
    if (asked is dt.bool_ or asked in dt.UNSIGNED) and values[0].dim() and values[0].numel():
        raise not_implemented_for(f"{op.signature.name}_out_cpu", asked)
    return prepared


_RUNNING: dict[str, Any] = {
    "integers": "int64", "prepare": _no_bools, "apply_in_place": _in_its_dtype, "check_in_place": _keeps_dtype,
    "by_form": True,
}  # fmt: skip
cumsum = Along(
    "cumsum(Tensor self, int dim, *, ScalarType? dtype=None)",
    lambda xp, array, axis: xp.add.accumulate(array, axis, carried(array)).astype(array.dtype, copy=False),
    lambda g, dim: g if g.numel() <= 1 or g.shape[dim] == 1 else from_the_end(g, Tensor.cumsum, dim),
    linear=True, real_parts=True, **_RUNNING,
)  # fmt: skip
publish(cumsum, inplace=True)

# ---- products


def _shifted(t: Tensor, dim: int, fill: float) -> Tensor:
    """`t` moved one step towards the start of `dim`, with `fill` at the end."""
    n = t.shape[dim]
    return cat.apply([t.narrow(dim, 1, n - 1), t.new_full(t.narrow(dim, 0, 1).shape, fill)], dim)


def _linear_recurrence(a: Tensor, b: Tensor, dim: int) -> Tensor:
    """s with s[k] = b[k] + a[k] s[k + 1], by combining stretches of doubling length."""
    n, step = a.shape[dim], 1
    while step < n:
        head, tail = n - step, b.narrow(dim, n - step, step)
        later = b.narrow(dim, step, head)
        b = cat.apply([b.narrow(dim, 0, head) + a.narrow(dim, 0, head) * later, tail], dim)
        a = cat.apply([a.narrow(dim, 0, head) * a.narrow(dim, step, head), a.narrow(dim, head, step)], dim)
        step *= 2
    return b


def _cumprod_vjp(g: Tensor, self: Tensor, dim: int, result: Tensor) -> Tensor:
    """A division where nothing is seen near zero: PyTorch's way, which shows when `self` has changed unnoticed.

    To be differentiated again, it is the product before each element, times the sum over what follows it.
    """
    if self.numel() <= 1 or self.shape[dim] == 1:
        return g
    dim = wrap_dim(dim, self.dim())
    g = g.float() if g.dtype in dt.HALVES else g  # products of a few small numbers would vanish
    x, before = conj(self).to(g.dtype), conj(result).to(g.dtype)
    if looked_at(self) and not bool((self.detach().abs() <= TINY).any()):
        return from_the_end(g * before, Tensor.cumsum, dim) / x
    if not local.state.mode.grad:
        return _cumprod_by_zeros(g, x, dim, before)
    first, n = x.narrow(dim, 0, 1).shape, x.shape[dim]
    before = cat.apply([x.new_full(first, 1), before.narrow(dim, 0, n - 1)], dim)
    return before * _linear_recurrence(_shifted(x, dim, 0), g, dim)


def _cumprod_by_zeros(g: Tensor, x: Tensor, dim: int, result: Tensor) -> Tensor:
    """A division before the first zero of a row; at it, what the products up to the second would be without it."""
    weighted = g * result
    zero = x == 0
    nothing = zeros(x, x.shape)
    passed = zero.cumsum(dim)
    clear = passed == 0
    through = from_the_end(weighted.masked_fill(~clear, 0.0), Tensor.cumsum, dim) / x
    made = through.where(clear, nothing)
    between = passed == 1
    at = between.max(dim, True)[1]
    first = functions["zeros_like"](between).scatter_(dim, at, 1).logical_and_(between)
    between &= ~first
    others = x.masked_fill(~between, 1.0).cumprod(dim)
    touched = g.masked_fill(passed != 1, 0.0)
    before = result.gather(dim, (at - 1).relu_()).masked_fill_(at == 0, 1.0)
    return (before * (touched * others).sum(dim, True)).where(first, made)


cumprod = Along(
    "cumprod(Tensor self, int dim, *, ScalarType? dtype=None)",
    lambda xp, array, axis: xp.cumprod(array, axis, carried(array)).astype(array.dtype, copy=False),
    _cumprod_vjp,
    **_RUNNING,
)
publish(cumprod, inplace=True)

# ---- extremes


def _running_extreme(combine: str) -> Callable[..., Any]:
    def kernel(xp: Namespace, array: Array, axis: int) -> tuple[Any, Any]:
        values = running(xp, combine, array, axis)
        reached = (array == values) | (array != array)
        places = running(xp, "maximum", xp.where(reached, positions(xp, array, axis), 0), axis)
        return xp.ascontiguousarray(values), xp.ascontiguousarray(places)

    return kernel


def _scalar_dim(name: str) -> Callable[..., None]:
    def check(self: Tensor, dim: int) -> None:
        """A tensor without dimensions has one to go along, of which these two speak in words of their own."""
        if not self._array.shape and dim not in (-1, 0):
            raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")

    return check


def _prepare_running(op: Along, values: Sequence[Any], backend: Backend) -> tuple[list[Any], Any]:
    """Of no elements, any dimension is as good."""
    return Along.prepare(op, values if values[0].numel() else (values[0], 0), backend)


for _name, _combine in (("cummax", "maximum"), ("cummin", "minimum")):
    publish(
        Along(
            f"{_name}(Tensor self, int dim) -> (Tensor values, Tensor indices)",
            _running_extreme(_combine),
            lambda g, indices, self, dim: (zeros(g, self.shape).scatter_add(dim, indices, g) if g.numel() else g),
            result=("same", dt.int64), refuse=refused(f"{_name}_cpu", *dt.COMPLEXES), check_form=_scalar_dim(_name),
            exact_out=True, prepare=_prepare_running,
        )
    )  # fmt: skip

# ---- sums of exponentials


def _logaddexp(xp: Namespace, a: Array, b: Array) -> Array:
    """The logarithm of exp(a) + exp(b), of complex numbers too."""
    first = a.real >= b.real
    high, low = xp.where(first, a, b), xp.where(first, b, a)
    return xp.where(xp.isfinite(high.real), high + xp.log(1 + xp.exp(low - high)), high + 0 * low.imag)


def _logcumsumexp(xp: Namespace, array: Array, axis: int) -> Any:
    array = array.astype(carried(array))
    if array.dtype.kind != "c":
        return running(xp, "logaddexp", array, axis)
    total = xp.moveaxis(array, axis, 0)
    for i in range(1, len(total)):  # in this order, on which the branch of the logarithm depends
        total[i] = _logaddexp(xp, total[i - 1], total[i])
    return array


def _logcumsumexp_vjp(g: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """g, summed from the end with weights exp(self - result), by logarithms, for positive and negative parts of g."""
    if not self.dim() or not self.numel():
        return g

    def weighted(log_g: Tensor) -> Tensor:
        return (from_the_end(log_g - conj(result), Tensor.logcumsumexp, dim) + conj(self)).exp()

    if g.is_complex():
        return weighted(g.log())
    # Finite, so that this can be differentiated again.
    nothing = functions["scalar_tensor"](dt.finfo(g.dtype).min, **options(g))
    log_g = g.abs().log()
    above, below = log_g.where(g > 0, nothing), log_g.where(g < 0, nothing)
    return weighted(above) - weighted(below)


def _check_inexact(self: Tensor, dim: int) -> None:
    wrap_dim(dim, self.dim())
    if self.dtype.category < dt.FLOAT:
        raise not_implemented_for("logcumsumexp_out_cpu", self.dtype)


logcumsumexp = Along(
    "logcumsumexp(Tensor self, int dim)", _logcumsumexp, _logcumsumexp_vjp, check_form=_check_inexact, exact_out=True
)
publish(logcumsumexp)

# ---- differences and areas


def _one_difference(t: Tensor, dim: int) -> Tensor:
    n = t.shape[dim] - 1
    earlier, later = t.narrow(dim, 0, n), t.narrow(dim, 1, n)
    return later.logical_xor(earlier) if t.dtype is dt.bool_ else later - earlier


@published("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None)")
def diff(input: Tensor, n: int, dim: int, prepend: Tensor | None, append: Tensor | None) -> Tensor:
    """The n-th differences of neighbours along `dim`."""
    if not input.dim():
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = wrap_dim(dim, input.dim())
    for other in (prepend, append):
        if other is not None and other.dim() != input.dim():
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for at, (n_input, n_other) in enumerate(zip(input.shape, () if other is None else other.shape)):
            if at != axis and n_input != n_other:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the "
                    f"differencing dimension; input.size({at}) = {n_input}, but got tensor.size({at}) = {n_other}"
                )
    if not n:
        return input.clone()
    parts = [t for t in (prepend, input, append) if t is not None]
    t = cat.apply(parts, dim) if len(parts) > 1 else input
    for _ in range(min(n, t.shape[dim])):
        t = _one_difference(t, dim)
    return t


def _neighbours(t: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """All but the last, and all but the first."""
    return slice_.apply(t, dim, 0, -1, 1), slice_.apply(t, dim, 1, None, 1)


def _strips(y: Tensor, width: Any, dim: int) -> Tensor:
    """Twice the area between each two neighbouring points."""
    before, after = _neighbours(y, dim)
    return (after + before) * width


def _widths(y: Tensor, x: Tensor, dim: int, name: str) -> Tensor:
    """The steps of `x`, shaped to be multiplied with those of `y`."""
    if x.dim() == 1:
        if x.shape[0] != y.size(dim):
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.reshape(along_dim(dim, y.dim()))
    elif x.dim() < y.dim():
        x = x.reshape([1] * (y.dim() - x.dim()) + list(x.shape))
    before, after = _neighbours(x, dim)
    return after - before


def _sum_of_strips(y: Tensor, width: float, dim: int) -> Tensor:
    """The area of strips of one width."""
    last = y.select(dim, -1)
    ends = multiply_by.apply(y.select(dim, 0) + last, 0.5)
    return multiply_by.apply(y.sum(dim) - ends, float(width))


def _sums_of_strips(y: Tensor, width: float, dim: int) -> Tensor:
    """The area of the first, of the first two, …"""
    before = slice_.apply(y, dim, 0, -1, 1)
    return multiply_by.apply(before + slice_.apply(y, dim, 1, None, 1), width / 2).cumsum(dim)


def _area(name: str, total: Any, evenly: Any, empty: Any = None) -> tuple[Composite, Composite]:
    """The overloads with points, of `total(strips, dim)`, and with a step, of `evenly(y, width, dim)`.

    `empty(y, dim)` is the result where there is no point, if that is one of its own.
    """
    said = "trapezoid" if name == "trapz" else name

    def with_points(y: Tensor, x: Tensor, dim: int) -> Tensor:
        dim = wrap_dim(dim, y.dim())
        if empty is not None and not y.size(dim):
            return empty(y, dim)
        if x.dtype is dt.bool_ or y.dtype is dt.bool_:
            raise RuntimeError(f"{said}: received a bool input for `x` or `y`, but bool is not supported")
        return divide_by.apply(total(_strips(y, _widths(y, x, dim, said), dim), dim), 2)

    def with_step(y: Tensor, dx: Any, dim: int) -> Tensor:
        if empty is not None and not y.size(dim):
            return empty(y, wrap_dim(dim, y.dim()))
        if y.dtype is dt.bool_:
            raise RuntimeError(f"{said}: received a bool input for `y`, but bool is not supported")
        if isinstance(dx, (bool, complex)):
            raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
        return evenly(y, dx, dim)

    return (
        Composite(f"{name}.x(Tensor y, Tensor x, *, int dim=-1)", with_points),
        Composite(f"{name}.dx(Tensor y, *, Scalar dx=1, int dim=-1)", with_step),
    )


def _zeros(y: Tensor, dim: int) -> Tensor:
    return y.new_zeros((*y.shape[:dim], *y.shape[dim + 1 :]))


for _name in ("trapezoid", "trapz"):
    publish(*_area(_name, lambda t, dim: t.sum(dim), _sum_of_strips, _zeros), method=False)
publish(*_area("cumulative_trapezoid", Tensor.cumsum, _sums_of_strips), method=False)


describe(
    cummax="The largest element so far along a dimension, and where it was: `(values, indices)`.",
    cummin="The smallest element so far along a dimension, and where it was: `(values, indices)`.",
    cumprod="The product of all elements so far along a dimension.",
    cumsum="""The sum of all elements so far along a dimension.

    >>> torch.cumsum(torch.tensor([1, 2, 3]), dim=0)
    tensor([1, 3, 6])
    """,
    cumulative_trapezoid="The integral up to each point along a dimension, by trapezoids.",
    logcumsumexp="The logarithm of the sum of exponentials so far along a dimension.",
    trapezoid="The integral along a dimension, by trapezoids.",
    trapz="The integral along a dimension, by trapezoids, as `trapezoid`.",
)
