"""`torch.autograd.forward_ad` beside real PyTorch: what carries tangents, what drops them, and what refuses."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torchlite

from .side_by_side import plain, same, same_story

fw = torchlite.autograd.forward_ad


def numbers(torch, *shape, start=0.5):
    count = 1
    for n in shape:
        count *= n
    return (torch.arange(count, dtype=torch.float64) * 0.37 + start).reshape(shape)


def dual(torch, *shape, start=0.5):
    return torch.autograd.forward_ad.make_dual(numbers(torch, *shape, start=start), numbers(torch, *shape, start=-0.8))


def derivative(torch, t):
    return torch.autograd.forward_ad.unpack_dual(t).tangent


pytestmark = pytest.mark.usefixtures("forward_level_was_open")


# ---- levels


@same_story
def test_levels(torch, tell):
    forward_ad = torch.autograd.forward_ad
    tell(sorted(forward_ad.__all__))
    with forward_ad.dual_level() as level:
        tell(level)
        with pytest.raises(RuntimeError) as caught:
            forward_ad.enter_dual_level()
        tell(str(caught.value))
        with pytest.raises(RuntimeError) as caught:
            forward_ad.exit_dual_level(level=3)
        tell(str(caught.value))
    tell(forward_ad.enter_dual_level())
    forward_ad.exit_dual_level()
    forward_ad.exit_dual_level()


@same_story
def test_a_level_decorates(torch, tell):
    @torch.autograd.forward_ad.dual_level()
    def derivative_of_cube(x):
        return derivative(torch, torch.autograd.forward_ad.make_dual(x, torch.ones_like(x)) ** 3)

    return derivative_of_cube(numbers(torch, 3)), derivative_of_cube(numbers(torch, 2))


@same_story
def test_without_a_level(torch, tell):
    x = torch.ones(2)
    value = torch.autograd.forward_ad.unpack_dual(x)
    tell(type(value).__name__, value._fields, value.primal is x, value.tangent)
    torch.autograd.forward_ad.make_dual(x, x)


@same_story
def test_a_level_ends_and_leaves_plain_tensors(torch, tell):
    with torch.autograd.forward_ad.dual_level():
        d = dual(torch, 2, 2)
        results = [d, d * 2, d.exp().t(), d[0], torch.zeros_like(d).copy_(d)]
        tell(results, [derivative(torch, t) for t in results])
    tell([repr(t) for t in results], [torch.autograd.forward_ad.unpack_dual(t).tangent for t in results])
    results[0].mul_(2)
    tell(results[0].numpy().tolist(), (results[1] @ results[2]).sum().item())
    with torch.autograd.forward_ad.dual_level():
        tell([torch.autograd.forward_ad.unpack_dual(t).tangent for t in results])
        again = torch.autograd.forward_ad.make_dual(results[1], torch.ones(2, 2))
        tell(derivative(torch, again * 3))


@same_story
def test_an_error_ends_the_level(torch, tell):
    with pytest.raises(ZeroDivisionError), torch.autograd.forward_ad.dual_level():
        raise ZeroDivisionError
    with torch.autograd.forward_ad.dual_level() as level:
        return level


@same_story
def test_levels_opened_and_closed_inside_other_contexts(torch, tell):
    with torch.no_grad():
        torch.autograd.forward_ad.enter_dual_level()
    d = dual(torch, 2)
    tell(derivative(torch, d * 2))
    with torch.no_grad():
        torch.autograd.forward_ad.exit_dual_level()
    tell(torch.autograd.forward_ad.unpack_dual(d).tangent)
    torch.autograd.forward_ad.make_dual(d, d)


@same_story
def test_switching_forward_mode_off(torch, tell):
    forward_ad = torch.autograd.forward_ad
    tell(forward_ad._is_fwd_grad_enabled())
    with forward_ad._set_fwd_grad_enabled(False):
        tell(forward_ad._is_fwd_grad_enabled())
        with forward_ad.dual_level():
            d = dual(torch, 2)
            tell(forward_ad.unpack_dual(d).tangent, forward_ad.unpack_dual(d * 2).tangent, repr(d))
            with forward_ad._set_fwd_grad_enabled(True):
                tell(derivative(torch, d), derivative(torch, d * 2))
    tell(forward_ad._is_fwd_grad_enabled())


@same_story
def test_grad_modes(torch, tell):
    with torch.autograd.forward_ad.dual_level():
        d = dual(torch, 3)
        with torch.no_grad():
            tell(derivative(torch, d.sin()), derivative(torch, d[1:]))
        with torch.inference_mode():
            tell(derivative(torch, d.sin()))
        tell(derivative(torch, d.sin()))


# ---- duals


@same_story
def test_a_dual_is_a_view_of_its_primal(torch, tell):
    with torch.autograd.forward_ad.dual_level():
        x, t = torch.ones(2, 3), torch.ones(2, 3) * 2
        d = torch.autograd.forward_ad.make_dual(x, t)
        tell(d._is_view(), d._base is x, d.is_leaf, d.requires_grad, d.data_ptr() == x.data_ptr())
        primal, tangent = torch.autograd.forward_ad.unpack_dual(d)
        tell(tangent is t, primal is x, primal is d, primal._is_view(), primal._base is x)
        tell(torch.autograd.forward_ad.unpack_dual(primal).tangent, torch.autograd.forward_ad.unpack_dual(x).tangent)
        d.mul_(3)
        tell(x, t, x._version, torch.autograd.forward_ad.unpack_dual(x).tangent)
        tell(torch.autograd.forward_ad.unpack_dual(d.detach()).tangent, d.detach()._is_view())
        tell(torch.autograd.forward_ad.unpack_dual(d.data).tangent)
        d.data = torch.zeros(2, 3)
        tell(d, derivative(torch, d))


@same_story
def test_layouts_of_tangents(torch, tell):
    with torch.autograd.forward_ad.dual_level():
        for x in (torch.ones(3, 2).t(), torch.ones(6)[::2], torch.ones(2, 1, 3), torch.ones(0, 3)):
            t = torch.arange(float(x.numel())).reshape(x.shape)
            d = torch.autograd.forward_ad.make_dual(x, t)
            found = derivative(torch, d)
            tell(found, found.stride(), found is t, derivative(torch, d.view_as(d)), derivative(torch, d * 2).stride())
        torch.autograd.forward_ad.make_dual(torch.ones(2, 1).expand(2, 3), torch.ones(2, 3))


REFUSED = {
    "integer primal": lambda torch, x: (x.long(), x),
    "integer tangent": lambda torch, x: (x, x.long()),
    "size": lambda torch, x: (x, torch.ones(3)),
    "no broadcasting": lambda torch, x: (torch.ones(2, 2), x),
    "already dual": lambda torch, x: (torch.autograd.forward_ad.make_dual(x, x * 2), x),
    "dual tangent": lambda torch, x: (x, torch.autograd.forward_ad.make_dual(x, x * 2)),
    "no tensor": lambda torch, x: (3, x),
    "no tangent": lambda torch, x: (x, 3),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_refused_duals(make):
    @same_story
    def program(torch, tell):
        with torch.autograd.forward_ad.dual_level():
            torch.autograd.forward_ad.make_dual(*make(torch, torch.ones(2)))

    program()


@same_story
def test_other_levels(torch, tell):
    forward_ad, x = torch.autograd.forward_ad, torch.ones(2)
    with forward_ad.dual_level() as level:
        d = forward_ad.make_dual(x, x, level=level)
        tell(forward_ad.unpack_dual(d, level=level), forward_ad.unpack_dual(d, level=1).tangent)
        tell(forward_ad.unpack_dual(d, level=-1).primal is d)
        with pytest.raises(RuntimeError) as caught:
            forward_ad.make_dual(x, x, level=-1)
        tell(str(caught.value))
        forward_ad.make_dual(x, x, level=1)


@same_story
def test_tangents_of_other_dtypes(torch, tell):
    x = torch.ones(2)
    with torch.autograd.forward_ad.dual_level():
        for d in (torch.float64, torch.complex64):
            tell(derivative(torch, torch.autograd.forward_ad.make_dual(x, x.to(d))))


# ---- how it prints


@same_story
def test_printing(torch, tell):
    with torch.autograd.forward_ad.dual_level():
        d = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2) * 2)
        tell(repr(d), repr(d[0]), str(d.sum()), f"{d}", repr(torch.autograd.forward_ad.unpack_dual(d)))
        tell(repr(torch.autograd.forward_ad.make_dual(numbers(torch, 3, 4).float(), -numbers(torch, 3, 4).float())))
        tell(repr(d.double()), repr(d.to(torch.complex64)))
        x = torch.ones(2, requires_grad=True)
        tell(repr(torch.autograd.forward_ad.make_dual(x, torch.ones(2, requires_grad=True))))
        tell(repr(torch.autograd.forward_ad.make_dual(x.detach(), torch.ones(2)).requires_grad_()))
        tell(repr(torch.autograd.forward_ad.make_dual(x, torch.ones(2)).clone()))
        tell(repr(d.as_subclass(type("Own", (torch.Tensor,), {}))))


# ---- operations

OPERATIONS = {
    "views": lambda torch, d, e: (d.t(), d[0], d[:, 1:], d.view(6), d.diagonal(), d.unsqueeze(0), d[None, ..., 0]),
    "more views": lambda torch, d, e: (d.as_strided((2, 2), (1, 1)), d[1].as_strided((2,), (1,)), d[0].expand(2, 3)),
    "several views": lambda torch, d, e: (*d.chunk(3, 1), *d.split(1), *d.unbind(0)),
    "arithmetic": lambda torch, d, e: (d + e, d - 2 * e, d * e, d / e, 1 / d, d**e, d.pow(3), torch.add(d, e, alpha=3)),
    "elementary": lambda torch, d, e: (d.exp(), d.log(), d.sin(), d.tanh(), d.sigmoid(), d.sqrt(), d.abs(), d.atan2(e)),
    "steps": lambda torch, d, e: (d.floor(), d.round(), d.sign(), d.trunc(), d.frac(), d.clamp(0.7, 1.5)),
    "no derivative": lambda torch, d, e: (d > e, d.argmax(), d.int(), d.isnan(), d.sort()[1]),
    "reductions": lambda torch, d, e: (d.sum(), d.mean(0), d.var(), d.std(1), d.norm(), d.prod(), d.prod(0), d.amax(1)),
    "along": lambda torch, d, e: (d.softmax(0), d.log_softmax(1), d.logsumexp(0), d.cumsum(1), d.cumprod(0)),
    "choices": lambda torch, d, e: (
        d.max(1)[0],
        d.sort()[0],
        d.topk(2)[0],
        torch.where(d > 1, d, e),
        torch.maximum(d, e),
    ),
    "matrices": lambda torch, d, e: (
        d @ e.t(),
        torch.einsum("ij,ik->jk", d, e),
        torch.addmm(e[:, :2], d, e.t()),
        d.mv(e[0]),
    ),
    "together": lambda torch, d, e: (
        torch.cat([d, e]),
        torch.stack([d, e.detach()], 1),
        d.repeat(2, 1),
        d.roll(1),
        d.flip(0),
    ),
    "picks": lambda torch, d, e: (
        d[torch.tensor([0, 0])],
        d[d > 1],
        d.gather(1, torch.tensor([[0], [1]])),
        d.take(torch.tensor([3])),
    ),
    "complex": lambda torch, d, e: (
        torch.complex(d, e).abs(),
        torch.complex(d, e).angle(),
        (torch.complex(d, e) * 1j).exp(),
    ),
    "complex views": lambda torch, d, e: (torch.complex(d, e).imag, torch.view_as_real(torch.complex(d, e))),
    "conversions": lambda torch, d, e: (d.float(), d.to(torch.complex128).real, d.half().double()),
    "detached": lambda torch, d, e: (d.detach(), d.data * 2, torch.zeros_like(d), d.new_ones(2), d * e.detach()),
}

WRITES = {
    "whole": lambda torch, d, e: (d.mul_(e), d.add_(e, alpha=2), d.exp_(), d.clamp_(0.5, 9.0), d),
    "division": lambda torch, d, e: (d.div_(e), d.sqrt_(), d.pow_(2), d.sigmoid_(), d.lerp_(e, 0.3), d.addcmul_(e, e)),
    "base through view": lambda torch, d, e: (d[0].mul_(2), d, d.t()[1].add_(e[0, 0]), d),
    "view through base": lambda torch, d, e: (lambda part: (d.mul_(e), part))(d[:, 1]),
    "plain": lambda torch, d, e: (lambda y: (y.copy_(d), y.add_(1), y[0]))(torch.zeros_like(d)),
    "plain through view": lambda torch, d, e: (lambda y: (y[1].add_(d[0]), y, y[0], y.t()))(torch.zeros_like(d)),
    "plain seen before": lambda torch, d, e: (lambda y, v: (y.mul_(d), v))(*(lambda y: (y, y.t()))(torch.ones_like(d))),
    "strided plain": lambda torch, d, e: (lambda y: (y[:, ::2].copy_(d[:, :2]), y))(d.new_zeros(2, 4)),
    "complex part": lambda torch, d, e: (lambda c: (c.real.mul_(d), c.imag.add_(e), c))(
        torch.ones(2, 3, dtype=torch.complex128)
    ),
    "constants": lambda torch, d, e: (d[0].zero_(), d, e.fill_(2), e.fill_(d[1, 1]), d.copy_(torch.ones(3))),
    "items": lambda torch, d, e: (
        d.__setitem__(0, 5.0),
        d,
        d.__setitem__((slice(None), 1), e[:, 0]),
        d,
        e.__setitem__(e > 1, d[1, 1]),
        e,
    ),
    "places": lambda torch, d, e: (
        d.index_add_(0, torch.tensor([0, 1]), e),
        d.scatter_(1, torch.tensor([[0], [1]]), e),
        d,
    ),
    "masks": lambda torch, d, e: (
        d.masked_fill_(d > 1, 0.0),
        e.masked_fill_(e > 1, d[1, 1]),
        d.masked_scatter_(d > 0.6, e),
    ),
    "shapes": lambda torch, d, e: (d.t_(), d.mul_(2), d.unsqueeze_(0), d.squeeze_(), d.swapdims_(0, 1), d),
    "dropped": lambda torch, d, e: (lambda y: (y, y.detach_()))(d * 2),
    "random": lambda torch, d, e: (torch.autograd.forward_ad.unpack_dual(d.uniform_()).tangent, d.mul_(0)),
}


def told(torch, program):
    """Primals and tangents of what a program on two duals makes."""
    with torch.autograd.forward_ad.dual_level():
        results = program(torch, dual(torch, 2, 3), dual(torch, 2, 3, start=0.9))
        tensors = [t for t in results if t is not None]
        return [(t.detach(), derivative(torch, t), derivative(torch, t) is None or t.stride()) for t in tensors]


@pytest.mark.parametrize("program", [*OPERATIONS.values(), *WRITES.values()], ids=[*OPERATIONS, *WRITES])
def test_tangents(program):
    same_story(lambda torch, tell: told(torch, program))()


def test_a_tensor_times_itself_in_place_has_the_right_tangent():
    with fw.dual_level():
        d = fw.make_dual(torchlite.full((2,), 3.0), torchlite.ones(2))
        assert fw.unpack_dual(d.mul_(d)).tangent.tolist() == [6.0, 6.0]


@same_story
def test_writing_leaves_operands_alone(torch, tell):
    with torch.autograd.forward_ad.dual_level():
        d = dual(torch, 3)
        for result in (d + 0, d * 1, d.clone(), d.contiguous().reshape(3).clone(), torch.cat([d]), d.relu()):
            result.mul_(5)
        return d, derivative(torch, d)


@same_story
def test_leaves_written_to(torch, tell):
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    with torch.autograd.forward_ad.dual_level():
        with torch.no_grad():
            tell(derivative(torch, x.add_(dual(torch, 2))))
        x.add_(dual(torch, 2))


FAILING = {
    "out of duals": lambda torch, d: torch.mul(d, d, out=torch.empty(3)),
    "out into a dual": lambda torch, d: torch.add(torch.ones(3), 1, out=d.clone()),
    "no forward derivative": lambda torch, d: torch.igamma(d, d),
    "no forward derivative in place": lambda torch, d: d.igamma_(d),
    "no derivative at all": lambda torch, d: torch.heaviside(d, d),
    "resized": lambda torch, d: d.clone().resize_(2),
    "other memory": lambda torch, d: d.clone().set_(torch.ones(2)),
    "integers": lambda torch, d: torch.zeros(3, dtype=torch.long).add_(d),
}


@pytest.mark.parametrize("call", FAILING.values(), ids=FAILING)
def test_refused_operations(call):
    @same_story
    def program(torch, tell):
        with torch.autograd.forward_ad.dual_level():
            d = dual(torch, 3)
            try:
                call(torch, d)
            finally:
                tell(d, derivative(torch, d), derivative(torch, d * 2))

    program()


STEPS = [
    lambda torch, a, b: a * b,
    lambda torch, a, b: a.add_(b),
    lambda torch, a, b: a.mul_(b[0] * 0.3),
    lambda torch, a, b: a[0].copy_(b[1].sin()),
    lambda torch, a, b: a.t()[1:].mul_(2),
    lambda torch, a, b: a.t(),
    lambda torch, a, b: a.diagonal().sigmoid_(),
    lambda torch, a, b: a @ b,
    lambda torch, a, b: a.softmax(0),
    lambda torch, a, b: a.detach() + b,
    lambda torch, a, b: a.masked_fill_(b > 1, 0.5),
    lambda torch, a, b: torch.zeros(2, 2, dtype=torch.float64).copy_(a),
    lambda torch, a, b: a.clone().reshape(-1)[1:3].view(2, 1).expand(2, 2).cos(),
]


def walk(torch, steps):
    """Tensors after some steps on a pool that starts with a dual, a view of it and a plain one."""
    with torch.autograd.forward_ad.dual_level():
        d = dual(torch, 2, 2)
        pool = [d, d[:, :1].expand(2, 2).clone(), torch.ones(2, 2, dtype=torch.float64), d.t()]
        for step, at, other in steps:
            a, b = pool[at % len(pool)], pool[other % len(pool)]
            if a is b:
                continue
            result = STEPS[step](torch, a, b * 0.5)
            if result.shape == (2, 2):
                pool.append(result)
        return plain([(t.detach(), derivative(torch, t)) for t in pool])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 9), st.integers(0, 9)), max_size=8))
def test_random_walks(steps):
    torch = pytest.importorskip("torch")
    wanted, found = walk(torch, steps), walk(torchlite, steps)
    assert same(wanted, found), f"{wanted}\n{found}"


# ---- with backward


@same_story
def test_reverse_over_forward(torch, tell):
    x, t = numbers(torch, 3).requires_grad_(), numbers(torch, 3, start=2.0).requires_grad_()
    with torch.autograd.forward_ad.dual_level():
        d = torch.autograd.forward_ad.make_dual(x, t)
        y = (d.exp() * d).sin()
        primal, tangent = torch.autograd.forward_ad.unpack_dual(y)
        tell(tangent.requires_grad, primal.requires_grad, primal._base is y)
        tangent.sum().backward(retain_graph=True)
        tell(x.grad, t.grad)
    tell(torch.autograd.grad(primal.sum(), x, retain_graph=True), torch.autograd.grad(tangent.sum(), [x, t]))


VIEWED = [
    lambda d: (lambda y: (y[1:].exp_(), y)[1])(d * 2),
    lambda d: (lambda y: (y[1:].mul_(d[0]), y.view(3, 1).sigmoid_(), y)[2])(d * 2),
    lambda d: (lambda y, part: (y.exp_(), part * part)[1])(*(lambda y: (y, y[1:]))(d * 2)),
]


@same_story
def test_forward_over_reverse(torch, tell):
    with torch.autograd.forward_ad.dual_level():
        d = dual(torch, 3).requires_grad_()
        for f in (lambda d: d**3, torch.exp, lambda d: d.softmax(0) * d, lambda d: d.clone().sigmoid_() * 2, *VIEWED):
            for create_graph in (False, True):
                (g,) = torch.autograd.grad(f(d).sum(), d, create_graph=create_graph)
                tell(g.detach(), derivative(torch, g).detach(), g.requires_grad)


@same_story
def test_gradients_of_leaves_move_once_accumulated(torch, tell):
    with torch.autograd.forward_ad.dual_level():
        d = dual(torch, 2)
        for create_graph in (False, True):
            x = torch.ones(2, dtype=torch.float64, requires_grad=True)
            for _ in range(3):
                (d * x).sum().backward(create_graph=create_graph)
                tell(x.grad.detach(), derivative(torch, x.grad))


@same_story
def test_tangents_through_saved_tensors_and_views(torch, tell):
    w = numbers(torch, 2, 2, start=-1.0).requires_grad_()
    with torch.autograd.forward_ad.dual_level():
        y = (w @ dual(torch, 2, 2)).tanh()
        y[0].mul_(2)
        (g,) = torch.autograd.grad((y * y).sum(), w)
        tell(g, derivative(torch, g))
        tell(torch.autograd.grad(derivative(torch, y).sum(), w))


@same_story
def test_hooks_see_tangents(torch, tell):
    with torch.autograd.forward_ad.dual_level():
        d = dual(torch, 2).requires_grad_()
        y = d * d
        y.register_hook(lambda g: tell("hook", g, derivative(torch, g)))
        (y * d.detach()).sum().backward()
        (y * d).sum().backward()


@same_story
def test_in_place_with_a_tangent_that_requires_grad(torch, tell):
    t = torch.ones(2, requires_grad=True)
    with torch.autograd.forward_ad.dual_level():
        d = torch.autograd.forward_ad.make_dual(torch.ones(2), t).clone().mul_(2)
        derivative(torch, d).sum().backward()
        tell(t.grad)
        torch.autograd.forward_ad.make_dual(torch.ones(2), t).mul_(2)


@same_story
def test_packed_tensors(torch, tell):
    packed = []
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.forward_ad.dual_level():
        with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
            y = torch.autograd.forward_ad.make_dual(x, torch.ones(2)).exp()
        tell(derivative(torch, y).detach())
    tell(torch.autograd.grad(y.sum(), x))


# ---- modules, batches, transforms


@same_story
def test_modules(torch, tell):
    weight = numbers(torch, 2, 3, start=-1.0)
    with torch.autograd.forward_ad.dual_level():
        p = torch.nn.Parameter(weight)
        d = torch.autograd.forward_ad.make_dual(p, torch.ones_like(p))
        y = torch.relu(torch.ones(3, dtype=torch.float64) @ d.t())
        derivative(torch, (y * y).sum()).backward()
        tell(p.grad)
        tell(torch.autograd.forward_ad.unpack_dual(torch.nn.Parameter(d)).tangent)


def test_a_batch_of_tangents():
    """Inside `vmap`, a plain tensor may move in many directions at once."""
    x = torchlite.arange(3.0)

    def column(t):
        with fw.dual_level():
            y = fw.make_dual(x, t)
            z = torchlite.zeros(3)
            z.copy_(y * y)
            return fw.unpack_dual(z[1:].sin() * y[:2]).tangent

    found = torchlite.vmap(column)(torchlite.eye(3)).t()
    wanted = torchlite.autograd.functional.jacobian(lambda x: (x * x)[1:].sin() * x[:2], x)
    assert torchlite.allclose(found, wanted)


def test_batches_of_duals():
    with fw.dual_level():
        d = fw.make_dual(torchlite.arange(6.0).view(3, 2), torchlite.ones(3, 2))
        y = torchlite.vmap(lambda row: (row * row.sum()).mul_(2))(d)
        wanted = fw.unpack_dual(d * d.sum(1, True) * 2)
        found = fw.unpack_dual(y)
        assert torchlite.equal(found.primal, wanted.primal) and torchlite.equal(found.tangent, wanted.tangent)


def test_jvp_inside_a_level():
    with fw.dual_level():
        d = fw.make_dual(torchlite.full((), 2.0), torchlite.ones(()))
        _, first = torchlite.func.jvp(lambda x: x**3, (d,), (torchlite.ones(()),))
        assert (first.item(), fw.unpack_dual(first).tangent.item()) == (12.0, 12.0)


@same_story
def test_copies(torch, tell):
    import copy
    import pickle

    with torch.autograd.forward_ad.dual_level():
        d = dual(torch, 2)
        for made in (copy.copy(d), copy.deepcopy(d), pickle.loads(pickle.dumps(d)), torch.from_numpy(d.numpy())):
            tell(made, torch.autograd.forward_ad.unpack_dual(made).tangent)


# ---- lifetimes


def test_tangents_go_with_their_tensors_and_with_the_level():
    gc.disable()
    try:
        with fw.dual_level():
            d = fw.make_dual(torchlite.ones(2), torchlite.ones(2))
            y = d.exp()
            tangent = weakref.ref(fw.unpack_dual(y).tangent)
            assert tangent() is not None
            del y
            assert tangent() is None
            kept = d.exp()
            tangent = weakref.ref(fw.unpack_dual(kept).tangent)
        assert tangent() is None
        assert kept is not None
    finally:
        gc.enable()


def test_graphs_of_tangents_are_freed_at_once():
    gc.disable()
    try:
        x, t = torchlite.ones(2, requires_grad=True), torchlite.ones(2, requires_grad=True)
        with fw.dual_level():
            y = fw.make_dual(x, t).exp()
            reference, node = weakref.ref(fw.unpack_dual(y).tangent), weakref.ref(y.grad_fn)
        del y
        assert reference() is None and node() is None
    finally:
        gc.enable()


def test_a_level_belongs_to_its_thread():
    seen = []

    def other():
        with fw.dual_level():
            d = fw.make_dual(torchlite.ones(2), torchlite.ones(2))
            seen.append(fw.unpack_dual(d * 2).tangent.tolist())

    with fw.dual_level():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == [[2.0, 2.0]]


def test_modes_are_restored_after_errors():
    with fw.dual_level():
        d = fw.make_dual(torchlite.ones(2), torchlite.ones(2))
        for _ in range(2):
            with pytest.raises(NotImplementedError):
                torchlite.igamma(d, d)
        assert fw.unpack_dual(d * 2).tangent.tolist() == [2.0, 2.0]
    assert torchlite.is_grad_enabled() and fw._is_fwd_grad_enabled()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 2, lambda x: x / 3, lambda x: 2 * x + 3, lambda x: x + 1, lambda x: x.clone().mul_(2),
        lambda x: -x, lambda x: (x * x).sum(), lambda x: x.cumsum(0), lambda x: x.where(x > 0, x.new_ones(2)),
        lambda x: x.clamp(0, 1), lambda x: x.lerp(x.new_ones(2), 0.3), lambda x: x.new_ones(2, 2).mv(x),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["jvp", "jacfwd", "hessian"])
def test_tangents_of_products_have_the_history_of_what_moves(f, name):
    """PyTorch multiplies the zeros of operands that do not move with those that do."""

    @same_story
    def program(torch, tell):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        made = {
            "jvp": lambda: torch.func.jvp(f, (x,), (torch.ones(2),))[1],
            "jacfwd": lambda: torch.func.jacfwd(f)(x),
            "hessian": lambda: torch.func.hessian(lambda x: f(x).sum())(x),
        }[name]()
        tell(made.detach(), made.requires_grad)
        if made.requires_grad:
            tell(torch.autograd.grad(made.sum(), x)[0] + 0.0)  # which may be zeros without memory

    program()


@same_story
def test_handlers_and_subclasses_see_duals_made_and_taken_apart(torch, tell):
    forward_ad = torch.autograd.forward_ad
    called = []

    class Noting(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            called.append((func.__name__, len(args), kwargs))
            return func(*args, **(kwargs or {}))

    class Marked(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Marked)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones(2))
        made = [dual, *forward_ad.unpack_dual(dual), *forward_ad.unpack_dual(dual * 2), *forward_ad.unpack_dual(x)]
        with Noting():
            forward_ad.unpack_dual(forward_ad.make_dual(torch.zeros(2), x))
    tell([type(t).__name__ for t in made])
    tell([call for call in called if "dual" in call[0]])
