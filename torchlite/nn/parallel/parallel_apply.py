"""Several modules called at once, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from ... import cuda
from ...core.state import local
from ...core.values.device import device as Device
from ...utils.exceptions import ExceptionWrapper
from ..modules.module import Module
from .scatter_gather import device_of

__all__ = ["parallel_apply"]


def parallel_apply(
    modules: Sequence[Module], inputs: Sequence[Any], kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[int | Device | None] | None = None,
) -> list[Any]:  # fmt: skip
    """What each module gives for its inputs, computed at the same time, in the caller's modes."""
    count = len(modules)
    if count != len(inputs):
        raise AssertionError(f"The number of modules {count} is not equal to the number of inputs {len(inputs)}")
    if devices is not None and count != len(devices):
        raise AssertionError(f"The number of modules {count} is not equal to the number of devices {len(devices)}")
    places = [None if d is None else device_of(d) for d in devices or [None] * count]
    named = kwargs_tup or [{}] * count
    results: list[Any] = [None] * count
    mode = local.state.mode

    def call(i: int) -> None:
        local.state.mode = mode
        place = places[i]
        try:
            with cuda.device(place) if place is not None and place.type == "cuda" else nullcontext():
                given = inputs[i] if isinstance(inputs[i], (list, tuple)) else (inputs[i],)
                results[i] = modules[i](*given, **named[i])
        except Exception:
            results[i] = ExceptionWrapper(where=f"in replica {i} on device {place}")

    threads = [threading.Thread(target=call, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, ExceptionWrapper):
            result.reraise()
    return results
