"""Modules that multiply by a matrix: `Linear`, `Bilinear`, and `Identity`, which does not."""

from __future__ import annotations

import math
from dataclasses import InitVar
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.machine import Tensor
from ...core.values import DeviceLike, dt
from ...operations.making.factories import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .fields import Wanted, fields, made, wanted
from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Gives back its input; takes any arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


@fields
class Linear(Module):
    """`input @ weight.T + bias`: the last dimension goes from `in_features` to `out_features`.

    >>> torch.nn.Linear(3, 2)(torch.ones(5, 3)).shape
    torch.Size([5, 2])
    """

    in_features: int
    out_features: int
    bias: Wanted = wanted(default=True)
    device: InitVar[DeviceLike] = None
    dtype: InitVar[dt.dtype | None] = None
    weight: Tensor = made()

    def complete(self, bias: bool, device: DeviceLike, dtype: Any) -> None:
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.weight = Parameter(empty((self.out_features, self.in_features), **made))
        self.register_parameter("bias", Parameter(empty(self.out_features, **made)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights, from a uniform distribution whose bounds depend on `in_features`."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` that tools for quantization leave alone."""


@fields
class Bilinear(Module):
    """`input1 @ weight[k] @ input2 + bias[k]`, for each output feature k."""

    in1_features: int
    in2_features: int
    out_features: int
    bias: Wanted = wanted(default=True)
    device: InitVar[DeviceLike] = None
    dtype: InitVar[dt.dtype | None] = None
    weight: Tensor = made()

    def complete(self, bias: bool, device: DeviceLike, dtype: Any) -> None:
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features!r})")
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.weight = Parameter(empty((self.out_features, self.in1_features, self.in2_features), **made))
        self.register_parameter("bias", Parameter(empty(self.out_features, **made)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights, from a uniform distribution whose bounds depend on `in1_features`."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` that takes `in_features` from its first input."""

    cls_to_become = Linear
    weight: UninitializedParameter
    bias: Any

    def __init__(
        self, out_features: int, bias: bool = True, device: DeviceLike = None, dtype: dt.dtype | None = None
    ) -> None:
        super().__init__(0, 0, False)  # no weights are drawn yet
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from "
                    f"self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = input.shape[-1]
