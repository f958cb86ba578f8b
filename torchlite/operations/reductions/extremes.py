"""The largest, the smallest, the middle and the commonest element, and where they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.declare import Composite, Reduction, describe, publish, refused
from ...core.machine import Tensor
from ...core.state import is_watched
from ...core.values import Array, Backend, Namespace, dt, wrap_dim, wrap_dims
from ..formulas import onto
from ..vocabulary import no_complex
from .in_one_kernel import in_one_kernel, sums_of
from .scans import positions, running

# ---- gradients


def put_at(g: Tensor, indices: Tensor, self_shape: tuple[int, ...], dim: int) -> Tensor:
    """The gradient goes to the element that was chosen."""
    return onto(g.new_zeros(self_shape), "scatter", dim, indices, g)


def _share(g: Tensor, chosen: Tensor, dim: Any) -> Tensor:
    """The gradient goes in equal parts to all elements that are as large; NaNs show that none is."""
    return g / chosen.sum(dim, True) * chosen


def _share_dims(g: Tensor, self: Tensor, result: Tensor, dim: Any, keepdim: bool) -> Tensor:
    if keepdim or not self.dim():
        return _share(g, result == self, dim)
    dims = wrap_dims(dim, self.dim()) if dim else range(self.dim())
    kept = [1 if d in dims else n for d, n in enumerate(self._array.shape)]
    chosen = result.reshape(kept) == self
    return _share(g.reshape(kept), chosen, dim)


def _share_all(g: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """As above; when the result is NaN, the NaNs are its equals."""
    chosen = self.isnan().logical_and(result.isnan()).logical_or_(self == result)
    part = g / chosen.sum()
    # As in PyTorch: what is seen is a product, by which a NaN reaches all.
    return chosen * part if is_watched() else g.new_zeros(self.shape).masked_fill(chosen, part)


def _chosen(xp: Namespace, self: Array, result: Array) -> Any:
    return (self == result) | ((self != self) & (result != result))


def _parts(xp: Namespace, g: Array, self: Array, result: Array, count: Array) -> Array:
    return xp.where(_chosen(xp, self, result), g / count, 0)


def _parts_of_all(follow: Any, backend: Backend, g: Array, shape: Any, axes: Any, self: Array, result: Array) -> Any:
    """`_share_all` on a device."""
    count = follow(_chosen, backend.xp, self, result).sum(axes, sums_of(g.dtype), keepdims=True)
    return follow(_parts, backend.xp, g, self, result, count)


# ---- kernels


def along(name: str, find: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel for values and indices, from `find(xp, array, axis, *rest)`, whose indices keep the dimension."""

    def kernel(xp: Namespace, array: Array, axis: int, keepdim: bool, *rest: Any) -> tuple[Any, Any]:
        if array.size:
            indices = find(xp, array, axis, *rest)
            values = xp.take_along_axis(array, indices, axis)
        else:
            shape = (*array.shape[:axis], 1, *array.shape[axis + 1 :])
            values, indices = xp.empty(shape, array.dtype), xp.empty(shape, xp.int64)
        return (values, indices) if keepdim else (values.squeeze(axis), indices.squeeze(axis))

    return kernel


def has_elements(name: str, as_given: bool = False) -> Callable[..., None]:
    """A `check_form=`, before that of dtypes: dimensions to be reduced have elements."""

    def check(t: Tensor, dim: Any, *_: Any) -> None:
        shape = t._array.shape
        if dim is None or 0 not in shape:
            return
        for given in (dim,) if dim.__class__ is int else dim:
            at = wrap_dim(given, len(shape))
            if not shape[at]:
                raise IndexError(f"{name}(): Expected reduction dim {given if as_given else at} to have non-zero size.")

    return check


def _check_any(name: str, shape: tuple[int, ...]) -> None:
    if 0 in shape:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument."
        )


def _whole(name: str, which: str) -> Callable[..., Any]:
    def kernel(xp: Namespace, array: Array, axis: Any, keepdim: bool) -> Any:
        if axis is None:
            _check_any(name, array.shape)
        return getattr(array, which)(axis, keepdims=keepdim)

    return kernel


