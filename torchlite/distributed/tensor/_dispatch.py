"""Running operations on tensors over meshes: operands are placed as a strategy wants; each process runs its part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.machine import Tensor, functions
from ...core.machine.registry import registry
from ...core.state import local as thread
from ...utils._pytree import tree_flatten, tree_unflatten
from ._dtensor_spec import DTensorSpec, TensorMeta, compute_local_shape_and_global_offset
from ._redistribute import redistributed
from ._sharding import MEAN, SUM, Call, Strategy, is_loss, strategies, whole_size
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["contiguous_meta", "dispatched", "instead"]

_SIZED = frozenset(["view", "_unsafe_view", "reshape", "expand", "new_zeros", "new_ones", "new_empty", "new_full"])

instead: dict[str, Callable[..., Any]] = {}  # how operations are done while a context says so


def dispatched(cls: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What an operation makes of tensors over a mesh."""
    if func.overloadpacket.__name__ in instead:
        return instead[func.overloadpacket.__name__](cls, *args, **kwargs)
    if func.overloadpacket.__name__ == "_local_scalar_dense":
        return func(args[0]._local_tensor)  # of a sum's part too: no other process is asked
    leaves, tree = tree_flatten(_of_all(func, args, kwargs))
    places = [at for at, leaf in enumerate(leaves) if isinstance(leaf, cls)]
    spec = leaves[places[0]]._spec
    for at, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor) and not isinstance(leaf, cls) and leaf.dim():
            leaves[at] = _replicated(cls, func, leaf, spec)
            places.append(at)
    places.sort()
    operands = [leaves[at]._spec for at in places]
    if any(each.mesh != spec.mesh for each in operands):
        raise RuntimeError(f"Could not run {func} on tensors over different meshes")
    call = _call(func, leaves, tree, places, operands)
    in_place = call.name.endswith("_") and not call.name.endswith("__") and isinstance(args[0], cls)
    outputs, inputs = _chosen(call, in_place)
    for at, operand, wanted in zip(places, operands, inputs):
        leaf = leaves[at]._local_tensor
        leaves[at] = leaf if operand.placements == wanted else redistributed(leaf, operand, wanted)
    given, named = tree_unflatten(leaves, tree)
    if call.name in _SIZED:
        size, _ = compute_local_shape_and_global_offset(whole_size(call), spec.mesh, outputs)
        given = (given[0], list(size), *given[2:])
    result = func(*given, **named)
    if in_place:
        _write_back(args[0], result, inputs[0], outputs)
        return args[0]
    shapes = _whole_forms(call, func, leaves, tree, places, outputs)
    return _wrapped(cls, result, shapes, spec.mesh, outputs)


