"""The types of sparse tensors of long ago: `torch.sparse.FloatTensor` and its kin, called with indices and values."""

from __future__ import annotations

from typing import Any

from ..core.machine import Tensor, TensorBase
from ..core.values import Size, dt
from ..core.values.device import device
from ..core.values.layout import sparse_coo
from ..operations.formulas import tensors
from ..operations.making.legacy_types import TYPES, tensortype


class sparsetype(tensortype):
    """The type of such types."""

    layout = sparse_coo
    is_sparse = True

    def __call__(cls, *args: Any, **named: Any) -> Tensor:
        cls.check_available()
        where = device(cls.kind)
        if args and isinstance(args[0], TensorBase):
            return tensors.sparse_coo_tensor(*args, **named)
        size = args[0] if args and isinstance(args[0], (Size, tuple, list)) else args or (0,)
        return tensors.sparse_coo_tensor(tuple(size), dtype=cls.dtype, device=where)

    def __instancecheck__(cls, t: Any) -> bool:
        return super().__instancecheck__(t) and t.layout is sparse_coo


SPARSE_TYPES: dict[str, sparsetype] = {}  # by their names in torch.sparse
for _d in dt.DTYPES:
    if _d.legacy in ("BFloat16", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"):
        for _kind, _module in (("cpu", "torch.sparse"), ("cuda", "torch.cuda.sparse")):
            _name = f"{_d.legacy}Tensor"
            TYPES[f"{_module}.{_name}"] = _made = sparsetype(
                _name, (), {"dtype": _d, "kind": _kind, "__module__": _module}
            )
            SPARSE_TYPES.setdefault(_name, _made)
