"""`torch.utils.serialization.config`: settings of `torch.save` and `torch.load`.

config.load.mmap = True            # what `mmap=None` means
config.load.endianness             # of files that do not say theirs
config.load.mmap_flags             # MAP_PRIVATE or MAP_SHARED
config.load.calculate_storage_offsets
config.save.compute_crc32 = False  # leave out the checksums, which readers do not look at
config.save.storage_alignment      # what the places of storages are multiples of
config.save.use_pinned_memory_for_d2h

with config.patch({"load.mmap": True}):  # or patch("load.mmap", True); a decorator, too
    ...
"""

from __future__ import annotations

import contextlib
import mmap
import pickle
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

__all__ = ["get_config_copy", "load", "load_config", "patch", "save", "save_config"]


class _Settings(SimpleNamespace):
    """Settings by name; there are no others than those made at the beginning."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            self.__getattr__(name)
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        section = next((section for section, settings in _SECTIONS.items() if settings is self), "")
        raise AttributeError(f"torch.utils.serialization.config.{section}.{name} does not exist")


load: Any = _Settings(
    mmap=False, endianness=None, mmap_flags=getattr(mmap, "MAP_PRIVATE", None), calculate_storage_offsets=False
)
save: Any = _Settings(compute_crc32=True, use_pinned_memory_for_d2h=False, storage_alignment=64)
_SECTIONS = {"load": load, "save": save}


def get_config_copy() -> dict[str, Any]:
    """All settings, by names like "load.mmap"."""
    return {f"{section}.{name}": v for section, settings in _SECTIONS.items() for name, v in vars(settings).items()}


def _set(changes: Mapping[str, Any]) -> None:
    for name, value in changes.items():
        section, _, setting = name.partition(".")
        if section not in _SECTIONS:
            raise AttributeError(f"torch.utils.serialization.config.{name} does not exist")
        setattr(_SECTIONS[section], setting, value)


@contextlib.contextmanager
def patch(arg1: str | Mapping[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> Iterator[None]:
    """Other settings for a while: `patch("load.mmap", True)`, or several in a dict."""
    changes = {arg1: arg2} if isinstance(arg1, str) else dict(arg1 or kwargs)
    before = get_config_copy()
    try:
        _set(changes)
        yield
    finally:
        _set(before)


def save_config() -> bytes:
    """All settings as bytes, for `load_config`."""
    return pickle.dumps(get_config_copy(), protocol=2)


def load_config(maybe_pickled_config: bytes | Mapping[str, Any]) -> None:
    """Take over what `save_config` or `get_config_copy` gave."""
    given = maybe_pickled_config
    _set(pickle.loads(given) if isinstance(given, bytes) else given)
