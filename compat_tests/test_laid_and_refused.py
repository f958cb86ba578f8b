"""What sweeps of all operators over layouts, and over what `out=` is given, found: layouts, refusals, who may read."""

from __future__ import annotations

import re
import warnings

import pytest

from .side_by_side import same_story

INSIDE = "contiguous(memory_format=torch.channels_last_3d)"
CALLS = f"""
torch.view_copy(torch.arange(12.0).reshape(3, 4).t(), (12,))
torch.view_copy(torch.arange(12.0).reshape(3, 4).t(), (2, 6)).stride()
torch.vmap(lambda x: torch.view_copy(x, (4,)))(torch.arange(12.0).reshape(2, 2, 3).permute(2, 1, 0))
torch.cross(x, x + 1, out=x)
torch.linalg.cross(x, x + 1, out=x)
torch.linalg.cross(x + 1, x, dim=0, out=x)
torch.linalg.cross(x + 1, x, out=torch.empty(0)).stride()
torch.frexp(x, out=(torch.ones(3, 3).double(), torch.ones(3, 3).int()))
torch.median(x, out=torch.ones(()))
torch.nanmedian(x, out=torch.ones(()))
torch.median(x, 0, out=(torch.ones(3), torch.ones(3).long()))
torch.cholesky(torch.eye(3), out=torch.eye(3).int())
torch.cholesky_inverse(torch.eye(3), out=torch.eye(3).int())
torch.cholesky_solve(torch.eye(3), torch.eye(3), out=torch.eye(3).int())
torch.cholesky_inverse(torch.eye(3), out=torch.empty(0)).stride()
torch.cholesky_inverse(torch.eye(3).expand(2, 3, 3), out=torch.empty(0)).stride()
torch.cholesky_inverse(torch.eye(3), out=torch.empty(0).double()).stride()
torch.cholesky_inverse(torch.eye(3), out=torch.empty(3, 3)).stride()
torch.orgqr(torch.eye(3), torch.ones(3), out=torch.empty(0)).stride()
torch.linalg.householder_product(torch.eye(3), torch.ones(3), out=torch.empty(0)).stride()
torch.linalg.householder_product(torch.eye(3), torch.ones(3), out=torch.empty(0).double()).stride()
torch.ops.aten._safe_softmax(torch.ones(3).int(), 0)
torch.linalg.vector_norm(x.to_sparse())
torch.linalg.norm(x.to_sparse())
torch.linalg.matrix_norm(x.to_sparse())
torch.norm(x.to_sparse())
x.to_sparse().norm(1)
x.to_sparse_csr().norm()
torch.norm(x.to_sparse(), dim=0)
x.to_sparse().round(decimals=1)
x.to_sparse().round()
torch.div(x, torch.ones(2, 2).cfloat(), rounding_mode="trunc")
torch.div(x > 1, torch.ones(3, 6) > 0, rounding_mode="trunc")
torch.div(x, torch.ones(3, 3).cfloat(), rounding_mode="trunc")
x.expand(2, 3, 3).fill_(torch.ones(2))
x.expand(2, 3, 3).fill_(1)
x.fill_(torch.ones(2))
torch.ops.aten._safe_softmax(torch.ones(3).cfloat(), 0)
torch.func.vjp(lambda y: torch.native_group_norm(y, None, None, 0, 3, 1, 1, 0.1), x[:0])[1]((x[:0], *[x[:0, :1]] * 2))
torch.nn.functional.max_unpool3d(torch.ones(1, 2, 1, 3, 2).{INSIDE}, torch.zeros(1, 2, 1, 3, 2).long(), 2).stride()
"""


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_calls(call):
    @same_story
    def program(torch, tell):
        warnings.simplefilter("ignore")  # of what is young, or to go
        x = torch.arange(9.0).reshape(3, 3)
        try:
            made = eval(call, {"torch": torch, "x": x})
        except Exception as error:  # the first sentence: what follows may be a list of what can be done
            tell(type(error).__name__, re.split(r"\.\s|\n", str(error))[0])
        else:
            tell([*made] if isinstance(made, tuple) else made, x)

    program()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("images", "filters", "groups"),
    [
        ((1, 3, 4, 4, 4), (3, 2, 2, 2, 2), 1), ((2, 3, 4, 4, 4), (3, 2, 2, 2, 2), 1),
        ((1, 3, 4, 4, 4), (3, 2, 2, 2, 2), 3), ((1, 3, 4, 4, 4), (3, 2, 1, 4, 4), 1),
        ((1, 3, 4, 4, 4), (3, 2, 2, 2, 4), 1), ((1, 8, 16, 16, 11), (8, 2, 1, 1, 1), 1),
    ],
)  # fmt: skip
def test_volumes_spread_back_lie_as_pytorchs_kernels_leave_them(images, filters, groups, dtype):
    @same_story
    def program(torch, tell):
        x, w = torch.ones(images, dtype=getattr(torch, dtype)), torch.ones(filters, dtype=getattr(torch, dtype))
        inside = x.contiguous(memory_format=torch.channels_last_3d)
        for one, other in ((inside, w), (x, w.contiguous(memory_format=torch.channels_last_3d)), (x, w)):
            for stride in (1, 2):
                tell(torch.nn.functional.conv_transpose3d(one, other, groups=groups, stride=stride).stride())

    program()


