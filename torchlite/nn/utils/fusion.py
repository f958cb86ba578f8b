"""Layers in evaluation with the batch norm that follows them taken in."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from ...core.machine import Tensor
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

Layer = TypeVar("Layer", bound=Any)


def _fused(layer: Layer, bn: Any, fuse: Any, *options: Any) -> Layer:
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = fuse(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, *options
    )
    return fused


def _check_eval(*modules: Any) -> None:
    if any(module.training for module in modules):
        raise AssertionError("Fusion only for eval!")


def fuse_conv_bn_eval(conv: Layer, bn: Any, transpose: bool = False) -> Layer:
    """A convolution that gives what a convolution and a batch norm after it give."""
    _check_eval(conv, bn)
    return _fused(conv, bn, fuse_conv_bn_weights, transpose)


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
    bn_b: Tensor | None, transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """The weight and bias of such a convolution; a transposed one's weight has the channels given second."""
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return _scaled(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_eval(linear: Layer, bn: Any) -> Layer:
    """A linear layer that gives what a linear layer and a batch norm after it give."""
    _check_eval(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    return _fused(linear, bn, fuse_linear_bn_weights)


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Parameter, Parameter]:
    """The weight and bias of such a linear layer."""
    return _scaled(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _scaled(
    weight: Tensor, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float, bn_weight: Tensor | None,
    bn_bias: Tensor | None, shape: list[int],
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Weight and bias with each channel, along the dimension of -1 in `shape`, scaled and shifted."""
    scale = (var + eps).rsqrt() if bn_weight is None else bn_weight * (var + eps).rsqrt()
    shifted = (-mean if bias is None else bias - mean) * scale
    if bn_bias is not None:
        shifted = shifted + bn_bias
    return (
        Parameter((weight * scale.reshape(shape)).to(weight.dtype), weight.requires_grad),
        Parameter(shifted.to(weight.dtype if bias is None else bias.dtype), bias is not None and bias.requires_grad),
    )
