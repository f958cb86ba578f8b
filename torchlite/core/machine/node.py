"""What an operation leaves behind for the backward pass: a `Node`, its edges, and the values it saved.

An *edge* says where a gradient goes. It is `(node, output number)` for the result of an operation, and the tensor
itself for a leaf; None means that nobody asks. A tensor's slot `edge` holds None, the pair, `LEAF`, or a `View`
(core/machine/view.py), whose history follows its base.
"""

from __future__ import annotations

import itertools
import math
import re
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..state import mode as _mode
from ..structs import CounterParts, NodeParts, know, whole
from ..values.pickling import shown_in
from .hooks import Hooks, register
from .tensor_base import TensorBase

if TYPE_CHECKING:
    from .hooks import RemovableHandle
    from .tensor import Tensor


class _Leaf:
    """The edge of a leaf that requires grad: the tensor itself is where its gradient goes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "LEAF"


LEAF = _Leaf()

sequence = itertools.count()
_SUFFIX = re.compile(r"Backward(0$|(?=\d*$))")
NOT_IMPLEMENTED = "torch::autograd::NotImplemented"  # the title of nodes that only raise an error,
FIRST = 1 << 64  # and their sequence number: they run before all others


# Tells what began, or was made, before what. It starts after the levels that backends have (backends/base.py).
clock = itertools.count(5)


class Counter(CounterParts):
    """How many times the memory behind a tensor was written to. Tensors that share memory share it."""

    __slots__ = ()

    born: float = 0  # when the memory was made, by `clock`, if inside of a transform of functions

    def __init__(self, n: int = 0) -> None:
        self.n = n


class DatedCounter(Counter):
    """The counter of a tensor made inside a transform of functions, which may be written to there."""

    __slots__ = ("born",)

    def __init__(self) -> None:
        self.n = 0
        self.born = next(clock)


def dated(t: Tensor) -> Tensor:
    """A new tensor, made inside a transform."""
    if t._counter is None:
        t._counter = DatedCounter()
    return t


class DetachedCounter(Counter):
    """The counter of a tensor detached in place: one ahead for each time, so that what was saved before is refused."""

    __slots__ = ("ahead", "first", "since", "writes")

    def __init__(self, writes: Counter) -> None:
        self.writes = writes
        self.ahead = 0
        self.first = self.since = writes.n  # what it was at when the tensor was first detached, and last

    @property
    def n(self) -> int:
        return self.writes.n + self.ahead

    @n.setter
    def n(self, value: int) -> None:
        self.writes.n = value - self.ahead

    def detach(self) -> None:
        self.since = self.n
        self.ahead += 1

    @property
    def still(self) -> bool:
        """Whether there was no write since."""
        return self.since == self.n - 1

    def written(self, n: int) -> int:
        """How many writes there were when it was at `n`; between the first time and the last, no fewer than this."""
        return n if n <= self.first else max(n - self.ahead, self.first)


class _Unversioned(Counter):
    """The counter of all tensors made in inference mode: it counts nothing, and lets nobody write outside that mode."""

    __slots__ = ()

    born = math.inf

    @property
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
know(LEAF=LEAF, UNVERSIONED=UNVERSIONED, sequence=sequence, Counter=Counter, DatedCounter=DatedCounter, dated=dated)


def version_of(t: Tensor) -> int:
    counter = t._counter
    return 0 if counter is None else counter.n


def shared_counter(t: Tensor) -> Counter:
    """The counter of `t`, made now if it had none, for another tensor over the same memory."""
    counter = t._counter
    if counter is None:
        counter = t._counter = Counter()
    return counter


@shown_in("torch.autograd.graph")
class Node(NodeParts):
    """A step of the backward graph.

    `apply(grads)` takes a gradient (or None) for each output and returns one for each edge. `saved_entries` is what
    backward needs; backward leaves None there, unless the graph is kept. The node of a custom Function is the `ctx` on
    which its author sets attributes, so the names of a node's own parts are long ones.
    """

    __slots__ = ()

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        whole(cls)

    next_edges: tuple[Any, ...]
    unshown: frozenset[int] = frozenset()  # edges that PyTorch's node does not have: nothing goes there
    takes_detached = False  # whether it may read what was detached in place after it was saved

    def __init__(self, edges: tuple[Any, ...], outputs: tuple[Any, ...], saved: Any = ()) -> None:
        self.next_edges = edges
        self.output_forms = outputs  # (shape, dtype, backend) of each output
        self.saved_entries = saved
        self.plain_values: Any = ()
        self.sequence_nr = next(sequence)
        self.node_hooks: Hooks | None = None
        self.node_metadata: dict[Any, Any] | None = None
        anomaly = _mode.local.state.mode.anomaly
        if anomaly is not None:
            anomaly.note(self)

    def name(self) -> str:
        """The name of the node, such as `MulBackward0`."""
        return type(self).__name__

    def apply(self, grads: list[Any]) -> Sequence[Any]:
        """The gradients of what the node was made of, given those of its results."""
        raise NotImplementedError

    def on_arrays(self, grad: Any, quiet: Callable[..., Any]) -> Sequence[Any] | None:
        """`apply` from array to arrays, for a backward pass that makes no graph; None where it takes tensors."""
        return None

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that this one's gradients go to."""
        found: list[tuple[Node | None, int]] = []
        for edge in self.next_edges:
            if edge is None or edge.__class__ is tuple:
                found.append(edge or (None, 0))
            else:
                found.append((accumulator_of(edge), 0))
        return tuple(found)

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after this node has run; what it returns replaces the former."""
        return register(hooks_of(self).post, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before this node runs; what it returns replaces them."""
        return register(hooks_of(self).pre, fn)

    def __lt__(self, other: Node) -> bool:
        """Any order does for nodes of one number in the engine's heap."""
        return id(self) < id(other)

    def __call__(self, *grads: Any) -> Any:
        """The gradients this node makes of `grads`, with no hook called."""
        if len(grads) != len(self.output_forms):
            raise TypeError(f"expected {len(self.output_forms)} arguments, got {len(grads)} instead")
        for at, g in enumerate(grads):
            if g is not None and not isinstance(g, TensorBase):
                raise TypeError(f"argument {at} is not a Variable")
        results = tuple(self.apply(list(grads)))
        return results[0] if len(results) == 1 else results

    def runs(self, node: Node) -> bool:
        """Whether that is the node whose derivatives are computed where this one's turn comes."""
        return node is self

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for whatever a user wants to note."""
        if self.node_metadata is None:
            self.node_metadata = {}
        return self.node_metadata

    @property
    def _input_metadata(self) -> tuple[_InputMetadata, ...]:
        return tuple([_InputMetadata(form) for form in self.output_forms])

    def _sequence_nr(self) -> int:
        return self.sequence_nr

    def _set_sequence_nr(self, number: int) -> None:
        self.sequence_nr = number

    def _register_hook_dict(self, hooks: OrderedDict[int, Any]) -> None:
        """Let a tensor's dictionary of hooks be that of this node's first output."""
        hooks_of(self).tensor_pre[0] = hooks

    @property
    def requires_grad(self) -> bool:
        """Whether it takes part in a backward pass: always."""
        return True

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def __repr__(self) -> str:
        return f"<{name_of(self).rpartition('::')[2]} object at {id(self):#x}>"


def name_of(node: Node) -> str:
    """The name of a node's class, whatever its attribute `name` has been set to."""
    return type(node).name(node)


