"""What `torch.use_deterministic_algorithms` asks for."""

from __future__ import annotations

from typing import Any

from ..structs import renew_defaults
from .errors import warn


class Determinism:
    """How deterministic algorithms are to be, and whether memory that nobody wrote to then gets a value of its own."""

    __slots__ = ("debug_mode", "fill_uninitialized_memory")

    def __init__(self) -> None:
        self.debug_mode = 0  # 0: not asked for, 1: what is not deterministic warns, 2: it raises an error
        self.fill_uninitialized_memory = True

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        renew_defaults()  # by which `empty` gives something else

    def alert(self, name: str) -> None:
        """Say that PyTorch promises no order for what this op writes."""
        if not self.debug_mode:
            return
        only = ", warn_only=True" * (self.debug_mode == 1)
        what = f"{name} does not have a deterministic implementation, but you set "
        what += f"'torch.use_deterministic_algorithms(True{only})'. "
        please = "file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic"
        if only:
            warn(f"{what}You can {please} support for this operation.")
            return
        raise RuntimeError(
            f"{what}You can turn off determinism just for this operation, or you can use the 'warn_only=True' option, "
            f"if that's acceptable for your application. You can also {please} support for this operation."
        )


determinism = Determinism()
