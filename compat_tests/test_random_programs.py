"""Random programs run alike on PyTorch and torchlite: errors, values, strides, versions, autograd state, gradients.

Every day other ones are drawn; `TORCHLITE_SEED` draws those of another day again. `TORCHLITE_PROGRAMS` sets how many;
`python -m compat_tests.programs` runs many more and groups the failures.
"""

import os
from random import Random

import pytest

import torchlite

from .conftest import SEED
from .programs.compare import differences
from .programs.draw import draw_program
from .programs.program import Run, same_every_time
from .programs.record import recorded
from .programs.report import explain, find_failures

RECORDED = list(recorded())
COUNT = int(os.environ.get("TORCHLITE_PROGRAMS", "300"))
SHARES = 5


@pytest.mark.parametrize("share", range(SHARES))
def test_random_programs(share):
    torch = pytest.importorskip("torch")
    same_every_time(torch)
    numbers = range(share, COUNT, SHARES)
    programs = [draw_program(Random(f"{SEED}:{number}"), torch) for number in numbers]
    found = [failure for program in programs for failure in find_failures(program, torch, torchlite)]
    failures = [failure for failure in found if not failure.known]
    if failures:
        shown = "\n\n".join(explain(failure, torch, torchlite) for failure in failures[:5])
        pytest.fail(f"seed {SEED}: {len(failures)} of {len(programs)} programs differ:\n\n{shown}", pytrace=False)


@pytest.mark.parametrize(("program", "expected"), RECORDED, ids=range(len(RECORDED)))
def test_recorded_program(program, expected):
    found = list(differences(program, expected, Run(torchlite, program).outcome()))
    if found:
        pytest.fail(
            "\n".join([step.line for step in program] + [f"# {difference}" for difference in found]), pytrace=False
        )
