"""What is asked of tensors of other kinds (sparse, quantised, symbolic, or on devices that there are not)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...core.declare import method, publish_python, published
from ...core.machine import Tensor

# ---- what tells of tensors of other kinds: none is sparse, quantized, symbolic or made of zeros alone

Tensor._has_symbolic_sizes_strides = False  # type: ignore[attr-defined]
Tensor._cdata = property(id)  # type: ignore[attr-defined]
Tensor._grad_fn = property(lambda self: self.grad_fn)  # type: ignore[attr-defined]


@method("_is_zerotensor")
def _is_zerotensor(self: Tensor) -> bool:
    return False


publish_python("_is_all_true(Tensor self)", lambda self: self.all())
publish_python("_is_any_true(Tensor self)", lambda self: self.any())


@method("dequantize")
def dequantize(self: Tensor) -> Tensor:
    """The values in float32, which a tensor that is not quantized has."""
    return self.float()


@method("const_data_ptr")
def const_data_ptr(self: Tensor) -> int:
    """The address of the first element, to read from."""
    return self.data_ptr()


@method("_conj_physical")
def _conj_physical(self: Tensor) -> Tensor:
    return self.conj_physical()


@method("is_distributed")
def is_distributed(self: Tensor) -> bool:
    """Whether this tensor is spread over processes: none is."""
    return False


@published("to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None)", function=False)
def to_dense(self: Tensor, dtype: Any, masked_grad: bool | None) -> Tensor:
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


def _sparse_only(name: str, layouts: str) -> Callable[..., NoReturn]:
    def call(self: Tensor) -> NoReturn:
        raise RuntimeError(f"{name} expected sparse {layouts}tensor layout but got Strided")

    return call


for _names, _layouts in {
    "is_coalesced coalesce indices": "coordinate ", "crow_indices col_indices": "row compressed ",
    "ccol_indices row_indices": "column compressed ", "values": "",
}.items():  # fmt: skip
    for _name in _names.split():
        method(_name)(_sparse_only(_name, _layouts))


def _made_sparse(self: Tensor, *_: Any, **__: Any) -> NoReturn:
    raise NotImplementedError("torchlite has no sparse tensors")


for _layout in ("", "_coo", "_csr", "_csc", "_bsr", "_bsc"):
    setattr(Tensor, f"to_sparse{_layout}", _made_sparse)


for _name in ("xpu", "ipu", "mtia"):

    def _to_device(self: Tensor, *_: Any, _type: str = _name, **__: Any) -> NoReturn:
        raise AssertionError(f"Torch not compiled with {_type.upper()} enabled")

    method(_name)(_to_device)
