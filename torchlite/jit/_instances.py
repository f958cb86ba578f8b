"""Whether values are of the types that TorchScript knows, with all that is in them."""

from __future__ import annotations

import builtins
from types import UnionType
from typing import Any, Dict, List, Optional, Tuple, Union, get_args, get_origin  # noqa: UP035 (as programs name them)

from ..core.values.errors import warn

__all__ = ["isinstance"]

_MAPS = (dict, Dict)  # noqa: UP006
_BARE = (list, List, tuple, Tuple, *_MAPS, Optional)  # noqa: UP006


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value is of a type, or one of several: what lists, tuples and dictionaries contain is looked at."""
    if builtins.isinstance(target_type, list):
        raise RuntimeError("The second argument to `torch.jit.isinstance` must be a type or a tuple of types")
    kinds = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return any(_is_of(obj, kind) for kind in kinds)


def _is_of(value: Any, kind: Any) -> bool:
    if kind in _BARE:
        raise _bare(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is None:
        return builtins.isinstance(value, kind)
    if origin in (Union, UnionType):
        return any(_is_of(value, one) for one in inner)
    if origin not in (list, tuple, dict) or not builtins.isinstance(value, origin):
        return False
    if not value:
        warn(
            "The inner type of a container is lost when calling torch.jit.isinstance in eager mode. For example, "
            "List[int] would become list and therefore falsely return True for List[float] or List[str]."
        )
    if origin is tuple:
        return len(value) == len(inner) and all(map(_is_of, value, inner))
    if origin is dict:
        return all(_is_of(key, inner[0]) and _is_of(held, inner[1]) for key, held in value.items())
    return all(_is_of(held, inner[0]) for held in value)


def _bare(kind: Any) -> RuntimeError:
    name = kind.__name__
    wanted, example = ("contained type", "int, int") if kind in _MAPS else ("a contained type", "int")
    return RuntimeError(
        f"Attempted to use {name} without {wanted}{'s' * (kind in _MAPS)}. Please add {wanted}, e.g. {name}[{example}]"
    )
