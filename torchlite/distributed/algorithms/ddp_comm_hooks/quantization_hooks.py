"""Communication hooks under which gradients travel as bytes, each with the scale and the zero of its row.

Bytes cannot be added up on their way: each process gets those of all, and takes the mean of what they stand for.
"""

from __future__ import annotations

from typing import Any

from ....core.machine import Tensor, functions
from ....core.values import dt, finfo, float32
from ....futures import Future
from ....nn.functional import pad
from ...buckets import GradBucket
from ...collectives import all_gather
from ...world import _get_default_group

__all__ = ["quantization_perchannel_hook", "quantization_pertensor_hook"]

_GREATEST = 255  # of a byte


def quantization_pertensor_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The mean of the gradients, which travel as bytes with one scale for the bucket."""
    return _mean_of_bytes(process_group, bucket.buffer().reshape(1, -1), bucket)


def quantization_perchannel_hook(process_group: Any, bucket: GradBucket, bucket_size: int = 512) -> Future:
    """The mean of the gradients, which travel as bytes with a scale for every `bucket_size` of them."""
    buffer = bucket.buffer()
    padded = pad(buffer, (0, -buffer.numel() % bucket_size))
    return _mean_of_bytes(process_group, padded.view(-1, bucket_size), bucket)


def _mean_of_bytes(process_group: Any, rows: Tensor, bucket: GradBucket) -> Future:
    group = _get_default_group() if process_group is None else process_group
    given = _quantized(rows)
    gathered = [[functions["empty_like"](part) for _ in range(group.size())] for part in given]
    work: Any = None
    for everyones, own in zip(gathered, given):
        work = all_gather(everyones, own, group, async_op=True)  # done in this order: the last is waited for

    def mean(_: Future) -> Tensor:
        everyones = functions["stack"]([_dequantized(levels, laws) for laws, levels in zip(*gathered)])
        flat = bucket.buffer()
        return flat.copy_(everyones.mean(0).view(-1)[: flat.numel()])

    return work.get_future().then(mean)


def _quantized(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Scale and zero of each row, and the bytes: zero is among what they can stand for."""
    low, high = rows.amin(1, keepdim=True).clamp(max=0), rows.amax(1, keepdim=True).clamp(min=0)
    scale = ((high - low) / _GREATEST).clamp(min=finfo(float32).eps)
    zero = (-(low / scale).round()).clamp(0, _GREATEST)
    levels = ((rows / scale).round() + zero).clamp(0, _GREATEST).to(dt.uint8)
    return functions["cat"]([scale, zero], 1), levels


def _dequantized(levels: Tensor, laws: Tensor) -> Tensor:
    scale, zero = laws[:, :1], laws[:, 1:]
    return (levels - zero) * scale
