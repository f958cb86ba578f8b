"""Batch normalization as modules."""

from __future__ import annotations

import sys
from dataclasses import KW_ONLY, InitVar
from typing import Any

from ...core.machine import Tensor
from ...core.values import DeviceLike, dt
from ...operations.making.factories import ones, zeros
from ...operations.making.host_data import tensor
from .. import functional as F
from ..parameter import UninitializedBuffer, UninitializedParameter
from ._sizes import Spatial
from .affine import register_affine, reset_affine
from .fields import Wanted, fields, wanted
from .lazy import LazyModuleMixin, lazy_twin
from .module import Module

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
    "SyncBatchNorm",
]  # fmt: skip


@fields(constants="track_running_stats momentum eps num_features affine")
class _NormBase(Spatial):
    """Weight, bias and running statistics of channels."""

    _version = 2
    num_features: int
    eps: float = 1e-5
    momentum: float | None = 0.1
    affine: bool = True
    track_running_stats: bool = True
    device: InitVar[DeviceLike] = None
    dtype: InitVar[dt.dtype | None] = None
    _: KW_ONLY
    bias: Wanted = wanted(default=True)

    def complete(self, device: DeviceLike, dtype: Any, bias: bool) -> None:
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        register_affine(self, self.num_features, self.affine, bias, device, dtype)
        if self.track_running_stats:
            self.register_buffer("running_mean", zeros(self.num_features, **made))
            self.register_buffer("running_var", ones(self.num_features, **made))
            self.register_buffer("num_batches_tracked", tensor(0, dtype=dt.int64, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget what was seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set weights to one, biases to zero, and forget what was seen."""
        self.reset_running_stats()
        reset_affine(self, self.affine)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """States of version 1 do not count batches."""
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            counted = self.num_batches_tracked
            known = counted is not None and counted.device.type != "meta"
            state_dict[key] = counted if known else tensor(0, dtype=dt.int64)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        share = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean of all batches
                share = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        running = not self.training or self.track_running_stats
        statistics = (self.running_mean, self.running_var) if running else (None, None)
        return self._normalized(input, statistics, by_batch, share)

    def _normalized(self, input: Tensor, running: tuple[Any, Any], by_batch: bool, share: float) -> Tensor:
        return F.batch_norm(input, *running, self.weight, self.bias, by_batch, share, self.eps)


class _LazyNormBase(LazyModuleMixin, _NormBase):
    weight: Any
    bias: Any

    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: DeviceLike = None, dtype: dt.dtype | None = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(**made)
            if bias:
                self.bias = UninitializedParameter(**made)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**made)
            self.running_var = UninitializedBuffer(**made)
            self.num_batches_tracked = tensor(0, dtype=dt.int64, device=device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for t in (self.weight, self.bias):
            if t is not None:
                t.materialize((self.num_features,))
        if self.track_running_stats:
            self.running_mean.materialize((self.num_features,))
            self.running_var.materialize((self.num_features,))
        self.reset_parameters()


def _expecting(*dims: int) -> Any:
    wanted = " or ".join([f"{n}D" for n in dims])

    def _check_input_dim(self: Any, input: Tensor) -> None:
        if input.dim() not in dims:
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    return _check_input_dim


class BatchNorm1d(_BatchNorm):
    """Each channel of (N, C) or (N, C, L) normalized over the batch, and in evaluation by what batches showed."""

    _check_input_dim = _expecting(2, 3)


class BatchNorm2d(_BatchNorm):
    """Each channel of (N, C, H, W) normalized over the batch, and in evaluation by what batches showed."""

    _check_input_dim = _expecting(4)


class BatchNorm3d(_BatchNorm):
    """Each channel of (N, C, D, H, W) normalized over the batch, and in evaluation by what batches showed."""

    _check_input_dim = _expecting(5)


LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = [
    lazy_twin(kind, _LazyNormBase, _BatchNorm, learns="the number of channels")
    for kind in (BatchNorm1d, BatchNorm2d, BatchNorm3d)
]


@fields(header="num_features eps momentum affine track_running_stats process_group device dtype * bias", constants="")
class SyncBatchNorm(_BatchNorm):
    """Batch normalization with the statistics of the batches of all processes of a group."""

    process_group: Any = None

    def _normalized(self, input: Tensor, running: tuple[Any, Any], by_batch: bool, share: float) -> Tensor:
        distributed = sys.modules.get("torchlite.distributed")
        if not (by_batch and self.training) or distributed is None or not distributed.is_initialized():
            return super()._normalized(input, running, by_batch, share)
        group = self.process_group or distributed.group.WORLD
        if group.size() == 1:
            return super()._normalized(input, running, by_batch, share)
        from ...distributed.batch_norm import normalized

        kept = None if running[0] is None else running
        return normalized(input, self.weight, self.bias, kept, share, self.eps, group)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with every batch normalization in it made one of this class."""
        made = module
        if isinstance(module, _BatchNorm):
            made = cls(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                process_group, bias=module.bias is not None,
            )  # fmt: skip
            if module.affine:
                made.weight, made.bias = module.weight, module.bias
            made.running_mean, made.running_var = module.running_mean, module.running_var
            made.num_batches_tracked = module.num_batches_tracked
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made
