"""Types of 8 bits, of which PyTorch's CPU kernels are few: what they give, and what everything else is refused with."""

from __future__ import annotations

from typing import Any

import pytest

import torchlite
from torchlite.core.values import dt

torch = pytest.importorskip("torch")

TYPES = sorted(d.name for d in dt.EIGHT_BITS)
# Done to `a`, a matrix of two by two, and `i`, places in it.
CALLS = """
a.abs(); t.isfinite(a); t.isinf(a); t.isnan(a); t.isreal(a); t.isneginf(a); a * a; a == a; a == 2; a.all(); a.any(0)
t.count_nonzero(a); t.aminmax(a); t.where(a == a, a, a); a[a == a]; a[t.tensor([0, 1])]; a.roll(1); a.repeat(2, 2)
a.index_put((t.tensor([0]),), a[0]); a.index_select(0, t.tensor([0])); t.cat([a, a]); t.stack([a, a]); a.clone().zero_()
a.mm(a); a @ a; a @ a[0]; a[0].dot(a[0]); a[None] @ a[None]; t.addmm(a, a, a); t.addbmm(a, a[None], a[None])
t.baddbmm(a[None], a[None], a[None]); t.nn.functional.linear(a, a, a[0]); t.addr(a, a[0], a[0]); a.trace()
t.einsum('ij,jk', a, a); t.tensordot(a, a, 1); a.flip(0); a.tril(); a.triu(); a.nonzero(); t.argwhere(a)
a.sum(); a.sum(0); a.mean(); a.prod(); a.cumsum(0); a.cumprod(1); a.logcumsumexp(0); a.max(); a.min(0); a.amax()
a.argmax(); a.unique(); t.unique_consecutive(a); a.gather(0, i); a.scatter(0, i, a); a.scatter_add(0, i, a)
a.masked_fill(a == a, 1); a.clone().masked_fill_(a == a, 1); a.masked_select(a == a); a.take(i)
a.index_fill(0, i[0], 1)
a.index_copy(0, i[0, :1], a[:1]); t.isin(a, a); t.arange(3, dtype=a.dtype); t.linspace(0, 1, 3, dtype=a.dtype)
t.eye(2, dtype=a.dtype); t.randint(3, (2,), dtype=a.dtype); a.clone().random_(3); t.randn(2, dtype=a.dtype)
a + a; a + 1; a - a; 1 - a; -a; a / a; a ** 2; a < a; a.sqrt(); a.exp(); a.round(); a.floor(); a.clamp(0, 1)
t.nn.functional.relu(a); t.nn.functional.hardtanh(a); a.softmax(0); a.softmax(1); a.log_softmax(-1)
a.softmax(0, dtype=t.float32); t.dist(a, a); a.norm(); t.linalg.vector_norm(a); t.std_mean(a); t.cummax(a, 0)
t.median(a); t.mode(a); t.kthvalue(a, 1); t.topk(a, 1); a.sort(); t.hash_tensor(a); t.logical_not(a); t.fft.fft(a)
t.linalg.svd(a); t.linalg.inv(a); t.linalg.det(a); t.linalg.qr(a); t.linalg.matrix_norm(a); t.linalg.solve(a, a)
t.nn.functional.pad(a[None], (1, 1), mode='reflect'); t.nn.functional.pixel_shuffle(a.repeat(2, 1)[:, :, None], 2)
t.nn.functional.channel_shuffle(a[None, :, :, None], 2); t.nn.functional.cross_entropy(a, a)
t.nn.functional.adaptive_avg_pool1d(a[None], 1); t.nn.functional.l1_loss(a, a)
""".replace("\n", ";").strip("; ").split(";")


def told(call: str, t: Any, d: str) -> Any:
    """What a call gives, or what it is refused with."""
    values = {"t": t, "a": t.tensor([[1.0, 2], [3, 4]]).to(getattr(t, d)), "i": t.zeros(2, 2, dtype=t.int64)}
    try:
        result = eval(call, values)
    except (RuntimeError, NotImplementedError) as refused:
        return type(refused).__name__, str(refused).split("\n")[0]
    results = (result,) if isinstance(result, t.Tensor) else result
    return [(str(r.dtype), r.stride(), r.float().tolist()) for r in results]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("d", TYPES)
def test_few_take_them_and_others_say_so(d: str) -> None:
    different = {}
    for call in map(str.strip, CALLS):
        ours, theirs = told(call, torchlite, d), told(call, torch, d)
        if ours != theirs:
            different[call] = ours, theirs
    assert not different
