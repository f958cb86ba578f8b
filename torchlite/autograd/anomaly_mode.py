"""Anomaly detection: which forward operation a failing backward belongs to, and gradients that are NaN."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.declare import Signature, taking
from ..core.machine import Node, Tensor, TensorBase, accumulator_of, name_of
from ..core.state import Mode, SetAtOnce, Switch, local
from ..core.values import warn

if TYPE_CHECKING:
    from .engine import GraphTask

# The rooms whose lines stand at the end of the trace of a call, and tell its author nothing.
_HOUSE = Path(__file__).parents[1]
_WITHIN = tuple([str(_HOUSE / room) + os.sep for room in ("autograd", "core", "operations")])
_LAUNCHER = str(_HOUSE / "__main__.py")  # whose lines stand before those of the program that it runs


class Anomaly:
    """What stands in a thread's mode while anomaly detection is on."""

    __slots__ = ("check_nan",)

    def __init__(self, check_nan: bool) -> None:
        self.check_nan = check_nan

    def note(self, node: Node) -> None:
        """Write down where a new node comes from: the lines of the program, and the node whose backward makes it."""
        frames = traceback.extract_stack()
        while frames and frames[-1].filename.startswith(_WITHIN):
            frames.pop()
        begin = max([at for at, frame in enumerate(frames, 1) if frame.filename == _LAUNCHER], default=0)
        node.metadata["traceback_"] = traceback.format_list(frames[begin:])
        task = local.state.task
        if task is not None and isinstance(task.node, Node):
            node.metadata["parent_"] = task.node

    def watch(self, node: Node, grads: list[Any]) -> Sequence[Any]:
        """Run a node, and look for NaN in what it gives."""
        results = node.apply(grads)
        if self.check_nan:
            for at, g in enumerate(results):
                if isinstance(g, TensorBase) and _has_nan(g):
                    raise RuntimeError(f"Function '{name_of(node)}' returned nan values in its {at}th output.")
        return results

    def tell(self, task: GraphTask) -> None:
        """Say where the node, or leaf, comes from at which a pass went wrong."""
        node = task.node
        if isinstance(node, TensorBase):
            node = _accumulator(node, [edge for edge, _ in task.roots])
        for said in _origins(node):
            warn(said)


def _has_nan(t: Tensor) -> bool:
    """Whether a number is NaN, in any of the elements that transforms make a tensor stand for."""
    while t._backend.home.level:
        t = t._array.main
    t = t.detach()
    return bool((t != t).any())


def _accumulator(leaf: Tensor, roots: list[Any]) -> Node:
    """The node of a leaf, which comes from where the first one was made that leads there."""
    leading, seen, stack = [], set(), [edge[0] for edge in roots if edge.__class__ is tuple]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            leading += [node for edge in node.next_edges if edge is leaf]
            stack += [edge[0] for edge in node.next_edges if edge.__class__ is tuple]
    made = accumulator_of(leaf)
    for node in sorted(leading, key=lambda node: node.sequence_nr)[:1]:
        made.metadata.update({k: v for k, v in node.metadata.items() if k == "traceback_"})
    return made


def _origins(node: Node | None) -> Iterator[str]:
    """Where a node comes from, and where the nodes do whose backward made it."""
    induced = False
    while node is not None:
        lines = node.metadata.get("traceback_")
        if lines is None:
            yield (
                f"Error detected in {name_of(node)}. No forward pass information available. Enable detect anomaly "
                "during forward pass for more information."
            )
            return
        if induced:
            how = f"\n\nPrevious calculation was induced by {name_of(node)}. Traceback of forward call that induced "
            yield f"{how}the previous calculation:\n{''.join(lines)}"
        else:
            how = f"Error detected in {name_of(node)}. Traceback of forward call that caused the error:\n"
            yield how + "".join(lines)
        node, induced = node.metadata.get("parent_"), True


_ENABLED = Signature("set_anomaly_enabled(bool enabled, bool check_nan=True)")


class set_detect_anomaly(SetAtOnce):
    """Turn anomaly detection on or off: at once, and inside a `with` until its end.

    While it is on, an error in backward tells which lines of the forward pass led to it, and a gradient that is NaN
    is an error if `check_nan`.
    """

    switches = ("anomaly",)

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.mode, self.check_nan = _ENABLED.bind((mode, check_nan), {})
        super().__init__()

    def _inside(self, mode: Mode) -> Mode:
        return mode.but(anomaly=Anomaly(self.check_nan) if self.mode else None)


class detect_anomaly(Switch):
    """Anomaly detection inside a `with`."""

    switches = ("anomaly",)

    def __init__(self, check_nan: bool = True) -> None:
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
        )
        self.check_nan = check_nan

    def _inside(self, mode: Mode) -> Mode:
        return mode.but(anomaly=Anomaly(self.check_nan))


@taking(_ENABLED.text)
def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Turn anomaly detection on or off."""
    set_detect_anomaly(mode, check_nan)


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on in this thread."""
    return local.state.mode.anomaly is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection looks for NaN."""
    anomaly = local.state.mode.anomaly
    return True if anomaly is None else anomaly.check_nan
