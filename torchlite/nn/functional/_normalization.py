"""Normalization."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...core.machine import Tensor, functions, overridable
from ...operations.images.average_pool import avg_pool2d, avg_pool3d
from ...operations.learning.layer_norm import native_layer_norm
from ..headers import known_by_form

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm"]

pad = functions["constant_pad_nd"]
_batch_norm, _instance_norm = functions["batch_norm"], functions["instance_norm"]
_layer_norm, _group_norm, _rms_norm = functions["layer_norm"], functions["group_norm"], functions["rms_norm"]


def _verify_batch_size(size: Sequence[int]) -> None:
    if size[0] * math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size: Sequence[int]) -> None:
    if math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")


def _verify_both(mean: Tensor | None, var: Tensor | None) -> None:
    if (mean is None) != (var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")


@overridable
def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Each channel normalized over the batch in `training`, and else by the running statistics."""
    if training:
        _verify_batch_size(input.size())
        _verify_both(running_mean, running_var)
    if eps < 0 or (training and eps == 0):
        wanted = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {wanted}, but got {eps}")
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


@overridable
def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Each channel of each element normalized by itself, or else by the running statistics."""
    if use_input_stats:
        _verify_spatial_size(input.size())
        _verify_both(running_mean, running_var)
    return _instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


@known_by_form(
    lambda input, normalized_shape, weight=None, bias=None, eps=1e-5: (
        native_layer_norm, (input, normalized_shape, weight, bias, eps), 0
    )
)
def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """The input normalized along its last dimensions, times a weight, plus a bias."""
    return _layer_norm(input, normalized_shape, weight, bias, eps, True)


@overridable
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """The input over the root of its mean square along the last dimensions, times a weight."""
    return _rms_norm(input, normalized_shape, weight, eps)


@overridable
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """The input normalized over the channels of each group and all that lies in them."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    _verify_batch_size([input.size(0) * input.size(1) // num_groups, num_groups, *input.size()[2:]])
    return _group_norm(input, num_groups, weight, bias, eps, True)


@overridable
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """The input over a power of `k` plus `alpha` times the mean square of `size` neighbouring channels."""
    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.dim()} dimensions)"
        )
    if not input.numel():
        return input
    squares, around = input * input, (size // 2, (size - 1) // 2)
    if input.dim() == 3:
        means = avg_pool2d(pad(squares.unsqueeze(1), (0, 0, *around), 0.0), (size, 1), 1).squeeze(1)
    else:
        images = squares.view((len(input), 1, *input.shape[1:3], -1))
        means = avg_pool3d(pad(images, (0, 0, 0, 0, *around), 0.0), (size, 1, 1), 1).squeeze(1).view(input.shape)
    return input / means.mul(alpha).add(k).pow(beta)
