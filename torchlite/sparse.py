"""`torch.sparse`, of which only a switch is there: no tensor is sparse."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any, ClassVar

from .absent import why
from .core.state import Context, State

__all__ = ["check_sparse_tensor_invariants"]


class check_sparse_tensor_invariants(Context, ContextDecorator):
    """Whether sparse tensors are checked when they are made: for good, or inside a `with` or a decorated function."""

    _on: ClassVar[bool] = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable

    @staticmethod
    def is_enabled() -> bool:
        return check_sparse_tensor_invariants._on

    @staticmethod
    def enable() -> None:
        check_sparse_tensor_invariants._on = True

    @staticmethod
    def disable() -> None:
        check_sparse_tensor_invariants._on = False

    def _take(self, state: State) -> bool:
        return self.is_enabled()

    def _set(self, state: State, kept: bool) -> None:
        check_sparse_tensor_invariants._on = self.state

    def _put(self, state: State, kept: bool) -> None:
        check_sparse_tensor_invariants._on = kept


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torchlite has no torch.sparse.{name}{why('sparse')}")
