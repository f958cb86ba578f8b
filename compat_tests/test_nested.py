"""Nested tensors beside PyTorch's, jagged and strided: what calls give, what is refused, and gradients."""

from __future__ import annotations

import copy
import io
import itertools
import operator
import pickle
import re
import warnings
from typing import Any

import pytest

import torchlite
from torchlite.fx.experimental.symbolic_shapes import is_nested_int

from .side_by_side import same_story

# Jagged: `x`, `y`, `nj` (with holes), `q4` (heads before the ragged dimension), `i` (of integers), `r` (requires grad).
JAGGED = """
x; r; x.shape; x.size(); x.size(0); x.size(1); x.size(2); x.size(-1); x.dim(); x.ndim; x.numel(); x.dtype; x.device;
x.layout; x.is_nested; x.is_contiguous(); x.stride(); type(x).__name__; isinstance(x, torch.Tensor);
x.shape == y.shape; x.shape == J(a, b, c).shape; x.size(1) == y.size(1); x.size(1) == 3; x.size(1) >= 2; x.size(1)*2;
x.size(1)+1; len(x); x.unbind(); x.unbind(1); list(x); x[0]; x[1]; x[-1]; x[5]; x[:, :, 0]; x[..., 0]; x[0:2];
x[0, 1]; x.values(); x.offsets(); x.lengths(); nj; nj.lengths(); nj.unbind(); nj.is_contiguous(); nj.contiguous();
nj.values(); x._max_seqlen; x._min_seqlen; x._get_max_seqlen(); x.to_padded_tensor(0.0); x.to_padded_tensor(-1.0);
x.to_padded_tensor(0.0, (3, 5, 3)); x.to_padded_tensor(0.0, (3, 2, 3)); N.to_padded_tensor(x, 1.5);
nj.to_padded_tensor(0.); N.nested_tensor([a, b], layout=torch.jagged);
N.nested_tensor([[1, 2], [3]], layout=torch.jagged); N.nested_tensor([[1., 2], [3]], layout=torch.jagged);
N.nested_tensor([a, b], layout=torch.jagged, dtype=torch.float64);
N.nested_tensor([a, b], layout=torch.jagged, requires_grad=True).is_leaf;
N.nested_tensor([a, torch.ones(2, 2)], layout=torch.jagged);
N.nested_tensor([a, torch.ones(2)], layout=torch.jagged); N.nested_tensor([torch.tensor(1.)], layout=torch.jagged);
N.nested_tensor(a, layout=torch.jagged); N.nested_tensor([a, b], layout=torch.sparse_coo);
N.as_nested_tensor([a, b], layout=torch.jagged); N.as_nested_tensor(g(2, 3, 4), layout=torch.jagged);
N.as_nested_tensor(x); N.nested_tensor_from_jagged(v.detach(), off);
N.nested_tensor_from_jagged(v.detach(), lengths=torch.tensor([2, 4, 1])); N.nested_tensor_from_jagged(v.detach());
N.nested_tensor_from_jagged(v.detach(), off, jagged_dim=2); N.nested_tensor_from_jagged(g(3, 7), off, jagged_dim=2);
N.nested_tensor_from_jagged(v.detach(), off, min_seqlen=1, max_seqlen=4);
N.nested_tensor_from_jagged(v.detach(), off).to_padded_tensor(0.);
N.nested_tensor_from_jagged(v.detach(), off, max_seqlen=5).to_padded_tensor(0.); x.diff(); x.nbytes;
F.mse_loss(x, x); F.pad(x, (1, 1)); x.nelement(); x.squeeze(); x.view(torch.int32);
x.view(3, -1); F.cross_entropy(x, x);
N.narrow(g(3, 5, 2), 1, torch.tensor([0, 1, 2]), torch.tensor([2, 3, 1]), layout=torch.jagged);
N.narrow(g(3, 5, 2), 1, 0, torch.tensor([2, 3, 1]), layout=torch.jagged);
N.narrow(g(3, 5, 2), 1, torch.tensor([0, 1, 2]), 2, layout=torch.jagged);
N.narrow(g(3, 5, 2), 1, 0, torch.tensor([2, 3, 1]));
N.narrow(g(3, 5, 2), 2, 0, torch.tensor([2, 3, 1]), layout=torch.jagged);
N.masked_select(g(2, 3), torch.tensor([[True, False, True], [False, True, True]])); torch.max(x, x+1); x.min(x-1);
x.chunk(chunks=3, dim=-1); torch.split(x, split_size_or_sections=2, dim=2); torch.frexp(x);
x.index_put((torch.tensor([0, 1, 2]), torch.tensor([0, 2, 0])), torch.tensor(7.));
x.index_put((torch.tensor([0, 1, 2]), torch.tensor([0, 2, 0]), torch.tensor([0, 1, 1])), g(3));
x.index_put((torch.tensor([0, 1]), ), torch.tensor(7.)); x.index_put((torch.tensor([0]), torch.tensor([9])), g(1));
x.clone().index_put_((torch.tensor([1]), torch.tensor([0])), g(3), accumulate=True); x.bmm(mat2=g(3, 3, 2));
x.masked_select(x > 0); J(a[:, 0], b[:, 0]).masked_select(J(a[:, 0], b[:, 0]) > 0);
(lambda t: t.masked_select(t > 0))(J(a[:, 0], b[:, 0])); g(3, 2, 3)@x.transpose(1, 2);
F.embedding_bag(J(torch.tensor([0, 1]), torch.tensor([2, 2, 1])), g(4, 3)); torch.zeros(2, layout=torch.jagged);
F.embedding_bag(J(torch.tensor([0, 1]), torch.tensor([2, 2, 1])), g(4, 3), mode='sum'); torch.float_power(x, x);
x._max_seqlen_tensor.shape;
N.masked_select(g(2, 3, 2), torch.tensor([[True, False, True], [False, True, True]]).unsqueeze(-1)); x+y; x+x; x+1;
1+x; 1-x; x*2.5; 2*x; x/2; 2/x; x**2; -x; abs(x); x-y; x+J(b, a, c); x+J(a, b, c); x*g(3); x*g(1, 1, 3);
x*g(3, 1, 1); x*g(3, 1, 3); x*g(1, 3); x*g(2, 3); x*g(3, 4, 3); g(3)*x; x+torch.tensor(2.); x==y; x>0; x<y;
torch.add(x, y, alpha=2); torch.mul(x, x); torch.where(x>0, x, y); torch.where(x>0, x, 0.); x.sin(); x.exp();
x.relu(); F.relu(x); F.gelu(x); F.silu(x); torch.sigmoid(x); x.abs(); x.neg(); x.sqrt(); x.clamp(0, 1); x.pow(2);
x.round(); x.isnan(); x.float(); x.double(); x.half(); x.to(torch.float64); x.to('cpu'); x.bool(); x.long();
x.clone(); x.detach(); x.contiguous(); F.dropout(x, 0.0); F.dropout(x, 0.5, training=False);
nn.Dropout(0.5).eval()(x); x.add_(1); x.mul_(2); x.sin_(); x.zero_(); x.fill_(2); x.copy_(y); x@g(3, 2);
torch.matmul(x, g(3, 2)); x@x.transpose(1, 2); x.transpose(1, 2); x.transpose(-1, -2); x.transpose(0, 1);
x.transpose(1, 2)@x; torch.bmm(x, g(3, 3, 2)); torch.bmm(x.transpose(1, 2), x); x@g(3, 3, 2); F.layer_norm(x, (3, ));
F.layer_norm(x, (3, ), g(3), g(3)); F.rms_norm(x, (3, )); x.softmax(-1); F.softmax(x, dim=-1); F.softmax(x, dim=1);
torch.softmax(x, 2); F.log_softmax(x, -1); F.softmax(x, dim=0); x.sum(); x.sum(-1); x.sum(2); x.sum(1); x.sum(0);
x.sum(dim=(1, 2)); x.sum(dim=(0, 1)); x.sum(dim=(0, 1, 2)); x.sum(1, keepdim=True); x.sum(-1, keepdim=True);
x.mean(); x.mean(-1); x.mean(1); x.mean(1, keepdim=True); x.mean(0); x.amax(-1); x.amax(1); x.amin(1); x.max();
x.min(); x.max(1); x.max(-1); x.all(); x.any(-1); x.any(); x.prod(-1); x.var(-1); x.var(); x.argmax(-1);
torch.sum(x, dim=1); x.unsqueeze(-1); x.unsqueeze(1); x.unsqueeze(0); x.unsqueeze(-1).squeeze(-1); x.squeeze(-1);
x.flatten(); x.unflatten(-1, (3, 1)); x.unflatten(2, [1, 3]); x.unflatten(-1, (3, 1)).flatten(-2);
x.unflatten(-1, (1, 3)).transpose(1, 2); x.view(3, -1, 1, 3); x.reshape(3, -1, 3); x.view(3, x.size(1), 3, 1);
x.reshape(3, -1, 1, 3); x.view(-1); x.expand(3, -1, 3); x.expand_as(y); x.unsqueeze(-1).expand(3, -1, 3, 2);
x.chunk(3, dim=-1); x.chunk(2, dim=0); x.chunk(2, 1); x.split(1, -1); x.split([1, 2], -1); torch.split(x, 2, dim=-1);
torch.cat([x, y], dim=-1); torch.cat([x, y], dim=0); torch.cat([x, y], dim=1); torch.stack([x, y], dim=-1);
torch.stack([x, y]); x.permute(0, 2, 1); x.permute(2, 0, 1); x.T; x.select(-1, 0); x.select(0, 1); x.select(1, 0);
x.narrow(-1, 0, 2); x.repeat(1, 1, 2); torch.ones_like(x); torch.zeros_like(x); torch.full_like(x, 2.);
torch.empty_like(x).shape==x.shape; torch.rand_like(x).shape==x.shape; torch.ones_like(x, dtype=torch.int64);
x.new_ones(2); x.new_zeros((2, 3)); torch.isinf(x); F.embedding(i, g(4, 2)); nn.Embedding(4, 2)(i).shape[2]; i; i*2;
i.sum(); F.one_hot(i); F.scaled_dot_product_attention(q4, q4, q4);
F.scaled_dot_product_attention(q4, q4, q4, scale=0.5);
F.scaled_dot_product_attention(q4, q4, q4, attn_mask=torch.ones(2, 2)); F.scaled_dot_product_attention(x, x, x); q4;
q4.shape; q4.is_contiguous(); q4.transpose(1, 2).flatten(-2); q4.transpose(1, 2).contiguous();
q4@q4.transpose(-1, -2); q4.contiguous(); q4*2; q4.sum(-1); q4.unbind(); torch.autograd.grad(r.sum(), r); r.is_leaf;
(r*2).is_leaf; r.backward(); (r*2).backward(x); r.detach().requires_grad; x.requires_grad_().requires_grad;
x.numpy(); x.tolist(); x.storage_offset(); x.element_size(); x.data_ptr()==x.values().data_ptr();
nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4))(x).shape; x.grad; x.sort(); x.cumsum(1); x.cumsum(-1);
x.topk(2); x.nonzero(); x.masked_fill(x>0, 0.); x.index_select(-1, torch.tensor([0])); x.logical_not(); x & x;
(x>0)&(y>0); ~(x>0); x.T; hash(x)==hash(x); bool(x); N.nested_tensor([a, b], requires_grad=True).requires_grad;
N.nested_tensor([torch.tensor(1.), torch.tensor(2.)]); N.nested_tensor([a, torch.ones(2)]);
N.nested_tensor([a, b], dtype=torch.float64).dtype;
torch.nn.functional.embedding(N.nested_tensor([torch.tensor([0, 1]), torch.tensor([2])]), g(4, 2));
"""
STRIDED = """
N.nested_tensor([], layout=torch.jagged); s; s.shape; s.size(0); s.size(1); s.size(2); s.size(); s.dim(); s.numel();
s.is_nested; s.layout; s.unbind(); s[0]; s[5]; s.to_padded_tensor(0.); N.to_padded_tensor(s, -1.); s+s; s*2; s*s; -s;
s.relu(); F.relu(s); F.gelu(s); s@g(3, 3, 2); s@s.transpose(1, 2); s.transpose(1, 2); s.softmax(-1);
F.softmax(s, -1); F.layer_norm(s, (3, )); F.dropout(s, 0.); s.clone(); s.detach(); s.contiguous(); s.is_contiguous();
s.double(); s.sum(-1); s.to(torch.float64); s.requires_grad; N.nested_tensor([[1, 2], [3]]); N.nested_tensor([]);
N.as_nested_tensor([a, b]); N.as_nested_tensor(s); N.as_nested_tensor(g(2, 3, 4)); torch.zeros_like(s);
torch.ones_like(s); s==s; s.sin(); s.sum(1); s.reshape(3, -1, 1, 3); s.view(3, -1, 3); s._nested_tensor_size();
s.chunk(3, -1); torch.cat([s, s]); torch.cat([s, s * 2], dim=-1); torch.cat([s, s.double()], -3); torch.concat((s, ));
torch.vstack([s, s]); torch.cat([s, torch.ones(3, 2, 3)]); N.to_padded_tensor(s, 0., (2, 5, 3));
N.to_padded_tensor(s, 0., (3, 1, 3)); N.to_padded_tensor(s, 0., (3, 3)); N.to_padded_tensor(s, 7., (4, 5, 4));
s.detach().requires_grad_();
"""
PROGRAMS = """
r.to_padded_tensor(0.).sum().backward(); r.grad
a.requires_grad_(); t=N.as_nested_tensor([a, b], layout=torch.jagged); (t*2).values().sum().backward(); a.grad
N.nested_tensor_from_jagged(v, off).values().sum().backward(); v.grad
N.nested_tensor_from_jagged(v, off).sin().values().sum().backward(); v.grad
(r*2).values().sum().backward(); r.grad
r.sum().backward(); r.grad
(r*r).sum().backward(); r.grad
F.linear(r, w, bias).sum().backward(); (r.grad, w.grad)
F.layer_norm(r, (3, )).sin().sum().backward(); r.grad
r.softmax(-1).sin().sum().backward(); r.grad
(r@g(3, 2)).sin().sum().backward(); r.grad
r.unbind()[1].sum().backward(); r.grad
torch.cat(r.unbind()).sum().backward(); r.grad
r.transpose(1, 2).sum().backward(); r.grad
(r*g(3, 1, 1)).sum().backward(); r.grad
k=g(3).requires_grad_(); (x*k).sum().backward(); k.grad
q=r.unflatten(-1, (1, 3)).transpose(1, 2); F.scaled_dot_product_attention(q, q, q).sum().backward(); r.grad
r.values().sum().backward(); r.grad
(r*2).backward(x); r.grad
with_grad=r.detach().requires_grad_(); with_grad.requires_grad
import copy; copy.deepcopy(x)
a.requires_grad_(); t=N.as_nested_tensor([a, b]); t.to_padded_tensor(0.).sum().backward(); a.grad
p=N.nested_tensor([a, b], requires_grad=True); (p*2).to_padded_tensor(0.).sum().backward(); p.grad
p=N.nested_tensor([a, b], requires_grad=True); F.linear(p, w).to_padded_tensor(0.).sum().backward(); (p.grad, w.grad)
p=N.nested_tensor([a, b], requires_grad=True); p.unbind()[0].sum().backward(); p.grad
"""


