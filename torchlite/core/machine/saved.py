"""Values kept for backward.

`Node.saved` holds entries: a bare `(tensor, version)` pair for an input, None for what no needed gradient uses, and
else one of the classes here. `read(node)` gives the value of one, checked for writes since. It is a `Hooked` tuple when
pack hooks have put some of the entries away.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, Protocol

from ..state import mode as _mode
from ..structs import SavedNumberParts, SavedOutputParts, know, whole
from ..values import CPU, FLOAT, dt, freed, get_backend, shown_in, type_text
from .node import LEAF, UNVERSIONED, DetachedCounter, Node, shared_counter, short_name, version_of
from .operands import tensors_in
from .overrides import PLAIN
from .registry import registry
from .tangent import TangentLevel, set_tangent, tangents_of
from .tensor import Tensor, wrap
from .tensor_base import TensorBase
from .view import requires_grad, resolve

# Pack and unpack. Default hooks have a third part: what is called with a tensor about to be written to, or None.
Hooks = tuple[Any, ...]
_new = object.__new__
# What is advised where a saved tensor was overwritten, without anomaly detection and with it.
_BLIND = (
    "enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
_WATCHED = (
    "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
    "changed in there or anywhere later. Good luck!"
)


class Entry(Protocol):
    """The interface of entries that are no bare pair."""

    def read(self, node: Node) -> Any: ...


def keep(value: Any, stack: Sequence[Hooks] = ()) -> Any:
    """The entry of an input. `stack` are the default hooks, of which the innermost pair packs it."""
    if value.__class__ in PLAIN and not stack and value._counter is not UNVERSIONED:
        return (value, version_of(value))
    if value.__class__ is tuple or value.__class__ is list:
        return SavedList([keep(v, stack) for v in value])
    if not isinstance(value, TensorBase):
        return None if value is None else SavedNumber(value)
    check_keepable(value)
    return Packed(value, stack[-1]) if stack else (value, version_of(value))


def keep_output(result: Tensor, nr: int, stack: Sequence[Hooks] = ()) -> Any:
    """The entry of result number `nr` of the node that keeps it."""
    if stack:
        return Packed(result, stack[-1], nr if result.dtype.category >= FLOAT else -1)
    return SavedOutput(result, nr) if result.dtype.category >= FLOAT else (result, version_of(result))


def announce_write(t: Tensor, stack: Sequence[Hooks]) -> None:
    """Tell the default hooks that want to know it that `t` is about to be written to."""
    for _, _, before_write in stack:
        if before_write is not None:
            before_write(t)


def check_keepable(value: Any) -> None:
    """Refuse an argument that backward cannot rely on: nothing counts the writes to an inference tensor."""
    for t in tensors_in(value):
        if t._counter is UNVERSIONED:
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode "
                "in computation tracked by autograd. To work around this, you can make a clone to get a normal tensor "
                "and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
            )


class SavedOutput(SavedOutputParts):
    """A result of the node that keeps it: an alias without history, so that the node does not own itself."""

    __slots__ = ()

    def __init__(self, result: Tensor, output: int) -> None:
        counter = shared_counter(result)
        self.version = counter.n
        self.tensor = _alias_without_history(result, result._edge is not None)
        self.tensor._counter = counter
        self.output = output

    def read(self, node: Node) -> Tensor:
        tensor = self.tensor
        version = version_of(tensor)
        if version != self.version:
            raise stale(node, tensor, version, self.version, self.output)
        if _mode.local.state.mode.grad:
            return self.with_history(node)
        followed = self.output < len(node.output_forms)
        return _alias_without_history(tensor) if followed and _told_of_aliases(tensor) else tensor

    def move(self, level: TangentLevel, tangent: Tensor) -> None:
        """What is saved moves so from now on."""
        set_tangent(self.tensor, level, tangent)

    def with_history(self, node: Node) -> Tensor:
        tensor = _alias_without_history(self.tensor)
        tensor._counter = self.tensor._counter
        tensor._edge, tensor._extra = (node, self.output), self.tensor._extra  # which has the tangents
        return tensor


def _told_of_aliases(t: Tensor) -> bool:
    """Whether somebody sees that another handle on a tensor is made."""
    return t._backend.handed or _mode.local.state.mode.seer is not None


def _alias_without_history(t: Tensor, followed: bool = True) -> Tensor:
    """Another handle on a tensor, which is only a step that is seen where gradients go through the tensor."""
    if followed and _told_of_aliases(t):
        state = _mode.local.state
        return state.within(_mode.silent(state.mode), registry["detach"].apply, t)
    return wrap(t._array, t.dtype, t._backend.real)


class SavedNumber(SavedNumberParts):
    """A number that stood where a tensor may."""

    __slots__ = ()

    def __init__(self, value: Any) -> None:
        self.value = value

    def read(self, node: Node) -> Any:
        return self.value


class SavedWrite:
    """The result of a write through a view, whose history is the view's for as long as that is there."""

    __slots__ = ("output", "saved", "view")

    def __init__(self, saved: SavedOutput, view: Tensor) -> None:
        self.saved = saved
        self.output = saved.output
        self.view = weakref.ref(view)

    @property
    def tensor(self) -> Tensor:
        return self.saved.tensor

    def read(self, node: Node) -> Tensor:
        tensor, view = self.saved.read(node), self.view()
        if view is not None and _mode.local.state.mode.grad:
            tensor._edge = resolve(view)
        return tensor


