"""Calls that pure Python knows again, by what is written for the structures of their arguments.

A structure is how many arguments there are, which by name, and of which classes, items of sequences included. The code
of a public function grows with the structures that it is called with: for each it checks that a call has it, and then
looks only at what may differ: forms of tensors, and plain values. These are compared with the last call's first, which
takes less time than to look them up. The native build does so in C (src/native/form.c).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NamedTuple

from ..state import local
from ..structs import Defaults
from .node import UNVERSIONED
from .overrides import PLAIN
from .tensor import Tensor

Places = Sequence[tuple[int, Any]]  # where tensors stand among arguments, and which: its number, or those of several
MISSED = object()  # what a call comes to that is not known
_ABSENT = object()  # stands for an argument that is not given
_NO_CALL = None, None  # a form that no call has, and its plan
_MOST = 4  # structures that are known of one function
_LONGEST = 100  # lines
_PLACES = 3  # arguments that have places of their own, which is faster than a tuple of them
_HEADER = f"def written({', '.join([f'x{i}=ABSENT' for i in range(_PLACES)])}, /, *more, **named):"
_PUBLIC = f"""
{_HEADER}
 state = local.state
 mode = state.mode
 if mode.plain and plans.era is Defaults.era:
  {{known}}
 return general(*[x for x in ({', '.join([f'x{i}' for i in range(_PLACES)])}, *more) if x is not ABSENT], **named)
"""
_KNOWN = """
  global last{number}
  while True:
   {lines}
   try: form = ({form})
   except AttributeError: break  # an array without strides
   last, plan = last{number}
   if form != last:
    if (plan := get{number}(form)) is None: break
    last{number} = form, plan
   if (results := plan(state, mode, ({tensors}))) is MISSED: break
   return results
"""
_FORM = """
{header}
 while True:
   {lines}
   return ({form})
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
_FRESH = "{output}.__class__ is array_class and {output}.dtype is numpy_type{nr} and {output}.base is None"
_WRAPPED = """
  {result} = new(Tensor)
  {result}._array = {output}
  {result}._dtype = result_type{nr}
  {result}._backend = backend
  {result}._edge = {result}._counter = {result}._grad = {result}._extra = None"""
_WRAP = "results = wrap_results(outputs, out_dtype, backend)"
_WRAP_ONE = f"""
 if outputs.__class__ is not array_class: outputs = asarray(outputs)
 if {_FRESH}:{_WRAPPED}
 else: {_WRAP}"""
_WRAP_ALONE = f"""
 output = outputs[{{nr}}]
 if not ({{recorded}}) and {_FRESH}:{_WRAPPED}
  return results"""
_WRAP_SEVERAL = f"""
 {{names}}, = outputs
 if {{fresh}}:{{wrapped}}
  results = {{results}},
 else: {_WRAP}"""


def knowing(general: Callable[..., Any], plans: Any) -> Any:
    """A public function that knows some calls again, and leaves all others to `general`."""
    names = {"ABSENT": _ABSENT, "MISSED": MISSED, "UNVERSIONED": UNVERSIONED, "Defaults": Defaults, "local": local}
    made = written(_PUBLIC.format(known="pass"), **names, general=general, plans=plans)
    made.structures = []
    return made


def remember(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], plan: Any) -> None:
    """Let calls of a function that are of this form find their plan by themselves."""
    for structure in function.structures:
        if (form := structure.form_of(*args, **kwargs)) is not None:
            break
    else:
        structure = _Structure.of(args, kwargs)
        if len(function.structures) == _MOST or len(structure.lines) > _LONGEST:
            return
        form = structure.form_of(*args, **kwargs)
        function.__globals__.update(structure.kinds, **{f"get{structure.number}": structure.plans.get})
        function.__globals__[f"last{structure.number}"] = _NO_CALL  # before another thread can run what asks for it
        function.structures.append(structure)
        _learn(function)
    structure.plans[form] = plan
    function.__globals__[f"last{structure.number}"] = form, plan


def forget(function: Any) -> None:
    """Let a function know no calls any more, and keep no plan of theirs."""
    for structure in function.structures:
        structure.plans.clear()
        function.__globals__[f"last{structure.number}"] = _NO_CALL
    function.structures.clear()
    _learn(function)


def _learn(function: Any) -> None:
    known = "".join([structure.text(_KNOWN) for structure in function.structures])
    function.__code__ = written(_PUBLIC.format(known=known or "pass"), **function.__globals__).__code__


_numbers = itertools.count()


