"""Modules as functions of their state: `functional_call`, `stack_module_state`, `replace_all_batch_norm_modules_`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...core.machine import Tensor, TensorBase
from ...core.state import Context, State
from ...operations.shapes.joining import stack
from ..modules.batchnorm import _BatchNorm


def functional_call(
    module: Any, parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]], args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """What a module gives for `args` and `kwargs` with other tensors in place of its parameters and buffers.

    These come by name, in one dict or several. What the module itself holds stays as it is: a buffer it writes to is
    written to in the dict. With `tie_weights`, a tensor that the module has under several names is replaced under all
    of them; `strict` refuses names that are missing or unknown.
    """
    given: dict[str, Tensor] = {}
    if isinstance(parameter_and_buffer_dicts, dict):
        given = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        if not all(isinstance(part, dict) for part in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        counts = Counter(name for part in parameter_and_buffer_dicts for name in part)
        repeated = [name for name, count in counts.items() if count > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {name: t for part in parameter_and_buffer_dicts for name, t in part.items()}
    else:
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    from ..parallel import DataParallel

    if isinstance(module, DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with reparametrized(module, given, tie_weights, strict):
        return module(*args, **(kwargs or {}))


class reparametrized(Context):
    """Inside, a module holds what is given in place of its parameters and buffers.

    Afterwards `given` has what the module has put there in its turn.
    """

    def __init__(self, module: Any, given: dict[str, Tensor], tie_weights: bool, strict: bool) -> None:
        self.module = module
        self.given = given
        self.tie_weights = tie_weights
        self.strict = strict

    def _take(self, state: State) -> list[_Place]:
        wanted = _tied(self.module, self.given) if self.tie_weights else dict(self.given)
        if self.strict:
            _check_names(self.module, wanted)
        return [_Place(self.module, name, t) for name, t in wanted.items()]

    def _set(self, state: State, kept: list[_Place]) -> None:
        for place in kept:
            place.holder[place.last] = place.given

    def _put(self, state: State, kept: list[_Place]) -> None:
        for place in kept:
            place.leave()
            if place.name in self.given:
                self.given[place.name] = place.given  # type: ignore[assignment]


def _state(module: Any) -> Iterator[tuple[str, Tensor]]:
    """All parameters and buffers under all their names."""
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def _tied(module: Any, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same tensor for all names under which the module has one."""
    groups: dict[int, list[str]] = {}
    for name, t in _state(module):
        groups.setdefault(id(t), []).append(name)
    found = dict(given)
    for names in groups.values():
        tensors = {id(given[n]): given[n] for n in names if n in given}
        if len(tensors) > 1:
            tied = [n for n in names if n in given]
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(tied)}, which are tied. Consider using "
                "tie_weights=False"
            )
        for t in tensors.values():
            found.update(dict.fromkeys(names, t))
    return found


def _check_names(module: Any, given: Mapping[str, Tensor]) -> None:
    have = [name for name, _ in _state(module)]
    unknown = sorted([name for name in given if name not in have])
    missing = sorted([name for name in have if name not in given])
    if unknown or missing:
        parts = []
        if unknown:
            parts.append("Unexpected key(s): " + ", ".join(map(repr, unknown)) + ".")
        if missing:
            parts.append("Missing key(s): " + ", ".join(map(repr, missing)) + ".")
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(parts))


_NOTHING = object()  # what was in a place before that a module did not have


class _Place:
    """Where a module has a tensor: which it was, and which is given in its place."""

    def __init__(self, module: Any, name: str, t: Any) -> None:
        if not name:
            raise KeyError('tensor name can\'t be empty string ""')
        path, _, last = name.rpartition(".")
        owner = module.get_submodule(path) if path else module
        place = owner._parameters if last in owner._parameters else owner._buffers
        if last not in place and hasattr(owner, last):
            raise TypeError(f"attribute `{last}`: {getattr(owner, last)} is not an instance of torch.Tensor")
        if not isinstance(t, TensorBase) and t is not None:
            raise TypeError(f"{t} is not an instance of torch.Tensor")
        self.holder = place
        self.last = last
        self.name = name
        self.before = place.get(last, _NOTHING)
        self.given = t

    def leave(self) -> None:
        """Put back what was there. `given` becomes what is there instead now."""
        now = self.holder.get(self.last)
        if now is not self.before:
            self.given = now
        if self.before is _NOTHING:
            self.holder.pop(self.last, None)
        else:
            self.holder[self.last] = self.before


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of models of one class, each stacked along a new first dimension, by name."""
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = {name: _stacked(name, found) for name, found in _columns([m.named_parameters() for m in models])}
    buffers = {name: _stacked(name, found) for name, found in _columns([m.named_buffers() for m in models])}
    return params, buffers


def _columns(named: Sequence[Any]) -> Iterator[tuple[str, list[Tensor]]]:
    """The tensors of all models under each name of the first."""
    first, *others = [dict(each) for each in named]
    for name, t in first.items():
        yield name, [t, *[other[name] for other in others]]


def _stacked(name: str, tensors: Sequence[Tensor]) -> Tensor:
    needs = [t.requires_grad for t in tensors]
    if any(needs) and not all(needs):
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    if not all(t.is_leaf for t in tensors):
        return stack.apply(tuple(tensors), 0)
    return stack.apply(tuple([t.detach() for t in tensors]), 0).requires_grad_(needs[0])


def batch_norm_without_running_stats(module: Any) -> None:
    """Make a batch norm, if the module is one, use the statistics of the batch alone, and keep none."""
    if isinstance(module, _BatchNorm) and module.track_running_stats:
        module.track_running_stats = False
        module.running_mean = module.running_var = module.num_batches_tracked = None


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Make every batch norm in a module use the statistics of the batch alone, and keep none."""
    for module in root.modules():
        batch_norm_without_running_stats(module)
    return root
