"""Tensors of classes that take operations over: those with a `__torch_dispatch__`.

Such a tensor holds as its array an `Instance`: its class, its attributes, and the form it shows; and as its backend a
*handed* one, a twin of the device's. Handed backends are a level between the devices and the transforms, as lazy and
sparse ones are: an op on such tensors is handed to their classes as an overload of `torch.ops`, below autograd, and
recorded on the tensors themselves.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .._ops import overload_of
from ..backends.base import Backend, get_backend
from ..backends.meta.array import Memory, MetaArray
from ..core.declare import Signature
from ..core.machine import Tensor, TensorBase, as_class, bump, wrap
from ..core.machine.overrides import overrides
from ..core.machine.subclasses import dispatches
from ..core.state import Seer, handling, local
from ..core.values import Array, channels_last_strides, contiguous_format, contiguous_strides, dt, get_default_device
from ..core.values.cached import cached
from .dispatched import factory_call, given_to, out_call, overload_named, parts_of, seen
from .handlers import handler_for


class Instance:
    """The array of a tensor whose class takes operations over. Aliases share it, and so are instances too."""

    __slots__ = ("attributes", "cls", "form", "keeper", "origin")

    def __init__(self, tensor: Tensor, form: Array) -> None:
        self.cls = type(tensor)
        self.form = form  # what it shows of shape and strides; its memory, where it has some of its own
        self.attributes = tensor.__dict__
        self.origin = weakref.ref(tensor)
        self.keeper = tensor if _slots(self.cls) else None  # what is in slots is only there

    def __getattr__(self, name: str) -> Any:
        return getattr(self.form, name)


@cached
def _slots(cls: type) -> tuple[str, ...]:
    """The names of the slots that a subclass adds to a tensor's."""
    added = cls.__mro__[: cls.__mro__.index(Tensor)]
    named = [vars(c).get("__slots__", ()) for c in added]
    slots = [name for names in named for name in ((names,) if isinstance(names, str) else names)]
    return tuple([name for name in slots if name not in ("__dict__", "__weakref__")])


def restored(value: Any) -> Any:
    """An argument with aliases of instances as instances of their class."""
    if value.__class__ is tuple or value.__class__ is list:
        return type(value)([restored(v) for v in value])
    if not isinstance(value, TensorBase) or value._array.__class__ is not Instance:
        return value
    array = value._array
    if isinstance(value, array.cls):
        return value
    made = object.__new__(array.cls)
    for part in ("_array", "dtype", "_backend", "_edge", "_counter", "_grad", "_extra"):
        vars(TensorBase.__mro__[1])[part].__set__(made, getattr(value, part))
    origin = array.origin()
    made.__dict__ = array.attributes if origin is None else origin.__dict__
    for slot in _slots(array.cls):
        if hasattr(array.keeper, slot):
            setattr(made, slot, getattr(array.keeper, slot))
    return made


def become_instance(made: Tensor) -> None:
    """Let a tensor of a class that takes operations over be handed to it."""
    real = made._backend.real
    array = made._array.form if made._array.__class__ is Instance else made._array
    made._array = Instance(made, array)
    real = real if isinstance(real, Handed) else _twin(real)
    made._backend = real.guarded if overrides(type(made)) else real


def become_plain(made: Tensor) -> None:
    """Let an instance's memory, if it has some, be that of a tensor of a class that takes nothing over."""
    array = made._array
    if array.form.__class__ is not MetaArray or made._backend.device.type == "meta":
        made._array, made._backend = array.form, made._backend.real.below


