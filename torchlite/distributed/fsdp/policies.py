"""What `fully_shard` is told: in which precision to compute, and where shards wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.machine import Tensor
from ...core.values import shown_in
from ...utils._pytree import tree_map

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@shown_in("torch.distributed.fsdp")
@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of computation, of reductions and of outputs; None leaves them as they are."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@shown_in("torch.distributed.fsdp")
@dataclass
class OffloadPolicy:
    """Shards wait where parameters are."""


@shown_in("torch.distributed.fsdp")
@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Shards wait on the host."""

    pin_memory: bool = True


def cast(values: Any, dtype: Any) -> Any:
    """Arguments or results, in which tensors of floats get a dtype, if one is wanted."""
    if dtype is None:
        return values
    return tree_map(
        lambda each: each.to(dtype) if isinstance(each, Tensor) and each.is_floating_point() else each, values
    )
