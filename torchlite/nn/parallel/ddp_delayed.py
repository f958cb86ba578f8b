"""Gradients that are reduced later than the others, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd.grad_mode import no_grad
from ...autograd.variable import Variable
from ...core.machine import Tensor
from ...distributed.buckets import views_of
from ...distributed.collectives import all_reduce


class Delayed:
    """Reduces the gradients of some parameters when that of another one, which comes after them, has come."""

    def __init__(self, params: Sequence[Tensor], after: Tensor, group: Any) -> None:
        self.params, self.group, self.syncs = list(params), group, True
        self.buffer = params[0].new_zeros(sum(param.numel() for param in params))
        self.views = views_of(self.buffer, self.params)
        self.handle = after.register_post_accumulate_grad_hook(lambda _: self._reduce())

    def _reduce(self) -> None:
        if not self.syncs:
            return
        with no_grad():
            for param, view in zip(self.params, self.views):
                if param.grad is None:
                    view.zero_()
                else:
                    view.copy_(param.grad)
            self.buffer /= self.group.size()
        work = all_reduce(self.buffer, group=self.group, async_op=True)
        assert work is not None
        Variable._execution_engine.queue_callback(lambda: self._finish(work))

    def _finish(self, work: Any) -> None:
        work.wait()
        for param, view in zip(self.params, self.views):
            if param.grad is None:
                param.grad = view.clone()
            else:
                param.grad.detach().copy_(view)


def delayed(named: Any, after: Tensor | None, group: Any) -> Delayed | None:
    """What reduces the parameters named after that of another one, if there are any."""
    if (named is None) != (after is None):
        raise ValueError("delay_all_reduce_named_params and param_to_hook_all_reduce need to be set at the same time.")
    return None if after is None else Delayed([param for _, param in named], after, group)