class SavedList:
    """The entries of several tensors that are one argument."""

    __slots__ = ("entries",)

    def __init__(self, entries: list[Any]) -> None:
        self.entries = entries

    def read(self, node: Node) -> list[Any]:
        return [read(e, node) for e in self.entries]


know(SavedOutput=whole(SavedOutput), SavedNumber=whole(SavedNumber), SavedList=SavedList)


class Packed:
    """What a pack hook made of a tensor, and what gives the unpacked tensor its place in the graph, and its motion."""

    __slots__ = ("edge", "hooks", "output", "packed", "tangents")

    def __init__(self, tensor: Tensor, hooks: Hooks, output: int = -1, given: Tensor | None = None) -> None:
        self.hooks = hooks
        self.output = output  # of the node that keeps it, which it must not own
        self.edge = resolve(tensor) if output < 0 else None
        if self.edge is None and output < 0 and requires_grad(tensor):
            self.edge = LEAF  # a view made without gradients, which leads nowhere
        self.tangents = dict(tangents_of(tensor))
        given = tensor if given is None else given
        version = version_of(given)
        state = _mode.local.state
        self.packed = state.within(_mode.with_grad(state.mode, False), hooks[0], given)
        if version_of(given) != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                "cannot be modified by in-place operations as this can lead to unexpected side-effects. Please open an "
                "issue if you need to perform in-place operations on the input to a pack hook."
            )

    def read(self, node: Node) -> Tensor:
        seer, unpack = _mode.local.state.mode.seer, self.hooks[1]
        tensor = unpack(self.packed) if seer is None else seer.program(unpack, (self.packed,))
        if not isinstance(tensor, TensorBase):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(tensor).__name__}"
            )
        edge = self.edge if self.output < 0 else (node, self.output)
        if edge is None and tensor._edge is None and not self.tangents:
            return tensor
        tensor = tensor._alias()
        tensor._edge = edge
        for level in _mode.local.state.mode.moving:
            if level in self.tangents:
                set_tangent(tensor, level, self.tangents[level])
        return tensor

    def move(self, level: TangentLevel, tangent: Tensor) -> None:
        self.tangents[level] = tangent


class Hooked(tuple[Any, ...]):
    """`Node.saved` with packed entries in it: the node asks for all of it once it runs."""

    __slots__ = ()

    def unpacked(self, node: Node) -> tuple[Any, ...]:
        """The entries with every packed tensor unpacked once, in the order they were packed in."""
        return tuple([_unpacked(entry, node) for entry in self])


def _unpacked(entry: Any, node: Node) -> Any:
    if entry.__class__ is SavedList:
        return SavedList([_unpacked(e, node) for e in entry.entries])
    if entry.__class__ is Packed:
        tensor = entry.read(node)
        return (tensor, version_of(tensor))
    return entry


def read(entry: Any, node: Node | None) -> Any:
    """The value of an entry, that of a checkpoint where there is no node."""
    if entry.__class__ is tuple:
        tensor, version = entry
        now = version_of(tensor)
        if now != version:
            takes_detached = node is not None and node.takes_detached
            if not (takes_detached and detached_since(tensor, version)):
                raise stale(None, tensor, now, version, 0, takes_detached)
        return tensor
    return None if entry is None else entry.read(node)


def shown(entry: Any, node: Node) -> Any:
    """The value of an entry as an attribute of its node: a number as a tensor, a result with its history."""
    if entry.__class__ is SavedNumber:
        return _number_tensor(entry.value)
    if entry.__class__ is SavedList:
        return tuple([shown(e, node) for e in entry.entries])
    value = read(entry, node)
    return entry.with_history(node) if entry.__class__ is SavedOutput else value


