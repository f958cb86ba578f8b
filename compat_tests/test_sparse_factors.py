"""Which layouts are multiplied with which, and private functions of sparse tensors, as PyTorch has them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import torchlite

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

LAYOUTS = {
    "dense": lambda t, _: t, "coo": lambda t, _: t.to_sparse(), "csr": lambda t, _: t.to_sparse_csr(),
    "csc": lambda t, _: t.to_sparse_csc(), "bsr": lambda t, block: t.to_sparse_bsr(block),
    "bsc": lambda t, block: t.to_sparse_bsc(block),
}  # fmt: skip
PRODUCTS = ("torch.mm(x, y)", "torch.sparse.mm(x, y)", "torch.addmm(d, x, y)", "torch.mv(x, d[0])")
CALLS = """
torch._sparse_sum(x); torch._sparse_sum(x, [0]); torch._sparse_sum(x, dtype=torch.float64);
torch._sparse_sum(x, 0, dtype=torch.float64); x._to_dense(); d._to_sparse(1); c.nbytes; x.nbytes;
c.to('meta').layout; c.to('meta').values().device; d.to_sparse_bsc((2, 2)).to('meta').shape;
d._to_sparse_csr(); d._to_sparse_csc(); d._to_sparse_bsr((2, 2)); d._to_sparse_bsc((2, 2)); c * x; c.to_sparse(1);
torch._validate_sparse_csr_tensor_args(c.crow_indices(), c.col_indices(), c.values(), (4, 4));
torch._validate_sparse_csr_tensor_args(c.crow_indices(), c.col_indices(), c.values(), (4, 2));
torch._coalesce(c); c.double(memory_format=torch.contiguous_format); torch.nanmean(x); torch.nanmean(c);
torch.nn.functional.binary_cross_entropy_with_logits(c, d); c // 2; c // d;
x.masked_scatter(d > 0, d); x.masked_scatter(d[0] > 0, d); x.masked_fill(d[0] > 0, 1); c.masked_scatter_(d > 0, d);
torch.segment_reduce(x, 'sum', lengths=torch.tensor([4])); x.quantile(0.5, 0); torch.addmm(x, x, x);
torch.sparse.mm(d.to_sparse_csc(), d, 'sum'); torch.sparse.sampled_addmm(d.to_sparse_csc(), d, d);
torch.sparse.sampled_addmm(d.to_sparse_bsr((2, 2)), d, d); torch.nn.functional.batch_norm(c, None, None, training=True)
"""


def told(library: Any, call: str, names: dict[str, Any]) -> Any:
    try:
        made = eval(call, {"torch": library, **names})
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0].split(" This could be")[0].split(" (Triggered")[0]
    if not isinstance(made, library.Tensor):
        return str(made).replace("torchlite", "torch")
    return str(made.layout), str(made.dtype), made.to_dense().tolist()


def factor(library: Any, layout: str, block: tuple[int, int]) -> Any:
    return LAYOUTS[layout](library.arange(16.0).reshape(4, 4), block)


@pytest.mark.parametrize("call", PRODUCTS)
@pytest.mark.parametrize("block", [(2, 2), (2, 1)])
def test_layouts_that_are_multiplied(call: str, block: tuple[int, int]) -> None:
    differ = []
    for a, b in itertools.product(LAYOUTS, LAYOUTS if "y" in call else ["dense"]):
        if call == PRODUCTS[1] and (a, b) in (("dense", "dense"), ("csc", "csc")):
            continue  # the first is none; of the second, PyTorch gives zeros
        both = [
            told(m, call, {"x": factor(m, a, block), "y": factor(m, b, block), "d": m.ones(4, 4)})
            for m in (torchlite, torch)
        ]
        if both[0] != both[1]:
            differ.append((a, b, *both))
    assert not differ


@pytest.mark.parametrize("how", ["upper", "lower", "transpose", "unitriangular"])
@pytest.mark.parametrize("layout", ["csr", "bsr", "csc"])
def test_triangular_systems(layout: str, how: str) -> None:
    if (layout, how) == ("bsr", "unitriangular"):
        pytest.skip("PyTorch makes blocks of no size then")

    def solved(library: Any) -> Any:
        A = library.tensor([[2.0, 1, 0, 3], [1, 4, 5, 0], [0, 1, 8, 1], [2, 0, 0, 1]])
        made = getattr(A, f"to_sparse_{layout}")(*[(2, 2)] * (layout == "bsr"))
        try:
            options = how != "lower", how == "transpose", how == "unitriangular"
            solution, copy = library.triangular_solve(library.eye(4), made, *options)
        except ValueError as error:
            return str(error)
        return [round(v, 5) for v in solution.flatten().tolist()], tuple(copy.shape)

    assert solved(torchlite) == solved(torch)


@pytest.mark.parametrize("call", [call.strip() for call in CALLS.replace("\n", " ").split("; ")])
def test_calls(call: str) -> None:
    both = []
    for m in (torchlite, torch):
        d = m.tensor([[1.0, 0, 2, 0], [0, 3, 0, 0], [0, 0, 0, 4], [5, 0, 0, 0]])
        both.append(told(m, call, {"d": d, "x": d.to_sparse(), "c": d.to_sparse_csr()}))
    assert both[0] == both[1]


def test_gradients_of_products_with_blocks_are_refused() -> None:
    said = []
    for m in (torchlite, torch):
        x = factor(m, "bsr", (2, 2)).requires_grad_()
        with pytest.raises(RuntimeError) as caught:
            m.sparse.mm(x, m.ones(4, 4)).sum().backward()
        said.append(str(caught.value))
    assert said[0] == said[1]
