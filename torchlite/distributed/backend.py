"""The names of what processes talk by, and which devices each serves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from ..core.values import shown_in, warn


class _BackendPlugin(NamedTuple):
    creator_fn: Callable[..., Any]
    extended_api: bool


@shown_in("torch.distributed.distributed_c10d")
class Backend(str):
    """The name of what processes talk by."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list: ClassVar = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map: ClassVar = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}
    backend_capability: ClassVar = {GLOO: ["cpu", "cuda"], NCCL: ["cuda"], MPI: ["cpu", "cuda"]}

    _plugins: ClassVar[dict[str, _BackendPlugin]] = {}

    def __new__(cls, name: str) -> str:  # type: ignore[misc]
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str(name).lower()

    @classmethod
    def register_backend(
        cls, name: str, func: Callable[..., Any], extended_api: bool = False, devices: str | list[str] | None = None
    ) -> None:
        """Have groups made by `func` that are to talk by a name: it returns a `ProcessGroup` of a class of its own."""
        if devices is None:
            warn(
                f"Device capability of {name} unspecified, assuming `cpu` and `cuda` or `xpu`. Please specify it via "
                "the `devices` argument of `register_backend`."
            )
        if name not in cls.backend_list:
            cls.backend_list.append(name)
            setattr(cls, name.upper(), name.lower())
        served = ["cpu", "cuda"] if devices is None else [devices] if isinstance(devices, str) else list(devices)
        cls.backend_capability[name.lower()] = served
        cls._plugins[name.upper()] = _BackendPlugin(func, extended_api)


@shown_in("torch.distributed.distributed_c10d")
class BackendConfig:
    """Which backend serves which type of device."""

    def __init__(self, backend: str) -> None:
        self.device_backend_map: dict[str, str] = {}
        if backend == Backend.UNDEFINED:
            self.device_backend_map = {"cpu": Backend.GLOO, "cuda": Backend.NCCL}
        elif ":" not in backend:
            if backend not in Backend.backend_list:
                warn(
                    f"Device capability of {backend} unknown, assuming `cpu` and `cuda`. You can specify it in "
                    "`device:backend` format in `init_process_group` call."
                )
            serves = Backend.backend_capability.get(backend, ["cpu", "cuda"])
            self.device_backend_map = dict.fromkeys(serves, backend)
        else:
            self._read_pairs(backend)

    def _read_pairs(self, backend: str) -> None:
        for pair in backend.lower().split(","):
            kind, separator, name = pair.partition(":")
            wrong = None
            if not separator:
                wrong = f"Invalid device:backend pairing: {pair}"
            elif kind in self.device_backend_map:
                wrong = f"Duplicate device type {kind} in backend string: {name}"
            if wrong:
                raise ValueError(
                    f"{wrong}. The custom backend string argument is invalid: {backend}. It is a name, or pairs: "
                    "\"<device_type1>:<backend1>,<device_type2>:<backend2>...\", e.g. 'cpu:gloo,cuda:nccl'"
                )
            self.device_backend_map[kind] = name

    def __repr__(self) -> str:
        return ",".join(f"{device}:{backend}" for device, backend in self.device_backend_map.items())

    def get_device_backend_map(self) -> dict[str, str]:
        """The backends by the types of device."""
        return self.device_backend_map
