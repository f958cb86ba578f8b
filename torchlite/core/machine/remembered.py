"""Calls that pure Python knows again, by functions that are written for the structures of their arguments.

A structure is how many arguments there are, which by name, and of which classes, items of sequences included. The
function for it checks that and then looks only at what may differ: forms of tensors, and plain values. The native build
does so in C (src/native/form.c).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import CodeType
from typing import Any

from .node import UNVERSIONED
from .overrides import PLAIN

MISSED = object()  # what a call comes to that is not known
_MOST = 4  # structures that are known of one function
_LONGEST = 100  # lines
_FUNCTION = """
def written(args, kwargs, state, mode, get=get):
 if {unlike}: return MISSED
 {lines}
 try: plan = get(({form}))
 except AttributeError: return MISSED  # an array without strides
 return plan(state, mode, ({tensors})) if plan else MISSED
"""


def remember(known: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any], plan: Any) -> None:
    """Let calls of this form find their plan by one of the functions `known`."""
    form: list[Any] = []
    for function in known:
        function(args, kwargs, None, None, form.append)
        if form:
            break
    else:
        if len(known) == _MOST or (function := _function(args, kwargs)) is None:
            return
        function(args, kwargs, None, None, form.append)
        known.append(function)
    function.plans[form[0]] = plan


def _function(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function for calls of this structure, with the dictionary of its plans; None where it would be a long one."""
    lines: list[str] = []
    form: list[str] = []
    tensors: list[str] = []
    kinds: list[Any] = []
    values = (*args, *kwargs.values())
    sequences: list[tuple[str, Sequence[Any], str]] = [("x", values, "[*args, *kwargs.values()]" if kwargs else "args")]
    for prefix, values, source in sequences:  # those inside are appended
        names = [f"{prefix}{i}" for i in range(len(values))]
        lines.append(f"[{', '.join(names)}] = {source}")
        for name, value in zip(names, values):
            kind = value.__class__
            unlike = f"{name}.__class__ is not kind{len(kinds)}"
            kinds.append(kind)
            if kind in PLAIN:
                unlike += f" or {name}.counter is UNVERSIONED"
                tensors.append(f"{name},")
                form.append(f"{name}.backend, {name}.dtype, (array := {name}.array).shape, array.strides,")
            elif isinstance(value, (tuple, list)):
                unlike += f" or len({name}) != {len(value)}"
                sequences.append((f"{name}_", value, name))
            elif value is not None:
                form.append(f"{name} or str({name})," if kind is float or kind is complex else f"{name},")
            lines.append(f"if {unlike}: return MISSED")
    if len(lines) > _LONGEST:
        return None
    unlike = f"len(args) != {len(args)} or " + (f"[*kwargs] != {[*kwargs]}" if kwargs else "kwargs")
    source = _FUNCTION.format(unlike=unlike, lines="\n ".join(lines), form=" ".join(form), tensors=" ".join(tensors))
    plans: dict[Any, Any] = {}
    kinds_by_name = {f"kind{i}": kind for i, kind in enumerate(kinds)}
    function = written(source, MISSED=MISSED, UNVERSIONED=UNVERSIONED, get=plans.get, **kinds_by_name)
    function.plans = plans
    return function


def caller(kernel: Any, arguments: Sequence[Any], sources: Sequence[tuple[int, Any]]) -> Any:
    """A function `(quiet, tensors)` that calls a kernel with the arrays of tensors at their places among arguments."""
    items = [f"value{i}" for i in range(len(arguments))]
    for at, which in sources:
        single = which.__class__ is int
        items[at] = f"tensors[{which}].array" if single else f"[{', '.join([f'tensors[{k}].array' for k in which])}]"
    values = {f"value{i}": value for i, value in enumerate(arguments)}
    return written(f"written = lambda quiet, tensors: quiet(kernel, {', '.join(items)})", kernel=kernel, **values)


def written(source: str, **names: Any) -> Any:
    """What a source that knows these names calls `written`."""
    exec(_compiled(source), names)
    return names.pop("written")  # which would be in a cycle with it otherwise


@functools.lru_cache(1024)
def _compiled(source: str) -> CodeType:
    return compile(source, "<a call that is known>", "exec")
