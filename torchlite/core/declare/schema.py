"""Signatures in PyTorch's schema words, and binding a call's arguments to them.

    "sum.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)"

Types: Tensor, Operand (a tensor or a number), Scalar, int, float, bool, str, ScalarType, Device, Layout,
MemoryFormat, Generator, any; `?` admits None, `[]` is a sequence, `?[]` one with gaps, `[2]` a sequence or one
item that stands for two.
"""

from __future__ import annotations

import ast
import copy
import functools
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, overload

from ..machine import Tensor
from ..values.device import device
from ..values.dtype import dtype
from ..values.errors import too_long, warn_once
from ..values.layout import layout, memory_format
from .conversions import (
    CONVERT,
    HIGHEST,
    HIGHEST_SCALAR,
    LOWEST,
    NO_SIZES,
    OVERFLOW,
    dim_alone,
    int_alone,
    is_tensor,
    longs,
    number_of,
)
from .misfits import Mismatch, TooLong, half_fit, invalid_combination, misfit
from .pytorchs_overloads import pytorchs_overloads

_SPLIT = re.compile(r",\s*(?![^\[]*\])")
_PARAM = re.compile(
    r"(?P<type>\w+)(?P<gaps>\?(?=\[))?(?P<list>\[\d*\])?(?P<optional>\?)?\s+(?P<name>\w+)(?:=(?P<default>.+))?"
)
_HEAD = re.compile(r"(?P<name>[\w.]+)\((?P<params>.*?)\)(?:\s*->\s*(?P<returns>.+))?$", re.S)

# How PyTorch's errors call a type.
_SAID = {
    "Operand": "Tensor", "Scalar": "Number", "ScalarType": "torch.dtype", "Device": "torch.device",
    "Layout": "torch.layout", "MemoryFormat": "torch.memory_format", "Generator": "torch.Generator", "any": "object",
}  # fmt: skip

# Names NumPy's users write for PyTorch's.
_ALIASES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}


