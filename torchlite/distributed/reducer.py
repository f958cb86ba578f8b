"""Reducing gradients among processes while backward runs."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..autograd.variable import Variable
from ..core.machine import Node, Tensor, functions, register, resolve
from ..core.values import float32, int64, strided
from .buckets import Bucket, GradBucket, _compute_bucket_assignment_by_size
from .collectives import all_reduce, broadcast
from .reducer_errors import twice, unfinished


class Reducer:
    """Sees to it that gradients are the means of those of all processes, from hooks on the leaves.

    Gradients gather in buckets. Each bucket is sent on its way when it and all before it are full, which is the same
    order in all processes, while backward goes on; when that is done, the reduced gradients are handed back. The first
    pass shows in which order gradients come; buckets are then made anew in this order.
    """

    def __init__(
        self, params: Sequence[Tensor], names: Sequence[str], group: Any, sparse: Sequence[bool],
        first_limits: Sequence[int], limits: Sequence[int], find_unused: bool = False, as_views: bool = False,
        static: bool = False, skip_unused: bool = False, batched: bool = False,
    ) -> None:  # fmt: skip
        self.params, self.names, self.group, self.sparse = list(params), list(names), group, list(sparse)
        self.limits, self.find_unused, self.as_views, self.static = list(limits), find_unused, as_views, static
        self.skip_unused, self.batched = skip_unused, batched
        self.size = group.size()
        self.hook: Callable[[GradBucket], Any] | None = None
        self.iteration = 0
        self._count: Callable[[], int] | None = None
        self._factor = 1 / self.size
        self._expecting = False  # hooks are to be heeded
        self._begun = False  # a gradient has come, and the pass is not done
        self._arrived: dict[int, None] = {}  # the parameters, in the order in which their gradients came first
        self._rebuilt = False
        self.order: list[int] = []  # of the parameters, as their gradients came in this pass
        self.moments: dict[str, int] = {}  # when it began and ended to do something, in nanoseconds
        self._times: dict[int, int] = {}  # of a static graph: how often the gradient of each parameter comes
        self._left: dict[int, int] = {}
        self._unused: list[int] = []
        self._used: set[int] = set()  # those that had gradients since these were last reduced
        self._ready: set[int] = set()
        self._assign(_compute_bucket_assignment_by_size(params, first_limits, sparse)[0][::-1])
        self.handles = [
            register(param._more().all_hooks().post, _teller(weakref.ref(self), number))
            for number, param in enumerate(self.params)
        ]

    def _assign(self, assignment: Sequence[Sequence[int]]) -> None:
        self.buckets = [
            Bucket(numbers, [self.params[number] for number in numbers], self.sparse[numbers[0]])
            for numbers in assignment
        ]
        self._places = {number: (bucket, at) for bucket in self.buckets for at, number in enumerate(bucket.numbers)}

    def remove_hooks(self) -> None:
        """Heed no gradient any more."""
        for handle in self.handles:
            handle.remove()

    __del__ = remove_hooks

    # ---- before a pass

    def rebuild(self) -> bool:
        """After the first pass, make the buckets anew, in the order in which gradients came to the first process."""
        if self._rebuilt or len(self._arrived) != len(self.params) or (self.find_unused and not self.static):
            return False
        order = self.params[0].new_tensor(list(self._arrived), dtype=int64)
        broadcast(order, group=self.group, group_src=0)
        numbers = order.tolist()
        params = [self.params[number] for number in numbers]
        former = self.buckets
        self._assign(_compute_bucket_assignment_by_size(params, self.limits, self.sparse, numbers)[0])
        if self.as_views:
            self._move_views(former)
        self._rebuilt = True
        return True

    def _move_views(self, former: Sequence[Bucket]) -> None:
        """Let gradients that are views of former buckets be views of the new ones."""
        with no_grad():
            for bucket in former:
                for number, param, view in zip(bucket.numbers, bucket.params, bucket.views):
                    if param.grad is view:
                        place, at = self._places[number]
                        param.grad = place.views[at].copy_(view)

    def rely_on_graph(self) -> None:
        """Take the graph of the first pass for that of all."""
        if self.iteration:
            raise RuntimeError(
                "set_static_graph() should be called before training loop starts and after DistributedDataParallel is "
                "constructed."
            )
        self.static = True

    def divide_by(self, count: Callable[[], int] | None) -> None:
        """Take the mean over so many processes; over all of them, unless said otherwise."""
        self._count = count

    def check_finished(self) -> None:
        """Refuse to begin another pass if one is not finished."""
        if self._begun and self._expecting:
            missing = [number for number in range(len(self.params)) if number not in self._ready]
            raise RuntimeError(unfinished(missing, self.names, self.group.rank(), self.find_unused, self.static))

    def prepare(self, outputs: Sequence[Tensor]) -> None:
        """Expect the gradients of a pass from these outputs."""
        self.check_finished()
        self.iteration += 1
        self._expecting = True
        self._next = 0
        self._ready, self.order = set(), []
        for bucket in self.buckets:
            bucket.pending, bucket.result = len(bucket.params), None
        self._unused = []
        if self.static:
            self._left = dict(self._times)
            if self.iteration > 1:
                self._unused = [number for number in range(len(self.params)) if number not in self._times]
        elif self.find_unused:
            reached = _leaves(outputs)
            self._unused = [number for number, param in enumerate(self.params) if id(param) not in reached]

    # ---- during a pass

    def begin(self) -> None:
        """A gradient comes: the first of a pass, perhaps."""
        if self._begun or not self._expecting:
            return
        self._begun = True
        self.at("backward_compute_time_start")
        self._factor = 1 / (self.size if self._count is None else self._count())
        if self.static and self.iteration == 1:  # how often gradients come is known at the end only
            Variable._execution_engine.queue_callback(self._all_at_once)
            return
        for number in self._unused:
            self._mark(number)

    def _all_at_once(self) -> None:
        for number in range(len(self.params)):
            self._mark(number)
        self._arrived.update(dict.fromkeys(range(len(self.params))))

    def _arrive(self, number: int) -> None:
        """The gradient of a parameter was accumulated."""
        if self.params[number].grad is not None:
            self._used.add(number)
        if not self._expecting:
            return
        if not self._rebuilt:
            self._arrived.setdefault(number)
        if self.static and self.iteration == 1:
            self._times[number] = self._times.get(number, 0) + 1
            self.begin()
            return
        self.begin()
        if self.static:
            self._left[number] -= 1
            if self._left[number]:
                return
        self.order.append(number)
        self._mark(number)

    def _mark(self, number: int) -> None:
        """Lay a gradient, which is complete, into its bucket; send on their way the buckets whose turn has come."""
        if number in self._ready:
            raise RuntimeError(twice(number, self.names[number]))
        self._ready.add(number)
        bucket, at = self._places[number]
        if not self.batched:
            self._lay(bucket, at)
        bucket.pending -= 1
        while self._next < len(self.buckets) and not self.buckets[self._next].pending:
            bucket = self.buckets[self._next]
            self._next += 1
            for at in range(len(bucket.params)) if self.batched else ():
                self._lay(bucket, at)
            unused = self.skip_unused and set(self._unused).issuperset(bucket.numbers)
            bucket.result = (lambda buffer=bucket.buffer: buffer) if unused else self._sent(bucket)
        if self._next == len(self.buckets):
            self.at("backward_compute_time_end")
            Variable._execution_engine.queue_callback(self._finish)

    def _lay(self, bucket: Bucket, at: int) -> None:
        param = bucket.params[at]
        grad = param.grad
        if bucket.sparse:
            if grad is None:
                raise RuntimeError("Expected sparse gradient to be defined.")
            bucket.buffer = grad if self.hook is not None else grad.detach() * self._factor
            return
        view = bucket.views[at]
        if grad is not None and grad.layout is not strided:
            raise RuntimeError("Encountered a sparse gradient of a parameter from which dense ones are expected.")
        with no_grad():
            if grad is None:
                view.zero_()
            elif self.hook is None:
                functions["mul"](grad.detach(), self._factor, out=view)
            elif grad is not view:
                view.copy_(grad)

    def _sent(self, bucket: Bucket) -> Callable[[], Any]:
        """Send a bucket on its way; what waits for the result."""
        if bucket is self.buckets[0]:
            self.at("backward_comm_time_start")
        buffer = bucket.buffer
        assert buffer is not None
        if self.hook is None:
            work: Any = all_reduce(buffer, group=self.group, async_op=True)
            return lambda: work.wait() and buffer
        given = GradBucket(self.buckets.index(bucket), buffer, bucket.params, bucket is self.buckets[-1])
        future = self.hook(given)
        if not hasattr(future, "wait"):
            raise RuntimeError(
                "DDP communication hook's callback must return a torch.futures.Future object, but got "
                f"{type(future).__module__}.{type(future).__qualname__}"
            )
        return future.wait

    # ---- after a pass

    def _finish(self) -> None:
        """Wait for the buckets, and hand the reduced gradients to the parameters."""
        self._expecting = self._begun = False
        used = self._used_anywhere()
        self._used = set()
        with no_grad():
            for bucket in self.buckets:
                result = bucket.result()
                result = result[0] if isinstance(result, (list, tuple)) else result
                if bucket.sparse:
                    bucket.params[0].grad = result
                    bucket.buffer = None
                    continue
                if bucket.buffer is not None and result is not bucket.buffer:
                    bucket.buffer.copy_(result.view(-1))
                for number, param, view in zip(bucket.numbers, bucket.params, bucket.views):
                    if number in used:
                        self._hand_back(param, view)
        self.at("backward_comm_time_end")

    def at(self, moment: str) -> None:
        """Write down when it is that something begins, or ends."""
        self.moments[moment] = time.monotonic_ns()

    def missing(self) -> list[Tensor]:
        """The parameters that had no gradient in the last pass."""
        came = self._times if self.static else self.order
        return [param for number, param in enumerate(self.params) if number not in came]

    def _used_anywhere(self) -> set[int]:
        """The parameters of which some process had a gradient."""
        if self.static:
            return set(self._times)
        if not self.find_unused:
            return set(range(len(self.params)))
        counts = self.params[0].new_tensor(
            [float(number in self._used) for number in range(len(self.params))], dtype=float32
        )
        all_reduce(counts, group=self.group)
        return {number for number, count in enumerate(counts.tolist()) if count}

    def _hand_back(self, param: Tensor, view: Tensor) -> None:
        if self.as_views:
            param.grad = view
        elif param.grad is None:
            param.grad = view.clone()
        else:
            param.grad.copy_(view)

    # ---- for a process that has no inputs left

    def shadow(self) -> None:
        """Take part in the reductions of a pass with gradients of zero."""
        self._arrived.update(dict.fromkeys(range(len(self.params))))
        for bucket in self.buckets:
            if bucket.sparse:
                bucket.buffer = bucket.params[0].detach().new_zeros(bucket.params[0].shape).to_sparse(1)
            assert bucket.buffer is not None
            bucket.buffer.zero_()
            self._sent(bucket)()
        if self.find_unused and not self.static:
            self._used = set()
            self._used_anywhere()


def _teller(reducer: weakref.ref[Reducer], number: int) -> Callable[..., None]:
    """A hook, which does not keep alive whom it tells of a gradient."""

    def tell(*_: Any) -> None:
        told = reducer()
        if told is not None:
            told._arrive(number)

    return tell


def _leaves(roots: Sequence[Tensor]) -> set[int]:
    """The leaves (by their ids) that gradients of these tensors reach."""
    found: set[int] = set()
    seen: set[Node] = set()
    edges = [resolve(root) for root in roots if root.requires_grad]
    while edges:
        edge = edges.pop()
        if edge.__class__ is not tuple:
            found.add(id(edge))
        elif edge[0] not in seen:
            seen.add(edge[0])
            edges += [following for following in edge[0].next_edges if following is not None]
    return found
