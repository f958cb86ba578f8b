"""Errors and warnings that more than one room raises, in PyTorch's words."""

from __future__ import annotations

import functools
import math
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from types import FrameType

    from .device import device
    from .dtype import dtype

F = TypeVar("F", bound="Callable[..., Any]")


def type_name(value: Any) -> str:
    """The name of a type as C code knows it: types made outside Python, such as PyTorch's dtype, carry their module."""
    cls = type(value)
    made_in_python = cls.__flags__ & (1 << 9)
    short = cls.__module__ == "builtins" or (made_in_python and (cls.__module__ != "torch" or cls.__name__ == "Tensor"))
    return cls.__name__ if short else f"{cls.__module__}.{cls.__name__}"


class Told:
    """An exception of any arguments, which says so: `inspect` knows no signature of Python's own."""

    __slots__ = ()

    def __init__(self, *args: object) -> None:
        super().__init__(*args)


def rather(check: Callable[..., Any], *args: Any) -> None:
    """Where an exception is being handled: raise what `check(*args)` raises, if it does, in its place."""
    try:
        check(*args)
    except (IndexError, RuntimeError) as error:
        raise error from None


said_once: set[str] = set()
warn_always = False  # whether what is said once is said each time


def warn_once(message: str, about: str = "") -> None:
    """Warn the first time only; of what is said in several ways, once in any."""
    said = about or message
    if _ears.deaf:
        warn(message)  # which takes note that it was not heard
    elif warn_always or said not in said_once:
        said_once.add(said)
        warn(message)


def tell_of_half_complex() -> None:
    """Warn when the first tensor of complex32 is made."""
    warn_once("ComplexHalf support is experimental and many operators don't support it yet.")


def tell_of_lost_part() -> None:
    """Warn when complex numbers are first cast to real ones."""
    warn_once("Casting complex values to real discards the imaginary part")


def missing_kernel(op: str, where: device) -> NotImplementedError:
    return NotImplementedError(f"torchlite has no kernel for '{op}' on device '{where}'")


def key_of(backend: Any) -> str:
    """The dispatch key by which PyTorch speaks of a kind of tensor: of its layout and its device."""
    where = backend.device.type
    return getattr(backend, "kind", "") + (where.capitalize() if where == "meta" else where.upper())


def missing_kernel_of(op: str, backend: Any, library: str = "aten") -> NotImplementedError:
    """What PyTorch says of an op, with its overload, that a kind of tensor has not: by the name of its dispatch key."""
    return NotImplementedError(
        f"Could not run '{library}::{op}' with arguments from the '{key_of(backend)}' backend. This could be because "
        "the operator doesn't exist for this backend, or was omitted during the selective/custom build process (if "
        "using custom build). If you are a Facebook employee using PyTorch on mobile, please visit "
        "https://fburl.com/ptmfixes for possible resolutions."
    )


def not_implemented_for(op: str, d: dtype) -> NotImplementedError:
    return NotImplementedError(f"\"{op}\" not implemented for '{d.legacy}'")


_LONG_AGO = ("Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double")


def type_text(d: dtype, where: device) -> str:
    """The type of tensors that errors name for a dtype and device: `CPUFloatType` and its kin."""
    if d.legacy in _LONG_AGO and where.type in ("cpu", "cuda"):
        return f"torch.{'cuda.' * (where.type == 'cuda')}{d.legacy}Tensor"
    return f"{'Meta' if where.type == 'meta' else where.type.upper()}{d.legacy}Type"


def cannot_cast(from_: dtype, to: dtype) -> RuntimeError:
    return RuntimeError(f"result type {from_.legacy} can't be cast to the desired output type {to.legacy}")


def different_devices(a: device, b: device) -> RuntimeError:
    if "meta" in (a.type, b.type):
        return RuntimeError(f"Tensor on device {b} is not on the expected device {a}!")
    return RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {a} and {b}!")


def no_room(shape: Sequence[int], itemsize: int) -> RuntimeError:
    """The error for an array that memory, counting in 64 bits, or the number of dimensions, has no room for."""
    if len(shape) > 64:
        return RuntimeError("only tensors with up to 64 dims are supported")
    if math.prod([max(n, 1) for n in shape]) * itemsize >= 1 << 63:
        return RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
        f"allocate {math.prod(shape) * itemsize} bytes. Error code 12 (Cannot allocate memory)"
    )


_BEYOND_64_BITS = ("array is too big", "Maximum allowed dimension exceeded", "iterator is too large")


