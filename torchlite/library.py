"""`torch.library`: operators of one's own, by a schema, a kernel for each device, and formulas for gradients.

They are found at `torch.ops.namespace.name`. Of what PyTorch's compiler asks of them, `register_fake` also says what an
operator gives for tensors on the meta device.
"""

from __future__ import annotations

import ast
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .autograd.function import Function
from .core.device import device as device_of
from .core.dtype import dtype
from .core.op import functions
from .core.publish import aten
from .core.tensor import Tensor

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "impl", "infer_schema", "register_autograd",
    "register_fake", "register_kernel",
]  # fmt: skip

_operators: dict[str, Operator] = {}


def operator(qualname: str) -> Operator:
    try:
        return _operators[qualname]
    except KeyError:
        raise RuntimeError(f"operator {qualname} does not exist") from None


class Operator:
    """What `torch.ops.namespace.name` is: called, it runs the kernel for the device of its tensors."""

    def __init__(self, qualname: str, schema: str) -> None:
        self.qualname = qualname
        self.schema = qualname + schema
        self.signature = _signature(schema)
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.whole: Callable[..., Any] | None = None  # a kernel for every device, which autograd sees into
        self.function = type(f"GeneratedBackwardFor_{self._plain}_default", (_Recorded,), {"operator": self})
        self.backward: Callable[..., Any] = self._no_backward
        self.setup_context: Callable[..., Any] | None = None
        self.recorded = False
        _operators[qualname] = self

    @property
    def default(self) -> Operator:
        """The only overload there is."""
        return self

    @property
    def _plain(self) -> str:
        return self.qualname.replace("::", "_")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            most = len(self.signature.parameters)
            what = f"expected at most {most} argument(s) but received {len(args)} argument(s)."
            raise RuntimeError(
                f"{self.qualname}() {what if len(args) > most else error} Declaration: {self.schema}"
            ) from None
        bound.apply_defaults()
        if self.whole is not None:
            return self.whole(*bound.args, **bound.kwargs)
        if not self.recorded:
            return self.run(*bound.args, **bound.kwargs)
        return self.function.apply(bound.kwargs, *bound.args)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        types_ = [value.device.type for value in _tensors((*args, *kwargs.values()))]
        where = "meta" if "meta" in types_ else next((t for t in types_ if t != "cpu"), "cpu")
        kernel = self.kernels.get(where) or (self.kernels.get("") if where != "meta" else None)
        if kernel is None:
            if where == "meta":
                raise RuntimeError(f"There was no fake impl registered for {self!r}. Please use `register_fake`.")
            known = ", ".join(name.upper() for name in self.kernels)
            raise NotImplementedError(
                f"Could not run '{self.qualname}' with arguments from the '{where.upper()}' backend. "
                f"'{self.qualname}' is only available for these backends: [{known}]."
            )
        return kernel(*args, **kwargs)

    def _no_backward(self, *_: Any) -> Any:
        raise RuntimeError(
            f"Trying to backward through {self!r}.default but no autograd formula was registered. "
            "Please use register_autograd to add one."
        )

    def __repr__(self) -> str:
        return self.qualname.replace("::", ".")


class _Recorded(Function):
    """One call of an operator, as autograd sees it."""

    operator: Operator

    @classmethod
    def forward(cls, keywords: dict[str, Any], *args: Any) -> Any:
        return cls.operator.run(*args, **keywords)

    @classmethod
    def setup_context(cls, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        setup = cls.operator.setup_context
        if setup is not None:
            keywords, *args = inputs
            more = {"keyword_only_inputs": keywords} if keywords else {}
            setup(ctx=ctx, inputs=tuple(args), output=output, **more)

    @classmethod
    def backward(cls, ctx: Any, *grads: Any) -> Any:
        found = cls.operator.backward(ctx, *grads)
        return (None, *(found if isinstance(found, tuple | list) else (found,)))


class CustomOpDef:
    """An operator made of a Python function by `custom_op`."""

    def __init__(self, name: str, fn: Callable[..., Any], schema: str) -> None:
        self._qualname, self._init_fn = name, fn
        self._namespace, self._name = name.split("::")
        self._opoverload = Operator(name, schema)
        self._opoverload.recorded = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None) -> Any:
        return register_kernel(self._qualname, device_types, fn)

    def register_fake(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return register_fake(self._qualname, fn)

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Any = None) -> None:
        register_autograd(self._qualname, backward, setup_context=setup_context)


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Sequence[Any] | None = None,
) -> Any:
    """Make an operator of a function of tensors."""

    def made(fn: Callable[..., Any]) -> CustomOpDef:
        if "::" not in name:
            raise ValueError(f"Expected `name` to be of the form namespace::name, got {name}")
        custom = CustomOpDef(name, fn, infer_schema(fn, mutates_args=mutates_args) if schema is None else schema)
        custom.register_kernel(device_types, fn)
        return custom

    return made if fn is None else made(fn)


def _qualname(op: Any) -> str:
    return op if isinstance(op, str) else op._qualname if isinstance(op, CustomOpDef) else op.qualname


