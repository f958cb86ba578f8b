"""`nn.factory_kwargs`."""

from __future__ import annotations

from typing import Any

_KNOWN = frozenset(("device", "dtype", "memory_format"))


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """What of a module's keyword arguments is for the functions that make its parameters.

    An entry "factory_kwargs" holds those that would be taken for arguments of the module.
    """
    given = {} if kwargs is None else {name: kwargs[name] for name in kwargs.keys()}  # noqa: SIM118  # of a mapping
    result = dict(given.pop("factory_kwargs", {}))
    if not given.keys() <= _KNOWN:
        raise TypeError(f"unexpected kwargs {given.keys() - _KNOWN}")
    for name in given.keys() & result.keys():
        raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
    return result | given
