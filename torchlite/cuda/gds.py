"""`torch.cuda.gds`: files that GPUs read and write themselves, for which there is nothing in CuPy."""

from __future__ import annotations

from .unsupported import lacking_class, lacking_function

__all__ = ["GdsFile", "gds_deregister_buffer", "gds_register_buffer"]

_FILES = "see the package kvikio, whose files read and write what has a __cuda_array_interface__"

GdsFile = lacking_class("GdsFile", _FILES, "torch.cuda.gds")
gds_register_buffer = lacking_function("gds_register_buffer", _FILES, "torch.cuda.gds")
gds_deregister_buffer = lacking_function("gds_deregister_buffer", _FILES, "torch.cuda.gds")
