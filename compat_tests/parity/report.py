"""Tables, scores and reproductions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .gaps import explain
from .neutral import Device, Input, Name, Sequence
from .operation import Case
from .result import Result

_COLUMNS = ("operators", "passed", "failed", "missing", "crashed", "timeout", "samples", "agreeing")


def table(results: Iterable[Result]) -> str:
    """One line a check and family, and what they sum to."""
    rows: dict[tuple[str, str], Counter[str]] = {}
    for result in results:
        if result.status not in ("inapplicable", "unsupported"):
            _count(rows.setdefault((result.check, result.family), Counter()), result)
    total: Counter[str] = Counter()
    for row in rows.values():
        total.update(row)
    lines = [_line("check", "family", _COLUMNS)]
    lines += [_line(check, family, _cells(rows[check, family])) for check, family in sorted(rows)]
    lines.append(_line("total", "", _cells(total)))
    return "\n".join(lines)


def _count(row: Counter[str], result: Result) -> None:
    row.update({"operators": 1, result.status: 1, "samples": result.samples, "agreeing": result.passed})


def _cells(row: Counter[str]) -> tuple[str, ...]:
    return tuple(str(row[column]) for column in _COLUMNS)


def _line(check: str, family: str, cells: tuple[str, ...]) -> str:
    return f"{check:<24}{family:<12}" + "".join(f"{cell:>10}" for cell in cells)


def score(results: Iterable[Result]) -> str:
    """One line for everything."""
    counted = [result for result in results if result.status not in ("inapplicable", "unsupported")]
    passed = sum(result.status == "passed" for result in counted)
    samples = sum(result.samples for result in counted)
    agreeing = sum(result.passed for result in counted)
    minor: Counter[str] = Counter()
    for result in counted:
        minor.update(result.minor)
    parts = [f"score {_ratio(passed, len(counted))} of checks of operators", f"{_ratio(agreeing, samples)} of samples"]
    parts += [f"{kind} differ on {minor[kind]}" for kind in sorted(minor)]
    left_out = sum(result.left_out for result in counted)
    unsupported = sorted({result.check for result in results if result.status == "unsupported"})
    parts += [f"{left_out} samples left out"] if left_out else []
    parts += [f"unsupported: {', '.join(unsupported)}"] if unsupported else []
    return "; ".join(parts)


def _ratio(part: int, whole: int) -> str:
    return f"{part}/{whole} ({part / whole:.1%})" if whole else "0/0"


def failures(results: Iterable[Result], most: int = 3) -> Iterator[str]:
    """Every failing check of an operator with its first reasons."""
    for result in results:
        if result.failed:
            yield f"{result.operator} {result.check}: {result.status}"
            yield from (f"    {line}" for line in explain(result, most))


def commonest_reasons(results: Iterable[Result], most: int = 12) -> Iterator[str]:
    """What is behind many failures: first reasons, alike but for numbers and places, with their operators' count."""
    operators: dict[str, set[str]] = {}
    for result in results:
        if result.failures:
            failure = result.failures[0]
            reason = re.sub(r"\d[\d.e+-]*", "#", failure.reasons[0])
            operators.setdefault(reason, set()).add(result.operator)
    for reason in sorted(operators, key=lambda reason: (-len(operators[reason]), reason))[:most]:
        names = sorted(operators[reason])
        yield f"{len(names):>5}  {reason}  [{', '.join(names[:4])}{', ...' if len(names) > 4 else ''}]"


# -- reproductions -----------------------------------------------------------------------------------------------------

_LARGEST = 64


def reproduction(case: Case, function: Any, module: str) -> str | None:
    """A program that shows both libraries' results; ``None`` if the call is too large or has no plain spelling."""
    try:
        arguments = [_source(item) for item in case.arguments.items]
        arguments += [f"{name}={_source(value)}" for name, value in case.keywords.items()]
    except _NoSource:
        return None
    if not isinstance(function, Name):
        return None
    call = f"{function.path}({', '.join(arguments)})"
    return f"for name in ('torch', {module!r}):\n    torch = __import__(name)\n    print(name, {call})"


class _NoSource(Exception):
    """A value that has no short spelling."""


def _source(value: Any) -> str:
    match value:
        case Input():
            return _tensor_source(value)
        case Sequence(kind=kind, items=items):
            inner = ", ".join(map(_source, items))
            return f"[{inner}]" if kind == "list" else f"torch.Size([{inner}])" if kind == "Size" else f"({inner},)"
        case Name(path=path):
            return path
        case Device(name=name, as_object=as_object):
            return f"torch.device({name!r})" if as_object else repr(name)
        case float() | complex():
            return f"{type(value).__name__}({str(value)!r})"
        case slice():
            return f"slice({_source(value.start)}, {_source(value.stop)}, {_source(value.step)})"
        case None | bool() | int() | str():
            return repr(value)
    if value is ...:
        return "..."
    raise _NoSource


def _tensor_source(spec: Input) -> str:
    if spec.storage.size > _LARGEST:
        raise _NoSource
    flat = spec.values if spec.is_dense and spec.strides == Input.of(spec.values, spec.dtype).strides else spec.storage
    plain = flat.astype(np.float64) if spec.dtype == "bfloat16" else flat
    numbers = repr(plain.tolist())
    for special in ("nan", "inf"):
        numbers = numbers.replace(special, f"float('{special}')")
    source = f"torch.tensor({numbers}, dtype=torch.{spec.dtype})"
    if flat is spec.storage:
        source += f".as_strided({spec.shape}, {spec.strides}, {spec.offset})"
    if spec.conj:
        source += ".conj()"
    return source + (".requires_grad_()" if spec.requires_grad else "")
