"""Attributes of tensors that tell what they are: `t.shape`, `t.dim()`. They may be taken over like any other call.

Plain tensors answer at once, and ask nobody. A subclass with a `__torch_function__` has attributes that ask instead,
and so has Tensor itself while there is a function mode anywhere: it pays for them then, and only then.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from types import MethodType
from typing import Any

from ..structs import TensorParts
from .overrides import dispatch, needs_dispatch, overrides
from .read_only import Refusal

_PROPERTIES = (
    "H", "T", "__cuda_array_interface__", "_backward_hooks", "_base", "_cdata", "_post_accumulate_grad_hooks",
    "_version", "data", "device", "dtype", "grad", "grad_dtype", "grad_fn", "imag", "is_cpu", "is_cuda", "is_ipu",
    "is_leaf", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized", "is_sparse",
    "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu", "itemsize", "layout", "mH", "mT", "nbytes", "ndim", "output_nr",
    "real", "requires_grad", "retains_grad", "shape", "volatile",
)  # fmt: skip
_METHODS = (
    "__bool__", "__complex__", "__contains__", "__dlpack__", "__dlpack_device__", "__float__", "__format__",
    "__index__", "__int__", "__len__", "__reversed__", "__setstate__", "_coalesced_", "_dimI", "_dimV", "_indices",
    "_is_view", "_is_zerotensor", "_nnz", "_values", "apply_", "ccol_indices", "coalesce", "col_indices",
    "const_data_ptr", "contiguous", "cpu", "crow_indices", "cuda", "data_ptr", "dense_dim", "dim", "dim_order",
    "element_size", "float_power_", "get_device", "indices", "ipu", "is_coalesced", "is_complex", "is_contiguous",
    "is_distributed", "is_floating_point", "is_inference", "is_nonzero", "is_shared", "is_signed", "item", "lu",
    "map2_", "map_", "module_load", "mtia", "new", "new_tensor", "numel", "record_stream", "requires_grad_",
    "resize_as", "retain_grad", "row_indices", "set_", "share_memory_", "size", "sparse_dim", "sparse_resize_",
    "sparse_resize_and_clear_", "storage", "storage_offset", "storage_type", "stride", "tolist", "untyped_storage",
    "values", "xpu",
)  # fmt: skip
_OPERATORS = (
    "__invert__", "__ipow__", "__pow__", "__rfloordiv__", "__rlshift__", "__rmatmul__", "__rmod__", "__rpow__",
    "__rrshift__", "__rtruediv__",
)  # fmt: skip
ALIASES = {
    "__long__": "__int__", "__nonzero__": "__bool__", "__pos__": "positive", "__rdiv__": "__rtruediv__",
    "_grad_fn": "grad_fn", "ndimension": "dim", "nelement": "numel",
}  # fmt: skip

_ROOT = __package__.partition(".")[0]


def by_the_library(depth: int) -> bool:
    """Whether code of this library runs in the frame so many calls up."""
    package = sys._getframe(depth + 1).f_globals.get("__package__") or ""
    return package.partition(".")[0] == _ROOT


class _Asking:
    """A method, or what reads or writes an attribute, that asks who takes it over. It equals the one it stands for."""

    part = False  # whether it reads or writes a part of the tensor

    def __init__(self, name: str, plain: Callable[..., Any]) -> None:
        self.plain = plain
        functools.update_wrapper(self, plain)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.ask(2, args, kwargs)

    def ask(self, depth: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Tell of a call from so many frames up, but for what the library asks of plain tensors, or for parts."""
        inner = self.part or not overrides(type(args[0]))
        if not needs_dispatch(args, kwargs) or (inner and by_the_library(depth)):
            return self.plain(*args, **kwargs)
        return self.tell(args, kwargs)

    def tell(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return dispatch(self if _Replaced.on else self.plain, args, kwargs)

    def __get__(self, t: Any, cls: Any = None) -> Any:
        return self if t is None else MethodType(self, t)

    def __eq__(self, other: object) -> bool:
        return self is other or self.plain == other

    def __hash__(self) -> int:
        return hash(self.plain)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)


