"""Gradients averaged among all processes at first, later only among those of a subgroup."""

from __future__ import annotations

import logging
from typing import Any

from ....futures import Future
from ...buckets import GradBucket
from ...world import _get_default_group
from .default_hooks import allreduce_hook

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]

_log = logging.getLogger(__name__)


class PostLocalSGDState:
    """From iteration `start_localSGD_iter` on, gradients are averaged among `subgroup` alone, or not at all."""

    __slots__ = ("iter", "post_local_gradient_allreduce", "process_group", "start_localSGD_iter", "subgroup")

    def __init__(
        self, process_group: Any, subgroup: Any, start_localSGD_iter: int, post_local_gradient_allreduce: bool = True
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count an iteration, at its last bucket."""
        if bucket.is_last():
            self.iter += 1
            if self.iter == self.start_localSGD_iter:
                _log.info("Start to apply local SGD after %s iterations.", self.iter)


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future:
    """Average gradients among all processes, or, later on, among those of the subgroup."""
    everyone = state.process_group or _get_default_group()
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(everyone, bucket)
    if not state.post_local_gradient_allreduce:
        future: Future = Future()
        future.set_result(bucket.buffer())
        return future
    if state.subgroup is None:
        raise RuntimeError("PostLocalSGDState has no subgroup: make one with torch.distributed.new_subgroups")
    return allreduce_hook(state.subgroup, bucket)
