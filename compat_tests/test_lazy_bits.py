"""Lazy conjugates and negatives: views whose values are computed when they are read.

The programs below (several to a line, with bars between) are statements and then an expression, which must come to the
same in PyTorch and in torchlite: values, bits, dtype, shape, strides, offset, version, history, or the error. Names are

    x   a complex matrix              c   x.conj()
    r   a real matrix                 n   x.conj().imag, a negative view of x
    g   x again, as a leaf that requires grad
"""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torchlite

from .side_by_side import same, text

PROGRAMS = {
    "making": """
        c | n | c.imag | c.real | c.conj() | c.conj() is x | r.conj() is r | x._conj() | torch.conj(c)
        torch.Tensor.conj(x) | r._neg_view() | r._neg_view()._neg_view() | torch._neg_view(r) | n.real is n
        torch.real(n) | torch.imag(r) | c._neg_view() | c._neg_view().real | c._neg_view().imag | c._neg_view().conj()
        x._neg_view().real | x._neg_view().imag | x._neg_view().conj().imag | x.adjoint() | x.mH | x.H | r.mH
        r.adjoint() | torch.adjoint(x) | c.H.H | x[0].mH | x[0].H | x[0].adjoint()
        torch.zeros(0, 2, dtype=torch.complex64).conj() | torch.zeros(0, 2, dtype=torch.complex64).conj().imag
        torch.is_conj(c), torch.is_neg(n), torch.is_conj(r), x.is_conj(), c.real.is_neg() | c._base is x
        n._base is x | c.data_ptr() == x.data_ptr() | n.data_ptr() == x.data_ptr() + 4
        c.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    """,
    "resolving": """
        c.resolve_conj() | x.resolve_conj() is x | c.resolve_neg() is c | n.resolve_neg() | n.resolve_conj() is n
        c._neg_view().resolve_neg() | c._neg_view().resolve_conj() | torch.resolve_conj(c) | torch.resolve_neg(n)
        c.T.resolve_conj() | n.T.resolve_neg() | c.expand(3, 2, 2).resolve_conj() | x.conj_physical()
        c.conj_physical() | r.conj_physical() is r | n.conj_physical() is n | torch.conj_physical(c) | c.clone()
        n.clone() | c.T.clone() | c._neg_view().clone() | c.clone(memory_format=torch.contiguous_format)
        c.contiguous() is c | n.contiguous() | c.T.contiguous() | c.to(torch.complex64) is c | c.cpu() is c
        c.to(torch.complex128) | c.to(torch.complex64, copy=True) | n.to(torch.float64) | n.int() | c.bool()
        torch.tensor([1 + 1j]).conj().imag.to(torch.int32) | c.to("meta").is_conj() | x.to("meta").conj().is_conj()
    """,
    "views": """
        c.T | c.t() | c[0] | c[:, 1:] | c[0, 0] | c.reshape(-1) | c.T.reshape(-1) | c.view(4) | c.expand(2, 2, 2)
        c.split(1) | c.unbind() | c.diagonal() | c.unfold(0, 2, 1) | c.as_strided((2,), (1,)) | c.movedim(0, 1)
        c.unsqueeze(0) | c.squeeze() | c.flatten() | c.view_as(c) | c.permute(1, 0) | c.narrow(0, 0, 1) | list(n)[0]
        c.mT | c.unflatten(0, (1, 2)) | c.conj().T | torch.atleast_3d(c) | n[1] | n[:, None] | n.T[0] | +n
        c.positive() | torch.view_as_real(c) | torch.view_as_real(n) | torch.view_as_real(x._neg_view())
        torch.view_as_complex(torch.stack([r, r], -1)._neg_view()) | torch.view_as_real(c.resolve_conj())
        c.view(torch.float32) | n.view(torch.int32) | r._neg_view().view(torch.float32) | c.view(torch.complex64)
    """,
    "leaving": """
        c.numpy() | n.numpy() | c._neg_view().numpy() | c.numpy(force=True) | n.numpy(force=True) | c.__array__()
        c.resolve_conj().numpy() | g.conj().numpy() | g.conj().numpy(force=True) | c.__array_interface__ | c.tolist()
        c[0, 0].item() | float(n[0, 0]) | complex(c[0, 0]) | bool(n[0, 0]) | repr(c) | repr(n) | repr(g.conj())
        c.__dlpack__() | torch.from_dlpack(c) | c.storage()[1] | str(torch.tensor([1, 2])._neg_view())
        copy.copy(c).is_conj() | copy.deepcopy(c) | copy.deepcopy(n) | copy.deepcopy(c).untyped_storage().nbytes()
        pickle.loads(pickle.dumps(c)).is_conj() | pickle.loads(pickle.dumps(n)).detach().clone()
        pickle.loads(pickle.dumps(c._neg_view())).clone() | pickle.loads(pickle.dumps(n)).stride() | c.data | n.data
        c.detach() | n.detach() | g.conj().detach() | torch.nn.Parameter(c)
    """,
    "new tensors": """
        torch.empty_like(c).is_conj() | torch.zeros_like(c) | torch.ones_like(n) | torch.full_like(c, 2j)
        torch.rand_like(n).is_neg() | c.new_empty(2).is_conj() | c.new_zeros(2) | n.new_ones(2) | c.new_full((2,), 1j)
        torch.as_tensor(c) | torch.asarray(c) | torch.asarray(c, copy=True) | torch.tensor([c[0, 0], x[0, 0]])
        torch.tensor(c)
    """,
    "reading": """
        -n | n.neg() | n.abs() | c.abs() | c.angle() | c.sgn() | c.isreal() | c.sum() | n.sum() | n.sort()
        n.max(0).values | c @ c | c @ x | x.mH @ x | c.mv(c[0]) | torch.dot(c[0], x[0]) | torch.vdot(c[0], x[0])
        torch.vdot(n[0], n[1]) | torch.vdot(x[0], c[0]).resolve_conj() | torch.dot(c[0], c[1]).resolve_conj()
        torch.outer(c[0], x[0]) | torch.einsum("ij,jk->ik", c, x)._base is None | torch.addmm(c, c, x)
        c.lerp(x, 0.5) | torch.complex(n, n) | torch.cat([c, x]) | torch.stack([c, c]) | torch.where(r > 0, c, x)
        c.flip(0) | c.repeat(2, 1) | c.roll(1, 0) | c.index_select(0, torch.tensor([0])) | c.take(torch.tensor([0]))
        c.gather(0, torch.tensor([[0, 1]])) | c[[0]] | c[r > 0] | c.nonzero() | c == x | c != c | torch.equal(c, x)
        torch.equal(c, x.conj()) | torch.allclose(c, x.conj()) | c.is_set_to(x) | c.is_set_to(c) | x.is_set_to(x)
        c * n | n + r | 2 / c | n**2 | 1 - n
    """,
    "writing": """
        c.add_(1j); x | n.add_(1); x | n.mul_(2); n, x | c[0] = 7j; x | c[0, 0] = 7j; x | n[0] = 5; x
        n[0, 0] = 5.5; x | n[0] = r[0]; x | n[0, 0] = True; x | n[:, 0] = torch.tensor([200, 3], dtype=torch.uint8); x
        n[0] += 1; x | c[0] = x[1]; x | c[0] = c[1]; x | c[0] = c[1].conj(); x | x[0] = c[1]; x | r[0] = n[1]; r
        c[torch.tensor([0])] = 7j; x | c[c.real > 0] = 1j; x | x.add_(c) | x.mul_(x.conj()) | c.add_(x); x
        c.add_(c); x | c.copy_(x); x | x.copy_(c) | c.copy_(c); x | c.copy_(c.conj()); x | n.copy_(r); x
        x.imag.copy_(n); x | n.copy_(x.imag); x | n.copy_(x.real); x
        n.copy_(torch.tensor([1, 2], dtype=torch.uint8)); x | c.copy_(r); x | n.zero_(); x | n.fill_(3); x
        c.fill_(3j); x | c.fill_(c[0, 0]); x | c.zero_(); x | c.conj_physical_(); x | n.neg_(); x
        r._neg_view().neg_(); r | c.real.add_(1); x | c.imag.mul_(2); x | c.conj().add_(1); x | c.real = r; x
        c.imag = r; x | c.imag = 3; x | c.imag = n; x | n += 1; x | n *= n; x | n /= 2; x | n -= c.real; x
        c.cumsum_(0); x | c.addcmul_(x, x); x | c.tril_(); x | c.sqrt_(); x | c.exp_(); x
        n.uniform_(2, 3); x.imag < 0 | c.index_put_((torch.tensor([0]),), torch.tensor([9j])); x
        c.masked_fill_(r > 0, 1j); x | c.scatter_(0, torch.tensor([[0, 0]]), x[:1]); x
        c.index_add_(0, torch.tensor([0]), x[:1]); x | x.index_add_(0, torch.tensor([0]), c[:1])
        w = c.expand(2, 2, 2); w.copy_(w) | w = c.expand(2, 2, 2); w.copy_(w.view(2, 2, 2))
        w = n.expand(2, 2, 2); w.copy_(w) | w = n.expand(2, 2, 2); w.copy_(w._neg_view())
        w = c.expand(2, 2, 2); w.copy_(w.conj()) | w = x.expand(2, 2, 2); w.copy_(w) | w = c.expand(2, 2, 2); w.copy_(c)
        w = x.expand(2, 2, 2); w.copy_(w.conj()) | w = r.expand(2, 2, 2); w.copy_(w.view(torch.int32))
        c.expand(2, 2, 2).fill_(2) | c.T.copy_(x) | c.detach().add_(1); x
        c.t_() | c.transpose_(0, 1) | c.unsqueeze_(0) | c.squeeze_() | c.resize_(4)
        c.resize_(8).is_conj() | c.set_(torch.tensor([9j])) | x.set_(c) | c.set_(x.untyped_storage(), 0, (2,), (1,))
        torch.add(x, 1, out=c); x | torch.add(x, c, out=c); x | torch.mul(x, c, out=x) | torch.neg(r, out=n); x
        torch.matmul(x, x, out=c); x | torch.conj_physical(x, out=c); x | torch.exp(c, out=x) | torch.abs(c, out=n); x
        torch.sum(x, 0, out=c[0]); x | torch.add(x, x, out=torch.empty(0, dtype=torch.complex64).conj())
    """,
    "history": """
        g.conj() | g.conj().imag | g.conj().real | g.mH | g.conj()[0] | g._neg_view() | g.conj().resolve_conj()
        g.conj().conj_physical() | g.conj().clone() | g.conj() * 2 | (g * c).grad_fn._saved_other | c.requires_grad_()
        g.conj().grad_fn.next_functions[0][1] | copy.deepcopy(c.requires_grad_()).requires_grad | g.conj().mul_(2)
        c.requires_grad_().mul_(2) | (g * 1).conj().split(1)[0].mul_(2)
    """,
}

