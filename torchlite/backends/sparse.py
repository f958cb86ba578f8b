"""Sparse tensors: what is in memory are the values at some places, and where these are.

A sparse tensor holds as its array a `SparseArray`, made of tensors of the device, and as its backend a *sparse* one: a
twin of the device's own, one for each layout. Sparse backends are a level between the devices and the transforms, as
lazy ones are: an op on such tensors is left to `Sparse.run`, which looks up the layout's *rule* for it, a function from
tensors to tensors, and records the op on the tensors themselves. What has no rule is refused in PyTorch's words.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any, ClassVar, TypeVar

from ..core.declare import ViewOp
from ..core.machine import Tensor, TensorBase, bump, computed, wrap
from ..core.machine.write import check_fits, write
from ..core.state import local, silent
from ..core.structs import know
from ..core.values import arrays, dt, missing_kernel_of, warn_once
from ..core.values.cached import cached
from ..core.values.layout import layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from .base import Backend

F = TypeVar("F", bound="Callable[..., Any]")


class SparseArray:
    """An array of a sparse tensor, made of tensors. What it shows of itself is what any array does."""

    __slots__ = ("shape", "values")

    shape: tuple[int, ...]
    values: Tensor
    base = None
    c_contiguous = False
    strides: Any = ()  # what tells forms of one shape apart; those in memory are the parts'

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    dtype = property(lambda self: self.values._array.dtype)
    itemsize = property(lambda self: self.values.dtype.itemsize)
    flags = property(lambda self: self)

    def __getitem__(self, everything: EllipsisType) -> Any:
        """Another array over the same parts, which have no other views."""
        if everything is not ...:
            raise TypeError("sparse arrays are indexed by their rules")
        return self.over(*self.parts())

    def parts(self) -> tuple[Tensor, ...]:
        """The tensors that it is made of, the values last."""
        raise NotImplementedError

    def over(self, *parts: Tensor) -> Any:
        """An array of this shape and layout made of other such tensors."""
        raise NotImplementedError

    def each(self, f: Callable[[Tensor], Tensor]) -> Any:
        """The array with `f` of every tensor that it is made of."""
        return self.over(*map(f, self.parts()))

    def with_values(self, values: Tensor) -> Any:
        """The array with other values at the same places."""
        return self.over(*self.parts()[:-1], values)

    def become(self, other: Any) -> None:
        """Hold what another array of this layout holds."""
        for kind in type(self).__mro__:
            for name in getattr(kind, "__slots__", ()):
                setattr(self, name, getattr(other, name))


class Coo(SparseArray):
    """Coordinates: a column of `indices` for each row of `values`, which has the dense dimensions besides."""

    __slots__ = ("coalesced", "indices")

    def __init__(self, indices: Tensor, values: Tensor, shape: Sequence[int], coalesced: bool = False) -> None:
        self.indices = indices
        self.values = values
        self.shape = tuple(shape)
        self.coalesced = coalesced  # whether places are in order, and none is named twice

    nnz = property(lambda self: self.values._array.shape[0])
    sparse_dim = property(lambda self: self.indices._array.shape[0])
    strides = property(lambda self: (self.sparse_dim + 1,))  # none is zero, as if elements shared their memory
    dense_dim = property(lambda self: self.values._array.ndim - 1)

    def parts(self) -> tuple[Tensor, Tensor]:
        return self.indices, self.values

    def over(self, *parts: Tensor) -> Coo:
        indices, values = parts
        return Coo(indices, values, self.shape, self.coalesced)


class Compressed(SparseArray):
    """Rows (or columns) one after the other: `compressed` says where each begins, `plain` where in it a value is.

    All three may have batch dimensions in front; in block layouts, values are small matrices.
    """

    __slots__ = ("compressed", "layout", "plain")

    def __init__(
        self, layout_: layout, compressed: Tensor, plain: Tensor, values: Tensor, shape: Sequence[int]
    ) -> None:
        self.layout = layout_
        self.compressed = compressed
        self.plain = plain
        self.values = values
        self.shape = tuple(shape)

    by_rows = property(lambda self: self.layout in (sparse_csr, sparse_bsr))
    blocked = property(lambda self: self.layout in (sparse_bsr, sparse_bsc))
    batch = property(lambda self: self.compressed._array.shape[:-1])
    nnz = property(lambda self: self.plain._array.shape[-1])

    @property
    def blocksize(self) -> tuple[int, ...]:
        """The shape of a block; nothing where there are none."""
        at = len(self.batch) + 1
        return tuple(self.values._array.shape[at : at + 2]) if self.blocked else ()

    @property
    def dense_dim(self) -> int:
        return self.values._array.ndim - len(self.batch) - 1 - len(self.blocksize)

    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.compressed, self.plain, self.values

    def over(self, *parts: Tensor) -> Compressed:
        return Compressed(self.layout, *parts, self.shape)  # type: ignore[arg-type, call-arg]


know(Coo=Coo, Compressed=Compressed)


class Sparse(Backend):
    """What a sparse backend does otherwise than the device's."""

    strided = bare = shows = False
    layout: layout
    kind: ClassVar[str]  # what PyTorch calls such backends, before the name of the device
    rules: ClassVar[dict[str, Callable[..., Any]]]  # by the names of ops: from arguments to results
    writes: ClassVar[dict[str, Callable[..., Any]]]  # in-place forms that are no results written into the first operand
    ready: ClassVar[dict[str, Callable[..., Any]]] = {}
    called: ClassVar[dict[str, str]]  # what PyTorch calls the kernels that it misses where an op here has another name

    @classmethod
    def rule(cls, names: str, *, in_place: bool = False) -> Callable[[F], F]:
        """Say what ops do here: `@CooBackend.rule("add sub")`."""

        def keep(f: F) -> F:
            (cls.writes if in_place else cls.rules).update(dict.fromkeys(names.split(), f))
            return f

        return keep

    def run(self, op: Any, values: Sequence[Any]) -> Any:
        """The results of an op, by the layout's rule, with the history and tangents that it has on the tensors."""
        rule = self.rules.get(op.name)
        if rule is None:
            raise self.cannot(op, values)
        state = local.state
        results = state.within(silent(state.mode), rule, *values)
        if op.recorded and state.mode.records:
            op.remember(values, results if isinstance(results, (tuple, list)) else (results,))
        return results

    def cannot(self, op: Any, values: Sequence[Any], suffix: str = "") -> Exception:
        """The error for an op without a rule."""
        name = _KERNELS.get(op.name, "as_strided" if isinstance(op, ViewOp) else op.signature.name) + suffix
        overload = "" if isinstance(op, ViewOp) or "." in name else op.signature.overload
        if not overload and "." not in name and [p.type for p in op.signature.params[1:2]] == ["Operand"]:
            overload = "Tensor" if isinstance(values[1], TensorBase) else "Scalar"
        whole = f"{name}.{overload}" if overload else name
        like_dense = isinstance(values[0], TensorBase) and values[0].layout is strided
        return self.missing(self.called.get(whole, whole), makes=not (suffix or like_dense))

    def lacks(self, op: Any, values: Sequence[Any]) -> Exception | None:
        return None if op.name in self.rules else self.cannot(op, values)

    def missing(self, kernel: str, makes: bool) -> Exception:
        """The error for a kernel that there is none of; `makes` where a result of this layout is made for it."""
        return missing_kernel_of(kernel, self)

    def overwrite(self, op: Any, self_: Tensor, before: Tensor, values: Sequence[Any]) -> None:
        """The in-place form of an op."""
        state = local.state
        state.within(silent(state.mode), self.overwritten, op, self_, before, values)

    def overwritten(self, op: Any, self_: Tensor, before: Tensor, values: Sequence[Any]) -> None:
        own = self.writes.get(op.name)
        if own is not None:
            own(self_, *values[1:])
            bump(self_)
            return
        rule = self.rules.get(op.name)
        if rule is None:
            raise self.cannot(op, values, "_")
        result = rule(before, *values[1:])
        check_fits(self_, result)
        write(self_, result)

    def resize(self, t: Tensor, size: Sequence[int]) -> None:
        """`resize_`, where a layout has a rule for it."""
        if "resize_" not in self.writes:
            raise missing_kernel_of("resize_", self)
        self.writes["resize_"](t, size)

    def adopt(self, t: Tensor) -> None:
        """A tensor stays what it is when sparse values are written to it."""

    def lift(self, t: Tensor) -> Any:
        raise RuntimeError("Expected self.is_sparse() && result.is_sparse() to be true, but got false.")

    def write(self, array: arrays.Array, value: Any) -> None:
        """Values at the places where there are some are written to their memory; other places come with others."""
        if array.shape == value.shape and all(map(_same, array.parts()[:-1], value.parts()[:-1])):
            array.values.copy_(value.values)
        else:
            array.become(value.with_values(value.values.to(array.values.dtype)))

    def copy(self, array: arrays.Array, order: str = "K") -> Any:
        return array.each(lambda t: t.clone())

    def cast(self, array: arrays.Array, dtype: Any) -> Any:
        return array.with_values(array.values.to(dt.of_numpy(dtype)))

    def number(self, array: arrays.Array) -> Any:
        return self.home.number(wrap(array, array.values.dtype, self).to_dense()._array)

    def truth(self, array: arrays.Array) -> bool:
        return bool(self.number(array).item())

    def pointer(self, array: arrays.Array) -> int:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def storage(self, array: arrays.Array) -> Any:
        raise NotImplementedError(f"Cannot access storage of {self.kind}TensorImpl")

    def read(self, array: arrays.Array) -> Any:
        self.pointer(array)

    def to_host(self, array: arrays.Array) -> Any:
        name = NAMES[self.layout]
        raise TypeError(f"can't convert {name} layout tensor to numpy. Use Tensor.to_dense() first.")

    def offset(self, array: arrays.Array) -> int:
        return 0


