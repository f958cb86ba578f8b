"""Views and writing through them.

A tensor made by a view op has a `View` in its slot `edge`: whose memory it shows, and the history it has for now.
Writing to the base, or to any view of it, makes that history stale; it is made anew, from the base's, when next read.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..state import mode as _mode
from ..structs import TensorParts, ViewParts, know, whole
from ..values import contiguous_format, freed
from .node import LEAF, DetachedCounter, Node, hooks_of, sequence, shared_counter, short_name, version_of
from .registry import registry

if TYPE_CHECKING:
    from ..declare.op import Op
    from .tensor import Tensor

    Path = tuple[tuple[Any, tuple[Any, ...]], ...]

# How a view came about, when that forbids writing through it under autograd.
ORDINARY, NO_GRAD, INFERENCE, MULTI_OUTPUT, CUSTOM = "", "no_grad", "inference", "multi_output", "custom"


class View(ViewParts):
    """The history of a view. `path` is how it was made from its base: `(op, arguments after the tensor)` steps.

    From here on the base has a counter, for the view to share.
    """

    __slots__ = ()

    def __init__(self, base: Tensor, edge: Any, kind: str, path: Path) -> None:
        self.base = base
        self.edge = edge
        self.kind = kind
        self.path = path
        self.seen = shared_counter(base).n


know(View=whole(View), ORDINARY=ORDINARY, NO_GRAD=NO_GRAD, INFERENCE=INFERENCE)


def view_of(source: Tensor, edge: Any, kind: str, op: Op, arguments: tuple[Any, ...]) -> View:
    """The slot `edge` of a new view of `source`, which shares its memory and its version from here on."""
    parent = source._edge
    if parent.__class__ is View:
        kind = kind if kind and parent.kind is not INFERENCE else parent.kind
        # What is laid anew over parts of complex numbers may show more of them, of which its history says nothing.
        anew = op.reinterprets or (parent.path[0][0].reinterprets and op is registry["as_strided"])
        path = settled(source, parent) if anew else parent.path
        return View(parent.base, edge, kind, (*path, (op, arguments)))
    return View(source, edge, kind, ((op, arguments),))


def base_of(t: Tensor) -> Tensor | None:
    edge = t._edge
    return edge.base if edge.__class__ is View else None


def requires_grad(t: Tensor) -> bool:
    edge = t._edge
    return edge is not None and (edge.__class__ is not View or edge.edge is not None or edge.base._edge is not None)


def resolve(t: Tensor) -> Any:
    """The edge of `t` as a node's input: None, a `(node, output)` pair, or a leaf: `t` itself or what it stands for."""
    edge = t._edge
    if edge is None or edge.__class__ is tuple:
        return edge
    if edge is LEAF:
        return t
    if edge.__class__ is not View:
        return edge
    current = current_edge(t, edge)
    return t if current is LEAF else current


def ask_for_histories(values: Any) -> None:
    """Raise what the history of a tensor among arguments may raise when it is asked for."""
    for value in values:
        if isinstance(value, (tuple, list)):
            ask_for_histories(value)
        elif isinstance(value, TensorParts):
            resolve(value)  # type: ignore[arg-type]  # the parts of a Tensor


def last_edge(t: Tensor) -> Any:
    """The edge of `t`, that of a view as it was last read: PyTorch asks some questions without looking at the base."""
    edge = t._edge
    return edge.edge if edge.__class__ is View else edge


def current_edge(t: Tensor, view: View) -> Any:
    """The history of a view, made anew from its base if memory was written to since."""
    base = view.base
    version = version_of(base)
    if version == view.seen:
        return view.edge
    if base._edge is None and (view.edge.__class__ is not tuple or _only_detached(base, view)):
        return view.edge
    if view.kind:
        raise _forbidden(view, "its base or another view of its base has been")
    state = _mode.local.state
    before = view.seen
    view.seen = version  # on the way to the base the view may be met again
    try:
        edge = state.within(_mode.GRAD, _followed, base, t, view)
    except BaseException:
        view.seen = before
        raise
    _keep_retaining(t, view.edge, edge)
    view.edge = edge
    return edge