def names(torch: Any) -> dict[str, Any]:
    def g(*sizes: int) -> Any:
        return (torch.arange(float(torch.Size(sizes).numel())).reshape(sizes) % 7 - 2.5) / 3

    def jagged(*components: Any, **options: Any) -> Any:
        return torch.nested.nested_tensor(list(components), layout=torch.jagged, **options)

    torch.manual_seed(0)
    a, b, c, off = g(2, 3), g(4, 3) + 0.25, g(1, 3) - 0.5, torch.tensor([0, 2, 6, 7])
    from_jagged = torch.nested.nested_tensor_from_jagged
    values, x = torch.cat([a, b, c]), jagged(a, b, c)
    return {
        "torch": torch, "N": torch.nested, "F": torch.nn.functional, "nn": torch.nn, "g": g, "J": jagged, "copy": copy,
        "io": io, "a": a, "b": b, "c": c, "off": off, "v": values.clone().requires_grad_(), "x": x, "y": x * 2,
        "r": jagged(a, b, c, requires_grad=True), "w": g(5, 3).requires_grad_(), "bias": g(5),
        "nj": from_jagged(values, torch.tensor([0, 3, 5, 7]), torch.tensor([2, 1, 2])),
        "q4": from_jagged(g(7, 2, 4), off).transpose(1, 2), "i": jagged(torch.tensor([0, 1]), torch.tensor([2])),
        "s": torch.nested.nested_tensor([a, b, c]),
    }  # fmt: skip