def _of_all(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What an operation is given; the gradient of a loss's mean, which asks how many elements there are, is a sum's."""
    op: Any = getattr(func, "op", None)
    if not is_loss(op) or op.signature.params[0].name != "grad_output":
        return args, kwargs
    params = op.signature.params
    values = {param.name: kwargs.get(param.name, param.default) for param in params}
    values |= {param.name: value for param, value in zip(params, args)}
    if values["reduction"] == MEAN:
        values |= {"grad_output": values["grad_output"] / values["self"].numel(), "reduction": SUM}
    return tuple(values.values()), {}


def _call(func: Any, leaves: list[Any], tree: Any, places: Sequence[int], operands: list[DTensorSpec]) -> Call:
    shown = list(leaves)
    for at, spec in zip(places, operands):
        shown[at] = spec
    args, kwargs = tree_unflatten(shown, tree)
    name = func.overloadpacket.__name__
    op = getattr(func, "op", None) or registry.get(name)
    return Call(name, op, args, kwargs, operands, operands[0].mesh.size())


def _replicated(cls: Any, func: Callable[..., Any], plain: Tensor, spec: DTensorSpec) -> Any:
    """A plain tensor among those over a mesh: one that a formula of backward made is the same in all processes."""
    if thread.state.task is None and not cls._implicitly_replicates:
        raise RuntimeError(
            f"{func} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling "
            "distributed operators!"
        )
    return cls(
        plain.detach(), DTensorSpec(spec.mesh, (Replicate(),) * spec.mesh.ndim, contiguous_meta(plain)),
        requires_grad=False,
    )  # fmt: skip


def contiguous_meta(whole: Tensor) -> TensorMeta:
    """The form of a tensor that is all there."""
    return TensorMeta(whole.shape, whole.stride(), whole.dtype)


# ---- choosing


def _chosen(call: Call, in_place: bool) -> tuple[tuple[Placement, ...], list[tuple[Placement, ...]]]:
    """The placements of the result and of each operand, for all dimensions of the mesh."""
    known, operands = strategies(call), call.operands
    several = len({(p.dim, at) for s in operands for at, p in enumerate(s.placements) if isinstance(p, Shard)})
    nested = several > 1 and call.name in ("view", "_unsafe_view", "reshape")
    chosen = []
    for dim in range(operands[0].mesh.ndim):
        now = [spec.placements[dim] for spec in operands]
        fit = known
        if in_place:
            fit = [each for each in known if each.output == each.inputs[0] == now[0]] or known[-1:]
        if nested:
            fit = known[-1:]
        chosen.append(min(fit, key=lambda each, now=now: _cost(operands, now, each)))  # type: ignore[misc]
    return tuple([each.output for each in chosen]), [
        tuple([each.inputs[at] for each in chosen]) for at in range(len(operands))
    ]


def _cost(operands: Sequence[DTensorSpec], now: Sequence[Placement], strategy: Strategy) -> float:
    """About how many numbers travel; whole rather than in other pieces, where that is no more."""
    cost = 0.0
    for spec, have, want in zip(operands, now, strategy.inputs):
        numel = spec.tensor_meta.shape.numel()
        if have == want:
            continue
        if isinstance(want, Partial):
            cost += 1e-3 if isinstance(have, Replicate) and want.reduce_op == "sum" else float("inf")
        elif isinstance(have, Replicate):
            cost += 1e-3
        else:
            cost += numel * (2 if isinstance(have, Partial) else 1) + (2 if isinstance(want, Shard) else 1)
    return cost


# ---- results


def _write_back(target: Any, result: Tensor, computed: tuple[Placement, ...], outputs: tuple[Placement, ...]) -> None:
    """What was computed in place on another tensor than the one that is here goes to it."""
    spec = target._spec
    if computed != spec.placements:
        whole = DTensorSpec(spec.mesh, outputs, spec.tensor_meta)
        target._local_tensor.copy_(redistributed(result, whole, spec.placements))


def _whole_forms(
    call: Call, func: Any, leaves: list[Any], tree: Any, places: Sequence[int], outputs: tuple[Placement, ...]
) -> Any:
    """The forms of the whole results, as the operation has them on tensors without memory; None where all is here."""
    if not any(isinstance(placement, Shard) for placement in outputs):
        return None
    imagined = list(leaves)
    for at, spec in zip(places, call.operands):
        shape, stride, dtype = spec.tensor_meta
        imagined[at] = functions["empty_strided"](shape, stride, dtype=dtype, device="meta")
    args, kwargs = tree_unflatten(imagined, tree)
    if "device" in kwargs:
        kwargs = {**kwargs, "device": "meta"}
    if call.name in _SIZED:
        args = (args[0], whole_size(call), *args[2:])
    return func(*args, **kwargs)


def _wrapped(cls: Any, result: Any, whole: Any, mesh: Any, outputs: tuple[Placement, ...]) -> Any:
    if whole is None:
        whole = result
    if isinstance(result, (tuple, list)):
        return type(result)([_wrapped(cls, each, form, mesh, outputs) for each, form in zip(result, whole)])
    if not isinstance(result, Tensor):
        return result
    return cls(result, DTensorSpec(mesh, outputs, contiguous_meta(whole)), requires_grad=False)
