"""`torch.cuda.gds`: files that GPUs read and write themselves, for which there is nothing in CuPy."""

from .unsupported import lacking_class, lacking_functions

_GDS = "torch.cuda.gds"
_FILES = "see the package kvikio, whose files read and write what has a __cuda_array_interface__"


@lacking_class(_FILES, _GDS, "deregister_handle load_storage register_handle save_storage")
class GdsFile:
    """A file that a GPU reads and writes itself."""


_BUFFERS = lacking_functions(_GDS, _FILES, "gds_deregister_buffer gds_register_buffer")
globals().update(_BUFFERS)
__all__ = ["GdsFile", *_BUFFERS]
