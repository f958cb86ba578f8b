"""A function of its own result, as long as another says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["while_loop"]


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]) -> Any:
    """What `body_fn` makes of `carried_inputs`, and again of its results, as long as `cond_fn` of them holds.

    Example::

        >>> while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(2)))
        (tensor(3), tensor([8., 8.]))
    """
    if not (callable(cond_fn) and callable(body_fn)):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    result: Any = tuple(carried_inputs)
    carried = result
    while cond_fn(*carried):
        result = body_fn(*carried)
        carried = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    return result
