"""What would capture functions as graphs, compile or export them: nothing is, so that programs that ask go on."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NoReturn, TypeVar

from ..core.machine import Tensor
from ..core.state import HoldingItems
from ..operations.making.host_data import tensor

F = TypeVar("F", bound=Callable[..., Any])


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """What is told of a function leaves it as it is."""
    return fn_or_name


# ---- the compiler's own module


class TransformGetItemToIndex(AbstractContextManager[None]):
    """Inside it, `vmap` indexes with tensors of no dimension, as it does here anyway."""

    def __exit__(self, *_: object) -> None:
        pass


def clone_input(x: Tensor, *, dtype: Any = None) -> Tensor:
    """A leaf with the elements of a tensor, that requires grad, and has one, as far as that is one."""
    made = x.detach().clone() if dtype is None else x.detach().clone().to(dtype)
    if x.is_leaf:
        made.requires_grad_(x.requires_grad)
        made.grad = None if x.grad is None else clone_input(x.grad, dtype=dtype)
    return made


class _DimRange:
    """Which sizes a dimension may have: files with nested tensors say so of tensors in them."""

    def __setstate__(self, state: Any) -> None:
        self.dim, self.min, self.max = state


def disable(fn: F | None = None, recursive: bool = True, **_: Any) -> Any:
    return fn if fn is not None else wrap


def graph_break(msg: str = "") -> None:
    pass


def mark_dynamic(t: Any, index: Any, **_: Any) -> None:
    pass


def mark_static(t: Any, index: Any = None) -> None:
    pass


def mark_static_address(t: Any, guard: bool = False) -> None:
    pass


def disable_cache_limit() -> HoldingItems:
    """For the time of a `with`, functions could be compiled however often."""
    config = importlib.import_module(".._dynamo.config", __package__)
    return HoldingItems(vars(config), {"recompile_limit": sys.maxsize, "accumulated_recompile_limit": sys.maxsize})


# ---- export


def export(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("torchlite does not capture graphs, and so exports none: there is no torch.onnx.export")


def is_in_onnx_export() -> bool:
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    pass


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    pass


def parse_args(*arg_descriptors: str) -> Callable[[F], F]:
    """Functions that an export would call stay as they are, since nobody calls them."""
    return wrap


def shape_as_tensor(x: Tensor) -> Tensor:
    """Operations that an export would see into."""
    return tensor(list(x.shape))


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    return x.reshape(shape.tolist())
