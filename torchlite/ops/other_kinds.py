"""What is asked of tensors of other kinds (sparse, quantised, symbolic), and names of long ago."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from ..core.publish import method, publish_python
from ..core.tensor import Tensor

# ---- what tells of tensors of other kinds: none is sparse, quantized, symbolic or made of zeros alone

Tensor._has_symbolic_sizes_strides = False  # type: ignore[attr-defined]
Tensor._cdata = property(id)  # type: ignore[attr-defined]
Tensor._grad_fn = property(lambda self: self.grad_fn)  # type: ignore[attr-defined]


@method("_is_zerotensor")
def _is_zerotensor(self: Tensor) -> bool:
    return False


publish_python("_is_all_true(Tensor self)", Tensor.all)
publish_python("_is_any_true(Tensor self)", Tensor.any)


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


# ---- names of long ago


@method("__nonzero__")
def __nonzero__(self: Tensor) -> bool:
    return bool(self)


@method("__long__")
def __long__(self: Tensor) -> int:
    return int(self)


@method("__delitem__")
def __delitem__(self: Tensor, index: Any) -> NoReturn:
    raise TypeError("Tensor does not support deleting items")


@property
def volatile(self: Tensor) -> bool:
    """False: `torch.no_grad` took its place."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
    return False


Tensor.volatile = volatile  # type: ignore[attr-defined]


@method("__setstate__")
def __setstate__(self: Tensor, state: tuple[Any, ...]) -> None:
    """Take over what a pickle of old tells: a storage, an offset, a size and strides; or what is beside these."""
    if not self.is_leaf:
        raise RuntimeError("__setstate__ can be only called on leaf Tensors")
    if len(state) == 4:
        self.set_(*state)
        return
    if len(state) == 5:
        self.data, requires_grad, hooks = state[0], state[3], state[4]
    else:
        requires_grad, _, hooks = state
    self.requires_grad = requires_grad
    self._backward_hooks = hooks


for _name in ("xpu", "ipu", "mtia"):

    def _to_device(self: Tensor, *_: Any, _type: str = _name, **__: Any) -> NoReturn:
        raise AssertionError(f"Torch not compiled with {_type.upper()} enabled")

    method(_name)(_to_device)
