"""What tensors of compressed layouts cannot do, in PyTorch's words; read last, since it is what has no rule by then."""

from __future__ import annotations

from typing import Any, NoReturn

from ..backends.sparse import CompressedBackend, layout_name
from ..core.declare.elementwise import Elementwise
from ..core.machine.registry import registry
from ..core.values.errors import missing_kernel_of
from ._family import is_compressed

# Whose kernels PyTorch looks for by these names.
_MISSING = {
    "all": "all.all_out", "any": "any.all_out", "argmax": "argmax.out", "argmin": "argmin.out",
    "cumprod": "cumprod.out", "cumsum": "cumsum.out", "floor_divide": "floor_divide",
    "linalg_vector_norm": "norm.out", "log_softmax.int": "_log_softmax.out", "mean": "mean.out",
    "nan_to_num": "nan_to_num.out", "softmax.int": "_softmax.out",
}  # fmt: skip
# What it asks of a tensor first, and finds that it has not; and the ops that ask.
_ASKED = {
    "Sparse CSR tensors do not have is_contiguous": "cat stack",
    "Sparse CSR tensors do not have strides":
        "squeeze squeeze.dim squeeze.dims unsqueeze split.Tensor split_with_sizes sort sort.stable",
    "expand is unsupported for {layout} tensors": "expand repeat",
    "resize_reduction: support for output with {layout} layout is not implemented yet": "mean.dim",
    "unsupported memory format option Contiguous": "masked_fill.Scalar masked_fill.Tensor",
}  # fmt: skip
_NO_ROOM = "torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size [0]"
_NOT_ITERATED = ("frexp", "logit")


def _first(values: Any) -> Any:
    listed = [t for v in values for t in (v if isinstance(v, (tuple, list)) else (v,))]
    return next(v for v in listed if is_compressed(v))


def _refuse(names: str, said: str) -> None:
    """Let ops raise an error that may name the layout."""

    @CompressedBackend.rule(names)
    def refused(*values: Any) -> NoReturn:
        raise RuntimeError(said.format(layout=layout_name(_first(values))))


def _miss(name: str, kernel: str) -> None:
    """Let an op raise the error for a kernel that is missing."""

    @CompressedBackend.rule(name)
    def missed(*values: Any) -> NoReturn:
        raise missing_kernel_of(kernel, _first(values).backend.real)


for _name, _kernel in _MISSING.items():
    _miss(_name, _kernel)
for _said, _names in _ASKED.items():
    _refuse(_names, _said)
for _name, _op in registry.items():
    if isinstance(_op, Elementwise) and _name not in CompressedBackend.rules and _name not in _NOT_ITERATED:
        _refuse(_name, _NO_ROOM if _name.startswith("logical_") else "unsupported tensor layout: {layout}")
