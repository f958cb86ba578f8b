"""Older and rarer methods of tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from ..core.publish import function, method
from ..core.storage import STORAGES, storage_name
from ..core.tensor import Tensor


@method("is_nonzero")
def is_nonzero(self: Tensor) -> bool:
    """Whether the one element is not zero."""
    return bool(self)


@method("is_distributed")
def is_distributed(self: Tensor) -> bool:
    """Whether this tensor is spread over processes: none is."""
    return False


@method("dim_order")
def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from the one with the greatest steps in memory to the one with the smallest."""
    strides = self.stride()
    return tuple(sorted(range(self.dim()), key=lambda d: -strides[d]))


@method("storage_type")
def storage_type(self: Tensor) -> Any:
    """The class of typed storages of this tensor's dtype."""
    return STORAGES.get(storage_name(self.dtype))


@method("to_dense")
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """This tensor, which is not sparse, in a dtype if one is given."""
    return self if dtype is None else self.to(dtype)


@method("sparse_dim")
def sparse_dim(self: Tensor) -> int:
    """How many dimensions are sparse: none."""
    return 0


@method("dense_dim")
def dense_dim(self: Tensor) -> int:
    """How many dimensions are dense: all."""
    return self.dim()


@method("module_load")
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What takes this parameter's place when `other` is loaded into it."""
    return other.detach() if assign else self.copy_(other).detach()


@method("record_stream")
def record_stream(self: Tensor, stream: Any) -> None:
    """Say that another stream uses this memory, which CuPy keeps until that is done by itself."""
    if not hasattr(stream, "record_event"):
        raise RuntimeError("unknown parameter type")


@method("resize")
def resize(self: Tensor, *sizes: Any) -> Tensor:
    """`reshape`, by an older name."""
    warnings.warn("non-inplace resize is deprecated", stacklevel=2)
    return self.reshape(*sizes)


@method("resize_as")
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """`reshape_as`, by an older name."""
    warnings.warn("non-inplace resize_as is deprecated", stacklevel=2)
    return self.reshape(tensor.shape)


def _removed(name: str, instead: str) -> Callable[..., NoReturn]:
    def call(*_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(
            f"This function was deprecated since version 1.9 and is now removed. `torch.{name}` is deprecated in favor "
            f"of `torch.linalg.{instead}`."
        )

    return call


_INSTEAD = {"eig": "eig", "lstsq": "lstsq", "matrix_rank": "matrix_rank", "symeig": "eigh", "solve": "solve"}

for _name, _instead in _INSTEAD.items():
    function(_name)(_removed(_name, _instead))
    if _name != "matrix_rank":
        method(_name)(_removed(_name, _instead))
