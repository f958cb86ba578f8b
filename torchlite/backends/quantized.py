"""`torch.backends.quantized`: engines for quantized tensors, of which there are none here."""

from __future__ import annotations

engine = "none"
supported_engines = ["none"]