class CooBackend(Sparse):
    """That of tensors of coordinates."""

    Array = Coo
    level = 2
    layout = sparse_coo
    kind = "Sparse"
    rules: ClassVar[dict[str, Callable[..., Any]]] = {}
    writes: ClassVar[dict[str, Callable[..., Any]]] = {}
    called: ClassVar[dict[str, str]] = {}

    def strides(self, array: arrays.Array) -> tuple[int, ...]:
        return (0,) * len(array.shape)


class CompressedBackend(Sparse):
    """That of tensors in one of the compressed layouts."""

    Array = Compressed
    level = 3
    kind = "SparseCsr"
    rules: ClassVar[dict[str, Callable[..., Any]]] = {}
    writes: ClassVar[dict[str, Callable[..., Any]]] = {}
    called: ClassVar[dict[str, str]] = {}

    def missing(self, kernel: str, makes: bool) -> Exception:
        made_first = makes and kernel.endswith(_WRITTEN_TO) and kernel not in _OF_NUMBERS
        if made_first and self.layout in (sparse_bsr, sparse_bsc):
            return RuntimeError(
                "empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got "
                f"{NAMES[self.layout]}"
            )
        return super().missing(kernel, makes)

    def strides(self, array: arrays.Array) -> tuple[int, ...]:
        raise without(self.layout, "strides")

    def lift(self, t: Tensor) -> Any:
        raise without(self.layout, "is_contiguous")


