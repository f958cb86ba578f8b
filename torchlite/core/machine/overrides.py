"""`__torch_function__`: subclasses, duck types and function modes take over a call."""

from __future__ import annotations

import functools
import inspect
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
        if plain and hasattr(cls, "_backend"):
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
        for value in (*args, *kwargs.values()) if kwargs else args:
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
    return mode.profiler is not None and not mode.profiler.admits()


# Functions that PyTorch has in Python, with its parameters; those of `nn.functional` have the same here.
_IN_PYTHON = {
    "cdist": "x1, x2, p=2.0, compute_mode='use_mm_for_euclid_dist_if_necessary'",
    "lu": "A, pivot=True, get_infos=False, out=None",
    "norm": "input, p='fro', dim=None, keepdim=False, out=None, dtype=None",
    "pca_lowrank": "A, q=None, center=True, niter=2",
    "split": "tensor, split_size_or_sections, dim=0",
    "stft": "input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect', "
    "normalized=False, onesided=None, return_complex=None, align_to_window=None",
    "svd_lowrank": "A, q=6, niter=2, M=None",
    "tensordot": "a, b, dims=2, out=None",
    "unique": "input, sorted=True, return_inverse=False, return_counts=False, dim=None",
    "unique_consecutive": "input, return_inverse=False, return_counts=False, dim=None",
}


@functools.cache
def _in_python(func: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of a function that PyTorch has in Python."""
    from .registry import functions

    home, name = (getattr(func, "__module__", None) or "").partition(".")[2], getattr(func, "__name__", "")
    if home in ("", "functional") and name in _IN_PYTHON:
        signature = inspect.signature(eval(f"lambda {_IN_PYTHON[name]}: None"))
        with_out = functions.get(name) is func  # and not the method
    elif home == "nn.functional":
        signature, with_out = inspect.signature(func), name == "normalize"
    else:
        return None
    params = [p for p in signature.parameters.values() if p.name != "out" or with_out]
    return None if any([p.kind is p.VAR_KEYWORD for p in params]) else signature.replace(parameters=params)


def _spelt_out(
    func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """A call as PyTorch's functions in Python tell of it: what has a default is named."""
    signature = _in_python(func)
    if signature is None:
        return args, kwargs
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:  # which the function will say, if anybody calls it
        return args, kwargs
    bound.apply_defaults()
    given, params = bound.arguments, signature.parameters
    needed = [given[name] for name, p in params.items() if p.default is p.empty]
    return needed, {name: given[name] for name, p in params.items() if p.default is not p.empty}


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
    args, kwargs = _spelt_out(func, args, kwargs)
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

    name, own = func.__name__, getattr(func, "__module__", None)
    home = own
    if name in ("__get__", "__set__", "__delete__"):
        attribute = func.__self__  # type: ignore[attr-defined]
        names = [n for cls in PLAIN for n, value in vars(cls).items() if value is attribute]
        name, home = f"{names[0] if names else attribute.__name__}.{name}", "torch.Tensor"
    elif functions.get(name) is func:
        home = "torch"
    elif any([hasattr(cls, name) for cls in PLAIN]):
        home = "torch.Tensor"
    if home == own:
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
