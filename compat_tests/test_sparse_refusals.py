"""What is refused of tensors in each sparse layout, in PyTorch's words: those of kernels with their overloads."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

import torchlite

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

LAYOUTS = {
    "coo": lambda t: t.to_sparse(), "csr": lambda t: t.to_sparse_csr(), "csc": lambda t: t.to_sparse_csc(),
    "bsr": lambda t: t.to_sparse_bsr((2, 2)), "bsc": lambda t: t.to_sparse_bsc((2, 2)),
}  # fmt: skip
# `x` is sparse, `d` dense, `i` a vector of places and `p` a matrix of them.
CALLS = """
x.amax(); x.amax(0); x.argmin(); x.argmin(0); x.all(); x.all(0); x.any(); x.any(0); torch.hash_tensor(x); x.mean();
x.mean(0); x.median(0); x.nanmedian(0); x.cummax(0); x.cummin(0); x.max(0); x.max(); x.logsumexp(0);
torch.stack([x, x]); torch.cat([x, x.to_dense()]); x.prod(); x.prod(0); x.cumsum(0); x.cumprod(0); x.sort(); x.topk(1);
x.unique(); x.sum(0).layout; x.tril(); x.triu_(); x.expand(4, 4); x.repeat(2, 2); x.masked_fill(d > 0, 1);
x.masked_fill_(d > 0, 1); x[i]; x.gather(0, p); x.reshape(16); x.flatten(); x.view(16); x.is_contiguous();
x.contiguous(); torch.equal(x, x); x.nan_to_num_(); x.diag_embed(); x.kron(d);
x.index_add(0, i, d); x.index_add_(0, i, d); x.index_copy(0, i, d); x.index_copy_(0, i, d); x.index_fill(0, i, 1);
x.index_fill_(0, i, 1); x.index_put((i,), d); x.index_put_((i,), d);
x.put(i, d[0]); x.put_(i, d[0]); x.scatter(0, p, d); x.scatter_(0, p, d); x.scatter(0, p, d, reduce='add');
x.scatter_add(0, p, d); x.scatter_add_(0, p, d); x.scatter_reduce(0, p, d, 'sum'); x.scatter_reduce_(0, p, d, 'sum');
x.index_reduce(0, i, d, 'prod'); x.index_reduce_(0, i, d, 'prod'); torch.linalg.cross(x[:3], d[:3]); x.logical_and(d);
x.logical_and_(d); x.logical_not_(); x.polygamma_(1); x.mvlgamma(1); x.mvlgamma_(1); torch.complex(x, d);
torch.polar(x, d); torch.linalg.det(x); torch.linalg.slogdet(x); torch.linalg.cholesky(x); torch.linalg.lu(x);
torch.linalg.householder_product(x, d[0]); torch.ormqr(x, d[0], d); torch.linalg.solve_triangular(x, d, upper=True);
torch.nn.functional.pad(x, (1, 1)); torch.nn.functional.glu(x); torch.nn.functional.layer_norm(x, (4,));
torch.nn.functional.softmax(x, 0); torch.nn.functional.log_softmax(x, 0); torch.nn.functional.hardtanh(x);
torch.nn.functional.huber_loss(x, d); torch.nn.functional.binary_cross_entropy(x, d); torch.nn.functional.logsigmoid(x);
torch.nn.functional.group_norm(x, 2); torch.nn.functional.soft_margin_loss(x, d); torch.special.zeta(x, d);
torch.masked.sum(x, mask=d > 0); torch.masked.amax(x); torch.masked.cumsum(x, 0);
torch.masked.softmax(x, 0, mask=d > 0); torch.masked.median(x, 0); torch.masked.norm(x, 2, 0);
torch.masked.logaddexp(x, d); torch.addmm(x, d, d); torch.addmm(x, x, d); x.aminmax(dim=0); x.max(0, keepdim=True);
x.aminmax(); torch.linalg.vector_norm(x); torch.linalg.vector_norm(x, dim=0); x.norm(2, 0); x.norm(2, 0, True);
x.kthvalue(1); torch.nn.functional.nll_loss(x, i); torch.nn.functional.nll_loss(x, i, reduction='none');
torch.nn.functional.conv1d(x, d[:, :, None]);
x.renorm(2, 0, 1);
x.renorm_(2, 0, 1); x.cumsum_(0); x.cumprod_(0); torch.unsafe_split(x, 2); x.split_with_sizes([2, 2]);
torch.linalg.pinv(x); torch.linalg.matrix_rank(x); torch.bernoulli(x); torch.multinomial(x, 1); torch.masked.var(x, 0);
torch.masked.std(x, 1); torch.addr(x, d[0], d[1]); x.add_(d); x + d; d + x; torch.randint_like(x, 3);
x.diagonal_scatter(d[0]); x.select_scatter(d[0], 0, 1); torch.dist(x, d); torch.where(x, d, d); torch.linalg.det(x)
"""

# The same where dense operands come first, in place, and of batches: `D` is one of matrices, `X` the same in a layout.
MIXED = """
d.index_add(0, i, x); d.index_add_(0, i, x); d.scatter(0, p, x); d.scatter_(0, p, x); d.scatter_add(0, p, x);
d.logical_or(x); d.logical_or_(x); d.masked_fill(x.bool(), 1); d.masked_fill_(x.bool(), 1); d.index_put((i,), x);
d.index_put_((i,), x); d.put_(i, x); torch.complex(d, x); torch.slice_scatter(d, x);
d.floor_divide_(x); d.masked_scatter(x.bool(), d); 1 - x; torch.rsub(x, d); torch.rsub(x, x); torch.rsub(d, x);
torch.bucketize(x, d[0]); torch.bucketize(1, x); torch.bucketize(d, x); torch.searchsorted(d, x);
torch.searchsorted(x, d); torch.searchsorted(x, 1.0); x.quantile(0.5, 0); x.nanquantile(0.5, 1);
torch.nn.functional.cosine_similarity(x, d); torch.nn.functional.max_pool1d(x, 2); x.narrow_copy(1, 1, 2);
torch.cat([d, x]); torch.hstack([d, x]); x.squeeze_(); x.unsqueeze_(0); x.as_strided_((2,), (1,));
torch.view_as_real(x); torch.view_as_complex(x); x.addmm_(d, d); d.mul_(x); x.mul_(d); x.ldexp_(d); torch.ldexp(d, x);
torch.nn.functional.max_pool2d(X, 2); X.transpose(0, 2); X.transpose(1, 0); X * D; X * X; torch.baddbmm(D, X, X);
torch.baddbmm(X, D, D); torch.baddbmm(D, D, X); torch.baddbmm(D, X, D); torch.baddbmm(X, X, X); torch.bmm(D, X);
torch.bmm(X, D); D.baddbmm_(D, X); x * torch.ones(2, 4, 4); torch.pow(2, x); torch.normal(d, x); torch.bincount(x);
torch.nn.functional.margin_ranking_loss(x, x, d); torch.nn.functional.multilabel_soft_margin_loss(d, x);
torch.nn.functional.pad(x, (1, -1)); torch.normal(x, d);
torch.sparse.sampled_addmm(x, x, d); torch.sparse.sampled_addmm(x, d, x);
torch.linalg.solve(x, d); torch.linalg.solve(d, x); torch.mm(d[:, :0], torch.zeros(0, 4).to_sparse_csc());
torch.mm(torch.zeros(4, 4).to_sparse_bsc((2, 2)), d); torch.nn.functional.max_unpool2d(X, X.long(), 2);
torch.nn.functional.pixel_shuffle(torch.ones(1, 4, 2, 2).to_sparse_csr(), 2);
x.copy_(torch.ones(4, 4).to_sparse_csr()); x.normal_()
"""

# The same of what PyTorch makes of other operations, and of tensors made like others: `M` is a batch of matrices.
COMPOSED = """
F.binary_cross_entropy_with_logits(d, x); F.binary_cross_entropy_with_logits(x, d); F.soft_margin_loss(d, x);
F.binary_cross_entropy_with_logits(d, d, pos_weight=x); F.hinge_embedding_loss(d, x); torch.isreal(x);
F.layer_norm(d, (4,), d[0], d[0].to_sparse()); F.layer_norm(d, (4, 4), x, d); F.layer_norm(d, (4, 4), d, x); x[0];
x[1]; x.select(1, 0); torch.select_copy(x, 1, 1); F.scaled_dot_product_attention(D, D, X);
F.scaled_dot_product_attention(M, D[None], D[None]); F.scaled_dot_product_attention(D[None], D[None], M);
torch.block_diag(x, d); torch.block_diag(d, x); F.group_norm(d[None], 2, d[0].to_sparse());
F.batch_norm(x, d[0], d[0]); torch.native_batch_norm(x, None, None, d[0], d[0], False, 0.1, 1e-5); F.bilinear(d, d, X);
F.embedding(p, x); F.embedding(p[0], x); F.embedding_bag(p, x); torch.linalg.lu_solve(x, p[0].int(), d);
torch.linalg.lu_solve(d, p[0].int(), x); torch.linalg.ldl_solve(x, p[0], d); torch.linalg.ldl_solve(d, p[0], x);
torch.lu_unpack(x, p[0].int()); torch.masked.cumsum(d, 0, mask=x.bool()); torch.masked.softmax(D, 0, mask=x.bool());
torch.masked.norm(d, 2, 0, mask=x.bool()); d.clone().copy_(x); x.sparse_mask(d); d.sparse_mask(d);
d.to_sparse_csr(dense_dim=1); d.to_sparse_csc(dense_dim=-1); d.to_sparse_bsr((2, 2), dense_dim=1);
d[0].to_sparse_csr(); D.to_sparse_csr(dense_dim=2); d.to_sparse(dense_dim=1);
x.clone(memory_format=torch.contiguous_format); x.clone(memory_format=torch.preserve_format);
torch.zeros_like(x, layout=torch.strided); torch.empty_like(x, memory_format=torch.preserve_format).layout;
torch.empty_like(d, layout=x.layout); torch.ones_like(x, memory_format=torch.preserve_format);
torch.ones_like(x, memory_format=torch.contiguous_format); torch.full_like(x, 2, memory_format=torch.preserve_format);
torch.ones_like(x, layout=torch.strided); torch.rand_like(x, memory_format=torch.preserve_format);
torch.zeros_like(d, layout=x.layout).layout;
torch.zeros_like(x, layout=torch.sparse_coo, memory_format=torch.preserve_format); torch.ones(2, 3, layout=x.layout);
torch.full((2,), 1.0, layout=x.layout); F.conv1d(x[None], D); F.conv1d(d, X); F.conv1d(D, X); F.conv2d(D[None], M);
F.conv2d(M, D[None]); F.conv2d(D, M); F.conv_transpose2d(D[None, :1], M[:, :1]);
F.conv2d(D[None, :1], D[None, :1], d[0, :1].to_sparse());
F.conv2d(D[None, :1], D[None, :1], d[0, :1].to_sparse(), dilation=2);
F.conv_transpose3d(D[None, None, :1], D[None, None, :1], d[0, :1].to_sparse());
F.conv3d(D[None], D[None, None], d[0, :1].to_sparse())
"""


def told(library: Any, layout: str, call: str) -> Any:
    d = library.tensor([[1.0, 0, 2, 0], [0, 3, 0, 0], [0, 0, 0, 4], [5, 0, 0, 0]])
    names = {"torch": library, "d": d, "x": LAYOUTS[layout](d), "i": library.tensor([0, 1, 2, 3])}
    names["D"] = library.arange(1.0, 33).reshape(2, 4, 4)
    names["F"] = library.nn.functional
    names["X"] = LAYOUTS[layout](names["D"])
    names["M"] = LAYOUTS[layout](names["D"][None])
    library.manual_seed(0)
    try:
        made = eval(call, names | {"p": library.zeros(4, 4, dtype=library.int64)})
    except Exception as error:
        said = re.split(r" This could be because| INTERNAL ASSERT|\n", str(error))[0]
        return type(error).__name__, said
    return str(made.to_dense() if hasattr(made, "to_dense") else made)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("listed", [CALLS, MIXED, COMPOSED], ids=["first", "mixed", "composed"])
def test_what_is_refused(layout: str, listed: str) -> None:
    calls = [call.strip() for call in listed.replace("\n", " ").split("; ")]
    tries = [(call, told(torchlite, layout, call), told(torch, layout, call)) for call in calls]
    assert not [t for t in tries if t[1] != t[2]]


@pytest.mark.parametrize("layout", ["to_sparse_bsr", "to_sparse_bsc"])
@pytest.mark.parametrize("block", [(1, 1), (2, 2), (1, 2), (2, 1), (4, 4), (2, 4), (4, 2)])
@pytest.mark.parametrize("dim", [0, 1])
def test_lines_of_blocks_are_selected_where_they_lie_in_steps(layout: str, block: Any, dim: int) -> None:
    def selected(library: Any) -> list[Any]:
        made = []
        for d in (library.eye(4), library.ones(4, 4), library.ones(4, 4, 2)):
            x = getattr(d, layout)(block, dense_dim=d.dim() - 2)
            try:
                made.append(x.select(dim, 3).to_dense().tolist())
            except RuntimeError as error:
                made.append(str(error))
        return made

    assert selected(torchlite) == selected(torch)


@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize("call", ["d.add(x, alpha=2)", "x.add(d, alpha=2)", "torch.nn.functional.linear(d, x, d[0])"])
def test_sums_of_compressed_tensors(layout: str, call: str) -> None:
    assert told(torchlite, layout, call) == told(torch, layout, call)


@pytest.mark.parametrize("call", ["torch.nn.functional.linear(x, x, d[0])", "torch.addmm(x, x, x, beta=2, alpha=3)"])
def test_products_of_compressed_tensors_are_added_to_others(call: str) -> None:
    assert told(torchlite, "csr", call) == told(torch, "csr", call)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dense", [False, True])
def test_gradients_of_log1p_are_made_of_the_dense_tensor(layout: str, dense: bool) -> None:
    def grad(library: Any) -> Any:
        x = LAYOUTS[layout](library.eye(4) / 4).requires_grad_()
        y = library.log1p(x)
        try:
            g = library.autograd.grad(y, x, library.ones(4, 4) if dense else y.detach())[0]
        except RuntimeError as error:
            return str(error)
        return str(g.layout), [round(v, 5) for v in g.to_dense().flatten().tolist()]

    assert grad(torchlite) == grad(torch)


# Of `x`, whose rows are a batch, and of `d`, a batch of vectors.
MAPPED = """
t.coalesce(); t.values(); t.indices(); t._values(); t._indices(); t.is_coalesced(); t.sparse_dim(); t.dense_dim();
t._nnz(); t.to_dense(); t * 2; t.clone(); torch.sparse.sum(t, 0)
"""
PRODUCTS_MAPPED = """
torch.sparse.mm(x, t); torch.sparse.addmm(t, x, t); torch.sparse.sampled_addmm(c, t, t); torch.mm(x, t); t.to_sparse();
t.sparse_mask(x); torch.hspmm(x, t); x @ t[0]; t.to_sparse_csr()
"""


@pytest.mark.parametrize("layout", ["coo", "csr"])
@pytest.mark.parametrize("of_products", [False, True])
def test_what_maps_are_refused(layout: str, of_products: bool) -> None:
    def tries(library: Any) -> list[Any]:
        d = library.tensor([[1.0, 0, 2, 0], [0, 3, 0, 0], [0, 0, 0, 4], [5, 0, 0, 0]])
        x, made = LAYOUTS[layout](d), []
        for call in (PRODUCTS_MAPPED if of_products else MAPPED).replace("\n", " ").split("; "):
            names = {"torch": library, "x": d.to_sparse(), "c": d.to_sparse_csr()}
            try:
                mapped = library.func.vmap(lambda t, call=call, names=names: eval(call, names | {"t": t}))
                result = mapped(library.stack([d, d + 1]) if of_products else x)
                made.append((call, str(result.layout), result.to_dense().tolist()))
            except Exception as error:
                made.append((call, type(error).__name__, str(error).split(" This could be because")[0]))
        return made

    mine, theirs = tries(torchlite), tries(torch)
    assert not [(a, b) for a, b in zip(mine, theirs, strict=True) if (a[0], a[1].replace("lite", ""), a[2]) != b]


DTYPES = ("float16", "bfloat16", "complex32", "int32", "bool", "float32")
# Of `z`, of two rows and three columns: as coordinates `s`, with places twice `u`, in rows `c` and in blocks `b`.
PRODUCTS = """
s + s; u + s; c + c; s * s; s @ s.t(); s @ z.t(); s @ z[0]; s.mv(z[0]); c @ z.t(); c @ c.t(); c @ z[0]; b @ z[:, :2];
z @ s.t(); z @ c.t(); u.coalesce().layout; u.to_dense(); u.to_sparse_csr().layout; torch.smm(s, z.t()).layout;
torch.hspmm(s, z.t()).layout; torch.hspmm(c, z.t()); torch.bmm(torch.stack([s, s]), torch.stack([z.t(), z.t()]));
torch.sparse.softmax(s, 0); torch.sparse.log_softmax(s, 1); torch.mm(s, z); torch.mm(z, s); torch.addmm(z, s, z);
torch.addmm(z, z, s); torch.addmm(z, s, z.t()); torch.addmm(z[:, :2].double(), s, z.t()); torch.mm(s, z.t().double());
torch.mm(z.to_sparse(1), z.t()); z.to_sparse(1).mv(z[0]); s.mv(z); s.mv(z[0, :2]); torch.hspmm(s, z);
torch.hspmm(z.to_sparse(1), z); torch.smm(s, z[0]); torch.smm(z, z); torch.smm(c, z); torch.sspaddmm(s, s, z.t());
torch.sparse.sampled_addmm(c, z, z[:, :2]); torch.sparse.sampled_addmm(c, z[:1, :2], z[:2]);
torch.sparse.sampled_addmm(c, z[0], z); torch.sparse.sampled_addmm(c, z[:, :2], z[:2, :2]);
torch.mm(s, s.t().double()); b.to_sparse_csr(); b.to_sparse_csc(); b.to_sparse_bsr((2, 2)); b.to_sparse_bsc((2, 1));
b.to_sparse(layout=torch.sparse_csr); b.to_sparse_bsr((1, 1)).layout; b.to_sparse().layout;
z.to_sparse(1).to_sparse_csr(); z.to_sparse(1).to_sparse_bsr((1, 1));
z.to_sparse(1).to_sparse(layout=torch.sparse_csr); c.t_(); c.transpose_(0, 1); b.t_(); s.t_().shape;
s.swapaxes_(0, 1).shape; z.to_sparse(1).adjoint(); z.to_sparse(1).transpose(-1, 0); s.unsqueeze(0).is_coalesced();
s.mul_(True).is_coalesced(); (s * 2).is_coalesced()
"""


def of_dtype(library: Any, dtype: str, call: str) -> Any:
    z = library.tensor([[1, 0, 0], [0, -0.5, 3.0]]).to(getattr(library, dtype))
    u = library.sparse_coo_tensor([[0, 0, 1], [1, 1, 2]], z[1], (2, 3))
    names = {"z": z, "s": z.to_sparse(), "u": u, "c": z.to_sparse_csr(), "b": z[:, :2].to_sparse_bsr((1, 1))}
    try:
        made = eval(call, names | {"torch": library})
    except Exception as error:
        return type(error).__name__, re.split(r" This could be because|\n", str(error))[0]
    if not hasattr(made, "to_dense"):
        return str(made)
    dense = made.to_dense() if made.layout is not library.strided else made
    return str(made.layout), str(made.dtype), str(dense.cfloat())


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_refused_of_types_and_shapes(dtype: str) -> None:
    calls = [call.strip() for call in PRODUCTS.replace("\n", " ").split(";")]
    tries = [(call, of_dtype(torchlite, dtype, call), of_dtype(torch, dtype, call)) for call in calls]
    assert not [t for t in tries if t[1] != t[2]]


PLACES = {"none": [[], []], "one": [[1], [1]], "rows": [[0, 1, 1], [1, 0, 2]], "twice": [[1, 0, 0], [1, 0, 0]]}


@pytest.mark.parametrize("dtype", [*DTYPES, "uint8"])
def test_products_of_values_in_order_and_out_of_it(dtype: str) -> None:
    def product(library: Any, one: str, other: str, dense: tuple[int, ...]) -> Any:
        def made(name: str, start: int) -> Any:
            count = len(PLACES[name][0])
            values = library.arange(start, start + 2 * count).reshape(count, 2).to(getattr(library, dtype))
            indices = library.tensor(PLACES[name], dtype=library.int64)
            t = library.sparse_coo_tensor(indices, values if dense else values[:, 0], (2, 3, *dense))
            return t._coalesced_(True) if name == "rows" else t

        try:
            result = made(one, 1) * made(other, 4)
        except NotImplementedError as error:
            return str(error)
        return result.is_coalesced(), result._indices().tolist(), result._values().cfloat().tolist()

    for one, other, dense in itertools.product(PLACES, PLACES, [(), (2,)]):
        assert product(torchlite, one, other, dense) == product(torch, one, other, dense), (one, other, dense)


NODES = """
s.conj(); s.conj_physical(); c.conj(); s.norm(); s.norm(1); s.norm(2, (0, 1)); torch.norm(s, 2)
""".strip().split("; ")


@pytest.mark.parametrize("call", NODES)
def test_nodes_of_sparse_conjugates_and_norms(call: str) -> None:
    def node(library: Any) -> str:
        z = library.tensor([[1, 0, 0], [0, -0.5, 3.0]], dtype=library.complex64)
        names = {"s": z.to_sparse().requires_grad_(), "c": z.to_sparse_csr().requires_grad_(), "torch": library}
        return eval(call, names).grad_fn.name()

    assert node(torchlite) == node(torch)
