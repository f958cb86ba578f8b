"""Making sparse tensors, with all checks, and how they print; files and pickles of them; SciPy's matrices."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import torchlite

from .test_sparse_calls import _listed, tried

torch = pytest.importorskip("torch")

# `C` makes tensors of coordinates, `R` of compressed rows.
MADE = """
C(i, v); C(i, v, (2, 2)); C(i, v, (2, 3, 4)); C(i, v, (1, 3)); C(-i, v, (2, 3)); C(i.float(), v, (2, 3));
C(i.int(), v, (2, 3))._indices().dtype; C([[0, 1], [1, 0]], [1, 2], (2, 2));
C([[0, 1], [1, 0]], [1., 2], (2, 2), dtype=torch.float64); C(i, v, (2, 3), requires_grad=True);
C(i, v, (2, 3), check_invariants=True); C(i, v, (2, 2), check_invariants=True);
C(i, v, (2, 2), check_invariants=False); C((2, 3)); C((2, 3), dtype=torch.int32); C(torch.Size([2, 3])); C([2, 3]);
C(i, v[:2], (2, 3)); C(torch.tensor(1), v, (2, )); C(i, torch.tensor(1.), (2, 3));
C(torch.zeros(1, 0, dtype=torch.int64), torch.zeros(0), (3, ));
C(torch.zeros(1, 0, dtype=torch.int64), torch.zeros(0));
C(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0, 2), (3, 3, 2));
C(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0, 2)); C(torch.tensor([[0, 1]]), torch.ones(2, 2), (2, 2));
C(torch.tensor([[0, 1]]), torch.ones(2, 2), (2, 3)); C(torch.tensor([[0, 1]]), torch.ones(2, 2));
C(torch.tensor([[0, 2]]), torch.ones(2, 2)).to_dense(); C(i, v, (2, 3), is_coalesced=True);
C(i, v, (2, 3), is_coalesced=True, check_invariants=True); C(i, v, (2, -3)); C(i, v, 3); C(i, v, size=(2, 3));
C(i); C(indices=i, values=v); C(i, v, (2, 3), device='meta');
C(torch.zeros(0, 1, dtype=torch.int64), torch.tensor([5.]), ());
C(torch.zeros(0, 2, dtype=torch.int64), torch.tensor([5., 6]), ()).to_dense();
torch.sparse.FloatTensor(i, v, torch.Size([2, 3])); torch.sparse.FloatTensor(i, v); torch.sparse.FloatTensor(2, 3);
torch.sparse.FloatTensor(); torch.sparse.DoubleTensor(i, v.double(), (2, 3));
torch.sparse.DoubleTensor(i, v, (2, 3)); torch.sparse.LongTensor(i, v.long(), (2, 3));
torch.sparse.FloatTensor(torch.Size([2, 3])); isinstance(C(i, v), torch.sparse.FloatTensor);
isinstance(C(i, v), torch.FloatTensor); torch.sparse.FloatTensor; C(i, v, (2, 3), dtype=torch.float16);
C(i, v.double()*1j, (2, 3)); C(i, v*0+1, (2, 3)).bool(); C(i, v, (2, 3)).to_dense().to_sparse();
torch.ones(2, 2, 2).to_sparse(2); torch.ones(2, 2, 2).to_sparse(0); torch.ones(2, 2, 2).to_sparse(4);
torch.tensor(3.).to_sparse(); torch.tensor(0.).to_sparse(); torch.zeros(2, 0).to_sparse();
torch.ones(2, 2).to_sparse(layout=torch.sparse_csr, blocksize=(1, 1));
torch.ones(2, 2).to_sparse(layout=torch.sparse_bsr, blocksize=(1, 1));
torch.ones(2, 2).to_sparse(layout=torch.sparse_bsr); torch.ones(2, 2).to_sparse(layout=torch.strided);
torch.ones(2, 2).to_sparse_csr(); torch.ones(2, 2, 2).to_sparse_csr();
torch.ones(2, 2, 2).to_sparse_csr(dense_dim=1); torch.ones(3).to_sparse_csr(); torch.ones(2, 2).to_sparse_csc();
torch.ones(2, 4).to_sparse_bsr((2, 2)); torch.ones(2, 4).to_sparse_bsc((2, 2));
torch.ones(2, 4).to_sparse_bsr((2, 3)); torch.ones(2, 4).to_sparse_bsr(2);
torch.ones(2, 4, 3).to_sparse_bsr((1, 2), dense_dim=1); torch.zeros(2, 0, 3).to_sparse_csr();
torch.zeros(2, 3, 0).to_sparse_bsc((1, 1)); torch.zeros(0, 2, 3).to_sparse_csc();
torch.zeros(0, 2, 3).to_sparse(layout=torch.sparse_csr); R([0, 1, 2], [0, 1], [1., 2]);
R([0, 1, 2], [0, 1], [1., 2], (2, 3));
R([0, 1, 3], [0, 1], [1., 2], (2, 3));
R([0, 1, 3], [0, 1], [1., 2], (2, 3), check_invariants=True);
R([0, 1, 2], [0, 5], [1., 2], (2, 3), check_invariants=True);
R([1, 1, 2], [0, 1], [1., 2], (2, 3), check_invariants=True);
R([0, 2, 2], [1, 0], [1., 2], (2, 3), check_invariants=True);
R([0, 2, 2], [1, 1], [1., 2], (2, 3), check_invariants=True);
R([0, 2, 1], [1, 1], [1., 2], (2, 3), check_invariants=True);
R([0, 1, 2], [0, 1, 1], [1., 2], (2, 3), check_invariants=True);
R([0, 1, 2], [0, 1], [1., 2, 3], (2, 3), check_invariants=True);
R([0, 1, 2], [0, 1], [1., 2], (3, 3), check_invariants=True);
R([0., 1, 2], [0, 1], [1., 2], (2, 3), check_invariants=True);
R([0., 1, 2], [0, 1], [1., 2], (2, 3));
R(torch.tensor([0, 1, 2], dtype=torch.int32), torch.tensor([0, 1], dtype=torch.int32), torch.tensor([1., 2]));
R(torch.tensor([0, 1, 2], dtype=torch.int32), torch.tensor([0, 1]), v[:2], (2, 2), check_invariants=True);
R(torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.tensor([[1., 2], [3, 4]]));
R(torch.tensor([[0, 1, 2], [0, 1, 2]]), torch.tensor([[0, 1], [0, 1]]), torch.tensor([[1., 2], [3, 4]]));
torch.sparse_csc_tensor([0, 1, 2], [0, 1], [1., 2]);
torch.sparse_bsr_tensor([0, 1, 2], [0, 1], [[[1., 2], [3, 4]], [[5, 6], [7, 8]]]);
torch.sparse_bsc_tensor([0, 1, 2], [0, 1], [[[1., 2], [3, 4]], [[5, 6], [7, 8]]]);
torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1., 2], layout=torch.sparse_csr);
torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1., 2], layout=torch.sparse_csc);
torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1., 2]);
torch.sparse_compressed_tensor([0, 1, 2], [0, 1], [1., 2], layout=torch.strided);
R([0, 1, 2], [0, 1], [1., 2], layout=torch.sparse_csc);
torch.sparse.check_sparse_tensor_invariants.is_enabled();
torch.sparse_coo_tensor(i, v, (2, 3), layout=torch.sparse_coo); C(i, torch.randn(3, 2)>5, (2, 3, 2));
C(i, v, (2, 3)).coalesce().requires_grad_(); (C(i, v, (2, 3)).requires_grad_()*2);
C(torch.arange(2000).reshape(2, 1000), torch.arange(1000.)); C(torch.arange(40).reshape(2, 20), torch.arange(20.));
torch.ones(3, 3).to_sparse_csr().requires_grad_(); torch.ones(3, 3, dtype=torch.float64).to_sparse_csr();
torch.ones(3, 3, dtype=torch.int64).to_sparse(); C(i, torch.ones(3, 2), (2, 3, 2)); torch.zeros(2, 2).to_sparse_csc();
torch.zeros(2, 4).to_sparse_bsr((2, 2)); torch.zeros(2, 4).to_sparse_bsc((2, 2)); (v.requires_grad_()*2).to_sparse();
torch.ones(2, 2).requires_grad_().to_sparse_csr(); torch.ones(2, 2).requires_grad_().to_sparse_csc();
torch.ones(2, 2).requires_grad_().to_sparse_bsr((1, 1)); torch.ones(2, 2).requires_grad_().to_sparse_bsc((1, 2));
torch.ones(2, 4, 3).to_sparse_bsc((1, 2), dense_dim=1).requires_grad_(); torch.ones(2, 0, 3).to_sparse_csr(dense_dim=1);
torch.sparse_csc_tensor(torch.tensor([0, 1, 2]).int(), torch.tensor([0, 1]).int(), torch.ones(2, 3));
torch.sparse_bsr_tensor(torch.tensor([0, 1]).int(), torch.tensor([0]).int(), torch.ones(1, 2, 2, dtype=torch.float64));
C(torch.zeros(1, 0).long(), torch.zeros(0, 2), (3, 2)).requires_grad_(); C(i, v, (2, 3)).half()
"""
TRANSFORMED = """
torch.vmap(lambda x: x*2)(C(i, v, (2, 3))); torch.vmap(lambda x: C(i, v, (2, 3))@x)(torch.ones(4, 3));
torch.vmap(lambda x: x.to_sparse())(torch.ones(4, 3));
torch.vmap(lambda x: C(i, v, (2, 3)).mm(x))(torch.ones(4, 3, 2));
torch.vmap(lambda x: C(i, x, (2, 3)))(torch.ones(4, 3));
torch.vmap(lambda x: C(i, x, (2, 3)).to_dense())(torch.ones(4, 3));
torch.func.grad(lambda x: C(i, x, (2, 3)).to_dense().sum())(torch.ones(3));
torch.func.grad(lambda x: (C(i, v, (2, 3))@x).sum())(torch.ones(3))
"""
LAYOUTS = ("coo", "csr", "csc", "bsr", "bsc")


def _printed(library: Any, expression: str) -> Any:
    found = tried(library, f"repr({expression})".replace("R(", "torch.sparse_csr_tensor("))
    return found.replace("torchlite", "torch") if isinstance(found, str) else found


@pytest.mark.parametrize("calls", [MADE, TRANSFORMED], ids=["made", "transformed"])
def test_made_and_printed(calls: str) -> None:
    found = [(e, _printed(torch, e), _printed(torchlite, e)) for e in _listed(calls)]
    assert not [f for f in found if f[1] != f[2]]


# Those that are more than a matrix of numbers, and what makes them of a tensor of three dimensions.
FORMS = {
    "coo, two values at a place": lambda t: (t.to_sparse() + t.flip(2).to_sparse()).select(0, 0),
    "coo, dense dimensions": lambda t: t.to_sparse(2), "coo, nothing": lambda t: (t * 0).to_sparse(),
    "csr, dense dimensions": lambda t: t.to_sparse_csr(dense_dim=1), "csc, batches": lambda t: (t + 9).to_sparse_csc(),
    "bsr, dense dimensions": lambda t: t.to_sparse_bsr((1, 2), dense_dim=1),
    "bsc, batches": lambda t: (t + 9).to_sparse_bsc((2, 2)), "csc, nothing": lambda t: (t[0] * 0).to_sparse_csc(),
}  # fmt: skip


def _some(library: Any, layout: str) -> Any:
    if layout in FORMS:
        return FORMS[layout](library.tensor([[[0.0, 2], [0, 1]], [[0, 0], [3, 0]]]))
    dense = library.tensor([[0.0, 2, 0, 1], [0, 0, 3, 0]])
    return getattr(dense, f"to_sparse_{layout}")(*[(1, 2)] * layout.startswith("bs"))


def _parts(t: Any) -> list[Any]:
    rows = str(t.layout) in ("torch.sparse_csr", "torch.sparse_bsr")
    if t.is_sparse:
        return [t._indices().tolist(), t._values().tolist(), tuple(t.shape), t.is_coalesced()]
    names = ("crow_indices", "col_indices") if rows else ("ccol_indices", "row_indices")
    return [str(t.layout), *[getattr(t, n)().tolist() for n in (*names, "values")], tuple(t.shape)]


@pytest.mark.parametrize("layout", [*LAYOUTS, *FORMS])
@pytest.mark.parametrize(("writer", "reader"), [(torch, torchlite), (torchlite, torch), (torchlite, torchlite)])
def test_files_go_both_ways(layout: str, writer: Any, reader: Any) -> None:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        t = _some(writer, layout)
        writer.save({"a": t, "dense": writer.ones(2)}, file)
        for weights_only in (True, False) if reader is torchlite else (True,):
            file.seek(0)
            assert _parts(reader.load(file, weights_only=weights_only)["a"]) == _parts(t)


def test_a_file_with_places_outside_is_refused() -> None:
    file = io.BytesIO()
    torchlite.save(torchlite.sparse_coo_tensor(torchlite.tensor([[5]]), torchlite.ones(1), (2,)), file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
        torchlite.load(file)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies(layout: str) -> None:
    t = _some(torchlite, layout).requires_grad_()
    for made in (copy.deepcopy(t), pickle.loads(pickle.dumps(t.detach())), copy.copy(t), t.clone()):
        assert _parts(made.detach()) == _parts(t.detach())
    made = copy.deepcopy(t)
    assert made.requires_grad
    made.detach().values().zero_()
    assert t.detach().to_dense().sum() == 6


def test_scipy_both_ways() -> None:
    sp = pytest.importorskip("scipy.sparse")
    a = sp.random(6, 5, 0.4, format="coo", random_state=0)
    t = torchlite.sparse_coo_tensor(np.vstack([a.row, a.col]), a.data, a.shape)
    assert t.dtype is torchlite.float64 and np.array_equal(t.to_dense().numpy(), a.toarray())
    c = a.tocsr()
    r = torchlite.sparse_csr_tensor(c.indptr, c.indices, c.data, c.shape)
    assert r.crow_indices().dtype is torchlite.int32 and np.array_equal(r.to_dense().numpy(), a.toarray())
    back = sp.coo_matrix((t.coalesce().values().numpy(), t.coalesce().indices().numpy()), t.shape)
    assert np.array_equal(back.toarray(), a.toarray())
    rows = sp.csr_matrix((r.values().numpy(), r.col_indices().numpy(), r.crow_indices().numpy()), r.shape)
    assert np.array_equal(rows.toarray(), a.toarray())


def test_coordinates_like_compressed_tensors_keep_dense_dimensions() -> None:
    def program(torch: Any) -> Any:
        t = torch.ones(2, 3, 4, 5).to_sparse_csr(dense_dim=1)
        made = torch.zeros_like(t, layout=torch.sparse_coo)
        return made.sparse_dim(), made.dense_dim(), tuple(made.shape), made._nnz()

    assert program(torchlite) == program(torch)


def test_older_types_say_what_took_their_place() -> None:
    def told(torch: Any) -> list[str]:
        i, v = torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0])
        before = torch.is_warn_always_enabled()
        torch.set_warn_always(True)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                made = torch.sparse.FloatTensor(i, v)
                torch.sparse.FloatTensor(i, v, torch.Size([1, 2])), torch.sparse.FloatTensor(2, 3)
                torch.sparse.DoubleTensor(), made.new(2, 3)
        finally:
            torch.set_warn_always(before)
        return [str(w.message).partition(" (Triggered")[0] for w in caught]

    assert told(torchlite) == told(torch)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_what_has_one_value_at_most_is_coalesced_unless_told_otherwise(count: int) -> None:
    def told(lib: Any) -> list[bool]:
        places, values = lib.tensor([[0, 0], [1, 2]])[:, :count], lib.tensor([1.0, 2.0])[:count]
        made = [lib.sparse_coo_tensor(places, values, (3, 4), is_coalesced=given) for given in (None, False, True)]
        one, loose, _ = made
        derived = [lib.cat([one]), one + one, one.unsqueeze(0), one.clone(), one.t(), loose.t()]
        derived += [one.coalesce().select(0, 0), one.to_sparse_csr().select(1, 2), one.to_sparse_csc().select(0, 0)]
        return [t.is_coalesced() for t in (*made, *derived)]

    assert told(torchlite) == told(torch)


# Of `f`, which makes a tensor of a layout: parts `p` (where lines begin), `q` (places in them) and `v` (values) that go
# with a size `s`, and changes of these.
PARTS = """
f(p, q, v, s); f(p, q, v); f(p, q, v, s[:1]); f(p, q, v, (*s, 2)); f(p, q, w, s); f(p, q, w, (*s, 3));
f(p, q, torch.tensor(1.0), s); f(p, q, torch.ones(4), s); f(p, q, torch.ones(4, 2), s); f(p, q, v, (s[0] + 1, s[1]));
f(p, q, v, (s[0], s[1] + 1)); f(p, q, v, (s[0], s[1] // 2)); f(p, q, v, (s[0] // 2, s[1])); f(p, q[:3], v, s);
f(p, q, v[:3], s); f(p.float(), q, v, s); f(p.float(), q.float(), v, s); f(p.int(), q, v, s); f(p[0], q, v, s);
f(p, q[0], v, s); f(p[None], q, v, s); f(p, q[None], v, s); f(p[None], q[None], v[None], (1, *s));
f(p[None], q[None], v[None], (2, *s)); f(p[None].expand(2, 3), q[None], v[None], (2, *s)); f(p + 1, q, v, s);
f(p * 2, q, v, s); f(torch.tensor([0, 5, 4]), q, v, s); f(p, q + 1, v, s); f(p, q - 1, v, s); f(p, q * 0, v, s);
f(p, q.flip(0), v, s); f(p, q, v, (-1, 2)); f(p, q, v.to_sparse(), s); f(p.to_sparse(), q, v, s);
f(torch.tensor([0, 9, 2, 9, 4])[::2], q, v, s); f(p * 0, q[:0], v[:0], s)
"""


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
def test_parts_of_compressed_tensors_are_checked(layout: str) -> None:
    blocked = layout.startswith("b")

    def tries(library: Any) -> list[Any]:
        make, made = getattr(library, f"sparse_{layout}_tensor"), []
        names = {
            "torch": library, "f": lambda *parts: make(*parts, check_invariants=True), "p": library.tensor([0, 2, 4]),
            "q": library.tensor([0, 1, 0, 1]), "v": library.ones(4, 2, 2) if blocked else library.ones(4),
            "w": library.ones(4, 2, 2, 3) if blocked else library.ones(4, 3), "s": (4, 4) if blocked else (2, 2),
        }
        for call in _listed(PARTS):
            try:
                made.append((call, str(eval(call, names))))
            except (IndexError, RuntimeError, TypeError) as error:
                made.append((call, type(error).__name__, str(error).split("\n")[0]))
        return made

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine, theirs = tries(torchlite), tries(torch)
    assert not [(a, b) for a, b in zip(mine, theirs, strict=True) if a != b]


@pytest.mark.parametrize("to", ["to_sparse_bsr", "to_sparse_bsc"])
@pytest.mark.parametrize("block", [(1, 1), (2, 2), (1, 2), (2, 1), (4, 4)])
def test_values_of_blocks_stay_in_their_order(to: str, block: Any) -> None:
    def made(library: Any) -> list[Any]:
        found = []
        for d in (library.eye(4), library.ones(4, 4), library.eye(4)[:, :1] * library.eye(4)):
            x = getattr(d, to)(block).to_sparse()
            found.append((x._indices().tolist(), x._values().tolist(), x.is_coalesced()))
        return found

    assert made(torchlite) == made(torch)
