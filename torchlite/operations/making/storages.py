"""A tensor's memory: its storage, copies of it, and files as memory."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ...backends.base import get_backend
from ...core.declare import Signature, function, method, published, taking
from ...core.machine import Tensor, as_class, dispatch, needs_dispatch, wrap, wrap_shown
from ...core.machine.subclasses import _disabled_torch_dispatch_impl, instances
from ...core.memory import TypedStorage, UntypedStorage, pages_behind, share, warn_typed_storage_removal
from ...core.state import local, silent
from ...core.values import DeviceLike, dt, strided, type_name, type_text
from ..shapes.as_strided import extent
from ..shapes.shape import alias

# ---- storages


@method("untyped_storage")
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that this tensor is part of."""
    return UntypedStorage.of(self)


@method("_typed_storage")
def _typed_storage(self: Tensor) -> TypedStorage:
    return TypedStorage(wrap_storage=UntypedStorage.of(self), dtype=self.dtype)


@method("storage")
def storage(self: Tensor) -> TypedStorage:
    """The memory that this tensor is part of, as elements of its dtype."""
    warn_typed_storage_removal()
    return _typed_storage(self)


@function("is_storage")
def is_storage(obj: Any, /) -> bool:
    """Whether `obj` is a storage."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


def over_storage(s: UntypedStorage, d: dt.dtype, offset: int, size: Any, stride: Any) -> Tensor:
    """A tensor over part of a storage."""
    flat = s.as_array(d)
    if extent(size, stride, offset) > flat.size:
        raise RuntimeError("Trying to resize storage that is not resizable")
    return wrap_shown(s._backend.lay(flat, tuple(size), tuple(stride), offset), d, s._backend)


_from_file = Signature(
    "from_file(any filename, bool? shared=None, int? size=0, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=False, bool requires_grad=False)"
)


@function("from_file", _from_file)
def from_file(*args: Any, **kwargs: Any) -> Tensor:
    """A 1-dim tensor over the first elements of a file. If `shared`, writes go to the file."""
    filename, shared, size, dtype, _, _, _, requires_grad = _from_file.bind(args, kwargs)
    d = dtype or dt.get_default_dtype()
    raw = UntypedStorage.from_file(filename, bool(shared), (size or 0) * d.itemsize)
    made = wrap(raw.as_array(d), d, raw._backend)
    return made._require_grad(True) if requires_grad else made


@method("is_shared")
def is_shared(self: Tensor) -> bool:
    """Whether the memory is shared with other processes."""
    if self.layout is not strided:
        self.untyped_storage()  # which says that there is none
    return self.is_cuda or pages_behind(self._array) is not None


@method("share_memory_")
def share_memory_(self: Tensor) -> Tensor:
    """Move to memory that is shared with other processes, together with all that is part of the same memory."""
    from ...multiprocessing import reductions  # noqa: F401  # what is shared is not copied when it is sent

    if self.layout is not strided:
        self.untyped_storage()  # which says that there is none
    share(self)
    return self


@published("pin_memory(Tensor self, Device? device=None)", function=False)
def pin_memory(self: Tensor, device: DeviceLike) -> Tensor:
    """This tensor in page-locked memory, which only a device with memory of its own has a use for."""
    try:
        accelerator: Any = get_backend("cuda")
    except AssertionError:
        raise RuntimeError("Cannot access accelerator device when none is available.") from None
    if not self.is_cpu:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if accelerator.is_pinned(self._array):
        return self
    return wrap(accelerator.pinned(self._array), self.dtype, self._backend.home)


@method("apply_")
def apply_(self: Tensor, callable: Any) -> Tensor:
    """Replace each element by what a Python function makes of it."""
    if not self.is_cpu:
        raise TypeError("apply_ is only implemented on CPU tensors")
    if self.requires_grad:
        raise RuntimeError("Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.")
    return _rewritten(self, [callable(v) for v in self.flatten().tolist()])


@method("map_")
def map_(self: Tensor, tensor: Tensor, callable: Any) -> Tensor:
    """Replace each element by what a Python function makes of it and another tensor's."""
    if self.requires_grad:
        raise RuntimeError("Can't call map_() on Variable that requires grad. Use var.detach().map_() instead.")
    _check_alike(self, tensor, "map_", "'other'")
    other = tensor.expand(self._array.shape).flatten().tolist()
    return _rewritten(self, [callable(a, b) for a, b in zip(self.flatten().tolist(), other)])


