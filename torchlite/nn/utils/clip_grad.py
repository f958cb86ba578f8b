"""Keeping gradients small."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.machine import PRECISE, UNVERSIONED, Tensor, bump, functions, wrap
from ...core.native import in_c
from ...core.state import is_watched, local
from ...core.values import Array, Namespace, dt, finfo, leaving, or_own, warn
from ...operations.reductions.vector_norms import vector_norm

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grads_with_norm_", "clip_grad_value_", "get_total_norm"]


def _listed(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


# ---- many arrays at once, where there is no more to the tensors


def _arrays(tensors: list[Tensor]) -> list[Any] | None:
    """The arrays of plain tensors of one device and dtype; None where some are not."""
    backend, dtype = tensors[0]._backend, tensors[0].dtype
    known = dtype in PRECISE or (dtype in dt.HALVES and backend.real.over_lists is not None)
    if not local.state.mode.plain or not known or not (backend.bare and backend.values and backend.strided):
        return None
    for t in tensors:
        if t._backend is not backend or t.dtype is not dtype or t._edge is not None or t.__class__ is not Tensor:
            return None
        if t._counter is UNVERSIONED:
            return None
    return [t._array for t in tensors]


@or_own
def _norm_of_all(xp: Namespace, arrays: list[Array]) -> Array:
    flat = [array.reshape(-1) for array in arrays]
    return xp.sqrt(xp.stack([a.dot(a) for a in flat]).sum())


@or_own
def _scale_all(xp: Namespace, arrays: list[Array], factor: Array) -> None:
    for array in arrays:
        xp.multiply(array, factor, array)


@or_own
def _clip_all(xp: Namespace, arrays: list[Array], limit: float) -> None:
    for array in arrays:
        xp.maximum(array, -limit, out=array)
        xp.minimum(array, limit, out=array)


norm_of_all, scale_all = in_c("norm_of_all", _norm_of_all), in_c("scale_all", _scale_all)


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


@no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """The norm of all tensors together, as if they were one vector."""
    listed, order = _listed(tensors), float(norm_type)
    if not listed:
        return functions["tensor"](0.0)
    if order == 2 and (arrays := _arrays(listed)) is not None:
        backend = listed[0]._backend
        total = wrap(backend.asarray(local.state.quiet(norm_of_all, backend.xp, arrays)), listed[0].dtype, backend)
    else:
        total = _norm_of_norms(listed, order, foreach)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def _together(tensors: list[Tensor], foreach: bool | None) -> bool:
    """Whether a dispatch mode sees one call for all: of tensors of one kind, unless `foreach` says otherwise."""
    if not is_watched() or foreach is False or len({(t.device, t.dtype) for t in tensors}) != 1:
        return False
    importlib.import_module("...operations.torch_names.foreach", __package__)  # where they are declared
    return True


def _norm_of_norms(listed: list[Tensor], order: float, foreach: bool | None) -> Tensor:
    norms = functions["_foreach_norm"](listed, order) if _together(listed, foreach) else [
        vector_norm.apply(t, order, None, False, None) for t in listed
    ]  # fmt: skip
    return vector_norm.apply(functions["stack"]([n.to(norms[0].device) for n in norms]), order, None, False, None)


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients whose norm is `total_norm` so that it becomes at most `max_norm`."""
    grads, limit = _gradients(parameters), float(max_norm)
    if grads:
        factor = (limit / (total_norm + 1e-6)).clamp(max=1.0)
        arrays = _arrays([factor, *grads])
        if arrays is not None:
            local.state.quiet(scale_all, factor._backend.xp, arrays[1:], arrays[0])
            for grad in grads:
                bump(grad)
            return
        if _together(grads, foreach):
            functions["_foreach_mul_"](grads, factor)
            return
        for grad in grads:
            grad.mul_(factor.to(grad.device))


_get_total_norm, _clip_grads_with_norm_ = get_total_norm, clip_grads_with_norm_  # as they were called before


@no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """Scale the gradients so that their norm, all together, becomes at most `max_norm`; the norm they had."""
    if not isinstance(parameters, Tensor):
        iterator = not isinstance(parameters, (list, tuple))
        parameters = list(parameters)
        if iterator and not parameters:
            warn("`parameters` is an empty generator, no gradient clipping will occur.")
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


clip_grad_norm = leaving(
    clip_grad_norm_, "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`."
)


@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Bring every element of the gradients between `-clip_value` and `clip_value`."""
    limit = float(clip_value)
    grads = _gradients(parameters)
    if _together(grads, foreach):
        functions["_foreach_clamp_min_"](grads, -limit)
        functions["_foreach_clamp_max_"](grads, limit)
        return
    arrays = _arrays(grads) if grads else None
    if arrays is not None and not abs(limit) > finfo(grads[0].dtype).max:
        local.state.quiet(_clip_all, grads[0]._backend.xp, arrays, limit)
        for grad in grads:
            bump(grad)
            bump(grad)
        return
    for grad in grads:
        grad.clamp_min_(-limit)
        grad.clamp_max_(limit)


for _f in (clip_grad_norm, clip_grad_norm_, clip_grads_with_norm_, clip_grad_value_, get_total_norm):
    _f.__module__ = "torch.nn.utils.clip_grad"
