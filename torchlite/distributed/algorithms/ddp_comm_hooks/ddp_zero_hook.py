"""Steps of a ZeroRedundancyOptimizer that are taken while DistributedDataParallel's backward runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....futures import Future
from ...buckets import GradBucket

__all__ = ["hook_with_zero_step", "hook_with_zero_step_interleaved"]

Hook = Callable[[Any, GradBucket], Future]


def hook_with_zero_step(hook: Hook, ddp: Any, zero: Any, shard_buckets: bool = False) -> Hook:
    """A hook that reduces buckets by another; when all are on their way, each process steps on its own of them.

    The optimizer was made with `overlap_with_ddp`, its loop takes no steps. The first two passes, three for a static
    graph, show what the buckets are, and change no parameters. With `shard_buckets`, processes share each bucket.
    """
    return _stepping(hook, ddp, zero, shard_buckets, lag=None)


def hook_with_zero_step_interleaved(hook: Hook, ddp: Any, zero: Any, shard_buckets: bool = False) -> Hook:
    """Like `hook_with_zero_step`; steps on a bucket are taken when the one after it is on its way."""
    return _stepping(hook, ddp, zero, shard_buckets, lag=1)


def _stepping(hook: Hook, ddp: Any, zero: Any, shard_buckets: bool, lag: int | None) -> Hook:
    if not zero._overlap_with_ddp:
        raise ValueError(
            "ZeroRedundancyOptimizer must be constructed with `overlap_with_ddp=True` to use this hook properly"
        )
    under_way: list[tuple[GradBucket, Future]] = []
    arriving: list[Any] = []

    def reduce_and_step(state: Any, bucket: GradBucket) -> Future:
        """What all processes begin is in one order: no step is taken in a thread that another might overtake."""
        future = hook(state, bucket)
        if ddp.reducer.iteration <= (3 if ddp.static_graph else 2):
            return future
        if zero.optim is None:
            zero._share_out_buckets([each.params for each in ddp.reducer.buckets], shard_buckets)
        under_way.append((bucket, future))
        while under_way and (bucket.is_last() or (lag is not None and len(under_way) > lag)):
            reduced, done = under_way.pop(0)
            arriving.extend(zero._step_on(reduced.parameters(), _gradients(reduced, done)))
        if bucket.is_last():
            while arriving:
                arriving.pop().wait()
        return future

    return reduce_and_step


def _gradients(bucket: GradBucket, done: Future) -> list[Any]:
    result = done.wait()
    bucket.set_buffer(result[0] if isinstance(result, (list, tuple)) else result)
    return bucket.gradients()
