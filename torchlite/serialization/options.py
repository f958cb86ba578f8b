"""Settings of `torch.save` and `torch.load` that are not arguments."""

from __future__ import annotations

import enum
import mmap
import os
import threading
from typing import Any

from ..core.state import Holding
from ..core.values import warn
from ..utils.serialization import config


class LoadEndianness(enum.Enum):
    """The byte order of a file that does not name its own."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed of files that do not name one; None is little."""
    return config.load.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Assume this byte order of files that do not name one."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    config.load.endianness = endianness


def get_crc32_options() -> bool:
    """Whether `torch.save` computes checksums."""
    return config.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Say whether `torch.save` computes checksums. `torch.load` does not look at them; other zip tools do."""
    config.save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """The flags with which `torch.load(mmap=True)` maps files."""
    return config.load.mmap_flags


class set_default_mmap_options:
    """Map files with these flags: MAP_PRIVATE, or MAP_SHARED, with which writes to tensors go to the file.

    As a context manager, until its end.
    """

    def __init__(self, flags: int) -> None:
        private, shared = getattr(mmap, "MAP_PRIVATE", None), getattr(mmap, "MAP_SHARED", None)
        if private is None:
            raise RuntimeError("Changing the default mmap options is currently not supported for Windows")
        if flags not in (private, shared):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, "
                f"but got {flags}"
            )
        self.before = config.load.mmap_flags
        config.load.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        config.load.mmap_flags = self.before


class _Thread(threading.local):
    """What is switched on in one thread."""

    skip_data = False


here = _Thread()


class skip_data(Holding):
    """Inside, in this thread, `torch.save` leaves room for storages without filling it, and `torch.load` reads none."""

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        super().__init__(here, skip_data=True)


# ---- whether to trust a file

_YES = ("1", "y", "yes", "true")


def trusts_only_weights(weights_only: Any, pickle_module: Any) -> bool:
    """Whether to load tensors and plain values alone, from what was passed to `torch.load` and the environment."""
    always = os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in _YES
    never = os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in _YES
    if always and never:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both "
            "were set."
        )
    if always:
        return True
    if weights_only is not None:
        return bool(weights_only)
    if never:
        warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was not "
            "explicitly passed to `torch.load`, forcing weights_only=False.",
        )
        return False
    return pickle_module is None
