"""Random programs run alike on PyTorch and torchlite: errors, values, strides, versions, autograd state, gradients.

Every day other ones are drawn, of which few may compute something else; each that does is told of in a warning.
`TORCHLITE_SEED` draws those of another day again, `TORCHLITE_PROGRAMS` sets how many. `python -m compat_tests.programs`
runs many more, groups the failures, and tells of other names, counts and texts too.
"""

import os
import warnings

import pytest

import torchlite

from .conftest import SEED
from .programs.compare import differences
from .programs.hunt import hunt
from .programs.known import CHANCE
from .programs.program import Run
from .programs.record import recorded
from .programs.report import Failure, by_chance
from .side_by_side import warning_always

RECORDED = list(recorded())
COUNT = int(os.environ.get("TORCHLITE_PROGRAMS", "300"))
MOST = 0.015  # of the programs may differ in what nobody has explained yet; `docs/trust.md` tells how many do


def test_random_programs():
    """In a process of their own, which PyTorch may bring down."""
    pytest.importorskip("torch")
    found = [one for one in hunt(SEED, range(COUNT), "torchlite", jobs=1) if one.grave]
    shown = "\n\n".join(one.script for one in found)
    told = f"seed {SEED}: {len(found)} of {COUNT} programs differ:\n\n{shown}"
    if len(found) > MOST * COUNT:
        pytest.fail(told, pytrace=False)
    if found:
        warnings.warn(pytest.PytestWarning(told), stacklevel=1)


@pytest.mark.parametrize(("program", "expected"), RECORDED, ids=range(len(RECORDED)))
def test_recorded_program(program, expected):
    with warning_always(torchlite):
        found = list(differences(program, expected, Run(torchlite, program).outcome()))
    if found:
        pytest.fail(
            "\n".join([step.line for step in program] + [f"# {difference}" for difference in found]), pytrace=False
        )


def test_what_is_gone_when_looked_at_again_is_chance():
    torch = pytest.importorskip("torch")
    assert by_chance(Failure((), []), torch, torchlite) is CHANCE
