"""What stands behind custom Functions: the context that is also their node, and what a call makes of it.

A call of a `Function` runs its forward with nothing recorded, then gives the outputs their history, with the context as
the node, and their tangents, and keeps what is to be saved. Backward hands the gradients to the user's own formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from ..core.machine import Node, Tensor, TensorBase, bump, name_of
from ..core.machine.operands import NOWHERE, edge_of, form_of
from ..core.machine.saved import Hooked, keep, keep_output, raw, shown
from ..core.machine.view import CUSTOM, MULTI_OUTPUT, View, check_writable, last_edge, requires_grad, set_history
from ..core.state import local, silent
from ..core.values import FLOAT, errors, warn
from .function_tangents import push_tangents, zeros


class FunctionCtx:
    """The part of `ctx` by which forward and `setup_context` describe a call."""

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward, to be read there as `ctx.saved_tensors`. To be called once at most."""
        self.to_save: Any = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`, to be read there as `ctx.saved_tensors`."""
        for t in tensors:
            assert t is None or isinstance(t, TensorBase), (
                "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on "
                "ctx."
            )
        self.saved_for_forward: Any = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs forward has written to. They must be among its outputs."""
        self.dirty_tensors: Any = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Does nothing: shared memory is known without being told."""
        warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. Note that "
            "calls to `set_()` are not tracked",
            FutureWarning,
        )

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs have no gradient. Backward still gets one for them, of zeros."""
        self.non_differentiable: Any = args

    # Whether None reaches backward as zeros for outputs without gradient too.
    _materialize_non_diff_grads: bool = True

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients (and tangents) that nobody gave reach backward as zeros (the default) or as None."""
        self.materialize_grads = value


class _HookMixin:
    @staticmethod
    def _register_hook(backward_hooks: Any, hook: Any) -> tuple[Any, ...]:
        from collections import OrderedDict

        from ..core.machine import register

        hooks = OrderedDict() if backward_hooks is None else backward_hooks
        return hooks, register(hooks, hook)


_ACCESSED = Hooked()  # in place of what was saved, where a Function lets go of it when it is read


class BackwardCFunction(Node, FunctionCtx, _HookMixin):
    """The node of a custom Function, which is the `ctx` that its methods get."""

    __slots__ = (
        "_materializes", "_tensors_at", "dirty_tensors", "needs_input_grad", "non_differentiable", "saved_for_forward",
        "to_save",
    )  # fmt: skip

    _forward_cls: ClassVar[Any]
    takes_detached = True

    def __init__(self, inputs: Sequence[Any] = (), level: int = 0) -> None:
        """The context of a call with these inputs. For a transform, tensors from below its level are constants."""
        tensors, needs, edges = [], [], []
        recording = local.state.mode.grad
        for v in inputs:
            is_tensor = isinstance(v, TensorBase)
            needed = is_tensor and v._edge is not None and v._backend.level >= level and requires_grad(v)
            tensors.append(is_tensor)
            needs.append(needed)
            if is_tensor:
                edges.append(_edge(v) if needed and recording else None)
        super().__init__(tuple(edges) if True in needs and recording else (), ())
        self._tensors_at = tensors
        self.needs_input_grad: tuple[bool, ...] = tuple(needs)
        self._materializes = True
        self.to_save = self.saved_for_forward = self.dirty_tensors = self.non_differentiable = None

    @property
    def materialize_grads(self) -> bool:
        """Whether gradients that are missing come as zeros."""
        return self._materializes

    @materialize_grads.setter
    def materialize_grads(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(
                "set_materialize_grads received an invalid combination of arguments - got (), but expected (bool)"
            )
        self._materializes = value

    # ---- what was saved

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors of `save_for_backward`; while `jvp` runs, those of `save_for_forward`."""
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        found = tuple([shown(entry, self) for entry in self._entries()])
        self.maybe_clear_saved_tensors()
        return found

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The older name of `saved_tensors`."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        return tuple([raw(self, at) for at in range(len(self._entries()))])

    def maybe_clear_saved_tensors(self) -> None:
        """Let go of what was saved, when a graph is not kept."""
        if self._forward_cls.clear_saved_tensors_on_access:
            self.saved_entries = _ACCESSED

    def _entries(self) -> Sequence[Any]:
        """The entries of the tensors saved: all of `saved` but the last, which is there to be freed where none is."""
        if self.saved_entries is None:
            raise errors.freed()
        if self.saved_entries is _ACCESSED:
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                "autograd.Function. Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
            )
        return self.saved_entries[:-1]

    def _keep(self, outputs: dict[int, int]) -> None:
        """Keep what forward asked to save. `outputs` tells by id which tensors are results of this node, and which."""
        stack = local.state.mode.saved_hooks
        entries: list[Any] = []
        for at, t in enumerate(self.to_save or ()):
            if t is None:
                entries.append(None)
            elif not isinstance(t, TensorBase):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {at} is of type {type(t).__name__}"
                )
            elif id(t) in outputs:
                entries.append(keep_output(t, outputs[id(t)], stack))
            else:
                entries.append(keep(t, stack))
        self.saved_entries = (Hooked if stack else tuple)((*entries, ()))

    # ---- backward

    def apply(self, grads: list[Any]) -> list[Any]:
        if self._materializes:
            grads = [
                zeros(form) if g is None and form is not None else g
                for g, form in zip(grads, self.output_forms, strict=True)
            ]
        function = self._forward_cls
        formula = function._gradient()
        results = formula(self, list(grads)) if function.boxed_grads_call else formula(self, *grads)
        return self._checked(results if isinstance(results, tuple) else (results,))

    def _checked(self, results: tuple[Any, ...]) -> list[Any]:
        """The gradients of the inputs that are tensors."""
        expected = len(self._tensors_at)
        if any([r is not None for r in results[expected:]]) or len(results) < expected:
            raise wrong_count(name_of(self), expected, len(results))
        found = []
        for at, (is_tensor, grad) in enumerate(zip(self._tensors_at, results, strict=False)):
            if not is_tensor:
                if grad is not None:
                    raise RuntimeError(
                        f"function {name_of(self)} returned a gradient different than None at position {at + 1}, but "
                        "the corresponding forward input was not a Variable"
                    )
            elif grad is not None and not isinstance(grad, TensorBase):
                raise RuntimeError(f"expected Variable or None (got {type(grad).__name__})")
            else:
                found.append(grad)
        return found

    def __repr__(self) -> str:
        return object.__repr__(self)


def wrong_count(name: str, expected: int, got: int) -> RuntimeError:
    return RuntimeError(f"function {name} returned an incorrect number of gradients (expected {expected}, got {got})")


def _edge(t: Tensor) -> Any:
    edge = edge_of(t)
    return None if edge is NOWHERE else edge


# ---- a call


def call(function: Any, inputs: Sequence[Any], named: dict[str, Any], separate: bool) -> Any:
    """Run a Function on tensors that are of no transform; `separate` says that it has a `setup_context`."""
    values = (*inputs, *named.values()) if named else inputs
    ctx = function._backward_cls(values)
    state = local.state
    # All levels have been left on the way here.
    output = state.within(silent(state.mode), state.among, (), _forward, function, ctx, inputs, named, separate)
    return conclude(ctx, values, output, separate)


def _forward(function: Any, ctx: Any, inputs: Sequence[Any], named: dict[str, Any], separate: bool) -> Any:
    if not separate:
        return function.forward(ctx, *inputs, **named)
    output = function.forward(*inputs)
    function.setup_context(ctx, inputs, output)
    return output


def context_of(function: Any, inputs: Sequence[Any], output: Any, level: int) -> BackwardCFunction:
    """The context of a call on tensors of a transform, when the Function has made `output` of those inside."""
    ctx = function._backward_cls(inputs, level)
    state = local.state
    state.within(silent(state.mode), function.setup_context, ctx, inputs, output)
    return ctx


def conclude(ctx: BackwardCFunction, inputs: Sequence[Any], output: Any, separate: bool) -> Any:
    """The outputs as the caller gets them: with history and tangents, after what is to be saved was kept."""
    moving = local.state.mode.moving
    unmarked = ctx.dirty_tensors is None and ctx.non_differentiable is None
    differentiable: dict[int, int] = {}  # the outputs that are results of the node, by id, and their numbers
    if unmarked and not moving and output.__class__ is Tensor and output._edge is None and not _among(output, inputs):
        if ctx.next_edges:  # as most are: one fresh tensor
            ctx.output_forms = (form_of(output),)
            if output.dtype.category >= FLOAT:
                output._edge = (ctx, 0)
                differentiable[id(output)] = 0
        results: Any = output
    else:
        outputs = output if isinstance(output, tuple) else (output,)
        outcome = Outcome(ctx, inputs, outputs, separate)
        results = outcome.results(outputs)
        differentiable = outcome.differentiable
        ctx.output_forms = tuple([form_of(r) for r in results])
        if not ctx._materialize_non_diff_grads:
            numbers = differentiable.values()
            ctx.output_forms = tuple([form if nr in numbers else None for nr, form in enumerate(ctx.output_forms)])
        if moving:
            push_tangents(ctx, inputs, outputs, results, outcome.dirty, outcome.fixed)
        if not isinstance(output, tuple):
            (results,) = results
    if ctx.next_edges:
        ctx._keep(differentiable)
    ctx.to_save = ctx.saved_for_forward = ctx.dirty_tensors = ctx.non_differentiable = None
    return results


def _among(t: Tensor, values: Sequence[Any]) -> bool:
    return any([v is t for v in values])


def marked(ctx: BackwardCFunction) -> tuple[set[int], set[int]]:
    """The ids of what was marked as written to, and as without gradient."""
    return (
        _ids(ctx.dirty_tensors, "mark_dirty can only accept variables, but argument "),
        _ids(ctx.non_differentiable, "mark_non_differentiable only accepts variable arguments, but got "),
    )


def _ids(tensors: Iterable[Any] | None, complaint: str) -> set[int]:
    for t in tensors or ():
        if not isinstance(t, TensorBase):
            raise RuntimeError(complaint)
    return {id(t) for t in tensors or ()}


class Outcome:
    """What the outputs of forward are (inputs, written to, without gradient), and the history each one gets."""

    __slots__ = ("ctx", "differentiable", "dirty", "fixed", "given", "kept", "single")

    def __init__(self, ctx: BackwardCFunction, inputs: Sequence[Any], outputs: Sequence[Any], separate: bool) -> None:
        self.ctx = ctx
        self.single = len(outputs) == 1
        self.given = {id(v) for v in inputs if isinstance(v, TensorBase)}
        self.dirty, self.fixed = marked(ctx)
        self.kept = {id(t) for t in ctx.to_save or ()} if separate else set()
        self.differentiable: dict[int, int] = {}
        if not self.dirty <= {id(t) for t in outputs}:
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function."
            )
        for t in ctx.dirty_tensors or ():
            bump(t)

    def results(self, outputs: Sequence[Any]) -> tuple[Any, ...]:
        found = tuple([self.result(nr, t) if isinstance(t, TensorBase) else t for nr, t in enumerate(outputs)])
        if len(self.differentiable) > 1:
            for t in found:
                if isinstance(t, TensorBase) and t._edge.__class__ is View:
                    t._edge.kind = MULTI_OUTPUT
        return found

    def result(self, nr: int, t: Tensor) -> Tensor:
        at = id(t)
        is_input, written = at in self.given, at in self.dirty
        as_is = is_input and not written
        if as_is and at in self.kept:
            raise RuntimeError(
                "An input that has been returned as-is as output is being saved for backward. This is not supported if "
                "you override setup_context. You should return and save a view of the input instead, e.g. with "
                "x.view_as(x) or setup ctx inside the forward function itself."
            )
        if self.ctx.next_edges and at not in self.fixed and t.dtype.category >= FLOAT:
            if written:
                self.written(t, nr, is_input)
            else:
                t = _shown(t) if as_is else t
                if t._edge.__class__ is View:
                    t._edge.edge = (self.ctx, nr)
                else:
                    t._edge = (self.ctx, nr)
            self.differentiable[at] = nr
        elif requires_grad(t):
            if is_input:
                t = t.detach()
            elif t._edge.__class__ is not View:
                t.detach_()
        elif as_is:
            t = _shown(t)
        if t._edge.__class__ is View and not (is_input and written):
            t._edge.kind = CUSTOM
        return t

    def written(self, t: Tensor, nr: int, is_input: bool) -> None:
        """Forward has written to `t`: the node is the last step of its history."""
        edge = last_edge(t)
        if requires_grad(t) and edge.__class__ is not tuple and (edge is not None or t._edge.__class__ is View):
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if not is_input:
            errors.warn(
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
                "should be passed to ctx.mark_dirty()."
            )
        if t._edge.__class__ is View and not self.single:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                "return more than one Tensor. This is not supported by the current autograd engine. You should either "
                "make sure the input is not a view (using .clone() for example) or make your Function only return one "
                "Tensor (potentially splitting it into two Functions: one doing the inplace that returns a single "
                "Tensor and a second one that does the other operations). You can ask on the forum "
                "https://discuss.pytorch.org/ if you need help to do this change."
            )
        check_writable(t, True)
        set_history(t, self.ctx, nr)


def _shown(t: Tensor) -> Tensor:
    """A view of all of `t`: what stands for an input that was returned as it is."""
    state = local.state
    return state.within(silent(state.mode), t.view_as, t)