def _followed(base: Tensor, t: Tensor, view: View) -> Any:
    made = follow(base, settled(t, view))
    edge = made._edge.edge or _from_nowhere(made)
    through = base._edge[0] if base._edge.__class__ is tuple else None
    if through.__class__ is CopySlices and through.last_written(base) is t:
        edge[0].sequence_nr = through.sequence_nr + 1  # its place in the order is that of the write
    return edge


def follow_bases(tensors: Sequence[Tensor]) -> None:
    """Let views follow their bases where a transform has taken these over since."""
    for t in tensors:
        view = t._edge
        if view.__class__ is View and view.base._backend.level > max(t._backend.level, 1):
            view.base._backend.adopt(t)


def _only_detached(base: Tensor, view: View) -> bool:
    """Whether the base was not written to since the view was last read, but only lost its history to `detach_`."""
    counter = base._counter
    return counter.__class__ is DetachedCounter and counter.still and view.seen == counter.since


def _from_nowhere(made: Tensor) -> tuple[Any, ...]:
    """The edge of a view that once had a history, of a base that has none any more: a node that leads nowhere."""
    op, arguments = made._edge.path[-1]
    return op.record_on((None,), (made._edge.base, *arguments), (made._alias(),)), 0


def _keep_retaining(t: Tensor, old: Any, new: Any) -> None:
    """`t` has a new history: the gradient it retains is the one that arrives there."""
    if t._extra is not None and t._extra.retains_grad and old.__class__ is tuple and old[0].node_hooks is not None:
        kept = old[0].node_hooks.retain.pop(old[1], None)
        if kept is not None and new.__class__ is tuple:
            hooks_of(new[0]).retain[new[1]] = kept


class _Laid:
    """A step in the path of a view: a geometry in the memory of what the steps before it show."""

    still, reinterprets = False, True

    @staticmethod
    def apply(t: Tensor, size: tuple[int, ...], strides: tuple[int, ...], skipped: int) -> Tensor:
        return registry["as_strided"].apply(t, size, strides, t.storage_offset() + skipped // t.dtype.itemsize)


class Unnoticed:
    """A step in the path of a view that was reshaped in place, of which its history, made anew, knows nothing."""

    still, reinterprets = False, True

    def __init__(self, op: Op) -> None:
        self.apply = op.apply


_LAID = _Laid()


def settled(t: Tensor, view: View) -> Path:
    """The path of the view `t` as its history follows it.

    What strides can say is said by those that `t` has now; what they cannot is a step, and ends what they say.
    """
    backend, path = t._backend.real, view.path
    if not backend.strided:
        return path
    steps = max([i for i, (op, _) in enumerate(path, 1) if op.reinterprets], default=0)
    if steps == len(path):
        return path
    start = _first_byte(t) - _first_byte(view.base) - sum([more[2] for op, more in path[:steps] if op is _LAID])
    return (*path[:steps], (_LAID, (tuple(t._array.shape), backend.strides(t._array), start)))


def reshaped(t: Tensor, view: View, op: Op, arguments: tuple[Any, ...]) -> Path:
    """The path of the view `t`, which is about to be reshaped in place by a view op."""
    if any([op.reinterprets for op, _ in view.path]) and t._backend.real.strided:
        return (*settled(t, view), (Unnoticed(op), arguments))
    return (*view.path, (op, arguments))


def _first_byte(t: Tensor) -> int:
    return t._backend.offset(t._array) * t.dtype.itemsize


def follow(base: Tensor, path: Path) -> Tensor:
    """The view that a path leads to from `base`."""
    for op, arguments in path:
        if op.__class__ is not Unnoticed:
            base = op.apply(base, *arguments)
    return base


_AMBIGUOUS = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the {} block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)

