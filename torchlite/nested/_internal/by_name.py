"""What nested tensors are to other code, and what functions do on them, which is kept by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...backends.meta.array import Memory, MetaArray
from ...core.declare import rules_in
from ...core.machine import Tensor, as_class, wrap
from ...core.machine.registry import aliases
from ...core.state import local
from ...core.values import contiguous_strides

Rule = Callable[..., Any]

RULES: dict[str, Rule] = {}
rule = rules_in(RULES)  # a rule gets the function of torch, and the arguments of the call


def name_of(func: Callable[..., Any]) -> str:
    """The name of a function or method of torch; of one that has several, the one by which rules are kept."""
    name = str(getattr(func, "__name__", ""))
    return aliases.get(name, name)


def call_by_rule(rules: dict[str, Rule], func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a rule says of a function of torch; without one, what the ops come to that it is made of."""
    rule = rules.get(name_of(func))
    if rule is not None:
        return rule(func, *args, **(kwargs or {}))
    state = local.state
    return state.within(state.mode.but(subclasses=False), lambda: func(*args, **(kwargs or {})))


def without_elements(cls: Any, shape: tuple[Any, ...], like: Tensor) -> Any:
    """A tensor of a class that has its elements elsewhere, in a shape, row by row."""
    strides = tuple([n * like.element_size() for n in contiguous_strides(shape)])
    form = MetaArray(shape, like.dtype.numpy, strides, 0, Memory(0))
    return as_class(wrap(form, like.dtype, like._backend.home), cls)
