"""Runs one check of one operator in both libraries and says what came of it."""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict, dataclass, field
from typing import Any

from . import samples
from .catalog import family_of, is_random, rule_of
from .checks import CHECKS, Check, Trial, attempt
from .compare import Difference, Rule, differences
from .library import Library, Missing, Unsupported
from .neutral import Raised
from .operation import Case, Operation

_KEPT_FAILURES = 10


@dataclass(frozen=True)
class Task:
    """One check of one operator in one dtype (``none`` where the check has none)."""

    operator: str
    check: str
    dtype: str
    backend: str | None = None

    @property
    def label(self) -> str:
        """The name of the check, as in the list of known gaps."""
        return label(self.check, self.dtype, self.backend)


def label(check: str, dtype: str, backend: str | None = None) -> str:
    fixed = CHECKS[check].dtype is not None
    return "_".join(filter(None, (backend, check, None if fixed else dtype)))


@dataclass(frozen=True)
class Failure:
    """A sample on which the libraries differ."""

    sample: int
    reasons: list[str]


@dataclass
class Result:
    """What came of a task. ``status`` is one of ``STATUSES``; ``note`` says why nothing ran."""

    operator: str
    check: str
    status: str
    note: str = ""
    samples: int = 0
    passed: int = 0
    raised: int = 0
    left_out: int = 0
    minor: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def family(self) -> str:
        return family_of(self.operator)

    @property
    def failed(self) -> bool:
        return self.status in ("failed", "missing", "crashed", "timeout")

    def as_json(self) -> dict[str, Any]:
        return {"family": self.family, **asdict(self)}


# passed; failed; missing: no such name; crashed, timeout: the process ended or was ended; unsupported: the library lacks what
# the check needs; inapplicable: the check says nothing about this operator or dtype.
STATUSES = ("passed", "failed", "missing", "crashed", "timeout", "unsupported", "inapplicable")


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
    return check.applies(operation)


def _run_cases(
    result: Result, task: Task, operation: Operation, reference: Library, subject: Library, limit: int | None
) -> None:
    check = CHECKS[task.check]
    rule = rule_of(operation.name, seeded=check.random_only)
    for case in samples.cases(operation.name, check.source, task.dtype, limit):
        if case.left_out:
            result.left_out += 1
            continue
        expected = observe(check, reference, operation, case)
        if expected is None:
            continue
        found = compare(expected, observe(check, subject, operation, case), rule)
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


def observe(check: Check, library: Library, operation: Operation, case: Case) -> Any:
    """What a check saw in one library, as neutral data."""

    def probe() -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seen = check.probe(Trial(library, operation, case))
        if seen is None:
            return None
        numeric = sorted({str(warning.message) for warning in caught if issubclass(warning.category, RuntimeWarning)})
        return library.describe({**seen, "NumPy's warnings": numeric})

    return attempt(probe)


def compare(expected: Any, actual: Any, rule: Rule) -> list[Difference]:
    return list(differences(expected, actual, rule))
