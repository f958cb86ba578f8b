"""Gradients through sparse tensors: their layouts, their values, and the nodes that give them."""

from __future__ import annotations

from typing import Any

import pytest

import torchlite
from torchlite.sparse import _products

torch = pytest.importorskip("torch")

# On `x`, coordinates that require grad; `d`, `e`, `w`, dense ones that do; `D(...)` makes more.
COORDINATES = """
x.to_dense(); x.to_dense(masked_grad=False); x.to_dense(masked_grad=True); x @ d; torch.mm(x, d)
torch.sparse.mm(x, d); x @ w; torch.addmm(D(2, 2), x, d); torch.sparse.addmm(D(2, 2), x, d); torch.sparse.mm(x, x.t())
x @ x.t(); e.t() @ x; x + x; x * x; x * e; x * 2; x / 2; e + x; -x; x.t(); x.transpose(0, 1); x.coalesce()
x.coalesce().values(); x.sum(); torch.sparse.sum(x); torch.sparse.sum(x, 0); torch.sparse.sum(x, 1)
torch.sparse.softmax(x, 1); torch.sparse.log_softmax(x, 1); x.abs(); x.relu(); x.pow(2); torch.stack([x, x]); x[0, 2]
x.clone(); x.to_sparse_csr(); x.to_sparse_csc(); x.to_sparse(); x.to_dense().to_sparse(); e.to_sparse(); e.to_sparse(1)
e.to_sparse_csr(); e.to_sparse_csc(); e.to_sparse_bsr((1, 3)); x.to(torch.float64); x.sparse_mask(x.detach().coalesce())
torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 1]]), w[:2], (2, 3)).to_dense()
torch.sparse.mm(torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 1]]), w[:2], (2, 3)), d)
torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), torch.tensor([1, 1]), w[:2], (2, 3)).to_dense()
torch.sparse.mm(torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), torch.tensor([1, 1]), w[:2], (2, 3)), d)
torch.bmm(torch.stack([x, x]), D(2, 3, 2)); torch.nn.functional.linear(d.t(), x); x.permute(1, 0); x.T
x.detach() * e; e * x.detach(); x.detach() @ d; torch.sparse.mm(x.detach(), d)
torch.sparse.addmm(D(2, 2), x.detach(), d)
(e * 2 + x).sin()
"""
COMPRESSED = """
x.to_dense(); x.to_dense(masked_grad=False); x @ d; torch.mm(x, d); torch.sparse.mm(x, d); x @ w
torch.addmm(D(2, 2), x, d); torch.sparse.addmm(D(2, 2), x, d); x @ x.t(); e.t() @ x; x + x; x * x; x * 2; x + e; e + x
-x; x.t(); x.transpose(0, 1); x.sum(); x.abs(); x[0, 2]; x.clone(); x.to_sparse_csc(); x.to_sparse(); x.values()
torch.sparse.sampled_addmm(x, D(2, 2), D(2, 3)); torch.sparse.mm(x, d, "sum"); torch.sparse.mm(x, d, "amax")
torch.sparse.mm(x, d, "mean"); torch.nn.functional.linear(d.t(), x); x.detach() @ d; torch.sparse.mm(x.detach(), d)
"""


def _story(library: Any, expression: str, compressed: bool) -> Any:
    """The node that an expression ends in, and every gradient: its layout, and its values as a dense tensor."""

    def dense(*shape: int) -> Any:
        return (library.arange(float(torch.Size(shape).numel())).reshape(shape) - 2).requires_grad_()

    indices = library.tensor([[0, 0, 1], [1, 2, 0] if compressed else [2, 2, 0]])
    x = library.sparse_coo_tensor(indices, library.tensor([1.0, 2, -3.0]), (2, 3))
    names = {"x": (x.to_sparse_csr() if compressed else x).requires_grad_(), "d": dense(3, 2), "e": dense(2, 3)}
    names["w"] = dense(3)
    made = eval(expression, {"torch": library, "D": dense, **names})
    node = made.grad_fn and made.grad_fn.name()
    if made.layout == library.sparse_coo:
        made = library.sparse.sum(made)
    elif made.layout != library.strided:
        made = made.sum()
    (made * library.arange(1.0, made.numel() + 1).reshape(made.shape).to(made.dtype)).sum().backward()
    grads = {name: t.grad for name, t in names.items() if t.grad is not None}
    return node, {name: (str(g.layout), g.to_dense().tolist()) for name, g in grads.items()}


def _listed(text: str) -> list[str]:
    return [e.strip() for e in text.replace("\n", "; ").split("; ") if e.strip()]


@pytest.mark.parametrize("compressed", [False, True], ids=["coordinates", "compressed"])
def test_gradients(compressed: bool) -> None:
    for expression in _listed(COMPRESSED if compressed else COORDINATES):
        wanted, found = [_story(library, expression, compressed) for library in (torch, torchlite)]
        assert found[0] == wanted[0], expression
        assert found[1].keys() == wanted[1].keys(), expression
        for name, (layout, values) in wanted[1].items():
            assert found[1][name][0] == layout, (expression, name)
            assert torch.allclose(torch.tensor(found[1][name][1]), torch.tensor(values), 1e-4, 1e-5), (expression, name)