@method("map2_")
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Replace each element by what a Python function makes of it and two other tensors'."""
    if any(t.requires_grad for t in (self, x, y)):
        raise RuntimeError("Can't call map2_() on Variable that requires grad. Use var.detach().map2_() instead.")
    _check_alike(self, x, "map2_", "argument 'x'")
    _check_alike(self, y, "map2_", "argument 'y'")
    values = [t.expand(self._array.shape).flatten().tolist() for t in (self, x, y)]
    return _rewritten(self, [callable(*items) for items in zip(*values, strict=True)])


def _check_alike(self: Tensor, other: Tensor, name: str, what: str) -> None:
    wanted, got = [type_text(t.dtype, t.device) for t in (self, other)]
    if wanted != got:
        raise TypeError(f"{name}: expected {wanted} for {what} (got {got})")


def _rewritten(t: Tensor, values: list[Any]) -> Tensor:
    if t._backend.home.level:
        t.data_ptr()  # which tensors of transforms have none of
    return t.copy_(wrap(np.array(values).astype(t.dtype.numpy).reshape(t._array.shape), t.dtype, t._backend.home))


@published("is_pinned(Tensor self, Device? device=None) -> bool", function=False)
def is_pinned(self: Tensor, device: DeviceLike) -> bool:
    """Whether the memory is page-locked, which it is for a device with memory of its own."""
    try:
        return self.is_cpu and get_backend("cuda").is_pinned(self._array)  # type: ignore[attr-defined]
    except AssertionError:
        return False


# ---- copies


@method("__deepcopy__")
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A copy of the whole storage, made once for all tensors over it."""
    if needs_dispatch((self,), {}):
        return dispatch(__deepcopy__, (self, memo), {})
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
            "see https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    made = _copied(self, memo)
    if self.requires_grad:
        made._require_grad(True)
    memo[id(self)] = made
    if self._grad is not None:
        made._grad = copy.deepcopy(self._grad, memo)
    made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return made


def _copied(t: Tensor, memo: dict[int, Any]) -> Tensor:
    """What `t` holds in memory of its own, in a tensor of its class, which says how such tensors are made."""
    if t._backend.handed or t._backend.quantized or t.is_meta or t._backend.lazy or t.layout is not strided:
        made = local.state.within(silent(local.state.mode), t.clone)
        _check_class(made, t, "wrapper", "clone", "for which cloning")
        return made
    copied = UntypedStorage.of(t).__deepcopy__(memo)
    made = over_storage(copied, t.dtype, t.storage_offset(), tuple(t.shape), t.stride())
    if type(t) is Tensor:
        return made
    like = t.new_empty(())
    _check_class(like, t, "non-wrapper", "new_empty", "for which that function")
    return as_class(made, type(t))


def _check_class(made: Tensor, t: Tensor, kind: str, how: str, which: str) -> None:
    if type(made) is not type(t):
        raise RuntimeError(
            f"The default implementation of __deepcopy__() for {kind} subclasses only works for subclass types that "
            f"implement {how}() and {which} returns another instance of the same subclass. You should either properly "
            f"implement {how}() for your subclass or override __deepcopy__() if it is intended behavior for {how}() to "
            "return an instance of a different type."
        )


@method("__copy__")
def __copy__(self: Tensor) -> Tensor:
    """Another tensor over the same memory."""
    made = as_class(self.detach(), type(self))
    if self.requires_grad:
        made._require_grad(True)
    made.__dict__.update(self.__dict__)
    return made


def _check_subclass(cls: Any) -> None:
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type_name(cls)})")
    if not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            "class inherits from Tensor."
        )


@method("as_subclass")
def as_subclass(self: Tensor, cls: type) -> Tensor:
    """This tensor as an instance of a subclass: a view of it."""
    _check_subclass(cls)
    return as_class(alias.apply(self), cls)


@taking(
    "_make_subclass(any cls, Tensor data, bool require_grad=False, *, str? dispatch_sizes_strides_policy=None, "
    "bool dispatch_device=False, bool dispatch_layout=False, Device? device_for_backend_keys=None)"
)
def _make_subclass(cls: type, data: Tensor, require_grad: bool, *_: Any) -> Tensor:
    """An instance of a subclass over the memory of `data`."""
    _check_subclass(cls)
    made = as_class(data.detach() if type(data) is not cls else wrap(data._array, data.dtype, data._backend.real), cls)
    if made.is_inference() and not local.state.mode.inference:
        made._counter = None
    return made._require_grad(True) if require_grad else made


Tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[method-assign]


def _make_wrapper_subclass(*args: Any, **kwargs: Any) -> Tensor:
    """A tensor of a class with a `__torch_dispatch__`: it has a form, and no memory."""
    return instances().make_wrapper(*args, **kwargs)


Tensor.__torch_dispatch__ = _disabled_torch_dispatch_impl  # type: ignore[method-assign]
Tensor._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)  # type: ignore[method-assign]
