"""What an operation leaves behind for the backward pass: a `Node`, its edges, and the values it saved.

An *edge* says where a gradient goes. It is `(node, output number)` for the result of an operation, and the tensor
itself for a leaf; None means that nobody asks. A tensor's slot `edge` holds None, the pair, `LEAF`, or a `View`
(core/view.py), whose history follows its base.
"""

from __future__ import annotations

import itertools
import re
import weakref
from typing import TYPE_CHECKING, Any, ClassVar

from . import mode as _mode
from .dtype import FLOAT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .op import Op
    from .tensor import Tensor


class _Leaf:
    """The edge of a leaf that requires grad: the tensor itself is where its gradient goes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "LEAF"


LEAF = _Leaf()

sequence = itertools.count()
NOT_IMPLEMENTED = "torch::autograd::NotImplemented"  # the title of nodes that only raise an error,
FIRST = 1 << 64  # and their sequence number: they run before all others

_SUFFIX = re.compile(r"Backward\d*$")


class Counter:
    """How many times the memory behind a tensor was written to. Tensors that share memory share it."""

    __slots__ = ("n",)

    def __init__(self, n: int = 0) -> None:
        self.n = n


class DetachedCounter(Counter):
    """The counter of a tensor that `detach_()` was called on: one ahead, so that what was saved before is refused."""

    __slots__ = ("since", "writes")

    def __init__(self, writes: Counter) -> None:
        self.writes = writes
        self.since = writes.n

    @property  # type: ignore[override]
    def n(self) -> int:
        return self.writes.n + 1

    @n.setter
    def n(self, value: int) -> None:
        self.writes.n = value - 1


class _Unversioned(Counter):
    """The counter of all tensors made in inference mode: it counts nothing, and lets nobody write outside that mode."""

    __slots__ = ()

    @property  # type: ignore[override]
    def n(self) -> int:
        return 0

    @n.setter
    def n(self, value: int) -> None:
        if value and not _mode.local.state.mode.inference:
            raise RuntimeError(
                "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
                "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more "
                "details."
            )


UNVERSIONED = _Unversioned()


def version_of(t: Tensor) -> int:
    counter = t.counter
    return 0 if counter is None else counter.n


def shared_counter(t: Tensor) -> Counter:
    """The counter of `t`, made now if it had none, for another tensor over the same memory."""
    counter = t.counter
    if counter is None:
        counter = t.counter = Counter()
    return counter


SECOND_BACKWARD = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)


class Saved:
    """A tensor kept for backward: checked for writes since, or handed through pack and unpack hooks.

    `output` is the output number when the tensor is a result of the node that saves it. Then `tensor` is an alias
    without history, so that the node does not own itself, and reading gives it its history back.
    """

    __slots__ = ("hooks", "output", "packed", "tensor", "version")

    def __init__(self, tensor: Tensor, output: int = -1) -> None:
        self.version = version_of(tensor)
        self.tensor: Tensor | None = tensor.alias() if output >= 0 else tensor
        self.output = output
        self.hooks: tuple[Callable[..., Any], Callable[..., Any]] | None = None
        self.packed: Any = None

    def register_hooks(self, pack: Callable[..., Any], unpack: Callable[..., Any]) -> None:
        """Keep `pack(tensor)` in place of the tensor; `unpack` turns it back each time it is read."""
        if self.hooks is not None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set is not allowed."
            )
        if self.tensor is None:
            raise RuntimeError("Calling register_hooks on a saved tensor after it has been freed. " + SECOND_BACKWARD)
        tensor = self.tensor
        before = version_of(tensor)
        state = _mode.local.state
        outer, state.mode = state.mode, _mode.NO_GRAD
        try:
            packed = pack(tensor.alias())
        finally:
            state.mode = outer
        if version_of(tensor) != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can "
                "not be modified by in-place operations as this can lead to unexpected side-effects. Please open an "
                "issue if you need to perform in-place operations on the input to a pack hook."
            )
        self.hooks = (pack, unpack)
        self.packed = packed
        self.tensor = None

    def read(self, node: Node) -> Tensor:
        if self.hooks is not None:
            return self.hooks[1](self.packed)
        tensor = self.tensor
        if tensor is None:
            raise RuntimeError(SECOND_BACKWARD)
        version = version_of(tensor)
        if version != self.version:
            raise stale(node if self.output >= 0 else None, tensor, version, self.version, self.output)
        if self.output >= 0 and _mode.local.state.mode.grad and tensor.dtype.category >= FLOAT:
            tensor = tensor.alias()
            tensor.edge = (node, self.output)
        return tensor


def stale(node: Node | None, tensor: Tensor, version: int, expected: int, output: int) -> RuntimeError:
    """The error for a saved tensor that was overwritten, or detached in place, before backward read it."""
    if tensor.counter.__class__ is DetachedCounter and expected <= tensor.counter.since:
        return RuntimeError(
            "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, "
            "please use out-of-place `.detach()` instead"
        )
    edge = getattr(tensor.edge, "edge", tensor.edge)  # that of a view, or the tensor's own
    if node is None and edge.__class__ is tuple:
        node, output = edge
    who = "" if node is None else f", which is output {output} of {_SUFFIX.sub('', node.name())},"
    kind = f"torch.{tensor.dtype.legacy}Tensor {list(tensor.array.shape)}"
    return RuntimeError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: [{kind}]"
        f"{who} is at version {version}; expected version {expected} instead. Hint: enable anomaly detection to find "
        "the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, "
        "check_nan=False)."
    )


class Hooks:
    """The hooks of a node. Most nodes never have one."""

    __slots__ = ("post", "pre", "retain", "tensor_pre")

    def __init__(self) -> None:
        self.tensor_pre: dict[int, dict[int, Callable[..., Any]]] = {}  # by output number
        self.pre: dict[int, Callable[..., Any]] = {}
        self.post: dict[int, Callable[..., Any]] = {}
        self.retain: dict[int, Any] = {}  # output number -> weak reference to the tensor whose .grad is kept


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away again."""

    __slots__ = ("__weakref__", "hooks", "id")

    numbers = itertools.count()

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self.hooks = hooks
        self.id = next(RemovableHandle.numbers)
        hooks[self.id] = hook

    def remove(self) -> None:
        self.hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Node:
    """A step of the backward graph.

    `apply(grads)` takes a gradient (or None) for each output and returns one for each edge. `saved` is what backward
    needs; backward leaves None there, unless the graph is kept.
    """

    __slots__ = ("__weakref__", "edges", "hooks", "metadata_", "outputs", "saved", "seq", "values")

    edges: tuple[Any, ...]

    def __init__(self, edges: tuple[Any, ...], outputs: tuple[Any, ...], saved: Any = ()) -> None:
        self.edges = edges
        self.outputs = outputs  # (shape, dtype, backend) of each output
        self.saved = saved
        self.values: Any = ()
        self.seq = next(sequence)
        self.hooks: Hooks | None = None
        self.metadata_: dict[Any, Any] | None = None

    def name(self) -> str:
        return type(self).__name__

    def apply(self, grads: list[Any]) -> Sequence[Any]:
        raise NotImplementedError

    def on_arrays(self, grad: Any, quiet: Callable[..., Any]) -> Sequence[Any] | None:
        """`apply` from array to arrays, for a backward pass that makes no graph; None where it takes tensors."""
        return None

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that this one's gradients go to."""
        found: list[tuple[Node | None, int]] = []
        for edge in self.edges:
            if edge is None or edge.__class__ is tuple:
                found.append(edge or (None, 0))
            else:
                found.append((accumulator_of(edge), 0))
        return tuple(found)

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after this node has run; what it returns replaces the former."""
        return RemovableHandle(self.more().post, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before this node runs; what it returns replaces them."""
        return RemovableHandle(self.more().pre, fn)

    def more(self) -> Hooks:
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    @property
    def metadata(self) -> dict[Any, Any]:
        if self.metadata_ is None:
            self.metadata_ = {}
        return self.metadata_

    def _sequence_nr(self) -> int:
        return self.seq

    @property
    def requires_grad(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{self.name().rpartition('::')[2]} object at {id(self):#x}>"


class AccumulateGrad(Node):
    """Where a leaf's gradient is added to its `.grad`. The leaf itself does that; this is its face as a node.

    A leaf knows its AccumulateGrad weakly, so hooks on one last as long as somebody holds it.
    """

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor) -> None:
        super().__init__((), ((variable.array.shape, variable.dtype, variable.backend.real),))
        self.variable = variable

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"


def accumulator_of(leaf: Tensor) -> AccumulateGrad:
    """The one AccumulateGrad of a leaf."""
    extra = leaf.more()
    found = None if extra.accumulator is None else extra.accumulator()
    if found is None:
        found = AccumulateGrad(leaf)
        extra.accumulator = weakref.ref(found)
    return found


class OpNode(Node):
    """The node of a declared op. A subclass per op names it and points to its declaration.

    `saved` runs along `op.saved_names`: a `(tensor, version)` pair for an input, a `Saved` for an output or when hooks
    are on, None where no needed gradient uses it. `values` are the op's bound arguments with tensors left out.
    """

    __slots__ = ("inputs",)  # shape and dtype of each operand, where gradients are fitted to them

    op: Op
    title: str
    fails: ClassVar[bool] = False  # it only raises an error

    def name(self) -> str:
        return self.title

    def read(self, entry: Any) -> Any:
        if entry.__class__ is tuple:
            tensor, version = entry
            now = version_of(tensor)
            if now != version:
                raise stale(None, tensor, now, version, 0)
            return tensor
        return None if entry is None else entry.read(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_"):
            return self._saved(name[7:])
        if name.startswith("_raw_saved_"):
            return self._raw_saved(name[11:])
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")

    def _saved(self, name: str) -> Any:
        op = self.op
        if name in op.saved_names:
            if self.saved is None:
                raise RuntimeError(SECOND_BACKWARD)
            return self.read(self.saved[op.saved_names.index(name)])
        if name in op.value_names:
            return self.values[op.value_names.index(name)]
        raise AttributeError(f"'{self.name()}' object has no attribute '_saved_{name}'")

    def _raw_saved(self, name: str) -> Any:
        if name not in self.op.saved_names:
            raise AttributeError(f"'{self.name()}' object has no attribute '_raw_saved_{name}'")
        if self.saved is None:
            raise RuntimeError(SECOND_BACKWARD)
        at = self.op.saved_names.index(name)
        entry = self.saved[at]
        if entry.__class__ is tuple:
            entry = Saved(entry[0])
            self.saved = (*self.saved[:at], entry, *self.saved[at + 1 :])
        return entry

    def __dir__(self) -> list[str]:
        op = self.op
        return [
            *super().__dir__(),
            *(f"_saved_{n}" for n in op.saved_names),
            *(f"_raw_saved_{n}" for n in op.saved_names),
            *(f"_saved_{n}" for n in op.value_names),
        ]
