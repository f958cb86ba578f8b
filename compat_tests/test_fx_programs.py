"""Programs of `torch.fx` come to the same on both: code, tables, results, and how they are refused."""

from __future__ import annotations

import pytest

import torchlite

from . import fx_differ

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", fx_differ.NAMES)
def test_programs_come_to_what_they_come_to_in_pytorch(name):
    assert fx_differ.found(torchlite, name) == fx_differ.found(torch, name)
