"""Subclasses of Tensor: what is asked of one with a `__torch_function__`, and results that get its class."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..structs import TensorParts
from .asked import by_the_library, offer_attributes
from .overrides import _disabled_torch_function_impl, overrides
from .registry import registry
from .tensor_base import TensorBase

if TYPE_CHECKING:
    from .tensor import Tensor

UNCONVERTED: set[Any] = set()  # functions whose results keep their type when a subclass calls them

PARTS = [getattr(TensorParts, slot) for slot in TensorParts.__slots__]


class _Shadowed:
    """A subclass's attribute with the name of a part: the library reads the part, all others the attribute."""

    def __init__(self, part: Any, own: Any) -> None:
        self.part, self.own = part, own
        self.__doc__ = own.__doc__

    def _meant(self) -> Any:
        return self.part if by_the_library(2) else self.own

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
    handler = getattr(cls.__torch_function__, "__func__", None)  # type: ignore[attr-defined]
    if dispatches(cls) and handler is plain_class.__torch_function__.__func__:  # type: ignore[attr-defined]
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
    for part in PARTS:  # a class may have properties of the same names
        part.__set__(made, part.__get__(t))
    real = t._backend.real
    made._backend = real.guarded if overrides(cls) else real
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