def taking(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A Python function that takes what a schema says, all of it by position when it is called."""
    signature = Signature(schema)

    def bound(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            return f(*signature.bind(args, kwargs))

        return call

    return bound


_PYTHON = {int, float, bool, complex}

# Values of just these classes pass unchanged; ints have a range.
_QUICK: dict[str, set[type]] = {
    "Tensor": {Tensor}, "Operand": {Tensor, *_PYTHON} - {int}, "Scalar": _PYTHON - {int}, "bool": {bool},
    "float": {float}, "str": {str}, "ScalarType": {dtype}, "Layout": {layout}, "MemoryFormat": {memory_format},
}  # fmt: skip


class Param:
    """One parameter of a signature."""

    __slots__ = (
        "alone", "convert", "default", "highest", "integer", "items", "kwonly", "name", "optional", "quick", "repeats",
        "required", "sequence", "single", "type",
    )  # fmt: skip

    def __init__(self, text: str, kwonly: bool) -> None:
        match = _PARAM.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"not a parameter: {text!r}")
        if match["type"] not in CONVERT:
            raise ValueError(f"no such type: {match['type']!r} in {text!r}")
        self.name: str = match["name"]
        self.type: str = match["type"]
        self.sequence = match["list"] is not None
        self.single = match["list"] not in (None, "[]")
        self.repeats = int(match["list"][1:-1]) if self.single else 1
        self.optional = match["optional"] is not None
        self.required = match["default"] is None
        self.default = None if self.required else ast.literal_eval(match["default"])
        if self.repeats > 1 and self.default.__class__ is int:
            self.default = (self.default,) * self.repeats
        self.kwonly = kwonly
        lone_dim = self.type == "int" and not self.sequence and ("dim" in self.name or self.name in NO_SIZES)
        convert = self.convert = dim_alone if lone_dim else CONVERT[self.type]
        self.alone = int_alone if self.type == "int" else convert
        # Values of these classes pass unchanged, sequences of such items too.
        quick = set(_QUICK.get(self.type, ()))
        self.quick, self.items = (set(), quick) if self.sequence else (quick, set())
        if self.optional:
            self.quick.add(type(None))
        if match["gaps"]:
            self.items.add(type(None))
            self.convert = lambda item: None if item is None else convert(item)
        # The class of ints where they are taken, as they are or one for a sequence, and the highest there may be.
        self.integer = int if self.type in ("int", "Scalar", "Operand") and (self.single or not self.sequence) else None
        self.highest = HIGHEST if self.type == "int" else HIGHEST_SCALAR

    @property
    def is_tensor(self) -> bool:
        return self.type in ("Tensor", "Operand")

    def __call__(self, value: Any) -> Any:
        """`value` as this parameter takes it; Mismatch when it does not."""
        if value is None:
            if self.optional or self.type == "any":
                return None
            if self.sequence and not self.required and not self.default:  # what is said by default
                return ()
            raise Mismatch
        if not self.sequence:
            return self.convert(value)
        if isinstance(value, (list, tuple)):
            return tuple([self.convert(item) for item in self.asked(value)])
        if self.single:
            return (self.alone(value),) * self.repeats
        raise Mismatch

    def asked(self, items: Sequence[Any]) -> Sequence[Any]:
        """A sequence's items as they are asked for their kind: of ints only the first is, so bools may follow it."""
        if self.type != "int":
            return items
        return [*items[:1], *[int(item) if item.__class__ is bool else item for item in items[1:]]]

    @property
    def called(self) -> str:
        """Its name in calls: the first tensor of a function is its `input`, the first list is what it is."""
        return "input" if self.name == "self" and self.is_tensor and not self.sequence else self.name

    def said(self) -> str:
        """Its type as error messages give it."""
        plain = _SAID.get(self.type, self.type)
        if self.sequence:
            return f"tuple of {self.type if self.type == 'Scalar' else plain}s"
        return plain

    def shown(self) -> str:
        usual = self.default
        if isinstance(usual, (list, tuple)) and len(usual) in (1, self.repeats):
            usual = usual[0]
        default = "" if self.required else f' = "{usual}"' if isinstance(usual, str) else f" = {usual}"
        return f"{self.said()} {self.called}{default}"


class Form:
    """How calls with so many positional arguments, and these keywords, are bound to a signature."""

    __slots__ = ("arrange", "devices", "params", "rest")

    def __init__(self, signature: Signature, places: list[int]) -> None:
        params = signature.params
        left = [i for i in range(len(params)) if i not in places]
        self.params = tuple([params[i] for i in places])  # of the arguments, as they come
        self.devices = tuple([at for at, param in enumerate(self.params) if param.type == "Device"])
        self.rest = tuple([params[i].default for i in left])
        order = [*places, *left]
        inverse = sorted(range(len(order)), key=order.__getitem__)
        # Brings arguments and defaults into the order of the parameters.
        self.arrange = None if inverse == list(range(len(order))) else operator.itemgetter(*inverse)


# Parameters do not change, and the same few recur in most signatures.
_param = functools.cache(Param)


class Signature:
    """A parsed schema: its parameters, the names of its results, and `bind`."""

    __slots__ = ("by_name", "forms", "name", "overload", "params", "positional", "returns", "text", "variadic")

    def __init__(self, text: str) -> None:
        self.text = text
        head = _HEAD.fullmatch(text.strip())
        if head is None:
            raise ValueError(f"not a schema: {text!r}")
        self.name: str
        self.overload: str
        self.name, _, self.overload = head["name"].partition(".")
        self.params: list[Param] = []
        kwonly = False
        for piece in _SPLIT.split(head["params"]):
            if piece.strip() == "*":
                kwonly = True
            elif piece.strip():
                self.params.append(_param(piece.strip(), kwonly))
        self.forms: dict[Any, Form] = {}
        self.returns = _returns(head["returns"])
        self.positional = sum(not p.kwonly for p in self.params)
        self.by_name = {p.name: i for i, p in enumerate(self.params)}
        if "self" in self.by_name:
            self.by_name[self.params[self.by_name["self"]].called] = self.by_name["self"]
        # A lone list of ints may be spread over the call: x.permute(2, 0, 1).
        rest = [p for p in self.params if not p.kwonly and p.name != "self"]
        self.variadic = len(rest) == 1 and rest[0].sequence and rest[0].type == "int"

    def called(self, name: str) -> Signature:
        """The same, told of by another name in errors."""
        twin = copy.copy(self)
        twin.name = name
        return twin

    @overload
    def bind(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool = False, must: Literal[True] = True
    ) -> list[Any]: ...
    @overload
    def bind(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool = False, *, must: bool
    ) -> list[Any] | None: ...
    def bind(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool = False, must: bool = True
    ) -> list[Any] | None:
        """The arguments in the order of the parameters, converted and completed with defaults.

        Where one has the wrong type, TypeError, or None when there are other signatures to be tried (not `must`).
        """
        if method and self.variadic and (len(args) > 2 or (len(args) == 2 and hasattr(args[1], "__index__"))):
            args = (args[0], tuple(args[1:]))
        given = (*args, *kwargs.values()) if kwargs else args
        form = self.forms.get((len(args), *kwargs) if kwargs else len(args))
        if form is None:
            factors = self._factors_first(args, method) if len(args) > self.positional else None
            if factors:
                return self.bind([a for a in args if is_tensor(a)], {**kwargs, **factors}, method, must=must)
            form = self._form(args, kwargs, method)
        try:
            values = [v if v.__class__ in p.quick else p(v) for p, v in zip(form.params, given)]
        except TooLong:
            self._refuse_longer(form, given)
            raise
        except Mismatch:
            if not must:
                return None
            raise self.refusal(args, kwargs, method) from None
        for at in form.devices:
            if values[at] is not None:
                values[at] = device(values[at])
        values += form.rest
        return values if form.arrange is None else [*form.arrange(values)]

    def refusal(self, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool = False) -> TypeError:
        """The error for a call that does not fit."""
        return refusal(self.name, [self], args, kwargs, method)

    def at_once(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any] | None:
        """As `bind`, for calls of a known form with plain tensors and plain Python values; None for all others."""
        form = self.forms.get((len(args), *kwargs) if kwargs else len(args))
        if form is None:
            return None
        values = []
        for value, param in zip((*args, *kwargs.values()) if kwargs else args, form.params):
            if value.__class__ in param.quick:
                values.append(value)
            elif value.__class__ is param.integer:
                if not LOWEST <= value <= param.highest:
                    return None
                values.append((value,) * param.repeats if param.sequence else value)
            elif param.sequence and (value.__class__ is tuple or value.__class__ is list):
                for item in value:
                    if item.__class__ not in param.items and not (
                        item.__class__ is int and param.type == "int" and LOWEST <= item <= HIGHEST
                    ):
                        return None
                values.append(tuple(value))
            else:
                return None
        values += form.rest
        return values if form.arrange is None else [*form.arrange(values)]

    def fits(self, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool) -> bool:
        """Whether the number and names of the arguments do."""
        if len(args) > self.positional and not (method and self.variadic):
            return False
        named = {self.index(name) for name in kwargs}
        if len(named) < len(kwargs) or not named.isdisjoint([None, *range(len(args))]):
            return False
        return all(i < len(args) or i in named or not p.required for i, p in enumerate(self.params))

    def _form(self, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool) -> Form:
        """The `Form` that binds calls of this form, kept for the next one."""
        if not self.fits(args, kwargs, False):
            raise self.refusal(args, kwargs, method)
        places = [*range(len(args)), *[at for at in map(self.index, kwargs) if at is not None]]
        form = self.forms[(len(args), *kwargs) if kwargs else len(args)] = Form(self, places)
        return form

    def _factors_first(self, args: Sequence[Any], method: bool) -> dict[str, Any] | None:
        """The numbers of a call in PyTorch's older order, each before what it scales: `x.add_(-lr, grad)`."""
        numbers = [a for a in args if isinstance(a, (int, float, complex))]
        tensors = sum(map(is_tensor, args))
        factors = self.factors
        known = tensors == self.positional and tensors + len(numbers) == len(args) and len(numbers) <= len(factors)
        if not known or not is_tensor(args[-1]):
            return None
        shown = [p.shown() for p in self.params[:tensors]]
        for p in reversed(factors[: len(numbers)]):
            shown.insert(p.name != "beta", f"{p.said()} {p.name}")
        if method:
            shown.remove(self.params[0].shown())
        else:
            shown += ["*", "Tensor out = None"]
        usual = self.with_out(method).shown(method)
        warn_once(
            f"This overload of {self.name} is deprecated:\n\t{self.name}({', '.join(shown)})\n"
            f"Consider using one of the following signatures instead:\n\t{self.name}{usual}",
            about="deprecated overloads",
        )
        return {p.name: number for p, number in zip(factors, numbers)}

    def _refuse_longer(self, form: Form, given: Sequence[Any]) -> None:
        """Raise the error for the first int beyond 64 bits."""
        for param, value in zip(form.params, given, strict=True):
            try:
                param(value)
            except TooLong:
                if param.type in ("Scalar", "Operand"):
                    numbers = value if isinstance(value, (list, tuple)) else (value,)
                    raise too_long(max(map(number_of, numbers), key=abs)) from None
                if isinstance(value, (list, tuple)):
                    longs(self.name, param.name, value)
                raise ValueError(OVERFLOW) from None

    def index(self, name: str) -> int | None:
        """The place of the parameter that calls name so; the first tensor is `input` to them."""
        at = self.by_name.get(name)
        if at is None and name in _ALIASES:
            at = self.by_name.get(_ALIASES[name])
        return None if name == "self" and at is not None and self.params[at].called != name else at

    @property
    def factors(self) -> list[Param]:
        """The numbers that PyTorch's older overloads take before what they scale."""
        return [p for p in self.params if p.kwonly and p.type == "Scalar"]

    def with_out(self, method: bool) -> Signature:
        """The same with the `out` that functions have, but for those that write in place."""
        given = method or self.name.endswith("_") or "out" in self.by_name
        return self if given else Signature(f"{self.text.rpartition(')')[0]}, Tensor? out=None)")

    def takes(self, count: int) -> bool:
        """Whether a call may have this number of arguments, positional and named together."""
        return sum(p.required for p in self.params) <= count <= len(self.params)

    def shown(self, method: bool = False) -> str:
        """The signature as it stands in the list of candidates of an error."""
        parts = [p.shown() for p in self.params if not p.kwonly][method:]
        named = [p.shown() for p in self.params if p.kwonly]
        return f"({', '.join(parts + (['*'] if named else []) + named)})"


def refusal(
    name: str, signatures: Sequence[Signature], args: Sequence[Any], kwargs: Mapping[str, Any], method: bool
) -> TypeError:
    """The error for a call that fits none of these signatures, nor of PyTorch's overloads of that name."""
    overloads = [Signature(text) for text in pytorchs_overloads(name, method)] or signatures
    for form in overloads:
        told = half_fit(form.called(name), args, kwargs, method)
        if told is not None:
            return TypeError(told)
    if len(overloads) == 1 and overloads[0].factors:  # beside the older overloads
        overloads = [overloads[0].called(name).with_out(method)]
    elif len(overloads) == 1:
        return TypeError(misfit(overloads[0].called(name), args, kwargs, method))
    meant = [form for form in overloads if form.takes(len(args) + len(kwargs))]
    if len(meant) == 1:
        return TypeError(misfit(meant[0].called(name), args, kwargs, method))
    return invalid_combination(name, args, kwargs, overloads, method)


def _returns(text: str | None) -> tuple[str, ...]:
    """The names of a schema's results; one unnamed result gives an empty tuple."""
    if text is None or not text.strip().startswith("("):
        return ()
    return tuple(piece.split()[-1] for piece in text.strip().strip("()").split(","))
