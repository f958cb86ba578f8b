"""Giving functions and methods their public names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, TypeVar

from ..machine import (
    Tensor,
    TensorBase,
    dispatch,
    get_recorded,
    into,
    needs_dispatch,
    planned,
    public,
    refuse_history,
    refuse_out,
)  # fmt: skip
from ..machine.noted import steps_of
from ..machine.registry import aliases, aten, functions
from ..state import is_watched, local
from .op import Op
from .overload import overloaded
from .public_forms import left_to_other
from .schema import Signature
from .told import dwell, signatures_of, tell

F = TypeVar("F", bound="Callable[..., Any]")
M = TypeVar("M")  # a function, or a property


def function(name: str, *signatures: Signature) -> Callable[[F], F]:
    """Publish a Python function as `torch.<name>`; the signatures are those by which it binds its arguments, if any."""

    def publish_(f: F) -> F:
        functions[name] = f
        if signatures:
            tell(f, name, signatures, doc=f.__doc__)
        else:
            dwell(f, name)
        return f

    return publish_


def method(*names: str) -> Callable[[M], M]:
    """Publish a Python function as a method of Tensor."""

    def publish_(f: M) -> M:
        if not isinstance(f, property):
            dwell(f, names[0], method=True)
        if f.__doc__ is None and hasattr(f, "general"):
            f.__doc__ = f.general.__doc__
        for name in names:
            setattr(Tensor, name, f)
        return f

    return publish_


def publish_as(
    name: str, f: Callable[..., Any], function: bool = True, method: bool = True, general: Any = None
) -> None:
    """Publish a function made from the public function of an op, `general`: a faster way to call it."""
    if general is not None:
        tell(f, name, signatures_of(general), not function).__doc__ = general.__doc__
    if function:
        functions[name] = f
    if method:
        setattr(Tensor, name, f)


def _noted(f: Callable[..., Any]) -> Callable[..., Any]:
    """The `comes_to` of a function of which the form of a call decides which ops it calls."""
    return lambda *values: steps_of(f, values)


class Composite:
    """An overload made of other ops, to stand beside ops in `publish`; its words are those of `publish_python`."""

    __slots__ = ("by_form", "comes_to", "made_of", "signature")
    in_place_by_form = False

    def __init__(
        self, schema: str, f: Callable[..., Any], comes_to: Callable[..., Any] | None = None, by_form: bool = True
    ) -> None:
        self.signature = Signature(schema)
        self.made_of = f
        writes = self.signature.name.endswith("_")
        self.comes_to = comes_to or (_noted(f) if by_form and not writes else None)
        self.by_form = self.comes_to is not None

    def apply(self, *values: Any) -> Any:
        mode = local.state.mode
        values = values if mode.autocast is None else mode.autocast.cast(self.signature.name, values)
        return self.made_of(*values) if mode.seer is None else mode.seer.composite(self.made_of, values)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool = False) -> list[Any]:
        return self.signature.bind(args, kwargs, method)

    def given_out(self, out: Any, values: Sequence[Any]) -> Any:
        refuse_history(self.signature.name, out, values)
        return into(out, self.apply, values, self.signature.name)


def publish_python(
    schema: str, f: Callable[..., Any], function: bool = True, method: bool = True, into: Callable[..., Any] = into,
    comes_to: Callable[..., Any] | None = None, by_form: bool = True,
) -> Callable[..., Any]:  # fmt: skip
    """Publish a function made of other ops, with its arguments bound as an op's are; `into` is its `out=` form.

    `comes_to` gives, of the bound arguments, the op that calls of their form come to and its arguments, and the number
    of the result, where it is one of several; or a list of such steps, where `Made(k)` is what step k gives; or None.
    Without it, the ops that a call comes to are noted, unless `by_form` says that they depend on more than its form: on
    histories, on values that are read from arrays, or on numbers that are drawn.
    """
    composite = Composite(schema, f, comes_to, by_form)
    signature, comes_to = composite.signature, composite.comes_to

    def bound(args: tuple[Any, ...], kwargs: dict[str, Any], call: Any, as_method: bool) -> Any:
        if needs_dispatch(args, kwargs):
            return dispatch(call, args, kwargs)
        if "out" in kwargs:
            refuse_out(signature.name, as_method)
        out = kwargs.pop("out", None)
        values: Any = signature.bind(args, kwargs, as_method)
        if out is None:
            mode = local.state.mode
            values = values if mode.autocast is None else mode.autocast.cast(signature.name, values)
            return f(*values) if mode.seer is None else mode.seer.composite(f, values)
        refuse_history(signature.name, out, values)
        return into(out, f, values, signature.name)

    def caller(as_method: bool) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            mode = local.state.mode
            if mode.direct:
                values = signature.at_once(args, kwargs)
                if values is not None:
                    return f(*values) if mode.seer is None else mode.seer.composite(f, values)
            return bound(args, kwargs, call, as_method)

        if comes_to is None:
            return call
        made = planned(lambda args, kwargs: comes_to(*signature.bind(args, kwargs, as_method)), call)
        public[call] = made
        return made

    doc = f.__doc__ if f.__class__ is FunctionType else None  # not that of a class of ops
    call, call_method = [
        tell(caller(as_method), signature.name, [signature], as_method, doc=doc) for as_method in (False, True)
    ]
    if function:
        functions[signature.name] = call
    else:
        aten.setdefault(signature.name, call)
    if method:
        setattr(Tensor, signature.name, call_method)
    return call


def _taken_over(first: Any) -> Any:
    """The backend that hands calls to the class of a tensor, or of the first of a list, if there is such a class."""
    t = first[0] if isinstance(first, (list, tuple)) and first else first
    return t._backend.real if isinstance(t, TensorBase) and t._backend.handed else None


def seen_whole(
    schema: str, overload: str = "default", recorded: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let dispatch modes see the function beneath, made of operations, as one.

    Where it is `recorded`, since its results have derivatives, they see the operations, which are what is recorded.
    """
    signature = Signature(schema)

    def declared(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def run(*values: Any) -> Any:
            seer: Any = local.state.mode.seer if is_watched() else _taken_over(values[0])
            if seer is None or (recorded and get_recorded(values)):
                return f(*values)
            made = seer.together(signature.name, signature.overload or overload, signature, values)
            return tuple(made) if isinstance(made, list) else made

        return run

    return declared


def published(schema: str, **more: Any) -> Callable[[F], F]:
    """Publish the function beneath, made of other ops, as `publish_python` does."""

    def publish_(f: F) -> F:
        publish_python(schema, f, **more)
        return f

    return publish_


def published_whole(schema: str, overload: str = "default", recorded: bool = False, **more: Any) -> Callable[[F], F]:
    """Publish the function beneath, which dispatch modes see whole."""

    def publish_(f: F) -> F:
        whole: Any = seen_whole(schema, overload, recorded)(f)
        publish_python(schema, whole, **more)
        return whole

    return publish_


def publish_loss(schema: str, f: Callable[..., Any]) -> None:
    """As `publish_python`; a `reduction` that is left out is the mean in aten, and none in the function of torch."""
    publish_python(schema, f, function=False, method=False)
    publish_python(schema.replace("int reduction=1", "int reduction=0"), f, method=False)


def exchanged(operator: Callable[[Any, Any], Any]) -> Callable[[Tensor, Any], Any]:
    """The operator for a tensor on its right."""

    @left_to_other
    def call(self: Tensor, other: Any) -> Any:
        return operator(other, self)

    return call


# Operators that are no slots of a class in C: they look at what they are called on no sooner than at the rest.
_IN_PYTHON = ("__rsub__", "__floordiv__")
# Operators that handlers are told of; of others, they are told of the method.
_TOLD_OF = (
    *_IN_PYTHON, "__and__", "__eq__", "__iand__", "__ilshift__", "__ior__", "__ipow__", "__irshift__", "__ixor__",
    "__lshift__", "__or__", "__rshift__", "__xor__",
)  # fmt: skip


# In-place forms that are functions of torch, too; the others are methods alone.
_IN_PLACE_FUNCTIONS = frozenset((
    "abs_", "acos_", "acosh_", "addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_", "arctanh_",
    "asin_", "asinh_", "atan_", "atanh_", "ceil_", "clamp_", "clamp_max_", "clamp_min_", "clip_", "conj_physical_",
    "cos_", "cosh_", "deg2rad_", "erf_", "erfc_", "exp2_", "exp_", "expm1_", "fill_", "fix_", "floor_", "frac_",
    "gcd_", "i0_", "index_put_", "lcm_", "ldexp_", "log10_", "log1p_", "log2_", "log_", "logit_", "nan_to_num_",
    "neg_", "negative_", "rad2deg_", "reciprocal_", "relu_", "round_", "rsqrt_", "sigmoid_", "sin_", "sinc_",
    "sinh_", "sqrt_", "square_", "tan_", "tanh_", "trunc_", "xlogy_", "zero_",
))  # fmt: skip


def _publish(name: str, ops: Sequence[Any], function: bool, method: bool) -> tuple[Any, Any]:
    """Publish the function and the method of a name."""
    if len(ops) == 1:
        call = ops[0].function()
        bound = ops[0].method() if method else call
    else:
        call, bound = overloaded(name, *ops)
    if function:
        functions[name] = call
    else:
        aten.setdefault(name, call)
    if method:
        setattr(Tensor, name, bound)
    return call, bound


def _in_place(name: str, ops: Sequence[Any], inplace: bool) -> Any:
    """The in-place form of a name, which is published where that is asked for."""
    name += "_"
    made = None if len(ops) == 1 else overloaded(name, *ops, inplace=True)
    write = ops[0].inplace() if made is None else made[1]
    if inplace:
        setattr(Tensor, name, write)
        if name in _IN_PLACE_FUNCTIONS:
            functions[name] = ops[0].inplace(False) if made is None else made[0]
    return write


def publish_alias(
    alias: str, name: str, *ops: Any, function: bool = True, method: bool = False, inplace: bool = False
) -> Any:
    """Give what is published as `name` functions of another name, by which handlers and refusals speak of them."""
    renamed = [op.called(alias) for op in ops]
    aliases[alias] = name
    if inplace:
        aliases[alias + "_"] = name + "_"
        _in_place(alias, renamed, inplace)
    return _publish(alias, renamed, function, method)[0]


def publish(
    *ops: Op | Composite, names: str | tuple[str, ...] = (), function: bool = True, method: bool = True,
    inplace: bool = False, operators: str = "", reflected: str = "", operators_in_place: str = "",
) -> Callable[..., Any]:  # fmt: skip
    """Give one op, or several overloads of one (ops and composites), its public forms; returns the function.

    `inplace` is the method with a trailing underscore. Operators are named without their underscores: "add radd" are
    `operators` of addition, "iadd" is one of `operators_in_place`; a `reflected` one has its operands exchanged first.
    What is no function of torch is one of `torch.ops.aten`.
    """
    name, *others = (names,) if isinstance(names, str) else names or (ops[0].signature.name,)
    first: Any = ops[0]
    call, bound = _publish(name, ops, function, method)
    if inplace or operators_in_place:
        write = _in_place(name, ops, inplace)
        if operators_in_place:
            operator = first.operator_in_place() if len(ops) == 1 else left_to_other(write)
            dunders = [f"__{short}__" for short in operators_in_place.split()]
            if dunders[0] in _TOLD_OF:
                dwell(operator, dunders[0], method=True)
            else:
                public[operator] = write
            for dunder in dunders:
                setattr(Tensor, dunder, operator)
    for other in others:
        publish_alias(other, name, *ops, function=function, method=method, inplace=inplace)
    for short in operators.split():
        dunder = f"__{short}__"
        operator = first.operator("" if dunder in _IN_PYTHON else dunder)
        dwell(operator, dunder, method=True)
        if dunder not in _TOLD_OF:
            public[operator] = bound
        setattr(Tensor, dunder, operator)
    for short in reflected.split():
        dunder, operator = f"__{short}__", exchanged(first.operator())
        dwell(operator, dunder, method=True)
        setattr(Tensor, dunder, operator)
    return call
