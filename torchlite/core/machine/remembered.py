"""Calls that pure Python knows again, by functions that are written for the structures of their arguments.

A structure is how many arguments there are, which by name, and of which classes, items of sequences included. The
function for it checks that and then looks only at what may differ: forms of tensors, and plain values. The native build
does so in C (src/native/form.c).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import CodeType
from typing import Any, NamedTuple

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
_OF_KERNEL = """
def written(state, mode, tensors):
 {check}
 outputs = state.quiet(kernel, {items})
 if not settled: outputs = settle(outputs, tensors)
 {wrap}
 {record}
 return {returned}
"""
_WRAP_ONE = """
 if outputs.__class__ is not array_class: outputs = asarray(outputs)
 if outputs.dtype is numpy_type and outputs.base is None: results = wrap_unmarked(outputs, result_type, backend)
 else: results = wrap_results(outputs, out_dtype, backend)"""
_WRAP_SEVERAL = "results = wrapped(outputs, known, backend) or wrap_results(outputs, out_dtype, backend)"


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
    structure = _Structure([], [], [], {})
    structure.add("x", (*args, *kwargs.values()), "[*args, *kwargs.values()]" if kwargs else "args")
    if len(structure.lines) > _LONGEST:
        return None
    source = _FUNCTION.format(
        unlike=f"len(args) != {len(args)} or " + (f"[*kwargs] != {[*kwargs]}" if kwargs else "kwargs"),
        lines="\n ".join(structure.lines),
        form=" ".join(structure.form),
        tensors=" ".join(structure.tensors),
    )
    plans: dict[Any, Any] = {}
    function = written(source, MISSED=MISSED, UNVERSIONED=UNVERSIONED, get=plans.get, **structure.kinds)
    function.plans = plans
    return function


class _Structure(NamedTuple):
    """The parts of a function for calls of one structure."""

    lines: list[str]
    form: list[str]
    tensors: list[str]
    kinds: dict[str, type]

    def add(self, prefix: str, values: Sequence[Any], source: str) -> None:
        """What is to be done with values that `source` gives, in the order in which plans have their tensors."""
        names = [f"{prefix}{i}" for i in range(len(values))]
        self.lines.append(f"[{', '.join(names)}] = {source}")
        for name, value in zip(names, values):
            kind = self.kinds[f"kind_of_{name}"] = value.__class__
            unlike = f"{name}.__class__ is not kind_of_{name}"
            if kind in PLAIN:
                self.lines.append(f"if {unlike} or {name}.counter is UNVERSIONED: return MISSED")
                self.form.append(f"{name}.backend, {name}.dtype, (array := {name}.array).shape, array.strides,")
                self.tensors.append(f"{name},")
            elif isinstance(value, (tuple, list)):
                self.lines.append(f"if {unlike} or len({name}) != {len(value)}: return MISSED")
                self.add(f"{name}_", value, name)
            else:
                self.lines.append(f"if {unlike}: return MISSED")
                if value is not None:
                    self.form.append(f"{name} or str({name})," if kind is float or kind is complex else f"{name},")


def of_kernel(arguments: Sequence[Any], sources: Sequence[tuple[int, Any]], count: int, **names: Any) -> Any:
    """The plan that calls a kernel with the arrays of `count` tensors at their places among arguments.

    It knows `names`; steps that are None are left out. What it is to do until results are settled, it asks each time.
    """
    items = [f"value{i}" for i in range(len(arguments))]
    for at, which in sources:
        single = which.__class__ is int
        items[at] = f"tensors[{which}].array" if single else f"[{', '.join([f'tensors[{k}].array' for k in which])}]"
    tracked = " or ".join([f"tensors[{k}].edge is not None" for k in range(count)])
    source = _OF_KERNEL.format(
        check="" if names["check"] is None else "check(*bound(tensors))",
        items=", ".join(items),
        wrap=_WRAP_ONE if names["single"] else _WRAP_SEVERAL,
        record="" if names["record"] is None else f"if mode.grad and ({tracked}): record(tensors, bound, results)",
        returned="results" if names["after"] is None else "after(results, tensors)",
    )
    return written(source, settled=False, **names, **{f"value{i}": value for i, value in enumerate(arguments)})


def in_steps(steps: Sequence[Any], count: int) -> Any:
    """The plan that makes calls one after the other, each with its arguments, of which some are tensors.

    These are numbered: `count` that the plan is given, then what was made of them; places say where which stand.
    """
    there = [f"tensors[{n}]" for n in range(count)]
    lines = ["def written(state, mode, tensors):"]
    names: dict[str, Any] = {}
    for step, (call, arguments, places, *which) in enumerate(steps):
        items = [f"value{step}_{at}" for at in range(len(arguments))]
        names |= {f"call{step}": call, **dict(zip(items, arguments))}
        for at, number in places:
            several = number.__class__ is tuple
            items[at] = f"({''.join([f'{there[n]}, ' for n in number])})" if several else there[number]
        there.append(f"made{step}")
        lines.append(f"made{step} = call{step}({', '.join(items)}){which or ''}")
    return written("\n ".join([*lines, f"return {there[-1]}"]), **names)


def written(source: str, **names: Any) -> Any:
    """What a source that knows these names calls `written`."""
    exec(_compiled(source), names)
    return names.pop("written")  # which would be in a cycle with it otherwise


@functools.lru_cache(1024)
def _compiled(source: str) -> CodeType:
    return compile(source, "<a call that is known>", "exec")
