"""What is asked of sparse tensors, one call after the other: each gives, or is refused for, what PyTorch's does."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import torchlite

torch = pytest.importorskip("torch")

ONES = """abs asin asinh atan atanh ceil positive conj conj_physical resolve_conj resolve_neg deg2rad frac floor log1p
relu neg rad2deg round sin sinh sign sgn signbit tan tanh trunc expm1 nan_to_num sqrt isinf isposinf isneginf isnan erf
erfinv angle real imag square exp cos log sigmoid isfinite logical_not bitwise_not rsqrt reciprocal"""
# On coordinates: `x`, of which one place has two values, and `xc`, coalesced.
COORDINATES = """
x.t(); x.T; x.mT; x.transpose(0, 1); x.permute(1, 0); x.stride(); x.stride(0); x.storage(); x.untyped_storage();
x.storage_offset(); x.data_ptr(); x.is_contiguous(); x.contiguous(); x.view(3, 2); x.reshape(3, 2);
x.reshape(2, 3); x.flatten(); x.unsqueeze(0); x.squeeze(); x.unsqueeze(0).squeeze(0); x.numpy(); x.item();
x.tolist(); x[0]; x[0, 2]; x[0:1]; x[:, 1]; x[None]; x[torch.tensor([0])]; x[x>0]; x.select(0, 0); x.select(1, 2);
x.narrow(0, 0, 1); x.narrow_copy(0, 0, 1); x.unbind(0); x.split(1); x.chunk(2); list(x); len(x); x.expand(2, 2, 3);
x.expand(2, 3); torch.broadcast_to(x, (2, 3)); x.repeat(2, 2); torch.stack([x, x]); torch.cat([x, x]);
torch.cat([x, x], 1); torch.cat([x, x.to_dense()]); torch.hstack([x, x]); torch.vstack([x, x]); x.sum(); x.sum(0);
x.sum((0, 1)); x.mean(); x.mean(0); x.max(); x.amax(); x.argmax(); x.min(0); x.prod(); x.norm(); x.norm(1);
x.norm(2, 0); x.any(); x.all(); x.var(); x.std(); x.cumsum(0); x.sort(); x.trace(); x.diag(); x.diagonal();
x.triu(); x.nonzero(); torch.count_nonzero(x); x.isnan().any(); x.unique(); x.clone(); x.detach(); x.data;
x.to(torch.float64); x.double(); x.bool(); x.int(); x.half(); x.to('cpu'); x.cpu(); x.numel(); x.dim();
x.element_size(); x.nbytes; x.bool().to_dense(); x.is_sparse; x.is_sparse_csr; x.layout; x+1; 1+x; x-1; x*2; 2*x;
x/2; 2/x; x//2; x%2; x**2; x**0.5; 2**x; x+x; x-x; x*x; x/x; x//x; x+x.to_dense(); x.to_dense()+x; x-x.to_dense();
x.to_dense()-x; x*x.to_dense(); x.to_dense()*x; x/x.to_dense(); x.to_dense()/x; x*torch.tensor(2.);
x/torch.tensor(2.); x/torch.tensor(2.).to_sparse(); x//torch.tensor(2.).to_sparse(); x+torch.tensor(2.);
torch.tensor(2.)*x; x*torch.tensor([1., 2, 3]); x+torch.tensor([1., 2, 3]);
x==x; x==0; x>0; x.eq(x); torch.allclose(x, x); x.eq(x.to_dense()); torch.where(x>0, x, x); torch.maximum(x, x);
x.fmod(2); x.clone().add_(x); x.clone().add_(1); x.clone().mul_(2); x.clone().mul_(x);
x.clone().mul_(x.to_dense()); x.clone().div_(2); x.clone().sub_(x); x.to_dense().add_(x); x.to_dense().sub_(x);
x.to_dense().mul_(x); x.clone().add_(x.to_dense()); x.clone().zero_(); x.clone().fill_(1); x.clone().copy_(x);
x.clone().copy_(x.to_dense()); x.to_dense().copy_(x); x.clone().resize_(2, 3); x.clone().resize_(4, 3);
x.clone().sparse_resize_((4, 4), 2, 0); x.clone().sparse_resize_((4, 1), 2, 0);
x.clone().sparse_resize_and_clear_((4, 1), 1, 1); x.clone().t_(); x.clone().transpose_(0, 1); x.clone().squeeze_();
x.clone().resize_as_(C((3, 4))); x.clone().resize_as_(x.to_dense()); torch.tensor(2.).to_sparse().transpose(0, -1);
torch.tensor(2.).to_sparse().transpose(0, 1); torch.tensor(2.).to_sparse().mT;
torch.tensor(2.).to_sparse().index_select(0, torch.tensor([0]));
x.clone().random_(); x.clone().normal_(); torch.zeros_like(x); torch.ones_like(x); torch.empty_like(x);
torch.rand_like(x); torch.full_like(x, 2.); x.new_zeros(2, 2); x.new_empty(2, 2); x.new(2, 2); x.new_tensor([1.]);
torch.empty(2, 3, layout=torch.sparse_coo); torch.zeros(2, 3, layout=torch.sparse_coo);
torch.ones(2, 3, layout=torch.sparse_coo); torch.rand(2, 3, layout=torch.sparse_coo);
torch.empty(2, 3, layout=torch.sparse_csr); torch.zeros(2, 3, layout=torch.sparse_csr);
torch.eye(2, layout=torch.sparse_coo); x.index_select(0, torch.tensor([0, 0])); x.index_select(0, torch.tensor(0));
x.index_select(0, torch.tensor([0]).int()); x.index_select(0, torch.tensor([1.])); x.index_select(0, x);
x.gather(0, torch.tensor([[0]]));
x.where(x.to_dense()>0, 1.); x.flip(0); x.roll(1); x.indices(); x.values(); x._indices(); x._values();
x.crow_indices(); x._nnz(); x.sparse_dim(); x.dense_dim(); x._dimI(); x._dimV(); x.coalesce(); x.coalesce() is x;
x.coalesce().coalesce(); x.clone()._coalesced_(True); x.to_sparse(); x.to_sparse(1); x.to_sparse_csr();
x.to_sparse_csc(); x.to_sparse_bsr((1, 3)); x.to_sparse_bsc((1, 3)); x.to_sparse(layout=torch.sparse_csr);
x.to_dense(torch.float64); x.to_dense().to_sparse(1); x.sparse_mask(x); x.sparse_mask(x.to_dense());
x.to_dense().sparse_mask(x); x@torch.ones(3); torch.ones(2)@x; x@torch.ones(3, 2); torch.ones(2, 2)@x; x@x.t();
x.mm(x.t()); x.mv(torch.ones(3)); x.matmul(torch.ones(3, 2)); torch.sparse.mm(x, torch.ones(3, 2));
torch.sparse.mm(torch.ones(2, 2), x); torch.sparse.mm(x, x.t()); torch.sparse.mm(x, torch.ones(3, 2), 'sum');
torch.sparse.mm(x.to_sparse_csr(), torch.ones(3, 2), 'mean'); torch.spmm(x, torch.ones(3, 2));
torch.dsmm(x, torch.ones(3, 2)); torch.hspmm(x, torch.ones(3, 2)); torch.hsmm(x, torch.ones(3, 2));
torch.smm(x, torch.ones(3, 2)); torch.sspaddmm(torch.eye(2).to_sparse(), x, torch.ones(3, 2));
torch.saddmm(torch.eye(2).to_sparse(), x, torch.ones(3, 2)); torch.addmm(torch.ones(2, 2), x, torch.ones(3, 2));
torch.sparse.addmm(torch.ones(2, 2), x, torch.ones(3, 2)); torch.sparse.sum(x); torch.sparse.sum(x, 0);
torch.sparse.sum(x, [0], dtype=torch.float64); torch.sparse.softmax(x, 1); torch.softmax(x, 1);
torch.sparse.log_softmax(x, 1); torch.bmm(torch.stack([x, x]), torch.ones(2, 3, 2)); torch.dot(x[0], x[0]);
torch.mv(x, x[0]); torch.nn.functional.linear(x, torch.ones(4, 3));
torch.nn.functional.linear(torch.ones(4, 3), x); torch.einsum('ij, j->i', x, torch.ones(3));
torch.tensordot(x, torch.ones(3, 2), 1); torch.nn.functional.softmax(x, 1); torch.nn.functional.relu(x);
torch.nn.functional.embedding(torch.tensor([0]), x); torch.add(x, x, out=x.clone()); torch.is_nonzero(x); bool(x);
float(x); x.__array__(); x.requires_grad_(); x.share_memory_(); x.is_shared(); x.type(); torch.is_tensor(x);
x.dtype; x.get_device(); x.is_leaf; x.is_pinned(); x.new_full((2, ), 1.); torch.nn.Parameter(x);
x.type(torch.float64); x.type('torch.sparse.DoubleTensor'); torch.as_tensor(x); torch.tensor(x);
torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0, 1]), (3, 3)); torch.isclose(x, x); x.logical_and(x);
x.as_strided((1, ), (1, )); x.unfold(0, 1, 1); x.movedim(0, 1); x.swapaxes(0, 1); x.H; x.adjoint(); x.conj();
x.is_conj(); x.softmax(1); x.log_softmax(1); x.is_same_size(x); x.masked_select(x.to_dense()>0); x.lerp(x, 0.5);
x.addcmul(x, x); torch.addcmul(x, x, x); x.frac(); x.nansum(); x.dist(x); x.cos();
torch.sparse.sampled_addmm(e, e@d, torch.ones(2, 3)); torch.addmv(torch.ones(2), x, torch.ones(3));
torch.bmm(torch.ones(2, 2, 3).to_sparse_csr(), torch.ones(2, 3, 2));
torch.bmm(torch.ones(2, 2, 3).to_sparse(), torch.ones(2, 3, 2));
torch.bmm(torch.ones(2, 2, 3), torch.ones(2, 3, 2).to_sparse());
torch.sparse.spsolve(torch.eye(2).to_sparse_csr(), torch.ones(2));
torch.eye(3).to_sparse_csr()@torch.eye(3).to_sparse_csr(); x+C(i, v, (3, 3)); x*C(i, v, (3, 3));
torch.ones(3, 3)+x; x*torch.ones(2, 1); C(i, v, (2, 3))*torch.ones(1, 3); xc+xc; xc*xc; xc*e; xc*2; xc/2; -xc;
xc.t(); xc.index_select(0, torch.tensor([0, 1])); xc.index_select(1, torch.tensor([0, 1])); xc.select(0, 0);
xc.select(1, 0); xc[0]; torch.cat([xc, xc]); torch.stack([xc, xc]); xc.narrow_copy(0, 0, 1); xc.clone();
xc.double(); xc.sum(0); xc.sparse_mask(xc); e.sparse_mask(xc); x.sparse_mask(xc); xc.sparse_mask(x);
torch.zeros_like(xc); torch.sparse.sum(xc, 0); torch.sparse.sum(torch.ones(2, 3, 4).to_sparse(2), 2);
torch.sparse.sum(torch.ones(2, 3, 4).to_sparse(2), (0, 1));
torch.sparse.sum(torch.ones(2, 3, 4).to_sparse(2), (0, 2)); torch.ones(2, 3, 4).to_sparse(2).transpose(0, 2);
torch.ones(2, 3, 4).to_sparse(2).transpose(0, 1); torch.ones(2, 3, 4).to_sparse(1).transpose(1, 2);
torch.ones(2, 3, 4).to_sparse(1).permute(0, 2, 1); torch.ones(2, 3, 4).to_sparse(1).permute(2, 0, 1);
torch.ones(2, 3, 4).to_sparse(1)*2; torch.ones(2, 3, 4).to_sparse(1)*torch.ones(2, 3, 4);
torch.ones(2, 3, 4).to_sparse(1)*torch.ones(4); torch.ones(2, 3, 4).to_sparse(1)[1];
torch.ones(2, 3, 4).to_sparse(1)[1, 2]; torch.ones(2, 3, 4).to_sparse(2)[1, 2];
torch.ones(2, 3, 4).to_sparse(2)[1, 2, 3]; torch.ones(2, 3, 4).to_sparse(2).t();
torch.ones(2, 3, 4).to_sparse(1).sum(0); torch.ones(2, 3, 4).to_sparse(1).sum(1);
torch.ones(2, 3, 4).to_sparse(2).sum((0, 1)); x.clone().add_(x, alpha=2); x.to_dense().add_(x, alpha=2);
x.to_dense().add_(x.double()); x.to_dense().double().add_(x); x.int()+x; x.int()*2.5; x.int()/2; x.bool()+x.bool();
x.bool()*x; x.int().sum(); x.int().sum(0); x.half()+x; x**1; x**0; torch.norm(x, p=1);
torch.norm(x, p=float('inf')); torch.norm(x, p='fro'); x.square(); x.log_softmax(0);
x.requires_grad_(False).is_leaf; torch.sparse.mm(x, C(i, v, (2, 3)));
torch.addmm(torch.ones(2, 2), x, d, beta=2, alpha=3); torch.addmm(torch.ones(2), x, d);
torch.sspaddmm(x, x, torch.ones(3, 3), beta=2, alpha=3); torch.hspmm(x, d); torch.addmm(x, x, torch.ones(3, 3));
torch.mm(d, x); torch.matmul(torch.ones(2, 3, 2), x); torch.matmul(x, torch.ones(2, 3, 2));
torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0, 1]), (3, 3), layout=torch.sparse_csr);
torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0, 1]), (3, 3), layout=torch.sparse_csc);
torch.sparse.spdiags(torch.ones(3), torch.tensor([1]), (3, 3));
torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0, 0]), (3, 3));
torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0]), (3, 3));
torch.sparse.spdiags(torch.arange(9.).reshape(3, 3), torch.tensor([-1, 0, 2]), (4, 5));
torch.sparse.softmax(torch.ones(2, 3, 4).to_sparse(2), 2);
torch.sparse.softmax(torch.ones(2, 3, 4).to_sparse(2), 0); torch.sparse.softmax(x, 1, dtype=torch.float64);
torch.sparse.softmax(x, 5); x.add(1); x.is_floating_point(); x.is_complex(); x.conj_physical();
C(i, v*1j, (2, 3)).conj().to_dense(); C(i, v*1j, (2, 3)).abs(); C(i, v*1j, (2, 3)).real; C(i, v*1j, (2, 3)).imag;
torch.view_as_real(C(i, v*1j, (2, 3))); C(i, v*1j, (2, 3)).H; xc.ldexp(e); torch.trapezoid(xc);
x.clone().add_(x, alpha=0.5); xc.clone().sub_(xc.clone(), alpha=0.5); xc.narrow_copy(1, 1, 2);
torch.view_as_complex(torch.ones(2, 3, 2).to_sparse(2)); torch.tensor(2.).to_sparse().sin_();
x.clone().resize_as_sparse_(x); x.clone().resize_as_sparse_(C((3, 4))); x.clone().resize_as_sparse_(e)
"""
# On compressed rows `c`, columns `k` and blocks `b`.
COMPRESSED = """
c@d; c@c.t(); c@x.t(); x@c.t(); c.mm(d); c@torch.ones(3); e.t()@c; k@d; c+c; c+e; e+c; c*c; c*e; e*c; c*2; 2*c;
c*torch.tensor(2.); c.t(); c.T; c.mT; c.transpose(0, 1); c.permute(1, 0); c.stride(); c.storage_offset();
c.data_ptr(); c.is_contiguous(); c.contiguous(); c.clone(); c.detach(); c.to(torch.float64); c.double(); c.cpu();
c.sum(); c.sum(0); c.sum(0, keepdim=True); c.sum(1, keepdim=True); c.mean(); c.abs(); c.sin(); c.neg(); c.relu();
c.sqrt(); c.angle(); c[0]; c[0, 2]; c.select(0, 0); c.select(1, 2); c.indices(); c._indices(); c._values();
c._nnz(); c.sparse_dim(); c.dense_dim(); c.coalesce(); c.is_coalesced(); c.ccol_indices(); c.to_sparse();
c.to_sparse_coo(); c.to_sparse_csr(); c.to_sparse_csc(); c.to_sparse_bsr((1, 3)); c.to_dense(); c.numpy();
c.tolist(); c.sparse_mask(c); e.sparse_mask(c); x.sparse_mask(c); c.index_select(0, torch.tensor([0])); c.zero_();
c.clone().zero_(); c.clone().copy_(c); c.clone().mul_(2); c.clone().add_(c); c.clone().abs_(); torch.zeros_like(c);
torch.ones_like(c); c.new_zeros(2, 2); c.is_sparse; c.is_sparse_csr; c.dim(); c.numel();
torch.addmm(torch.ones(2, 2), c, d); torch.sparse.addmm(torch.ones(2, 2), c, d);
torch.addmm(torch.eye(2).to_sparse_csr(), c, c.t()); torch.sparse.mm(c, d); torch.sparse.mm(d, c);
torch.sparse.mm(c, c.t().to_sparse_csr()); torch.sparse.mm(c, d, 'sum'); torch.sparse.mm(c, d, 'mean');
torch.sparse.mm(c, d, 'amax'); torch.sparse.mm(c, d, 'amin'); torch.sparse.mm(c, d, 'foo');
torch.sparse.sampled_addmm(c, e@d, torch.ones(2, 3));
torch.sparse.sampled_addmm(c, e@d, torch.ones(2, 3), beta=2, alpha=3); torch.mv(c, torch.ones(3));
torch.addmv(torch.ones(2), c, torch.ones(3)); torch.nn.functional.linear(torch.ones(4, 3), c);
torch.nn.functional.linear(c, torch.ones(4, 3)); k+k; k.t(); b.t(); b+b; b*2; k+e; k.sum(); b.sum(); b.abs();
b.transpose(0, 1); b.to_sparse(); b.to_sparse_bsc((1, 3)); k.to_sparse_csr(); k.to_sparse(); k[0]; b[0];
torch.sparse.softmax(c, 1); c.ldexp(e); k@k.t().to_sparse_csc(); torch.crow_indices_copy(c);
torch.crow_indices_copy(k); torch.col_indices_copy(b); torch.ccol_indices_copy(k);
torch.row_indices_copy(k); torch.values_copy(b);
torch.values_copy(x); torch.indices_copy(c); torch.row_indices_copy(x); torch.zeros_like(b);
torch.zeros_like(b, layout=torch.sparse_csr); torch.zeros_like(c, layout=torch.sparse_bsr);
torch.zeros_like(e, layout=torch.sparse_bsc); torch.empty_like(c, layout=torch.sparse_coo);
torch.zeros_like(torch.ones(2, 3, 2).to_sparse_csr(dense_dim=1), layout=torch.sparse_csc);
torch.zeros_like(torch.ones(2, 3, 2).to_sparse_csr(), layout=torch.sparse_csc);
torch.zeros((2, 3), layout=torch.sparse_bsr); torch.empty((2, 3), layout=torch.sparse_bsc);
torch.zeros((3,), layout=torch.sparse_csr); b.new_zeros(2, 2); b.new_ones(2, 2); c.new_ones(2, 2)._nnz();
c.new_full((2, 2), 1.0)._nnz(); c.new_ones(2); c.new_tensor([1.0]); c.new(2, 2); k.new(); torch.select_copy(c, 0, 0);
torch.select_copy(k, 1, 2); torch.select_copy(b, 0, 1); torch.select_copy(c, 0, 7); c.clone().resize_(2, 3);
c.clone().resize_(3, 4); c.clone().resize_(1, 3); c.clone().resize_(0, 3); c.clone().resize_(2, 1);
c.clone().add_(c.clone(), alpha=0.5); c.clone().copy_(e.to_sparse_csr());
c.clone().resize_as_(e); c.clone().resize_as_sparse_(c); x.resize_as_sparse_(c); c.resize_as_sparse_(e);
c.resize_as_sparse_(k); torch.ops.aten.threshold_backward(c, c, 0); torch.ops.aten.threshold_backward(b, b, 0);
torch.ops.aten.threshold_backward(c, e, 0)
"""
_OVERLOAD = re.compile(r"'aten::(\w+?)_?(\.\w+)?'")


def _names(library: Any) -> dict[str, Any]:
    i, v = library.tensor([[0, 0, 1], [2, 2, 0]]), library.tensor([1.0, 2, -3.0])
    x = library.sparse_coo_tensor(i, v, (2, 3))
    return {
        "torch": library, "C": library.sparse_coo_tensor, "i": i, "v": v, "x": x, "xc": x.coalesce(),
        "c": x.to_sparse_csr(), "k": x.to_sparse_csc(), "b": x.to_sparse_bsr((1, 3)), "d": library.ones(3, 2),
        "e": library.ones(2, 3),
    }  # fmt: skip


REFUSED = """
c/2; c-c; c-e; e-c; c-1; c**2; c.square(); c.pow(2); c.cos(); b.cos(); k.exp(); c>0; c==c; c.clamp(0, 1); c.div(c);
c.nan_to_num(); c.norm(); c.any(); c.all(); c.logical_not(); c//2; c.expand(2, 3); c.unsqueeze(0); c.squeeze();
c.split(1); torch.cat([c, c]); torch.stack([c, c]); c.repeat(1, 1); c.mean(); c.mean(0); c.argmax(); c.cumsum(0);
c.masked_fill(e>0, 1); torch.nn.functional.gelu(c); torch.nn.functional.dropout(c); torch.nn.functional.dropout(x);
torch.nn.functional.dropout(x, 0.0); c+torch.ones(3); torch.ones(3)+c; c+1; c.clone().copy_(e); c.clone().copy_(x);
c.clone().fill_(2); k*k; b*b; k*c; e*k; e*b; b*e; c+k; k+c; k+b;
c.unbind(); k.unsqueeze(0); b.sort(); k.diagonal(); torch.alias_copy(k); torch.t_copy(c);
list(k); x.unbind(); x.clone().pow_(2); x.clone().square_(); x.split(1); x.sort()
"""


def _told(library: Any, value: Any) -> Any:
    """A value of either library as data."""
    if isinstance(value, library.Tensor):
        dense = value.layout == library.strided
        coalesced = value.layout == library.sparse_coo and value.is_coalesced()
        about = (str(value.layout), tuple(value.shape), str(value.dtype), coalesced)
        return (*about, value.tolist()) if dense else (*about, value._nnz(), value.to_dense().tolist())
    if isinstance(value, (tuple, list)):
        return [_told(library, v) for v in value]
    return repr(value).replace("torchlite", "torch")


def tried(library: Any, expression: str) -> Any:
    """What an expression gives, or is refused for: of missing kernels the op, of all else the first sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _told(library, eval(expression, _names(library)))
    except Exception as error:
        said = re.split(r" This could be because|\. |\n", str(error))[0].rstrip(".")
        return type(error).__name__, _OVERLOAD.sub(r"'aten::\1'", said)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, (tuple, list)):
        return isinstance(b, (tuple, list)) and len(a) == len(b) and all(map(_same, a, b))
    return a == pytest.approx(b, rel=1e-5, nan_ok=True) if isinstance(a, float) else a == b