def out_of_memory(error: Any) -> Exception:
    """In place of NumPy's error, which knows the array that there was no room for, PyTorch's; of others, themselves."""
    if isinstance(error, ValueError) and str(error).startswith(_BEYOND_64_BITS):
        return RuntimeError("numel: integer multiplication overflow")
    shape = getattr(error, "shape", None)
    return error if shape is None else no_room(shape, error.dtype.itemsize)


def too_long(value: int) -> OverflowError:
    """The error for a number that is no operand, as 64 bits do not hold it."""
    return OverflowError("can't convert negative int to unsigned" if value < 0 else "int too big to convert")


def freed() -> RuntimeError:
    """The error of a second backward through a graph that was freed."""
    return RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
        "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
        "saved tensors after calling backward."
    )


class _Ears(threading.local):
    deaf = False
    missed = False  # whether something would have been said since


_ears = _Ears()


def unheard(f: Callable[[], Any]) -> Any:
    """What `f` gives, of whose warnings nobody is told: they have been said before."""
    before = _ears.deaf, _ears.missed
    try:
        try:
            _ears.deaf, _ears.missed = True, False
            return f()
        finally:
            _ears.deaf, _ears.missed = before
    finally:  # where an interrupt came at the line above
        _ears.deaf, _ears.missed = before


def missed() -> bool:
    """Whether what `unheard` runs has warned so far, or read a number that a tensor holds."""
    return _ears.missed


def miss() -> None:
    """Tell `unheard` that what it runs is not the same in each call."""
    _ears.missed = _ears.deaf


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """A warning at the line of the user's that led here."""
    if _ears.deaf:
        miss()
        return
    level = 2
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (frame.f_globals.get("__package__") or "").partition(".")[0] == "torchlite":
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def leaving(f: F, text: str, name: str = "") -> F:
    """A function, perhaps by another name, that says at each call that it is on its way out."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        warn(text, FutureWarning)
        return f(*args, **kwargs)

    call.__name__ = name or call.__name__
    return call  # type: ignore[return-value]


def out_resized(had: Any, needs: Any) -> None:
    warn(
        "An output with one or more elements was resized since it had shape "
        f"{list(had)}, which does not match the required output shape {list(needs)}. This behavior is deprecated, and "
        "in a future PyTorch release outputs will not be resized unless they have zero elements. You can explicitly "
        "reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0)."
    )


def forward_not_implemented(name: str, in_place: bool = False) -> NotImplementedError:
    """The error for an op without a forward derivative."""
    more = "." if in_place else " or submit a PR adding the implementation to derivatives.yaml"
    return NotImplementedError(
        f"Trying to use forward AD with {name}{'_' * in_place} that does not support it because it has not been "
        "implemented yet.\nPlease file an issue to PyTorch at "
        "https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we can prioritize its "
        f"implementation{more}"
    )


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape, right-aligned; RuntimeError naming the first dimension that differs."""
    result: list[int] = []
    for shape in shapes:
        result[:0] = [1] * (len(shape) - len(result))
        for back in range(1, len(shape) + 1):
            size, have = shape[-back], result[-back]
            if size != have and size != 1:
                if have != 1:
                    raise RuntimeError(
                        f"The size of tensor a ({have}) must match the size of tensor b ({size}) at non-singleton "
                        f"dimension {len(result) - back}"
                    )
                result[-back] = size
    return tuple(result)


def expands(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether an array of this shape broadcasts to `to`."""
    return len(shape) <= len(to) and all(a in (b, 1) for a, b in zip(reversed(shape), reversed(to)))


def within(shape: tuple[int, ...], other: tuple[int, ...]) -> None:
    """Refuse what does not broadcast to a shape that is to be written to."""
    if shape != other and (wide := broadcast_shapes(shape, other)) != tuple(shape):
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(wide)}")


def wrap_dim(dim: int, ndim: int) -> int:
    """A dimension counted from the front; IndexError when there is none such (0-dim tensors count as 1-dim)."""
    n = ndim or 1
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim + n if dim < 0 else dim


def wrap_dims(dims: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """Several dimensions, each at most once."""
    if len(dims) == 1:
        return (wrap_dim(dims[0], ndim),)
    wrapped = tuple([wrap_dim(d, ndim) for d in dims])
    if len(set(wrapped)) != len(wrapped):
        twice = next(d for i, d in enumerate(wrapped) if d in wrapped[:i])
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return wrapped
