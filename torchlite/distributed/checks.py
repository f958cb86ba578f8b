"""What collectives ask of their arguments."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from ..core.machine import Tensor
from .call import real_shape
from .process_group import ProcessGroup
from .world import GroupMember, get_group_rank


def check_tensor(tensor: Any, name: str) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(tensor)} instead."
        )


def check_tensors(tensors: Any, name: str) -> None:
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(tensors)} instead."
        )
    for number, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
                f"             but got {type(tensors)} with elements of type {type(tensors[number])}."
            )


def check_same_dtype(*tensors: Tensor, pairs: bool = True) -> None:
    """Complex numbers are `pairs` of real ones."""
    for tensor in tensors:
        dtypes = [each.dtype.to_real() if pairs else each.dtype for each in (tensors[0], tensor)]
        if dtypes[0] is not dtypes[1]:
            raise ValueError(
                f"Invalid usage of tensors with different dtypesFound {tensors[0].dtype} and  {tensor.dtype}"
            )


def check_given_by_root(given: Sequence[Any] | None, name: str, end: str, here: bool) -> None:
    """A list that the process at one end of a collective gives, which may be `here`, and no other."""
    if here and not given:
        raise ValueError(f"Argument ``{name}`` must be specified on {end} rank.")
    if given and not here:
        raise ValueError(f"Argument ``{name}`` must NOT be specified on non-{end} ranks.")


_COMPLEX = frozenset(("gather", "reduce_scatter"))  # to which complex numbers are no pairs of real ones


def check_list(name: str, kind: str, tensors: Sequence[Tensor], like: Tensor, count: int) -> None:
    """A tensor for each rank, of the same size each."""
    check_same_dtype(*tensors, like, pairs=name not in _COMPLEX)
    if len(tensors) != count:
        raise RuntimeError(
            f"ProcessGroupGloo::{name}: invalid {kind} tensor list at index 0 (expected length {count}, "
            f"got {len(tensors)})"
        )
    for number, tensor in enumerate(tensors):
        if real_shape(tensor) != real_shape(like):
            raise RuntimeError(
                f"ProcessGroupGloo::{name}: invalid tensor size at index {number} (expected "
                f"{_shape(like)}, got {_shape(tensor)})"
            )


def _shape(tensor: Tensor) -> str:
    return f"({', '.join(map(str, real_shape(tensor)))})"


def _numel(tensor: Tensor) -> int:
    return math.prod(real_shape(tensor))


def check_exchanged(outputs: Sequence[Tensor], inputs: Sequence[Tensor], pg: ProcessGroup) -> None:
    """A tensor for each rank and one from each, with gloo of one size."""
    count = pg.size()
    check_same_dtype(*outputs, *inputs)
    for kind, tensors in (("input", inputs), ("output", outputs)):
        if len(tensors) != count:
            raise RuntimeError(
                f"ProcessGroupGloo::alltoall: {kind} tensor list size {len(tensors)} does not match world size {count}"
            )
    if pg.name() != "gloo":
        return
    check_list("alltoall", "input", inputs, inputs[0], count)
    check_list("alltoall", "output", outputs, outputs[0], count)
    if _numel(outputs[0]) != _numel(inputs[0]):
        raise RuntimeError("ProcessGroupGloo::alltoall: input and output tensors must have the same size")


def check_gathered(output: Tensor, input: Tensor, pg: ProcessGroup) -> None:
    """A tensor that has room for those of all ranks."""
    check_same_dtype(output, input)
    if _numel(output) != _numel(input) * pg.size():
        if pg._asked_for == "nccl":
            raise ValueError("output tensor size must be equal to world_size times input tensor size")
        check_list("allgather", "output", output.chunk(pg.size()), input, pg.size())


def check_scattered(output: Tensor, input: Tensor, pg: ProcessGroup) -> None:
    """A tensor with as much as the parts of all ranks."""
    check_same_dtype(input, output, pairs=False)
    if input.numel() != output.numel() * pg.size():
        if pg._asked_for == "nccl":
            raise ValueError("input tensor must be the same size as output size times world size")
        first, *others = output.shape or (1,)
        sizes = itertools.zip_longest([first * pg.size(), *others], input.shape, fillvalue=1)
        number, (wanted, got) = next((at, pair) for at, pair in enumerate(sizes) if pair[0] != pair[1])
        what = "outputShape[i] == inputShape[i]" if number else "outputShape[0] * worldSize == inputShape[0]"
        raise RuntimeError(f"Check failed: {what} ({wanted} vs. {got}). ")


def check_gathered_lists(lists: Sequence[Sequence[Tensor]], tensors: Sequence[Tensor], pg: ProcessGroup) -> None:
    """For each rank, tensors that are like those given."""
    if len(lists) != pg.size():
        raise RuntimeError("ProcessGroupGloo::allgather_coalesced: output lists should be equal to world size")
    for outs in lists:
        if len(outs) != len(tensors):
            raise RuntimeError(
                f"ProcessGroupGloo::allgather_coalesced: invalid output size: (expected length {len(tensors)}, got "
                f"{len(outs)})"
            )
        for number, (out, like) in enumerate(zip(outs, tensors)):
            wrong = None
            if real_shape(out) != real_shape(like):
                wrong = f"size of output tensor at index {number} (expected length {_shape(like)}, got {_shape(out)})"
            elif out.dtype.to_real() is not like.dtype.to_real():
                wrong = f"tensor type at index {number} (expected {like.type()}, got {out.type()})"
            if wrong:
                raise RuntimeError(f"ProcessGroupGloo::allgather_coalesced: invalid {wrong}")


def root_of(group: ProcessGroup, rank: int | None, group_rank: int | None, name: str) -> int:
    """The number in the group of the rank meant."""
    if group_rank is not None:
        if rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        root = group_rank
    elif rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    elif rank >= 0 and rank not in group._by_rank and group is GroupMember.WORLD:
        root = rank
    else:
        root = get_group_rank(group, rank)
    if not 0 <= root < group.size() and not group._registered:
        raise RuntimeError(f"ProcessGroupGloo::{name}: invalid root rank: {root}")
    return root