class _Structure(NamedTuple):
    """What is known of calls of one structure: how they are told, and their plans."""

    number: int
    lines: list[str]
    form: list[str]
    tensors: list[str]
    kinds: dict[str, type]
    plans: dict[Any, Any]

    @classmethod
    def of(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Structure:
        made = cls(next(_numbers), [], [], [], {}, {})
        count = len(args)
        names = [*[f"x{i}" for i in range(count)], *[f"named{i}" for i in range(len(kwargs))]]
        if count < _PLACES:
            made.unless(f"x{count} is ABSENT")
        elif count == _PLACES:
            made.unless("not more")
        else:
            made.unless(f"len(more) == {count - _PLACES}")
            made.lines.append(f"[{', '.join(names[_PLACES:count])}] = more")
        if kwargs:
            made.unless(f"[*named] == {[*kwargs]}")
            made.lines.append(f"[{', '.join(names[count:])}] = named.values()")
        else:
            made.unless("not named")
        made.add(names, (*args, *kwargs.values()))
        return made

    def unless(self, alike: str) -> None:
        self.lines.append(f"if not ({alike}): break")

    def add(self, names: Sequence[str], values: Sequence[Any]) -> None:
        """What is asked of values of these names, in the order in which plans have their tensors."""
        for name, value in zip(names, values):
            kind = self.kinds[f"kind{self.number}_{name}"] = value.__class__
            alike = f"{name}.__class__ is kind{self.number}_{name}"
            if kind in PLAIN:
                self.unless(f"{alike} and {name}._counter is not UNVERSIONED")
                self.form.append(f"{name}._backend, {name}.dtype, (array := {name}._array).shape, array.strides,")
                self.tensors.append(f"{name},")
            elif isinstance(value, (tuple, list)):
                self.unless(f"{alike} and len({name}) == {len(value)}")
                items = [f"{name}_{i}" for i in range(len(value))]
                self.lines.append(f"[{', '.join(items)}] = {name}")
                self.add(items, value)
            else:
                self.unless(alike)
                if value is not None:
                    self.form.append(f"{name} or str({name})," if kind is float or kind is complex else f"{name},")

    def text(self, template: str) -> str:
        return template.format(
            header=_HEADER, number=self.number, lines="\n   ".join(self.lines), form=" ".join(self.form),
            tensors=" ".join(self.tensors),
        )  # fmt: skip

    def form_of(self, *args: Any, **kwargs: Any) -> Any:
        """The form of a call; None where it is of another structure."""
        return written(self.text(_FORM), ABSENT=_ABSENT, UNVERSIONED=UNVERSIONED, **self.kinds)(*args, **kwargs)


def of_kernel(
    values: Sequence[Any], operands: Places, arguments: Sequence[Any], sources: Places, count: int,
    known: Sequence[tuple[Any, Any]] | None, which: int | None, **names: Any,
) -> Any:  # fmt: skip
    """The plan that calls a kernel with the arrays of `count` tensors at their places among arguments.

    It knows `names`; steps that are None are left out. What it is to do until results are settled, it asks each time.
    Results that are fresh memory of dtypes that are `known` are wrapped as they come; of several that are not recorded,
    only the one that is wanted, if `which` says so.
    """
    tracked = " or ".join([f"tensors[{k}]._edge is not None" for k in range(count)])
    recorded = "False" if names["record"] is None else f"mode.grad and ({tracked})"
    returned = "results" if names["finish"] is None else "finish(results, bound(tensors))"
    source = _OF_KERNEL.format(
        check="" if names["check"] is None else f"check({_filled('given', values, operands, '')})",
        items=_filled("value", arguments, sources, "._array"),
        wrap=_wrapping(names["single"], known, which, recorded),
        record=f"if {recorded}: record(tensors, bound, results)",
        returned=returned if names["returns"] is None else f"returns({returned})",
    )
    names |= {f"value{i}": value for i, value in enumerate(arguments)}
    names |= {f"given{i}": value for i, value in enumerate(values)}
    for nr, (result_type, numpy_type) in enumerate(known or ()):
        names |= {f"result_type{nr}": result_type, f"numpy_type{nr}": numpy_type}
    return written(source, settled=False, new=object.__new__, Tensor=Tensor, **names)


def _wrapping(single: bool, known: Sequence[Any] | None, which: int | None, recorded: str) -> str:
    if not known:
        return _WRAP
    if single:
        return _WRAP_ONE.format(output="outputs", result="results", nr=0)
    each = [{"output": f"output{nr}", "result": f"result{nr}", "nr": str(nr)} for nr in range(len(known))]
    alone = "" if which is None else _WRAP_ALONE.format(output="output", result="results", nr=which, recorded=recorded)
    return alone + _WRAP_SEVERAL.format(
        names=", ".join([one["output"] for one in each]),
        fresh=" and ".join([_FRESH.format(**one) for one in each]),
        wrapped="".join([_WRAPPED.format(**one) for one in each]),
        results=", ".join([one["result"] for one in each]),
    )


def _filled(name: str, values: Sequence[Any], places: Places, part: str) -> str:
    """Arguments as a call names them: values by their names, and tensors, or a part of each, at their places."""
    items = [f"{name}{i}" for i in range(len(values))]
    for at, which in places:
        if which.__class__ is int:
            items[at] = f"tensors[{which}]{part}"
        else:
            several = ", ".join([f"tensors[{k}]{part}" for k in which])
            items[at] = f"[{several}]" if part else f"({several},)"
    return ", ".join(items)


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
    """What a source that knows these names, and counts as this library's, calls `written`."""
    names["__package__"] = __package__
    exec(_compiled(source), names)
    made = names.pop("written")  # which would be in a cycle with it otherwise
    made.__code__ = made.__code__.replace()  # of its own, for the interpreter to adapt to what it is called with
    return made


@functools.lru_cache(1024)
def _compiled(source: str) -> CodeType:
    return compile(source, f"{__file__} (a call that is known)", "exec")  # as code of this room
