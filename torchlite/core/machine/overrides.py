"""`__torch_function__`: subclasses, duck types and function modes take over a call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ..native import quick
from ..state import Mode, Switch, local
from ..structs import know


def _disabled_torch_function_impl(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of classes that leave every call alone."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def overrides(cls: type) -> bool:
    """Whether a class takes calls over. (`Tensor` itself and `Parameter` do not.)"""
    found = _OVERRIDES.get(cls)
    if found is None:
        handler = getattr(cls, "__torch_function__", None)
        plain = handler is None or handler is _disabled_torch_function_impl or cls.__dict__.get("_plain", False)
        found = _OVERRIDES[cls] = not plain
        if plain and hasattr(cls, "backend"):
            PLAIN.add(cls)
    return found


_OVERRIDES: dict[type, bool] = {}
know(overriding=_OVERRIDES)
PLAIN: set[Any] = set()  # the tensor classes that were asked for and take nothing over


def _overloaded(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The arguments that take the call over, subclasses before their bases, else from left to right."""
    found: list[Any] = []
    for value in (*args, *kwargs.values()):
        for item in value if value.__class__ is list or value.__class__ is tuple else (value,):
            cls = type(item)
            if not overrides(cls) or any(type(f) is cls for f in found):
                continue
            at = next((i for i, f in enumerate(found) if issubclass(cls, type(f))), len(found))
            found.insert(at, item)
    return found


@quick
def needs_dispatch(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether somebody is to be told of a call before it is made: a function mode, an operand, the profiler."""
    mode = local.state.mode
    if mode.functions:
        return True
    if mode.subclasses:
        for value in args:
            cls = value.__class__
            if cls in PLAIN:
                continue
            if cls is list or cls is tuple:
                for item in value:
                    kind = item.__class__
                    if kind not in PLAIN and _OVERRIDES.get(kind, True) and overrides(kind):
                        return True
            elif _OVERRIDES.get(cls, True) and overrides(cls):
                return True
        if kwargs and any(overrides(v.__class__) for v in kwargs.values()):
            return True
    return mode.profiler is not None and not mode.profiler.admits()


# Functions that are called on behalf of a public one -> that one, which is what handlers are told.
public: dict[Callable[..., Any], Callable[..., Any]] = {}


def dispatch(
    func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], relevant: Sequence[Any] | None = None
) -> Any:
    """Offer the call to the innermost function mode, then to the operands; the profiler sees what they leave.

    `relevant` are those among the arguments that are asked; None: all of them.
    """
    while func in public:
        func = public[func]
    state = local.state
    outer = state.mode
    asked = (args, kwargs) if relevant is None else (relevant, {})
    involved = _overloaded(*asked) if outer.subclasses else []
    types = tuple([type(a) for a in involved])
    extra = (dict(kwargs),) if kwargs else ()  # handlers have a default for kwargs
    if outer.functions:
        *others, handler = outer.functions
        inner = outer.but(functions=tuple(others))
        result = state.within(inner, handler.__torch_function__, func, types, tuple(args), *extra)
        if result is not NotImplemented:
            return result
    if outer.profiler is not None and not involved and not outer.functions:
        return outer.profiler.call(func, args, kwargs)
    for item in involved:
        result = type(item).__torch_function__(func, types, tuple(args), *extra)
        if result is not NotImplemented:
            return result
    raise TypeError(_declined(func, outer.functions[-1:], types))


def _declined(func: Callable[..., Any], modes: Sequence[Any], types: Sequence[type]) -> str:
    """What to say where nobody wanted a call."""
    from .registry import functions

    name, home = func.__name__, func.__module__
    if functions.get(name) is func:
        home = "torch"
    elif any([hasattr(cls, name) for cls in PLAIN]):
        home = "torch.Tensor"
    if home == func.__module__:
        return f"no implementation found for '{home}.{name}' on types that implement __torch_function__: {list(types)}"
    asked = [*[f"mode object {mode!r}" for mode in modes], *[f"tensor subclass {t!r}" for t in types]]
    return (
        f"Multiple dispatch failed for '{home}.{name}'; all __torch_function__ handlers returned NotImplemented:\n\n"
        + "".join([f"  - {who}\n" for who in asked])
        + "\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def overridable(f: Callable[..., Any]) -> Callable[..., Any]:
    """A Python function whose calls handlers may take over."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        return dispatch(call, args, kwargs) if needs_dispatch(args, kwargs) else f(*args, **kwargs)

    return call


class DisableTorchFunctionSubclass(Switch):
    """Inside, operands' `__torch_function__` is not asked; function modes still are."""

    switches: ClassVar[tuple[str, ...]] = ("subclasses",)

    def __init__(self, *_: object, **named: object) -> None:
        """PyTorch's looks at no arguments either."""

    def _inside(self, mode: Mode) -> Mode:
        return mode.but(subclasses=False)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Inside, neither operands nor function modes are asked."""

    switches = ("subclasses", "functions")

    def _inside(self, mode: Mode) -> Mode:
        return mode.but(subclasses=False, functions=())
