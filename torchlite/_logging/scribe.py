"""`torch._logging.scribe`: where PyTorch's makers send reports of their test runs."""

from __future__ import annotations

from typing import Any


def open_source_signpost(**report: Any) -> None:
    """Nothing is sent."""