class _AskingOperator(_Asking):
    """An operator that asks, and leaves to the other operand what nobody can do."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.tell(args, kwargs) if needs_dispatch(args, kwargs) else self.plain(*args, **kwargs)
        except TypeError:
            return NotImplemented


class _AskingAccess(_Asking):
    """What reads or writes an attribute. Handlers know such functions by the name of their type."""

    __self__: Any

    def __init__(self, name: str, plain: Callable[..., Any], part: bool) -> None:
        super().__init__(name, plain)
        self.part = part


_AskingAccess.__name__ = "method-wrapper"


class _AskingProperty(property):
    """A property that asks. What handlers are told of it is what `Tensor.shape.__get__` and `__set__` are."""

    def __init__(self, name: str, plain: Any) -> None:
        part = not isinstance(plain, property)
        read = _AskingAccess("__get__", plain.__get__, part)
        refused = Refusal(plain.__name__) if part else plain.fset if isinstance(plain.fset, Refusal) else None
        write = _AskingAccess("__set__", refused or plain.__set__, part)
        super().__init__(
            lambda t: read.ask(2, (t,), {}),
            refused or (lambda t, value: write.ask(2, (t, value), {})),
            refused or plain.__delete__,
            plain.__doc__,
        )
        self.plain = plain
        read.__self__ = write.__self__ = self
        vars(self).update(__get__=read, __set__=write, __qualname__=f"TensorBase.{name}")


_KINDS: tuple[tuple[Callable[[str, Any], Any], Iterable[str]], ...] = (
    (_AskingProperty, _PROPERTIES), (_Asking, _METHODS), (_AskingOperator, _OPERATORS),
)  # fmt: skip
_asking: dict[str, Any] = {}


def asking_attributes(plain_class: type) -> dict[str, Any]:
    """What asks, by name, for the attributes that the class has now."""
    own, parts = vars(plain_class), vars(TensorParts)
    for kind, names in _KINDS:
        for name in names:
            plain = own.get(name) or parts.get(name)
            known = _asking.get(name)
            if plain is not None and plain is not known and (known is None or plain is not known.plain):
                _asking[name] = kind(name, plain)
    return _asking | {alias: _asking[name] for alias, name in ALIASES.items() if name in _asking}


def plain(attribute: Any) -> Any:
    """What an attribute of tensors is where nobody is asked."""
    return attribute.plain if isinstance(attribute, (_Asking, _AskingProperty)) else attribute


def offer_attributes(plain_class: type, cls: type) -> None:
    """Let a subclass be asked for what is at hand of plain tensors."""
    for name, asking in asking_attributes(plain_class).items():
        own = None if name in TensorParts.__slots__ else inspect.getattr_static(cls, name, None)
        if own is asking or own is inspect.getattr_static(plain_class, name):
            setattr(cls, name, asking)


class _Replaced:
    """What stands in the class of plain tensors, and what asks in its place, by name: exchanged all at once."""

    names: tuple[str, ...] = ()
    own: tuple[Any, ...] = ()
    asking: tuple[Any, ...] = ()
    on = False


def let_ask(plain_class: type) -> None:
    """Let plain tensors ask, too."""
    if not _Replaced.names or _found(plain_class) != _Replaced.own:  # a program put its own there
        attributes = asking_attributes(plain_class)
        _Replaced.names, _Replaced.asking = tuple(attributes), tuple(attributes.values())
        # A base's goes to the class itself: what is taken out of a class and put back costs more than all the rest.
        own = zip(_Replaced.names, _found(plain_class))
        _Replaced.own = tuple([vars(TensorParts)[name] if value is None else value for name, value in own])
    for name, asking in zip(_Replaced.names, _Replaced.asking):
        setattr(plain_class, name, asking)
    _Replaced.on = True


def let_answer(plain_class: type) -> None:
    """Let plain tensors answer at once again."""
    _Replaced.on = False
    for name, own, asking, found in zip(_Replaced.names, _Replaced.own, _Replaced.asking, _found(plain_class)):
        if found is asking:  # and not what a program put there
            setattr(plain_class, name, own)


def _found(plain_class: type) -> tuple[Any, ...]:
    return tuple(map(vars(plain_class).get, _Replaced.names))