LONGER = """
    h = g * 1; y = h.conj(); h.mul_(2); y
    h = g * 1; y = h.conj()[0]; h.mul_(2); y
    h = g * 1; y = h.real; h.mul_(2); y
    h = g * 1; y = h.conj().imag; h.mul_(2); y
    h = g * 1; y = h.conj(); y.mul_(2j); (y, h)
    h = g * 1; y = h.conj()[0]; y.mul_(2j); (y, h)
    h = g * 1; y = h.mH; y.mul_(2j); (y, h)
    h = g * 1; y = h.mH; h.mul_(2j); (y, h)
    h = g * 1; y = h.conj(); y[0] = h[1].conj(); (y, y[0], h)
    z = torch.zeros(2, 2, dtype=torch.complex64).conj(); z.copy_(g); z.backward(x); (z, grad(g))
    y = g.conj(); y.backward(x); grad(g)
    y = g._neg_view(); y.backward(x); grad(g)
    y = g.conj().imag.sum(); y.backward(); grad(g)
    h = g * 1; y = h.conj().imag; y.mul_(2); h.backward(x); grad(g)
    h = g * 1; y = h.conj(); y.mul_(2j); h.backward(x); grad(g)
    h = g * 1; y = h.conj(); y[0] = h[1].conj(); y.abs().sum().backward(); grad(g)
    w = r.clone().requires_grad_(); (w * n).sum().backward(); grad(w)
    w = r.clone().requires_grad_(); (n / w).sum().backward(); grad(w)
    w = r._neg_view().requires_grad_(); (w * w).sum().backward(); grad(w)
    w = r.clone().requires_grad_(); y = w._neg_view(); (y * y * y).sum().backward(); grad(w)
    w = r.clone().requires_grad_(); y = (w * 1)._neg_view(); y.mul_(y); y.sum().backward(); grad(w)
    w = r.clone().requires_grad_(); w.grad = n; (w * 2).sum().backward(); (w.grad is n, x.clone())
    g.grad = c; g.conj().abs().sum().backward(); (g.grad is c, x.clone())
    y = g.conj(); y.register_hook(lambda q: q * 2); y.sum().abs().backward(); grad(g)
    y = g.conj(); y.retain_grad(); y.abs().sum().backward(); grad(y)
    f = torch.autograd.grad((g.conj() * g * g).sum().abs(), g, create_graph=True)[0]; twice(f, g)
    f = torch.autograd.grad((g.mH @ g).abs().sum(), g, create_graph=True)[0]; twice(f, g)
    f = torch.autograd.grad((g.conj().imag * g.real).sum(), g, create_graph=True)[0]; f
    f = torch.autograd.grad(g.conj(), g, x, create_graph=True)[0]; f
    z = g * c; x.add_(1); z.sum().abs().backward()
    w = r.clone().requires_grad_() * n; n.add_(1); w.sum().backward()
    w = r.clone().requires_grad_() * n; x.add_(1); w.sum().backward()
    h = g * 1; y = h.conj(); w = y.exp(); y.add_(1); w.sum().abs().backward(); grad(g)
    h = g * 1; y = h.conj(); w = y * y; h.add_(1); w.sum().abs().backward()
    y = torch.ones(3, dtype=torch.uint8)._neg_view(); y.fill_(3); y
    y = torch.ones(3, dtype=torch.int64); y._neg_view().copy_(torch.tensor([1.5, 2, 3])); y
    y = torch.ones(3, dtype=torch.bfloat16); y._neg_view().add_(0.5); y
    x.data = c; x
    c.data = torch.tensor([5j]); c
    torch.vmap(lambda t: t.conj())(x)
    torch.vmap(lambda t: t * 2)(c)
    told = []; torch.vmap(lambda t: (told.append((t.is_conj(), t.conj().is_conj())), t)[1])(c); told
    torch.func.jvp(lambda t: t.conj(), (x,), (x * 1j,))
    torch.func.jvp(lambda t: t.conj().imag, (x,), (x * 1j,))
    torch.func.jvp(lambda t: t.conj() * 2, (x,), (c,))[1]
    told = []; torch.func.jvp(lambda t: (told.append((t.is_conj(), t.conj().is_conj())), t)[1], (x,), (x,)); told
    S = type("S", (torch.Tensor,), {}); s = x.as_subclass(S).conj(); (type(s).__name__, s, (s * c).tolist())
    S = type("S", (torch.Tensor,), {}); s = c.as_subclass(S); s.add_(1j); (type(s.imag).__name__, s.imag, x)
    d = torch.autograd.forward_ad; d.enter_dual_level(); b = d.make_dual(x, c) * 1; b.conj().mul_(2j); moved(d, b)
    d = torch.autograd.forward_ad; d.enter_dual_level(); b = d.make_dual(x, c) * 1; b.conj().imag.mul_(2); moved(d, b)
    d = torch.autograd.forward_ad; d.enter_dual_level(); moved(d, (d.make_dual(x, c).conj() * x).sum())
    d = torch.autograd.forward_ad; d.enter_dual_level(); moved(d, d.make_dual(c, x).real)
    d = torch.autograd.forward_ad; d.enter_dual_level(); b = d.make_dual(x, c) * 1; y = b.mH; b.mul_(2); moved(d, y)
"""


