"""Every module of PyTorch's table agrees with PyTorch, but for those in ``known_module_gaps.toml``."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="live comparisons need real PyTorch")

from .module_parity import CHECKS, GAPS, compare_all, module_infos
from .op_parity import DEFAULT_MODULE
from .parity import gaps
from .parity.pool import Settings

_GAPS = gaps.read(GAPS)


@pytest.mark.parametrize("name", module_infos())
def test_module(name: str) -> None:
    results = compare_all([name], CHECKS, Settings(DEFAULT_MODULE))
    surprises = [gaps.surprise(result, _GAPS, GAPS) for result in results]
    assert not any(surprises), "\n".join(filter(None, surprises))


def test_known_gaps_name_modules_and_checks_that_exist() -> None:
    assert set(_GAPS) <= set(CHECKS)
    assert {name for names in _GAPS.values() for name in names} <= set(module_infos())
