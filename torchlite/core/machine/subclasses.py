"""Subclasses of Tensor: what is asked of one with a `__torch_function__`, and results that get its class."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..structs import TensorParts
from .overrides import _disabled_torch_function_impl, dispatch, needs_dispatch, overrides
from .registry import registry
from .tensor_base import TensorBase

if TYPE_CHECKING:
    from .tensor import Tensor

UNCONVERTED: set[Any] = set()  # functions whose results keep their type when a subclass calls them

# What is at hand of plain tensors, and asks a subclass with a __torch_function__.
_PROPERTIES = (
    "H", "T", "data", "device", "grad", "grad_fn", "imag", "is_cpu", "is_cuda", "is_leaf", "layout", "mH", "mT", "ndim",
    "real", "requires_grad", "shape",
)  # fmt: skip
_METHODS = (
    "__bool__", "__complex__", "__float__", "__index__", "__int__", "__len__", "contiguous", "cpu", "data_ptr", "dim",
    "element_size", "get_device", "is_complex", "is_contiguous", "is_floating_point", "is_inference", "is_nonzero",
    "is_signed", "item", "nelement", "requires_grad_", "retain_grad", "size", "storage_offset", "tolist",
)  # fmt: skip


def offer_attributes(plain_class: type, cls: type) -> None:
    """Let a subclass be asked for what is at hand of plain tensors."""
    for names, offered in ((_PROPERTIES, _offered), (_METHODS, _offered_method)):
        for name in names:
            plain: Any = getattr(plain_class, name, None)
            if plain is not None and getattr(cls, name, None) is plain:
                setattr(cls, name, offered(plain))  # type: ignore[arg-type]


def _offered(plain: property) -> property:
    read, write = plain.__get__, plain.__set__

    def get(self: Tensor) -> Any:
        return dispatch(read, (self,), {}) if needs_dispatch((self,), {}) else read(self)

    def set_(self: Tensor, value: Any) -> None:
        if needs_dispatch((self,), {}):
            dispatch(write, (self, value), {})
        else:
            write(self, value)

    return property(get, set_, plain.__delete__, plain.__doc__)


def _offered_method(plain: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if needs_dispatch((self,), {}):
            return dispatch(plain, (self, *args), kwargs)
        return plain(self, *args, **kwargs)

    return functools.wraps(plain)(call)


_PARTS = [getattr(TensorParts, slot) for slot in TensorParts.__slots__]
_ROOT = __package__.partition(".")[0]


class _Shadowed:
    """A subclass's attribute with the name of a part: the library reads the part, all others the attribute."""

    def __init__(self, part: Any, own: Any) -> None:
        self.part, self.own = part, own
        self.__doc__ = own.__doc__

    def _meant(self) -> Any:
        return self.part if sys._getframe(2).f_globals.get("__package__", "").partition(".")[0] == _ROOT else self.own

    def __get__(self, t: Any, owner: Any = None) -> Any:
        meant = self._meant()
        return meant.__get__(t, owner) if hasattr(meant, "__get__") else meant

    def __set__(self, t: Any, value: Any) -> None:
        self._meant().__set__(t, value)

    def __delete__(self, t: Any) -> None:
        self._meant().__delete__(t)


def adapt(plain_class: type, cls: type) -> None:
    """Make a new subclass ready: it is asked what it wants to be asked, and the library still reaches its parts.

    One that takes operations over, and says nothing of functions, leaves these alone.
    """
    _keep_parts(cls)
    own, plain = [getattr(getattr(c, "__torch_function__"), "__func__", None) for c in (cls, plain_class)]  # noqa: B009
    if dispatches(cls) and own is plain:
        cls.__torch_function__ = _disabled_torch_function_impl  # type: ignore[attr-defined]
    if overrides(cls):
        offer_attributes(plain_class, cls)


def _keep_parts(cls: type) -> None:
    """Let the library still reach the parts of tensors whose class has attributes of the same names."""
    for name in TensorParts.__slots__:
        own = inspect.getattr_static(cls, name)
        if own is not getattr(TensorParts, name) and not isinstance(own, _Shadowed):
            setattr(cls, name, _Shadowed(getattr(TensorParts, name), own))


def _disabled_torch_dispatch_impl(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_dispatch__` of classes that take no operation over: it runs on what is in memory."""
    return instances().run_plainly(func, args, kwargs or {})


def dispatches(cls: type) -> bool:
    """Whether a class takes operations over, below autograd."""
    found = _DISPATCHING.get(cls)
    if found is None:
        handler = getattr(cls, "__torch_dispatch__", _disabled_torch_dispatch_impl)
        found = _DISPATCHING[cls] = handler is not _disabled_torch_dispatch_impl
    return found


_DISPATCHING: dict[type, bool] = {}


def instances() -> Any:
    """The module that knows of tensors of such classes, which is loaded once there are any."""
    return importlib.import_module(f"{__package__.partition('.')[0]}._library.instances")


def as_class(t: Tensor, cls: type) -> Tensor:
    """`t`'s parts in an instance of `cls`."""
    if type(t) is cls:
        return t
    made: Any = object.__new__(cls)
    for part in _PARTS:  # a class may have properties of the same names
        part.__set__(made, part.__get__(t))
    real = t.backend.real
    made.backend = real.guarded if overrides(cls) else real
    if dispatches(cls):
        instances().become_instance(made)
    elif real.handed:
        instances().become_plain(made)
    return made


def converted(result: Any, cls: type) -> Any:
    """Results with this class, as views of those of a plainer one."""
    if isinstance(result, TensorBase):
        return result if isinstance(result, cls) else as_class(registry["alias"].apply(result), cls)
    if type(result) in (tuple, list) or hasattr(result, "_fields"):
        return type(result)([converted(r, cls) for r in result])
    return result
