"""What fails in one process fails in all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ...core.values import shown_in
from ..objects import all_gather_object

__all__ = ["CheckpointException"]


@shown_in("torch.distributed.checkpoint.api")
class CheckpointException(BaseException):
    """What went wrong with a checkpoint, in each process in which something did."""

    def __init__(self, msg: str, failures: dict[int, Any]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Any]:
        """The errors by ranks."""
        return self._failures

    def __str__(self) -> str:
        told = "".join(f"\n(RANK {rank}) {type(error).__name__}: {error}" for rank, error in self._failures.items())
        return f"CheckpointException ranks:{self._failures.keys()}{told}"


@contextlib.contextmanager
def together(group: Any) -> Iterator[list[Any]]:
    """A step that all take: the list is filled with what each has to tell the others."""
    told: list[Any] = []
    wrong: Exception | None = None
    try:
        yield told
    except Exception as error:
        wrong = error
    everyones = gathered(([*told], wrong), group)
    failures = {rank: error for rank, (_, error) in enumerate(everyones) if error is not None}
    if failures:
        raise CheckpointException("CheckpointException", failures) from wrong
    told[:] = [each for each, _ in everyones]


def gathered(value: Any, group: Any) -> list[Any]:
    """What all processes have."""
    if group is None:
        return [value]
    everyones: list[Any] = [None] * group.size()
    all_gather_object(everyones, value, group)
    return everyones
