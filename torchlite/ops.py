"""`torch.ops`: operators by the namespace in which PyTorch (`aten`) or a program declared them."""

from . import _ops
from ._library.loading import load_library as load_library


def __getattr__(name: str) -> object:
    """A namespace of operators."""
    if name.startswith("__"):
        raise AttributeError(name)
    found = globals()[name] = _ops.Namespace(name)
    return found
