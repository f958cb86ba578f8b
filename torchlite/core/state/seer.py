"""What is asked to run operations in the place of their kernels: dispatch modes, and what notes the steps of plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Seer:
    """Runs operations for a mode (`Mode.kernels`), and if it sees `everything` (`Mode.seer`) all else that calls do."""

    everything = False  # whether it is asked for what runs no kernel: views, writes, new tensors, numbers
    everywhere = False  # and for what levels of transforms do

    def __call__(self, op: Any, values: Sequence[Any], compute: Callable[[], Any] | None = None) -> Any:
        """The results of an operation; `compute()` gives those of its kernel."""
        raise NotImplementedError

    def parts(self, op: Any, values: Sequence[Any]) -> Callable[[], Any] | None:
        """What runs an operation as others, where it is to be seen as these."""
        return None

    def reads(self, op: Any, values: Sequence[Any]) -> bool:
        """Whether an operation is seen on lazy tensors as they are, not on the values computed of them."""
        return False

    def composite(self, f: Callable[..., Any], values: Sequence[Any]) -> Any:
        """The call of a function made of operations."""
        return f(*values)

    def program(self, f: Callable[..., Any], values: Sequence[Any]) -> Any:
        """The call of a program's own function, whoever calls it."""
        return f(*values)

    def together(self, name: str, overload: str, signature: Any, values: Sequence[Any]) -> Any:
        """An operation on each tensor of a list."""
        raise NotImplementedError

    def write(self, op: Any, values: Sequence[Any]) -> None:
        """The in-place form of an operation."""
        raise NotImplementedError

    def out(self, op: Any, out: Any, values: Sequence[Any]) -> None:
        """The form of an operation that writes to a tensor given."""
        raise NotImplementedError

    def factory(self, factory: Any, values: Sequence[Any]) -> Any:
        """The call of a function that makes a tensor."""
        raise NotImplementedError

    def lifted(self, t: Any) -> Any:
        """A tensor that was made of the user's values."""
        raise NotImplementedError

    def number_of(self, t: Any) -> Any:
        """The value of a tensor of one element."""
        raise NotImplementedError

    def past_forms(self) -> None:
        """Told where what is done depends on more than the forms of operands."""
