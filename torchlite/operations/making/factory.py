"""The family of functions that make a tensor: `zeros` of a size, `arange` of numbers, `rand_like` of a tensor's form.

To a function's own signature come the options that all of them share.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...backends.base import get_backend
from ...core.declare import Signature, publish_as, tell
from ...core.declare.misfits import takes_item
from ...core.machine import (
    MISSED,
    Plan,
    Plans,
    Tensor,
    accelerated,
    default_generator,
    dispatch,
    form_of_call,
    kernel_alone,
    needs_dispatch,
    refuse_history,
    takes_out,
    write_out,
)
from ...core.native import native
from ...core.state import Mode, State, local
from ...core.structs import Defaults
from ...core.values import CPU, Backend, dt, get_default_device, out_of_memory, strided, warn
from ...core.values.errors import out_resized, tell_of_half_complex
from ...core.values.layout import COMPRESSED, jagged

_OPTIONS = (
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool? requires_grad=None"
)
_MOST = 1024  # forms of call that are remembered of one function
_SMALL = 1 << 14  # the bytes of a result up to which one is kept to copy
_FILLING = frozenset(("empty", "eye", "full", "ones", "zeros"))  # whose `out=` may show one place several times
# How functions make tensors of other layouts: with the layout as the first argument (torchlite/sparse).
IN_LAYOUTS: dict[str, Callable[..., Tensor]] = {}
_RESIZING = frozenset(("empty", "randn"))  # whose `out=` is resized as by `resize_`, history and all


class Draw(NamedTuple):
    """What the calls of one form do in each call: a kernel that is given a stream, a shape, a dtype and parameters.

    These are given, or named like arguments. Streams may have standard float32 numbers `ready`, of this law.
    """

    kernel: Callable[..., Any]
    parameters: Sequence[Any]
    ready: str = ""


def factory(
    schema: str, function: bool = True, method: bool = False, flat: bool = False, warns: bool = False,
    deprecated: bool = False, draw: Draw | None = None,
) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:  # fmt: skip
    """Publish a function that makes a tensor: in torch, as a method, or for other operations alone.

    The function gets its arguments, then a dtype (or None) and a backend. For a method, or a function of a tensor
    `self`, these are the tensor's where the call names none. With `flat`, the result is a vector, and an `out` of as
    many elements keeps its shape; other shapes are changed, and `warns` says whether with a warning. Functions of
    `self` take none. What is `deprecated` says so in each call.
    """

    def publish(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
        made = Factory(schema, f, method, flat, warns)
        call = made.caller(not deprecated and "generator" not in made.signature.by_name, draw)
        publish_as(call.__name__, call, function, method)
        return call

    return publish


def refuse_compressed(t: Tensor) -> None:
    """Nothing is made of the kind of a tensor of one of the compressed layouts, since they are one kind in PyTorch."""
    if t.layout in COMPRESSED:
        raise RuntimeError(f"Cannot map DispatchKey SparseCsr{t.device.type.upper()} to a unique layout.")


def refuse_pinned() -> None:
    """Only for a device with memory of its own is memory of the host pinned."""
    try:
        get_backend("cuda")
    except AssertionError:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on "
            "this system."
        ) from None


def _is_first(t: Tensor, value: Any) -> bool:
    """Whether the tensor among a call's arguments, which nobody takes over, is the one that this is."""
    return t is value and not t._backend.handed


