"""Parameters laid out in one flat tensor, of which each process keeps a shard."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...autograd.function import Function
from ...autograd.grad_mode import no_grad
from ...autograd.graph import saved_tensors_hooks
from ...core.machine import Tensor, functions
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ..collectives import all_gather_into_tensor, all_reduce, reduce_scatter_tensor
from .api import MixedPrecision, ShardingStrategy

_ALIGNED = 16  # bytes, at multiples of which parameters begin that programs see by their names


class Place(NamedTuple):
    """Where a parameter belongs, and where it lies in the flat tensor."""

    owner: Module
    name: str
    fqn: str
    shape: tuple[int, ...]
    start: int
    stop: int


class _Unshard(Function):
    """From the shards to the parameters; back from their gradients to the mean of them, of which a shard is kept."""

    @staticmethod
    def forward(ctx: Any, handle: FlatHandle, *pieces: Tensor) -> Any:
        ctx.handle = handle
        ctx.set_materialize_grads(False)
        return tuple(handle.views(handle.full()))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        handle = ctx.handle
        handle.drop()
        return (None, *handle.reduced(grads))


class FlatHandle:
    """The flat tensor of one unit: its shard here, and how it is gathered and reduced."""

    def __init__(
        self, unit: Module, params: Sequence[tuple[Module, str, str, Tensor]], group: Any, strategy: ShardingStrategy,
        precision: MixedPrecision, original: bool,
    ) -> None:  # fmt: skip
        self.group, self.precision, self.original = group, precision, original
        self.size, self.rank = group.size(), group.rank()
        self.shards = strategy is not ShardingStrategy.NO_SHARD and self.size > 1
        self.frees = strategy is ShardingStrategy.FULL_SHARD
        self.places, at = [], 0
        for owner, name, fqn, param in params:
            if original:
                at += -at % (_ALIGNED // param.element_size())
            self.places.append(Place(owner, name, fqn, tuple(param.shape), at, at + param.numel()))
            at += param.numel()
        parts = self.size if self.shards else 1
        self.step = -(-at // parts)  # the numbers in a shard
        with no_grad():
            flat = params[0][3].new_zeros(self.step * parts)
            for view, (*_, param) in zip(self.views(flat), params):
                view.copy_(param)
            self.begin = self.step * self.rank if self.shards else 0
            self.local = flat[self.begin : self.begin + self.step].clone()
        self.trains = params[0][3].requires_grad
        self._full: Tensor | None = None
        self._unreduced: Tensor | None = None
        self.syncs = True
        for owner, name, *_ in params:
            del owner._parameters[name]
        if original:
            self.pieces = [self._piece(place) for place in self.places]
        else:
            self.pieces = [Parameter(self.local, requires_grad=self.trains)]
        self.unit, self.shown = unit, False
        self.register()

    def register(self) -> None:
        """Let the shards be the parameters that programs see."""
        if not self.original:
            self.unit._parameters["_flat_param"] = self.pieces[0]
            self._leave()
            return
        for place, piece in zip(self.places, self.pieces):
            place.owner._parameters[place.name] = piece

    def _leave(self) -> None:
        """Take the parameters from their owners, who are left with the shapes unless they show the pieces."""
        for place in self.places:
            place.owner.__dict__.pop(place.name, None)
            if not self.original:
                place.owner.__dict__[place.name] = functions["empty"](place.shape, device="meta")

    def _piece(self, place: Place) -> Parameter:
        """The part of a parameter that is in the shard, flat; all of it, where nothing is sharded."""
        start, stop = self.span(place)
        part = self.local[start:stop]
        return Parameter(part if self.shards else part.view(place.shape), requires_grad=self.trains)

    def span(self, place: Place) -> tuple[int, int]:
        """Where in the shard a parameter has its part."""
        start, stop = (min(max(edge - self.begin, 0), self.step) for edge in (place.start, place.stop))
        return start, stop

    # ---- gathering

    def gathered(self, local: Tensor) -> Tensor:
        """The flat tensor of which all processes have shards."""
        if not self.shards or self.size == 1:
            return local.clone()
        whole = local.new_empty(self.step * self.size)
        all_gather_into_tensor(whole, local, group=self.group)
        return whole

    def full(self) -> Tensor:
        """All parameters, gathered from the shards if they are not here."""
        if self._full is None:
            local = self.local.detach()
            wanted = self.precision.param_dtype
            self._full = self.gathered(local if wanted is None else local.to(wanted))
        return self._full

    def drop(self) -> None:
        """Keep the shard only."""
        self._full = None

    def views(self, full: Tensor) -> list[Tensor]:
        """The parameters in a flat tensor."""
        return [full[place.start : place.stop].view(place.shape) for place in self.places]

    @contextlib.contextmanager
    def unsharded(self) -> Iterator[None]:
        """Let the owners have their parameters, while they compute.

        What nodes save of these is gathered again for backward, if it is not kept.
        """
        for place, view in zip(self.places, _Unshard.apply(self, *self.pieces)):
            place.owner.__dict__[place.name] = view
        full = self.full()
        hooks = saved_tensors_hooks(_Saver(self, full), _fetch) if self.frees else contextlib.nullcontext()
        try:
            with hooks:
                yield
        finally:
            self._leave()
            if self.frees:
                self.drop()

    # ---- reducing

    def reduced(self, grads: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The gradients of the shards' pieces, from those of the parameters."""
        flat = self.local.new_zeros(self.step * (self.size if self.shards else 1))
        for place, grad in zip(self.places, grads):
            if grad is not None:
                flat[place.start : place.stop].view(place.shape).copy_(grad)
        if self._unreduced is not None:
            flat += self._unreduced
            self._unreduced = None
        if not self.syncs:
            self._unreduced = flat
            return [None] * len(self.pieces)
        shard = self._scattered(flat.div_(self.size)).to(self.local.dtype)
        if not self.original:
            return [shard]
        spans = [self.span(place) for place in self.places]
        return [
            shard[start:stop].view(piece.shape) if stop > start else None
            for (start, stop), piece in zip(spans, self.pieces)
        ]

    def _scattered(self, flat: Tensor) -> Tensor:
        wanted = self.precision.reduce_dtype or self.precision.param_dtype
        flat = flat if wanted is None else flat.to(wanted)
        if self.size == 1:
            return flat
        if not self.shards:
            all_reduce(flat, group=self.group)
            return flat
        shard = flat.new_empty(self.step)
        reduce_scatter_tensor(shard, flat, group=self.group)
        return shard

    # ---- whole parameters, outside of computations

    @contextlib.contextmanager
    def summoned(self, writeback: bool) -> Iterator[None]:
        """Let the owners have whole parameters; what is written to them goes to the shards at the end."""
        with no_grad():
            full = self.gathered(self.local.detach())
        if not self.original:
            del self.unit._parameters["_flat_param"]
        for place, view in zip(self.places, self.views(full)):
            place.owner.__dict__.pop(place.name, None)
            place.owner._parameters[place.name] = Parameter(view, requires_grad=self.trains)
        self.shown = True
        try:
            yield
        finally:
            self.shown = False
            if writeback:
                with no_grad():
                    for place in self.places:  # a parameter may have been put in another's place
                        held: Any = place.owner._parameters[place.name]
                        full[place.start : place.stop].view(place.shape).copy_(held)
                    self.local.detach().copy_(full[self.begin : self.begin + self.step])
            for place in self.places:
                del place.owner._parameters[place.name]
            self.register()

    def whole(self, pieces: Sequence[Tensor | None]) -> dict[str, Tensor]:
        """Tensors by the parameters' names, of which these are the pieces in the shard."""
        local = self.local.new_zeros(self.step)
        with no_grad():
            spans = [self.span(place) for place in self.places] if self.original else [(0, self.step)]
            for (start, stop), piece in zip(spans, pieces):
                if piece is not None:
                    local[start:stop] = piece.reshape(-1)
            full = self.gathered(local)
        return {place.fqn: view.clone() for place, view in zip(self.places, self.views(full))}

    def parted(self, named: dict[str, Tensor]) -> list[Tensor]:
        """The pieces in the shard of tensors by the parameters' names."""
        parts = self.size if self.shards else 1
        full = self.local.new_zeros(self.step * parts)
        for place in self.places:
            full[place.start : place.stop] = named[place.fqn].reshape(-1).to(full.dtype)
        shard = full[self.begin : self.begin + self.step]
        if not self.original:
            return [shard.clone()]
        spans = [self.span(place) for place in self.places]
        return [shard[start:stop].clone().view(piece.shape) for (start, stop), piece in zip(spans, self.pieces)]


class _Part(NamedTuple):
    """Stands for a part of parameters that nodes save."""

    handle: FlatHandle
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class _Saver:
    """Keeps the geometry alone of what lies in the gathered parameters."""

    def __init__(self, handle: FlatHandle, full: Tensor) -> None:
        self.handle, self.begin = handle, full.data_ptr()
        self.itemsize, self.end = full.element_size(), full.data_ptr() + full.numel() * full.element_size()

    def __call__(self, tensor: Tensor) -> Any:
        offset = tensor.data_ptr() - self.begin
        if not 0 <= offset < self.end - self.begin:
            return tensor
        return _Part(self.handle, tuple(tensor.shape), tensor.stride(), offset // self.itemsize)


def _fetch(saved: Any) -> Tensor:
    if not isinstance(saved, _Part):
        return saved
    with no_grad():
        return saved.handle.full().as_strided(saved.shape, saved.strides, saved.offset)