def told(torch: Any, value: Any) -> Any:
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return [told(torch, v) for v in value]
    if not isinstance(value, torch.Tensor):
        return repr(value)
    if not value.is_nested:
        return value.detach().tolist(), str(value.dtype), value.requires_grad
    shown = re.sub("object at 0x[0-9a-f]+", "", repr(value)), str(value.dtype), value.requires_grad
    if value.layout is not torch.jagged:
        return shown
    lengths = value.lengths()
    parts = value.values().detach(), value.offsets(), value.offsets() if lengths is None else lengths
    return (*shown, *[t.tolist() for t in parts])


def outcome(torch: Any, program: str) -> str:
    try:
        found = names(torch)
        *before, last = program.split("; ")
        for statement in before:
            exec(statement, found)
        text = str(told(torch, eval(last, found)))
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    text = re.sub(r"\bj\d+\b", "jN", text)  # ragged sizes are counted by each library for itself
    return re.sub(r"-?\d+\.\d+(e-?\d+)?", lambda m: f"{float(m.group(0)) + 0.0:.4f}".replace("-0.0000", "0.0000"), text)


def differing(programs: list[str]) -> list[Any]:
    torch = pytest.importorskip("torch")

    def plain(text: str) -> str:
        return re.sub(r"torch(lite)?\.(_ops\.|ops\.)?", "", text)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both = [(p, plain(outcome(torch, p)), plain(outcome(torchlite, p))) for p in programs]
    # A PyTorch that was built for CUDA looks for a GPU's kernels, even there.
    return [(p, wanted, found) for p, wanted, found in both if wanted != found and "CUDA driver" not in wanted]


