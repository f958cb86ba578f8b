"""The types of storages on CUDA by dtype: `torch.cuda.FloatStorage` and its kin."""

from __future__ import annotations

from typing import Any

from ..core.memory.typed_storage import STORAGES, TypedStorage, _OfDtype


class _OnCuda(_OfDtype):
    """The type of such types: called, it makes a storage on the current device."""

    def __call__(
        cls, *args: Any, wrap_storage: Any = None, dtype: None = None, device: None = None, _internal: bool = False
    ) -> TypedStorage:
        return _OfDtype.__call__(cls, *args, wrap_storage=wrap_storage, dtype=dtype, device=device).cuda()

    def __instancecheck__(cls, storage: Any) -> bool:
        return super().__instancecheck__(storage) and storage.device.type == "cuda"


TYPES = {
    _name: _OnCuda(
        _name, (), {"dtype": _type.dtype, "__module__": "torch.cuda", "__doc__": f"{_type.__doc__[:-1]}, on CUDA."}
    )
    for _name, _type in STORAGES.items()
}
globals().update(TYPES)