def register_kernel(
    op: Any, device_types: str | Sequence[str] | None, func: Callable[..., Any] | None = None, /, *, lib: Any = None
) -> Any:
    """What computes an operator on devices of these types; None: on those that have no kernel of their own."""

    def registered(func: Callable[..., Any]) -> Callable[..., Any]:
        names = [device_types] if isinstance(device_types, str) else device_types or [""]
        operator(_qualname(op)).kernels.update({device_of(name).type if name else "": func for name in names})
        return func

    return registered if func is None else registered(func)


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None, **_: Any) -> Any:
    """What an operator gives for tensors that have no numbers."""
    found = operator(_qualname(op))

    def registered(func: Callable[..., Any]) -> Callable[..., Any]:
        found.kernels["meta"] = func
        return func

    return registered if func is None else registered(func)


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, lib: Any = None
) -> None:
    """How gradients go back through an operator: `backward(ctx, *grads)` gives one for each argument."""
    found = operator(_qualname(op))
    found.backward, found.setup_context, found.recorded = backward, setup_context, True


class Library:
    """The definitions ("DEF", "FRAGMENT") or kernels ("IMPL") that a program adds to a namespace."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        name, parenthesis, rest = schema.partition("(")
        Operator(f"{self.ns}::{name.strip()}", parenthesis + rest)
        return name.strip()

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", **_: Any) -> None:
        name = op_name if isinstance(op_name, str) else op_name.qualname
        found = operator(f"{self.ns}::{name.rpartition('::')[2]}")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if key == "CompositeImplicitAutograd":
            found.whole = fn
        elif key.startswith("Autograd"):
            raise NotImplementedError("torchlite has no dispatch key for autograd: use torch.library.register_autograd")
        else:
            found.kernels["" if key == "CompositeExplicitAutograd" else key.lower()] = fn


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = ()) -> None:
    Operator(qualname, schema)


def impl(qualname: str, types: str | Sequence[str], func: Callable[..., Any] | None = None, *, lib: Any = None) -> Any:
    names = [types] if isinstance(types, str) else types
    return register_kernel(qualname, None if "default" in names else names, func)


def fallthrough_kernel() -> None:
    raise NotImplementedError("fallthrough_kernel() should never be called.")


# ---- schemas

_WORDS: dict[Any, str] = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", complex: "Scalar", dtype: "ScalarType",
    device_of: "Device",
}  # fmt: skip


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: Any = (), op_name: Any = None) -> str:
    """The schema that a function's annotations tell."""
    hints = typing.get_type_hints(prototype_function)
    signature = inspect.signature(prototype_function)
    parts, starred = [], False
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        if name not in hints:
            raise ValueError(
                f"infer_schema(func): Parameter {name} must have a type annotation. "
                f"Got func with signature {signature})"
            )
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            parts.append("*")
        written = mutates_args == "unknown" or name in mutates_args
        word = _word(hints[name], f"(a{position}!)" if written else "")
        default = "" if parameter.default is parameter.empty else "=" + _literal(parameter.default)
        parts.append(f"{word} {name}{default}")
    result = hints.get("return", type(None))
    results = typing.get_args(result) if typing.get_origin(result) is tuple else (result,)
    words = ", ".join(_word(r, "") for r in results if r is not type(None))
    return f"{op_name or ''}({', '.join(parts)}) -> {words if len(results) == 1 and words else f'({words})'}"


def _word(hint: Any, mark: str) -> str:
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        (inner,) = (a for a in arguments if a is not type(None))
        return _word(inner, mark) + "?"
    if arguments:
        return _word(arguments[0], mark) + "[]"
    if hint not in _WORDS:
        raise ValueError(f"infer_schema(func): {hint} is not a type that operators take or give")
    return _WORDS[hint] + (mark if hint is Tensor else "")


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _signature(schema: str) -> inspect.Signature:
    """The parameters that a schema `(Tensor x, int n=2, *, Tensor? y=None) -> …` names."""
    inside = schema[schema.index("(") + 1 : schema.rindex("->")].strip().removesuffix(")")
    parameters, kind = [], inspect.Parameter.POSITIONAL_OR_KEYWORD
    for part in _split(inside):
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        declared, equals, default = part.partition("=")
        value = _value(default) if equals else inspect.Parameter.empty
        parameters.append(inspect.Parameter(declared.split()[-1], kind, default=value))
    return inspect.Signature(parameters)


def _split(text: str) -> Iterator[str]:
    """What stands between commas that are in no brackets."""
    for part in re.findall(r"(?:[^,\[\(\"]|\[[^\]]*\]|\([^)]*\)|\"[^\"]*\")+", text):
        if part.strip():
            yield part.strip()


def _value(text: str) -> Any:
    words = {"true": True, "false": False}
    try:
        return words[text] if text in words else ast.literal_eval(text)
    except ValueError:
        return text  # a word, as `mean` for a reduction


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


class Namespace(types.ModuleType):
    """`torch.ops.name`: the operators of a namespace; PyTorch's own, in `aten`, are the functions of torch."""

    def __getattr__(self, name: str) -> Any:
        found = _operators.get(f"{self.__name__}::{name}")
        if found is None and self.__name__ == "aten" and (name in functions or name in aten):
            found = _Aten(functions.get(name) or aten[name])
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self.__name__}' object has no attribute '{name}'")
        return found


def load_library(path: Any) -> None:
    """`torch.ops.load_library`: it fails as where the library does not fit PyTorch."""
    raise OSError(f"Could not load this library: {path} (torchlite runs no compiled operators)")


class _Aten:
    """A function of torch as an operator: each of its overloads is the function itself."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.function
