"""`torch.backends.xnnpack`, which is not used here."""

from __future__ import annotations

enabled = False
