"""How far torchlite agrees with real PyTorch, operator by operator.

``python -m compat_tests.op_parity --family pointwise`` walks PyTorch's own table of operators and sample inputs, makes
the same calls in both libraries and compares what they do: structure, shapes, dtypes, values, shared memory, gradients.
See ``--help``.

As a library: :func:`tasks` chooses, :func:`run_all` runs, :func:`run_one` runs in this process, and :func:`show` prints
what both libraries did with one sample.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from torchlite.testing.progress import progress

from .parity import catalog, gaps, report, samples
from .parity.checks import CHECKS, observe
from .parity.library import Library
from .parity.pool import Pool, Settings, reference_library, subject_library
from .parity.process import fix_hashes
from .parity.result import Result, Task
from .parity.run import run

DEFAULT_MODULE = os.environ.get("OP_PARITY_MODULE", "torchlite")


def operators(patterns: Iterable[str] = ("*",), in_families: Iterable[str] | None = None) -> list[str]:
    """The operators that match a pattern, of certain families or of all."""
    patterns, chosen = list(patterns), None if in_families is None else set(in_families)
    found = [name for name in samples.op_infos() if catalog.matches(name, patterns)]
    return [name for name in found if chosen is None or catalog.family_of(name) in chosen]


def parse_check(label: str) -> tuple[str, str]:
    """``grad_float32`` is ``grad`` in float32; a check with a dtype of its own, or none, goes by its bare name."""
    check, _, dtype = label.partition("_")
    fixed = CHECKS[check].dtype if check in CHECKS else None
    if check not in CHECKS or bool(dtype) == bool(fixed):
        raise ValueError(f"no check {label!r}; there are {', '.join(CHECKS)}, most of them with _DTYPE")
    return check, fixed or dtype


def tasks(names: Iterable[str], checks: Iterable[str], backend: str | None = None) -> list[Task]:
    """Every check of every operator."""
    parsed = [parse_check(label) for label in checks]
    return [Task(name, check, dtype, backend) for name in names for check, dtype in parsed]


def run_all(work: Iterable[Task], settings: Settings, workers: int) -> Iterator[Result]:
    """The results of all tasks, in order, from worker processes."""
    with Pool(settings, workers) as pool:
        for future in [pool.submit(task) for task in work]:
            yield future.result()


def run_one(task: Task, subject: Library, limit: int | None = None) -> Result:
    """Runs one task in this process."""
    return run(task, reference_library(), subject, limit)


def show(operator: str, check: str, sample: int, settings: Settings | None = None) -> None:
    """Prints what both libraries did with one sample of an operator."""
    settings = settings or Settings(DEFAULT_MODULE)
    name, dtype = parse_check(check)
    operation = samples.operation(operator)
    case = next(case for case in samples.cases(operator, CHECKS[name].source, dtype) if case.index == sample)
    for library in (reference_library(), subject_library(settings)):
        print(f"{library.module.__name__}:")
        seen = observe(CHECKS[name], library, operation, case)
        for aspect, value in seen.items() if isinstance(seen, dict) else [("raised", seen)]:
            print(f"  {aspect}: {value}")


def reproductions(result: Result, check: str, settings: Settings) -> Iterator[str]:
    """For the first failing samples of an operator: the reasons and a program that shows them."""
    name, dtype = parse_check(check)
    operation = samples.operation(result.operator)
    cases = {case.index: case for case in samples.cases(result.operator, CHECKS[name].source, dtype)}
    for failure in result.failures[:3]:
        yield f"# {result.operator} {result.check}, sample {failure.sample}"
        yield from (f"#   {reason}" for reason in failure.reasons)
        program = report.reproduction(cases[failure.sample], operation.main.function, settings.module)
        if program and CHECKS[name].plain_call:
            yield program
        call = f"show({result.operator!r}, {check!r}, {failure.sample}, {settings})"
        yield f'PYTHONHASHSEED=0 python -c "from compat_tests.op_parity import *; {call}"\n'


def without_batching_rule(module: str) -> list[str]:
    """The operations that vmap runs on one element after the other, by the registry of the library tested."""
    registry = importlib.import_module(f"{module}.core.machine.registry").registry
    return sorted(name for name, op in registry.items() if op.batch is None and not op.signature.name.endswith("_"))


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.ci:
        options.family, options.limit, options.timeout = (catalog.ci()[key] for key in ("families", "limit", "timeout"))
    names = operators([options.verbose] if options.verbose else options.ops.split(","), options.family)
    checks = options.checks.split(",") if options.checks else _chosen_checks(options)
    settings = Settings(options.module, options.backend, options.setup, options.limit, options.timeout)
    work = tasks(names, checks, options.backend)
    results = list(progress(run_all(work, settings, options.workers), len(work), lambda result: result.operator))
    if options.verbose:
        for result, check in zip(results, [check for _ in names for check in checks]):
            print("\n".join(reproductions(result, check, settings)))
    elif not options.quiet:
        print("\n".join([*report.failures(results, 1), "", *report.commonest_reasons(results), ""]))
    print(report.table(results))
    print(report.score(results))
    if options.vmap:
        print("without a batching rule:", ", ".join(without_batching_rule(options.module)))
    if options.json:
        Path(options.json).write_text(json.dumps([result.as_json() for result in results], indent=1))
    if options.update_gaps:
        gaps.write(gaps.updated(gaps.read(), results))
    return int(any(result.failed for result in results))


def _chosen_checks(options: argparse.Namespace) -> list[str]:
    if options.ci:
        return catalog.ci()["checks"]
    dtypes = options.dtypes.split(",")
    floating = [dtype for dtype in dtypes if dtype.startswith(("float", "bfloat", "complex"))]
    chosen = [f"forward_{dtype}" for dtype in dtypes] if options.forward else []
    chosen += [f"grad_{dtype}" for dtype in floating] if options.grad else []
    for check, entry in CHECKS.items():
        if check not in ("forward", "grad") and getattr(options, check):
            chosen += [check] if entry.dtype else [f"{check}_{dtype}" for dtype in dtypes]
    return chosen


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m compat_tests.op_parity", description=__doc__.partition("\n")[0])
    choose = parser.add_argument_group("what to compare")
    choose.add_argument("--ops", default="*", metavar="GLOB[,GLOB]", help="operators by name")
    choose.add_argument("--family", action="append", choices=catalog.families(), help="a family; may be repeated")
    choose.add_argument("--ci", action="store_true", help="just what the test suite runs")
    choose.add_argument("--dtypes", default="float32", metavar="D[,D]", help="dtypes of inputs (default: %(default)s)")
    choose.add_argument("--limit", type=int, metavar="N", help="at most N samples an operator and check")
    choose.add_argument("--checks", metavar="C[,C]", help="checks by full name, as grad_float32, and no others")
    choose.add_argument("--no-forward", dest="forward", action="store_false", help="without results")
    choose.add_argument("--no-grad", dest="grad", action="store_false", help="without gradients")
    for name, check in CHECKS.items():
        if name not in ("forward", "grad"):
            choose.add_argument(f"--{name}", action="store_true", help=check.about)
    where = parser.add_argument_group("where and how to run")
    where.add_argument("--backend", metavar="NAME", help="put the inputs on this device first, and bring results back")
    where.add_argument("--setup", metavar="MODULE", help="import this module first, to register a backend")
    where.add_argument("--module", default=DEFAULT_MODULE, help=argparse.SUPPRESS)
    where.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    where.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds an operator and check")
    tell = parser.add_argument_group("what to tell")
    tell.add_argument("--verbose", metavar="OP", help="this operator alone, with programs that show its failures")
    tell.add_argument("--quiet", action="store_true", help="the table and the score alone")
    tell.add_argument("--json", metavar="FILE", help="write every result")
    tell.add_argument("--update-gaps", action="store_true", help=f"rewrite {gaps.FILE.name} by the results")
    return parser


if __name__ == "__main__":
    fix_hashes()
    sys.exit(main())
