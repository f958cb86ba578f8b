"""`torch.library`: operators of one's own, by a schema, a kernel for each device, and formulas for gradients.

They are found at `torch.ops.namespace.name`. Of what PyTorch's compiler asks of them, `register_fake` also says what an
operator gives for tensors on the meta device.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ._library.handlers import HANDLERS
from ._library.infer_schema import infer_schema
from ._library.schema import parse_schema
from ._ops import Namespace, Operator, OpOverloadPacket, operator
from .core.machine import tensors_in
from .core.state import local, silent
from .core.values.device import device as device_of

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl",
    "impl_abstract", "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake",
    "register_kernel", "register_torch_dispatch", "register_vmap", "triton_op", "wrap_triton",
]  # fmt: skip


class CustomOpDef:
    """An operator made of a Python function by `custom_op`."""

    def __init__(self, name: str, fn: Callable[..., Any], schema: str, tags: Any = ()) -> None:
        self._namespace, self._name = name.split("::")
        self._qualname, self._init_fn = name, fn
        self._opoverload = Operator(parse_schema(name + schema), _listed(tags))
        self._opoverload.recorded, self._opoverload.checked = True, fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None) -> Any:
        return register_kernel(self, device_types, fn)

    def register_fake(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return register_fake(self, fn)

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Any = None) -> None:
        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        return register_vmap(self, func)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> Any:
        return register_autocast(self, device_type, cast_inputs)

    def register_torch_dispatch(self, torch_dispatch_class: type, fn: Callable[..., Any] | None = None, /) -> Any:
        return register_torch_dispatch(self, torch_dispatch_class, fn)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Inside, whether the kernel of a type of device is used, or the function that the operator was made of."""
        kernels = self._opoverload.kernels
        outer = dict(kernels)
        if not enabled:
            kernels[device_type] = self._init_fn
        try:
            yield
        finally:
            kernels.clear()
            kernels.update(outer)


def custom_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None, schema: str | None = None, tags: Sequence[Any] | None = None,
) -> Any:  # fmt: skip
    """Make an operator of a function of tensors."""

    def made(fn: Callable[..., Any]) -> CustomOpDef:
        told = infer_schema(fn, mutates_args=mutates_args) if schema is None else schema
        custom = CustomOpDef(name, fn, told, tags)
        writes = {a.name for a in custom._opoverload._schema.arguments if a.is_write}
        if schema is not None and writes != set(mutates_args):
            custom._opoverload.forget()
            raise ValueError(
                f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. The schema "
                f"suggests that the op mutates {writes}which is different from what was provided to us in "
                "`mutates_args`. Please make these consistent."
            )
        custom.register_kernel(device_types, fn)
        return custom

    return made if fn is None else made(fn)


def _found(asked: str, op: Any) -> Operator:
    """The operator that one of these functions is asked about."""
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverloadPacket):
        return op.default
    if not isinstance(op, str | Operator):
        raise ValueError(f"{asked}({op}): got unexpected type for op: {type(op)}")
    return operator(op) if isinstance(op, str) else op


def register_kernel(
    op: Any, device_types: str | Sequence[str] | None, func: Callable[..., Any] | None = None, /, *, lib: Any = None
) -> Any:
    """What computes an operator on devices of these types; None: on those that have no kernel of their own."""
    found = _found("register_kernel", op)
    names = [device_types] if isinstance(device_types, str) else device_types or [""]
    everywhere = ("",) if isinstance(op, CustomOpDef) else ("", "default")
    places = ["" if n in everywhere or n.startswith("Composite") else device_of(n).type for n in names]

    def registered(func: Callable[..., Any]) -> Callable[..., Any]:
        found.kernels.update(dict.fromkeys(places, func))
        return func

    return registered if func is None else registered(func)


