"""`torch.utils.checkpoint`: forget what a function computed on its way, and compute it again when backward needs it.

Without `use_reentrant`, a *region* is what one checkpointed call saved. Hooks for saved tensors put a `_Place` where
each tensor would be kept. The first of them that backward reads runs the function again, this time with hooks that fill
the places in their order. With `use_reentrant`, the whole call is one node, whose backward runs the function again and
backward through it.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..autograd.backward import backward
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.saved_hooks import saved_tensors_hooks
from ..core.machine import Tensor, TensorBase, TorchFunctionMode, keep, read
from ..core.state import Context, Holding, State, local
from ..core.values import Told, warn
from .selective_checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from .surroundings import DefaultDeviceType, _Surroundings, get_device_states, set_device_states
from .surroundings import _infer_device_type as _infer_device_type

if TYPE_CHECKING:
    Contexts = Callable[[], tuple[contextlib.AbstractContextManager[Any], contextlib.AbstractContextManager[Any]]]


class CheckpointError(Told, RuntimeError):
    """Running the function again did not save what it saved the first time."""


class _Enough(Exception):
    """Ends a recomputation that has computed all that is needed."""


_TIP = "\nTip: pass `debug=True` to `checkpoint`, or use `set_checkpoint_debug_enabled(True)`, to see the operations.\n"


class _Settings:
    """What the `set_checkpoint_…` contexts change, for all threads. None leaves it to the call."""

    debug: bool | None = None
    early_stop: bool | None = None


def set_checkpoint_debug_enabled(enabled: bool | None) -> Holding:
    """Inside, `debug` of all calls of `checkpoint` is this; None leaves it to each call."""
    return Holding(_Settings, debug=enabled)


def set_checkpoint_early_stop(enable: bool) -> Holding:
    """Inside, regions stop their recomputation once all that is needed is there, or run to the end."""
    return Holding(_Settings, early_stop=enable)


# ---- regions


class GraphExecGroup(Context):
    """Inside, a region is run again once for all backward passes together, which must not share what they need."""

    _current = threading.local()

    def _take(self, state: State) -> None:
        inside = self._get_current_group()
        if inside is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {inside}")

    def _set(self, state: State, kept: None) -> GraphExecGroup:
        self._current.group = self
        return self

    def _put(self, state: State, kept: None) -> None:
        self._current.group = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return getattr(cls._current, "group", None)


def _current_pass() -> Any:
    """What is told apart when regions are run again: once for each."""
    group = GraphExecGroup._get_current_group()
    if group is not None:
        return group
    task = local.state.task
    return object() if task is None else task.id


class _Place:
    """Stands where a node would keep a tensor; `tensors` are those computed again, by pass."""

    __slots__ = ("__weakref__", "tensors")

    def __init__(self) -> None:
        self.tensors: dict[Any, Tensor | None] = {}


class _Region:
    """What one checkpointed call saved."""

    def __init__(
        self, function: Callable[..., None], args: Sequence[Any], early_stop: bool, describe: Callable[[Tensor], Any],
        explain: Callable[[CheckpointError], NoReturn] | None,
    ) -> None:  # fmt: skip
        self.function = function
        # As a node would keep them, so that hooks around the call (those of an outer region, say) pack them.
        stack = local.state.mode.saved_hooks
        self.args = [keep(a, stack) if isinstance(a, TensorBase) else a for a in args]
        self.are_tensors = [isinstance(a, TensorBase) for a in args]
        self.early_stop = early_stop
        self.describe = describe
        self.explain = explain
        self.places: list[weakref.ref[_Place]] = []
        self.forms: list[Any] = []
        self.complete = False  # whether the first run is over
        self.run_again: set[Any] = set()  # the passes for which the places were filled

    def pack(self, tensor: Tensor) -> _Place:
        place = _Place()
        self.places.append(weakref.ref(place))
        self.forms.append(self.describe(tensor))
        return place

    def unpack(self, place: _Place) -> Tensor:
        try:
            return self.tensor_at(place, _current_pass())
        except CheckpointError as error:
            if self.explain is None:
                raise
            self.explain(error)

    def tensor_at(self, place: _Place, now: Any) -> Tensor:
        if now not in self.run_again:
            self.recompute(now)
        tensor = place.tensors[now]
        if tensor is None:
            overlap = (
                "Performing two backward calls that overlap (i.e. require the same saved activation in order to "
                "compute gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. "
                if GraphExecGroup._get_current_group() is not None
                else ""
            )
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
                f"{overlap}If you are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise "
                "please open an issue with details on your use case."
            )
        place.tensors[now] = None
        return tensor

    def recompute(self, now: Any) -> None:
        """Run the function again and fill the places for this pass."""
        args = [read(a, None) if t else a for a, t in zip(self.args, self.are_tensors, strict=True)]
        filling = _Filling(self, now)
        with contextlib.suppress(_Enough), saved_tensors_hooks(filling.pack, lambda tensor: tensor), enable_grad():
            self.function(*args)
        self.run_again.add(now)
        filling.check()


class _Filling:
    """One recomputation: what is saved goes to the region's places, in their order."""

    def __init__(self, region: _Region, now: Any) -> None:
        self.region = region
        self.now = now
        self.count = 0
        self.unfinished = False  # whether more was saved than by a first run that is still under way

    def pack(self, tensor: Tensor) -> Tensor:
        region, at = self.region, self.count
        tensor = tensor.detach() if tensor.requires_grad else tensor
        self.count += 1
        if at >= len(region.places):
            if region.complete:
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                    f"forward pass.\n{_TIP}"
                )
            self.unfinished = True
            return tensor
        place = region.places[at]()
        if place is not None:
            place.tensors[self.now] = tensor
        if region.early_stop and self.count == len(region.places):
            raise _Enough
        return tensor

    def check(self) -> None:
        """Compare what was saved with what the first run saved."""
        region = self.region
        if self.unfinished:
            return
        if self.count != len(region.places):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(region.places)}\n"
                f"Number of tensors saved during recomputation: {self.count}.\n{_TIP}"
            )
        different = ""
        for at, (reference, form) in enumerate(zip(region.places, region.forms, strict=True)):
            place = reference()
            tensor = None if place is None else place.tensors[self.now]
            again = form if tensor is None else region.describe(tensor)
            if again != form:
                different += f"tensor at position {at}:\nsaved metadata: {form}\nrecomputed metadata: {again}\n"
        if different:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\n{different}.\n{_TIP}"
            )


