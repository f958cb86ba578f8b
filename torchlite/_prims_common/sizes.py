"""Sizes, dimensions and strides: what is right of them, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeGuard

from ..checks import _check
from ..core.machine import Tensor
from ..core.values import bool_, channels_last_strides, contiguous_strides, is_dense, wrap_dim
from ..core.values.device import device, get_default_device
from ..core.values.layout import (
    NAMES,
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    strided,
)  # fmt: skip
from ..operations.shapes.shape import infer_size as shape_of

__all__ = [
    "apply_perm", "canonicalize_device", "canonicalize_dim", "canonicalize_dims", "check",
    "check_in_bounds_for_storage",
    "check_is_matrix", "check_layout", "check_pin_memory", "check_same_device", "check_same_dtype",
    "check_same_shape", "clone_preserve_strides", "compute_reduction_output_shape",
    "compute_required_storage_length", "device_or_default", "extract_dims_from_varargs", "extract_shape_from_varargs",
    "infer_size", "invert_perm", "is_contiguous", "is_cpu_scalar_tensor", "is_expandable_to",
    "is_non_overlapping_and_dense_or_false", "is_same_shape", "is_valid_permutation", "layout_or_default",
    "make_channels_last_strides_for", "make_contiguous_strides_for", "mask_tensor", "reduction_dims", "same_shape",
    "set_correction", "suggest_memory_format", "validate_dim_length", "validate_idx", "validate_memory_format",
    "validate_no_repeating_dims", "validate_shape", "validate_strides",
]  # fmt: skip


def check(b: bool, s: Callable[[], str], exc_type: type[Exception] = RuntimeError) -> None:
    """Raise what `s` says where `b` does not hold."""
    if not b:
        raise exc_type(s())


# ---- dimensions


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """A dimension counted from the front."""
    if rank < 0:
        raise IndexError(f"Rank cannot be negative but got {rank}")
    if rank == 0 and not wrap_scalar:
        raise IndexError(f"Dimension specified as {idx} but tensor has no dimensions")
    return wrap_dim(idx, rank)


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """One dimension, or several, counted from the front."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, each, wrap_scalar) for each in indices)


def validate_idx(rank: int, idx: int) -> None:
    """Raise where a dimension is not counted from the front, or there is none such."""
    if not (0 <= idx < rank or idx == 0):
        raise AssertionError(f"idx {idx} is out of bounds for rank {rank}")


def validate_no_repeating_dims(dims: Sequence[int]) -> None:
    check(len(set(dims)) == len(dims), lambda: "duplicate value in the list of dims")


def is_valid_permutation(rank: int, perm: Any) -> bool:
    """Whether a tuple has each dimension once."""
    return isinstance(perm, Sequence) and sorted(perm) == list(range(rank))


def apply_perm(inp: Sequence[Any], perm: Sequence[int]) -> list[Any]:
    return [inp[at] for at in perm]


def invert_perm(perm: Sequence[int]) -> list[int]:
    """The permutation that undoes one."""
    return sorted(range(len(perm)), key=perm.__getitem__)


def reduction_dims(shape: Sequence[int], dims: Sequence[int] | None) -> tuple[int, ...]:
    """The dimensions that are reduced, all of them by None."""
    found = tuple(range(len(shape))) if dims is None else canonicalize_dims(len(shape), tuple(dims))
    validate_no_repeating_dims(found)
    return found


def compute_reduction_output_shape(shape: Sequence[int], dimensions: Sequence[int]) -> tuple[int, ...]:
    """The sizes that are left when dimensions are reduced."""
    return tuple(size for at, size in enumerate(shape) if at not in dimensions)


def extract_dims_from_varargs(dims: Any) -> Any:
    """Dimensions that were given one by one, or as one sequence."""
    return dims[0] if dims and isinstance(dims[0], Sequence) else dims


def set_correction(unbiased: bool | None = None, correction: Any = None) -> float:
    """By how much fewer degrees of freedom there are than elements."""
    check(unbiased is None or correction is None, lambda: "cannot specify both correction and unbiased arguments")
    return float(correction if correction is not None else unbiased is not False)


# ---- sizes


def validate_dim_length(length: int) -> None:
    _check(length >= 0)


def validate_shape(shape: Iterable[int]) -> None:
    for length in shape:
        validate_dim_length(length)


def extract_shape_from_varargs(shape: Any, validate: bool = True) -> tuple[int, ...]:
    """Sizes that were given one by one, or as one sequence."""
    found = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    if validate:
        validate_shape(found)
    return tuple(found)


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """Sizes in which one may be -1, which follows from how many elements there are."""
    return shape_of(tuple(shape), numel)


def is_same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    return tuple(a) == tuple(b)


def same_shape(a: Sequence[int], b: Sequence[int], *, allow_rhs_unbacked: bool = False) -> bool:
    return is_same_shape(a, b)


def is_expandable_to(shape: Sequence[int], desired: Sequence[int]) -> bool:
    """Whether sizes expand to others without a copy."""
    if len(shape) > len(desired):
        return False
    pairs = zip(reversed(shape), reversed(desired), strict=False)
    return all(have in (1, wanted) for have, wanted in pairs)