def listed(text: str) -> list[str]:
    return [call.strip() for call in text.replace("\n", " ").split("; ") if call.strip()]


@pytest.mark.parametrize("calls", [JAGGED, STRIDED], ids=["jagged", "strided"])
def test_calls(calls: str) -> None:
    assert differing([call.rstrip(";") for call in listed(calls)]) == []


def test_programs() -> None:
    assert differing(PROGRAMS.strip().split("\n")) == []


def test_what_is_ragged_is_computed_by_component() -> None:
    """As each component by itself gives it, also where PyTorch's kernels on the CPU do not."""
    torch = torchlite
    given = names(torch)
    x, q = given["r"], given["q4"]
    parts = [t.detach().clone().requires_grad_() for t in x.unbind()]
    assert is_nested_int(x.shape[1]) and not is_nested_int(x.shape[2])
    torch.nn.functional.softmax(x, 1).sin().sum().backward()
    for t in parts:
        t.softmax(0).sin().sum().backward()
    assert torch.allclose(x.grad.values(), torch.cat([t.grad for t in parts]), atol=1e-6)
    assert torch.allclose(q.sum(2), torch.stack([t.sum(1) for t in q.unbind()]), atol=1e-6)
    attention = torch.nn.functional.scaled_dot_product_attention
    causal = attention(q, q, q, is_causal=True)
    for one, t in zip(causal.unbind(), q.unbind()):
        assert torch.allclose(one, attention(t, t, t, is_causal=True), atol=1e-6)