def _form(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_CHECKS: dict[str, Callable[[Tensor], Any]] = {"default": _form, "none": lambda tensor: None}


# ---- what ran, for `debug`


class _Log(TorchFunctionMode):
    """Writes down which functions are called."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = [_brief(a) for a in args] + [f"{name}={_brief(a)}" for name, a in (kwargs or {}).items()]
        self.lines.append(f"{_brief(result)} = {getattr(func, '__name__', func)}({', '.join(given)})")
        return result


def _brief(value: Any) -> str:
    if isinstance(value, TensorBase):
        return f"{value.dtype.legacy.lower()}{list(value.shape)}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join([_brief(v) for v in value])}]"
    return repr(value)


def _logging() -> tuple[Contexts, Callable[[CheckpointError], NoReturn]]:
    """Contexts that log both runs of a function, and what tells their logs when they differ."""
    first, second = _Log(), _Log()

    def explain(error: CheckpointError) -> NoReturn:
        raise CheckpointError(
            "An error happened while unpacking tensors; dumping logs of latest computation because you passed "
            "`debug=True` to `torch.utils.checkpoint.checkpoint()`.\n\n"
            "Operations executed during the original forward:\n\n" + "\n".join(first.lines) + "\n\n"
            "Operations executed during recomputation:\n\n" + "\n".join(second.lines) + "\n\n"
            " ERROR: Detected non-determinism while running activation checkpointing\n"
        ) from error

    return lambda: (first, second), explain


# ---- the public functions


def noop_context_fn() -> tuple[contextlib.AbstractContextManager[None], contextlib.AbstractContextManager[None]]:
    """The contexts of a function that needs none."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def _implicit(which: str, when: str) -> None:
    warn(
        f"torch.utils.checkpoint{which}: the use_reentrant parameter should be passed explicitly. {when} "
        "use_reentrant=False is recommended, but if you need to preserve the current default behavior, you can pass "
        "use_reentrant=True. Refer to docs for more details on the differences between the two variants."
    )


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, context_fn: Contexts = noop_context_fn,
    determinism_check: str = "default", debug: bool = False, early_stop: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """Call `function`, keep only its arguments for backward, and run it again when backward needs the rest.

    With `preserve_rng_state` (the default) the second run draws the random numbers of the first. `context_fn` gives two
    contexts, for the first and the second run. `determinism_check` is "default" (what is saved must have the same
    shapes, dtypes and devices both times) or "none"; `debug` tells which operations ran when that fails. With
    `early_stop` the second run ends when the last tensor needed is there.

    Pass `use_reentrant=False`. The other way records nothing of the function's inside, so only `backward()` without
    `inputs` works on it, at least one argument must require grad, and only positional arguments are taken.
    """
    if use_reentrant is None:
        _implicit("", "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception.")
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    explain = None
    if debug if _Settings.debug is None else _Settings.debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        context_fn, explain = _logging()
    describe = _CHECKS.get(determinism_check)
    if describe is None:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    first, second = context_fn()
    surroundings = _Surroundings(preserve, args)

    def again(*args: Any) -> None:
        with surroundings, second:
            function(*args, **kwargs)

    if not local.state.mode.grad:
        return function(*args, **kwargs)
    stop = early_stop if _Settings.early_stop is None else _Settings.early_stop
    region = _Region(again, args, stop, describe, explain)
    with saved_tensors_hooks(region.pack, region.unpack), first:
        result = function(*args, **kwargs)
        region.complete = True
    if not region.complete:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during "
            "the checkpointed forward. This is not supported because checkpoint cannot return a value for a failed "
            "forward."
        )
    return result


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Call functions (or the modules of a `Sequential`) one after the other, in `segments` checkpointed stretches.

    The last stretch is not checkpointed, since backward begins with it.
    """
    if use_reentrant is None:
        _implicit(".checkpoint_sequential", "In version 2.9 we will raise an exception if use_reentrant is not passed.")
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    length = len(steps) // segments
    begin = 0
    for start in range(0, length * (segments - 1), length):
        begin = start + length
        stretch = _in_turn(steps[start:begin])
        input = checkpoint(stretch, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _in_turn(steps[begin:])(input)


def _in_turn(steps: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(input: Any) -> Any:
        for step in steps:
            input = step(input)
        return input

    return run


# ---- a call that is one node


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same values as leaves, which require grad where the tensors did."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple([t.detach().requires_grad_(t.requires_grad) if isinstance(t, TensorBase) else t for t in inputs])


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn when no input requires grad."""
    if not any([t.requires_grad for t in inputs if isinstance(t, TensorBase)]):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


class CheckpointFunction(Function):
    """A checkpointed call as one node: its backward runs the function again, and backward through it."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state, args)
        # Tensors are kept as a node keeps them, everything else as it is.
        ctx.inputs = [None if isinstance(a, TensorBase) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, TensorBase)]
        ctx.save_for_backward(*[a for a in args if isinstance(a, TensorBase)])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        if local.state.task.wanted is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[place] = tensor
        leaves = detach_variable(tuple(inputs))
        with ctx.surroundings, enable_grad():
            outputs = ctx.run_function(*leaves)
        results = (outputs,) if isinstance(outputs, TensorBase) else outputs
        pairs = [(r, g) for r, g in zip(results, grads, strict=True) if isinstance(r, TensorBase) and r.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([r for r, _ in pairs], [g for _, g in pairs])
        return (None, None, *[t.grad if isinstance(t, TensorBase) else None for t in leaves])


__all__ = [
    "SAC_IGNORED_OPS", "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType",
    "GraphExecGroup", "SelectiveCheckpointContext", "check_backward_validity", "checkpoint", "checkpoint_sequential",
    "create_selective_checkpoint_contexts", "detach_variable", "get_device_states", "noop_context_fn",
    "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip
