"""The parameters of one unit: gathered while it computes, kept in shards otherwise."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...autograd.function import Function
from ...autograd.grad_mode import is_grad_enabled, no_grad
from ...autograd.graph import saved_tensors_hooks
from ...autograd.variable import Variable
from ...core.machine import Tensor
from ...core.state import local as thread
from ...core.values import DeviceLike
from ...nn.modules.module import Module
from ..collectives import all_gather_single, all_reduce, reduce_scatter_single
from ..reduction import ReduceOp


class Place(NamedTuple):
    """The modules that have a parameter, and where it lies in the flat tensor of all."""

    owners: tuple[tuple[Module, str], ...]
    fqn: str
    shape: tuple[int, ...]
    start: int
    stop: int

    @property
    def param(self) -> Any:
        """The parameter, as the first of them has it."""
        owner, name = self.owners[0]
        return owner._parameters[name]

    def assign(self, param: Any) -> None:
        """Let this be the parameter."""
        for owner, name in self.owners:
            owner._parameters[name] = param


class Course:
    """In which order units compute: what is needed next is gathered in advance."""

    def __init__(self, forward: bool = False, backward: str | None = "pre") -> None:
        self.forward, self.backward = forward, backward
        self._now: list[Handle] = []
        self._last: list[Handle] = []
        self._ending = False

    def begin(self) -> None:
        """A forward pass begins."""
        for handle in self._now:
            handle._part = None
        self._last, self._now = self._now, []

    def computes(self, handle: Handle) -> None:
        """A unit is about to compute."""
        if thread.state.task is not None:
            return  # forward once more, in a backward pass
        self._now.append(handle)
        at = len(self._now)
        if self.forward and at < len(self._last) and self._last[at - 1] is handle:
            self._last[at].prefetch()
        for other in handle.next_forward:
            other.prefetch()

    def goes_back(self, handle: Handle, when: str) -> None:
        """Backward comes to a unit ("pre"), or is through with it ("post")."""
        if thread.state.task is None:
            return
        if not self._ending:
            self._ending = True
            Variable._execution_engine.queue_callback(self._end)
        if when == "pre" and handle.next_backward:
            for other in handle.next_backward:
                other.prefetch()
        elif when == self.backward and handle in self._now:
            at = self._now.index(handle)
            if at:
                self._now[at - 1].prefetch()

    def _end(self) -> None:
        """What was gathered for nothing is not kept: parameters change."""
        self._ending = False
        for handle in self._now:
            if handle.frees_after_backward:
                handle.drop()


class _Unshard(Function):
    """From the shards to the parameters; back from their gradients to the mean of them, of which a shard is kept."""

    @staticmethod
    def forward(ctx: Any, handle: Handle, *pieces: Tensor) -> tuple[Any, ...]:
        ctx.handle = handle
        ctx.set_materialize_grads(False)
        views = handle.views(handle.full())
        ctx.mark_non_differentiable(*[view for view, trains in zip(views, handle.trains) if not trains])
        return tuple(views)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        handle = ctx.handle
        if handle.frees_after_backward:
            handle.drop()
        handle.course.goes_back(handle, "post")
        return (None, *handle.reduced(grads))


class Handle:
    """The parameters of one unit. How they are cut into pieces is said by the classes below this one.

    They are shared out in `group`, if there is one; groups that do so are `replicas` of one another.
    """

    places: list[Place]
    trains: list[bool]  # which of the parameters need gradients
    pieces: Sequence[Tensor]  # what this process has of the parameters, as programs see it

    def __init__(
        self, group: Any, replicas: Any, param_dtype: Any, reduce_dtype: Any, frees: bool, device: DeviceLike = None
    ) -> None:
        self.group, self.replicas, self.device = group, replicas, device
        self.param_dtype, self.reduce_dtype = param_dtype, reduce_dtype
        self.size: int
        self.rank: int
        self.size, self.rank = (1, 0) if group is None else (group.size(), group.rank())
        self.frees, self.frees_after_backward = frees, True
        self.syncs = self.syncs_replicas = True
        self.course = Course()
        self.next_forward: Sequence[Handle] = ()
        self.next_backward: Sequence[Handle] = ()
        self.divisor: float = self.size * (1 if replicas is None else replicas.size())
        self.near: Any = None  # a part of the group, in which parameters are shared out between forward and backward
        self._part: Tensor | None = None  # what this process then has
        self._full: Tensor | None = None
        self._coming: Any = None  # what is on its way: the tensor, and what waits for it
        self._unreduced: Tensor | None = None

    def shard(self) -> Tensor:
        """The flat tensor that this process gives to the others."""
        raise NotImplementedError

    def unpacked(self, gathered: Tensor) -> Tensor:
        """The flat tensor of all parameters, from everyone's shard."""
        raise NotImplementedError

    def packed(self, full: Tensor) -> Tensor:
        """Everyone's shard, one after the other, from the flat tensor of all parameters."""
        raise NotImplementedError

    def split(self, shard: Tensor) -> list[Tensor | None]:
        """The pieces in a shard."""
        raise NotImplementedError

    # ---- gathering

    def _gather(self, local: Tensor, group: Any, in_advance: bool) -> tuple[Tensor, Any]:
        if group is None:
            return local.clone(), None
        whole = local.new_empty(local.numel() * group.size())
        return whole, all_gather_single(whole, local, group=group, async_op=in_advance)

    def _gathered(self, in_advance: bool) -> tuple[Tensor, Any]:
        if self._part is None:
            return self._gather(self._ours(), self.group, in_advance)
        return self._gather(self._part, self.near, in_advance)

    def _ours(self) -> Tensor:
        """The shard, as it travels."""
        with no_grad():
            local = self.shard()
            return local.to(device=self.device or local.device, dtype=self.param_dtype or local.dtype)

    def prefetch(self) -> None:
        """Begin to gather the parameters."""
        if self._full is None and self._coming is None:
            self._coming = self._gathered(True)

    def full(self) -> Tensor:
        """All parameters, gathered from the shards if they are not here."""
        if self._full is None:
            whole, work = self._coming or self._gathered(False)
            self._coming = None
            if work is not None:
                work.wait()
            with no_grad():
                self._full = self.unpacked(whole)
                if self.near is not None and self._part is None:
                    self._part = whole.chunk(self.near.size())[self.near.rank()].clone()
        return self._full

    def drop(self) -> None:
        """Keep the shard only."""
        self.recede()
        self._part = None

    def recede(self) -> None:
        """Keep what backward gathers the parameters from."""
        if self._coming is not None and self._coming[1] is not None:
            self._coming[1].wait()
        self._full = self._coming = None

    def views(self, full: Tensor) -> list[Tensor]:
        """The parameters in a flat tensor."""
        return [full[place.start : place.stop].view(place.shape) for place in self.places]

    @contextlib.contextmanager
    def unsharded(self) -> Iterator[None]:
        """Let the owners have their parameters, while they compute.

        What nodes save of these is gathered again for backward, if it is not kept.
        """
        self.course.computes(self)
        for place, view in zip(self.places, _Unshard.apply(self, *self.pieces)):
            for owner, name in place.owners:
                owner.__dict__[name] = view
        hooks = saved_tensors_hooks(_Saver(self, self.full()), _fetch) if self.frees else contextlib.nullcontext()
        try:
            with hooks:
                yield
        finally:
            self.leave()
            if not is_grad_enabled():
                self.drop()
            elif self.frees:
                self.recede()

    def leave(self) -> None:
        """Take the parameters from their owners."""
        for place in self.places:
            for owner, name in place.owners:
                owner.__dict__.pop(name, None)

    # ---- reducing

    def reduced(self, grads: Sequence[Tensor | None]) -> list[Any]:
        """The gradients of the pieces, from those of the parameters."""
        given = next(grad for grad in grads if grad is not None)
        flat = given.new_zeros(self.places[-1].stop, dtype=self.reduce_dtype or given.dtype)
        for place, grad in zip(self.places, grads):
            if grad is not None:
                flat[place.start : place.stop].view(place.shape).copy_(grad)
        if self._unreduced is not None:
            flat += self._unreduced
            self._unreduced = None
        if not self.syncs:
            self._unreduced = flat
            return [None] * len(self.pieces)
        with no_grad():
            return self.split(self._scattered(self.packed(flat).div_(self.divisor)))

    def _scattered(self, packed: Tensor) -> Tensor:
        shard = packed
        if self.size > 1:
            shard = packed.new_empty(packed.numel() // self.size)
            reduce_scatter_single(shard, packed, group=self.group)
        if self.replicas is not None and self.replicas.size() > 1 and self.syncs_replicas:
            all_reduce(shard, ReduceOp.SUM, group=self.replicas)
        return shard


class _Part(NamedTuple):
    """Stands for a part of parameters that nodes save."""

    handle: Handle
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class _Saver:
    """Keeps the geometry alone of what lies in the gathered parameters."""

    def __init__(self, handle: Handle, full: Tensor) -> None:
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
    handle = saved.handle
    with no_grad():
        full = handle.full()
        handle.course.goes_back(handle, "pre")
        return full.as_strided(saved.shape, saved.strides, saved.offset)
