"""With TORCH_DISTRIBUTED_DEBUG=DETAIL, processes tell each other what they are about to do before they do it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..core.machine import Tensor
from .engines.base import Engine
from .work import Line

if TYPE_CHECKING:
    from .process_group import ProcessGroup

_ROOM = 4096  # bytes for what one process says
_OPTIONS = (
    "TensorOptions(dtype=float (default), device={}, layout=Strided (default), requires_grad=false (default), "
    "pinned_memory=false (default), memory_format=(nullopt))"
)
Said = dict[str, str]  # what a process is about to do, in words


def check_the_same(group: ProcessGroup, line: Line, engine: Engine, name: str, tensors: Sequence[Tensor]) -> None:
    """Raise RuntimeError in all processes if one of them is in another collective, or has other shapes or dtypes."""
    mine = {
        "number": str(group._sequence),
        "Op type": name.removesuffix("_").upper(),
        "Tensor Tensor shapes": " ".join([str(size) for size in tensors[-1].shape]) if tensors else "",
        "Tensor Tensor dtypes": " ".join([tensor.dtype.legacy for tensor in tensors]),
        "Tensor Tensor devices": " ".join([_OPTIONS.format(tensor.device.type) for tensor in tensors]),
    }
    text = json.dumps(mine).encode()[:_ROOM].ljust(_ROOM)
    said = [np.empty(_ROOM, np.uint8) for _ in range(engine.size)]
    line.now(name, lambda: engine.all_gather(said, np.frombuffer(text, np.uint8)), engine.timeout)
    for other, content in enumerate(said):
        theirs = bytes(content)
        if theirs != text:
            raise RuntimeError(_difference(group._ranks, engine.rank, mine, other, json.loads(theirs)))
    group._sequence += 1


def _difference(ranks: Sequence[int], rank: int, mine: Said, other: int, theirs: Said) -> str:
    aspects = "".join(
        f"  {aspect}: {mine[aspect]}vs {theirs[aspect]}"
        for aspect in mine
        if aspect != "number" and mine[aspect] != theirs[aspect]
    )
    return (
        f"Detected mismatch between collectives on ranks. Rank {ranks[rank]} is running collective: "
        f"{_fingerprint(mine)}, but Rank {ranks[other]} is running collective: {_fingerprint(theirs)}."
        f"Collectives differ in the following aspects: {aspects}"
    )


def _fingerprint(said: Said) -> str:
    number, op, shape, dtypes, devices = said.values()
    if not dtypes:
        return f"CollectiveFingerPrint(SequenceNumber={number}OpType={op})"
    return (
        f"CollectiveFingerPrint(SequenceNumber={number}, OpType={op}, TensorShape=[{shape.replace(' ', ', ')}], "
        f"TensorDtypes={dtypes}, TensorDeviceTypes={devices})"
    )