@pytest.mark.parametrize("name", ["sin", "sqrt", "tanh"])
def test_derivatives_that_sparse_tensors_have_not_are_refused(name: str) -> None:
    x = torchlite.eye(3).to_sparse().requires_grad_()
    with pytest.raises((NotImplementedError, RuntimeError), match=r"SparseCPU|Sparse division"):
        torchlite.sparse.sum(getattr(x, name)()).backward()


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_checked_numerically(layout: str) -> None:
    check = torchlite.sparse.as_sparse_gradcheck(torchlite.autograd.gradcheck)
    torchlite.manual_seed(0)
    x = torchlite.randn(3, 4, dtype=torchlite.float64).relu()
    x = getattr(x, f"to_sparse_{layout}")().requires_grad_()
    d = torchlite.randn(4, 2, dtype=torchlite.float64, requires_grad=True)
    assert check(torchlite.sparse.mm, (x, d), masked=True)
    assert check(lambda t: t.to_dense() * 2, (x,), masked=True)


def test_gradients_of_transforms() -> None:
    def stories(library: Any) -> list[Any]:
        i = library.tensor([[0, 0, 1], [2, 1, 0]])
        v, d = library.tensor([1.0, 2, 3]), library.arange(6.0).reshape(3, 2)

        def loss(values: Any, dense: Any) -> Any:
            return library.sparse.mm(library.sparse_coo_tensor(i, values, (2, 3)), dense).pow(2).sum()

        found = [library.func.grad(loss, at)(v, d).tolist() for at in (0, 1)]
        x = library.sparse_coo_tensor(i, v, (2, 3))
        g = library.func.grad(lambda x: library.sparse.mm(x, d).sum())(x)
        return [*found, str(g.layout), g.to_dense().tolist()]

    assert stories(torch) == stories(torchlite)


def test_custom_functions_take_sparse_tensors() -> None:
    def program(torch: Any) -> Any:
        class Doubled(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, t: Any) -> Any:
                return t * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * 2

        found = []
        for layout in (torch.sparse_coo, torch.sparse_csr):
            x = torch.eye(3).to_sparse(layout=layout).requires_grad_()
            made = Doubled.apply(x)
            made.to_dense().sum().backward()
            found += [(t.layout is layout, t.to_dense().tolist()) for t in (made, x.grad)]
        return found

    assert program(torchlite) == program(pytest.importorskip("torch"))


PRODUCTS = {
    "mm": lambda lib, m, x: m @ x,
    "sparse.mm": lambda lib, m, x: lib.sparse.mm(m, x),
    "mv": lambda lib, m, x: lib.mv(m, x[:, 0].contiguous()),
    "addmm": lambda lib, m, x: lib.addmm(x[:1], m, x),
    "sparse.addmm": lambda lib, m, x: lib.sparse.addmm(x[:2], m, x, beta=0.5, alpha=2.0),
    "addmv": lambda lib, m, x: lib.addmv(x[0], m, x[:, 0].contiguous(), beta=3),
}


def _product(lib: Any, name: str, layout: str, seed: int, wide: bool) -> list[Any]:
    """A product, and its gradients, of a matrix that has more values the larger the seed."""
    places = lib.tensor([[0, 1, 0, 1], [2, 0, 1, 1]])[:, :seed]
    m = lib.sparse_coo_tensor(places, lib.arange(1.0, seed + 1), (2, 3)).coalesce()
    if layout != "sparse_coo":
        m = m.to_sparse(layout=getattr(lib, layout))
    if layout == "sparse_csr" and not wide:
        m = lib.sparse_csr_tensor(m.crow_indices().int(), m.col_indices().int(), m.values(), m.shape)
    x = lib.arange(6.0).reshape(3, 2).sin().requires_grad_()
    m.requires_grad_(seed % 2 == 0 and "mv" not in name and layout != "sparse_csc")
    made = PRODUCTS[name](lib, m, x)
    made.backward(lib.ones_like(made))
    grads = [x.grad, *([m.grad.to_dense()] if m.requires_grad else [])]
    return [type(made.grad_fn).__name__, *lib.cat([t.detach().flatten() for t in (made, *grads)]).tolist()]


LAYOUTS = [(name, layout) for name in PRODUCTS for layout in ("sparse_csr", "sparse_csc", "sparse_coo")]
LAYOUTS.remove(("addmv", "sparse_coo"))  # for which PyTorch has no kernel


@pytest.mark.parametrize("wide", [True, False], ids=["int64", "int32"])
@pytest.mark.parametrize(("name", "layout"), LAYOUTS)
def test_products_of_one_form_are_pytorchs_each_time(name: str, layout: str, wide: bool) -> None:
    """Whatever values there are, and whether gradients are wanted."""
    for seed in (1, 2, 3, 4, 3, 0):
        assert _product(torchlite, name, layout, seed, wide) == pytest.approx(_product(torch, name, layout, seed, wide))


@pytest.mark.parametrize(("name", "layout"), [pair for pair in LAYOUTS if pair[1] != "sparse_csc"])
def test_products_of_a_form_that_was_met_are_planned(name: str, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m = torchlite.eye(2, 3).to_sparse(layout=getattr(torchlite, layout))
    x = torchlite.ones(3, 2, requires_grad=True)
    for _ in range(2):
        PRODUCTS[name](torchlite, m, x)
    monkeypatch.setattr(_products, "_times", None)
    PRODUCTS[name](torchlite, m, x)


def test_coordinates_of_other_dimensions_are_of_another_form() -> None:
    for lib in (torchlite, torch):
        matrix, x = lib.eye(2).to_sparse(), lib.arange(6.0).reshape(2, 3)
        for _ in range(3):
            assert (matrix @ x).equal(x)
        with pytest.raises(RuntimeError, match="matrices expected, got 1D tensor"):
            lib.eye(2).to_sparse(1) @ x
