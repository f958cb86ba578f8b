"""What the elementwise algorithms have in common: everything but their formula.

An algorithm says which arrays and numbers its state has, how its options and the numbers of the state give the numbers
of a step, and its formula: a function `(xp, values, gradient, *state arrays, *numbers)` that writes into the values and
the state. The formula is made of operators and of functions that NumPy, CuPy and torch name alike, so it runs on flat
arrays (`flat_arrays.py`) and on tensors: these where the step is differentiated, or where somebody watches what tensors
do.

In place, a formula changes only the values, the state, and results of operations whose derivatives do not need them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from types import SimpleNamespace
from typing import Any, ClassVar

from ..autograd.grad_mode import grad_enabled, no_grad
from ..backends.base import get_backend
from ..core.machine import Tensor, functions
from ..core.machine.overrides import overrides
from ..core.state import is_watched, local
from ..core.values import CPU, preserve_format, strided
from ..utils._foreach_utils import _get_fused_kernels_supported_devices, _group_tensors_by_device_and_dtype
from .flat_arrays import SMALL, Block, block_of, new_counts, new_state, scalar_dtype
from .optimizer import Optimizer
from .together import Together
from .torch_names import _default_to_fused_or_foreach, _get_capturable_supported_devices

ON_TENSORS = SimpleNamespace(
    **{name: functions[name] for name in ("absolute", "clip", "maximum", "minimum", "sign", "sqrt", "where")}
)

_CAPTURABLE, _FUSABLE = _get_capturable_supported_devices(), _get_fused_kernels_supported_devices()


def number(value: Any, group: dict[str, Any]) -> Any:
    """An option as a number; a tensor stays one where the step is differentiated."""
    if isinstance(value, Tensor):
        return value if group.get("differentiable") else value.item()
    return float(value)


def decay_of(group: dict[str, Any]) -> Any:
    """The weight decay that is part of the gradient, or None."""
    decay = group["weight_decay"]
    if group.get("decoupled_weight_decay") or not (isinstance(decay, Tensor) or decay):
        return None
    return number(decay, group)


def shrink_of(group: dict[str, Any]) -> Any:
    """The factor by which weight decay that stands apart from the gradient makes parameters smaller, or None."""
    if group["decoupled_weight_decay"] and group["weight_decay"]:
        return 1 - number(group["lr"], group) * group["weight_decay"]
    return None


def decayed(p: Any, g: Any, decay: Any, shrink: Any = None) -> Any:
    """The gradient with weight decay, at the beginning of a formula; a parameter may shrink by a factor instead."""
    if shrink is not None:
        p *= shrink
    return g if decay is None else g + p * decay


def decayed_tensor(p: Any, g: Any, group: dict[str, Any]) -> Any:
    """As `decayed`, in the operations that a dispatch mode sees."""
    shrink = shrink_of(group) if "decoupled_weight_decay" in group else None
    if shrink is not None:
        p.mul_(shrink)
    decay = decay_of(group)
    return g if decay is None else g.add(p, alpha=decay)


def follow(g: Any, mean: Any, square: Any, new1: Any, beta2: Any, new2: Any) -> None:
    """Adam's running means of the gradient and of its square."""
    mean += (g - mean) * new1
    square *= beta2
    square += g * g * new2


