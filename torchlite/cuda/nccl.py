"""`torch.cuda.nccl`: which NCCL there is, and what it does with tensors of one process, by copies between devices.

Processes with a GPU each talk by NCCL itself, through `torch.distributed`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from ..absent import lacking
from ..autograd.grad_mode import no_grad
from ..core.machine import Tensor, functions
from .unsupported import lacking_functions

__all__ = ["all_gather", "all_reduce", "broadcast", "is_available", "reduce", "reduce_scatter", "version"]

SUM, _AVERAGE = 0, 4
_OPS = ("add", "mul", "maximum", "minimum", "add")  # by NCCL's numbers


def version() -> tuple[int, int, int]:
    """The version of the library."""
    from cupy.cuda import nccl

    number = nccl.get_version()
    unit = 10_000 if number > 9_999 else 1_000
    return number // unit, number % unit // 100, number % 100


def is_available(tensors: Iterable[Any]) -> bool:
    """Whether tensors lie densely on GPUs, one on each."""
    given = list(tensors)
    fit = all(tensor.is_cuda and tensor.is_contiguous() for tensor in given)
    return fit and len({tensor.device for tensor in given}) == len(given)


def _listed(inputs: Any) -> list[Tensor]:
    if isinstance(inputs, Tensor) or not isinstance(inputs, Container):
        raise TypeError("Inputs should be a collection of tensors")
    return list(inputs)  # type: ignore[call-overload]


def _one(inputs: Sequence[Tensor], op: int) -> Tensor:
    """All tensors as one, where the first lies."""
    made = inputs[0]
    for other in inputs[1:]:
        made = functions[_OPS[op]](made, other.to(made.device))
    return made / len(inputs) if op == _AVERAGE else made.clone()


@no_grad()
def all_reduce(inputs: Any, outputs: Any = None, op: int = SUM, streams: Any = None, comms: Any = None) -> None:
    """Make each output, or each tensor itself, the sum of all, or what `op` says."""
    listed = _listed(inputs)
    total = _one(listed, op)
    for output in listed if outputs is None else outputs:
        output.copy_(total)


@no_grad()
def reduce(
    inputs: Any, output: Any = None, root: int = 0, op: int = SUM, streams: Any = None, comms: Any = None, *,
    outputs: Any = None,
) -> None:  # fmt: skip
    """Make the output, or the tensor of number `root`, the sum of all, or what `op` says."""
    listed, given = _listed(inputs), output if outputs is None else outputs
    target = listed[root] if given is None else given if isinstance(given, Tensor) else given[root]
    target.copy_(_one(listed, op))


@no_grad()
def broadcast(inputs: Any, root: int = 0, streams: Any = None, comms: Any = None) -> None:
    """Make all tensors what that of number `root` is."""
    listed = _listed(inputs)
    for t in listed:
        t.copy_(listed[root])


@no_grad()
def all_gather(inputs: Any, outputs: Any, streams: Any = None, comms: Any = None) -> None:
    """Write all tensors, one after the other, into each output."""
    listed = _listed(inputs)
    for output in _listed(outputs):
        output.copy_(functions["cat"]([t.reshape(-1).to(output.device) for t in listed]).view_as(output))


@no_grad()
def reduce_scatter(inputs: Any, outputs: Any, op: int = SUM, streams: Any = None, comms: Any = None) -> None:
    """Give each output its part of the sum of all tensors, or of what `op` says."""
    total, listed = _one(_listed(inputs), op), _listed(outputs)
    for output, part in zip(listed, total.reshape(-1).chunk(len(listed)), strict=True):
        output.copy_(part.view_as(output))


_RANKS = "processes with a GPU each talk by torch.distributed"
globals().update(lacking_functions("torch.cuda.nccl", _RANKS, "init_rank unique_id"))

__getattr__ = lacking(__name__)