def _with_place(name: str) -> Callable[..., Any]:
    """A kernel for the values and where they stand."""

    def kernel(xp: Namespace, array: Array, axis: int, keepdim: bool) -> tuple[Any, Any]:
        if not array.size:
            shape = (*array.shape[:axis], *([1] if keepdim else []), *array.shape[axis + 1 :])
            return xp.empty(shape, array.dtype), xp.empty(shape, xp.int64)
        return getattr(array, name)(axis, keepdims=keepdim), getattr(array, "arg" + name)(axis, keepdims=keepdim)

    return kernel


INDICES = ("same", dt.int64)

# ---- largest and smallest


def _declare_extreme(name: str) -> None:
    where = "arg" + name
    binary = {"max": "maximum", "min": "minimum"}[name]
    publish(
        Reduction(
            f"{name}(Tensor self)",
            _whole(name, name),
            _share_all,
            refuse=refused(f"{name}_all", *dt.COMPLEXES),
            check_form=lambda self: _check_any(name, self._array.shape),
            node=f"{name.capitalize()}Backward1",
            batch=lambda self: extreme.apply(self, (), False),
            on_arrays=in_one_kernel(_parts_of_all),
        ),
        Composite(f"{name}.other(Tensor self, Tensor other)", lambda self, other: getattr(self, binary)(other)),
        Reduction(
            f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
            _with_place(name),
            put_at,
            result=INDICES,
            refuse=no_complex(RuntimeError, f"{name}(): does not support complex input"),
            check_form=has_elements(name),
            exact_out=True,
        ),
    )
    extreme: Reduction = Reduction(
        f"a{name}(Tensor self, int[1] dim=(), bool keepdim=False)",
        _whole("a" + name, name),
        _share_dims,
        refuse=refused(f"{name}_values_cpu", *dt.COMPLEXES), check_form=has_elements(f"a{name}", as_given=True),
        bare=True, exact_out=True,
    )  # fmt: skip
    publish(extreme)

    has = has_elements(where)

    def check(t: Tensor, dim: Any, *_: Any) -> None:
        kind = "bool" if t.dtype is dt.bool_ else "complex" if t.is_complex() else None
        if kind:
            raise RuntimeError(f"{where}(): does not support {kind} input")
        has(t, dim)

    def find(xp: Namespace, array: Array, axis: int | None, keepdim: bool) -> Any:
        if axis is None and not array.size:
            raise IndexError(f"{where}(): Expected reduction dim to be specified for input.numel() == 0.")
        if not array.size:
            return array.max(axis, keepdims=keepdim, initial=0)
        return getattr(array, where)(axis, keepdims=keepdim)

    publish(
        Reduction(
            f"{where}(Tensor self, int? dim=None, bool keepdim=False)", find, result=dt.int64, check_form=check,
            asks=False, exact_out=True,
        )
    )  # fmt: skip


_declare_extreme("max")
_declare_extreme("min")


def _check_aminmax(t: Tensor, dim: int | None, keepdim: bool) -> None:
    shape = t._array.shape
    if dim is None and 0 in shape:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    if dim is not None and shape and not shape[at := wrap_dim(dim, len(shape))]:
        raise IndexError(f"aminmax: Expected reduction dim {at} to have non-zero size.")


def _aminmax(xp: Namespace, array: Array, axis: int | None, keepdim: bool) -> tuple[Any, Any]:
    return array.min(axis, keepdims=keepdim), array.max(axis, keepdims=keepdim)