def test_training_with_nested_batches() -> None:
    """A small transformer block on sequences of different lengths learns what it does on each by itself."""
    torch = torchlite
    torch.manual_seed(0)
    project, out, norm = torch.nn.Linear(8, 24), torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)
    rows = [torch.randn(n, 8) for n in (3, 5, 2)]

    def block(x: Any) -> Any:
        q, k, v = (t.unflatten(-1, (2, 4)).transpose(-3, -2) for t in project(x).chunk(3, dim=-1))
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(-3, -2).flatten(-2)
        return norm(x + out(mixed))

    parameters = [*project.parameters(), *out.parameters()]
    batch = torch.nested.nested_tensor(rows, layout=torch.jagged)
    together = torch.autograd.grad(block(batch).sin().sum(), parameters)
    apart = torch.autograd.grad(sum(block(row.unsqueeze(0)).sin().sum() for row in rows), parameters)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(together, apart))


@same_story
def test_copies_and_operands_of_other_lengths(torch, tell):
    """What is laid out alike can be copied; all else is refused by the operator's name."""

    def nest(*lengths: int) -> Any:
        return torch.nested.nested_tensor([torch.full((n, 4), n) for n in lengths], layout=torch.jagged)

    tell(nest(2, 4, 1).copy_(nest(2, 4, 1)).values())
    x, y = nest(2, 4, 1), nest(1, 4, 2)
    for call in (
        lambda: x.copy_(y), lambda: x.copy_(nest(1, 4)), lambda: x.copy_(torch.ones(3, 4, 4)), lambda: x.item(),
        lambda: torch.nested.nested_tensor([torch.ones(1)], layout=torch.jagged).item(),
        lambda: x & y, lambda: operator.ior(x, y), lambda: operator.iadd(x, y), lambda: x / y, lambda: x**y,
        lambda: x.mul_(y), lambda: torch.maximum(x, y), lambda: torch.logical_and(x, y), lambda: x == y,
    ):  # fmt: skip
        with pytest.raises((RuntimeError, ValueError, NotImplementedError)) as refused:
            call()
        tell(type(refused.value), re.sub(r"j\d+", "j", str(refused.value)))


