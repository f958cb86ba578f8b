"""Page-locked memory for batches, from which an accelerator can be fed while it computes."""

from __future__ import annotations

import queue
from collections.abc import Mapping, Sequence
from typing import Any

from ....core.machine import Tensor
from ....core.values import DeviceLike
from ...exceptions import ExceptionWrapper
from .collate import converted


def pin_memory(data: Any, device: DeviceLike = None) -> Any:
    """A batch whose tensors, and objects with a method `pin_memory`, lie in page-locked memory."""
    if isinstance(data, Tensor):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, (Mapping, Sequence)):
        made = converted(data, pin_memory)
        return tuple(made) if type(data) is tuple else made
    return data.pin_memory() if hasattr(data, "pin_memory") else data


def _pin_memory_loop(in_queue: Any, out_queue: Any, device_id: Any, done_event: Any, device: DeviceLike) -> None:
    """The life of a thread: pairs of a number and a batch, or what went wrong, go from queue to queue, pinned."""
    from .worker import MP_STATUS_CHECK_INTERVAL  # processes are not everywhere

    while not done_event.is_set():
        try:
            number, data = in_queue.get(timeout=MP_STATUS_CHECK_INTERVAL)
        except queue.Empty:
            continue
        if not isinstance(data, ExceptionWrapper):
            try:
                data = pin_memory(data, device)
            except Exception:
                data = ExceptionWrapper(where=f"in pin memory thread for device {device_id}")
        while not done_event.is_set():
            try:
                out_queue.put((number, data), timeout=MP_STATUS_CHECK_INTERVAL)
                break
            except queue.Full:
                continue
        del number, data  # which hold memory
