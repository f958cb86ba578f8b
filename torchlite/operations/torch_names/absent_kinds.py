"""What is asked of tensors of other kinds (symbolic, or on devices that there are not)."""

from __future__ import annotations

from typing import Any, NoReturn

from ...absent import placeholders
from ...core.declare import Op, method, publish, publish_python, published
from ...core.machine import Tensor
from ...core.values import missing_kernel_of

# ---- what tells of tensors of other kinds: none is symbolic or made of zeros alone


def _has_symbolic_sizes_strides(self: Tensor) -> bool:
    return False


Tensor._has_symbolic_sizes_strides = property(_has_symbolic_sizes_strides)  # type: ignore[assignment, method-assign]
Tensor._cdata = property(id)  # type: ignore[assignment, method-assign]
Tensor._grad_fn = property(lambda self: self.grad_fn)  # type: ignore[assignment, method-assign]


@method("_is_zerotensor")
def _is_zerotensor(self: Tensor) -> bool:
    return False


publish(Op("_is_all_true(Tensor self)", lambda xp, self: self.all()))
publish(Op("_is_any_true(Tensor self)", lambda xp, self: self.any()))


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


@published("to_padded_tensor(Tensor self, float padding, int[]? output_size=None)", function=False)
def _to_padded_tensor(self: Tensor, padding: float, output_size: Any) -> NoReturn:
    """Raises an error: nested tensors, which have this, are of classes of their own."""
    raise missing_kernel_of("to_padded_tensor", self._backend.real)


def _on_gpus(name: str, schema: str) -> None:
    """Publish a function that PyTorch has on GPUs alone."""

    def refuse(query: Tensor, *_: Any) -> NoReturn:
        raise missing_kernel_of(name, query._backend.real)

    publish_python(f"{name}({schema})", refuse, function=False, method=False)


_on_gpus(
    "_flash_attention_forward",
    "Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, int max_q, int max_k, "
    "float dropout_p, bool is_causal, bool return_debug_mask, *, float? scale=None, int? window_size_left=None, "
    "int? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None",
)
_on_gpus(
    "_efficient_attention_forward",
    "Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, "
    "int? max_seqlen_q, int? max_seqlen_k, float dropout_p, int custom_mask_type, bool compute_log_sumexp=False, *, "
    "float? scale=None, Tensor? seqlen_k=None, int? window_size=None",
)

for _name in ("xpu", "ipu", "mtia"):

    def _to_device(self: Tensor, *_: Any, _type: str = _name, **__: Any) -> NoReturn:
        """A copy on a device that there is not: raises PyTorch's error for that."""
        raise AssertionError(f"Torch not compiled with {_type.upper()} enabled")

    method(_name)(_to_device)

# ---- methods that there are not: other programs name them, as keys of tables

_LACKING = placeholders(
    "torch.Tensor",
    """
    _autocast_to_full_precision _autocast_to_reduced_precision _nested_tensor_size _nested_tensor_storage_offsets
    _nested_tensor_strides _philox_normal_ _philox_uniform_ _sparse_mask_projection to_mkldnn
    """,
)
for _name, _stand_in in _LACKING.items():
    setattr(Tensor, _name, _stand_in)