def test_what_comes_of_strided_ones_shows_so() -> None:
    nested = torchlite.nested.nested_tensor([torchlite.ones(2), torchlite.ones(1)], requires_grad=True)
    assert repr(torchlite.cat([nested, nested])).endswith("], grad_fn=<NestedTensorFromComponentsBackward>)")
    torchlite.cat([nested, nested * 2]).to_padded_tensor(0.0, (5, 3)).sum().backward()
    assert [t.tolist() for t in nested.grad.unbind()] == [[3.0, 3.0], [3.0]]


@same_story
def test_prototypes_are_said_to_be_ones(torch, tell):
    warnings.simplefilter("ignore")  # and asked for once more
    torch.nested.nested_tensor([torch.ones(2)])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        torch.nested.nested_tensor([torch.ones(2), torch.ones(1)])
        torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False]))
    tell([(w.category, str(w.message).partition(" (Triggered")[0]) for w in seen])


@same_story
def test_attention_modules_take_strided_ones_in_inference(torch, tell):
    warnings.simplefilter("ignore")  # of prototypes, once in a process
    def nest(layout: Any = torch.strided) -> Any:
        parts = [torch.arange(n * 4.0).reshape(n, 4).sin() for n in (2, 4, 1)]
        return torch.nested.nested_tensor(parts, layout=layout)

    def refusal(call: Any) -> str:
        with pytest.raises(AssertionError) as refused:
            call()
        return str(refused.value)

    torch.manual_seed(0)
    attend = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    odd, late = torch.nn.MultiheadAttention(4, 1, batch_first=True).eval(), torch.nn.MultiheadAttention(4, 2).eval()
    x = nest()
    tell(refusal(lambda: attend(x, x, x)), refusal(lambda: attend(x, nest(), x)))
    attend.eval()
    tell(*[refusal(lambda m=m: m(x, x, x)) for m in (attend, odd, late)])
    with torch.no_grad():
        for options in ({}, {"average_attn_weights": False}, {"need_weights": False}):
            made, weights = attend(x, x, x, **options)
            tell(type(weights).__name__, *made.unbind(), *([] if weights is None else [weights]))
        tell(refusal(lambda: attend(x, x, x, attn_mask=torch.zeros(4, 4))))
        jagged = nest(torch.jagged)
        tell(refusal(lambda: attend(jagged, jagged, jagged)))
        layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
        tell(*layer(x).unbind())


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(
    "here, there", [("torch", "torchlite"), ("torchlite", "torch"), ("torchlite", "torchlite")]
)
def test_jagged_ones_are_saved_for_both_libraries(here: str, there: str, told: bool, weights_only: bool) -> None:
    libraries = {"torch": pytest.importorskip("torch"), "torchlite": torchlite}
    writer, reader = libraries[here], libraries[there]
    values, offsets = writer.arange(10.0).reshape(5, 2), writer.tensor([0, 2, 5])
    lengths = {"min_seqlen": 2, "max_seqlen": 4} if told else {}
    x = writer.nested.nested_tensor_from_jagged(values.requires_grad_(), offsets, **lengths).detach().requires_grad_()
    file = io.BytesIO()
    writer.save({"x": x}, file)
    file.seek(0)
    read = reader.load(file, weights_only=weights_only)["x"]
    assert read.is_nested and read.layout is reader.jagged and read.requires_grad
    assert [t.tolist() for t in read.unbind()] == [t.tolist() for t in x.unbind()]
    assert read.to_padded_tensor(0.0).tolist() == x.to_padded_tensor(0.0).tolist()


