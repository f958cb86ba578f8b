"""Memory that processes share: pages of a nameless file, which go when the last process lets go of them."""

from __future__ import annotations

import itertools
import mmap
import os
import sys
import weakref
from typing import Any

import numpy as np

from ..structs import know
from ..values import Array

HOME = "/dev/shm" if os.path.isdir("/dev/shm") else None  # where files are memory; None: the temporary directory
_UNTRACKED: dict[str, Any] = {"trackfd": False} if sys.version_info >= (3, 13) else {}  # the descriptor is kept here
_serial = itertools.count()


class SharedPages(mmap.mmap):
    """The pages of a file, with a descriptor of it, by which other processes get at them."""

    descriptor = -1
    filename: str | None = None  # of a file that the user named
    _link: str | None = None  # the name that a process gave a nameless one
    _namer = -1  # that process

    def __new__(cls, descriptor: int, nbytes: int, filename: str | None = None) -> SharedPages:
        """The pages of a file whose descriptor is given away; those mapped already, if there are any."""
        about = os.fstat(descriptor)
        key = about.st_dev, about.st_ino
        known = _mapped.get(key)
        if known is not None and len(known) >= nbytes:
            os.close(descriptor)
            return known
        try:
            pages = super().__new__(cls, descriptor, max(nbytes, 1), **_UNTRACKED)
        except OSError:
            os.close(descriptor)
            raise
        pages.descriptor = descriptor
        pages.filename = filename
        _mapped[key] = pages
        return pages

    @classmethod
    def fresh(cls, nbytes: int) -> SharedPages:
        """New pages, of zeros."""
        if sys.platform == "win32":
            raise NotImplementedError("torchlite shares memory between processes on POSIX systems only")
        try:
            descriptor = os.open(HOME or "", os.O_TMPFILE | os.O_RDWR, 0o600)
        except (AttributeError, OSError):  # the system has no files without names
            import tempfile  # which brings much along

            descriptor, name = tempfile.mkstemp(prefix="torch_", dir=HOME)
            os.unlink(name)
        _allocate(descriptor, max(nbytes, 1))
        return cls(descriptor, nbytes)

    @classmethod
    def received(cls, name: str, nbytes: int) -> SharedPages:
        """The pages of a file that another process named for the journey."""
        descriptor = os.open(name, os.O_RDWR)
        os.unlink(name)
        return cls(descriptor, nbytes)

    def name_for_journey(self, prefix: str) -> str | None:
        """A name by which one other process will find these pages, and take away; None if they can have none."""
        prefix = f"{HOME}/{prefix}{os.getpid()}_"
        name = f"{prefix}{next(_serial)}"
        try:
            if self._link is None:
                first = f"{prefix}{next(_serial)}"
                # Being relative to a directory, though absolute, the link of the descriptor is followed.
                os.link(f"/proc/self/fd/{self.descriptor}", first, src_dir_fd=self.descriptor)
                self._link, self._namer = first, os.getpid()
            os.link(self._link, name)
        except OSError:
            return None
        return name

    def array(self, offset: int, nbytes: int) -> np.ndarray:
        """Some of the bytes."""
        return np.ndarray((nbytes,), np.uint8, self, offset)

    def __del__(self, close: Any = os.close, unlink: Any = os.unlink, getpid: Any = os.getpid) -> None:
        if self.descriptor >= 0:
            close(self.descriptor)
        if self._namer == getpid():
            try:
                unlink(self._link)
            except OSError:
                pass  # swept away at exit


def _allocate(descriptor: int, nbytes: int) -> None:
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, nbytes)  # or writing would kill the process where there is no room
        else:
            os.ftruncate(descriptor, nbytes)
    except OSError as error:
        os.close(descriptor)
        raise RuntimeError(
            f"unable to allocate shared memory(shm) of {nbytes} bytes: {error.strerror} ({error.errno})"
        ) from None


_mapped: weakref.WeakValueDictionary[tuple[int, int], SharedPages] = weakref.WeakValueDictionary()


class Resized(np.ndarray):
    """Bytes of which a storage holds only the first so many; tensors may reach further."""

    held: int


# The arrays at the root of memory that others than tensors hold too, by their `id`.
_lent: dict[int, weakref.ref[np.ndarray]] = {}


def lend(array: np.ndarray) -> np.ndarray:
    """Note that the memory of an array is held by others than tensors from now on, and stays where it is."""
    owner = root(array)
    key = id(owner)
    if key not in _lent:
        _lent[key] = weakref.ref(owner, lambda _: _lent.pop(key, None))
    return array


def borrowed(array: np.ndarray) -> np.ndarray:
    """An array of others' memory over just what it reaches, which is all that its storage holds."""
    lend(array)
    owner = root(array)
    if array.flags.forc and owner.flags.forc and array.nbytes == owner.nbytes:
        return array.view(np.ndarray)
    low, high = np.lib.array_utils.byte_bounds(array) if array.size else (0, 0)
    item = array.itemsize
    reached = np.lib.stride_tricks.as_strided(array, ((high - low) // item,), (item,))
    return np.ndarray(array.shape, array.dtype, np.frombuffer(reached, np.uint8), 0, array.strides)


know(lent=_lent, lend=lend)


def movable(array: Array) -> bool:
    """Whether memory is this process's own and no others' than tensors', and on the host."""
    if not isinstance(array, np.ndarray):
        return False
    owner = root(array)
    return owner.base is None and id(owner) not in _lent


def root(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory (or borrowed it first)."""
    base = array.base
    while isinstance(base, np.ndarray):
        array = base
        base = array.base
    return array


def pages_behind(array: Array) -> SharedPages | None:
    """The shared pages that an array lies in."""
    base = root(array).base if isinstance(array, np.ndarray) else None
    return base if isinstance(base, SharedPages) else None
