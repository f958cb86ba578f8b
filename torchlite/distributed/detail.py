"""With TORCH_DISTRIBUTED_DEBUG=DETAIL, processes tell each other what they are about to do before they do it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.machine import Tensor
from .engines.base import Engine
from .work import Line

if TYPE_CHECKING:
    from .process_group import ProcessGroup

_ROOM = 4096  # bytes for what one process says
_SHAPES_DIFFER = frozenset(("all_to_all", "all_to_all_single", "gather", "scatter"))
_ASPECTS = {"SequenceNumber": "Sequence number", "OpType": "Op type", "TensorShape": "Tensor shapes",
            "TensorDtypes": "Tensor dtypes", "TensorDeviceTypes": "Tensor devices"}  # fmt: skip


def check_the_same(
    group: ProcessGroup, line: Line, engine: Engine, name: str, tensors: Sequence[Tensor]
) -> None:
    """Raise RuntimeError in all processes if one of them is in another collective, or has other shapes or dtypes."""
    group._sequence += 1
    mine: dict[str, Any] = {"SequenceNumber": group._sequence, "OpType": name.upper().replace("_", "")}
    if tensors and name not in _SHAPES_DIFFER:
        mine["TensorShape"] = [list(t.shape) for t in tensors]
    if tensors:
        mine["TensorDtypes"] = [t.dtype.legacy for t in tensors]
        mine["TensorDeviceTypes"] = [t.device.type for t in tensors]
    text = json.dumps(mine).encode()[:_ROOM].ljust(_ROOM)
    said = [np.empty(_ROOM, np.uint8) for _ in range(engine.size)]
    line.now(name, lambda: engine.all_gather(said, np.frombuffer(text, np.uint8)), engine.timeout)
    for other, content in enumerate(said):
        theirs = bytes(content)
        if theirs != text:
            raise RuntimeError(_difference(group._ranks, engine.rank, mine, other, json.loads(theirs)))


def _difference(ranks: Sequence[int], rank: int, mine: dict[str, Any], other: int, theirs: dict[str, Any]) -> str:
    aspects = "".join(
        f"\t {told}: {mine.get(word)} vs {theirs.get(word)}"
        for word, told in _ASPECTS.items()
        if mine.get(word) != theirs.get(word)
    )
    return (
        f"Detected mismatch between collectives on ranks. Rank {ranks[rank]} is running collective: "
        f"{_fingerprint(mine)}, but Rank {ranks[other]} is running collective: {_fingerprint(theirs)}. "
        f"Collectives differ in the following aspects: {aspects}"
    )


def _fingerprint(said: dict[str, Any]) -> str:
    return f"CollectiveFingerPrint({', '.join(f'{word}={value}' for word, value in said.items())})"
