"""What goes wrong between processes."""

from ..core.values import Told, bear_name

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "QueueEmptyError"]


class DistError(Told, RuntimeError):
    """Something went wrong between processes."""


class DistBackendError(DistError):
    """What moves tensors between processes failed: one of them is gone, late, or did something else."""


class DistNetworkError(DistError):
    """A connection could not be made, or broke."""


class DistStoreError(DistError):
    """A store was asked for what did not come in time."""


class QueueEmptyError(DistStoreError):
    """A store's queue had nothing in it."""


for _error in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    bear_name(_error, "torch.distributed")