# ---- strides


def validate_strides(strides: Iterable[int]) -> None:
    for stride in strides:
        if stride < 0:
            raise AssertionError(f"stride must be non-negative, got {stride}")


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """Strides of elements one after the other; the last two dimensions change places where rows are not first."""
    if row_major or len(shape) < 2:
        return contiguous_strides(tuple(shape))
    *batch, rows, columns = shape
    strides = contiguous_strides((*batch, columns, rows))
    return (*strides[:-2], strides[-1], max(rows, 1))


def make_channels_last_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides that put the channels innermost."""
    ndim = len(shape)
    check(3 <= ndim <= 5, lambda: f"no channels last format strides exist in {ndim} dimensions")
    return channels_last_strides(tuple(shape))


def is_contiguous(a: Tensor, false_if_dde: bool = False) -> bool:
    return a.is_contiguous()


def is_non_overlapping_and_dense_or_false(a: Tensor) -> bool:
    """Whether the elements fill one stretch of memory, each a place of its own."""
    return a.layout is strided and is_dense(tuple(a.shape), tuple(a.stride()))


def suggest_memory_format(x: Tensor) -> memory_format:
    """The memory format in which a tensor lies."""
    if x.layout is not strided or x.ndim not in (4, 5) or x.is_contiguous():
        return contiguous_format
    last = channels_last if x.ndim == 4 else channels_last_3d
    return last if x.is_contiguous(memory_format=last) else contiguous_format


def compute_required_storage_length(shape: Sequence[int], strides: Sequence[int], storage_offset: int) -> int:
    """How many elements a storage must have for a tensor of such sizes and strides."""
    if 0 in shape:
        return 0
    return 1 + storage_offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def check_in_bounds_for_storage(a: Any, shape: Sequence[int], strides: Sequence[int], storage_offset: int) -> None:
    """Raise where a tensor of such sizes and strides reaches beyond its storage."""
    needed = compute_required_storage_length(shape, strides, storage_offset)
    if a.size() < needed:
        raise ValueError(
            f"Can't view a storage of size {a.size()} with an offset of {storage_offset}, shape of {shape}, and "
            f"strides of {strides}, which requires a storage of size {needed}"
        )


def clone_preserve_strides(x: Tensor) -> Tensor:
    """A copy of a tensor with the memory that its strides step over."""
    needed = compute_required_storage_length(x.shape, x.stride(), 0)
    return x.as_strided((needed,), (1,)).clone().as_strided(x.shape, x.stride(), 0)


# ---- tensors


def is_cpu_scalar_tensor(a: Any) -> TypeGuard[Tensor]:
    return isinstance(a, Tensor) and a.ndim == 0 and a.device.type == "cpu"


def _refuse_another(args: Sequence[Any], allow_cpu_scalar_tensors: bool, what: str, said: str) -> None:
    """Raise where a tensor differs in something from the first."""
    found = [a for a in args if isinstance(a, Tensor) and not (allow_cpu_scalar_tensors and is_cpu_scalar_tensor(a))]
    for wanted, one in [(getattr(found[0], what), getattr(a, what)) for a in found]:
        if wanted != one:
            raise RuntimeError(said.format(one, wanted))


def check_same_shape(*args: Any, allow_cpu_scalar_tensors: bool) -> None:
    """Raise where tensors have several shapes."""
    _refuse_another(args, allow_cpu_scalar_tensors, "shape", "Shape {} is not the expected shape {}!")


def check_same_dtype(*args: Any) -> None:
    """Raise where tensors have several dtypes."""
    _refuse_another(args, False, "dtype", "Tensor with dtype {} is not the expected dtype of {}!")


def check_same_device(*args: Any, allow_cpu_scalar_tensors: bool) -> None:
    """Raise where tensors are on several devices."""
    _refuse_another(args, allow_cpu_scalar_tensors, "device", "Tensor on device {} is not on the expected device {}!")


def check_is_matrix(A: Tensor, f_name: str, arg_name: str = "A") -> None:
    check(A.ndim >= 2, lambda: f"{f_name}: The input tensor {arg_name} must have at least 2 dimensions.")


def check_layout(layout: layout) -> None:
    check(layout is strided, lambda: f"PrimTorch doesn't support layout={layout}", NotImplementedError)


def check_pin_memory(pin_memory: bool) -> None:
    check(not pin_memory, lambda: "PrimTorch does not support pinned memory", NotImplementedError)


def validate_memory_format(memory_format: memory_format) -> None:
    check(memory_format in _FORMATS, lambda: f"Received unknown memory format {memory_format}!")


_FORMATS = tuple(each for each in NAMES.values() if each.__class__ is memory_format)


def mask_tensor(mask: Tensor, t: Tensor) -> Tensor:
    """A tensor with zeros where a mask is False."""
    return mask.logical_and(t) if t.dtype is bool_ else t.where(mask, 0)


def canonicalize_device(device: device | str) -> device:
    return device if isinstance(device, _DEVICE) else _DEVICE(device)


_DEVICE = device


def device_or_default(device: Any) -> Any:
    return get_default_device() if device is None else device


def layout_or_default(layout: layout | None) -> layout:
    return strided if layout is None else layout