# Ops that PyTorch looks for under other names than their own; views that have none are of strides.
_KERNELS = {
    "softmax.int": "_softmax", "log_softmax.int": "_log_softmax", "isclose": "eq", "isfinite": "ne", "view": "view",
    "sort": "sort.stable", "unfold": "unfold", "view_as_real": "view_as_real", "view_as_complex": "view_as_complex",
    "as_strided_": "as_strided_",
    **dict.fromkeys(("squeeze_", "squeeze_.dim", "squeeze_.dims", "unsqueeze_"), "as_strided_"),
}  # fmt: skip
_WRITTEN_TO = ("out", ".dim_max", ".dim_min", ".output", ".values")  # how kernels are named that are given results
# Kernels whose results, made before they are looked for, may be numbers or have no layout of blocks.
_OF_NUMBERS = frozenset((
    "all.all_out", "any.all_out", "amax.out", "amin.out", "argmax.out", "argmin.out", "frexp.Tensor_out",
    "hash_tensor.out", "mean.out", "nan_to_num.out", "norm.out",
))  # fmt: skip
# What PyTorch calls layouts in errors.
NAMES = {
    sparse_coo: "Sparse", sparse_csr: "SparseCsr", sparse_csc: "SparseCsc", sparse_bsr: "SparseBsr",
    sparse_bsc: "SparseBsc",
}  # fmt: skip


