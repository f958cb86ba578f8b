"""Random programs run alike on PyTorch and torchlite: errors, values, strides, versions, autograd state, gradients.

`TORCHLITE_PROGRAMS` sets how many are drawn; `python -m compat_tests.programs` runs many more and groups the failures.
"""

import os
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import torchlite

from .programs.compare import differences
from .programs.draw import draw_program
from .programs.program import Run
from .programs.record import recorded
from .programs.report import explain, find_failure

RECORDED = list(recorded())


COUNT = int(os.environ.get("TORCHLITE_PROGRAMS", "300"))
TOLERATED = 0.02  # of the programs: the rare strides and error types that are not yet PyTorch's


def test_random_programs():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    failures = []

    @settings(
        max_examples=COUNT,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],  # a failing program is cut down step by step instead of shrinking its seed
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(seed=st.integers(0, 2**64 - 1))  # far more varied than drawing every choice by hypothesis
    def run(seed):
        failure = find_failure(draw_program(Random(seed), torch), torch, torchlite)
        if failure:
            failures.append(failure)

    run()
    if len(failures) > TOLERATED * COUNT:
        shown = "\n\n".join(explain(failure, torch, torchlite) for failure in failures[:5])
        pytest.fail(f"{len(failures)} of {COUNT} programs differ; the first:\n\n{shown}", pytrace=False)


@pytest.mark.parametrize(("program", "expected"), RECORDED, ids=range(len(RECORDED)))
def test_recorded_program(program, expected):
    found = list(differences(program, expected, Run(torchlite, program).outcome()))
    if found:
        pytest.fail(
            "\n".join([step.line for step in program] + [f"# {difference}" for difference in found]), pytrace=False
        )
