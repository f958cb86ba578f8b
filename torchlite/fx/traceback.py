"""What nodes that are made now are told of where they come from."""

from __future__ import annotations

import contextlib
import copy
import functools
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from ..core.state import HoldingItems
from .node import Node

__all__ = [
    "annotate", "annotate_fn", "format_stack", "get_current_meta", "get_current_replay_node", "has_preserved_node_meta",
    "preserve_node_meta", "reset_grad_fn_seq_nr", "set_current_meta", "set_current_replay_node", "set_grad_fn_seq_nr",
    "set_stack_trace",
]  # fmt: skip

current_meta: dict[str, Any] = {}
current_replay_node: Node | None = None
should_preserve_node_meta = False
_KEPT = (
    "nn_module_stack", "source_fn_stack", "original_aten", "recompute", "ac_graph_id", "from_node", "quantization_tag",
    "_numeric_debug_handle", "custom", "partitioner_tag", "stack_trace", "seq_nr",
)  # fmt: skip


def _changed(**variables: Any) -> HoldingItems:
    """Inside, some of these variables are others."""
    return HoldingItems(globals(), variables)


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Inside, nodes that are made keep what is known of those that they come from."""
    with _changed(should_preserve_node_meta=enable, current_meta=current_meta.copy()):
        yield


def has_preserved_node_meta() -> bool:
    """Whether nodes that are made keep it."""
    return should_preserve_node_meta


def kept() -> dict[str, Any]:
    """What a node that is made now is told."""
    if not should_preserve_node_meta:
        return {}
    return {name: copy.copy(current_meta[name]) for name in _KEPT if name in current_meta}


@contextlib.contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Inside, nodes that are made have these entries in `meta["custom"]`."""
    with _changed(current_meta={**current_meta, "custom": {**current_meta.get("custom", {}), **annotation_dict}}):
        yield


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: calls of the function are annotated."""

    def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return fn(*args, **kwargs)

        return call

    return decorated


def set_stack_trace(stack: list[str]) -> None:
    """Let nodes that are made come from these lines."""
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Let nodes that are made belong to the backward of this number."""
    if should_preserve_node_meta:
        current_meta["grad_fn_seq_nr"] = [*current_meta.get("grad_fn_seq_nr", ()), seq_nr]
        current_meta["in_grad_fn"] = current_meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr() -> None:
    """The backward of the last such number is over."""
    if should_preserve_node_meta:
        current_meta["in_grad_fn"] = max(current_meta.get("in_grad_fn", 0) - 1, 0)
        current_meta["grad_fn_seq_nr"] = current_meta.get("grad_fn_seq_nr", [])[:-1]


def format_stack() -> list[str]:
    """The lines that nodes are said to come from, or those that run."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextlib.contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Inside, nodes that are made come from this one."""
    with _changed(current_meta=node.meta.copy() if should_preserve_node_meta and node.meta else current_meta):
        yield


def get_current_meta() -> dict[str, Any]:
    """What nodes that are made are told."""
    return current_meta


def set_current_replay_node(node: Node | None) -> Any:
    """A context in which this node is the one that is run again."""
    return _changed(current_replay_node=node)


def get_current_replay_node() -> Node | None:
    """The node that is run again."""
    return current_replay_node