def about(value: Any) -> Any:
    """What can be told of a result."""
    if isinstance(value, (tuple, list)):
        return [about(v) for v in value]
    if not hasattr(value, "is_conj"):
        return value if isinstance(value, (bool, int, float, complex, str, type(None))) else str(value)
    node = value.grad_fn
    history = (value._version, value._is_view(), value.requires_grad, node and node.name())
    return [*_form(value), *history, value.tolist()]


def _form(t: Any) -> tuple[Any, ...]:
    return t.is_conj(), t.is_neg(), str(t.dtype), tuple(t.shape), t.stride(), t.storage_offset() if t.numel() else 0


def outcome(program: str, torch: Any) -> Any:
    x = torch.tensor([[1 + 2j, 3 - 4j], [5j, -1 + 0j]])
    c = x.conj()
    names = {
        "torch": torch, "copy": copy, "pickle": pickle, "x": x, "c": c, "n": c.imag,
        "r": torch.tensor([[1.0, -2.0], [0.0, 3.0]]), "g": x.clone().requires_grad_(),
        # Of gradients, the values: how many writes and views they went through is an engine's own affair.
        "grad": lambda t: t.grad.tolist(),
        "twice": lambda f, t: torch.autograd.grad(f.abs().sum(), t)[0].tolist(),
        "moved": lambda d, t: ([part.tolist() for part in d.unpack_dual(t)], d.exit_dual_level())[0],
    }  # fmt: skip
    *statements, last = program.split("; ")
    try:
        exec("\n".join(statements), names)
        return about(eval(last, names))
    except Exception as error:
        assert not isinstance(error, (NameError, SyntaxError)), program
        return [type(error).__name__, text(error)]