def test_strided_ones_are_saved_and_read_as_by_pytorch():
    def several(lib):
        nested = lib.nested.nested_tensor
        whole = [lib.ones(2, 3, dtype=lib.int64), lib.zeros(1, 3, dtype=lib.int64)]
        return [nested([lib.ones(2), lib.arange(3.0)]), nested(whole), nested([lib.tensor(1.0), lib.tensor(2.0)])]

    libraries = (pytest.importorskip("torch"), torchlite)
    for writer, reader in itertools.product(libraries, repeat=2):
        for only_weights in (True, False):
            file = io.BytesIO()
            writer.save(several(writer), file)
            file.seek(0)
            assert repr(reader.load(file, weights_only=only_weights)) == repr(several(reader))
    assert repr(pickle.loads(pickle.dumps(several(torchlite)))) == repr(several(torchlite))


def test_strided_ones_whose_parts_do_not_fit_are_refused():
    lib = torchlite
    make, told = lib.nested.nested_tensor([lib.ones(2), lib.arange(3.0)]).__reduce_ex__(2)
    wrong_parts = ((1, lib.tensor([[2], [9]])), (1, lib.zeros(2, 1)), (2, told[1][:1]), (3, lib.arange(3)))
    for at, wrong in wrong_parts:
        args = (*told[:at], wrong, *told[at + 1 :])

        class Told:
            def __reduce__(self, args=args):
                return make, args

        file = io.BytesIO()
        lib.save(Told(), file)
        file.seek(0)
        with pytest.raises((pickle.UnpicklingError, RuntimeError)):
            lib.load(file)
