"""The types of sparse tensors of long ago: `torch.sparse.FloatTensor` and its kin, called with indices and values."""

from __future__ import annotations

from typing import Any

from ..core.machine import Tensor, TensorBase
from ..core.values import Size, dt, sparse_coo, type_name, warn_once
from ..core.values.device import device
from ..operations.formulas import tensors
from ..operations.making.legacy_types import TYPES, tensortype
from ._invariants import check_sparse_tensor_invariants

_FORMS = (
    " * (*, torch.device device = None)\n * (Tensor indices, Tensor values, *, torch.device device = None)\n"
    " * (Tensor indices, Tensor values, tuple of ints size, *, torch.device device = None)\n"
    " * (tuple of ints size, *, torch.device device = None)\n"
)
_SIZES = (Size, tuple, list)


def _called(args: tuple[Any, ...]) -> tuple[str, str]:
    """How such a type is called, and what is called so today; neither where it is no form."""
    parts = [isinstance(v, TensorBase) for v in args]
    if parts == [True, True]:
        return "indices, values, *, device=", "indices, values, dtype=, device="
    if parts == [True, True, False] and isinstance(args[2], _SIZES):
        return "indices, values, shape, *, device=", "indices, values, shape, dtype=, device="
    if not args:
        return "", "(0,), dtype="
    if all([hasattr(v, "__index__") for v in args]) or (len(args) == 1 and isinstance(args[0], _SIZES)):
        return "shape, *, device=", "shape, dtype=, device="
    return "", ""


class sparsetype(tensortype):
    """The type of such types."""

    layout = sparse_coo
    is_sparse = True

    def __call__(cls, *args: Any, **named: Any) -> Tensor:
        cls.check_available()
        form, today = _called(args)
        if today:
            warn_once(f"torch.sparse.SparseTensor({form}) is deprecated.  Please use torch.sparse_coo_tensor({today}).")
        return cls.new(*args, **named, check_invariants=check_sparse_tensor_invariants.is_enabled())

    def new(cls, *args: Any, check_invariants: bool | None = None, **named: Any) -> Tensor:
        """What a tensor of the type has as `new`."""
        if not _called(args)[1] or named.keys() - {"device"}:
            got = ", ".join([*map(type_name, args), *[f"{name}={type_name(value)}" for name, value in named.items()]])
            raise TypeError(
                f"new() received an invalid combination of arguments - got ({got}), but expected one of:\n{_FORMS}"
            )
        if args and isinstance(args[0], TensorBase):
            return tensors.sparse_coo_tensor(*args, **named, check_invariants=check_invariants)
        size = args[0] if args and isinstance(args[0], _SIZES) else args or (0,)
        return tensors.sparse_coo_tensor(tuple(size), dtype=cls.dtype, device=device(cls.kind))

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
