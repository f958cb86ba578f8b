"""Corners that programs rarely turn: what PyTorch refuses there and in what words, and what it gives."""

from __future__ import annotations

import pytest

from .side_by_side import same_story

REFUSED = """
F.nll_loss(torch.ones(2, 3), torch.tensor([0, 1]), weight=torch.ones(3, requires_grad=True))
F.nll_loss(torch.ones(2, 3), torch.tensor([0, 1]), weight=torch.ones(4, requires_grad=True))
F.nll_loss(torch.ones(2, 3, 2), torch.tensor([[0, 1], [0, 1]]), weight=torch.ones(3, requires_grad=True))
F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1]), weight=torch.ones(3, requires_grad=True), label_smoothing=0.1)
torch.roll(torch.empty(0, device="meta"), 1, 5)
torch.logsumexp(torch.ones(2, 3), ())
torch.ones(3, requires_grad=True).logsumexp([])
F.bilinear(torch.ones(2, 3), torch.ones(2, 4), torch.ones(5, 3))
F.bilinear(torch.ones(2, 3), torch.ones(2, 4), torch.ones(()))
F.bilinear(torch.ones(2, 3), torch.ones(2, 4), torch.ones(5, 3, 4, 1))
F.bilinear(torch.ones(2, 3), torch.ones(2, 4), torch.ones(5, 3, 4), torch.ones(()))
F.hardtanh(torch.tensor([0, 1, 2], dtype=torch.uint8), -1.5, 0.5)
F.hardtanh(torch.tensor([0, 1, 2], dtype=torch.uint8), -0.5, 300)
torch.movedim(torch.ones(2, 2), 0, (0, 1))
torch.ones(2, 2).moveaxis((0, 1), 0)
torch.mm(torch.ones(2, 3, device="meta"), torch.ones(2, 3, device="meta"))
torch.mm(torch.ones(2, device="meta"), torch.ones(2, 3, device="meta"))
torch.mm(torch.ones(2, 3, device="meta"), torch.ones(3, device="meta"))
torch.addmm(torch.ones(2, device="meta"), torch.ones(2, 3, device="meta"), torch.ones(2, 3, device="meta"))
F.linear(torch.ones(2, 3, device="meta"), torch.ones(2, 4, device="meta"))
F.pad(torch.ones(1, 1, 3), (1, 1, 1), mode="x")
F.pad(torch.ones(1, 1, 3), (1, 1), mode="x", value=2)
torch.ones(4, 4).to_sparse(layout=torch.sparse_bsr, blocksize=(3, 1))
torch.ones(4, 4).to_sparse_bsr((3, 1))
torch.Generator("meta")
torch.norm(torch.ones(2, 3, 4), "nuc", (0, 1, 2))
torch.norm(torch.ones(2, 3, 4), "nuc", 0)
torch.norm(torch.ones(2, 3, 4), "nuc", (0, 0))
torch.norm(torch.ones(2, 3).long(), "nuc")
torch.nuclear_norm(torch.ones(2, 3), (0,))
torch.frobenius_norm(torch.ones(2, 3, 4), (0, 1, 2))
torch.chain_matmul()
torch.chain_matmul(torch.ones(2, 3), torch.ones(2))
F.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.1]))
F.binary_cross_entropy(torch.tensor([0.5, 0.5]), torch.tensor([0.5, -0.1]), torch.tensor([2.0, 1.0]))
F.binary_cross_entropy(torch.tensor([0.5], requires_grad=True), torch.tensor([float("nan")]))
F.binary_cross_entropy(torch.tensor([1.5]), torch.tensor([1.1]))
torch.ones(3, 4).expand(3, -2)
torch.ones(3, 4).expand(-2, 3, 4)
torch.ones(3, 1).expand(3, -2)
torch.ones(3, 4).expand(-2, -2, 4)
torch.tensor(1.0).expand(-1, 2)
torch.take_along_dim(torch.ones(3, 4), torch.tensor([1.0, 2.0]))
torch.take_along_dim(torch.ones(3, 4), torch.tensor([1, 2]).short())
torch.take_along_dim(torch.ones(3, 4), torch.tensor([1.0, 2.0]), 0)
torch.take_along_dim(torch.ones(3, 4), torch.tensor([[1.0, 2.0]]), 0)
torch.nn.Conv2d(2, 3, 2)(torch.ones(1, 2, 5, 5, dtype=torch.float64))
torch.nn.Conv2d(2, 3, 2)(torch.ones(16, 2, 5, 5, dtype=torch.float64))
torch.nn.Conv2d(2, 3, 2)(torch.ones(1, 2, 5, 5, dtype=torch.float16))
torch.nn.Conv2d(2, 3, 2).half()(torch.ones(16, 2, 5, 5))
torch.nn.Conv1d(2, 3, 2)(torch.ones(1, 2, 5, dtype=torch.int64))
torch.nn.Conv3d(2, 3, 2)(torch.ones(1, 2, 5, 5, 5, dtype=torch.uint8))
torch.nn.ConvTranspose2d(2, 3, 2)(torch.ones(1, 2, 5, 5, dtype=torch.float64))
F.conv1d(torch.ones(1, 2, 5, dtype=torch.complex64), torch.ones(3, 2, 2))
F.conv1d(torch.ones(1, 2, 5, dtype=torch.complex64), torch.ones(3, 2, 2), torch.ones(3))
""".strip().splitlines()