def programs() -> list[str]:
    lines = [line for lines in (*PROGRAMS.values(), LONGER) for line in lines.splitlines()]
    return [program.strip() for line in lines for program in line.split(" | ") if program.strip()]


@pytest.mark.parametrize("program", programs())
def test_same(program: str) -> None:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted, found = outcome(program, torch), outcome(program, torchlite)
    assert same(wanted, found), f"\ntorch      {wanted}\ntorchlite  {found}"


# ---- random programs: `t` and `u` are two of the tensors made so far
# `v` is `u`, or a copy where writing to what it shares memory with has no defined meaning in PyTorch.

VIEWS = (
    "t.conj()", "t._neg_view()", "t.real", "t.imag", "t.mH", "t.T", "t[1:]", "t[0]", "t[..., -1]", "t.reshape(-1)",
    "t.unsqueeze(0)", "t.detach()", "torch.view_as_real(t)",
)  # fmt: skip
RESULTS = (
    "t + u", "t * u", "-t", "t * 2", "t.clone()", "t.contiguous()", "t.resolve_conj()", "t.resolve_neg()", "t.abs()",
    "t.sum()", "t.conj_physical()", "t.to(torch.complex128)", "torch.cat([t, t])",
)  # fmt: skip
WRITES = (
    "t.add_(1)", "t.mul_(2j)", "t.mul_(3)", "t.add_(v)", "t.mul_(v)", "t.copy_(u.clone())", "t.fill_(2)", "t.neg_()",
    "t.conj_physical_()", "t.__setitem__(0, 3)", "t.__setitem__(0, u.clone())", "t.zero_()", "torch.add(t, t, out=t)",
)  # fmt: skip

