"""An optimizer whose state is shared out among processes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from ...core.machine import Tensor
from ...core.values import shown_in
from ...distributed.process_group import Group
from ...optim.optimizer import Optimizer
from ...queries import typename
from ..algorithms.join import Join, Joinable, JoinHook
from ..collectives import broadcast
from ..objects import gather_object
from ..utils import _AT_ONCE, _broadcast_coalesced
from ..world import _get_default_group

__all__ = ["ZeroRedundancyOptimizer"]
_log = logging.getLogger(__name__)


class _ZeroJoinHook(JoinHook):
    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self.zero = zero

    def main_hook(self) -> None:
        """Take the step of this process's share."""
        self.zero.step()


@shown_in("torch.distributed.optim.zero_redundancy_optimizer")
class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Each process steps on its share of the parameters, by an `optimizer_class`, and gives the others the result.

    So each keeps the state of its share only. All processes must have the same parameters in the same order.
    With `overlap_with_ddp`, a hook of `ddp_comm_hooks.ddp_zero_hook` takes the steps, and shares are made of buckets.
    """

    _overlap_with_ddp = False

    def __init__(
        self, params: Any, optimizer_class: type[Optimizer], process_group: Group = None,
        parameters_as_bucket_view: bool = False, overlap_with_ddp: bool = False, **defaults: Any,
    ) -> None:  # fmt: skip
        params = _checked(params)
        Joinable.__init__(self)
        self.process_group = process_group or _get_default_group()
        self.world_size, self.rank = self.process_group.size(), self.process_group.rank()
        self._optim_constructor, self._optim_defaults = optimizer_class, defaults
        self.optim: Any = None
        self._owners: dict[Tensor, int] = {}  # the ranks of those who step on parameters, where buckets decide it
        self._all_state_dicts: list[dict[str, Any]] = []
        super().__init__(params, defaults)
        self._overlap_with_ddp = overlap_with_ddp
        if not overlap_with_ddp:
            self._share_out()

    def _share_out(self) -> None:
        self.optim = self._optim_constructor(self._groups_of(self.rank), **self._optim_defaults)
        self._copy_options(self.optim.param_groups, self.param_groups)

    def _partition_parameters(self) -> list[list[list[Tensor]]]:
        """The parameters of each rank, by groups: the largest first, each to whom has least so far."""
        shares: list[list[list[Tensor]]] = [[[] for _ in self.param_groups] for _ in range(self.world_size)]
        sizes = [0] * self.world_size
        for at, group in enumerate(self.param_groups):
            if self._owners:
                for param in group["params"]:
                    shares[self._owners[param]][at].append(param)
                continue
            for param in sorted(group["params"], key=lambda each: each.numel(), reverse=True):
                rank = sizes.index(min(sizes))
                shares[rank][at].append(param)
                sizes[rank] += param.numel()
        return shares

    def _groups_of(self, rank: int) -> list[dict[str, Any]]:
        return [
            {**group, "params": params}
            for group, params in zip(self.param_groups, self._partition_parameters()[rank], strict=True)
        ]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Take more parameters, which are shared out anew; a state that there is stays with those who have it."""
        if self._overlap_with_ddp:
            raise RuntimeError(
                "ZeroRedundancyOptimizer with `overlap_with_ddp=True` only supports a single parameter group"
            )
        super().add_param_group(param_group)
        if self.optim is not None:
            params = self._partition_parameters()[self.rank][-1]
            self.optim.add_param_group({**self.param_groups[-1], "params": params})

    def _copy_options(self, source: Sequence[dict[str, Any]], target: Sequence[dict[str, Any]]) -> None:
        for have, wanted in zip(source, target, strict=True):
            wanted.update({key: value for key, value in have.items() if key != "params"})

    def step(self, closure: Any = None, **kwargs: Any) -> Any:
        """Update this process's share, and take over those of the others."""
        if self._overlap_with_ddp:
            _log.warning("`step()` should not be included in the training loop when `overlap_with_ddp=True`")
            return None
        Join.notify_join_context(self)
        loss = self._loss_of(closure)
        self._copy_options(self.param_groups, self.optim.param_groups)
        self.optim.step(**kwargs)
        self._copy_options(self.optim.param_groups, self.param_groups)
        for rank, groups in enumerate(self._partition_parameters()):
            params = [param for group in groups for param in group]
            _broadcast_coalesced(self.process_group, params, _AT_ONCE, rank)
        return loss

    # ---- steps while DistributedDataParallel's backward runs

    def _share_out_buckets(self, buckets: Sequence[Sequence[Tensor]], apart: bool) -> None:
        """Share buckets out, or the parameters `apart`: each to whom has least so far."""
        sizes = [0] * self.world_size
        for together in ([param] for bucket in buckets for param in bucket) if apart else buckets:
            rank = sizes.index(min(sizes))
            sizes[rank] += sum(param.numel() for param in together)
            self._owners.update(dict.fromkeys(together, rank))
        self._share_out()

    def _step_on(self, params: Sequence[Tensor], grads: Sequence[Tensor]) -> list[Any]:
        """Step on those of some parameters that are this process's, and begin to give them to the others."""
        own = [param for group in self.optim.param_groups for param in group["params"]]
        given, before = dict(zip(params, grads, strict=True)), [param.grad for param in own]
        for param in own:
            param.grad = given.get(param)
        self._copy_options(self.param_groups, self.optim.param_groups)
        self.optim.step()
        for param, grad in zip(own, before, strict=True):
            param.grad = grad
        return [
            broadcast(param.detach(), group=self.process_group, async_op=True, group_src=self._owners[param])
            for param in params
        ]

    # ---- states

    def _check_shared_out(self) -> None:
        if self.optim is None:
            raise RuntimeError(
                "This method should not be called until this ZeroRedundancyOptimizer instance has been fully "
                "initialized"
            )

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring the states of all processes to one, for its `state_dict`; all processes call this."""
        self._check_shared_out()
        self._copy_options(self.param_groups, self.optim.param_groups)
        everyones: list[Any] | None = [None] * self.world_size if self.rank == to else None
        gather_object(self.optim.state_dict(), everyones, group=self.process_group, group_dst=to)
        self._all_state_dicts = everyones or []

    def state_dict(self) -> dict[str, Any]:
        """The state of all parameters, where it has been consolidated."""
        self._check_shared_out()
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to save the global "
                "state."
            )
        whole = super().state_dict()
        for places, state in zip(self._places(), self._all_state_dicts, strict=True):
            whole["state"].update({places[at]: value for at, value in state["state"].items()})
        whole["state"] = dict(sorted(whole["state"].items()))
        return whole

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the options, and the state of this process's share, from a state of all parameters."""
        self._check_shared_out()
        self._copy_options(state_dict["param_groups"], self.param_groups)
        places, local = self._places()[self.rank], self.optim.state_dict()
        known = state_dict["state"]
        local["state"] = {at: known[place] for at, place in enumerate(places) if place in known}
        self._copy_options(state_dict["param_groups"], local["param_groups"])
        self.optim.load_state_dict(local)

    def _places(self) -> list[list[int]]:
        """For each rank, the numbers among all parameters of those in its share."""
        numbers = {id(param): at for at, param in enumerate(p for group in self.param_groups for p in group["params"])}
        return [[numbers[id(p)] for group in groups for p in group] for groups in self._partition_parameters()]

    # ---- uneven inputs

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """A process without inputs goes on taking the steps of its share."""
        return _ZeroJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """The processes that share the state."""
        return self.process_group


def _checked(params: Any) -> list[Any]:
    if isinstance(params, Tensor):
        raise TypeError(f"`params` argument should be an iterable of Tensors, but got {typename(params)}")
    if not isinstance(params, Iterable):
        raise TypeError(f"`params` argument should be an iterable of Tensors or dicts, but got {typename(params)}")
    given = list(params)
    if not given:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    if not all(isinstance(each, Tensor) for each in given) and not all(isinstance(each, dict) for each in given):
        raise TypeError("`params` argument should be an iterable of Tensors or dicts")
    tensors = [t for each in given for t in (list(each["params"]) if isinstance(each, dict) else [each])]
    for tensor in tensors:
        if tensor.type() != tensors[0].type():
            raise ValueError(
                "ZeroRedundancyOptimizer only supports using the same dense type for all parameters but got both "
                f"{typename(tensors[0])} and {typename(tensor)}"
            )
    return given
