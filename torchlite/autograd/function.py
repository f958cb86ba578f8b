"""`torch.autograd.Function`: operations whose forward and derivatives the user writes.

    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, gradient):
            (y,) = ctx.saved_tensors
            return gradient * y

    y = Exp.apply(x)

Or `forward(x)` and `setup_context(ctx, inputs, output)`, which the transforms of `torch.func` need.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ..core.machine import FIRST, LEAF, Node, TensorBase, form_of, requires_grad
from ..core.state import local, with_grad
from ..core.values import bear_name, warn
from .custom import BackwardCFunction, FunctionCtx, _HookMixin, call
from .nested_io import (  # noqa: F401
    _iter_filter,
    _iter_None_tensors,
    _iter_tensors,
    _iter_tensors_permissive,
    _map_tensor_data,
    _nested_map,
    _unflatten,
)

__all__ = [
    "BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "NestedIOFunction",
    "once_differentiable",
]  # fmt: skip

_ContextMethodMixin = FunctionCtx
LAST = 4  # the highest level of a backend that is no transform
_NOTE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class FunctionMeta(type):
    """Gives every Function the class of its nodes: `_backward_cls`, named `<Function>Backward`."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        node = {"__module__": "torch.autograd.function", "_forward_cls": cls}
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), node)
        super().__init__(name, bases, attrs)


def _of_any_header(formula: Callable[..., Any]) -> Callable[..., Any]:
    """To type checkers, a formula that one with other parameters may override."""
    return formula


class _SingleLevelFunction(FunctionCtx, _HookMixin, metaclass=FunctionMeta):
    """What a Function says for itself."""

    clear_saved_tensors_on_access: ClassVar[bool] = False  # backward may read its saved tensors once
    boxed_grads_call: ClassVar[bool] = False  # backward gets the gradients in one list, from which it may take them

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the results: `forward(ctx, *args)`, or `forward(*args)` where there is a `setup_context`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep what backward and jvp need of a call."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    @_of_any_header
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of all inputs, None for those that have none, from those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    @_of_any_header
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of all outputs, from those of the inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @classmethod
    def _gradient(cls) -> Callable[..., Any]:
        """The user's formula for gradients, which has one of two names."""
        backward, vjp, missing = cls.backward, cls.vjp, _SingleLevelFunction.backward
        if backward is not missing and vjp is not missing:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        return backward if vjp is missing else vjp


class Function(_SingleLevelFunction):
    """An operation with a forward and derivatives of its own. It is called as `Name.apply(…)`, never instantiated."""

    generate_vmap_rule = False  # whether forward, backward and jvp are made of ops that vmap can map

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    @_of_any_header
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """The results for a whole batch, which lies in dimension `in_dims` of each argument, and where it lies there.

        `info.batch_size` is the number of elements, `info.randomness` what `vmap` was told about random numbers.
        """
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call forward, and record the call."""
        separate = _is_setup_context_defined(cls.setup_context)
        if separate:
            args, kwargs = _bound(cls.forward, args, kwargs), {}
        elif local.state.levels:
            raise RuntimeError(
                "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it "
                f"must override the setup_context staticmethod. {_NOTE}"
            )
        top = _topmost((*args, *kwargs.values()))
        return call(cls, args, kwargs, separate) if top is None else top.run_function(cls, args)


def _is_setup_context_defined(fn: Callable[..., Any]) -> bool:
    return fn is not _SingleLevelFunction.setup_context


def _bound(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments of a forward by position, those left out as their defaults say."""
    if not kwargs and inspect.isfunction(forward) and not forward.__code__.co_kwonlyargcount:
        defaults = forward.__defaults__ or ()
        missing = forward.__code__.co_argcount - len(args)
        if 0 <= missing <= len(defaults):
            return args + defaults[len(defaults) - missing :]
    given = inspect.signature(forward).bind(*args, **kwargs)
    given.apply_defaults()
    for name in given.kwargs:
        raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
    return given.args


def _topmost(values: Sequence[Any]) -> Any:
    """The backend of the transform begun last that made one of the tensors; None where none did."""
    found = None
    for value in values:
        if isinstance(value, TensorBase):
            backend = value._backend.real
        elif value.__class__ is tuple or value.__class__ is list:
            backend = _topmost(value)
        else:
            continue
        if backend is not None and backend.level > (LAST if found is None else found.level):
            found = backend
    return found


# ---- once_differentiable


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A backward whose results cannot be differentiated: it is run with nothing recorded."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        state = local.state
        outputs = state.within(with_grad(state.mode, False), fn, ctx, *args)
        if not state.mode.grad or not any([isinstance(a, TensorBase) and requires_grad(a) for a in args]):
            return outputs
        return Error.after(outputs if isinstance(outputs, tuple) else (outputs,))

    return wrapper


class Error(Node):
    """The node of what cannot be differentiated."""

    __slots__ = ()

    @classmethod
    def after(cls, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """The gradients, with this node as their history."""
        leaves = [None if g is None else g.detach() for g in gradients]
        results = [None if g is None else g.detach() for g in gradients]
        node = cls(tuple(leaves), tuple([form_of(g) for g in gradients]))
        node.sequence_nr = FIRST - 1
        for nr, (leaf, result) in enumerate(zip(leaves, results, strict=True)):
            if leaf is not None and result is not None:
                leaf._edge, result._edge = LEAF, (node, nr)
        return tuple(results)

    def name(self) -> str:
        return "torch::autograd::Error"

    def apply(self, grads: list[Any]) -> Sequence[Any]:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


# ---- the oldest kinds


class InplaceFunction(Function):
    """Kept for old code; a Function may always write in place."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """Kept for old code, whose subclasses have static methods; there are no others any more."""


for _cls in (FunctionCtx, BackwardCFunction, FunctionMeta, Function, _SingleLevelFunction, InplaceFunction,
             NestedIOFunction):  # fmt: skip
    bear_name(_cls, "torch.autograd.function")
