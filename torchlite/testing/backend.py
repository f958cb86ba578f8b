"""The conformance suite: whether a backend keeps the contract, and how many ops it computes as the CPU does.

    python -m torchlite.testing.backend NAME [--import MODULE] [--ops GLOB] [--dtypes D,…] [--share K/N] [--verbose]

NAME is a device, as `cuda:1`. Every op in the registry is called with arguments made from its signature, on the CPU and
on the device; or every Nth op from the Kth on, where that takes long (`--share today/N`: another share each day). The
exit status is 0 if all agrees; ops that the backend says it cannot run are lacking, not failed.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import importlib
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd import grad
from ..backends.base import get_backend
from ..core.declare import ViewOp
from ..core.machine import TensorBase, tensors_in
from ..core.machine.registry import registry
from ..core.values import dt, missing_kernel, strided
from .contract import CHECKS, Bench
from .inputs import Call, calls, run

if TYPE_CHECKING:
    from ..backends.base import Backend
    from ..core.declare import Op

DTYPES = (dt.float32, dt.bfloat16, dt.complex64, dt.int64, dt.uint8, dt.bool_)
_PLAIN = {"V": np.float64, "W": np.complex64}  # what NumPy knows instead
_TOLERANCE = {dt.float16: 1e-2, dt.bfloat16: 3e-2, dt.float64: 1e-8, dt.complex128: 1e-8}


@dataclass
class Outcome:
    """What came of a check, or of all calls of one op."""

    name: str
    calls: int = 0
    failures: list[str] = field(default_factory=list)
    lacking: bool = False


def run_checks(backend: Backend) -> Iterator[Outcome]:
    """Every check of the contract."""
    for name, check in CHECKS.items():
        outcome = Outcome(name.replace("_", " "), 1)
        try:
            check(Bench(backend))
        except Exception as error:
            outcome.failures.append(_said(error))
        yield outcome


def run_ops(
    backend: Backend, names: Iterable[str], dtypes: Sequence[dt.dtype] = DTYPES
) -> Iterator[tuple[str, Outcome]]:
    """Every op of these names, with its family."""
    for name in names:
        yield family(registry[name]), run_op(backend, registry[name], dtypes)


def family(op: Op) -> str:
    """The kind of an op: the first of its classes that several kinds share."""
    names = [cls.__name__ for cls in type(op).__mro__]
    return next(label for name, label in _FAMILIES.items() if name in names)


_FAMILIES = {
    "Elementwise": "elementwise", "Reduction": "reductions", "Along": "along a dimension", "ViewOp": "views",
    "Picking": "by index", "Op": "others",
}  # fmt: skip


def run_op(backend: Backend, op: Op, dtypes: Sequence[dt.dtype] = DTYPES) -> Outcome:
    """One op in these dtypes, and its gradients, compared with the CPU's."""
    outcome = Outcome(op.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for d in dtypes:
            for call in calls(op, d) if op.of_arrays else ():
                for gradients in (False, True) if op.rules and d is dt.float32 else (False,):
                    outcome.calls += 1
                    try:
                        _compare(backend, op, call, gradients)
                    except Exception as error:
                        if str(error) == str(missing_kernel(op.name, backend.device)) or _needs_values(backend, error):
                            outcome.lacking = True
                        else:
                            outcome.failures.append(f"{d.abbr}{' gradient' if gradients else ''}: {_said(error)}")
    return outcome


def _compare(backend: Backend, op: Op, call: Call, gradients: bool) -> None:
    wanted = _wanted(op, call, gradients)
    if wanted is not None:
        _agree(backend, _results(op, call.on(backend, gradients), gradients), wanted, isinstance(op, ViewOp))


def _wanted(op: Op, call: Call, gradients: bool) -> Any:
    """The CPU's results; None where it has none to compare with."""
    try:
        return _results(op, call.on(get_backend(), gradients), gradients)
    except Exception:
        if gradients:  # not all that has a derivative has one for every call
            return None
        raise


def _results(op: Op, values: list[Any], gradients: bool) -> Any:
    """What a call gives, or the gradients of it; None where there are none."""
    results = run(op, values)
    if not gradients:
        return results
    several = results if isinstance(results, tuple) else (results,)
    outputs = [r for r in several if isinstance(r, TensorBase) and r.requires_grad]
    inputs = [t for v in values for t in tensors_in(v) if t.requires_grad]
    if not outputs or not inputs:
        return None
    return grad(outputs, inputs, [o.detach() * 0 + 1 for o in outputs], allow_unused=True)


def _agree(backend: Backend, result: Any, wanted: Any, layout: bool) -> None:
    if isinstance(wanted, (tuple, list)):
        assert len(result) == len(wanted), f"{len(result)} results instead of {len(wanted)}"
        for one, other in zip(result, wanted):
            _agree(backend, one, other, layout)
    elif isinstance(wanted, TensorBase):
        assert result.device == backend.device, f"on {result.device}"
        assert result.dtype is wanted.dtype, f"{result.dtype} instead of {wanted.dtype}"
        assert result.shape == wanted.shape, f"shape {tuple(result.shape)} instead of {tuple(wanted.shape)}"
        if layout:
            assert result.stride() == wanted.stride(), f"strides {result.stride()} instead of {wanted.stride()}"
        if wanted.layout is not strided:
            _agree(backend, result._array.parts(), wanted._array.parts(), layout=False)
        elif backend.values:
            tolerance = _TOLERANCE.get(wanted.dtype, 1e-4)
            values = [backend.to_host(result._array), get_backend().to_host(wanted._array)]
            plain = [v.astype(_PLAIN.get(v.dtype.kind, v.dtype)) for v in values]
            np.testing.assert_allclose(*plain, rtol=tolerance, atol=tolerance)  # type: ignore[call-overload]
    else:
        assert result is wanted or result == wanted, f"{result!r} instead of {wanted!r}"


def _needs_values(backend: Backend, error: Exception) -> bool:
    """Whether this is how a backend without values says that an op needs them."""
    return not backend.values and "meta tensor" in str(error).lower()


def _said(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:4])}"


