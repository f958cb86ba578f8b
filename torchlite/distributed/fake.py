"""A group in which nobody else is: what others would have sent, it takes from what this process sends.

It serves to see what one of many processes would do, shapes and all, where there are no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.machine import Tensor
from ..core.values import shown_in
from .process_group import ProcessGroup
from .work import Work


@shown_in("torch._C._distributed_c10d")
class FakeWork(Work):
    """What is done as soon as it is begun."""

    def __init__(self) -> None:
        super().__init__()
        self._finish()


def _copied(pairs: Any) -> FakeWork:
    with no_grad():
        for to, given in pairs:
            to.copy_(given)
    return FakeWork()


@shown_in("torch._C._distributed_c10d")
class FakeProcessGroup(ProcessGroup):
    """A process of a group whose others are not there."""

    @classmethod
    def _create_internal(cls, rank: int, size: int, options: Any = None) -> FakeProcessGroup:
        return cls(rank, size)

    def getBackendName(self) -> str:
        """By what it talks."""
        return "custom"

    def _left(self, *args: Any, **said: Any) -> Work:
        """Leave everything as it is."""
        return FakeWork()

    allreduce = allreduce_coalesced = broadcast = reduce = barrier = _left
    send = recv = recv_anysource = _left

    def allgather(self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None) -> Work:
        """Take one's own for those of all."""
        return _copied((out, given) for outs, given in zip(outputs, inputs) for out in outs)

    def allgather_coalesced(self, output_lists: Any, inputs: Any, opts: Any = None) -> Work:
        """Take one's own for those of all."""
        return _copied((out, given) for outs in output_lists for out, given in zip(outs, inputs))

    def all_gather_single(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:
        """Take one's own for those of all."""
        return _copied((part, input.reshape(part.shape)) for part in output.chunk(self.size()))

    def all_gather_single_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Take one's own for those of all."""
        for out, given in zip(outputs, inputs):
            self.all_gather_single(out, given)
        return FakeWork()

    def gather(self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None) -> Work:
        """Take one's own for those of all."""
        return self.allgather(outputs, inputs)

    def scatter(self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None) -> Work:
        """Take one's own of what one has for all."""
        return _copied((out, given[self.rank()]) for out, given in zip(outputs, inputs))

    def reduce_scatter(self, outputs: Any, inputs: Any, opts: Any = None, timeout: Any = None) -> Work:
        """Take one's own of what one has for all."""
        return self.scatter(outputs, inputs)

    def reduce_scatter_single(self, output: Tensor, input: Tensor, opts: Any = None) -> Work:
        """Take one's own of what one has for all."""
        return _copied([(output, input.chunk(self.size())[self.rank()].reshape(output.shape))])

    def reduce_scatter_single_coalesced(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Take one's own of what one has for all."""
        for out, given in zip(outputs, inputs):
            self.reduce_scatter_single(out, given)
        return FakeWork()

    def alltoall(self, outputs: Any, inputs: Any, opts: Any = None) -> Work:
        """Take what one sends for what comes."""
        return _copied(zip(outputs, inputs))

    def all_to_all_single(
        self, output: Tensor, input: Tensor, output_split_sizes: Sequence[int], input_split_sizes: Sequence[int],
        opts: Any = None,
    ) -> Work:  # fmt: skip
        """Take what one sends for what comes, where that has room."""
        return _copied([(output, input)] if output.shape == input.shape else ())