def register_fake(
    op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None, _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:  # fmt: skip
    """Register the results of an operator on tensors without data."""
    found = _found("register_fake", op)

    def registered(func: Callable[..., Any]) -> Callable[..., Any]:
        found.kernels["meta"] = func
        return func

    return registered if func is None else registered(func)


def impl_abstract(qualname: Any, func: Any = None, *, lib: Any = None, _stacklevel: int = 1) -> Any:
    """The first name of `register_fake`."""
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, lib: Any = None
) -> None:
    """How gradients go back through an operator: `backward(ctx, *grads)` gives one for each argument."""
    found = _found("register_autograd", op)
    if found._schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {op} with schema {found._schema}. Please "
            "create a functional operator and register an autograd formula for that."
        )
    found.backward, found.setup_context, found.recorded = backward, setup_context, True


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """How an operator runs on a batch: `func(info, in_dims, *args)` gives the results and where their batch is."""
    found = _found("register_vmap", op)

    def registered(func: Callable[..., Any]) -> None:
        found.map = func

    return registered if func is None else registered(func)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> Any:
    """To which dtype autocast brings an operator's floating point operands on a type of device."""
    if device_type not in ("cpu", "cuda"):
        raise ValueError(f"Unknown device type: {device_type}")
    _found("register_autocast", op).casts[device_type] = cast_inputs


class _SafeKernelFunction:
    """What computes an operator on a type of device, below autograd and modes."""

    def __init__(self, op: Any, place: str) -> None:
        self._op = op
        self._place = place

    def __repr__(self) -> str:
        return f"SafeKernelFunction(debug='{self._op} on {self._place}')"

    def call_boxed(self, keyset: Any, *args: Any, **kwargs: Any) -> Any:
        """The results for tensors of that device."""
        found = next((t.device.type for t in tensors_in(args) if t.device.type != self._place), self._place)
        if found != self._place:
            raise RuntimeError(f"{self!r} is given a tensor on {found}")
        state = local.state
        return state.within(silent(state.mode), self._op, *args, **kwargs)


def register_torch_dispatch(
    op: Any, torch_dispatch_class: type, func: Callable[..., Any] | None = None, /, *, lib: Any = None
) -> Any:
    """Say what an operator does where a class with a `__torch_dispatch__` would be asked: one of tensors, or of modes.

    `func(cls_or_mode, overload, types, args, kwargs)` is called in the place of the class's handler.
    """
    if func is None:
        return lambda f: register_torch_dispatch(op, torch_dispatch_class, f, lib=lib)
    overload = _of_any(op) if isinstance(op, str) else op._opoverload if isinstance(op, CustomOpDef) else op
    key = overload, torch_dispatch_class
    HANDLERS[key] = func
    if lib is not None:
        lib._undo.append(functools.partial(HANDLERS.pop, key, None))
    return func


def get_kernel(op: Any, dispatch_key: Any) -> _SafeKernelFunction:
    """What computes an operator on a type of device: its `call_boxed(keyset, *args)` may be used in another kernel."""
    name = dispatch_key if isinstance(dispatch_key, str) else dispatch_key.name
    if name not in ("CPU", "CUDA", "Meta"):
        raise ValueError(f"Invalid dispatch key: {name}")
    if isinstance(op, str):
        return _SafeKernelFunction(_of_any(op), name.lower())
    return _SafeKernelFunction(op._opoverload if isinstance(op, CustomOpDef) else op, name.lower())


def _of_any(qualname: str) -> Any:
    """An operator of a program's, or of torch."""
    name, _, overload = qualname.partition(".")
    if not name.startswith("aten::"):
        return operator(qualname)
    try:
        return getattr(getattr(Namespace("aten"), name.removeprefix("aten::")), overload or "default")
    except AttributeError:
        raise RuntimeError(f"operator {qualname} does not exist") from None


