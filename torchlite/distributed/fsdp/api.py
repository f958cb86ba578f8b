"""What FullyShardedDataParallel is told: how to shard, in which precision, and what state dicts hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from ...core.values import bear_name
from ...nn.modules.batchnorm import _BatchNorm

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig", "LocalOptimStateDictConfig",
    "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig", "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType",
]  # fmt: skip


class ShardingStrategy(Enum):
    """What is shared out: parameters, gradients and optimizer state; all but the parameters after forward; nothing."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


NO_RESHARD_AFTER_FORWARD_STRATEGIES = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2)


class BackwardPrefetch(Enum):
    """When the next parameters are gathered in backward; here it is when they are needed."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """Whether a state dict holds whole tensors, this process's flat shard, or a piece of each tensor."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class MixedPrecision:
    """The dtypes of computation, of reductions and of buffers; None leaves them as they are."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type] = field(default_factory=lambda: (_BatchNorm,))


@dataclass
class CPUOffload:
    """Whether shards wait on the host."""

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """What all kinds of state dicts may be asked for."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Of state dicts of whole tensors, which may be made for the first process alone."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Of state dicts of flat shards."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Of state dicts of pieces."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """What all kinds of optimizers' state dicts may be asked for."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Of optimizers' state dicts of whole tensors."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Of optimizers' state dicts of flat shards."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Of optimizers' state dicts of pieces."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """The kind of state dicts, and what they are asked for."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


for _name in __all__:
    bear_name(globals()[_name], "torch.distributed.fsdp.api")