# ---- the report


def report(backend: Backend, names: Sequence[str], verbose: bool = False, dtypes: Sequence[dt.dtype] = DTYPES) -> bool:
    """Run everything, print what came of it, and say whether nothing failed."""
    print(f"{type(backend).__name__} on {backend.device}")
    checks = list(run_checks(backend))
    for outcome in checks:
        print(f"  {'FAILED' if outcome.failures else 'ok    '}  {outcome.name}")
        for failure in outcome.failures:
            print(f"          {failure}")
    families: dict[str, list[Outcome]] = {}
    for label, outcome in run_ops(backend, names, dtypes):
        families.setdefault(label, []).append(outcome)
    print(f"\n  {'ops':20}{'agree':>8}{'differ':>8}{'lacking':>9}{'untried':>9}{'calls':>8}")
    for label, outcomes in families.items():
        print(f"  {label:20}{_counts(outcomes)}")
    ops = [outcome for outcomes in families.values() for outcome in outcomes]
    print(f"  {'all':20}{_counts(ops)}\n")
    for outcome in ops:
        for failure in outcome.failures[: None if verbose else 1]:
            print(f"  {outcome.name}: {failure}")
        if verbose and (outcome.lacking or not outcome.calls):
            print(f"  {outcome.name}: {'no kernel here' if outcome.lacking else 'no arguments found'}")
    tried = [outcome for outcome in (*checks, *ops) if outcome.calls]
    good = [outcome for outcome in tried if not outcome.failures and not outcome.lacking]
    print(f"score {len(good)}/{len(tried)} ({100 * len(good) / len(tried):.1f}%)")
    return not any(outcome.failures for outcome in tried)


def _counts(outcomes: list[Outcome]) -> str:
    differ = sum(bool(o.failures) for o in outcomes)
    lacking = sum(o.lacking and not o.failures for o in outcomes)
    untried = sum(not o.calls for o in outcomes)
    agree = len(outcomes) - differ - lacking - untried
    return f"{agree:8}{differ:8}{lacking:9}{untried:9}{sum(o.calls for o in outcomes):8}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m torchlite.testing.backend", description="Try a backend.")
    parser.add_argument("name", help="a device, as cuda or strict:1")
    parser.add_argument("--import", dest="module", help="import this module first, to register the backend")
    parser.add_argument("--ops", default="*", metavar="GLOB", help="the ops to try")
    parser.add_argument("--dtypes", type=_dtypes, default=DTYPES, metavar="D,…", help="as float32,bool")
    parser.add_argument("--share", type=_share, default=(0, 1), metavar="K/N", help="every Nth op, from the Kth on")
    parser.add_argument("--verbose", action="store_true", help="say all that differs")
    options = parser.parse_args(arguments)
    if options.module:
        importlib.import_module(options.module)
    elif options.name.partition(":")[0] == "strict":
        importlib.import_module(".strict", __package__)
    first, step = options.share
    names = fnmatch.filter(registry, options.ops)[first::step]
    return int(not report(get_backend(options.name), names, options.verbose, options.dtypes))


def _dtypes(words: str) -> list[dt.dtype]:
    known = {str(d).removeprefix("torch."): d for d in dt.DTYPES}
    try:
        return [known[word] for word in words.split(",")]
    except KeyError as error:
        raise argparse.ArgumentTypeError(f"no dtype {error}") from None


def _share(words: str) -> tuple[int, int]:
    """Where to begin, and how far apart those are that are taken."""
    which, _, of = words.partition("/")
    step = int(of)
    return (datetime.date.today().toordinal() if which == "today" else int(which)) % step, step


if __name__ == "__main__":
    sys.exit(main())
