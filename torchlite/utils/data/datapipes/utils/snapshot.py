"""Bringing a pipe forward to where it had been."""

from __future__ import annotations

from typing import Any

from .....core.machine import Generator
from ...graph_settings import apply_random_seed
from .._hook_iterator import _SnapshotState
from ..datapipe import IterDataPipe


def _simple_graph_snapshot_restoration(datapipe: IterDataPipe[Any], n_iterations: int, rng: Any = None) -> None:
    """Read and forget so many samples; the next pass goes on from there."""
    if datapipe._snapshot_state is _SnapshotState.Restored:
        raise RuntimeError(
            "Snapshot restoration cannot be applied. You can only restore simple snapshot to the graph if your graph "
            "has not been restored."
        )
    datapipe._snapshot_state = _SnapshotState.NotStarted
    apply_random_seed(datapipe, rng if rng is not None else Generator())
    samples = iter(datapipe)
    for _ in range(n_iterations):
        try:
            next(samples)
        except StopIteration:
            raise RuntimeError(
                f"Fast-forward {datapipe} by {n_iterations} iterations exceeds the number of samples available."
            ) from None
    datapipe._fast_forward_iterator = samples
    datapipe._snapshot_state = _SnapshotState.Restored