def _number_tensor(value: Any) -> Tensor:
    """A number as a 0-dim tensor of the widest dtype of its kind."""
    backend, d = get_backend(CPU), dt.of_number(value)
    d = dt.complex128 if d.is_complex else dt.float64 if d.is_floating_point else d
    return wrap(backend.asarray(value, d.numpy), d, backend)


def detached_since(tensor: Tensor, version: int) -> bool:
    """Whether a tensor was detached in place, and never written to, since it had that version."""
    counter = tensor._counter
    return counter.__class__ is DetachedCounter and counter.still and counter.since == version


def stale(
    node: Node | None, tensor: Tensor, version: int, expected: int, output: int, takes_detached: bool = False
) -> RuntimeError:
    """The error for a saved tensor that was overwritten, or detached in place, before backward read it."""
    counter = tensor._counter
    if isinstance(counter, DetachedCounter):
        if expected <= counter.since and tensor._edge is None and not takes_detached:
            return RuntimeError(
                "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not "
                "supported, please use out-of-place `.detach()` instead"
            )
        version, expected = counter.written(version), counter.written(expected)
    edge = resolve(tensor) if node is None else None  # a view that may not have been written to says so instead
    if edge.__class__ is tuple:
        node, output = edge
    who = "" if node is None else f", which is output {output} of {short_name(node)},"
    kind = f"{type_text(tensor.dtype, tensor.device)} {list(tensor._array.shape)}"
    return RuntimeError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: [{kind}]"
        f"{who} is at version {version}; expected version {expected} instead. Hint: "
        + (_BLIND if _mode.local.state.mode.anomaly is None else _WATCHED)
    )


@shown_in("torch._C._autograd")
class SavedTensor:
    """A place among what a node saved, where hooks can be registered: `node._raw_saved_self`."""

    __slots__ = ("_at", "_item", "_node")

    _at: int
    _item: int | None
    _node: Node

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    def register_hooks(self, *hooks: Any) -> None:
        """Keep `pack(tensor)` in place of the tensor; `unpack` turns it back each time it is read."""
        if len(hooks) != 2 or not callable(hooks[0]) or not callable(hooks[1]):
            said = ", ".join([repr(h) for h in (self, *hooks)])
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types are supported:\n"
                "    1. (self: torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: "
                f"collections.abc.Callable) -> None\n\nInvoked with: {said}"
            )
        node, entry = self._node, self._entry()
        if node.saved_entries is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the "
                "graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need "
                "to backward through the graph a second time or if you need to access saved variables after calling "
                "backward."
            )
        if entry is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if entry.__class__ is Packed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of "
                "hooks is allowed at a time."
            )
        tensor = self.data
        backend = tensor._backend if tensor.__class__ in PLAIN else tensor._backend.real
        given = wrap(tensor._array, tensor.dtype, backend)
        packed = Packed(tensor, hooks, entry.output if entry.__class__ is SavedOutput else -1, given)
        saved = list(node.saved_entries)
        if self._item is None:
            saved[self._at] = packed
        else:
            saved[self._at].entries[self._item] = packed
        node.saved_entries = Hooked(saved)

    def unpack(self) -> Any:
        """The saved tensor, as the node's attribute gives it."""
        if self._node.saved_entries is None:
            raise freed()
        return shown(self._entry(), self._node)

    @property
    def data(self) -> Any:
        """The kept tensor, or the pack hook's result for it."""
        entry = self._entry()
        if entry is None:
            return None
        if entry.__class__ is Packed:
            return entry.packed
        if entry.__class__ is SavedNumber:
            return shown(entry, self._node)
        return entry[0] if entry.__class__ is tuple else entry.tensor

    @property
    def unpack_hook(self) -> Any:
        entry = self._entry()
        return entry.hooks[1] if entry.__class__ is Packed else None

    def _entry(self) -> Any:
        if self._node.saved_entries is None:
            return None
        entry = self._node.saved_entries[self._at]
        return entry if self._item is None else entry.entries[self._item]


def raw(node: Node, at: int) -> Any:
    """The `SavedTensor` for entry `at`; a tuple of them for a list of tensors."""
    entry = None if node.saved_entries is None else node.saved_entries[at]
    if entry.__class__ is SavedList:
        return tuple([_saved_tensor(node, at, item) for item in range(len(entry.entries))])
    return _saved_tensor(node, at, None)


def _saved_tensor(node: Node, at: int, item: int | None) -> SavedTensor:
    made: SavedTensor = _new(SavedTensor)
    made._node, made._at, made._item = node, at, item
    return made