# Why views of a kind may not be written to.
_REASONS = {
    NO_GRAD: _AMBIGUOUS.format("no_grad"),
    INFERENCE: _AMBIGUOUS.format("inference_mode"),
    MULTI_OUTPUT: (
        "This view is the output of a function that returns multiple views. Such functions do not allow the output "
        "views to be modified inplace. You should replace the inplace operation by an out-of-place one."
    ),
    CUSTOM: (
        "This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
        "logic to handle view+inplace would override the custom backward associated with the custom Function, leading "
        "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
        "Function."
    ),
}


def _forbidden(view: View, how: str) -> RuntimeError:
    edge, kind = view.edge, view.kind
    recorded = edge.__class__ is tuple
    what, when = "A view", ""
    if recorded:
        what = f"Output {edge[1]} of {short_name(edge[0])} is a view"
    if kind is INFERENCE:
        origin, when = "created in inference mode", " in normal mode"
    elif kind is NO_GRAD or not recorded:
        origin, when = "created in no_grad mode", " with grad mode enabled"
    if when:
        what += f" of a view which was {origin}" if recorded else f" was {origin}"
    return RuntimeError(f"{what} and {how} modified inplace{when}. {_REASONS[kind]}")


def check_writable(t: Tensor, recording: bool) -> None:
    """Raise as PyTorch does when autograd could not follow an in-place change of `t`.

    `recording` says that the change itself has a history; a view of something without one may then be written to.
    """
    edge = t._edge
    if edge is None or edge.__class__ is tuple:
        return
    if edge.__class__ is not View:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    base_edge = edge.base._edge
    if base_edge is None and edge.edge is None:
        if edge.kind and recording:
            raise _forbidden(edge, "is being")
        return
    if edge.kind:
        raise _forbidden(edge, "is being")
    if base_edge.__class__ is not tuple:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if last_edge(t).__class__ is not tuple:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def set_history(t: Tensor, node: Node, output: int = 0) -> None:
    """`t` was written to in place by `node`: it is now the node's result, and so is the part of its base it shows."""
    edge = t._edge
    if edge.__class__ is not View:
        t._edge = (node, output)
        _keep_retaining(t, edge, t._edge)
        return
    base = edge.base
    old = base._edge
    base._edge = (CopySlices(base, t, edge, node), 0)
    _keep_retaining(base, old, base._edge)
    edge.seen = -1  # stale, whatever the version is
    edge.edge = edge.edge or base._edge


class CopySlices(Node):
    """Writing through a view, seen from the base: the gradient of the written part goes through the write's node."""

    __slots__ = ("layout", "path", "since", "written")

    def __init__(self, base: Tensor, written: Tensor, view: View, inner: Node) -> None:
        super().__init__(
            (resolve(base), *inner.next_edges[1:]), ((base._array.shape, base.dtype, base._backend.home),), (inner,)
        )
        next(sequence)  # for the node of what is written through, which is made when it is asked for
        backend = base._backend.real
        self.layout = backend.strides(base._array) if backend.strided else None
        self.path = settled(written, view)
        self.written, self.since = weakref.ref(written), version_of(base)

    def last_written(self, base: Tensor) -> Tensor | None:
        """The view that was last written through, unless memory was written to since."""
        return self.written() if version_of(base) == self.since else None

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def runs(self, node: Node) -> bool:
        return self.saved_entries is not None and node is self.saved_entries[0]

    def apply(self, grads: list[Any]) -> Sequence[Any]:
        if self.saved_entries is None:
            raise freed()
        if grads[0] is None:
            return [None] * len(self.next_edges)
        grad = grads[0]
        if self.layout is None:
            whole = grad.clone()
        else:
            whole = grad.new_empty_strided(tuple(grad.shape), self.layout)
            whole.copy_(grad)
        part = follow(whole, self.path)
        results = list(self.saved_entries[0].apply([part.clone(memory_format=contiguous_format)]))
        if self.next_edges[0] is not None:
            if results[0] is None:
                part.zero_()
            else:
                part.copy_(results[0])
        results[0] = whole
        return results
