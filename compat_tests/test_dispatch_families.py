"""What a dispatch mode sees of programs of every family is what it sees of them in PyTorch, but for those marked.

So is what `make_fx` writes down.
"""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from .dispatched import listed, programs, traced

SAME = [program for program in programs() if program.same]
TRACED = [program for program in programs() if program.traced]


@pytest.mark.parametrize("program", SAME, ids=[f"{p.family}: {p.text}" for p in SAME])
def test_a_program_is_seen_as_in_pytorch(program):
    mine, real = listed(program)
    assert mine == real


@pytest.mark.parametrize("program", TRACED, ids=[f"{p.family}: {p.text}" for p in TRACED])
def test_a_program_is_traced_as_in_pytorch(program):
    mine, real = traced(program)
    assert mine == real
