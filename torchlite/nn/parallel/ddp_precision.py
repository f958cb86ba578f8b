"""Computing with parameters in few bits, of which the optimizer has the exact values."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...core.machine import Tensor
from ...core.values import shown_in
from ...distributed.algorithms.ddp_comm_hooks.default_hooks import compressed
from ...utils._pytree import tree_map
from ..modules.module import Module


@shown_in("torch.nn.parallel.distributed")
@dataclass
class _MixedPrecision:
    """The dtypes of computation, of reductions and of buffers; None leaves them as they are."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None


def cast_buffers(module: Module, precision: _MixedPrecision | None) -> None:
    """Let a module's buffers have the dtype that was chosen for them."""
    if precision is not None and precision.buffer_dtype is not None:
        for buffer in module.buffers():
            buffer.data = buffer.data.to(precision.buffer_dtype)


def cast_inputs(values: Any, precision: _MixedPrecision) -> Any:
    """Arguments as the parameters are computed with."""
    if precision.param_dtype is None:
        return values
    return tree_map(
        lambda each: each.to(precision.param_dtype)
        if isinstance(each, Tensor) and each.is_floating_point() else each,
        values,
    )  # fmt: skip


@contextlib.contextmanager
def low_precision(module: Module, precision: _MixedPrecision, ignored: set[str]) -> Iterator[None]:
    """Let modules have their parameters in few bits; gradients come back in all."""
    shown: list[tuple[Module, str]] = []
    cast: dict[Tensor, Tensor] = {}
    for prefix, owner in module.named_modules():
        for name, param in owner._parameters.items():
            wanted = precision.param_dtype is not None and f"{prefix}.{name}".removeprefix(".") not in ignored
            if wanted and param is not None and param.is_floating_point():
                if param not in cast:
                    cast[param] = param.to(precision.param_dtype)
                owner.__dict__[name] = cast[param]
                shown.append((owner, name))
    try:
        yield
    finally:
        for owner, name in shown:
            owner.__dict__.pop(name, None)


def reducing_in(precision: _MixedPrecision, group: Any) -> Callable[[Any], Any] | None:
    """What reduces buckets in the dtype that was chosen; None where that is theirs."""
    wanted = precision.reduce_dtype or precision.param_dtype
    return None if wanted is None else lambda bucket: compressed(wanted, group, bucket)
