"""How tensors and storages travel between processes: as shared pages, not as copies."""

from __future__ import annotations

import atexit
import contextlib
import glob
import hashlib
import os
import weakref
from multiprocessing import current_process, parent_process, reduction
from multiprocessing.context import get_spawning_popen
from typing import Any

from ..core.machine import Tensor
from ..core.memory import HOME, SharedPages, TypedStorage, UntypedStorage, pages_behind, root, share, typed_again
from ..nn.parameter import Parameter

STRATEGIES = frozenset(("file_descriptor", "file_system"))
strategy = "file_descriptor"


class StorageWeakRef:
    """Knows memory without keeping it. Those that know the same memory are equal."""

    __slots__ = ("_memory", "cdata")

    def __init__(self, storage: Any) -> None:
        shown = storage.untyped().bytes
        owner = shown.memory if storage.device.type == "meta" else root(shown)
        self._memory = weakref.ref(owner)  # the same object for all who ask
        self.cdata = id(self._memory)

    def expired(self) -> bool:
        """Whether nobody holds the memory any more."""
        return self._memory() is None

    def __hash__(self) -> int:
        return self.cdata

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageWeakRef) and self._memory is other._memory


def reduce_tensor(tensor: Tensor) -> Any:
    """What a tensor is in a message to another process: its place in its storage."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )
    if tensor.is_cpu:
        share(tensor)
    return tensor.__reduce_ex__(2)


def reduce_storage(storage: UntypedStorage) -> tuple[Any, ...]:
    """What a storage is in a message to another process: some of the bytes of shared pages."""
    if storage.device.type != "cpu":
        raise NotImplementedError(f"torchlite cannot share memory of {storage.device} between processes; send a copy")
    pages = pages_behind(storage.share_memory_().bytes)
    if pages is None:
        raise RuntimeError("the storage was given other memory while it was being shared")
    start = pages.array(0, 0)
    offset = storage._backend.pointer(storage.bytes) - storage._backend.pointer(start)
    return rebuild_storage, (pages, offset, storage.nbytes())


def rebuild_storage(pages: SharedPages, offset: int, nbytes: int) -> UntypedStorage:
    return UntypedStorage.over(pages.array(offset, nbytes))


def reduce_typed_storage(storage: TypedStorage) -> tuple[Any, ...]:
    """The same of a storage with a dtype, whatever it is in other pickles."""
    return typed_again, (storage.untyped(), storage.dtype)


def reduce_pages(pages: SharedPages) -> tuple[Any, ...]:
    """Pages travel as a descriptor or, with the strategy "file_system", as a name that is good for one journey."""
    if strategy == "file_system":
        name = pages.name_for_journey(_family())
        if name is not None:
            return SharedPages.received, (name, len(pages))
    popen = get_spawning_popen()
    if popen is not None:  # a process is being started, which is to find the descriptor open
        vars(popen).setdefault("shared_pages", []).append(pages)
    return rebuild_pages, (reduction.DupFd(pages.descriptor), len(pages))


def rebuild_pages(descriptor: Any, nbytes: int) -> SharedPages:
    return SharedPages(descriptor.detach(), nbytes)


def _family() -> str:
    """How the names begin that are given by this process and all that come from the same one."""
    return f"torch_{hashlib.sha256(bytes(current_process().authkey)).hexdigest()[:16]}_"


def _sweep(process: int = os.getpid()) -> None:
    """Take away names that were never asked for."""
    if os.getpid() == process:
        for name in glob.glob(f"{HOME}/{_family()}*"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)


def init_reductions() -> None:
    """Let multiprocessing's queues and pipes send tensors so."""
    register = reduction.ForkingPickler.register
    for cls in (Tensor, Parameter):
        register(cls, reduce_tensor)
    register(UntypedStorage, reduce_storage)
    register(TypedStorage, reduce_typed_storage)
    register(SharedPages, reduce_pages)
    if HOME is not None and parent_process() is None:
        atexit.register(_sweep)


init_reductions()