def _differ(expressions: list[str]) -> list[Any]:
    tries = [(e, tried(torch, e), tried(torchlite, e)) for e in expressions]
    return [t for t in tries if not _same(*t[1:])]


def _listed(text: str) -> list[str]:
    return [e.strip() for e in text.replace("\n", " ").split("; ")]


def test_functions_of_one_tensor() -> None:
    pairs = [(name, t) for name in ONES.split() for t in ("x", "xc")]
    forms = [f"torch.{name}({t})" for name, t in pairs]
    in_place = [f"{t}.clone().{name}_()" for name, t in pairs if name != "square"]
    assert not _differ([*forms, *in_place])


@pytest.mark.parametrize("calls", [COORDINATES, COMPRESSED, REFUSED], ids=["coordinates", "compressed", "refused"])
def test_calls(calls: str) -> None:
    assert not _differ(_listed(calls))


MISSING = """
x.clamp(0, 1); x.clone().clamp_(0, 1); x.bitwise_and(1); x.fmod(2); x.clone().remainder_(2); x.copysign(1.); x.xlogy(2);
x.bitwise_left_shift(1); x.logical_not(); x.clone().logical_or_(x); x.isfinite(); x.allclose(x); x.argsort();
x.argwhere(); x.count_nonzero(); x.cummax(0); x.logcumsumexp(0); x.median(0); torch.celu(x); torch.selu_(x.clone());
torch.linalg.inv(torch.eye(2).to_sparse()); torch.slice_copy(x); x.rot90(); torch.isin(x, 2); torch.frexp(x); c.amax();
c.tril(); c.topk(1); c.rot90(); torch.isin(c, c); c.argwhere();
x.dequantize(); torch.linalg.qr(c); c.logcumsumexp(0); c.hash_tensor(); c.count_nonzero()
"""


