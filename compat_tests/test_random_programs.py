"""Random programs run alike on PyTorch and torchlite: errors, values, strides, versions, autograd state, gradients.

`TORCHLITE_PROGRAMS` sets how many are drawn; `python -m compat_tests.programs` runs many more and groups the failures.
"""

import os
from random import Random

import pytest

import torchlite

from .programs.compare import differences
from .programs.draw import draw_program
from .programs.program import Run
from .programs.record import recorded
from .programs.report import explain, find_failure

RECORDED = list(recorded())


COUNT = int(os.environ.get("TORCHLITE_PROGRAMS", "300"))
SEEDS = (1, 7, 11, 23, 42)  # as those of `python -m compat_tests.programs --seed`; each draws its share


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed):
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    programs = [draw_program(Random(f"{seed}:{number}"), torch) for number in range(COUNT // len(SEEDS))]
    failures = [failure for program in programs if (failure := find_failure(program, torch, torchlite))]
    if failures:
        shown = "\n\n".join(explain(failure, torch, torchlite) for failure in failures[:5])
        pytest.fail(f"{len(failures)} of {len(programs)} programs differ; the first:\n\n{shown}", pytrace=False)


@pytest.mark.parametrize(("program", "expected"), RECORDED, ids=range(len(RECORDED)))
def test_recorded_program(program, expected):
    found = list(differences(program, expected, Run(torchlite, program).outcome()))
    if found:
        pytest.fail(
            "\n".join([step.line for step in program] + [f"# {difference}" for difference in found]), pytrace=False
        )
