"""What a function depends on beside its arguments: random streams, autocast, and where tensors are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..core.machine import Tensor, TensorBase, default_generator
from ..core.state import Context, State, local
from ..core.values.device import device
from ..random import kept_streams, put_streams
from ._pytree import tree_leaves


class DefaultDeviceType:
    """The kind of device whose random streams are kept where no argument lies on a device but the CPU."""

    _chosen: ClassVar[str | None] = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set the type of device of whose random state checkpoints take care."""
        DefaultDeviceType._chosen = device

    @staticmethod
    def get_device_type() -> str:
        """The type of device of whose random state checkpoints take care."""
        return DefaultDeviceType._chosen or "cpu"


def _infer_device_type(*args: Any) -> str:
    """The type of the first device other than the CPU that tensors among the arguments lie on."""
    kinds = [t.device.type for t in tree_leaves(args) if isinstance(t, TensorBase) and t.device.type != "cpu"]
    return kinds[0] if kinds else DefaultDeviceType.get_device_type()


def _devices(args: tuple[Any, ...]) -> list[device]:
    """The devices other than the CPU that tensors among the arguments lie on."""
    tensors = [t for t in tree_leaves(args) if isinstance(t, TensorBase)]
    return [t.device for t in tensors if t.device.type not in ("cpu", "meta")]


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The indices of the devices that the arguments lie on, and the states of their random streams."""
    found = _devices(args)
    return [d.index or 0 for d in found], [default_generator(d).get_state() for d in found]


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Let the random streams of these devices go on from these states."""
    kind = device_type or DefaultDeviceType.get_device_type()
    if not isinstance(kind, str):
        raise TypeError(f"attribute name must be string, not '{type(kind).__name__}'")
    if kind != "meta":
        for index, state in zip(devices, states, strict=False):
            default_generator(device(kind, index)).set_state(state)


class _Surroundings(Context):
    """Inside, all is as it was when this was made that a function may depend on beside its arguments:

    random streams, autocast, and where tensors are made.
    """

    def __init__(self, streams: bool, args: tuple[Any, ...]) -> None:
        for where in _devices(args) if streams else ():
            default_generator(where)  # made now, so that its state before the first draw is known
        self.streams = kept_streams() if streams else {}
        self.keeps_streams = streams
        self.default_device = local.state.default_device
        self.autocast = local.state.mode.autocast

    def _take(self, state: State) -> tuple[Any, Any, dict[Any, Any]]:
        return state.default_device, state.mode.autocast, kept_streams() if self.keeps_streams else {}

    def _set(self, state: State, kept: Any) -> None:
        casts = None if self.autocast is None else self.autocast.anew()
        self._put(state, (self.default_device, casts, self.streams))

    def _put(self, state: State, kept: tuple[Any, Any, dict[Any, Any]]) -> None:
        state.default_device, autocast, streams = kept
        state.mode = state.mode.but(autocast=autocast)
        put_streams(streams)