class Plan:
    """How the parameters of a group that have gradients are updated, for as long as they and their state stay put."""

    __slots__ = ("arrays", "blocks", "names", "state_arrays", "states")

    def __init__(self, params: Sequence[Tensor], states: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
        self.arrays = [p._array for p in params]
        self.states = states
        self.names = names
        self.state_arrays = self._find_state()
        self.blocks: list[tuple[Block, list[int]]] = []

    def fits(self, params: Sequence[Tensor], names: Sequence[str]) -> bool:
        if names != self.names or len(params) != len(self.arrays):
            return False
        if not all(map(is_, [p._array for p in params], self.arrays)):
            return False
        try:
            if not all(map(is_, self._find_state(), self.state_arrays)):
                return False
        except (KeyError, AttributeError):
            return False
        return all([block.read_counts() for block, _ in self.blocks])

    def _find_state(self) -> list[Any]:
        return [s[name]._array for name in self.names for s in self.states]


class Elementwise(Optimizer):
    """The base of the algorithms that treat every element alike."""

    formula: ClassVar[Callable[..., None]]
    kept: ClassVar[dict[str, float]] = {}  # the arrays of a state, and with what they are filled at first
    # A step that is counted, on one dense tensor that has its state, in the operations that a dispatch mode sees of it
    # in PyTorch.
    _watched: Callable[[Tensor, Tensor, dict[str, Any], dict[str, Any]], None] | None = None
    # The same on lists, where `_watched` is not also that.
    _watched_lists: Callable[[Together, Any, dict[str, Any], dict[str, Any]], None] | None = None
    # One call for all tensors of a kind, their gradients and states.
    _fused: ClassVar[Any] = None
    together: ClassVar[str] = "params and state_steps"  # what `capturable` wants on one device
    twice: ClassVar[tuple[str, ...]] = ()  # what PyTorch's formula writes to in two steps
    counts_first: ClassVar[bool] = False  # whether a step is counted before gradients are negated there
    filled: ClassVar[bool] = False  # whether its numbers are made by filling tensors there
    # Options that checkpoints of older versions lack.
    later: ClassVar[dict[str, Any]] = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def counts(self, group: dict[str, Any]) -> dict[str, float]:
        """The numbers of a state, and with what they begin."""
        return {"step": 0.0}

    def arrays(self, group: dict[str, Any]) -> dict[str, float]:
        """`kept`, or what a group's options make of it."""
        return self.kept

    def numbers(self, group: dict[str, Any], counts: list[float], new: bool) -> tuple[Any, ...]:
        """The numbers that the formula takes; `counts` are those of the state, to be brought up to date.

        `new` says that the state was made for this step.
        """
        raise NotImplementedError

    def writes(self, group: dict[str, Any], new: bool) -> dict[str, int]:
        """How many writes to the parameters and to the arrays of the state PyTorch's step counts, where not one."""
        if group.get("fused"):
            return dict.fromkeys(("params", *self.arrays(group)), 0)
        found = dict.fromkeys(self.twice, 2)
        if group.get("decoupled_weight_decay") and group["weight_decay"]:
            found["params"] = found.get("params", 1) + 1
        return found

    def lacks_state(self, state: dict[str, Any]) -> bool:
        """Whether a parameter has no state yet."""
        return not state

    def _prepare(self) -> None:
        super()._prepare()
        self._plans: dict[int, Plan] = {}  # by the id of their group
        self._states: list[Any] = []  # the states for which they were made

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.later.items():
                group.setdefault(name, value)
        for group in self.param_groups:
            for name in self.counts(group):
                for p in group["params"]:
                    found = self.state.get(p, {})
                    if name in found and not isinstance(found[name], Tensor):  # as older versions saved it
                        found[name] = functions["tensor"](float(found[name]), dtype=scalar_dtype())

    # ---- the step

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients; `closure`, if given, computes these anew and returns the loss."""
        loss = self._loss_of(closure)
        if "found_inf" in self.__dict__ and self._overflown():
            return loss
        states = list(self.state.values())
        if len(states) != len(self._states) or not all(map(is_, states, self._states)):
            self._plans.clear()
        state = local.state
        for group in self.param_groups:
            params = [p for p in group["params"] if p._grad is not None]
            if not all([p._grad._backend.shows for p in params]):
                params = self._step_on_sparse(group, params)
            if params:
                if params[0]._backend.device.type == "cuda":
                    self._accelerator_graph_capture_health_check()
                on_arrays = state.mode.plain and not group["differentiable"]
                plan = self._plan(group, params) if on_arrays else None
                if plan is not None:
                    state.quiet(self._step_on_arrays, plan, group, params)
                else:
                    self._check(group, params)
                    self._step_on_tensors(group, params)
        return loss

    def _overflown(self) -> bool:
        """Whether a gradient scaler found a gradient that is not finite; if not, undo its scaling."""
        found: Any = self.__dict__["found_inf"]
        if found is not None and found.item():
            return True
        scale = self.__dict__.get("grad_scale")
        if scale is not None:
            with no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        if p.grad is not None:
                            p.grad.div_(scale)
        return False

    def _check(self, group: dict[str, Any], params: Sequence[Tensor]) -> None:
        """Refuse options that do not suit the parameters."""
        if group.get("fused"):
            for p in params:
                if not (p.dtype.is_floating_point and p.device.type in _FUSABLE):
                    raise RuntimeError(
                        "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                        f"{_FUSABLE} but {p.dtype} and {p.device.type}"
                    )
        if group.get("capturable") and not all(p.device.type in _CAPTURABLE for p in params):
            raise AssertionError(f"If capturable=True, {self.together} must be on supported devices: {_CAPTURABLE}.")
        if group["differentiable"] and group.get("foreach"):
            raise AssertionError("_foreach ops don't support autograd")

    # ---- on flat arrays

    def _plan(self, group: dict[str, Any], params: list[Tensor]) -> Plan | None:
        """How to update these parameters as arrays; None if there is more to one than its array."""
        names = (*self.counts(group), *self.arrays(group))
        plan = self._plans.get(id(group))
        if plan is None or not plan.fits(params, names):
            if not all(map(_bare, params)):
                return None
            self._check(group, params)
            plan = self._plans[id(group)] = self._planned(group, params, names)
            self._states = list(self.state.values())
        return plan

    def _step_on_arrays(self, plan: Plan, group: dict[str, Any], params: list[Tensor]) -> None:
        maximize = group["maximize"]
        for block, places in plan.blocks:
            numbers = self.numbers(group, block.counted, block.new)
            writes = self.writes(group, block.new)
            grads: list[Any] = [params[i]._grad for i in places]
            block.update(type(self).formula, grads, numbers, maximize, writes)

    def _planned(self, group: dict[str, Any], params: list[Tensor], names: tuple[str, ...]) -> Plan:
        """Make the state that is missing, and the blocks."""
        counts, arrays = self.counts(group), self.arrays(group)
        states = [self.state[p] for p in params] if names else [{} for _ in params]
        new = [self.lacks_state(s) for s in states]
        self.make_state(group, [p for p, n in zip(params, new) if n], [s for s, n in zip(states, new) if n])
        plan = Plan(params, states, names)
        alike: dict[Any, list[int]] = {}
        for i, (p, s) in enumerate(zip(params, states)):
            together = p._array.size < SMALL or p._backend.real.over_lists is not None
            key = (p._backend.real, p.dtype, new[i], *[s[name].item() for name in counts]) if together else i
            alike.setdefault(key, []).append(i)
        for places in alike.values():
            block = block_of([params[i] for i in places], [states[i] for i in places], tuple(arrays), tuple(counts))
            block.new = new[places[0]]
            block.read_counts()
            plan.blocks.append((block, places))
        return plan

    def make_state(self, group: dict[str, Any], params: Sequence[Tensor], states: Sequence[dict[str, Any]]) -> None:
        """Make the state of parameters that have none, that of small ones of one kind in one piece of memory."""
        if not params:
            return
        if is_watched():
            self._make_watched_state(group, params, states)
            return
        counts, arrays = self.counts(group), self.arrays(group)
        with_params = group.get("capturable") or group.get("fused")
        alike: dict[Any, list[int]] = {}
        for i, p in enumerate(params):
            alike.setdefault((p._backend.real, p.dtype) if p._array.size < SMALL else i, []).append(i)
        for places in alike.values():
            some, theirs = [params[i] for i in places], [states[i] for i in places]
            new_counts(theirs, counts, some[0]._backend.home if with_params else get_backend(CPU))
            new_state(some, theirs, arrays)

    # ---- on tensors

    def _step_on_tensors(self, group: dict[str, Any], params: Sequence[Tensor]) -> None:
        stateful = self.counts(group) or self.arrays(group)
        shown = is_watched() and self._watched is not None and not group["differentiable"]
        shown = shown and not any([p.is_complex() for p in params])
        update = self.update
        if shown:
            new = [p for p in params if self.lacks_state(self.state[p])]
            self._make_watched_state(group, new, [self.state[p] for p in new])
            if _over_lists(group, params):
                self._step_on_lists(group, params)
                return
            if group.get("fused"):
                self._step_in_one(group, params)
                return
            update = self._watched  # type: ignore[assignment]
        with grad_enabled(group["differentiable"]):
            for p in params:
                state = self.state[p] if stateful else {}
                update(p, self._begun(p.grad, state, group) if shown else p.grad, state, group)

    def _step_on_lists(self, group: dict[str, Any], params: Sequence[Tensor]) -> None:
        """A step in calls over lists, of which each holds what is alike."""
        step: Any = self._watched_lists or self._watched
        lists: Any = [params, [p.grad for p in params]]
        alike: Any = _group_tensors_by_device_and_dtype(lists).values()
        with grad_enabled(False):
            for (some, grads), _ in alike:
                states = [self.state[p] for p in some]
                known = set.intersection(*map(set, states))
                state = {name: Together([s[name] for s in states]) for name in known}
                step(Together(some), self._begun(Together(grads), state, group), state, group)

    def _step_in_one(self, group: dict[str, Any], params: Sequence[Tensor]) -> None:
        lists: Any = [params, [p.grad for p in params]]
        alike: Any = _group_tensors_by_device_and_dtype(lists).values()
        for (some, grads), _ in alike:
            self._fused(some, grads, [self.state[p] for p in some], group)

    def _begun(self, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """Count a step; the gradient that goes down."""
        if group["maximize"] and not self.counts_first:
            grad = -grad
        if "step" in state:
            state["step"] += 1
        return -grad if group["maximize"] and self.counts_first else grad

    def _make_watched_state(
        self, group: dict[str, Any], params: Sequence[Tensor], states: Sequence[dict[str, Any]]
    ) -> None:
        """As `make_state`, in the operations that a dispatch mode sees."""
        for p, state in zip(params, states, strict=True):
            for name, value in self.counts(group).items():
                if group.get("fused"):
                    state[name] = functions["zeros"]((), dtype=scalar_dtype(), device=p.device)
                else:
                    state[name] = self._watched_count(value)
            for name, value in self.arrays(group).items():
                state[name] = self._watched_array(p, value)

    def _watched_array(self, p: Tensor, value: float) -> Tensor:
        """The initial value of an array in the state."""
        if value:
            return functions["full_like"](p, value)
        return functions["zeros_like"](p, memory_format=preserve_format)

    def _watched_count(self, value: float) -> Tensor:
        """The initial value of a number in the state, made by an op where a mode watches."""
        if self.filled and value in (0, 1):
            return functions["ones" if value else "zeros"]((), dtype=scalar_dtype())
        return functions["tensor"](value, dtype=scalar_dtype())

    def update(self, p: Tensor, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Change one parameter."""
        counts, arrays = self.counts(group), self.arrays(group)
        new = self.lacks_state(state)
        if new:
            self.make_state(group, [p], [state])
        counted = [state[name].item() for name in counts]
        numbers = self.numbers(group, counted, new)
        # Nodes may keep what the formula works on, so that must not be what the next step writes into.
        targets = [p, *[state[name] for name in arrays]]
        copies = [t.clone() for t in targets] if group["differentiable"] else targets
        operands = [copies[0], -grad if group["maximize"] else grad, *copies[1:]]
        if p.is_complex():
            operands = [functions["view_as_real"](t) for t in operands]
        type(self).formula(ON_TENSORS, *operands, *numbers)
        if group["differentiable"]:
            for target, made in zip(targets, copies):
                target.copy_(made)
        for name, value in zip(counts, counted):
            state[name].fill_(value)

    # ---- on sparse gradients

    def _step_on_sparse(self, group: dict[str, Any], params: Sequence[Any]) -> list[Tensor]:
        """Change the parameters that have sparse gradients; the others."""
        sparse = [p for p in params if p.grad.layout is not strided]
        with grad_enabled(False):
            for p in sparse:
                self.update_by_sparse(p, -p.grad if group["maximize"] else p.grad, self.state[p], group)
        return [p for p in params if p.grad.layout is strided]

    def update_by_sparse(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Change a parameter by a sparse gradient, as far as the algorithm knows what that is."""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")


def _over_lists(group: dict[str, Any], params: Sequence[Tensor]) -> bool:
    """Whether PyTorch takes a step over lists."""
    if group.get("fused") or group.get("capturable"):
        return False
    if group["foreach"] is None and not isinstance(group["lr"], Tensor):
        return _default_to_fused_or_foreach(params, group["differentiable"])[1]
    return bool(group["foreach"])


def _bare(p: Tensor) -> bool:
    """Whether a parameter is a plain tensor, wholly described by its array."""
    backend = p._backend.real
    spread = 0 in p._array.strides and p._array.size > 1
    return backend.bare and backend.values and backend.strided and not spread and not overrides(type(p))