class Factory:
    """How calls of one such function are bound, and what becomes of them."""

    def __init__(self, schema: str, make: Callable[..., Tensor], method: bool, flat: bool, warns: bool) -> None:
        self.name, _, params = schema.partition("(")
        params = params.rstrip(")")
        star = "" if "*" in params else "*, "
        made = Signature(f"{self.name}({params}, {star}{_OPTIONS})")
        self.own = made.by_name["dtype"]
        self.like = "self" in made.by_name
        self.takes_out = takes_out(self.name) and not self.like
        self.signature = made.with_out(not self.takes_out)
        self.names = [p.name for p in self.signature.params[self.like : self.own]]
        self.spread = self.signature.positional == 1 + self.like and self.signature.params[self.like].sequence
        self.make, self.method, self.flat, self.warns = make, method, flat, warns
        self.known: dict[Any, tuple[Any, ...]] = {}  # what plain calls come to, by form

    def caller(self, same: bool, draw: Draw | None) -> Callable[..., Tensor]:
        """The public function; `same` says that all calls of one form come to the same, `draw` what else they do."""
        known, like, made = self.known, self.like, self.made
        plans, again = Plans(), same or draw is not None

        def call(*args: Any, **kwargs: Any) -> Tensor:
            form: Any = None
            tensors: list[Tensor] = []
            state = local.state
            if plans.era is not Defaults.era:
                plans.renew()
            if state.mode.plain:
                form = form_of_call((*args, *kwargs.items()) if kwargs else args, tensors)
                bound = known.get(form)
                if bound is not None and bound[0] is state.default_device:
                    result = made(*tensors, *bound[1])
                    if again and _is_small(result):
                        remember = functools.partial(plans.remember, public, args, kwargs)
                        _keep(remember, draw, dict(zip(self.names, bound[1])), result)
                    return result
            values = self.signature.at_once(args, kwargs) if local.state.mode.direct else None
            if values is None:
                if needs_dispatch(args, kwargs):
                    return dispatch(public, args, kwargs)
                if self.spread and len(args) > like and takes_item(self.signature.params[like], args[like]):
                    args = (*args[:like], tuple(args[like:]))
                values = self.signature.bind(args, kwargs, self.method)
            result = self.run(values)
            if form is not None and len(tensors) == like and (not like or _is_first(tensors[0], values[0])):
                self.remember(form, values)
            return result

        call.__name__ = self.name
        public = call
        if again:
            in_python = native is None
            public = plans.knowing(call) if in_python else accelerated(native.planned, call, False, draw is not None)
        return tell(public, self.name, [self.signature], self.method, self.takes_out, self.spread, self.make.__doc__)

    def made(self, *values: Any) -> Tensor:
        try:
            return self.make(*values)
        except (MemoryError, ValueError) as error:
            raise out_of_memory(error) from None

    def remember(self, form: Any, values: Sequence[Any]) -> None:
        """Keep what a plain call hands to the function, unless more is to be done with its result."""
        d, _, where, _, requires_grad, *out = values[self.own :]
        rare = requires_grad or out not in ([], [None]) or dt.complex32 in (d, self.like and values[0].dtype)
        if rare or self.laid(values, values[self.own + 1]) is not strided:
            return
        if len(self.known) >= _MOST:
            self.known.clear()
        arguments = *values[self.like : self.own], *self.options(values, d, where)
        self.known[form] = local.state.default_device, arguments

    def run(self, values: Sequence[Any]) -> Tensor:
        """The tensor that a bound call makes."""
        own = values[: self.own]
        d, laid, where, pinned, requires_grad, *out = values[self.own :]
        if out and out[0] is not None:
            return self.into(out[0], own, d, where)
        told = local.state.mode.seer
        if self.like and own[0]._backend.handed:
            told = own[0]._backend.real
        if told is not None:
            return told.factory(self, values)
        d, backend = self.options(own, d, where)
        if d is dt.complex32:
            tell_of_half_complex()
        pinned = pinned and backend.values  # else there is no memory to pin
        if pinned:
            refuse_pinned()
        laid = self.laid(own, laid)
        plain = laid is strided and not (self.name.endswith("_like") and own[0]._backend.layout in COMPRESSED)
        result = self.made(*own, d, backend) if plain else self.of_layout(laid, own, d, backend)
        if pinned:
            result = result.pin_memory()
        return result._require_grad(True) if requires_grad else result

    def laid(self, own: Sequence[Any], laid: Any) -> Any:
        """The layout that a call asks for; this makes no nested tensors, and the jagged one is none to it."""
        laid = laid or (own[0]._backend.layout if self.like else strided)
        return strided if laid is jagged else laid

    def of_layout(self, laid: Any, own: Sequence[Any], d: Any, backend: Backend) -> Tensor:
        """A tensor of a sparse layout, for those who know how to make one."""
        make = IN_LAYOUTS.get(self.name)
        if make is None:
            raise NotImplementedError(f"{self.name}(...) is not implemented for the layout {laid}")
        return make(laid, *own, d, backend)

    def options(self, own: Sequence[Any], d: Any, where: Any) -> tuple[Any, Any]:
        """The dtype (None where the function has its own) and the backend that a call asks for."""
        if not self.like:
            return d, get_backend(where or get_default_device())
        home = own[0]._backend
        return d or own[0].dtype, home.home if where in (None, home.device) else get_backend(where)

    def into(self, out: Tensor, own: Sequence[Any], d: Any, where: Any) -> Tensor:
        """The `out=` form."""
        if d not in (None, out.dtype):
            raise RuntimeError(f"dtype {d.legacy} does not match dtype of out parameter ({out.dtype.legacy})")
        if where not in (None, out.device):
            raise RuntimeError(f"device type {where} does not match device type of out parameter ({out.device})")
        if self.name not in _RESIZING:
            refuse_history(f"aten::{self.name}", out, ())
        result = self.made(*own, d or (own[0] if self.like else out).dtype, out._backend.home)
        if self.flat and out.numel() == result.numel():
            result = result.reshape(out.shape)
        elif self.warns and out.numel():
            warn(
                f"The number of elements in the out tensor of shape {list(out.shape)} is {out.numel()} which "
                f"does not match the computed number of elements {result.numel()}. Note that this may occur as "
                f"a result of rounding error. The out tensor will be resized to a tensor of shape "
                f"({result.numel()},)."
            )
        if self.name in _RESIZING:
            out.resize_(result.shape)
        elif out.shape != result.shape:
            if out._backend.lazy and out.numel():  # the copy that is filled is resized untold
                out_resized(out.shape, result.shape)
            out._resize_output_(result.shape, out.device)
        write_out(out, result, apart=self.name not in _FILLING)
        return out


