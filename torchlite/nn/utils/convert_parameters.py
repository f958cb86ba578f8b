"""Parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.machine import Tensor, functions
from ...queries import typename

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, one after the other, as one vector."""
    return functions["cat"](_on_one_device([p.view(-1) for p in parameters]))


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parts of a vector, one after the other, the data of the parameters."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for p in parameters:
        p.data = vec[start : start + p.numel()].view_as(p).data
        start += p.numel()


def _on_one_device(tensors: list[Tensor]) -> list[Tensor]:
    for t in tensors:
        if t.get_device() != tensors[0].get_device():
            raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return tensors
