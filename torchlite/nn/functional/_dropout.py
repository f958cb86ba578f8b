"""Dropout."""

from __future__ import annotations

from ...core.machine import Tensor, functions, overridable
from ...core.values import warn

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]

_dropout, _dropout_in_place = functions["dropout"], functions["dropout_"]


def _check(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


@overridable
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability `p` and scale the others up, in `training`."""
    _check(p)
    return (_dropout_in_place if inplace else _dropout)(input, p, training)


@overridable
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Drop elements to where `selu` ends, and keep mean and variance."""
    _check(p)
    return functions["alpha_dropout_" if inplace else "alpha_dropout"](input, p, training)


@overridable
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels."""
    _check(p)
    return functions["feature_alpha_dropout_" if inplace else "feature_alpha_dropout"](input, p, training)


def _by_channel(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    if not batched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    made = functions["feature_dropout_" if inplace else "feature_dropout"](input, p, training)
    if batched:
        return made
    return made.squeeze_(0) if inplace else made.squeeze(0)


def _warn_of_dimensions(name: str, ndim: int, spatial: int) -> None:
    if ndim not in (spatial + 1, spatial + 2):
        warn(
            f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a future "
            "release. To retain the behavior and silence this warning, please use dropout instead. Note that "
            f"{name} exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel "
            f"dimension, and an optional batch dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs).",
        )


@overridable
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of one dimension."""
    _check(p)
    ndim = input.dim()
    if ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that dropout1d exists to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch "
            "dimension (i.e. 2D or 3D inputs)."
        )
    return _by_channel(input, p, training, inplace, ndim == 3)


@overridable
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of two dimensions."""
    _check(p)
    ndim = input.dim()
    _warn_of_dimensions("dropout2d", ndim, 2)
    if ndim == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
        )
    return _by_channel(input, p, training, inplace, True)


@overridable
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of three dimensions."""
    _check(p)
    ndim = input.dim()
    _warn_of_dimensions("dropout3d", ndim, 3)
    return _by_channel(input, p, training, inplace, ndim == 5)
