"""What moves numbers between the processes of one group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.values import Array
from ..reduction import Reduction

# What is told when a send or a receive has been done: an error or None, and the rank at the other end.
Done = Callable[[BaseException | None, int], None]


class Engine:
    """The processes of one group, as one of them sees them.

    Arrays are flat, contiguous, and of the dtypes of tensors; `rank` and roots count within the group. Collectives are
    called in the same order by all, one at a time, and return when this process has what it is to get. A list has
    one array for each rank. Results of reductions are the same in all processes, bit for bit.
    """

    device = "cpu"  # where arrays lie that it takes as they are

    def __init__(self, rank: int, ranks: Sequence[int], timeout: float) -> None:
        self.rank, self.size, self.ranks, self.timeout = rank, len(ranks), list(ranks), timeout

    def barrier(self) -> None:
        raise NotImplementedError

    def broadcast(self, array: Array, root: int) -> None:
        raise NotImplementedError

    def all_reduce(self, array: Array, reduction: Reduction) -> None:
        raise NotImplementedError

    def reduce(self, array: Array, reduction: Reduction, root: int) -> None:
        raise NotImplementedError

    def all_gather(self, outs: Sequence[Array], array: Array) -> None:
        raise NotImplementedError

    def gather(self, outs: Sequence[Array] | None, array: Array, root: int) -> None:
        raise NotImplementedError

    def scatter(self, array: Array, pieces: Sequence[Array] | None, root: int) -> None:
        raise NotImplementedError

    def reduce_scatter(self, out: Array, pieces: Sequence[Array], reduction: Reduction) -> None:
        raise NotImplementedError

    def all_to_all(self, outs: Sequence[Array], pieces: Sequence[Array]) -> None:
        raise NotImplementedError

    def send(self, array: Array, to: int, tag: int, done: Done) -> None:
        """Begin to send; whoever receives has room for as much."""
        raise NotImplementedError

    def receive(self, array: Array, source: int | None, tag: int, done: Done) -> None:
        """Begin to receive, from anyone where no source is named."""
        raise NotImplementedError

    def begin(self) -> None:
        """Begin the sends and receives that were put off until somebody waits for one."""

    def placed(self, run: Callable[[], None], beside: bool) -> Callable[[], None]:
        """`run` for any thread: on the stream that is current here, or `beside` it, after what it was told so far."""
        return run

    def fail(self, why: str) -> None:
        """Let all calls that are waiting, here and in the other processes, end with an error, and all later ones."""

    def close(self) -> None:
        """Leave the group."""

    def __getstate__(self) -> Any:
        raise TypeError("what connects processes cannot be pickled")
