"""Parameters laid out in one flat tensor, of which each process keeps a shard."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.machine import Tensor, functions
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from .handle import Handle, Place

_ALIGNED = 16  # bytes, at multiples of which parameters begin that programs see by their names


class FlatHandle(Handle):
    """The flat tensor of one unit, cut in as many shards of one size as there are processes."""

    def __init__(
        self, unit: Module, params: Sequence[tuple[tuple[tuple[Module, str], ...], str, Tensor]], original: bool,
        on_host: bool, **how: Any,
    ) -> None:  # fmt: skip
        super().__init__(device=params[0][2].device if on_host else None, **how)
        self.unit, self.original, self.shown = unit, original, False
        self.places, at = [], 0
        for owners, fqn, param in params:
            if original:
                at += -at % (_ALIGNED // param.element_size())
            self.places.append(Place(owners, fqn, tuple(param.shape), at, at + param.numel()))
            at += param.numel()
        self.step = -(-at // self.size)  # the numbers in a shard
        with no_grad():
            flat = params[0][2].new_zeros(self.step * self.size)
            for view, (*_, param) in zip(self.views(flat), params):
                view.copy_(param)
            self.begin = self.step * self.rank
            self.local = flat[self.begin : self.begin + self.step].clone()
            self.local = self.local.cpu() if on_host else self.local
        self.trains = [param.requires_grad for *_, param in params]
        for owners, *_ in params:
            for owner, name in owners:
                owner._parameters.pop(name, None)
        if original:
            self.pieces = [
                Parameter(self._piece(place), requires_grad=trains) for place, trains in zip(self.places, self.trains)
            ]
        else:
            self.pieces = [Parameter(self.local, requires_grad=self.trains[0])]
        self.register()

    def register(self) -> None:
        """Let the shards be the parameters that programs see."""
        if not self.original:
            self.unit._parameters["_flat_param"] = self.pieces[0]  # type: ignore[assignment]
            self.leave()
            return
        for place, piece in zip(self.places, self.pieces):
            place.assign(piece)

    def leave(self) -> None:
        """Take the parameters from their owners, who are left with the shapes unless they show the pieces."""
        super().leave()
        if not self.original:
            for place in self.places:
                for owner, name in place.owners:
                    owner.__dict__[name] = functions["empty"](place.shape, device="meta")

    def _piece(self, place: Place) -> Tensor:
        """The part of a parameter that is in the shard, flat; all of it, where nothing is sharded."""
        start, stop = self.span(place)
        part = self.local[start:stop]
        return part if self.size > 1 else part.view(place.shape)

    def span(self, place: Place) -> tuple[int, int]:
        """Where in the shard a parameter has its part."""
        start, stop = (min(max(edge - self.begin, 0), self.step) for edge in (place.start, place.stop))
        return start, stop

    def shard(self) -> Tensor:
        return self.local.detach()

    def unpacked(self, gathered: Tensor) -> Tensor:
        return gathered

    def packed(self, full: Tensor) -> Tensor:
        return functions["cat"]([full, full.new_zeros(self.step * self.size - full.numel())])

    def split(self, shard: Tensor) -> list[Tensor | None]:
        shard = shard.to(device=self.local.device, dtype=self.local.dtype)
        if not self.original:
            return [shard]
        spans = [self.span(place) for place in self.places]
        return [
            shard[start:stop].view(piece.shape) if stop > start else None
            for (start, stop), piece in zip(spans, self.pieces)
        ]

    # ---- whole parameters, outside of computations

    def _joined(self, pieces: Sequence[Tensor | None]) -> Tensor:
        """The flat tensor of which everyone has such pieces."""
        local = self.local.new_zeros(self.step)
        spans = [self.span(place) for place in self.places] if self.original else [(0, self.step)]
        with no_grad():
            for (start, stop), piece in zip(spans, pieces):
                if piece is not None:
                    local[start:stop] = piece.reshape(-1)
            return self._gather(local.to(self.device or local.device), self.group, False)[0]

    @contextlib.contextmanager
    def summoned(
        self, writeback: bool, rank0_only: bool = False, offload_to_cpu: bool = False, with_grads: bool = False
    ) -> Iterator[None]:
        """Let the owners have whole parameters; what is written to them goes to the shards at the end."""
        wholes = [self._joined(self.pieces if self.original else [self.local])]
        if with_grads:
            wholes.append(self._joined([piece.grad for piece in self.pieces]))
        wholes = [whole.cpu() for whole in wholes] if offload_to_cpu else wholes
        if rank0_only and self.rank:
            yield
            return
        if not self.original:
            del self.unit._parameters["_flat_param"]
        for place, trains, *views in zip(self.places, self.trains, *map(self.views, wholes)):
            param = Parameter(views[0], requires_grad=trains)
            param.grad = views[1] if with_grads else None
            place.assign(param)
            for owner, name in place.owners:
                owner.__dict__.pop(name, None)
        self.shown = True
        try:
            yield
        finally:
            self.shown = False
            if writeback:
                self._take(wholes[0], with_grads)
            for place in self.places:
                for owner, name in place.owners:
                    del owner._parameters[name]
            self.register()

    def _take(self, full: Tensor, with_grads: bool) -> None:
        """Let the shards be what the owners' whole parameters are now."""
        with no_grad():
            shown: list[Any] = [place.param for place in self.places]
            for place, param in zip(self.places, shown):  # a parameter may have been put in another's place
                full[place.start : place.stop].view(place.shape).copy_(param)
            self.local.detach().copy_(full[self.begin : self.begin + self.step])
            if with_grads:
                named = {place.fqn: param.grad for place, param in zip(self.places, shown)}
                for piece, grad in zip(self.pieces, self.parted(named)):
                    piece.grad = None if piece.grad is None else grad

    def whole(self, pieces: Sequence[Tensor | None]) -> dict[str, Tensor]:
        """Tensors by the parameters' names, of which these are the pieces in the shard."""
        full = self._joined(pieces)
        return {place.fqn: view.clone() for place, view in zip(self.places, self.views(full))}

    def parted(self, named: dict[str, Any]) -> list[Tensor]:
        """The pieces in the shard of tensors by the parameters' names."""
        full = self.local.new_zeros(self.step * self.size)
        for place in self.places:
            if named[place.fqn] is not None:
                full[place.start : place.stop] = named[place.fqn].reshape(-1).to(full)
        shard = full[self.begin : self.begin + self.step]
        if not self.original:
            return [shard.clone()]
        spans = [self.span(place) for place in self.places]
        return [shard[start:stop].clone().view(piece.shape) for (start, stop), piece in zip(spans, self.pieces)]
