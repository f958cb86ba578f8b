"""The parts of a DataLoader: fetching samples, making batches of them, and doing so in workers."""

from __future__ import annotations

from . import collate, fetch, pin_memory, worker
from .worker import MP_STATUS_CHECK_INTERVAL
