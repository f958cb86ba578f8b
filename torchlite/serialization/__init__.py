"""`torch.serialization`: saving objects to files and loading them, in PyTorch's formats.

target, source, zip_writer, zip_reader   bytes
names                                    PyTorch's names for what torchlite keeps elsewhere
pickler, interpreter, allowed            pickles, and what a pickle may do
storages, locations                      the memory of tensors, and where it goes
legacy_writer, legacy, tar               files from before PyTorch 1.6
saving, loading                          `save` and `load`
"""

from __future__ import annotations

from collections.abc import Callable
from tempfile import mkdtemp
from typing import Any

from ..core.memory import STORAGES
from ..core.values import bear_name, warn
from ..core.values.device import device
from ..core.values.layout import _get_layout
from ..operations.making.legacy_types import TYPES
from ..types import Storage
from .allowed import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .legacy import SourceChangeWarning
from .legacy_writer import MAGIC_NUMBER, PROTOCOL_VERSION
from .loading import get_unsafe_globals_in_checkpoint, load
from .locations import (
    default_restore_location,
    location_tag,
    register_package,
    validate_cuda_device,
    validate_hpu_device,
)
from .names import StorageType
from .options import (
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from .pickler import PROTOCOL as DEFAULT_PROTOCOL
from .saving import save

__all__ = [
    "save", "load", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals",
    "get_unsafe_globals_in_checkpoint", "register_package", "location_tag", "default_restore_location",
    "validate_cuda_device", "validate_hpu_device", "LoadEndianness", "get_default_load_endianness",
    "set_default_load_endianness", "get_default_mmap_options", "set_default_mmap_options", "get_crc32_options",
    "set_crc32_options", "skip_data", "StorageType", "SourceChangeWarning", "normalize_storage_type",
    "check_module_version_greater_or_equal", "storage_to_tensor_type", "mkdtemp",
]  # fmt: skip


MAP_LOCATION = Callable[[Storage, str], Storage] | device | str | dict[str, str] | None
"""What `load` takes as `map_location`."""


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Whether a module's `__version__` is at least this."""
    parts = module.__version__.split(".")
    try:
        version = tuple(type(wanted)(parts[i]) for i, wanted in enumerate(req_version_tuple))
    except (IndexError, ValueError) as error:
        said = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and cannot be compared "
            f"with tuple {req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(said) from error
        warn(f"{said}, but continuing assuming that requirement is met")
        return True
    return version >= req_version_tuple


def normalize_storage_type(storage_type: Any) -> Any:
    """The class in `torch` of the storages of a device."""
    return STORAGES[storage_type.__name__]


def storage_to_tensor_type(storage: Any) -> Any:
    """The class of tensors that have the dtype of a storage, and its device."""
    return TYPES[f"torch.{'cuda.' * (storage.device.type == 'cuda')}{storage.dtype.legacy}Tensor"]


for _name in (*__all__[:-1], "_get_layout"):
    bear_name(globals()[_name], "torch.serialization")
