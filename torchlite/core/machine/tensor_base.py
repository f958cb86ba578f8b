"""The parts of a tensor, and what few tensors have."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..structs import TensorParts
from ..values import FLOAT
from .hooks import Hooks

if TYPE_CHECKING:
    from ..values.dtype import dtype
    from .tensor import Tensor

SAME_DTYPE = object()  # what `Extra.grad_dtype` says of a gradient that has its leaf's dtype


class Extra:
    """Attributes that few tensors have: hooks, a kept gradient, an accumulator."""

    __slots__ = ("__weakref__", "accumulator", "grad_dtype", "hooks", "post_hooks", "retains_grad", "tangents")

    def __init__(self) -> None:
        self.accumulator: Any = None  # weak reference to the leaf's AccumulateGrad, once someone asked for it
        self.hooks: Hooks | None = None  # those of the AccumulateGrad
        self.post_hooks: OrderedDict[int, Callable[..., Any]] | None = None  # called when the gradient was added
        self.retains_grad = False
        self.grad_dtype: Any = SAME_DTYPE
        self.tangents: dict[Any, Tensor] | None = None  # by level, see core/machine/tangent.py

    def all_hooks(self) -> Hooks:
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    def dtype_of_grad(self, own: dtype) -> dtype | None:
        """The dtype gradients must have, for a leaf whose own is given; None where any will do."""
        return own if self.grad_dtype is SAME_DTYPE else self.grad_dtype


if TYPE_CHECKING:
    from .tensor import Tensor as TensorBase  # there is no other
else:

    class TensorBase(TensorParts):
        """The parts of a tensor.

        _array   what its backend computes with
        dtype    the element type
        _backend the device it lives on, with that device's kernels
        _edge    where its gradient goes: None, (node, output number), LEAF, a View, or the leaf that it stands for
        _counter counts writes to its memory; None until someone needs it
        _grad    the accumulated gradient of a leaf
        _extra   hooks and other rarities, or None
        """

        __slots__ = ()


def check_grad(t: Tensor, grad: Any) -> None:
    """Refuse what is to be a leaf's `.grad` and does not fit."""
    if not isinstance(grad, TensorBase):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}")
    if grad is t:
        raise RuntimeError("can't assign Variable as its own grad")
    if grad._backend.home is not t._backend.home:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{grad.device.type}' to a tensor with device type "
            f"'{t.device.type}'. Please ensure that the gradient and the tensor are on the same device"
        )
    if grad._array.shape != t._array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(grad._array.shape)}' to a tensor of size "
            f"'{list(t._array.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )
    wanted = t.dtype if t._extra is None else t._extra.dtype_of_grad(t.dtype)
    if wanted is not None and grad.dtype is not wanted:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{grad.dtype.cname}' to a tensor with grad_dtype "
            f"'{wanted.legacy}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You "
            "can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set "
            "grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream systems "
            "that assume they match."
        )


def check_data(t: Tensor, data: Tensor) -> None:
    """Refuse what is to be a tensor's `.data` and does not fit."""
    if data.is_meta is not t.is_meta:
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
        )
    if data.dtype.category < FLOAT and t.requires_grad:
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
