"""Unsigned integers wider than 8 bits, which few of PyTorch's CPU kernels take: what takes them, and what refuses."""

from __future__ import annotations

from typing import Any

import pytest

import torchlite

torch = pytest.importorskip("torch")

# Done to `u`, a matrix of three by three.
CALLS = """
t.clamp(u,1,2); u+1; u*2; u*u; u/2; u//2; u%2; u-1; -u; u<2; u==2; u&1; u<<1; u**2; 2**u; u.square(); u.median(0)
u.nanmedian(0); u.median(); u.max(0); u.argmax(); u.amax(); u.sort(); u.kthvalue(1); u.topk(1); u.mode(); u.unique()
u.aminmax(dim=0); u.cumsum(0); u.cumprod(0); u.prod(); u.sum(); u.mean(dtype=t.float); u.flip(0); u.roll(1); u.tril()
u.triu(); u.trace(); u.diff(); u.index_select(0,t.tensor([0])); u.index_fill(0,t.tensor([0]),1)
u.index_copy(0,t.tensor([0]),u[:1]); u.gather(0,t.tensor([[0]])); u.scatter(0,t.tensor([[0]]),1)
u.scatter_add(0,t.tensor([[0]]),u); u.scatter_reduce(0,t.tensor([[0]]),u,'sum')
u.index_reduce(0,t.tensor([0]),u[:1],'prod'); u.masked_fill(u.bool(),1); u.masked_scatter(u.bool(),u)
u.masked_select(u.bool()); u[u.bool()]; u[t.tensor([0])]; u.take(t.tensor([0])); u.put(t.tensor([0]),u[0,:1])
t.where(u.bool(),u,u); t.cat([u,u]); t.stack([u,u]); u.repeat(2,2); u.repeat_interleave(2); u.nonzero()
u.count_nonzero(); u.any(); u.all(); u.logical_not(); u.logical_and(u); u.isin(u); u[0].bincount()
t.bucketize(u,u[0]); t.searchsorted(u,u); u.norm(); u.float(); u.clone().fill_(2); u.clone().zero_()
u.clone().add_(1); u.clone().mul_(2); t.arange(3,dtype=u.dtype); t.eye(3,dtype=u.dtype)
t.linspace(0,3,3,dtype=u.dtype); t.full((2,),3,dtype=u.dtype); t.tril_indices(3,3,dtype=u.dtype); u@u; u.addmm(u,u)
u[0].dot(u[0]); u[0].outer(u[0]); t.kron(u,u); t.cross(u,u); t.cdist(u,u); u.abs(); u.sign(); u.sgn(); u.floor()
u.gcd(u); u.lcm(u); u.lerp(u,1); t.addcmul(u,u,u); u.ne(u); u.isfinite(); u.cummax(0); u.logcumsumexp(0); u.softmax(0)
u.log_softmax(0); u.sin(); u.float_power(2); u.maximum(u); u.bitwise_not(); u.to(t.int32)+u; u+u.int(); u+u.bool()
u.float()+u; u[0,0].item(); u.diag(); u.trapezoid(); t.combinations(u[0]); t.equal(u,u); t.allclose(u,u); t.var(u)
t.nn.functional.one_hot(u); t.nn.functional.embedding(u,u.float()); t.nn.functional.pad(u,(1,1))
t.nn.functional.pad(u,(1,1),mode='circular'); t.nn.functional.pad(u,(1,1),mode='reflect')
t.nn.functional.pad(u,(1,1),mode='replicate'); t.nn.functional.interpolate(u[None,None],scale_factor=2)
t.nn.functional.avg_pool2d(u[None],2); t.nn.functional.max_pool2d(u[None],2); t.nn.functional.max_pool1d(u,2)
t.nn.functional.adaptive_max_pool2d(u[None],2); t.nn.functional.adaptive_avg_pool2d(u[None],2)
t.nn.functional.unfold(u[None,None],2); t.cumulative_trapezoid(u); t.gradient(u); t.bitwise_and(u,u); t.fliplr(u)
t.einsum('ij,jk',u,u); t.tensordot(u,u); t.block_diag(u,u); t.unique_consecutive(u); t.unique(u,dim=0); u.clamp_max(u)
t.nn.functional.relu(u); t.nn.functional.relu6(u); t.nn.functional.threshold(u,1,2); t.vander(u[0]); t.msort(u)
t.argsort(u); t.quantile(u,.5); t.heaviside(u,u); t.copysign(u,u); t.fmin(u,u); t.corrcoef(u); t.cov(u)
t.logaddexp(u,u); t.ldexp(u,u); t.nextafter(u,u); t.std_mean(u); t.chain_matmul(u,u); t.matrix_power(u,2)
t.addr(u,u[0],u[0]); t.mv(u,u[0]); t.bmm(u[None],u[None]); t.cartesian_prod(u[0],u[0]); t.frac(u); t.round(u)
t.round(u,decimals=1); t.trunc(u); t.signbit(u); t.nan_to_num(u); t.xlogy(u,u); t.isposinf(u); t.isclose(u,u)
t.positive(u); t.real(u); t.conj_physical(u); t.nansum(u); t.nanmean(u); t.logsumexp(u,0); t.std(u)
t.searchsorted(u[0],1); u.fmod(2); u.remainder(2); u.floor_divide(2); t.div(u,2,rounding_mode='trunc')
t.div(u,2,rounding_mode='floor'); t.div(u,2); u^1; u|u; ~u; u>>1; 1-u; 1+u; 2*u; 2/u; 2//u; u.sub(u); u[0]+u[1]
u.cumsum(0,dtype=t.int); u.minimum(u); u.min(); u.argmin(0); t.nn.functional.conv1d(u[None],u[None])
t.nn.functional.conv2d(u[None,None],u[None,None]); t.nn.functional.linear(u,u); t.nn.functional.linear(u,u,u[0])
t.nn.functional.bilinear(u,u,u[None]); t.nn.functional.mse_loss(u,u); t.nn.functional.l1_loss(u,u)
t.nn.functional.softsign(u); u.zero_(); u.t(); t.flip(u[:0],[0]); u[:0]+1; u[:0].max(0); t.zeros(()).to(u.dtype)+1
t.zeros(()).to(u.dtype).mode(); t.cat([u,u.int()]); t.stack([u,u.to(t.uint8)]); t.where(u.bool(),u,u.to(t.uint8))
t.where(u.bool(),u,1); t.equal(u,u.int()); u==u.int(); u*u.to(t.uint8); u&u.to(t.uint8); t.add(u,u,out=t.empty(0))
u.float().add_(u); u.add_(u); u.mul_(u); u.copy_(u.int()); u.index_put_((t.tensor([0]),),u[0])
u.index_put_((t.tensor([0]),),u[0],accumulate=True); u.__setitem__(0,3); u.__setitem__(0,u[1])
t.histogramdd(u.float(),[2,2,2])[0]; t.sum(u,0); u.mean(); u.prod(0); u.cumprod(0)
t.count_nonzero(u,0); t.all(u,0); t.any(u,0); u.view(t.int16); u.bfloat16(); u.contiguous(); u.expand(2,3,3)
u.nonzero_static(size=2); u.argwhere(); u.swapaxes(0,1); u.triu(1); t.diag_embed(u); t.repeat_interleave(u[0].long())
t.scatter(u,0,u.long(),u); t.take_along_dim(u,u.long()%3,0); t.logspace(0,1,3,dtype=u.dtype); t.empty_like(u).shape
t.ones_like(u); t.rand_like(u.float()).shape; t.nn.functional.hardtanh(u); t.nn.functional.leaky_relu(u)
t.nn.functional.elu(u); t.nn.functional.gelu(u); u.dequantize(); t.bernoulli(u.float()).shape; u.deg2rad(); u.angle()
u.logit(); u.exp_(); u.sqrt_(); u.logical_not_(); u.neg_(); u.abs_(); u.pow_(2); t.complex(u,u); t.polar(u,u)
t.baddbmm(u[None],u[None],u[None]); t.addbmm(u,u[None],u[None]); t.addmv(u[0],u,u[0])
t.sparse_coo_tensor(t.tensor([[0]]),u[0,:1]); u.median(0).values; t.aminmax(u); u.bool().sum(); t.rot90(u)
t.rot90(u, 0); t.isin(u,1); t.isin(u,-1.0); t.isin(u,float('nan')); t.isin(u,1e30); t.isin(u,-1)
u.index_put_((t.tensor([0]),),u[0,0]); u.__setitem__(t.tensor([0]),3); u.__setitem__(u.bool(),3)
u.__setitem__((slice(None),t.tensor([0])),3); u.index_put_((u.bool(),),u[0,0],accumulate=True)
u.index_put_((t.tensor([0]),),t.tensor(3)); u.__setitem__(t.tensor([],dtype=t.long),3); u.clamp(2); u.clamp(max=2)
u.clamp(u); u.clamp(None,u); u.clamp(u,u); u.clamp_min(2); u.clamp_(1,2); u+2**64; u<-2**63-1; u.add(u,alpha=1.5)
u.sub(u,alpha=True); u.fill_(2**64); u.fill_(-1); u.fill_(2**64-1); t.full((2,),-1,dtype=u.dtype); u.cumsum_(0)
t.full((2,),2**64,dtype=u.dtype); u.cumsum(0,dtype=u.dtype); u.cumprod_(0); t.ldexp(u.float(),u); u.copy_(-1)
t.scalar_tensor(-1,dtype=u.dtype); u.masked_fill(u.bool(),2**64); u.new_full((2,),2**63); u.__setitem__(0,2**63)
""".replace("\n", ";").strip("; ").split(";")


def told(call: str, t: Any, d: str) -> Any:
    u = t.arange(1, 10).reshape(3, 3).to(getattr(t, d))
    try:
        made = eval(call, {"t": t, "u": u})
    except Exception as error:  # the first line: what follows may be a list of what can be done
        return type(error).__name__, str(error).partition("\n")[0].replace("torchlite", "torch")
    return repr(made).replace("torchlite", "torch")


@pytest.mark.filterwarnings("ignore")  # of what is young, or to go
@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_what_is_taken_and_what_is_refused(dtype: str) -> None:
    different = {}
    for call in map(str.strip, CALLS):
        ours, theirs = told(call, torchlite, dtype), told(call, torch, dtype)
        if ours != theirs:
            different[call] = ours, theirs
    assert not different
