"""What of a function's inputs and results can be differentiated, and the error for a derivative that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.machine import Tensor, TensorBase


class GradcheckError(RuntimeError):
    """A derivative is not what it should be."""

    __module__ = "torch.autograd.gradcheck"


def tensors_of(outputs: Any) -> tuple[Any, ...]:
    return tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)


def differentiable(outputs: Any) -> tuple[Tensor, ...]:
    """The outputs that require grad."""
    return tuple([y for y in tensors_of(outputs) if y.requires_grad])


def requiring_grad(inputs: Sequence[Any]) -> list[int]:
    """The places of the inputs that require grad."""
    return [at for at, x in enumerate(inputs) if isinstance(x, TensorBase) and x.requires_grad]
