"""`torch._jit_internal`: what marks functions for TorchScript, here left as they are."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, Dict, Final, List, Optional, Tuple, TypeVar, Union  # noqa: F401, UP035, some for others

from .futures import Future
from .jit import _overload, _overload_method, export, ignore, is_scripting, unused
from .jit import isinstance as _isinstance

__all__ = [
    "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Final", "Future", "FunctionModifiers",
    "_copy_to_script_wrapper", "_isinstance", "_overload", "_overload_method", "boolean_dispatch",
    "boolean_dispatched", "export", "ignore", "is_scripting", "unused",
]  # fmt: skip

_F = TypeVar("_F", bound=Callable[..., Any])

boolean_dispatched: dict[Callable[..., Any], dict[str, Any]] = {}


class BroadcastingListCls:
    """In an annotation: a list of so many, or one number for all."""

    def __getitem__(self, types: Any) -> None: ...


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = BroadcastingList1


class FunctionModifiers:
    """What a function may be marked as."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from a exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"


def _copy_to_script_wrapper(fn: _F) -> _F:
    fn._torchscript_modifier = FunctionModifiers.COPY_TO_SCRIPT_WRAPPER  # type: ignore[attr-defined]
    return fn


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: _F, if_false: _F, module_name: str, func_name: str
) -> _F:
    """A function that calls one of two, by a flag among its arguments."""

    def fn(*args: Any, **kwargs: Any) -> Any:
        flag = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if flag else if_false)(*args, **kwargs)

    fn.__doc__ = if_false.__doc__ or if_true.__doc__
    fn.__module__, fn.__name__ = module_name or fn.__module__, func_name or fn.__name__
    boolean_dispatched[fn] = {
        "if_true": if_true, "if_false": if_false, "index": arg_index, "default": default, "arg_name": arg_name,
    }  # fmt: skip
    return fn  # type: ignore[return-value]


def is_tuple(ann: Any) -> bool:
    return getattr(ann, "__origin__", None) is tuple


def is_list(ann: Any) -> bool:
    return getattr(ann, "__origin__", None) is list


def is_dict(ann: Any) -> bool:
    return getattr(ann, "__origin__", None) in (dict, collections.OrderedDict)
