"""One operator on hostile inputs in both libraries."""

from __future__ import annotations

import multiprocessing
import tomllib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..parity import catalog, samples
from ..parity.checks import Trial, attempt
from ..parity.library import Library, differentiable
from ..parity.neutral import Raised
from ..parity.operation import Case, Operation
from .hostile import CHANGES, changed, exact
from .measure import Verdict, verdicts


@cache
def _accepted() -> tuple[str, ...]:
    table = tomllib.loads((Path(__file__).parent / "accepted.toml").read_text())
    return tuple(pattern for entry in table.values() for pattern in entry["findings"])


@dataclass(frozen=True)
class Finding:
    operator: str
    what: str  # "values" or "gradients"
    dtype: str
    change: str
    sample: int
    verdict: Verdict

    @property
    def accepted(self) -> bool:
        """Whether it has a cause that is written down."""
        return catalog.matches(f"{self.operator} {self.what} {self.dtype} {self.change}", _accepted())

    def __str__(self) -> str:
        return f"{self.operator} {self.what} {self.dtype} {self.change}, sample {self.sample}: {self.verdict.text}"


@dataclass
class Report:
    """What came of one operator: how many results were compared, and where which library is worse."""

    operator: str
    compared: int = 0
    worse: list[Finding] = field(default_factory=list)
    better: int = 0
    note: str = ""


def operators() -> list[str]:
    """Those whose values mean something and are unique."""
    names = [name for name in samples.op_infos() if catalog.has_values(name) and not catalog.is_up_to_sign(name)]
    return [name for name in names if catalog.family_of(name) not in ("sparse", "internal", "unassigned", "creation")]


def survey(operator: str, libraries: tuple[Library, Library], dtypes: list[str], limit: int) -> Report:
    """The operator on all changes of a few samples in each dtype."""
    report = Report(operator)
    operation = samples.operation(operator)
    for dtype in dtypes:
        for case in samples.cases(operator, "samples", dtype, limit):
            for change in CHANGES if not case.left_out else ():
                _compare(report, libraries, operation, changed(case, change), (dtype, change, case.index))
    return report


def _compare(
    report: Report, libraries: tuple[Library, Library], operation: Operation, case: Case, where: tuple[str, str, int]
) -> None:
    reference, subject = libraries
    each = catalog.family_of(operation.name) == "pointwise"
    unique = operation.supports_grad and not catalog.rule_of(operation.name, case).open
    for what in ("values", "gradients") if unique else ("values",):
        theirs, truth = _seen(reference, operation, case, what), _seen(reference, operation, exact(case), what)
        if isinstance(theirs, Raised) or isinstance(truth, Raised):
            continue
        ours = _seen(subject, operation, case, what)
        report.compared += 1
        if isinstance(ours, Raised):
            raised = Verdict(f"raised {ours.name}: {ours.message[:80]}", np.inf)
            report.worse.append(Finding(operation.name, what, *where, raised))
            continue
        report.worse += [Finding(operation.name, what, *where, v) for v in verdicts(ours, theirs, truth, each)]
        report.better += any(True for _ in verdicts(theirs, ours, truth, each))


def _seen(library: Library, operation: Operation, case: Case, what: str) -> Any:
    """The arrays that a call, or its backward pass, gives."""
    trial = Trial(library, operation, case)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return attempt(lambda: _values(trial) if what == "values" else _gradients(trial))


def _values(trial: Trial) -> list[np.ndarray]:
    return [trial.library.to_numpy(t) for t in trial.library.tensors_in(trial.function(trial.tensors()))]


def _gradients(trial: Trial) -> list[np.ndarray | None]:
    tensors = trial.tensors(requires_grad=None)
    wanted = [t for t in tensors if t.requires_grad]
    outputs = differentiable(trial.differentiated(trial.function(tensors)))
    if not wanted or not outputs:
        return []
    grad = trial.library.get("torch.autograd.grad")
    upstream = [_cotangent(trial, output) for output in outputs]
    found = grad(outputs, wanted, upstream, allow_unused=True)
    return [None if g is None else trial.library.to_numpy(g) for g in found]


def _cotangent(trial: Trial, output: Any) -> Any:
    """Numbers that are the same in every dtype."""
    values = trial.random.integers(1, 5, tuple(output.shape)) / 4
    return trial.library.module.from_numpy(np.asarray(values)).to(output.dtype)


# ---- in processes of their own, since PyTorch does not survive every input


def survey_all(names: list[str], libraries: Any, dtypes: list[str], limit: int, timeout: float) -> Iterator[Report]:
    context = multiprocessing.get_context("fork")
    for name in names:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_serve, args=(theirs, name, libraries, dtypes, limit))
        process.start()
        theirs.close()
        try:
            yield ours.recv() if ours.poll(timeout) else Report(name, note=f"took more than {timeout:g} s")
        except EOFError:
            process.join()
            yield Report(name, note=f"the process ended with code {process.exitcode}")
        process.kill()
        process.join()


def _serve(connection: Any, name: str, libraries: Any, dtypes: list[str], limit: int) -> None:
    try:
        connection.send(survey(name, libraries, dtypes, limit))
    except Exception as error:
        connection.send(Report(name, note=f"{type(error).__name__}: {error}"))