def run_plainly(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Make a call on the memory that instances have of their own; what is given back of them are they themselves."""
    given: dict[int, tuple[Tensor, Tensor]] = {}

    def plain(value: Any) -> Any:
        if value.__class__ in (tuple, list):
            return type(value)([plain(v) for v in value])
        if not isinstance(value, TensorBase) or not value._backend.handed:
            return value
        made = value._alias()
        become_plain(made)
        if made._backend.handed:  # without memory: its form can be worked with
            made._backend, made._array = value._backend.real.behind(value._array)
        given[id(made)] = made, value
        return made

    result = func(*plain(tuple(args)), **{name: plain(v) for name, v in kwargs.items()})
    return given[id(result)][1] if id(result) in given else result


def show_memory_of(source: Tensor, t: Any) -> None:
    """Let an instance without memory share what memory another is imagined to have."""
    forms = [v._array.form for v in (source, t) if isinstance(v, Tensor) and v._array.__class__ is Instance]
    if len(forms) == 2 and all(form.__class__ is MetaArray for form in forms):
        forms[1].memory = forms[0].memory


def take_form_of(source: Tensor, t: Tensor) -> None:
    """Let an instance without memory have the form of another: its own was changed in place."""
    if t._array.__class__ is Instance and source._array.__class__ is Instance:
        t._array.form = source._array.form


# ---- who is asked


def _takers(values: Sequence[Any]) -> list[Any]:
    """One tensor of each class that takes operations over, subclasses before their bases, else from left to right."""
    found: list[Any] = []
    for value in values:
        for t in value if value.__class__ is tuple or value.__class__ is list else (value,):
            if isinstance(t, TensorBase) and t._array.__class__ is Instance and type(t) not in map(type, found):
                at = next((i for i, f in enumerate(found) if issubclass(type(t), type(f))), len(found))
                found.insert(at, t)
    return found


def types_among(args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[type, ...]:
    """The classes among the arguments of a call that take operations over."""
    return tuple(map(type, _takers((*args, *kwargs.values()))))


def call_classes(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of the first class whose `__torch_dispatch__` does not decline a call."""
    state = local.state
    takers = _takers((*args, *kwargs.values()))
    types = tuple(map(type, takers))
    mode = handling(state.mode, state.mode.kernels)
    for taker in takers:
        handler = handler_for(func, taker) or taker.__torch_dispatch__
        result = state.within(mode, handler, func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise declined(func, [], types)


def declined(func: Callable[..., Any], modes: Sequence[Any], types: Sequence[type]) -> TypeError:
    """The error where nobody wanted a call."""
    asked = [*[f"mode object {mode!r}" for mode in modes], *[f"tensor subclass {t!r}" for t in types]]
    return TypeError(
        f"Multiple dispatch failed for 'torch._ops.{func}'; "
        "all __torch_dispatch__ handlers returned NotImplemented:\n\n"
        + "".join([f"  - {who}\n" for who in asked])
        + "\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


class Unasked(Seer):
    """What runs operations where neither modes nor classes are asked: they do it themselves."""

    def __call__(self, op: Any, values: Sequence[Any], compute: Callable[[], Any] | None = None) -> Any:
        assert compute is not None  # it is asked for kernels alone
        return compute()


def hand_over(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Make a call of an overload that instances are among the arguments of: modes are asked first."""
    args, kwargs = restored(tuple(args)), {name: restored(value) for name, value in kwargs.items()}
    mode = local.state.mode
    if mode.kernels.__class__ is Unasked:
        return run_plainly(func, args, kwargs)
    seer: Any = mode.seer  # a dispatch mode, where there is one
    return call_classes(func, args, kwargs) if seer is None else seer.call(func, args, kwargs)  # type: ignore[arg-type]


# ---- the level


class Handed(Backend):
    """What the backend of such tensors does otherwise than the device's."""

    strided = bare = shows = False
    hand_over = staticmethod(hand_over)
    handed = True
    level = 4
    below: Backend  # the backend that the tensors would have otherwise

    def run(self, op: Any, values: Sequence[Any]) -> Any:
        """The results of an op as its operands' classes make them, with the history and tangents it has on tensors."""
        parts = parts_of(op, values)
        if parts is not None:
            return parts()
        state = local.state
        name, overload, args, kwargs = seen(op, values)
        made = hand_over(overload_of(op, name, overload), args, kwargs)
        several = isinstance(made, (tuple, list))
        results = tuple([_apart(r, values) for r in made]) if several else _apart(made, values)
        if op.recorded and state.mode.records:
            op.remember(values, results if several else (results,))
        return results

    def overwrite(self, op: Any, self_: Tensor, before: Tensor, values: Sequence[Any]) -> None:
        """The in-place form of an op."""
        name, overload, args, kwargs = seen(op, (self_, *values[1:]))
        hand_over(overload_named(f"{name}_", overload), args, kwargs)
        bump(self_)

    def together(self, name: str, overload: str, signature: Any, values: Sequence[Any]) -> Any:
        """A function that is one call, though no operation."""
        return hand_over(overload_named(name, overload), *given_to(signature, values))

    def out(self, op: Any, out: Any, values: Sequence[Any]) -> None:
        """The form of an operation that writes to a tensor given."""
        func, args, kwargs = out_call(op, values)
        hand_over(func, args, {**kwargs, "out": out})
        bump(out)

    def factory(self, factory: Any, values: Sequence[Any]) -> Any:
        """The call of a function that makes a tensor like one of these."""
        name, overload, args, kwargs = factory_call(factory, values)
        made = hand_over(overload_named(name, overload), args, kwargs)
        return made.requires_grad_() if values[factory.own + 4] else made

    def adopt(self, t: Tensor) -> None:
        """A tensor stays what it is when an instance is written to it."""

    def lift(self, t: Tensor) -> Any:
        return t._array

    def number_of(self, t: Tensor) -> Any:
        """The value of a tensor of one element."""
        return hand_over(overload_named("_local_scalar_dense", "default"), (t,), {})

    def number(self, array: Instance) -> Any:
        return self.home.asarray(self.number_of(wrap(array, dt.of_numpy(array.dtype), self))).reshape(())

    def truth(self, array: Instance) -> bool:
        return bool(self.number_of(wrap(array, dt.of_numpy(array.dtype), self)))

    def copy(self, array: Instance, order: str = "K") -> Any:
        return restored(wrap(array, dt.of_numpy(array.dtype), self)).clone()._array

    def strides(self, array: Instance) -> tuple[int, ...]:
        form = array.form  # whose strides are meant, without elements too, where it is imagined
        imagined = form.__class__ is MetaArray
        return tuple([s // form.itemsize for s in form.strides]) if imagined else self.below.strides(form)

    def offset(self, array: Instance) -> int:
        form = array.form
        return form.offset // form.itemsize if form.__class__ is MetaArray else self.below.offset(form)

    def pointer(self, array: Instance) -> int:
        return 0 if array.form.__class__ is MetaArray else self.below.pointer(array.form)

    def behind(self, array: Instance) -> tuple[Backend, Any]:
        """The backend and the array of the memory that there is, or that is imagined."""
        return get_backend("meta") if array.form.__class__ is MetaArray else self.below, array.form

    def read(self, array: Instance) -> Any:
        if array.form.__class__ is not MetaArray:
            return self.below.read(array.form)
        raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {array.cls.__name__}")

    def to_host(self, array: Instance) -> Any:
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")


def _apart(made: Any, values: Sequence[Any]) -> Any:
    """A result that can be given a history: another handle on a tensor that has one, or that is an operand."""
    if not isinstance(made, TensorBase):
        return made
    if made._edge is None and all(made is not v for v in values):
        return made
    alias = wrap(made._array, made.dtype, made._backend.real)
    return restored(alias)


def _twin(below: Backend) -> Any:
    found = below.twins.get("handed")
    if found is None:
        found = copy.copy(below)
        found.__class__ = _handed(type(below))
        found.__dict__.pop("guarded", None)
        found.real, found.below, found.Array = found, below, Instance  # type: ignore[attr-defined]
        below.twins["handed"] = found
    return found


@cached
def _handed(kind: type[Backend]) -> type[Backend]:
    return type(f"Handed{kind.__name__}", (Handed, kind), {})


# ---- how they are made


_WRAPPER = Signature(
    "_make_wrapper_subclass(any cls, int[] size, *, int[]? strides=None, int? storage_offset=None, "
    "MemoryFormat? memory_format=None, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool pin_memory=False, bool requires_grad=False, any dispatch_sizes_strides_policy=None, "
    "bool dispatch_device=False, bool dispatch_layout=False, any _extra_dispatch_keys=None, any storage_size=None)"
)


def make_wrapper(*args: Any, **kwargs: Any) -> Tensor:
    """A tensor of a class that says what operations do: it has a form, and no memory."""
    cls, size, strides, offset, laid, d, _, where, _, requires_grad, *_ = _WRAPPER.bind(args, kwargs)
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if cls is Tensor or not dispatches(cls):
        raise RuntimeError(f"{cls.__name__} must define __torch_dispatch__")
    home = get_backend(where or get_default_device()).home
    d, size = d or dt.get_default_dtype(), tuple(size)
    if strides is None:
        channels_last = laid is not None and laid is not contiguous_format
        strides = channels_last_strides(size) if channels_last else contiguous_strides(size)
    item = d.numpy.itemsize
    memory = Memory(item * (1 + sum([(n - 1) * s for n, s in zip(size, strides, strict=True)])))
    form = MetaArray(size, d.numpy, tuple([s * item for s in strides]), (offset or 0) * item, memory)
    made = as_class(wrap(form, d, home), cls)
    return made._require_grad(True) if requires_grad else made
