"""Runs one check of one operator in both libraries and says what came of it."""

from __future__ import annotations

import time

from . import samples
from .catalog import is_random, rule_of
from .checks import CHECKS, Check, observe
from .compare import differences
from .library import Library, Missing, Unsupported
from .neutral import Raised
from .operation import Operation
from .result import Failure, Result, Task

_KEPT_FAILURES = 10


def run(task: Task, reference: Library, subject: Library, limit: int | None = None) -> Result:
    """Puts the operator through the check in both libraries, sample by sample."""
    started = time.perf_counter()
    result = Result(task.operator, task.label, "inapplicable")
    check = CHECKS[task.check]
    operation = samples.operation(task.operator)
    if applies(check, operation, task.dtype):
        try:
            subject.build(operation.main.function)
            _run_cases(result, task, operation, reference, subject, limit)
        except Missing as error:
            result.status, result.note = "missing", str(error)
        except Unsupported as error:
            result.status, result.note = "unsupported", str(error)
    result.seconds = round(time.perf_counter() - started, 3)
    return result


def applies(check: Check, operation: Operation, dtype: str) -> bool:
    if check.random_only and not is_random(operation.name):
        return False
    if check.floating and not dtype.startswith(("float", "bfloat", "complex")):
        return False
    if check.double and dtype not in ("float64", "complex128"):
        return False
    return check.applies(operation)


def _run_cases(
    result: Result, task: Task, operation: Operation, reference: Library, subject: Library, limit: int | None
) -> None:
    check = CHECKS[task.check]
    for case in samples.cases(operation.name, check.source, task.dtype, limit):
        if case.left_out:
            result.left_out += 1
            continue
        expected = observe(check, reference, operation, case)
        if expected is None:
            continue
        rule = rule_of(operation.name, case, seeded=check.random_only)
        found = list(differences(expected, observe(check, subject, operation, case), rule))
        reasons = [str(difference) for difference in found if not difference.minor]
        result.samples += 1
        result.raised += isinstance(expected, Raised)
        for kind in {difference.minor for difference in found if difference.minor}:
            result.minor[kind] = result.minor.get(kind, 0) + 1
        if not reasons:
            result.passed += 1
        elif len(result.failures) < _KEPT_FAILURES:
            result.failures.append(Failure(case.index, reasons))
    if result.samples:
        result.status = "passed" if result.passed == result.samples else "failed"
