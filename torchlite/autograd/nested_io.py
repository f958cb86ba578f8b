"""Walking through nested lists, tuples and dicts of tensors, as the oldest Functions take and return them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..core.machine import TensorBase


def _refused(obj: Any, accepted: str | None) -> ValueError:
    said = "" if accepted is None else f". Accepted types: {accepted}, or lists/tuples of them"
    return ValueError(f"Auto nesting doesn't know how to process an input object of type {type(obj).__name__}{said}")


def _nested_map(
    condition: Callable[[Any], bool], fn: Callable[[Any], Any], condition_msg: str | None = None
) -> Callable[[Any], Any]:
    """A function that applies `fn` to all items for which `condition` holds, and keeps their nesting."""

    def mapped(obj: Any) -> Any:
        if condition(obj):
            return fn(obj)
        if obj is None:
            return None
        if isinstance(obj, (list, tuple)):
            items = [mapped(item) for item in obj]
            return type(obj)(*items) if hasattr(obj, "_fields") else type(obj)(items)
        if isinstance(obj, dict):
            return {key: mapped(value) for key, value in obj.items()}
        raise _refused(obj, condition_msg)

    return mapped


def _iter_filter(
    condition: Callable[[Any], bool], allow_unknown: bool = False, condition_msg: str | None = None,
    conversion: Callable[[Any], Any] | None = None,
) -> Callable[[Any], Iterator[Any]]:  # fmt: skip
    """A function that yields all nested items for which `condition` holds; others too, where they are allowed."""

    def found(obj: Any) -> Iterator[Any]:
        if conversion is not None:
            obj = conversion(obj)
        if condition(obj):
            yield obj
        elif obj is None:
            return
        elif isinstance(obj, (list, tuple, dict)):
            for item in obj.values() if isinstance(obj, dict) else obj:
                yield from found(item)
        elif allow_unknown:
            yield obj
        else:
            raise _refused(obj, condition_msg)

    return found


def _unflatten(input: Any, proto: Any) -> Any:
    """The items of a flat sequence in the nesting of `proto`, whose None stay None."""
    items = iter(input)

    def filled(proto: Any) -> Any:
        if isinstance(proto, (list, tuple)):
            return type(proto)([filled(p) for p in proto])
        return None if proto is None else next(items)

    return filled(proto)


def _is_tensor(obj: Any) -> bool:
    return isinstance(obj, TensorBase)


_iter_tensors = _iter_filter(_is_tensor, condition_msg="Tensors")
_iter_tensors_permissive = _iter_filter(_is_tensor, allow_unknown=True, condition_msg="Tensors (permissive)")
_iter_None_tensors = _iter_filter(lambda x: x is None or _is_tensor(x), condition_msg="Tensors or None")
_map_tensor_data = _nested_map(_is_tensor, lambda t: t.data, condition_msg="Tensors")
