"""Whether sparse tensors are checked when they are made."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any, ClassVar

from ..core.state import Context, State


class check_sparse_tensor_invariants(Context, ContextDecorator):
    """Whether sparse tensors are checked when they are made: for good, or inside a `with` or a decorated function."""

    _on: ClassVar[bool] = False
    implicit: ClassVar[bool] = True  # whether nobody has said so far

    def __init__(self, enable: bool = True) -> None:
        self.state = enable

    @staticmethod
    def is_enabled() -> bool:
        """Whether invariants are checked."""
        return check_sparse_tensor_invariants._on

    @classmethod
    def _say(cls, on: bool) -> None:
        cls._on, cls.implicit = on, False

    @staticmethod
    def enable() -> None:
        """Check invariants from now on."""
        check_sparse_tensor_invariants._say(True)

    @staticmethod
    def disable() -> None:
        """Check no invariants from now on."""
        check_sparse_tensor_invariants._say(False)

    def _take(self, state: State) -> tuple[bool, bool]:
        return self._on, self.implicit

    def _set(self, state: State, kept: Any) -> None:
        self._say(self.state)

    def _put(self, state: State, kept: Any) -> None:
        check_sparse_tensor_invariants._on, check_sparse_tensor_invariants.implicit = kept
