"""Writing results into memory that exists: in-place ops and `out=`."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

from ..state import local
from ..values import Array, Backend, dt, errors
from .batching import refuse_batch
from .node import Counter
from .operands import computed, tensors_in
from .out_dtypes import check_out_dtype
from .saved import announce_write
from .tangent import moves
from .tensor import Tensor
from .tensor_base import TensorBase


def overlaps(array: Array) -> bool:
    """Whether elements lie at one place, as those of expanded tensors do."""
    return (
        0 in array.strides
        and array.size > 0
        and any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True))
    )


def check_no_overlap(array: Array) -> None:
    """Refuse to write to an array whose elements lie at one place."""
    if overlaps(array):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def warn_of_overlap(name: str, indexing: str) -> None:
    """What is still allowed of `t[...] = ...` and its like on expanded tensors, with a warning."""
    errors.warn(
        f"Use of {name}_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
        f"operation. This also applies to advanced indexing e.g. tensor[{indexing}"
    )


def check_own(op: Any, t: Tensor) -> None:
    """Refuse to write to a tensor from outside of the transforms that run, if these differentiate."""
    level = next((level for level in reversed(local.state.levels) if level.elements is None), None)
    if level is None:
        return
    while t._backend.level > level.serial:
        t = t._array.main
    if t._backend.level == level.serial or (t._counter is not None and t._counter.born > level.serial):
        return
    signature = op.signature
    of_tensors = [p.type for p in signature.params[1:2]] == ["Operand"] and not op.lifts
    overload = signature.overload or ("Tensor" if of_tensors else "")
    name = f"aten::{signature.name}_" + (f".{overload}" if overload else "")
    raise RuntimeError(
        "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
        f"({name}) that would mutate a captured Tensor. This is not supported; please rewrite the function being "
        "transformed to explicitly accept the mutated Tensor(s) as inputs."
    )


def check_apart(target: Tensor, other: Tensor, whole: bool = False) -> None:
    """Refuse to write into memory that is also read from; unless `whole`, the very same elements are no harm."""
    backend = target._backend.real
    if target._backend.level or other._backend.real is not backend:  # tensors inside are asked when they are written to
        return
    a, b = target._array, other._array
    if target is other:
        overlap = whole
    elif a.base is None and b.base is None:  # each with memory of its own
        overlap = a is b and whole
    elif a.size and b.size and backend.strided and backend.xp.may_share_memory(a, b) and _dense(a) and _dense(b):
        overlap = whole or not same_elements(backend, a, b)
    else:
        overlap = False
    if overlap:
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
            "memory location. Please clone() the tensor before performing the operation."
        )


def same_elements(backend: Backend, a: Array, b: Array) -> bool:
    """Whether two arrays of one shape, or two dense ones, show the same elements in the same order."""
    return (
        a.strides == b.strides
        and a.nbytes == b.nbytes
        and a.itemsize == b.itemsize
        and backend.xp.may_share_memory(a, b)  # cheaper to ask than the addresses
        and backend.pointer(a) == backend.pointer(b)
    )


def _dense(array: Array) -> bool:
    """Whether the elements fill one stretch of memory, each its own place."""
    step = array.itemsize
    for stride, size in sorted(zip(array.strides, array.shape, strict=True)):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def check_fits(target: Tensor, result: Tensor) -> None:
    """Whether an in-place op may write `result` into `target`."""
    if result._array.shape != target._array.shape:
        raise RuntimeError(
            f"output with shape {list(target._array.shape)} doesn't match the broadcast shape "
            f"{list(result._array.shape)}"
        )
    check_castable(result.dtype, target.dtype)


def check_castable(from_: dt.dtype, to: dt.dtype) -> None:
    if not dt.can_cast(from_, to):
        raise errors.cannot_cast(from_, to)


def write(target: Tensor, result: Tensor) -> None:
    """Copy `result` into the memory of `target` and count the write."""
    _put(target, result)
    bump(target)


def _put(target: Tensor, result: Tensor) -> None:
    backend, result = target._backend.real, computed(result)
    backend.write(target._array, result._array if result._backend.level == backend.level else backend.lift(result))


def bump(t: Tensor) -> None:
    counter = t._counter
    if counter is None:
        counter = t._counter = Counter()
    counter.n += 1


def write_out(
    target: Tensor, result: Tensor, elementwise: bool = False, apart: bool = True, at_once: Container[dt.dtype] = ()
) -> None:
    """Put `result` into the tensor given as `out=`, resized if its shape differs: to the layout of elementwise results.

    Where those are cast, not written `at_once`, or the tensor has bits, PyTorch resizes what it computes in, and the
    tensor after it, and tells of both.
    """
    if not isinstance(target, TensorBase):
        raise TypeError(f"argument 'out' must be Tensor, not {type(target).__name__}")
    if target._backend.device != result._backend.device:
        raise errors.different_devices(result._backend.device, target._backend.device)
    if target._backend.layout is not result._backend.layout:
        raise RuntimeError("Expected self.is_sparse() && result.is_sparse() to be true, but got false.")
    check_castable(result.dtype, target.dtype)
    stack = local.state.mode.saved_hooks
    if stack:
        announce_write(target, stack)
    shape = result._array.shape
    if target._array.shape != shape:
        if target._array.size:
            cast = elementwise and target.dtype is not result.dtype and target.dtype not in at_once
            for _ in range(1 + cast + target._backend.lazy):
                errors.out_resized(target._array.shape, shape)
        target._resize_output_(shape, target.device)
        backend = target._backend.real
        if elementwise and backend.strided and not backend.level:
            target._array = backend.as_strided(target._array, shape, result.stride(), target.storage_offset())
    if apart:
        check_no_overlap(target._array)
    _put(target, result)
    bump(target)


def into(
    out: Any, apply: Callable[..., Any], values: Sequence[Any], name: str, exact: bool = False,
    elementwise: bool = False, at_once: Container[dt.dtype] = (),
) -> Any:  # fmt: skip
    """Compute, then copy the results into the tensors given as `out=`; `exact`, these must have the results' dtypes."""
    outs = out if isinstance(out, (tuple, list)) else (out,)
    if any(moves(t) or t._backend.moves(t._array) for v in (outs, *values) for t in tensors_in(v)):
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function"
        )
    refuse_batch(
        [t for v in (outs, *values) for t in tensors_in(v)],
        f"Batching rule not implemented for aten::{name}.out; the fallback path doesn't work on out= or view ops.",
    )
    mode = local.state.mode
    if mode.autocast is not None:  # which casts no operands where `out=` says what is wanted
        mode = mode.but(autocast=None)
    results = local.state.within(mode, apply, *values)
    several = isinstance(results, tuple)
    if several is not isinstance(out, (tuple, list)) or not all(isinstance(o, TensorBase) for o in outs):
        wanted = "tuple of Tensors" if several else "Tensor"
        raise TypeError(f"{name}(): argument 'out' must be {wanted}, not {errors.type_name(out)}")
    made = results if several else (results,)
    if len(made) != len(outs):
        raise TypeError(f"expected tuple of {len(made)} elements but got {len(outs)}")
    for at, (target, result) in enumerate(zip(outs, made)):
        check_out_dtype(name, result.dtype, target.dtype, exact=exact, first=not at)
    for target, result in zip(outs, made):
        write_out(target, result, elementwise, at_once=at_once)
    if not several:
        return out
    return results.put_into(outs) if hasattr(results, "put_into") else outs
