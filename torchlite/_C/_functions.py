"""`torch._C._functions`: the classes of a graph's nodes, by name, and functions that leave faults in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..autograd.function import Function
from ..autograd.graph import Node
from ..core.machine import Tensor

__all__ = ["DelayedError", "UndefinedGrad"]


def _handed_on(inputs: tuple[Tensor, ...]) -> Any:
    made = tuple([t.view_as(t) for t in inputs])
    return made[0] if len(made) == 1 else made


class _Error(Function):
    @staticmethod
    def forward(ctx: Any, message: str, *inputs: Tensor) -> Any:
        ctx.message = message
        return _handed_on(inputs)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError(ctx.message)


class _UndefinedGrad(Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Any:
        return _handed_on(inputs)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        return (None,) * len(grad_outputs)


class DelayedError:
    """Hands tensors on; a backward pass that comes there ends with an error of this text."""

    def __init__(self, msg: str | bytes, num_inputs: int) -> None:
        self.message = msg.decode() if isinstance(msg, bytes) else msg

    def __call__(self, *inputs: Tensor) -> Any:
        return _Error.apply(self.message, *inputs)


class UndefinedGrad:
    """Hands tensors on, but no gradient back."""

    def __call__(self, *inputs: Tensor) -> Any:
        return _UndefinedGrad.apply(*inputs)


def _classes(of: type) -> Iterator[type]:
    subclasses: list[type] = of.__subclasses__()
    for cls in subclasses:
        yield cls
        yield from _classes(cls)


def __getattr__(name: str) -> type:
    for cls in _classes(Node):
        if cls.__name__ == name:
            return cls
    raise AttributeError(f"module 'torch._C._functions' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*__all__, *[cls.__name__ for cls in _classes(Node)]})
