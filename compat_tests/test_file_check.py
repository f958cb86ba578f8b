"""`torch.testing.FileCheck`, and small modules that tell of printing and of what computes."""

from __future__ import annotations

from typing import Any

import pytest

import torchlite

from .side_by_side import same_story

pytestmark = pytest.mark.any_build

CHECKS = """
check("a").check("e").run(text)
check("e").check("a").run(text)
check("a").check_next("d").run(text)
check("a").check_next("x").run(text)
check("a").check_same("c").run(text)
check("a").check_same("d").run(text)
check("a").check_not("e").check("d").run(text)
check_dag("d").check_dag("a").check("x").run(text)
check_count("a", 1, exactly=True).run(text)
check("a").check_count("d", 1, True).check("x").run(text)
check_count("d", 3).run(text)
check_regex("d.f").run(text)
check_regex("d.x").run(text)
run(text)
run("# CHECK: a\\n# CHECK-NEXT: d\\n# CHECK-NOT: z", text)
"""


@pytest.mark.parametrize("call", CHECKS.strip().splitlines())
def test_pieces_of_a_text(call: str) -> None:
    torch = pytest.importorskip("torch")
    wanted, found = [_outcome(call, each.testing.FileCheck()) for each in (torch, torchlite)]
    assert found == wanted


def _outcome(call: str, checks: Any) -> Any:
    try:
        return eval(f"checks.{call}", {"checks": checks, "text": "abc\ndef\nx"})
    except RuntimeError as error:
        said = str(error).splitlines()
        return said[0], said[-1]  # between stands the text, in PyTorch with a mark at the place


def test_what_is_refused_is_said() -> None:
    with pytest.raises(RuntimeError, match='Expected to not find "b" but found it'):
        torchlite.testing.FileCheck().check("a").check_not("b").run("abc")
    with pytest.raises(RuntimeError, match='Expected to find "z" but did not find it'):
        torchlite.testing.FileCheck().check("z").run("abc")


@same_story
def test_options_of_printing_have_a_module(torch: Any, tell: Any) -> None:
    with torch._tensor_str.printoptions(precision=2):
        tell(torch._tensor_str._str(torch.tensor([1.23456])), torch._tensor_str.PRINT_OPTS.precision)
    tell(torch._tensor_str.get_printoptions(), torch._tensor_str._str(torch.ones(2), tensor_contents="abc"))


def test_what_computes_is_told() -> None:
    assert "NumPy" in torchlite.__config__.show()
    assert "get_num_threads" in torchlite.__config__.parallel_info()
