"""`torch.functional`: functions of torch, under the module in which PyTorch keeps them."""

from __future__ import annotations

from .core.machine.registry import functions

_HERE = (
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
    "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "pca_lowrank", "split", "stft",
    "svd_lowrank", "tensordot", "unique", "unique_consecutive", "unravel_index",
)  # fmt: skip
globals().update({name: functions[name] for name in _HERE})
__all__ = list(_HERE)
