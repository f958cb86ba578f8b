"""Sparse tensors of random patterns: what they come to, whatever their dtype, dense dimensions and repetitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import torchlite

torch = pytest.importorskip("torch")

DTYPES = ("float32", "float64", "int64", "complex64", "bool", "float16", "bfloat16", "uint8")


def _both(seed: int) -> tuple[Any, Any, str]:
    """One tensor of coordinates in both libraries, and its dtype."""
    rng = np.random.default_rng(seed)
    sparse, dense = int(rng.integers(1, 4)), int(rng.integers(0, 3))
    shape = [int(n) for n in rng.integers(1, 5, sparse + dense)]
    nnz = int(rng.integers(0, 9))
    indices = np.stack([rng.integers(0, n, nnz) for n in shape[:sparse]])
    values = rng.integers(-3, 4, (nnz, *shape[sparse:])).tolist()
    dtype = DTYPES[seed % len(DTYPES)]

    def made(library: Any) -> Any:
        parts = library.tensor(values).reshape((nnz, *shape[sparse:])).to(getattr(library, dtype))
        return library.sparse_coo_tensor(library.tensor(indices), parts, shape)

    return made(torch), made(torchlite), dtype


def _same(a: Any, b: Any) -> bool:
    a, b = (t.to_dense() if "sparse" in str(t.layout) else t for t in (a, b))
    return a.tolist() == b.tolist() and str(a.dtype) == str(b.dtype).replace("torchlite", "torch")


@pytest.mark.parametrize("seed", range(48))
def test_coordinates(seed: int) -> None:
    a, b, dtype = _both(seed)
    assert _same(a, b)
    one, other = a.coalesce(), b.coalesce()
    assert one.indices().tolist() == other.indices().tolist() and one.values().tolist() == other.values().tolist()
    assert _same(a.transpose(0, a.sparse_dim() - 1), b.transpose(0, b.sparse_dim() - 1))
    assert _same(a.unsqueeze(0), b.unsqueeze(0)) and _same(a.select(0, 0), b.select(0, 0))
    assert repr(one) == repr(other).replace("torchlite", "torch")
    assert _same(one.to_dense().to_sparse(a.sparse_dim()), other.to_dense().to_sparse(b.sparse_dim()))
    if dtype in ("bool", "float16"):  # which PyTorch adds none of
        return
    assert _same(torch.cat([a, one]), torchlite.cat([b, other])) and _same(a + one, b + other)
    assert _same(one * one, other * other) and _same(one * 3, other * 3) and _same(a.to_dense() + a, b.to_dense() + b)
    assert _same(a.index_select(0, torch.tensor([0, 0])), b.index_select(0, torchlite.tensor([0, 0])))
    if dtype in ("float64", "int64"):
        for d in range(a.dim()):
            assert _same(torch.sparse.sum(a, d), torchlite.sparse.sum(b, d))


@pytest.mark.parametrize("seed", range(12))
def test_layouts_of_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = (rng.integers(-2, 3, (4, 6)) * (rng.random((4, 6)) < 0.5)).astype(np.float64)
    one, other = torch.tensor(data), torchlite.tensor(data)
    right = rng.integers(-3, 4, (6, 3)).astype(np.float64)
    for layout, more in (("coo", ()), ("csr", ()), ("csc", ()), ("bsr", ((2, 2),)), ("bsc", ((2, 3),))):
        a, b = (getattr(t, f"to_sparse_{layout}")(*more) for t in (one, other))
        assert repr(a) == repr(b).replace("torchlite", "torch") and _same(a, b)
        assert _same(a.to_sparse(), b.to_sparse())
        if layout in ("coo", "csr", "csc"):
            assert _same(a @ torch.tensor(right), b @ torchlite.tensor(right))
