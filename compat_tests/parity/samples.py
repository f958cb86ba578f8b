"""PyTorch's own table of operators and of sample inputs, as neutral data."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import random
import warnings
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import AliasInfo, OpInfo, SampleInput

from .catalog import is_safe_with_strided_out
from .library import Library
from .neutral import Deferred, Device, Generator, Name, Sequence, Unconvertible
from .operation import Callee, Case, Operation, Variants
from .transplant import neutral_callable, path_of

_NATIVE = Library(torch, native=True)
_LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
_PLAIN = (bool, int, float, complex, str, type(None), type(Ellipsis), range, np.generic, np.ndarray)


@functools.cache
def op_infos() -> dict[str, OpInfo]:
    """The operator table by full name (the operator's, and its variant's after a dot)."""
    return {info.full_name: info for info in op_db}


@functools.cache
def operation(name: str) -> Operation:
    """The operator ``name`` of the table in neutral form."""
    info = op_infos()[name]
    return Operation(
        name=name,
        main=_variants(info, neutral_callable(info.op, f"torch.{info.name}")),
        operators=tuple(filter(None, map(neutral_callable, (info.operator_variant, info.inplace_operator_variant)))),
        aliases=tuple(_variants(other, neutral_callable(other.op, f"torch.{other.name}")) for other in info.aliases),
        supports_out=info.supports_out,
        supports_strided_out=is_safe_with_strided_out(name),
        supports_grad=info.supports_autograd,
        supports_gradgrad=bool(info.supports_gradgrad),
        supports_forward_ad=info.supports_forward_ad,
        supports_inplace_grad=bool(info.supports_inplace_autograd),
        sparse_layouts=tuple(layout for layout in _LAYOUTS if info.supports_sparse_layout(layout)),
    )


def _variants(owner: OpInfo | AliasInfo, function: Callee | None) -> Variants:
    return Variants(
        name=owner.name,
        function=function,
        method=neutral_callable(owner.method_variant, f"torch.Tensor.{owner.name}"),
        inplace=neutral_callable(owner.inplace_variant, f"torch.Tensor.{owner.name}_"),
    )


@functools.lru_cache(maxsize=4)
def cases(name: str, source: str, dtype: str, limit: int | None = None) -> tuple[Case, ...]:
    """Sample inputs of an operator, the same in every process.

    ``source`` is ``samples``, ``noncontiguous`` (the same with gaps between elements), ``reference`` (PyTorch's larger
    set), ``sparse`` (those in every sparse layout that the operator takes) or ``errors``. Of more than ``limit``
    samples so many are taken, evenly spread.
    """
    info = op_infos()[name]
    seed = zlib.crc32(name.encode())
    torch.default_generator.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(_samples(info, source, dtype))
    chosen = range(len(found))
    if limit is not None and len(found) > limit:
        chosen = sorted({round(i * (len(found) - 1) / max(limit - 1, 1)) for i in range(limit)})
    return tuple(_case(found[index], index, source == "noncontiguous") for index in chosen)


def _samples(info: OpInfo, source: str, dtype_name: str) -> Iterable[SampleInput]:
    # The generators themselves: the methods of OpInfo reseed and keep track at every sample, at a high cost.
    if source == "errors":
        return (error.sample_input for error in info.error_inputs_func(info, "cpu")) if info.error_inputs_func else ()
    dtype = getattr(torch, dtype_name)
    if dtype not in info.supported_dtypes("cpu"):
        return ()
    if source == "reference" and info.reference_inputs_func is not None:
        return info.reference_inputs_func(info, "cpu", dtype, requires_grad=False)
    needs_grad = info.supports_autograd and dtype in info.supported_backward_dtypes("cpu")
    if source == "sparse":
        layouts = [layout for layout in _LAYOUTS if info.supports_sparse_layout(layout)]
        return itertools.chain.from_iterable(_sparse_samples(info, layout, dtype, needs_grad) for layout in layouts)
    return info.sample_inputs_func(info, "cpu", dtype, requires_grad=needs_grad)


def _sparse_samples(info: OpInfo, layout: str, dtype: torch.dtype, needs_grad: bool) -> Iterable[SampleInput]:
    """The table's own samples of a layout; where it has none, the dense ones whose first tensor fits the layout."""
    own = getattr(info, f"sample_inputs_{layout}_func")
    try:
        return list(own(info, "cpu", dtype, needs_grad))
    except NotImplementedError:
        return filter(None, (_in(layout, s) for s in info.sample_inputs_func(info, "cpu", dtype, needs_grad)))


def _in(layout: str, sample: SampleInput) -> SampleInput | None:
    dense = sample.input
    if not isinstance(dense, torch.Tensor) or (layout != "sparse_coo" and dense.dim() < 2):
        return None
    blocks = {"blocksize": (1, 1)} if layout in ("sparse_bsr", "sparse_bsc") else {}
    try:
        made = dense.detach().to_sparse(layout=getattr(torch, layout), **blocks)
    except RuntimeError:  # a batch whose matrices have different numbers of elements that are not zero
        return None
    return SampleInput(made.requires_grad_(dense.requires_grad), args=sample.args, kwargs=sample.kwargs)


def _case(sample: SampleInput, index: int, noncontiguous: bool) -> Case:
    made: dict[int, Any] = {}
    try:
        if noncontiguous:
            _neutral((sample.input, *sample.args), {})
            sample = sample.noncontiguous()
        arguments = _neutral((sample.input, *sample.args), made)
        keywords = _neutral(dict(sample.kwargs), made)
    except Unconvertible as reason:
        return Case(index, Sequence("tuple", ()), {}, left_out=str(reason))
    process = sample.output_process_fn_grad
    unprocessed = process.__module__ == SampleInput.__module__
    return Case(index, arguments, keywords, differentiated=None if unprocessed else neutral_callable(process))


def _neutral(value: Any, made: dict[int, Any]) -> Any:
    """The neutral form of an argument; a tensor met twice gives the same :class:`Input`."""
    if isinstance(value, torch.Tensor):
        if id(value) not in made:
            made[id(value)] = _NATIVE.input_of(value)
        return made[id(value)]
    if isinstance(value, torch.Size):
        return Sequence("Size", tuple(value))
    if type(value) in (tuple, list):
        return Sequence(type(value).__name__, tuple(_neutral(item, made) for item in value))
    if isinstance(value, dict):
        return {key: _neutral(item, made) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*(_neutral(part, made) for part in (value.start, value.stop, value.step)))
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return Name(str(value))
    if isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu"):
        return Device(str(value), as_object=isinstance(value, torch.device))
    if isinstance(value, torch.Generator):
        return Generator(value.initial_seed())
    if isinstance(value, _PLAIN):
        return value
    if dataclasses.is_dataclass(value) and path_of(type(value)):
        fields = {field.name: _neutral(getattr(value, field.name), made) for field in dataclasses.fields(value)}
        kind = Name(path_of(type(value)))
        return Deferred(lambda library: library.build(kind)(**library.build(fields)), type(value).__name__)
    if callable(value) and not isinstance(value, torch.nn.Module):
        return neutral_callable(value)
    raise Unconvertible(type(value).__name__)