def short_name(node: Node) -> str:
    """How errors call a node: of "FillBackward2", "Fill2" is left."""
    return _SUFFIX.sub("", name_of(node))


know(Node=whole(Node))


class _InputMetadata:
    """The shape, dtype and device that a node expects of an output's gradient."""

    __slots__ = ("device", "dtype", "shape")
    is_nested_tensor = is_cpp_nested_tensor = False

    def __init__(self, form: Any) -> None:
        shape, self.dtype, backend = form
        self.shape = list(shape)
        self.device = backend.device


@shown_in("builtins")
class AccumulateGrad(Node):
    """Where a leaf's gradient is added to its `.grad`. The leaf itself does that; this is its face as a node.

    A leaf knows its AccumulateGrad weakly. The hooks registered on one are the leaf's.
    """

    __slots__ = ("variable",)

    def __init__(self, variable: Tensor) -> None:
        super().__init__((), ((variable._array.shape, variable.dtype, variable._backend.home),))
        self.variable = variable
        self.sequence_nr = FIRST - 1

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def apply(self, grads: list[Any]) -> Sequence[Any]:
        self.variable._accumulate_grad(grads[0])
        return ()


def hooks_of(node: Node) -> Hooks:
    """The hooks of a node, made now if it had none. Those of an AccumulateGrad are its leaf's."""
    if isinstance(node, AccumulateGrad):
        return node.variable._more().all_hooks()
    if node.node_hooks is None:
        node.node_hooks = Hooks()
    return node.node_hooks


_making = threading.RLock()


def accumulator_of(leaf: Tensor) -> AccumulateGrad:
    """The one AccumulateGrad of a leaf."""
    with _making:
        extra = leaf._more()
        found = None if extra.accumulator is None else extra.accumulator()
        if found is None:
            found = AccumulateGrad(leaf)
            extra.accumulator = weakref.ref(found)
        return found
