"""Switches of libraries that PyTorch may be built with, as variables of modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def switches(module: dict[str, Any], **inside: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`set_flags` and `flags` of a module: what sets its variables, and what sets them for the time of a `with`.

    `inside` names the variables, and says how `flags` sets those that it is told nothing of.
    """

    def set_flags(*values: Any, **named: Any) -> tuple[Any, ...]:
        before = tuple(module[name] for name in inside)
        given = dict(zip(inside, values)) | {name.removeprefix("_"): value for name, value in named.items()}
        for name in given.keys() - inside.keys():
            raise TypeError(f"set_flags() got an unexpected keyword argument '_{name}'")
        module.update({name: value for name, value in given.items() if value is not None})
        return before

    @contextmanager
    def flags(*values: Any, **named: Any) -> Iterator[None]:
        for name in named.keys() - inside.keys():
            raise TypeError(f"flags() got an unexpected keyword argument '{name}'")
        before = set_flags(**(inside | dict(zip(inside, values)) | named))
        try:
            yield
        finally:
            module.update(zip(inside, before))

    return set_flags, flags
