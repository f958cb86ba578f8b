"""Exchanging channels with one another, as a module."""

from __future__ import annotations

from ...core.machine import Tensor
from .. import functional as F
from .fields import fields
from .module import Module

__all__ = ["ChannelShuffle"]


@fields
class ChannelShuffle(Module):
    """Takes channels from each of several groups in turn."""

    groups: int

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)
