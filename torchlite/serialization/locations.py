"""Which device a storage in a file belongs to, and where it goes when it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..backends.base import backend_names, get_backend
from ..core.memory import TypedStorage, UntypedStorage
from ..core.values.device import device as Device

if TYPE_CHECKING:
    Tagger = Callable[[Any], str | None]
    Deserializer = Callable[[Any, str], Any]
    Restore = Callable[[Any, str], Any]

_packages: list[tuple[int, Any, Any]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Teach `torch.save` and `torch.load` a kind of device.

    `tagger(storage)` names the location of a storage, `deserializer(storage, location)` moves a storage there; either
    gives None where it is not its business. The lowest priority is asked first.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """What files call the location of a storage."""
    for _, tagger, _ in _packages:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError(f"don't know how to determine data location of {_typename(storage)}")


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage, moved to where a location in a file says."""
    for _, _, deserializer in _packages:
        moved = deserializer(storage, location)
        if moved is not None:
            return moved
    raise RuntimeError(f"don't know how to restore data location of {_typename(storage)} (tagged with {location})")


def _typename(storage: Any) -> str:
    return f"{type(storage).__module__}.{type(storage).__qualname__}"


# ---- the devices there are


def _cpu_deserialize(storage: Any, location: str) -> Any:
    return storage if location == "cpu" else None


def _meta_deserialize(storage: Any, location: str) -> Any:
    return storage.untyped().to(device="meta") if location == "meta" else None


_INSTEAD = (
    "If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
    "storages to the CPU."
)


def _accelerator_deserialize(storage: Any, location: str) -> Any:
    kind = location.partition(":")[0]
    if kind in ("cuda", "xpu"):
        validate_cuda_device(location)
    elif kind == "hpu":
        validate_hpu_device(location)
    elif kind in ("mps", "xla"):
        raise RuntimeError(f"torchlite has no device {location}. {_INSTEAD}")
    elif kind not in backend_names():
        return None
    return storage.untyped().to(device=location)


def validate_cuda_device(location: str) -> int:
    """The number of the CUDA device that a location names; RuntimeError where there is none."""
    where = Device(location)
    try:
        found = get_backend(where)
    except (AssertionError, NotImplementedError, RuntimeError):
        raise RuntimeError(
            f"Attempting to deserialize object on a {where.type.upper()} device but torch.{where.type}.is_available() "
            f"is False. {_INSTEAD}"
        ) from None
    return found.device.index or 0


def validate_hpu_device(location: str) -> int:
    """RuntimeError: there are no such devices here."""
    raise RuntimeError(f"The HPU device module is not registered. {_INSTEAD}")


register_package(10, lambda storage: "cpu" if storage.device.type == "cpu" else None, _cpu_deserialize)
register_package(22, lambda storage: "meta" if storage.device.type == "meta" else None, _meta_deserialize)
register_package(40, lambda storage: str(storage.device), _accelerator_deserialize)


# ---- map_location


def restorer(map_location: Any) -> Restore:
    """The function that puts each storage where the caller of `torch.load` wants it."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, Device)):
        wanted = map_location.decode("ascii") if isinstance(map_location, bytes) else str(map_location)
        return lambda storage, location: default_restore_location(storage, wanted)

    def restore(storage: Any, location: str) -> Any:
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return restore


def is_meta(map_location: Any) -> bool:
    """Whether nothing that is loaded is to have values."""
    return isinstance(map_location, (str, Device)) and str(map_location).partition(":")[0] == "meta"


def checked(restored: Any) -> UntypedStorage:
    """What a `map_location` function returned, if that is a storage."""
    if isinstance(restored, TypedStorage):
        return restored.untyped()
    if not isinstance(restored, UntypedStorage):
        raise TypeError(
            "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
            " * (*, torch.device device, torch.dtype dtype)\n"
            " * (int size, *, torch.device device, torch.dtype dtype)\n"
            " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
            " * (*, UntypedStorage wrap_storage, torch.dtype dtype)\n"
            f"Argument 'wrap_storage' must be UntypedStorage, but got {type(restored)}"
        )
    return restored
