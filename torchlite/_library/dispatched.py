"""What a dispatch mode sees of an operation: an overload of `torch.ops.aten`, and the arguments it is called with.

Operations are declared by PyTorch's schemas, so that most tell their overload themselves. Those that PyTorch knows by
another name say so (`seen_as`), and so do those that are several there (`made_of`). `_OVERLOADS` has the others.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from ..backends.lazy import CONJ, NEG
from ..core.declare import aten, signatures_of
from ..core.machine import Tensor, computed, functions, result_type, tensors_in
from ..core.machine.registry import registry
from ..core.state import is_watched, local
from ..core.values import get_default_device, preserve_format


def _formula() -> str | None:
    """The op whose derivative is computed, if that is what runs; of a node that is no op's, nothing is said."""
    task: Any = local.state.task
    seer: Any = local.state.mode.seer
    if task is None or (is_watched() and seer.left is task):
        return None
    return getattr(getattr(task.node, "op", None), "name", "")


def _inside(*names: str) -> bool:
    """Whether a function made of operations makes the call, or one of these."""
    seer: Any = local.state.mode.seer
    inside = seer.inside if is_watched() else None
    return inside is not None and (not names or getattr(inside, "__name__", "") in names)


def _arithmetic(values: Sequence[Any]) -> str:
    """A number that a user gives is a tensor there, and so in derivatives of products; one of a formula is not."""
    bare = _formula() not in (None, "", "mul", "div") or _inside()
    return _by_operand(values) if bare else "Tensor"


def _tensor(values: Sequence[Any]) -> str:
    return "Tensor"


def _by_operand(values: Sequence[Any]) -> str:
    return "Tensor" if isinstance(values[1], Tensor) else "Scalar"


def _by_operands(values: Sequence[Any]) -> str:
    return "_".join(["Tensor" if isinstance(v, Tensor) else "Scalar" for v in values[:2]])


def _shift(values: Sequence[Any]) -> str:
    operands = _by_operands(values)
    return "Tensor" if operands == "Tensor_Tensor" else operands


def _bounds(values: Sequence[Any]) -> str:
    return "Tensor" if any(isinstance(v, Tensor) for v in values[1:]) else "default"


def _pair(values: Sequence[Any]) -> str:
    here, there = (isinstance(v, Tensor) for v in values)
    return "Tensor" if here and there else "Scalar_Other" if here else "Scalar_Self"


_OVERLOADS: dict[str, Callable[[Sequence[Any]], str]] = {
    **dict.fromkeys(("add", "sub", "mul", "div"), _arithmetic),
    **dict.fromkeys(("frexp", "ldexp", "slice_copy", "split_copy"), _tensor),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "fmod", "remainder", "rsub"), _by_operand),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), _shift),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "searchsorted"), _by_operand),
    **dict.fromkeys(("clamp", "clamp_min", "clamp_max"), _bounds),
    **dict.fromkeys(("transpose", "select_copy", "transpose_copy", "unbind_copy"), lambda values: "int"),
    "div.rounding_mode": lambda values: "Tensor_mode",
    **dict.fromkeys(("isin", "isin.Scalar"), _by_operands),
    "where": lambda values: "self",
    "xlogy": _pair,
}
_INTERNAL = frozenset(("_", "in_place", "bias"))


def _flat_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """A product with a transposed matrix, of the rows of a tensor."""
    shape, count = [*x.shape[:-1], weight.shape[0]], math.prod(x.shape[:-1])
    if bias is not None and (x.dim() < 3 or x.is_contiguous()):
        rows = x if x.dim() == 2 else x.reshape(count, x.shape[-1])
        result = functions["addmm"](bias, rows, weight.t())
        return result if x.dim() == 2 else result.view(shape)
    turned = weight.t()
    if x.dim() == 2:
        return functions["mm"](x, turned)
    result = overload_named("_unsafe_view", "default")(functions["mm"](x.reshape(count, x.shape[-1]), turned), shape)
    return result if bias is None else result + bias


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Callable[[], Tensor] | None:
    fits = x.dim() > 1 and weight.dim() == 2 and (bias is None or bias.dim() == 1)
    return functools.partial(_flat_linear, x, weight, bias) if fits else None


def _where(condition: Tensor, *choices: Any) -> Callable[[], Tensor] | None:
    """Numbers to choose from are tensors there."""
    tensors = [v for v in choices if isinstance(v, Tensor)]
    if len(tensors) == 2:
        return None
    like: Any = tensors[0] if tensors else condition

    def parts() -> Tensor:
        made = [v if isinstance(v, Tensor) else functions["scalar_tensor"](
            v, dtype=result_type(*choices), layout=like.layout, device=like.device
        ) for v in choices]  # fmt: skip
        return functions["where"](condition, *made)

    return parts


def _number_less(self: Tensor, other: Any, alpha: Any) -> Callable[[], Tensor] | None:
    """A number less a tensor, in PyTorch's own code, is a tensor filled with it, less the other."""
    if isinstance(other, Tensor) or alpha != 1 or not (_formula() or _inside()):
        return None
    return lambda: functions["empty_like"](self, memory_format=preserve_format).fill_(other).sub_(self)


def _softmax(name: str) -> Callable[..., Any]:
    """Of another dtype, that of a tensor brought to it."""

    def parts(self: Tensor, dim: int, dtype: Any = None) -> Callable[[], Tensor] | None:
        def of_type() -> Tensor:
            return functions[name](self.to(dtype), dim, False)

        return None if dtype in (None, self.dtype) else of_type

    return parts


# What gives a function that runs the parts, or None where an operation is seen as it is.
_MADE_OF: dict[str, Callable[..., Any]] = {
    "_linear": _linear,
    "log_softmax.int": _softmax("_log_softmax"),
    "softmax.int": _softmax("_softmax"),
    "rsub": _number_less,
    "where": _where,
    "_linear.bias": lambda bias, x, weight: _linear(x, weight, bias),
}


def _pooled(name: str, *windows: str) -> dict[str, Callable[..., Any]]:
    """The gradient of a pool, which is told of the windows too."""

    def called(g: Tensor, self: Tensor, indices: Tensor) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        task: Any = local.state.task
        return name, (g, self, *[getattr(task.node, f"_saved_{w}") for w in windows], indices), {}

    return {name: called}


_WINDOWS = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")


# What converts by a function that tells where the result is, too.
_TYPED = ("of_type", "type_as", "quantile", "quantiles")


# For operations that PyTorch knows by another name: that, and the arguments it has there.
_SEEN: dict[str, Callable[..., tuple[Any, ...]]] = {
    "_to_copy": lambda self, dtype, laid=None: (
        "_to_copy", (self,), {"dtype": dtype} | ({} if laid is None else {"memory_format": laid})
        | ({"layout": self.layout, "device": self.device} if _formula() == "_to_copy" or _inside(*_TYPED) else {}),
    ),
    "_to_device": lambda self, where: (
        "_to_copy", (self,), {"dtype": self.dtype, "layout": self.layout, "device": where},
    ),
    **_pooled("max_pool2d_with_indices_backward", *_WINDOWS),
    **_pooled("max_pool3d_with_indices_backward", *_WINDOWS),
    **_pooled("fractional_max_pool2d_backward", "kernel_size", "output_size"),
    **_pooled("fractional_max_pool3d_backward", "kernel_size", "output_size"),
}  # fmt: skip


def _between(given: Sequence[Any]) -> str:
    """Ends of a range, each a number or a tensor."""
    kinds = ["Tensor" if isinstance(end, Tensor) else "Scalar" for end in given[:2]]
    return "_".join(kinds) if "Tensor" in kinds else "default"


_FACTORIES: dict[str, Callable[[Sequence[Any]], str]] = {
    "arange": lambda given: ("default", "default", "start", "start_step")[len(given)],
    "empty": lambda given: "memory_format",
    "eye": lambda given: "m" if len(given) > 1 else "default",
    "linspace": _between,
    "logspace": _between,
    "normal": lambda given: "float_float",
    "randint": lambda given: "low",
}


_OF_FORMS = ("empty_like", "full_like")  # for which values of lazy tensors are not computed


def factory_call(factory: Any, values: Sequence[Any]) -> tuple[str, str, tuple[Any, ...], dict[str, Any]]:
    """As `seen`, for a function that makes a tensor."""
    if factory.like and factory.name not in _OF_FORMS:
        values = [computed(values[0]), *values[1:]]
    d, laid, where = values[factory.own : factory.own + 3]
    own = list(zip(factory.signature.params[: factory.own], values, strict=False))
    named = {p.name: v for p, v in own if p.kwonly and not p.required and not _same(v, p.default)}
    args = [v for p, v in own if not p.kwonly]
    for param, _ in [o for o in own if not o[0].kwonly][::-1]:
        if param.required or not _same(args[-1], param.default):
            break
        args.pop()
    like = factory.like or factory.method
    options = {"dtype": d, "layout": laid, "device": where if like else where or get_default_device()}
    unpinned = {"pin_memory": False} if _formula() is None and not _inside() else {}
    kwargs = {name: value for name, value in options.items() if value is not None} | unpinned | named
    given = _listed(args)
    overload = _FACTORIES.get(factory.name)
    return factory.name, "default" if overload is None else overload(given), given, kwargs


def parts_of(op: Any, values: Sequence[Any]) -> Callable[[], Any] | None:
    """What runs the operations that one is made of in PyTorch, if there are several; each is recorded."""
    found = op.made_of or _MADE_OF.get(op.name)
    return None if found is None else found(*values)


# What reads bits of lazy tensors itself, and which.
_READ = {
    **dict.fromkeys(("clone", "copy", "detach"), CONJ | NEG),
    **dict.fromkeys(("addmm", "baddbmm", "bmm", "dot", "_linalg_solve_triangular", "mm", "vdot"), CONJ),
}


def reads_bits(op: Any, values: Sequence[Any]) -> bool:
    """Whether an operation reads all bits that its operands have."""
    unread = ~_READ.get(op.name, 0)
    return not any(t._backend.bits & unread for value in values for t in tensors_in(value))


def overload_named(name: str, overload: str) -> Any:
    """An overload of `torch.ops.aten`."""
    return getattr(getattr(ops.aten, name), overload)


def seen(op: Any, values: Sequence[Any]) -> tuple[str, str, tuple[Any, ...], dict[str, Any]]:
    """A call of an operation: name and overload, arguments by position, without defaults at the end, and by name."""
    name, overload = op.signature.name, op.signature.overload or "default"
    told = op.seen_as or _SEEN.get(op.name)
    if told is not None:
        name, given, *named = told(*values)
        overload = overload if op.name == f"{name}.{overload}" else "default"
        return name, overload, *((_listed(given), *named) if named else given_to(_signature_of(name), given))
    if op.name in _OVERLOADS:
        overload = _OVERLOADS[op.name](values)
    elif overload in _INTERNAL:
        overload = "default"
    return name, overload, *given_to(op.signature, values)


def _signature_of(name: str) -> Any:
    """What a function that is seen instead of an op takes."""
    call = aten.get(name) or (None if name in registry else functions[name])
    return registry[name].signature if call is None else signatures_of(call)[0]


def overload_in_place(name: str, overload: str) -> Any:
    """The overload that writes to its first argument, which most do not tell of then."""
    packet = getattr(ops.aten, f"{name}_")
    return getattr(packet, overload if overload in packet.overloads() else overload.removeprefix("Tensor_"))


# What the forms with `out=` of overloads are called that are not the overload's name with `_out`.
_OUT = {"default": "out", "dim": "out", "dim_IntList": "IntList_out", "dim_int": "int_out", "int": "int_out"}


def out_call(op: Any, values: Sequence[Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """As `seen`, for the form that writes to a tensor given: the overload, and its arguments but for that."""
    name, overload, args, kwargs = seen(op, values)
    arithmetic = op.name in ("add", "copysign", "div", "mul", "sub") and overload in ("Scalar", "Tensor")
    return overload_named(name, "out" if arithmetic else _OUT.get(overload, f"{overload}_out")), args, kwargs


def given_to(signature: Any, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call by position, without defaults at the end, and those by name."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    spare = 0  # arguments at the end that are what they are by default
    told = signature.name.endswith("_backward")  # of which PyTorch tells of tensors that there are not, too
    for param, value in zip(signature.params, values, strict=False):
        usual = not param.required and _usual(param, value) and not (told and param.is_tensor)
        if not param.kwonly:
            args.append(value)
            spare = spare + 1 if usual else 0
        elif not usual:
            kwargs[param.name] = value
    args = args[: len(args) - spare]
    return _listed(args), kwargs


def _listed(args: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([list(a) if type(a) is tuple else a for a in args])


def _usual(param: Any, value: Any) -> bool:
    """Whether a value is the default, which schemas may tell of a float as an int."""
    if param.type == "float" and type(value) is float:
        return value == param.default
    return _same(value, param.default)


def _same(value: Any, default: Any) -> bool:
    if value.__class__ is tuple:
        value, default = list(value), list(default) if isinstance(default, tuple) else default
    return value is default or (type(value) is type(default) and not isinstance(value, Tensor) and value == default)