steps = st.tuples(st.sampled_from(VIEWS * 2 + RESULTS + WRITES * 2), st.integers(0, 99), st.integers(0, 99))


@pytest.mark.parametrize("part", ["t[1:]", "t[1]", "t[:, 1]", "t.imag[1:]", "t[1:].imag", "t.mH[1:]", "(-t).imag[0]"])
def test_gradients_of_parts_of_what_is_lazy(part: str) -> None:
    torch = pytest.importorskip("torch")

    def gradients(library: Any) -> Any:
        leaf = library.tensor([[1 + 2j, 3 - 4j, 0.5j], [5j, -1.5 + 1j, 2 + 0j]], requires_grad=True)
        made = eval(part, {"t": (leaf * 1).conj()})
        weights = library.arange(1, made.numel() + 1).reshape(made.shape) * (1 + 2j)
        return library.autograd.grad((made * weights).real.sum(), leaf)[0].tolist()

    assert gradients(torchlite) == gradients(torch)


def walk(torch: Any, chain: list[tuple[str, int, int]], differentiable: bool) -> Any:
    """What is told on the way, of all tensors after every step; then of the gradients."""
    values = torch.tensor([[1 + 2j, 3 - 4j, 0.5j], [5j, -1.5 + 1j, 2 + 0j]])
    leaf = values.clone().requires_grad_(differentiable)
    made, story = [leaf * 1], []
    for step, one, other in chain:
        t, u = made[one % len(made)], made[other % len(made)]
        try:
            v = u if u.is_conj() or u.is_neg() else u.clone()
            result = eval(step, {"torch": torch, "t": t, "u": u, "v": v})
        except Exception as error:
            story.append((step, type(error).__name__))
            continue
        if result is not None and all(result is not known for known in made):
            made.append(result)
        story.append((step, [(_form(m), m._version, m._is_view(), m.detach().tolist()) for m in made]))
        if made[-1].numel() > 60:
            break
    if differentiable:
        try:
            story.append([m.grad_fn and m.grad_fn.name() for m in made])
            sum([(m * m.conj()).real.sum() for m in made]).backward()
            story.append(leaf.grad.tolist())
        except Exception as error:
            story.append((type(error).__name__, text(error)))
    return story


@settings(max_examples=300, deadline=None)
@given(st.lists(steps, min_size=1, max_size=8), st.booleans())
def test_chains(chain: list[tuple[str, int, int]], differentiable: bool) -> None:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted, found = walk(torch, chain, differentiable), walk(torchlite, chain, differentiable)
    for at, (a, b) in enumerate(zip(wanted, found)):
        assert same(a, b), f"at {at}:\n  torch      {a}\n  torchlite  {b}"
    assert len(wanted) == len(found)
