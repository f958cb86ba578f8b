"""Communication hooks that take the mean of gradients, as they are or in fewer bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.machine import Tensor
from ....core.values.dtype import bfloat16, dtype, float16
from ....futures import Future
from ...buckets import GradBucket
from ...collectives import all_reduce
from ...world import _get_default_group

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper",
]  # fmt: skip


def mean_of(tensor: Tensor, group: Any) -> Future:
    """The mean of a tensor, which it is written into, over all processes of a group."""
    group = _get_default_group() if group is None else group
    work = all_reduce(tensor.div_(group.size()), group=group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The mean of the gradients, as without a hook."""
    return mean_of(bucket.buffer(), process_group)


def compressed(kind: dtype, process_group: Any, bucket: GradBucket) -> Future:
    """The mean of the gradients, which travel as another dtype."""
    buffer = bucket.buffer()
    return mean_of(buffer.to(kind), process_group).then(lambda future: buffer.copy_(future.value()))


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The mean of the gradients, which travel as float16."""
    return compressed(float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The mean of the gradients, which travel as bfloat16."""
    return compressed(bfloat16, process_group, bucket)


def _wrapper(name: str, kind: dtype, hook: Callable[[Any, GradBucket], Future]) -> Callable[[Any, GradBucket], Future]:
    def compressing(hook_state: Any, bucket: GradBucket) -> Future:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(kind))
        return hook(hook_state, bucket).then(lambda future: buffer.copy_(future.value()))

    compressing.__name__ = f"{name}_hook"  # as loggers call it
    return compressing


def fp16_compress_wrapper(hook: Callable[[Any, GradBucket], Future]) -> Callable[[Any, GradBucket], Future]:
    """A hook that hands another one the gradients as float16."""
    return _wrapper("fp16_compress_wrapper", float16, hook)


def bf16_compress_wrapper(hook: Callable[[Any, GradBucket], Future]) -> Callable[[Any, GradBucket], Future]:
    """A hook that hands another one the gradients as bfloat16."""
    return _wrapper("bf16_compress_wrapper", bfloat16, hook)
