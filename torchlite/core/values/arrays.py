"""Types of what backends are made of, for annotations.

What arrays and namespaces must offer is in `docs/backends.md`. An array may be NumPy's, CuPy's, or made of tensors: a
protocol that allowed for the arithmetic of them all would tell a reader no more than the name does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from .device import device

Array: TypeAlias = Any  # what a backend computes with
Namespace: TypeAlias = Any  # functions on arrays, as the module `numpy` has them
DeviceLike: TypeAlias = device | str | int | None  # what names a device; None leaves it open

if TYPE_CHECKING:
    from ...backends.base import Backend as Backend
else:
    Backend = Any  # for annotations by name: backends stand above


_with_own: dict[Callable[..., Any], tuple[str, Callable[..., Any]]] = {}


def or_own(general: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel, `general(xp, …)`, in whose place a namespace may have a function of that name.

    That one is asked first, and gives NotImplemented for what it leaves to the general one.
    """
    name = general.__name__.lstrip("_")

    @functools.wraps(general)
    def call(xp: Namespace, *operands: Any) -> Any:
        own = xp.__dict__.get(name)  # for names it lacks, NumPy's `__getattr__` takes as long as a small kernel
        made = NotImplemented if own is None else own(*operands)
        return general(xp, *operands) if made is NotImplemented else made

    _with_own[call] = name, general
    return call


def for_namespace(kernel: Callable[..., Any], xp: Namespace) -> Callable[..., Any]:
    """A kernel over one namespace, which is asked here, once, whether it has a function in the kernel's place."""
    name, general = _with_own.get(kernel, (None, kernel))
    return kernel if name in xp.__dict__ else general
