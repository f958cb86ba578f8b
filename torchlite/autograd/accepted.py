"""Switches of PyTorch's engine and compiler, which are accepted and make no difference here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class enforce_grad_layout_policy:
    """Whether gradients must lie in memory as their parameters do: they always do here.

    From now on, or inside a `with`.
    """

    def __init__(self, enable: bool = True) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


@contextlib.contextmanager
def region_activation_memory_budget(budget: float) -> Iterator[None]:
    """How much of what a compiled region keeps for backward it may keep; nothing is compiled here."""
    if not 0 <= budget <= 1:
        raise ValueError(f"budget must be between 0 and 1, but got {budget}")
    yield


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Whether to warn of gradients that come from another stream, which is not looked at here."""


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Whether to mend streams of CUDA graphs, of which there are none here."""