@pytest.mark.parametrize("expression", [e.strip() for e in MISSING.split(";")])
def test_missing_kernels_are_called_as_pytorch_calls_them(expression: str) -> None:
    said = []
    for library in (torch, torchlite):
        with pytest.raises(NotImplementedError) as caught, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eval(expression, _names(library))
        said.append(str(caught.value).split(" This could be")[0])
    assert said[0] == said[1]


PLACES = {"one": [2], "in order": [0, 2, 3], "others": [1, 2], "twice": [1, 1, 2], "none": []}


@pytest.mark.parametrize("first", PLACES)
@pytest.mark.parametrize("second", PLACES)
def test_places_of_sums(first: str, second: str) -> None:
    """Values are added up in pairs where the places of both are in order, coalesced or not."""

    def summed(lib: Any, coalesced: bool) -> Any:
        places = [lib.tensor(PLACES[name], dtype=lib.int64)[None] for name in (first, second)]
        a, b = [lib.sparse_coo_tensor(at, lib.ones(at.numel(), 2), (5, 2)) for at in places]
        made = (a.coalesce() if coalesced else a) + b
        return made._indices().tolist(), made._values().tolist(), made.is_coalesced()

    for coalesced in (False, True):
        assert summed(torchlite, coalesced) == summed(torch, coalesced)