GIVEN = """
torch.roll(torch.empty(0, 2), (1, 2), (5, 1))
torch.logsumexp(torch.tensor(2.0), ())
torch.logsumexp(torch.ones(2, 3), (), keepdim=True)
F.hardtanh(torch.tensor([0, 1, 2], dtype=torch.uint8), -0.5, 0.5)
F.hardtanh_(torch.tensor([0, 1, 2], dtype=torch.uint8), -0.9, 1.5)
F.hardtanh(torch.tensor([0, 1, 2, -3], dtype=torch.int8), -1.5, 1.5)
torch.ones(2, 3, 4).movedim(0, 2).shape
torch.moveaxis(torch.ones(2, 3, 4), (0, 1), (2, 0)).shape
torch.count_nonzero(torch.ones(2, 3).to(torch.float8_e4m3fn), 0)
torch.mm(torch.ones(0, 2, dtype=torch.complex32), torch.ones(2, 3, dtype=torch.complex32))
torch.mm(torch.ones(2, 0, dtype=torch.complex32), torch.ones(0, 3, dtype=torch.complex32)).to(torch.complex64)
torch.bmm(torch.ones(0, 2, 2, dtype=torch.complex32), torch.ones(0, 2, 2, dtype=torch.complex32))
F.linear(torch.ones(0, 2, dtype=torch.complex32), torch.ones(3, 2, dtype=torch.complex32)).shape
torch.Generator("cpu:1").device
torch.norm(torch.ones(2, 3, 4), "nuc", (0, 1))
torch.norm(torch.ones(3, 4), "nuc", keepdim=True, dtype=torch.float64)
torch.nuclear_norm(torch.ones(2, 3, 4), keepdim=True)
torch.frobenius_norm(torch.ones(2, 3, 4), (0, 1))
torch.chain_matmul(torch.ones(2, 3))
torch.logit(torch.tensor([0.1, 0.4, 0.5, 0.6, 0.9, float("nan")]), 0.6)
torch.special.logit(torch.tensor([0.1, 0.4, 0.5, 0.6, 0.9]).half(), 0.6)
torch.autograd.grad(torch.logit(x := torch.tensor([0.1, 0.5, 0.9], requires_grad=True), 0.6).sum(), x)
torch.take_along_dim(torch.ones(3, 4), torch.tensor([1, 2]).int())
(torch.blackman_window(5) > 0).tolist(), torch.blackman_window(5, dtype=torch.float64)
[getattr(torch, f"{name}_window")(7, False) for name in ("hann", "hamming", "blackman", "bartlett", "kaiser")]
[getattr(torch, f"{name}_window")(6, dtype=torch.float64) for name in ("hann", "hamming", "blackman", "kaiser")]
""".strip().splitlines()

LAID = """
torch.linalg.inv(EYE, out=torch.empty(0))
torch.linalg.inv(EYE, out=torch.empty(3, 4))
torch.linalg.inv(EYE, out=torch.empty(3, 3))
torch.linalg.solve(EYE, EYE, out=torch.empty(0))
torch.linalg.cholesky(EYE, out=torch.empty(0))
torch.linalg.pinv(EYE, out=torch.empty(0))
torch.linalg.solve_triangular(EYE, torch.ones(3, 2), upper=True, out=torch.empty(0))
torch.linalg.qr(EYE, out=(torch.empty(0), torch.empty(0)))
torch.linalg.svd(EYE, out=(torch.empty(0), torch.empty(0), torch.empty(0)))
torch.linalg.eigh(EYE, out=(torch.empty(0), torch.empty(0)))
torch.linalg.lu(EYE, out=(torch.empty(0), torch.empty(0), torch.empty(0)))
torch.linalg.lu_factor(EYE, out=(torch.empty(0), torch.empty(0, dtype=torch.int32)))
torch.ormqr(EYE, torch.ones(3), EYE, out=torch.empty(0))
torch.inverse(torch.eye(3).expand(2, 3, 3), out=torch.empty(0))
torch.linalg.matrix_power(EYE, 3, out=torch.empty(0))
""".strip().splitlines()


def of(torch, expression):
    return eval(expression, {"torch": torch, "F": torch.nn.functional, "EYE": torch.eye(3)})


@pytest.mark.parametrize("expression", REFUSED + GIVEN)
def test_rare_calls_end_as_in_pytorch(expression):
    same_story(lambda torch, tell: of(torch, expression))()


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_listed_as_refused_is_refused(expression):
    torch = pytest.importorskip("torch")
    with pytest.raises((RuntimeError, TypeError, IndexError, NotImplementedError)):
        of(torch, expression)


@pytest.mark.parametrize("expression", LAID)
def test_resized_results_of_linear_algebra_lie_as_in_pytorch(expression):
    def program(torch, tell):
        made = of(torch, expression)
        for t in made if isinstance(made, tuple) else (made,):
            tell(t.shape, t.stride(), t)

    same_story(program)()
