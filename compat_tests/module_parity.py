"""How far torchlite's modules agree with real PyTorch's.

``python -m compat_tests.module_parity`` walks PyTorch's own table of modules, constructs each from the same seed in
both libraries and compares the weights that it begins with, its names of state, its ``repr``, and what it gives,
forward and backward, in training and in evaluation. See ``--help``.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_modules import ModuleInfo, ModuleInput, module_db

from torchlite.testing.progress import progress

from .parity import gaps, report
from .parity.checks import attempt
from .parity.compare import Rule, differences
from .parity.library import Library, Missing, differentiable
from .parity.neutral import Raised
from .parity.pool import Settings, reference_library, subject_library
from .parity.process import fix_hashes
from .parity.result import Failure, Result
from .parity.transplant import Transplant

GAPS = Path(__file__).parent / "known_module_gaps.toml"
SEEDS = range(10)
_INPUT_SEED = 1234
_EVERYTHING = Rule()


@functools.cache
def module_infos() -> dict[str, ModuleInfo]:
    """PyTorch's table of modules by name, as ``nn.Linear``."""
    return {info.name: info for info in module_db}


class Trial:
    """One module of the table in one library."""

    def __init__(self, library: Library, name: str) -> None:
        self.library = library
        self.info = module_infos()[name]
        self.module_class = library.get(f"torch.{name}")

    def samples(self, dtype: str, training: bool) -> list[ModuleInput]:
        """What to construct the module from and to call it with; PyTorch's own code makes it in either library."""
        make = self.info.module_inputs_func
        if not self.library.native:
            make = Transplant(self.library)(make)
        self.library.seed(_INPUT_SEED)
        return make(
            SimpleNamespace(module_cls=self.module_class),
            device="cpu",
            dtype=self.library.get(f"torch.{dtype}"),
            requires_grad=True,
            training=training,
        )

    def construct(self, sample: ModuleInput, seed: int = 0) -> Any:
        self.library.seed(seed)
        return self.module_class(*sample.constructor_input.args, **sample.constructor_input.kwargs)

    def beginnings(self, samples: list[ModuleInput]) -> Iterator[dict[str, Any]]:
        """What a fresh module looks like, and its weights: of the first sample from every seed, of others from one."""
        for index, sample in enumerate(samples):
            modules = [self.construct(sample, seed) for seed in (SEEDS if index == 0 else (index % len(SEEDS),))]
            yield {
                "repr": repr(modules[0]),
                "state_dict": list(modules[0].state_dict()),
                "names": [name for name, _ in modules[0].named_modules()],
                "weights": [] if self.info.is_lazy else [dict(module.state_dict()) for module in modules],
            }

    def runs(self, samples: list[ModuleInput], dtype: str, training: bool) -> Iterator[dict[str, Any]]:
        """What each sample gives: results, gradients, and the state that a module is in afterwards."""
        for sample in samples:
            module = self.construct(sample).to(self.library.get(f"torch.{dtype}")).train(training)
            given = sample.forward_input
            sources = differentiable(self.library.tensors_in([given.args, given.kwargs]))
            self.library.seed(_INPUT_SEED)
            result = module(*given.args, **given.kwargs)
            seen = {"result": result, "repr": repr(module), "state": dict(module.state_dict())}
            outputs = differentiable(self.library.tensors_in(result))
            if outputs:
                random = np.random.default_rng(0)
                cotangents = [self.library.random_like(output, random) for output in outputs]
                self.library.get("torch.autograd.backward")(outputs, cotangents)
            seen["input gradients"] = [source.grad for source in sources]
            seen["gradients"] = {name: p.grad for name, p in module.named_parameters()}
            yield seen


def _beginning(trial: Trial) -> Iterator[dict[str, Any]]:
    return trial.beginnings(trial.samples("float32", True))


def _run(dtype: str, training: bool) -> Callable[[Trial], Iterator[dict[str, Any]]]:
    return lambda trial: trial.runs(trial.samples(dtype, training), dtype, training)


CHECKS: dict[str, Callable[[Trial], Iterator[dict[str, Any]]]] = {
    "beginning": _beginning,
    **{
        f"{mode}_{dtype}": _run(dtype, mode == "train")
        for mode in ("train", "eval")
        for dtype in ("float32", "float64")
    },
}


def compare(name: str, check: str, reference: Library, subject: Library) -> Result:
    """Puts a module through a check in both libraries, sample by sample."""
    result = Result(name, check, "failed")
    expected = list(_observe(reference, name, check))
    try:
        actual = list(_observe(subject, name, check))
    except Missing as error:
        result.status, result.note = "missing", str(error)
        return result
    for index, one in enumerate(expected):
        other = actual[index] if index < len(actual) else "no sample"
        found = list(differences(one, other, _EVERYTHING))
        reasons = [str(difference) for difference in found if not difference.minor]
        for kind in {difference.minor for difference in found if difference.minor}:
            result.minor[kind] = result.minor.get(kind, 0) + 1
        result.samples += 1
        result.passed += not reasons
        result.raised += isinstance(one, Raised)
        if reasons:
            result.failures.append(Failure(index, reasons))
    result.status = "passed" if result.passed == result.samples else "failed"
    return result


def _observe(library: Library, name: str, check: str) -> Iterator[Any]:
    """What each sample gives, as neutral data; an exception ends a check with what it says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial = Trial(library, name)
        steps = iter(CHECKS[check](trial))
        while True:
            seen = attempt(lambda: next(steps, None))
            if seen is None:
                return
            yield library.describe(seen)


def compare_all(names: Iterable[str], checks: Iterable[str], settings: Settings) -> Iterator[Result]:
    reference, subject = reference_library(), subject_library(settings)
    torch.set_num_threads(1)
    return (compare(name, check, reference, subject) for name in names for check in checks)


def modules_score(results: Iterable[Result]) -> str:
    """How many modules pass every check."""
    passed: dict[str, bool] = {}
    for result in results:
        passed[result.operator] = passed.get(result.operator, True) and not result.failed
    return f"{sum(passed.values())}/{len(passed)} ({sum(passed.values()) / max(len(passed), 1):.1%}) of modules"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m compat_tests.module_parity", description=__doc__.split("\n")[0])
    parser.add_argument("--modules", default="*", metavar="GLOB[,GLOB]", help="modules by name, as nn.Conv*")
    parser.add_argument("--checks", default=",".join(CHECKS), metavar="C[,C]", help="default: %(default)s")
    parser.add_argument("--module", default="torchlite", help=argparse.SUPPRESS)
    parser.add_argument("--update-gaps", action="store_true", help=f"rewrite {GAPS.name} by the results")
    options = parser.parse_args(arguments)
    patterns = options.modules.split(",")
    names = [name for name in module_infos() if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    results = list(compare_all(progress(names, name=str), options.checks.split(","), Settings(options.module)))
    print("\n".join([*report.failures(results, 2), "", *report.commonest_reasons(results), ""]))
    raised = sum(result.raised for result in results)
    print(f"{modules_score(results)}; {report.score(results)}; {raised} samples raise in PyTorch")
    if options.update_gaps:
        gaps.write(gaps.updated(gaps.read(GAPS), results), GAPS)
    return int(any(result.failed for result in results))


if __name__ == "__main__":
    fix_hashes()
    sys.exit(main())
