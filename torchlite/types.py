"""`torch.types`: names for what functions take."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, TypeAlias

from .core.machine import Tensor
from .core.memory import TypedStorage, UntypedStorage
from .core.values import Size
from .core.values.device import device
from .core.values.dtype import dtype
from .core.values.layout import layout

__all__ = ["Number", "Device", "FileLike", "Storage"]

Number: TypeAlias = int | float | bool
Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Storage: TypeAlias = UntypedStorage | TypedStorage
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
_int, _float, _bool, _complex = int, float, bool, complex
_dtype, _device, _layout = dtype, device, layout
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
py_sym_types: tuple[type, ...] = ()
