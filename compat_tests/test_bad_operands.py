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

# `out=None` is no `out`, but functions that have none refuse its name.
NO_OUT = """
torch.isnan(torch.ones(2), out=None)
torch.relu(torch.ones(2), out=None)
torch.exp(torch.ones(2), out=None)
torch.ones(2).div(2, out=None)
torch.div(torch.ones(2), 2, out=None)
torch.zeros(2, out=None)
torch.zeros_like(torch.ones(2), out=None)
torch.hann_window(3, out=None)
torch.empty_permuted((2, 3), (1, 0), out=None)
torch.tril_indices(2, 2, out=None)
torch.scalar_tensor(2, out=torch.ones(()))
torch.linalg.diagonal(torch.eye(2), out=None)
torch.special.softmax(torch.ones(2), 0, out=None)
torch.special.log_softmax(torch.ones(2), 0, torch.float64)
torch.sparse_coo_tensor((2,), out=None)
torch.dequantize(torch.ones(2), out=None)
torch.std(torch.ones(3), True, out=torch.ones(()))
torch.var(torch.ones(3), out=torch.ones(()))
torch.var(torch.ones(3), 0, out=torch.ones(()))
"""

# Shapes, lengths and devices that do not go together.
MISFITS = """
torch.nn.functional.ctc_loss(torch.ones(3, 2, 3), torch.ones(3, 3).int(), (1, 1), (1, 1))
torch.native_group_norm(torch.ones(1, 6, 3), torch.ones(2, 3), torch.ones(6), 1, 6, 3, 2, 0.5)
torch.nn.functional.max_pool1d(torch.ones(1, 2, 3), [], 2)
torch.nn.functional.max_pool1d(torch.ones(1, 2, 3), 2, padding=[], return_indices=True)
torch.sparse_coo_tensor(torch.tensor([[0, 1]]), torch.ones(2, device="meta"), (3,))
torch.sparse_coo_tensor([[0, 1]], torch.ones(2, device="meta"), (3,))
torch.sparse_csr_tensor(torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1, device="meta"), (1, 3))
torch.sparse_csr_tensor(torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1, device="meta"), (1, 3), device="meta")
torch.dequantize([])
torch.dequantize([torch.ones(2)])
torch.fbgemm_linear_fp16_weight(torch.ones(3, 4), torch.ones(2, 4), torch.ones(2))
torch.fbgemm_linear_fp16_weight(torch.ones(3, 4).double(), torch.ones(2, 4).half(), torch.ones(2))
torch.nn.utils.rnn.pack_padded_sequence(torch.ones(2, 2), [2**62, 4])
torch.nn.utils.rnn.pack_padded_sequence(torch.ones(2, 2), [2**40, 2**40])
torch.nn.functional.max_pool3d(torch.ones(2, 2, 4, 4), 100, ceil_mode=True)
"""

# Numbers and options of kinds that PyTorch looks at.
OPTIONS = """
torch.nn.functional.huber_loss(torch.ones(2), torch.ones(2), delta=nan)
torch.nn.functional.smooth_l1_loss(torch.ones(2), torch.ones(2), beta=nan)
torch.nn.functional.local_response_norm(torch.ones(1, 3, 3), 2, alpha=np.ones(3))
torch.nn.functional.interpolate(torch.ones(1, 1, 3), torch.tensor(True))
torch.nn.functional.interpolate(torch.ones(1, 1, 3), torch.tensor(2))
torch.Tensor(size=[True])
torch.Tensor(size=[2])
torch.norm_except_dim(torch.ones(3).int())
torch.signal.windows.cosine(1, sym=torch.ones(2))
torch.lobpcg(torch.eye(9), niter="a")
torch.lobpcg(torch.eye(9), niter=-1)
torch.lobpcg(torch.eye(9), largest=torch.ones(2))
torch.lobpcg(torch.eye(9) + 0j)
torch.masked.std(torch.ones(3), torch.tensor([]), mask=torch.ones(3) > 0)
torch.masked.std(torch.ones(3), 0, mask=torch.ones(3) > 0)
torch.testing.make_tensor(False, dtype=torch.float64, device="cpu", noncontiguous=True)
torch.testing.make_tensor(3, dtype=torch.float64, device="cpu", noncontiguous=True)
"""


@pytest.mark.parametrize(
    "text",
    [text for cause in (EMPTY_PRODUCTS, TOO_LARGE, KINDS, OTHERS, NO_OUT, MISFITS, OPTIONS) for text in rows(cause)],
)
def test_ends_alike(text):
    theirs, mine = ends(text)
    assert theirs != "unmade"
    assert mine.partition(":")[0] == theirs.partition(":")[0]


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
torch.nn.functional.max_pool2d(torch.arange(20.0).reshape(1, 5, 4), (7, 2), 2, (3, 1), 1, True, True)
torch.nn.functional.embedding(torch.tensor([0, 1]).int(), torch.eye(3), max_norm=0.5)
torch.chain_matmul(torch.eye(2), torch.eye(2), out=torch.ones(2, 2))
(torch.autocast("cpu:0").fast_dtype, torch.get_autocast_dtype("cuda:1"), torch.is_autocast_enabled("cpu:0"))
torch.nn.functional.max_pool3d(torch.arange(16.0).reshape(1, 2, 2, 4), 60, ceil_mode=True, return_indices=True)
"""


@pytest.mark.parametrize("text", rows(VALUES))
def test_values_with_such_numbers(text):
    for _ in range(3):
        theirs, mine = [eval(text, {"torch": library, **vars(library)}) for library in (torch, torchlite)]
        assert str(mine) == str(theirs)
