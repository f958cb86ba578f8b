"""What a dispatch mode sees of programs of every family is what it sees of them in PyTorch, but for those marked."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from .dispatched import listed, programs

SAME = [program for program in programs() if program.same]


@pytest.mark.parametrize("program", SAME, ids=[f"{p.family}: {p.text}" for p in SAME])
def test_a_program_is_seen_as_in_pytorch(program):
    mine, real = listed(program)
    assert mine == real
