"""`torch.utils.serialization.config`: settings of `torch.save` and `torch.load`.

config.load.mmap = True            # what `mmap=None` means
config.load.endianness             # of files that do not say theirs
config.load.mmap_flags             # MAP_PRIVATE or MAP_SHARED
config.load.calculate_storage_offsets
config.save.compute_crc32 = False  # leave out the checksums, which readers do not look at
config.save.storage_alignment      # what the places of storages are multiples of
config.save.use_pinned_memory_for_d2h
"""

from __future__ import annotations

import mmap
from types import SimpleNamespace
from typing import Any

__all__ = ["load", "save"]


class _Settings(SimpleNamespace):
    """Settings by name; there are no others than those made at the beginning."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(f"torch.utils.serialization.config has no setting {name!r}")
        super().__setattr__(name, value)


load: Any = _Settings(
    mmap=False, endianness=None, mmap_flags=getattr(mmap, "MAP_PRIVATE", None), calculate_storage_offsets=False
)
save: Any = _Settings(compute_crc32=True, use_pinned_memory_for_d2h=False, storage_alignment=64)