def _is_small(result: Tensor) -> bool:
    """Whether a result can be copied rather than made: it is small and on the host, and copies lie as it does."""
    array = result._array
    return result._backend is get_backend(CPU) and array.nbytes <= _SMALL and array.copy().strides == array.strides


def _keep(remember: Callable[..., None], draw: Draw | None, given: dict[Any, Any], result: Tensor) -> None:
    """Let calls of this form copy what this one made, or draw as it did."""
    array, d, cpu = result._array, result.dtype, result._backend
    if draw is None and array.base is None:
        kept = array.copy()
        remember(_anew(kept.copy, d, cpu), (kept, d))
    elif draw is not None and given["generator"] is None and not d.is_complex:
        kernel, parameters, ready = draw
        numbers = [given.get(p, p) for p in parameters]
        stream: Any = default_generator(CPU).stream
        arguments = stream, array.shape, array.dtype, *numbers
        draw_anew = lambda: local.state.quiet(kernel, *arguments)
        if ready and d is dt.float32:
            draw_anew = stream.again(ready, array.shape, draw_anew)
        remember(_anew(draw_anew, d, cpu), kernel_alone(kernel, arguments, d, array.dtype, cpu))


def _anew(make: Callable[[], Any], d: dt.dtype, backend: Backend) -> Plan:
    """The plan that makes another array, while the same device is the default."""
    device, new = local.state.default_device, object.__new__

    def run(state: State, mode: Mode, tensors: Sequence[Tensor]) -> Any:
        if state.default_device is not device:
            return MISSED
        result = new(Tensor)
        result._array = make()
        result._dtype = d
        result._backend = backend
        result._edge = result._counter = result._grad = result._extra = None
        return result

    return run


def lifted(make: Callable[..., Tensor], data: Any, *options: Any) -> Tensor:
    """A tensor of values that are no tensor's: a mode sees no more of its making than that it is there."""
    told = local.state.mode.seer
    if told is None or isinstance(data, Tensor):
        return make(data, *options)
    return told.lifted(local.state.within(local.state.mode.but(kernels=None), make, data, *options))
