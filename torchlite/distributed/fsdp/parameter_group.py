"""Parameters that are cut one by one, and travel together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.machine import Tensor, functions
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ..device_mesh import DeviceMesh
from ..tensor import DTensor, Replicate, Shard
from ..tensor._dispatch import contiguous_meta
from ..tensor._dtensor_spec import DTensorSpec
from .handle import Handle, Place


class ParameterGroup(Handle):
    """The parameters of one module, each a tensor over the mesh that is cut along a dimension."""

    def __init__(
        self, params: Sequence[tuple[tuple[tuple[Module, str], ...], str, Tensor]], mesh: DeviceMesh,
        place: Callable[[Any], Any] | None, on_host: bool, **how: Any,
    ) -> None:  # fmt: skip
        groups = mesh.get_all_groups()
        super().__init__(
            group=groups[-1] if groups[-1].size() > 1 else None, replicas=groups[0] if mesh.ndim == 2 else None,
            device=mesh.device_type if on_host else None, **how,
        )  # fmt: skip
        self.mesh, self.on_host = mesh, on_host
        self.places, self.cut, self.trains, at = [], [], [], 0
        for owners, fqn, param in params:
            wanted = place(param) if place is not None else None
            cut = (wanted or Shard(0)).dim % max(param.dim(), 1)
            if cut and param.shape[cut] % self.size:
                raise NotImplementedError(
                    f"FSDP does not support uneven sharding on dim {cut}: {param.shape} (world size: {self.size})"
                )
            self.cut.append(cut)
            self.trains.append(param.requires_grad)
            self.places.append(Place(owners, fqn, tuple(param.shape), at, at + param.numel()))
            at += param.numel()
            self.places[-1].assign(self._sharded(param, cut))
        self.padded = [self._padded_shape(place.shape, cut) for place, cut in zip(self.places, self.cut)]
        self.opened = False

    def _sharded(self, param: Tensor, cut: int) -> Parameter:
        """This process's piece of a parameter."""
        start, stop = Shard.span(param.shape[cut], self.size, self.rank)
        local = param.detach().narrow(cut, start, stop - start).clone()
        local = local.cpu() if self.on_host and not local.is_meta else local
        return self._over_mesh(local, param, cut, param.requires_grad)

    def _over_mesh(self, local: Tensor, whole: Tensor, cut: int, trains: bool) -> Any:
        placements = (*(Replicate(),) * (self.mesh.ndim - 1), Shard(cut))
        spec = DTensorSpec(self.mesh, placements, contiguous_meta(whole)._replace(dtype=local.dtype))
        return Parameter(DTensor(local, spec, requires_grad=False), requires_grad=trains)

    def _padded_shape(self, shape: Sequence[int], cut: int) -> tuple[int, ...]:
        """The shape of the longest piece, which all travel as."""
        return (*shape[:cut], -(-shape[cut] // self.size), *shape[cut + 1 :])

    @property
    def pieces(self) -> list[Any]:  # type: ignore[override]
        """The parameters, as tensors over the mesh; programs may have put others in their places."""
        return [place.param for place in self.places]

    def shard(self) -> Tensor:
        flat = []
        for piece, shape in zip(self._sharded_pieces(), self.padded):
            local = piece._local_tensor.reshape(-1)
            flat += [local, local.new_zeros(math.prod(shape) - local.numel())]
        return functions["cat"](flat)

    def _sharded_pieces(self) -> list[Any]:
        return self._kept if self.opened else self.pieces

    def unpacked(self, gathered: Tensor) -> Tensor:
        rows, at, parts = gathered.view(self.size, -1), 0, []
        for place, cut, shape in zip(self.places, self.cut, self.padded):
            part = rows[:, at : at + math.prod(shape)].reshape(self.size, *shape)
            at += math.prod(shape)
            joined = part.movedim(0, cut).reshape(*shape[:cut], -1, *shape[cut + 1 :])
            parts.append(joined.narrow(cut, 0, place.shape[cut]).reshape(-1))
        return functions["cat"](parts)

    def packed(self, full: Tensor) -> Tensor:
        parts = []
        for view, cut, shape in zip(self.views(full), self.cut, self.padded):
            more = list(view.shape)
            more[cut] = shape[cut] * self.size - more[cut]
            padded = functions["cat"]([view, view.new_zeros(more)], cut)
            split = padded.reshape(*shape[:cut], self.size, *shape[cut:])
            parts.append(split.movedim(cut, 0).reshape(self.size, -1))
        return functions["cat"](parts, 1).reshape(-1)

    def split(self, shard: Tensor) -> list[Any]:
        found, at = [], 0
        for piece, shape, trains in zip(self._sharded_pieces(), self.padded, self.trains):
            part = shard[at : at + math.prod(shape)]
            at += math.prod(shape)
            local = piece._local_tensor
            own = part[: local.numel()].view(local.shape).to(device=local.device, dtype=local.dtype)
            found.append(DTensor(own.clone(), piece._spec, requires_grad=False) if trains else None)
        return found

    def reduced(self, grads: Sequence[Tensor | None]) -> list[Any]:
        """The gradients of the pieces; those that had none keep having none."""
        found = super().reduced(grads)
        return [None if grad is None else each for grad, each in zip(grads, found)]

    # ---- whole parameters, outside of computations

    def open(self) -> None:
        """Let the owners have whole parameters until `close`."""
        if self.opened:
            return
        self._kept, self.opened = self.pieces, True
        for place, view, trains in zip(self.places, self.views(self.full()), self.trains):
            place.assign(Parameter(view, requires_grad=trains))

    def close(self) -> None:
        """Let the owners have their pieces again."""
        if self.opened:
            self.opened = False
            for place, piece in zip(self.places, self._kept):
                place.assign(piece)
        self.drop()

    def reset(self) -> None:
        """Parameters were replaced, converted or moved: what was gathered is out of date."""
        self.drop()
        with no_grad():
            for place, piece in zip(self.places, self.pieces):
                place.assign(piece)
