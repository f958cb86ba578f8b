"""`torch.overrides`: taking calls over with `__torch_function__`."""

from __future__ import annotations

import contextlib
import enum
import functools
import inspect
import sys
from collections.abc import Callable, Container, Iterable
from typing import Any, NamedTuple

from .core.machine import (
    ALIASES,
    Tensor,
    TorchFunctionMode,
    asking_attributes,
    dispatch,
    functions,
    needs_dispatch,
    plain,
)
from .core.state import Mode, Switch, local


def has_torch_function(relevant_args: Any) -> bool:
    """Whether any of these arguments, or a function mode, takes calls over."""
    return needs_dispatch(tuple(relevant_args), {})


def has_torch_function_unary(obj: Any) -> bool:
    return needs_dispatch((obj,), {})


def has_torch_function_variadic(*args: Any) -> bool:
    return needs_dispatch(args, {})


def handle_torch_function(public_api: Any, relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """Offer a call of `public_api` to whatever takes calls over."""
    return dispatch(public_api, args, kwargs, relevant_args)


class _Reentrant(Switch):
    """Inside, operations have the history that they would have outside of the handler."""

    switches = ("grad", "handling")

    def _inside(self, mode: Mode) -> Mode:
        if mode.handling is None:
            raise RuntimeError("Accessing torch dispatch state outside of '__torch_dispatch__' is not allowed.")
        return mode.but(grad=mode.handling, handling=None)


def enable_reentrant_dispatch() -> _Reentrant:
    """A context for handlers, in which operations are recorded again."""
    return _Reentrant()


def is_tensor_like(inp: Any) -> bool:
    """Whether `inp` is a tensor or passes for one."""
    return hasattr(type(inp), "__torch_function__")


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for functions that may be taken over by the arguments that `dispatcher` picks of a call's."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return decorate


# ---- what can be taken over


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Functions of torch that ask no tensor: they make one, write into one, tell of dtypes and shapes, or are gone.
_OF_NO_TENSOR = _names(
    "arange as_strided as_tensor asarray bartlett_window blackman_window broadcast_shapes empty empty_permuted "
    "empty_strided eye fill from_dlpack from_file from_numpy frombuffer full hamming_window hann_window is_storage "
    "kaiser_window linspace logspace normal ones rand rand_like randint randint_like randn randn_like randperm range "
    "scalar_tensor segment_reduce sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor "
    "sparse_csc_tensor sparse_csr_tensor tensor tril_indices triu_indices vander zeros eig lstsq matrix_rank solve "
    "symeig"
)
_BESIDES = ("is_complex", "is_floating_point", "is_inference", "is_nonzero", "is_signed")  # and others that ask
_SELDOM = _names(  # the same in torch.nn.functional and torch.fft
    "assert_int_or_pair boolean_dispatch fftfreq grouped_mm handle_torch_function hardsigmoid hardswish "
    "has_torch_function has_torch_function_unary has_torch_function_variadic rfftfreq scaled_grouped_mm scaled_mm "
    "sigmoid tanh upsample upsample_bilinear upsample_nearest"
)
_OF_THE_OBJECT = _names(  # methods of tensors that belong to Python, make other tensors, or are gone
    "__class__ __copy__ __delattr__ __delitem__ __dir__ __getattribute__ __getstate__ __hash__ __init__ "
    "__init_subclass__ __iter__ __new__ __reduce__ __setattr__ __sizeof__ __str__ __subclasshook__ __torch_dispatch__ "
    "__torch_function__ _conj _is_zerotensor _lazy_clone as_subclass new new_empty new_empty_strided new_full new_ones "
    "new_tensor new_zeros stride to_padded_tensor to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc "
    "to_sparse_csr unflatten eig lstsq reinforce solve symeig"
)


class _Surface(NamedTuple):
    overridable: dict[Any, list[Callable[..., Any]]]  # by the module, the class or the property that has them
    ignored: set[Callable[..., Any]]
    names: dict[Callable[..., Any], str]


@functools.cache
def _surface() -> _Surface:
    from .nn import functional, init

    root = sys.modules[__package__]
    here = _Surface({}, set(), {})

    def sort(home: Any, title: str, members: Iterable[tuple[str, Any]], ignored: Container[str]) -> None:
        for name, member in members:
            here.names.setdefault(member, f"{title}.{name}")
            if name in ignored or (inspect.ismodule(home) and name.endswith("_")):
                here.ignored.add(member)
            else:
                here.overridable.setdefault(home, []).append(member)

    def functions_of(home: Any) -> list[tuple[str, Any]]:
        return [(name, f) for name, f in inspect.getmembers(home, inspect.isroutine) if not name.startswith("_")]

    asking = (functions.keys() - _OF_NO_TENSOR) | set(_BESIDES)
    sort(root, "torch", functions_of(root), {name for name, _ in functions_of(root)} - asking)
    sort(functional, "torch.nn.functional", functions_of(functional), _SELDOM)
    asking_too = asking_attributes(Tensor)
    members = [(name, asking_too.get(name, member)) for name, member in inspect.getmembers(Tensor)]
    members.sort(key=lambda member: member[0] in ALIASES)  # which then have the names of what they stand for
    methods = [(n, f) for n, f in members if inspect.isroutine(plain(f))]
    methods = [
        (n, f) for n, f in methods if not n.startswith("_") or n.startswith("__") or n in functions or n in asking_too
    ]
    sort(Tensor, "torch.Tensor", methods, _OF_THE_OBJECT)
    for name, found in members:
        if not isinstance(found, property) or name not in asking_too:
            continue
        sort(plain(found), f"torch.Tensor.{name}", [("__get__", found.__get__)], ())
        here.names[found.__set__] = f"torch.Tensor.{name}.__set__"
    for name in ("linalg", "fft", "special"):
        sort(getattr(root, name), f"torch.{name}", functions_of(getattr(root, name)), _SELDOM)
    sort(init, "torch.nn.init", functions_of(init), dir(init))
    return here


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that `__torch_function__` may take over, by the module or class that has them."""
    return {home: list(found) for home, found in _surface().overridable.items()}


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Public functions that nothing takes over."""
    return set(_surface().ignored)


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose results keep the class that they have."""
    return {getattr(Tensor, name).__get__ for name in ("_base", "grad", "_grad")}


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function that can be taken over, one that can be called like it, and gives -1."""
    return {f: _stand_in(f) for found in _surface().overridable.values() for f in found}


def _stand_in(f: Callable[..., Any]) -> Callable[..., Any]:
    def stand_in(*args: Any, **kwargs: Any) -> int:
        return -1

    with contextlib.suppress(TypeError, ValueError):  # a slot of a class in C does not tell
        stand_in.__signature__ = inspect.signature(f)  # type: ignore[attr-defined]
    return stand_in


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether `func` belongs to Tensor rather than to a namespace."""
    name = resolve_name(func)
    return func.__name__ == "__get__" if name is None else name.startswith("torch.Tensor.")


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The dotted name of a public function."""
    return _surface().names.get(f)


# ---- modes


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that lets every call through."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode_stack() -> list[Any]:
    return list(local.state.mode.functions)


def _get_current_function_mode() -> Any:
    """The innermost of the modes that are on."""
    return next(reversed(local.state.mode.functions), None)


def _len_torch_function_stack() -> int:
    return len(local.state.mode.functions)


def _get_function_stack_at(at: int) -> Any:
    return local.state.mode.functions[at]


def _is_torch_function_enabled() -> bool:
    return local.state.mode.subclasses


# Who is asked. Here modes that are left alone are taken off the stack, so that the last two are one.
_TorchFunctionState = enum.Enum("_TorchFunctionState", "ENABLED SUBCLASSES_DISABLED ALL_DISABLED", start=0)


def _get_torch_function_state() -> _TorchFunctionState:
    enabled = _is_torch_function_enabled()
    return _TorchFunctionState.ENABLED if enabled else _TorchFunctionState.SUBCLASSES_DISABLED


def _set_torch_function_state(state: _TorchFunctionState) -> None:
    local.state.mode = local.state.mode.but(subclasses=state is _TorchFunctionState.ENABLED)


def _is_torch_function_mode_enabled() -> bool:
    return bool(local.state.mode.functions)


class _pop_mode_temporarily(Switch):
    """Inside, the innermost mode is not asked. It is what `with … as` gives."""

    switches = ("functions",)

    def _inside(self, mode: Mode) -> Mode:
        return mode.but(functions=mode.functions[:-1])

    def __enter__(self) -> Any:
        innermost = local.state.mode.functions[-1]
        super().__enter__()
        return innermost


__all__ = [
    "get_ignored_functions", "get_overridable_functions", "get_testing_overrides", "handle_torch_function",
    "has_torch_function", "is_tensor_like", "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip
