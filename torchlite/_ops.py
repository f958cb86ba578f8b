"""What `torch.ops` is made of: operators by namespace, name and overload.

Those of PyTorch (`aten`) are the functions of torch; others are declared by programs (library.py).
"""

from __future__ import annotations

import enum
import functools
import importlib
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

from ._library.aten_schemas import overloads, schema_of
from ._library.schema import FunctionSchema
from .amp.autocast_mode import autocast, is_autocast_enabled
from .autograd.function import Function
from .core.declare import aten
from .core.machine import Tensor, bump, dispatch, functions, needs_dispatch
from .core.machine.registry import registry
from .core.state import Holding, is_watched, local

__all__ = ["Namespace", "OpOverload", "OpOverloadPacket", "Operator", "Tag"]

# What may be said of an operator.
Tag = enum.IntEnum(
    "Tag",
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace inplace_view "
    "maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides needs_fixed_stride_order "
    "nondeterministic_bitwise nondeterministic_seeded out out_variant pointwise pt2_compliant_tag reduction view_copy",
    start=0,
    module="torch",
)

# Overloads whose arguments are not those of the op.
_REARRANGED = frozenset((
    "_to_copy", "fractional_max_pool2d_backward", "fractional_max_pool3d_backward", "index_put",
    "max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward", "polygamma",
))  # fmt: skip
_packets: dict[str, OpOverloadPacket] = {}  # those that programs declared


def packet_of(qualname: str) -> OpOverloadPacket:
    try:
        return _packets[qualname]
    except KeyError:
        raise RuntimeError(f"operator {qualname} does not exist") from None


def operator(qualname: str) -> Operator:
    """The operator `namespace::name` or `namespace::name.overload`."""
    name, _, overload = qualname.partition(".")
    return getattr(packet_of(name), overload or "default")


class _Named:
    """What an operator shows of its name."""

    namespace: str
    _qualified_op_name: str

    def name(self) -> str:
        return self._qualified_op_name

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class OpOverloadPacket(_Named):
    """`torch.ops.namespace.name`: all overloads of an operator; a call means the first that it fits."""

    def __init__(self, qualname: str) -> None:
        self._qualified_op_name = qualname
        self.namespace, _, self.__name__ = qualname.partition("::")
        self.__module__ = f"torch._ops.{self.namespace}"
        self._overloads: dict[str, OpOverload] = {}

    def overloads(self) -> list[str]:
        return list(self._overloads)

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__.get("_overloads", {}).get(name)
        if found is None:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        return found

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._overloads]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        overloads: list[Any] = list(self._overloads.values())
        return next((o for o in overloads[:-1] if o._schema.fits(args, kwargs)), overloads[-1])(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")


class OpOverload(_Named):
    """`torch.ops.namespace.name.overload`."""

    tags: Sequence[Any] = ()

    def __init__(self, packet: OpOverloadPacket, overload: str, tags: Sequence[Any] = ()) -> None:
        self.overloadpacket = self._overloadpacket = packet
        self._overloadname = overload or "default"
        if tags:
            self.tags = list(tags)
        self.namespace, self._opname = packet.namespace, packet.__name__
        self._qualified_op_name = packet.name() + (overload and f".{overload}")
        self.__name__ = f"{self._opname}.{self._overloadname}"
        self.__module__ = packet.__module__
        packet._overloads[self._overloadname] = self

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self.overloadpacket}.{self._overloadname}"


class Operator(OpOverload):
    """An operator that a program declares: called, it runs the kernel for the device of its tensors."""

    def __init__(self, schema: FunctionSchema, tags: Sequence[Any] = ()) -> None:
        packet = _packets.get(schema.name) or _packets.setdefault(schema.name, OpOverloadPacket(schema.name))
        super().__init__(packet, schema.overload_name, tags)
        self._schema = schema
        self.kernels: dict[str, Callable[..., Any]] = {}  # by type of device; "" for those that have none of their own
        self.whole: Callable[..., Any] | None = None  # a kernel for every device, which autograd sees into
        self.above: Callable[..., Any] | None = None  # a kernel that sees to gradients itself, and calls the operator
        self.checked: Callable[..., Any] | None = None  # a function whose results may not be its arguments
        self.backward: Callable[..., Any] = self._no_backward
        self.setup_context: Callable[..., Any] | None = None
        self.map: Callable[..., Any] | None = None  # how it runs on a batch
        self.casts: dict[str, Any] = {}  # by type of device, for autocast: a dtype for operands, or what is run instead
        self.recorded = False
        title = f"GeneratedBackwardFor_{self.namespace}_{self._opname}_{self._overloadname}"
        self.function: Any = type(title, (_Recorded,), {"operator": self})

    def forget(self) -> None:
        """Take the operator away."""
        self.overloadpacket._overloads.pop(self._overloadname, None)
        if not self.overloadpacket._overloads:
            _packets.pop(self._schema.name, None)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if needs_dispatch(args, kwargs):
            return dispatch(self, args, kwargs)
        positional, keywords = self._schema.bind(args, kwargs)
        where = _device_type((*positional, *keywords.values())) if self.casts else ""
        if where in self.casts and is_autocast_enabled(where):
            wanted = self.casts[where]
            with autocast(where, enabled=False):
                if callable(wanted):
                    return wanted(*positional, **keywords)
                return self(*[_cast(v, wanted) for v in positional], **keywords)
        if self.whole is not None:
            return self.whole(*positional, **keywords)
        if self.above is not None and self not in _inside.operators:
            with _inside.entered(self):
                return self.above(*positional, **keywords)
        if not self.recorded and not local.state.levels:
            return self.run(*positional, **keywords)
        call = _Call(positional, keywords)
        results = self.function.apply(*call.flat, call)
        return list(results) if self._gives_list else results

    @property
    def _gives_list(self) -> bool:
        returns = self._schema.returns
        return len(returns) == 1 and "[" in returns[0].marks

    def run(self, *args: Any, **kwargs: Any) -> Any:
        taken = next((t for t in _tensors((*args, *kwargs.values())) if t._backend.handed), None)
        if taken is not None:
            return taken._backend.real.hand_over(self, args, kwargs)
        if is_watched():
            told: Any = local.state.mode.seer
            return told.call(self, args, kwargs)
        where = _device_type((*args, *kwargs.values()))
        kernel = self.kernels.get(where) or (self.kernels.get("") if where != "meta" else None)
        if kernel is None and where == "meta" and self.checked is not None and not self._schema.returns:
            return None  # it only writes, which meta tensors take no notice of
        if kernel is None:
            raise self._missing(where)
        results = kernel(*args, **kwargs)
        if self._schema.is_mutable:
            given = [*args, *kwargs.values()]
            for t in _tensors([v for v, a in zip(given, self._schema.arguments) if a.is_write]):
                bump(t)
        if self.checked is not None and where != "meta":
            self._check_fresh(args, results)
        return results

    def _missing(self, where: str) -> Exception:
        if where == "meta" and self.checked is not None:
            return RuntimeError(
                f"There was no fake impl registered for <CustomOpDef({self._schema.name})>. This is necessary for "
                f"torch.compile/export/fx tracing to work. Please use `{self._opname}.register_fake` to add an fake "
                "impl."
            )
        if where == "meta":
            return NotImplementedError(
                f"{self._schema.name}: attempted to run this operator with Meta tensors, but there was no fake impl or "
                "Meta kernel registered. You may have run into this message while using an operator with PT2 "
                "compilation APIs (torch.compile/torch.export); in order to use this operator with those APIs you'll "
                "need to add a fake impl. Please see the following for next steps:  "
                "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
            )
        known = ", ".join(name.upper() for name in self.kernels)
        return NotImplementedError(
            f"Could not run '{self.name()}' with arguments from the '{where.upper()}' backend. This could be because "
            f"the operator doesn't exist for this backend. '{self.name()}' is only available for these backends: "
            f"[{known}]."
        )

    def _check_fresh(self, args: Iterable[Any], results: Any) -> None:
        seen = {t.untyped_storage().data_ptr() for t in _tensors(args) if t.numel()}
        for t in _tensors([results]):
            memory = t.untyped_storage().data_ptr()
            if memory and memory in seen:
                raise RuntimeError(
                    f"{self._opname} (with implementation in {getattr(self.checked, '__module__', None)}): The output "
                    "of this custom operator (1) must not also be an input to this custom operator and (2) may not "
                    "alias any inputs to this custom operator or other returns. The most common way to trigger this "
                    "error is if we have y = custom_op(x) and y and x are the same Tensor. Please instead return a "
                    "clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the custom operator "
                    "to not return y."
                )
            seen.add(memory)

    def _no_backward(self, *_: Any) -> Any:
        raise RuntimeError(
            f"Trying to backward through {self} but no autograd formula was registered. Please use register_autograd "
            "to add one."
        )


# ---- gradients and batches


class _Inside(threading.local):
    """The operators whose kernels above autograd run in this thread: called again, they go below."""

    operators: tuple[Operator, ...] = ()

    def entered(self, operator: Operator) -> Holding:
        return Holding(self, operators=(*self.operators, operator))


_inside = _Inside()


class _Call:
    """The arguments of a call, of which lists of tensors are handed to a Function one by one."""

    def __init__(self, positional: Sequence[Any], keywords: dict[str, Any]) -> None:
        self.keywords = keywords
        self.lengths = [
            len(v) if isinstance(v, list) and any(isinstance(t, Tensor) for t in v) else None for v in positional
        ]
        self.flat = [
            item for v, n in zip(positional, self.lengths, strict=True) for item in (v if n is not None else [v])
        ]

    def nested(self, flat: Iterable[Any]) -> tuple[Any, ...]:
        """The arguments, or what there is for each, from what there is for those handed over."""
        rest = iter(flat)
        return tuple([next(rest) if n is None else [next(rest) for _ in range(n)] for n in self.lengths])

    def spread(self, nested: Iterable[Any]) -> list[Any]:
        found: list[Any] = []
        for value, n in zip(nested, self.lengths, strict=True):
            found += [value] if n is None else [None] * n if value is None else value
        return found


class _Recorded(Function):
    """One call of an operator, as autograd sees it."""

    operator: ClassVar[Operator]

    @classmethod
    def forward(cls, *inputs: Any) -> Any:
        *flat, call = inputs
        results = cls.operator.run(*call.nested(flat), **call.keywords)
        return tuple(results) if isinstance(results, list) else results

    @classmethod
    def setup_context(cls, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *flat, call = inputs
        ctx._call = call
        if cls.operator.setup_context is not None:
            more = {"keyword_only_inputs": call.keywords} if call.keywords else {}
            given = list(output) if cls.operator._gives_list else output
            cls.operator.setup_context(ctx=ctx, inputs=call.nested(flat), output=given, **more)

    @classmethod
    def backward(cls, ctx: Any, *grads: Any) -> tuple[Any, ...]:
        given = [list(grads)] if cls.operator._gives_list else grads
        found = cls.operator.backward(ctx, *given)
        found = found if isinstance(found, tuple | list) else (found,)
        wanted = len(ctx._call.lengths)
        if len(found) != wanted:
            raise RuntimeError(
                f"function {cls.__name__}Backward returned an incorrect number of gradients (expected {wanted}, got "
                f"{len(found)})"
            )
        return (*ctx._call.spread(found), None)

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[Any, ...], *inputs: Any) -> Any:
        *flat, call = inputs
        args, dims = call.nested(flat), call.nested(in_dims[:-1])
        if cls.operator.map is not None:
            return cls.operator.map(info, dims, *args, **call.keywords)
        results = [cls.operator(*_at(at, args, dims), **call.keywords) for at in range(info.batch_size)]
        if isinstance(results[0], Tensor):
            return functions["stack"](results), 0
        return tuple([functions["stack"](parts) for parts in zip(*results, strict=True)]), (0,) * len(results[0])


def _at(at: int, args: Iterable[Any], dims: Iterable[Any]) -> Iterator[Any]:
    """One element of a batch of arguments."""
    for value, dim in zip(args, dims, strict=True):
        if isinstance(value, list) and isinstance(dim, list):
            yield list(_at(at, value, dim))
        else:
            yield value if dim is None else value.select(dim, at)


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def _device_type(values: Iterable[Any]) -> str:
    types_ = [t.device.type for t in _tensors(values)]
    return "meta" if "meta" in types_ else next((t for t in types_ if t != "cpu"), "cpu")


def _cast(value: Any, wanted: Any) -> Any:
    if isinstance(value, list):
        return [_cast(item, wanted) for item in value]
    return value.to(wanted) if isinstance(value, Tensor) and value.is_floating_point() else value


# ---- PyTorch's own


def _as_torch_names(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a schema as functions of torch have them, to whom the tensor `self` is `input`."""
    return {"input" if name == "self" else name: value for name, value in kwargs.items()}


class _Aten(OpOverloadPacket):
    """A function of torch as an operator: each of its overloads is called as the function itself."""

    def __init__(self, qualname: str, function: Callable[..., Any]) -> None:
        super().__init__(qualname)
        self.function = function

    def overloads(self) -> list[str]:
        known = overloads().get(self.__name__)
        if known is not None:
            return list(known)
        return [op.signature.overload or "default" for op in registry.values() if op.signature.name == self.__name__]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **_as_torch_names(kwargs))

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in overloads().get(self.__name__, (name,)):
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        found = self.__dict__[name] = _AtenOverload(self, "" if name == "default" else name)
        return found


_VIEWS_IN_PLACE = frozenset((
    "as_strided_", "detach_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_",
))  # fmt: skip


class _AtenOverload(OpOverload):
    overloadpacket: _Aten
    op: Any = None  # what a dispatch mode saw as this overload

    @functools.cached_property
    def _schema(self) -> FunctionSchema:
        return schema_of(self._opname, self._overloadname, self.overloadpacket.function)

    @functools.cached_property
    def tags(self) -> list[Tag]:  # type: ignore[override]
        if self._opname in _VIEWS_IN_PLACE:
            return [Tag.inplace_view]
        op = registry.get(self._opname.removesuffix("_"))
        return [Tag.core, Tag.pointwise] if getattr(op, "elementwise", False) else []

    @property
    def is_view(self) -> bool:
        return "(a)" in str(self._schema)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self.op is not None:
            return self.op.apply(*self.op.bind(args, _as_torch_names(kwargs)))
        return self.overloadpacket(*args, **kwargs)


def overload_of(op: Any, name: str, overload: str) -> OpOverload:
    """The overload that an operation is seen as; operations that users cannot call have theirs made here."""
    aten = importlib.import_module(".ops", __package__).aten
    packet = getattr(aten, name, None)
    if packet is None:
        packet = _Aten(f"aten::{name}", lambda *args, **kwargs: op.apply(*op.bind(args, kwargs)))
        setattr(aten, name, packet)
    found = getattr(packet, overload)
    if name == op.signature.name and name not in _REARRANGED:
        found.op = op
    return found


def _of_registry(name: str) -> Callable[..., Any] | None:
    """What calls an op that is no function of torch."""
    op = registry.get(name) or next((op for op in registry.values() if op.signature.name == name), None)
    return None if op is None else lambda *args, **kwargs: op.apply(*op.bind(args, kwargs))


def _loaded_late(name: str) -> Callable[..., Any] | None:
    """A function of torch that is declared when it is first asked for."""
    torch = sys.modules[__package__]
    return getattr(torch, name) if name in torch._HOME and name.startswith("_") else None


class Namespace(types.ModuleType):
    """`torch.ops.name`: the operators of a namespace; PyTorch's own, in `aten`, are the functions of torch."""

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if self.__name__ != "aten":
            found = _packets.get(f"{self.__name__}::{name}")
        else:
            method = None if name.startswith("_") else getattr(Tensor, name, None)
            function = aten.get(name) or functions.get(name) or method or _of_registry(name) or _loaded_late(name)
            found = _Aten(f"aten::{name}", function) if callable(function) else None
            if found is not None:
                setattr(self, name, found)
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self.__name__}' object has no attribute '{name}'")
        return found

    def __dir__(self) -> list[str]:
        prefix = f"{self.__name__}::"
        return [*super().__dir__(), *[name.removeprefix(prefix) for name in _packets if name.startswith(prefix)]]

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.__name__}' from 'torch.ops'>"
