"""A communication hook that communicates nothing: what training would cost without it."""

from __future__ import annotations

from typing import Any

from ....futures import Future
from ...buckets import GradBucket

__all__ = ["noop_hook"]


def noop_hook(_: Any, bucket: GradBucket) -> Future:
    """The gradients of this process alone; parameters drift apart."""
    future: Future = Future()
    future.set_result(bucket.buffer())
    return future