def _aminmax_vjp(grads: list[Tensor | None], self: Tensor, min: Tensor, max: Tensor, dim: int | None) -> Tensor | None:
    kept = min.shape if dim is not None else [1] * self.dim()
    along = tuple(range(self.dim())) if dim is None else dim
    parts = [
        _share(g.reshape(kept), self == r.reshape(kept), along)
        for g, r in zip(grads, (min, max), strict=True) if g is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


aminmax = Reduction(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    _aminmax,
    _aminmax_vjp,
    refuse=refused("aminmax_cpu", *dt.COMPLEXES), check_form=_check_aminmax, exact_out=True,
)  # fmt: skip
publish(aminmax)

# ---- the middle


def _middle(ignore_nan: bool) -> Callable[..., Any]:
    """The place of the median in each sorted row, NaNs last: the lower of two, or the first NaN where there is one."""

    def place(xp: Namespace, array: Array, axis: int) -> Any:
        n = array.shape[axis]
        nans = xp.add.reduce(array != array, axis=axis, keepdims=True)
        if ignore_nan:
            return xp.maximum(n - nans - 1, 0) // 2
        return xp.where(nans > 0, n - nans, (n - 1) // 2)

    return place


def _of_nothing(xp: Namespace, dtype: Any) -> Any:
    """The median of no elements."""
    if dtype.kind in "iu" and dtype.itemsize < 4:
        return 0  # what C makes of NaN by way of 32 bits
    return float("nan") if dtype.kind in "fcV" else dtype.kind == "b" or xp.iinfo(dtype).min


def _declare_median(name: str, ignore_nan: bool) -> None:
    place = _middle(ignore_nan)

    def find(xp: Namespace, array: Array, axis: int) -> Array:
        return xp.take_along_axis(xp.argsort(array, axis, kind="stable"), place(xp, array, axis), axis)

    def whole(xp: Namespace, array: Array, axis: None, keepdim: bool) -> Array:
        flat = array.reshape(-1)
        if not flat.size:
            return xp.full((), _of_nothing(xp, array.dtype), array.dtype)
        if (error := no_order(dt.of_numpy(array.dtype))) is not None:
            raise error
        return xp.sort(flat)[place(xp, flat, 0)].reshape(())

    def check_along(t: Tensor, dim: int, keepdim: bool) -> None:
        wrap_dim(dim, t.dim())
        has(t, dim)
        if (error := no_order_along(t.dtype)) is not None:
            raise error

    has = has_elements("median")
    no_order, no_order_along = (refused(f"median_{what}", dt.bool_, *dt.COMPLEXES) for what in ("cpu", "out"))
    by_dim = Reduction(
        f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        along(name, find),
        put_at,
        result=INDICES, check_form=check_along, node=f"{name.capitalize()}Backward1", complex_gradients=False,
    )  # fmt: skip

    def by_rows(self: Tensor) -> Tensor:
        return by_dim.apply(self.reshape(-1), 0, False)[0]

    def into(op: Reduction, out: Any, values: Any) -> Any:
        raise TypeError(f'{name}() missing 1 required positional arguments: "dim"')

    publish(
        Reduction(f"{name}(Tensor self)", whole, _share_all, batch=by_rows, complex_gradients=False, into=into), by_dim
    )


_declare_median("median", ignore_nan=False)
_declare_median("nanmedian", ignore_nan=True)

# ---- the commonest


def _find_mode(xp: Namespace, array: Array, axis: int) -> Array:
    """The last of the longest run of equals in each sorted row; the first such run, that of the smallest value."""
    order = xp.argsort(array, axis, kind="stable")
    ordered = xp.moveaxis(xp.take_along_axis(array, order, axis), axis, -1)
    place = positions(xp, ordered, ordered.ndim - 1)
    starts = xp.zeros(ordered.shape, xp.int64)
    starts[..., 1:] = xp.where(ordered[..., 1:] != ordered[..., :-1], place[..., 1:], 0)
    length = place - running(xp, "maximum", starts, starts.ndim - 1)
    ends = xp.expand_dims(xp.moveaxis(length, -1, axis).argmax(axis), axis)
    return xp.take_along_axis(order, ends, axis)


mode = Reduction(
    "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    along("mode", _find_mode),
    put_at,
    result=INDICES, refuse=refused("mode_cpu", *dt.COMPLEXES), check_form=has_elements("mode"), exact_out=True,
)  # fmt: skip
publish(mode)


describe(
    amax="The largest element along dimensions; gradients are shared by all elements that are equal to it.",
    amin="The smallest element along dimensions; gradients are shared by all elements that are equal to it.",
    aminmax="The smallest and the largest element, `(min, max)`, of the whole tensor or along a dimension.",
    argmax="The index of the largest element along a dimension, or in the flattened tensor.",
    argmin="The index of the smallest element along a dimension, or in the flattened tensor.",
    max="The largest element of all; along a dimension, `(values, indices)`; of two tensors, the larger of each pair.",
    median="The median of all elements, the lower of two; along a dimension, `(values, indices)`.",
    min="The smallest element of all; along a dimension, `(values, indices)`; of two tensors, the smaller of each "
    "pair.",
    mode="The most frequent value along a dimension, and an index of it: `(values, indices)`.",
    nanmedian="As `median`, of those elements that are no NaN.",
)