def short_name(layout_: layout) -> str:
    """What PyTorch calls a compressed layout in a sentence: "CSR"."""
    return NAMES[layout_].removeprefix("Sparse").upper()


def without(layout_: layout, what: str) -> RuntimeError:
    """The error for what tensors of a compressed layout have not."""
    return RuntimeError(f"Sparse {short_name(layout_)} tensors do not have {what}")


def layout_name(t: Tensor) -> str:
    """What PyTorch calls the layout of a tensor in errors."""
    return NAMES.get(t.layout, "Strided")


def _same(a: Tensor, b: Tensor) -> bool:
    return a._array is b._array


def sparse_backend(home: Backend, layout_: layout) -> Any:
    """The backend of tensors of a layout on the device of `home`."""
    return home.twins.get(layout_) or home.twins.setdefault(layout_, _twin(home, layout_))


def _twin(home: Backend, layout_: layout) -> Backend:
    twin = copy.copy(home)
    twin.__class__ = _sparse(CooBackend if layout_ is sparse_coo else CompressedBackend, type(home))
    twin.__dict__.pop("guarded", None)
    twin.real, twin.layout, twin.Array = twin, layout_, twin.__class__.Array
    return twin


@cached
def _sparse(kind: type[Sparse], home: type[Backend]) -> type[Backend]:
    return type(f"{kind.kind}{home.__name__}", (kind, home), {})


def _part(t: Tensor) -> Tensor:
    """A tensor to be a part of an array: without history, over the same memory."""
    t = computed(t)
    return t if t.__class__ is Tensor and t._edge is None else t._alias()


def coo(indices: Tensor, values: Tensor, shape: Sequence[int], coalesced: bool | None = None) -> Tensor:
    """The sparse tensor of these coordinates, which are not checked; if nothing is said, one alone is coalesced."""
    if coalesced is None:
        coalesced = values._array.shape[0] < 2
    backend = sparse_backend(values._backend.home, sparse_coo)
    return wrap(Coo(_part(indices), _part(values), shape, coalesced), values.dtype, backend)


def compressed(layout_: layout, starts: Tensor, plain: Tensor, values: Tensor, shape: Sequence[int]) -> Tensor:
    """The sparse tensor of these compressed indices, which are not checked."""
    warn_once(
        f"Sparse {short_name(layout_)} tensor support is in beta state. If you miss a "
        "functionality in the sparse tensor support, please submit a feature request to "
        "https://github.com/pytorch/pytorch/issues.",
        "compressed layouts",
    )
    backend = sparse_backend(values._backend.home, layout_)
    return wrap(Compressed(layout_, _part(starts), _part(plain), _part(values), shape), values.dtype, backend)


def like(t: Tensor, array: SparseArray) -> Tensor:
    """A tensor over another array of the layout and on the device of `t`."""
    return wrap(array, array.values.dtype, t._backend.real)
