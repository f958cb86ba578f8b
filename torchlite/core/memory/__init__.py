"""The memory behind tensors, and moving it."""

from .relocation import grow, is_alone, share, use_count
from .shared_memory import HOME, Resized, SharedPages, borrowed, lend, movable, pages_behind, root
from .storage import UntypedStorage
from .typed_storage import (
    STORAGES,
    TypedStorage,
    _get_always_warn_typed_storage_removal,
    _set_always_warn_typed_storage_removal,
    storage_name,
    typed_again,
    warn_typed_storage_removal,
)
