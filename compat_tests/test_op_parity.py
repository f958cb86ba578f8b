"""Every operator of the supported families agrees with PyTorch, but for those in ``known_gaps.toml``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

pytest.importorskip("torch", reason="live comparisons need real PyTorch")

from . import op_parity
from .parity import catalog, gaps
from .parity.pool import Pool, Settings
from .parity.result import Result

_CI = catalog.ci()
_CHECKS = dict.fromkeys(op_parity.operators(in_families=_CI["families"]), _CI["checks"])
_CHECKS |= dict.fromkeys(op_parity.operators(_CI["nn"]["operators"]), _CI["nn"]["checks"])
_CHECKS |= dict.fromkeys(op_parity.operators(in_families=_CI["doubles"]["families"]), _CI["doubles"]["checks"])
_GAPS = gaps.read()


@pytest.fixture(scope="session")
def answers(request: pytest.FixtureRequest) -> Iterator[dict[str, list[Future[Result]]]]:
    """The results of the operators that were selected, computed ahead of their tests in worker processes."""
    chosen = [item.callspec.params["operator"] for item in request.session.items if "answers" in item.fixturenames]
    settings = Settings(op_parity.DEFAULT_MODULE, limit=_CI["limit"], timeout=_CI["timeout"])
    with Pool(settings, workers=os.cpu_count() or 1) as pool:
        yield {name: [pool.submit(task) for task in op_parity.tasks([name], _CHECKS[name])] for name in chosen}


@pytest.mark.parametrize("operator", _CHECKS)
def test_operator(operator: str, answers: dict[str, list[Future[Result]]]) -> None:
    surprises = [gaps.surprise(answer.result(), _GAPS) for answer in answers[operator]]
    assert not any(surprises), "\n".join(filter(None, surprises))


def test_known_gaps_name_operators_and_checks_that_exist() -> None:
    assert {name for names in _GAPS.values() for name in names} <= set(op_parity.operators())
    for check in _GAPS:
        op_parity.parse_check(check.removeprefix("strict_"))


def test_every_known_gap_has_a_cause() -> None:
    """But for what is printed beside values, which has its causes elsewhere."""
    counted = [names for check, names in _GAPS.items() if not check.startswith("bookkeeping")]
    assert gaps.causes().keys() == {name for names in counted for name in names}
