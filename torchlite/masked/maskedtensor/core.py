"""A tensor with a mask of the same shape: elements where the mask is False are as if they were not there.

It is a wrapper of two tensors: what operations make of them is in operations.py, what reductions do in reductions.py.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from ...autograd.function import Function
from ...core.machine import Tensor
from ...core.state import local
from ...core.values import dt, sparse_coo, sparse_csr, strided, warn, warn_once
from .operations import rule_of
from .reductions import reduction_of

_DTYPES = (dt.float16, dt.float32, dt.float64, dt.bool_, dt.int8, dt.int16, dt.int32, dt.int64)


def _check(data: Any, mask: Any) -> None:
    """Refuse a pair that makes no masked tensor."""
    for name, given in (("data", data), ("mask", mask)):
        if not isinstance(given, Tensor) or is_masked_tensor(given):
            raise TypeError(f"{name} must be a Tensor")
    if data.layout is not mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if mask.dtype is not dt.bool_:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in _DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")


class MaskedTensor(Tensor):
    """A tensor and a mask, by which operations know which elements are there."""

    _masked_data: Tensor
    _masked_mask: Tensor

    @staticmethod
    def __new__(cls: Any, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        _check(data, mask)
        warn_once(
            "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a "
            "Github issue for features requests and see our documentation on the torch.masked module for further "
            "information about the project."
        )
        if data.requires_grad:
            warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you "
                "can use data.detach().clone()",
                UserWarning,
            )
        made: Any = Tensor._make_wrapper_subclass(
            cls, data.size(), strides=data.stride() if data.layout is strided else None, dtype=data.dtype,
            device=data.device, layout=data.layout, requires_grad=requires_grad,
        )  # fmt: skip
        data, mask = data.detach(), mask.detach()
        made._masked_mask = mask
        made._masked_data = data if data.layout is strided or data._nnz() == mask._nnz() else data.sparse_mask(mask)
        return made

    def __init__(self, data: Tensor, mask: Tensor, requires_grad: bool = False) -> None:
        pass

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        data, mask = self._masked_data.to_dense(), self._masked_mask.to_dense()
        body = _text(data.tolist(), mask.tolist(), data.dtype)
        return f"MaskedTensor({body}, {mask.item()})" if not data.dim() else f"MaskedTensor(\n{_indented(body)}\n)"

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        reduce = reduction_of(func)
        if reduce is not None:
            return as_masked_tensor(*reduce(*args, **(kwargs or {})))
        state = local.state
        return state.within(state.mode.but(subclasses=False), lambda: func(*args, **(kwargs or {})))

    @classmethod
    def __torch_dispatch__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        rule = rule_of(func)
        return NotImplemented if rule is None else rule(func, *args, **(kwargs or {}))

    def get_data(self) -> Tensor:
        """The data, through which gradients come back."""
        made: Tensor = _Data.apply(self)
        return made

    def get_mask(self) -> Tensor:
        """The mask."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Tensor:
        """The data with `value` in place of what is masked out."""
        return self.get_data().masked_fill(~self.get_mask(), value)

    @property
    def layout(self) -> Any:
        """How the data are laid out."""
        return self._masked_data.layout

    def is_sparse_coo(self) -> bool:
        """Whether the data are a sparse tensor of coordinates."""
        return self._masked_data.layout is sparse_coo

    def is_sparse_csr(self) -> bool:
        """Whether the data are a sparse tensor of compressed rows."""
        return self._masked_data.layout is sparse_csr

    @property
    def is_sparse(self) -> bool:
        """Whether the data are sparse."""
        return self.is_sparse_coo() or self.is_sparse_csr()

    def to_dense(self, *args: Any, **kwargs: Any) -> MaskedTensor:
        """The same with data and mask that are dense."""
        return MaskedTensor(self._masked_data.to_dense(), self._masked_mask.to_dense())

    def to_sparse_coo(self) -> MaskedTensor:
        """The same as coordinates of what is there."""
        mask = self._masked_mask.to_dense().to_sparse()
        return MaskedTensor(self._masked_data.to_dense().sparse_mask(mask), mask)

    def to_sparse(self, *args: Any, **kwargs: Any) -> MaskedTensor:
        """The same as coordinates of what is there."""
        return self.to_sparse_coo()

    def to_sparse_csr(self, *args: Any) -> MaskedTensor:
        """The same as compressed rows of what is there."""
        mask = self._masked_mask.to_dense().to_sparse_csr()
        return MaskedTensor(self._masked_data.to_dense().sparse_mask(mask), mask)

    def __deepcopy__(self, memo: Any) -> MaskedTensor:
        made = MaskedTensor(self._masked_data.clone(), self._masked_mask.clone(), self.requires_grad)
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        return MaskedTensor, (self._masked_data, self._masked_mask, self.requires_grad)


class _Data(Function):
    """The data of a masked tensor; its gradient has the same mask."""

    @staticmethod
    def forward(ctx: Any, input: MaskedTensor) -> Tensor:
        ctx.mask = input._masked_mask
        return input._masked_data.clone()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g if is_masked_tensor(g) else MaskedTensor(g.detach(), ctx.mask)


class _Masked(Function):
    """Data with a mask; the gradient of the data is masked."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, mask: Tensor) -> MaskedTensor:
        return MaskedTensor(data.detach(), mask)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        return g, None


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """A tensor with a mask; a leaf, which shares the data's memory and nothing of its history."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """The same in a way that gradients reach the data."""
    _check(data, mask)
    made: MaskedTensor = _Masked.apply(data, mask)
    return made


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether this is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


# ---- how they are printed


def _indented(text: str) -> str:
    return textwrap.indent(text, "  ", lambda line: True)


def _text(data: Any, mask: Any, d: dt.dtype) -> str:
    """Nested lists of elements as text, with dashes for what is masked out."""
    if not isinstance(data, list):
        return "--" if not mask else _element(data, d)
    if data and isinstance(data[0], list):
        return "[\n" + ",\n".join([_indented(_text(x, m, d)) for x, m in zip(data, mask)]) + "\n]"
    if not data and mask is not None:
        return "[\n\n]"
    shown = [_element(x, d) if m else None for x, m in zip(data, mask)]
    width = max([8, *[len(s) for s in shown if s is not None]])
    return "[" + ", ".join(["--".rjust(width) if s is None else s for s in shown]) + "]"


def _element(value: Any, d: dt.dtype) -> str:
    return f"{value:8.4f}" if d.is_floating_point else str(value)