def triton_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any, schema: str | None = None
) -> Any:
    """An operator that runs kernels of Triton: as `custom_op`, since nothing looks into it."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """A kernel of Triton, which runs as it is."""
    if not type(triton_kernel).__module__.startswith("triton."):
        raise RuntimeError("wrap_triton only works on functions annotated with triton.jit or triton.autotune")
    return triton_kernel


# ---- libraries

_RESERVED = ("prim",)
_whole: dict[str, weakref.ref[Library]] = {}  # the library that defines a namespace


class Library:
    """The definitions ("DEF", "FRAGMENT") or kernels ("IMPL") that a program adds to a namespace while it lives."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED:
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._undo: list[Callable[[], Any]] = []
        if kind == "DEF":
            other = _whole.get(ns)
            if other is not None and other() is not None:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your "
                    "definitions in a single TORCH_LIBRARY block.  If you were trying to specify implementations, "
                    "consider using TORCH_LIBRARY_IMPL (which can be duplicated)."
                )
            _whole[ns] = weakref.ref(self)
        self._finalizer = weakref.finalize(self, _undone, self._undo)
        self._finalizer.atexit = False

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declare an operator: `name(Tensor x) -> Tensor`. Returns its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        told = parse_schema(schema)
        given, _, name = told.name.rpartition("::")
        if self.kind == "IMPL":
            raise RuntimeError(
                f'def("{name}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.  All def()s should be '
                "placed in the (unique) TORCH_LIBRARY block for their namespace."
            )
        if given not in ("", self.ns):
            raise RuntimeError(
                f"Explicitly provided namespace ({given}) in schema string does not match namespace of enclosing "
                f"TORCH_LIBRARY_FRAGMENT block ({self.ns}).  Move this definition to the (unique) TORCH_LIBRARY block "
                "corresponding to this namespace (and consider deleting the namespace from your schema string.)"
            )
        told.name = f"{self.ns}::{name}"
        _refuse_twice(told)
        self._undo.append(Operator(told, _listed(tags)).forget)
        return name

    def impl(
        self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:  # fmt: skip
        """What computes an operator for a dispatch key: a device, or all of them."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        name = op_name if isinstance(op_name, str) else op_name.name()
        found = operator(f"{self.ns}::{name.rpartition('::')[2]}")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        slot = {"CompositeImplicitAutograd": "whole"}.get(key, "above" if key.startswith("Autograd") else "")
        if slot:
            before = getattr(found, slot)
            setattr(found, slot, fn)
            self._undo.append(lambda: setattr(found, slot, before))
            return
        if key.startswith("Autocast"):
            device = key.removeprefix("Autocast").lower()
            found.casts[device] = fn
            self._undo.append(lambda: found.casts.pop(device, None))
            return
        place = "" if key == "CompositeExplicitAutograd" else key.lower()
        if place not in ("", "cpu", "cuda", "meta", "xpu", "mps", "privateuse1"):
            raise RuntimeError(f"could not parse dispatch key: {key}")
        found.kernels[place] = fn
        self._undo.append(lambda: found.kernels.pop(place, None))

    def _destroy(self) -> None:
        """Take back all that was added."""
        self._finalizer()


def _undone(steps: list[Callable[[], Any]]) -> None:
    while steps:
        steps.pop()()


def _refuse_twice(schema: Any) -> None:
    try:
        operator(f"{schema.name}.{schema.overload_name or 'default'}")
    except (RuntimeError, AttributeError):
        return
    raise RuntimeError(
        f"Tried to register an operator ({schema}) with the same name and overload name multiple times. Each "
        "overload's schema should only be registered with a single call to def()."
    )


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A library that ends with the `with`."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def _listed(tags: Any) -> Sequence[Any]:
    return list(tags) if isinstance(tags, list | tuple) else [tags] if tags else []


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()) -> None:
    """Declare the operator `namespace::name` with a schema `(Tensor x) -> Tensor`."""
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    if "::" not in qualname:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
            "torch.library APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    if not schema.startswith("("):
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
            f'"{schema}"'
        )
    if lib is not None:
        lib.define(qualname.rpartition("::")[2] + schema, tags=tags)
        return
    told = parse_schema(qualname + schema)
    _refuse_twice(told)
    Operator(told, _listed(tags))


def impl(qualname: str, types: str | Sequence[str], func: Callable[..., Any] | None = None, *, lib: Any = None) -> Any:
    """What computes an operator on devices of these types, or by "default"."""
    names = [types] if isinstance(types, str) else types
    registered = register_kernel(qualname, None if "default" in names else names)
    if func is None:
        return registered
    registered(func)
    return None


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = (
        "test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic",
    ),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Whether an operator, called like this, does what is said of it: what its schema tells, and its other kernels.

    Whether its gradients are right, `torch.autograd.gradcheck` says.
    """
    from ._library.opcheck import checked

    found = op._opoverload if isinstance(op, CustomOpDef) else op.default if isinstance(op, OpOverloadPacket) else op
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    return checked(found, args, kwargs or {}, names, raise_exception, atol=atol, rtol=rtol)


def get_ctx() -> Any:
    """What a fake kernel is asked for sizes that depend on data, of which the meta device has none."""
    raise RuntimeError("torchlite makes no tensors whose sizes depend on data it has not: run the operator on a device")


def fallthrough_kernel() -> None:
    """A kernel that leaves the call to the next one."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")