# Of two operands, which lie by rows, or by columns.
GRADIENTS = """
x @ y.t()
x.mm(y.t())
x[:1].mm(y.t())
F.linear(x, y)
F.linear(x, y, y[:, 0])
F.linear(x[0], y)
F.linear(x.expand(2, 3, 4), y)
F.binary_cross_entropy_with_logits(x, y[:3], reduction="none")
F.binary_cross_entropy_with_logits(x, y[:3], torch.tensor(0.5), reduction="sum")
F.binary_cross_entropy(x / 20, y[:3] / 20, reduction="none")
torch.linalg.solve(y[:4], x)
torch.linalg.solve(torch.eye(4).expand(3, 4, 4) * 2, x)
torch.linalg.solve(torch.eye(4).expand(3, 1, 4, 4) * 2 * y[0, 0] + torch.eye(4), x[:, None])
"""
OF_ONE = """
F.leaky_relu(x)
F.prelu(x, torch.tensor(0.5))
F.elu(x)
F.multi_margin_loss(x, i, reduction="none")
F.multilabel_margin_loss(x, j, reduction="none")
x.masked_select(x > 2)
x.masked_select(x[0] > 2)
x.mm(x.t())
x.prod()
x.exp().prod()
F.logsigmoid(x)
F.pad(x, (-1, -1))
F.pad(x, (1, -1))
torch.fft.fft(x, n=5, dim=0).real
torch.linalg.pinv(x)
torch.linalg.lstsq(x, torch.ones(len(x), 2)).solution
torch.linalg.householder_product(x.mT, x[:, 0])
torch.ormqr(x.mT, x[:, 0], x.mT)
torch.ormqr(torch.eye(4), torch.ones(4), x, left=False)
x.scatter_reduce(1, k, x, "amax")
x.scatter_reduce(1, k, x, "amin", include_self=False)
F.max_unpool1d(x[None], k[None], 1)
F.ctc_loss(x[:, None], torch.tensor([[1]]), (len(x),), (1,), reduction="none")
"""


@pytest.mark.parametrize("call", GRADIENTS.strip().splitlines())
def test_gradients_lie_as_operands_do(call):
    @same_story
    def program(torch, tell):
        rows = torch.arange(12.0).reshape(3, 4), torch.arange(20.0).reshape(5, 4)
        columns = [t.t().contiguous().t() for t in rows]
        for given in (rows, columns, (rows[0], columns[1]), (columns[0], rows[1])):
            x, y = [t.clone().requires_grad_() for t in given]
            made = eval(call, {"x": x, "y": y, "F": torch.nn.functional, "torch": torch})
            for create_graph in (False, True):
                found = torch.autograd.grad(made, (x, y), torch.ones_like(made), True, create_graph)
                tell([(t.stride(), t.detach()) for t in found])

    program()


@pytest.mark.parametrize("call", OF_ONE.strip().splitlines())
def test_gradients_lie_as_pytorchs_kernels_leave_them(call):
    @same_story
    def program(torch, tell):
        rows = torch.arange(12.0).reshape(3, 4) - 5
        places = {"i": [1, 0, 3], "j": [[1, 0, -1, 2]] * 3, "k": [[1, 0, 3, 2]] * 3}
        for given in (rows, rows.t().contiguous().t(), rows[:1], rows.expand(2, 3, 4)[0]):
            x = given.clone().requires_grad_()
            part = {name: torch.tensor(at[: len(x)]) for name, at in places.items()}
            made = eval(call, {"x": x, "F": torch.nn.functional, "torch": torch, **part})
            upstream = torch.ones_like(made), torch.ones_like(made, memory_format=torch.contiguous_format)
            for g in (*upstream, upstream[0][:1].expand_as(made)):
                tell(torch.autograd.grad(made, x, g, True)[0].stride())

    program()


@pytest.mark.parametrize("written", ["x", "y", "weight", "pos_weight"])
@pytest.mark.parametrize("scaled", [{}, {"weight": 0.7}, {"pos_weight": 0.6}, {"weight": 0.7, "pos_weight": 0.6}])
def test_losses_of_logits_are_differentiated_again_after_writes(scaled, written):
    @same_story
    def program(torch, tell):
        leaf = torch.tensor([-200.0, -1.0, 0.5, 200.0], requires_grad=True)
        more = {name: torch.full((4,), number) for name, number in scaled.items()}
        given = {"x": leaf * 1, "y": torch.full((4,), 0.3)} | more
        loss = torch.nn.functional.binary_cross_entropy_with_logits(given["x"], given["y"], **more)
        (gradient,) = torch.autograd.grad(loss, leaf, create_graph=True)
        with torch.no_grad():
            given.get(written, leaf.detach().clone()).add_(1)
        try:
            tell(gradient.detach(), torch.autograd.grad(gradient.sum(), leaf)[0])
        except RuntimeError as error:
            tell(str(error).partition(":")[0])

    program()


def test_paths_of_labels_are_followed_however_probabilities_lie():
    @same_story
    def program(torch, tell):
        x = torch.arange(24.0).reshape(4, 2, 3).sin().permute(2, 1, 0).requires_grad_()
        loss = torch.nn.functional.ctc_loss(x, torch.tensor([[1], [2]]), (3, 3), (1, 1))
        tell(loss.detach(), torch.autograd.grad(loss, x)[0])

    program()
