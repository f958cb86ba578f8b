"""Cross entropy of scores whose classes are shared out over a mesh: the scores themselves stay where they are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ....core.machine import Tensor, functions
from ...collectives import all_reduce
from ...process_group import ProcessGroup
from ...reduction import ReduceOp
from .. import _dispatch
from .._dtensor_spec import DTensorSpec, compute_local_shape_and_global_offset
from .._redistribute import redistributed
from ..placement_types import Replicate

__all__ = ["loss_parallel"]

_MEAN = 1


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """Compute `cross_entropy` and its gradient, in here, from what each process has of the classes."""
    before = dict(_dispatch.instead)
    _dispatch.instead.update(_PARALLEL)
    try:
        yield
    finally:
        _dispatch.instead.clear()
        _dispatch.instead.update(before)


def _group(spec: DTensorSpec, dim: int) -> ProcessGroup:
    """The processes that share out a dimension of a tensor."""
    cut = [at for at, placement in enumerate(spec.placements) if placement.is_shard(dim)]
    if len(cut) != 1:
        raise ValueError(
            f"loss_parallel() requires exactly one mesh dim to shard tensor dimension {dim}, but got placements "
            f"{spec.placements} with {len(cut)} such mesh dim(s)."
        )
    return spec.mesh.get_group(cut[0])


def _over_mesh(cls: Any, local: Tensor, spec: DTensorSpec) -> Any:
    return cls(local, spec, requires_grad=False)


def _log_softmax(cls: Any, x: Any, dim: int, half_to_float: bool) -> Any:
    spec, dim = x._spec, dim % max(x.dim(), 1)
    group, local = _group(spec, dim), x._local_tensor
    local = local.float() if local.element_size() < 4 else local
    highest = _along(local, dim, lambda: local.amax(dim, keepdim=True), float("-inf"))
    all_reduce(highest, ReduceOp.MAX, group)
    shifted = local - highest
    total = shifted.exp().sum(dim, keepdim=True)
    all_reduce(total, group=group)
    dtype = local.dtype if half_to_float else x.dtype
    meta = spec.tensor_meta._replace(dtype=dtype)
    return _over_mesh(cls, (shifted - total.log()).to(dtype), DTensorSpec(spec.mesh, spec.placements, meta))


def _along(local: Tensor, dim: int, reduced: Any, otherwise: float) -> Tensor:
    """A reduction along a dimension, also where this process has nothing of it."""
    if local.shape[dim]:
        return reduced()
    sizes = [1 if at == dim else size for at, size in enumerate(local.shape)]
    return functions["full"](sizes, otherwise, dtype=local.dtype, device=local.device)


def _log_softmax_backward(cls: Any, grad: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    spec, dim = output._spec, dim % max(output.dim(), 1)
    local = redistributed(grad._local_tensor, grad._spec, spec.placements)
    total = local.sum(dim, keepdim=True)
    all_reduce(total, group=_group(spec, dim))
    meta = spec.tensor_meta._replace(dtype=input_dtype)
    result = (local - output._local_tensor.exp() * total).to(input_dtype)
    return _over_mesh(cls, result, DTensorSpec(spec.mesh, spec.placements, meta))


class _Picked:
    """Where the targets lie among the classes that are here, and what each counts for."""

    def __init__(self, x: Any, target: Any, weight: Any, ignore_index: int) -> None:
        self.dim = dim = 1 if x.dim() > 1 else 0
        spec = x._spec
        self.group = _group(spec, dim)
        self.spec = DTensorSpec(
            spec.mesh, tuple([p if p.is_shard(dim) else Replicate() for p in spec.placements]), spec.tensor_meta
        )
        self.scores = redistributed(x._local_tensor, spec, self.spec.placements)
        target, weight = _whole(target), _whole(weight)
        here, first = compute_local_shape_and_global_offset(spec.shape, spec.mesh, self.spec.placements)
        counts = target != ignore_index
        known = target.masked_fill(~counts, 0)
        if known.numel() and not bool(((known >= 0) & (known < spec.shape[dim])).all()):
            wrong = known[(known < 0) | (known >= spec.shape[dim])][0]
            raise IndexError(f"Target {int(wrong)} is out of bounds.")
        at = known - first[dim]
        self.inside = ((at >= 0) & (at < here[dim])).unsqueeze(dim)
        self.places = at.clamp(0, max(here[dim] - 1, 0)).unsqueeze(dim)
        self.counts = counts.to(x.dtype) if weight is None else weight[known] * counts

    def replicated(self, cls: Any, whole: Tensor) -> Any:
        mesh = self.spec.mesh
        return _over_mesh(cls, whole, DTensorSpec(mesh, (Replicate(),) * mesh.ndim, _dispatch.contiguous_meta(whole)))


def _whole(value: Any) -> Any:
    """All of a tensor, be it over a mesh or not."""
    if not hasattr(value, "_spec"):
        return value
    return redistributed(value._local_tensor, value._spec, (Replicate(),) * value._spec.mesh.ndim)


def _nll_forward(cls: Any, x: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, ...]:
    picked = _Picked(x, target, weight, ignore_index)
    scores = picked.scores
    if scores.shape[picked.dim]:
        found = scores.gather(picked.dim, picked.places).masked_fill(~picked.inside, 0)
    else:
        found = scores.new_zeros(picked.places.shape)
    all_reduce(found, group=picked.group)
    losses = -found.squeeze(picked.dim) * picked.counts
    total = picked.counts.sum()
    if reduction:
        losses = losses.sum() / total if reduction == _MEAN else losses.sum()
    else:
        total = total.new_zeros(())
    return picked.replicated(cls, losses), picked.replicated(cls, total)


def _nll_backward(
    cls: Any, grad: Any, x: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total: Any
) -> Any:
    picked = _Picked(x, target, weight, ignore_index)
    each = -_whole(grad) * picked.counts
    if reduction == _MEAN:
        each = each / _whole(total)
    scores = functions["zeros_like"](picked.scores)
    if scores.shape[picked.dim]:
        scores.scatter_add_(picked.dim, picked.places, each.unsqueeze(picked.dim) * picked.inside)
    return _over_mesh(cls, scores, picked.spec)


_PARALLEL: dict[str, Callable[..., Any]] = {
    "_log_softmax": _log_softmax, "_log_softmax_backward_data": _log_softmax_backward,
    "nll_loss_forward": _nll_forward, "nll_loss2d_forward": _nll_forward, "nll_loss_backward": _nll_backward,
    "nll_loss2d_backward": _nll_backward,
}  # fmt: skip
