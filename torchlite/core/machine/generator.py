"""`torch.Generator`: a stream of random numbers, and each device's own."""

from __future__ import annotations

import os
from typing import Any

from ..values import dtype as dt
from ..values import shown_in, spelled
from ..values.device import CPU, device, get_backend
from .tensor import wrap

_FIRST_SEED = 67280421310721


@shown_in("torch._C")
class Generator:
    """A stream of random numbers with a seed of its own. Equal seeds give equal numbers, and PyTorch's."""

    __slots__ = ("__weakref__", "_device", "stream")

    def __init__(self, device: Any = "cpu", *, _seed: int = _FIRST_SEED) -> None:
        self._device = _device("cpu" if device is None else device)
        self.stream = get_backend(self._device).random_stream(_seed)

    @property
    def device(self) -> device:
        """The device whose numbers it draws."""
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream anew from a seed."""
        if not isinstance(seed, int) or isinstance(seed, bool):
            if hasattr(seed, "__index__") and not hasattr(seed, "_array") and not isinstance(seed, bool):
                raise TypeError("an integer is required")
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        self.stream.seed(checked_seed(seed))
        return self

    def seed(self) -> int:
        """Start anew from a seed of the system's choice, and return it."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.stream.seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed that the stream was last started from."""
        return self.stream.initial_seed

    def get_state(self) -> Any:
        """The state as a uint8 tensor, byte for byte PyTorch's."""
        backend = get_backend(CPU)
        return wrap(backend.from_host(self.stream.get_state()), dt.uint8, backend)

    def set_state(self, new_state: Any) -> Generator:
        """Go on from a state that `get_state` gave."""
        if not hasattr(new_state, "_array"):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype.name != "uint8":
            raise TypeError("RNG state must be a torch.ByteTensor")
        if not new_state.is_contiguous():
            raise RuntimeError("RNG state must be contiguous")
        self.stream.set_state(new_state._host_array().reshape(-1))
        return self

    def clone_state(self) -> Generator:
        """Another generator, at the same place in the same stream."""
        other = Generator(self.device)
        other.stream = self.stream.clone()
        return other

    def graphsafe_get_state(self) -> Generator:
        """For generators whose state lies on a GPU."""
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state: Generator) -> Generator:
        """For generators whose state lies on a GPU."""
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def get_offset(self) -> int:
        """How far a generator that counts has come."""
        return self._counting().offset

    def set_offset(self, offset: int) -> Generator:
        """Let a generator that counts go on from somewhere."""
        self._counting().offset = offset
        return self

    def _counting(self) -> Any:
        if self.stream.on_host:
            raise RuntimeError(f"{self.device.type.upper()} Generator does not use offset")
        return self.stream

    def __copy__(self) -> Generator:
        return self.clone_state()

    def __deepcopy__(self, memo: Any) -> Generator:
        return self.clone_state()

    def __reduce__(self) -> tuple[Any, ...]:
        return spelled(Generator), (self.device,), (self.initial_seed(), None, self.get_state())

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.set_state(state[2])

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"


def _device(where: Any) -> device:
    if hasattr(where, "_array"):
        raise TypeError("Generator(): argument 'device' (position 1) must be torch.device, not Tensor")
    found = where if isinstance(where, device) else device(where)
    if found.type in ("meta", "vulkan"):
        raise RuntimeError(f"{found.type.upper()} device type not an accelerator.")
    return CPU if found.type == "cpu" else found


def checked_seed(seed: int) -> int:
    if not -(1 << 63) <= seed < 1 << 64:
        raise ValueError("Overflow when unpacking long long")
    return seed % (1 << 64)


_defaults: dict[device, Generator] = {}
_common: list[int] = []  # the seed that all devices were last given, from which those begin that are met later


def seed_all(seed: int) -> None:
    """Start the stream of every device from `seed`."""
    _common[:] = [seed]
    for generator in list(_defaults.values()):
        generator.stream.seed(seed)


def default_generator(where: device) -> Generator:
    """The generator that a device's draws use when none is named."""
    if where.type == "meta":  # where nothing is drawn
        where = CPU
    found = _defaults.get(where)
    if found is None:
        found = _defaults[where] = Generator(where)
        if _common:
            found.stream.seed(_common[0])
        else:
            found.seed()
    return found
