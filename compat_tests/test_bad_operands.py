"""Operands, numbers and options that do not fit are refused as in PyTorch.

`python -m compat_tests.bad_calls` found them. Each list is a cause; what PyTorch takes stands beside what it refuses,
so that nothing is refused too much.
"""

from __future__ import annotations

import pytest

import torchlite

torch = pytest.importorskip("torch")

from .test_bad_calls import ends, rows  # noqa: E402

# Without products there is only what they are added to, times `beta`, which is multiplied as any tensor is.
EMPTY_PRODUCTS = """
torch.addmm(torch.ones(5, 3), torch.ones(5, 0), torch.ones(0, 3), beta=1j)
torch.addmm(torch.ones(5, 3), torch.ones(5, 0), torch.ones(0, 3), beta=1 + 0j)
torch.addmm(torch.ones(5, 3), torch.ones(5, 0), torch.ones(0, 3), beta=0j)
torch.addmm(torch.ones(5, 3), torch.ones(5, 0), torch.ones(0, 3), alpha=1j)
torch.addmm(torch.ones(5, 3), torch.ones(5, 0), torch.ones(0, 3), alpha=1e300)
torch.addmm(torch.ones(5, 3), torch.ones(5, 0), torch.ones(0, 3), beta=torch.tensor(1j))
torch.addmm(torch.ones(0, 3), torch.ones(0, 2), torch.ones(2, 3), beta=1j)
torch.addmm(torch.ones(5, 3).int(), torch.ones(5, 0).int(), torch.ones(0, 3).int(), beta=1.5)
torch.addmm(torch.ones(5, 3) > 0, torch.ones(5, 0) > 0, torch.ones(0, 3) > 0)
torch.ones(5, 3).addmm_(torch.ones(5, 0), torch.ones(0, 3), beta=1j)
torch.addbmm(torch.ones(3, 4), torch.ones(0, 3, 2), torch.ones(0, 2, 4), beta=1j)
torch.addbmm(torch.ones(3, 4), torch.ones(2, 3, 0), torch.ones(2, 0, 4), alpha=1j)
torch.addbmm(torch.ones(3, 4).int(), torch.ones(2, 3, 0).int(), torch.ones(2, 0, 4).int(), beta=1.5)
torch.baddbmm(torch.ones(2, 3, 4), torch.ones(2, 3, 0), torch.ones(2, 0, 4), beta=1j)
torch.baddbmm(torch.ones(2, 3, 4).byte(), torch.ones(2, 3, 0).byte(), torch.ones(2, 0, 4).byte(), beta=300)
torch.baddbmm(torch.ones(0, 3, 4), torch.ones(0, 3, 2), torch.ones(0, 2, 4), beta=1j)
torch.addmv(torch.ones(3), torch.ones(3, 0), torch.ones(0), beta=1j)
torch.addmv(torch.ones(3), torch.ones(3, 0), torch.ones(0), alpha=1j)
torch.addmv(torch.ones(3), torch.ones(3, 0), torch.ones(0), alpha=1j, beta=0)
"""

# Numbers that halves have no room for, where they become halves.
TOO_LARGE = """
torch.nn.functional.hardshrink(torch.ones(2).half(), 70000)
torch.nn.functional.hardshrink(torch.ones(2).bfloat16(), 1e300)
torch.ops.aten.softshrink_backward(torch.ones(2).half(), torch.ones(2).half(), 70000)
torch.nn.functional.threshold(torch.ones(2).half(), 70000, 1)
torch.nn.functional.threshold(torch.ones(2).half(), 1, 70000)
torch.nn.functional.threshold(torch.ones(2).byte(), 300, 1)
torch.pow(torch.ones(2).bfloat16(), 1e300)
torch.ones(2).half() ** 70000
torch.ones(2).half().pow_(-1e300)
torch.pow(torch.ones(2).half(), torch.inf)
torch.pow(torch.ones(2), 1e300)
"""

# Dtypes that a kernel has not, or that do not promote, and dtypes and layouts that must be alike.
KINDS = """
torch.ones(3).to(torch.uint16).count_nonzero(())
torch.ones(3).to(torch.uint16).count_nonzero(0)
torch.ones(3).to(torch.uint16).index_select(0, torch.tensor([0]))
torch.ones(3, 3).to(torch.uint16).index_select(0, torch.tensor([0]))
torch.ones(3).to(torch.float8_e5m2) == torch.tensor(1j)
torch.result_type(torch.ones(3).to(torch.float8_e4m3fn), 1j)
torch.float8_e5m2.to_complex()
torch.bfloat16.to_complex()
torch.histogram(torch.ones(3), torch.tensor(2))
torch.histogram(torch.ones(3), torch.tensor([2]))
torch.histogram(torch.ones(3), torch.tensor(2), range=(0, 1))
torch.eye(3).to_sparse().type_as(torch.eye(3))
torch.eye(3).type_as(torch.eye(3).to_sparse())
torch.eye(3).to_sparse().type_as(torch.eye(3).double().to_sparse())
"""

OTHERS = """
torch.as_strided_scatter(torch.ones(3, 3), torch.ones(2, 2), (2, 2), (0, 0))
torch.as_strided_scatter(torch.ones(3, 3), torch.ones(2, 2), (2, 2), (1, 1))
torch.cond(torch.tensor(True), torch.cos, torch.sin, torch.ones(1))
torch.cond(torch.tensor(True), torch.cos, torch.sin, (2,))
torch.cond(torch.tensor(True), torch.cos, 3, (torch.ones(2),))
torch.cond(True, torch.cos, 3, (torch.ones(2),))
"""


@pytest.mark.parametrize("text", rows(EMPTY_PRODUCTS) + rows(TOO_LARGE) + rows(KINDS) + rows(OTHERS))
def test_ends_alike(text):
    theirs, mine = ends(text)
    assert theirs != "unmade"
    assert mine == theirs


VALUES = """
torch.addmm(torch.tensor([-0.0, 1]), torch.ones(2, 0), torch.ones(0, 2), alpha=1e300)
torch.addbmm(torch.ones(2, 3).half(), torch.ones(0, 2, 4).half(), torch.ones(0, 4, 3).half(), beta=2)
torch.baddbmm(torch.ones(1, 2, 2), torch.ones(1, 2, 0), torch.ones(1, 0, 2), beta=1e300)
torch.nn.functional.hardshrink(torch.tensor([0.3, -0.3, nan, inf, 0.4]).half(), 0.3)
torch.nn.functional.hardshrink(torch.tensor([0.3, -0.3, nan, inf, 0.4]).bfloat16(), 0.3)
torch.ops.aten.softshrink_backward(torch.ones(2).half(), torch.tensor([0.3, 0.4]).half(), 0.3)
torch.nn.functional.threshold(torch.tensor([0.3, 0.5]).half(), 0.3, 0.4)
torch.tensor([2.5, 10.0]).half() ** 3.3
torch.tensor([2.5, 10.0]).bfloat16().pow_(0.3)
"""


@pytest.mark.parametrize("text", rows(VALUES))
def test_values_with_such_numbers(text):
    for _ in range(3):
        theirs, mine = [eval(text, {"torch": library, **vars(library)}) for library in (torch, torchlite)]
        assert str(mine) == str(theirs)
