"""Custom Functions under forward differentiation and the transforms of `torch.func`."""

from __future__ import annotations

import pytest

import torchlite
from compat_tests.functions import attempt, cube, define, square, through
from compat_tests.side_by_side import same_story

torch = pytest.importorskip("torch")
pytest.importorskip("hypothesis")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

# ---- forward differentiation


def along(torch, fn, *primals, others=()):
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(p, torch.ones_like(p)) for p in primals]
        result = fn.apply(*duals, *others)
        results = result if isinstance(result, tuple) else (result,)
        return [
            (*forward_ad.unpack_dual(r), [r is d for d in duals]) if isinstance(r, torch.Tensor) else r for r in results
        ]


@same_story
def test_jvp(torch, tell):
    x = torch.tensor([1.0, 2.0])

    def forward(ctx, x, n, w):
        ctx.save_for_forward(x)
        ctx.n = n
        return x**2 * n, n

    def jvp(ctx, *tangents):
        tell(tangents, ctx.saved_tensors, torch.is_grad_enabled(), ctx.needs_input_grad)
        return tangents[0] * 2 * ctx.saved_tensors[0] * ctx.n, None

    fn = define(torch, forward, jvp=jvp)
    tell(along(torch, fn, x, others=(3, torch.ones(2))))
    tell(along(torch, cube(torch), x))
    tell(along(torch, square(torch, jvp=lambda ctx, t: (tell(ctx.saved_tensors), t)[1]), x))


@same_story
def test_jvps_that_do_not_fit(torch, tell):
    x = torch.tensor([1.0, 2.0, 3.0])
    one = define(torch, lambda ctx, x: x * 2)
    attempt(tell, "none", lambda: along(torch, one, x))
    jvps = (
        lambda ctx, t: (t, t),
        lambda ctx, t: (),
        lambda ctx, t: 3,
        lambda ctx, t: t[:2],
        lambda ctx, t: t,
        lambda ctx, t: t.view_as(t),
    )
    for at, jvp in enumerate(jvps):
        attempt(tell, at, lambda jvp=jvp: along(torch, define(torch, lambda ctx, x: x * 2, jvp=jvp), x))

    def fixed(ctx, x):
        y = x * 2
        ctx.mark_non_differentiable(y)
        return y

    for forward in (fixed, lambda ctx, x: x.long()):
        for jvp in (lambda ctx, t: t, lambda ctx, t: None):
            attempt(tell, "fixed", lambda f=forward, j=jvp: along(torch, define(torch, f, jvp=j), x))


@same_story
def test_jvps_of_views_and_writes(torch, tell):
    x, other = torch.tensor([1.0, 2.0, 3.0]), torch.ones(3)

    def write(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    cases = {
        "same": (lambda ctx, x: x, lambda ctx, t: t),
        "same, copied": (lambda ctx, x: x, lambda ctx, t: t * 2),
        "same, viewed": (lambda ctx, x: x, lambda ctx, t: t.view_as(t)),
        "view": (lambda ctx, x: x[1:], lambda ctx, t: t[1:]),
        "view, copied": (lambda ctx, x: x[1:], lambda ctx, t: t[1:] * 1),
        "view of another": (lambda ctx, x: x[1:], lambda ctx, t: other[1:]),
        "written": (write, lambda ctx, t: t.mul_(2)),
        "written, copied": (write, lambda ctx, t: t * 2),
        "written, none": (write, lambda ctx, t: None),
    }
    for name, (forward, jvp) in cases.items():
        attempt(tell, name, lambda f=forward, j=jvp: along(torch, define(torch, f, jvp=j), x.clone()))


@same_story
def test_forward_over_reverse(torch, tell):
    forward_ad = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def forward(ctx, x):
        ctx.save_for_forward(x)
        ctx.save_for_backward(x)
        return x**3

    def slope(ctx, g):
        return g * 3 * ctx.saved_tensors[0] ** 2

    fn = define(torch, forward, slope, jvp=slope)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones(2))
        y = fn.apply(dual)
        tangent = forward_ad.unpack_dual(y).tangent
        tell(tangent, torch.autograd.grad(tangent.sum(), x, retain_graph=True))
        (g,) = torch.autograd.grad(y.sum(), dual, create_graph=True)
        tell(forward_ad.unpack_dual(g).tangent.tolist())


# ---- transforms


NOTHING = {"setup_context": lambda ctx, inputs, output: None}


@same_story
def test_old_functions_do_not_transform(torch, tell):
    x, fn = torch.tensor([1.0, 2.0]), square(torch)
    attempt(tell, "vmap", lambda: torch.func.vmap(fn.apply)(x))
    attempt(tell, "jvp", lambda: torch.func.jvp(fn.apply, (x,), (x,)))
    attempt(tell, "grad", lambda: torch.func.grad(lambda x: fn.apply(x).sum())(x))
    attempt(tell, "constant", lambda: torch.func.vmap(lambda x: x + fn.apply(torch.ones(())))(x))
    outer = define(torch, lambda x: fn.apply(x), through, vmap=lambda info, dims, x: (outer.apply(x), 0), **NOTHING)
    tell(torch.func.vmap(outer.apply)(x))


@same_story
def test_vmap_rules(torch, tell):
    def rule(info, in_dims, x, w, n):
        tell(info.batch_size, info.randomness, tuple(info), in_dims, x, w, n)
        return x.movedim(in_dims[0], 0) * n, 0

    fn = define(torch, lambda x, w, n: x * n, through, vmap=rule, **NOTHING)
    x = torch.arange(6.0).reshape(2, 3)
    for dim in (0, 1, -1):
        tell(torch.func.vmap(fn.apply, in_dims=(dim, None, None), randomness="same")(x, torch.ones(2), 3))
    pair = define(
        torch,
        lambda x: (x, x.sum()),
        through,
        vmap=lambda info, in_dims, x: ((x * 2, x.sum()), (in_dims[0], None)),
        **NOTHING,
    )
    tell(torch.func.vmap(pair.apply, in_dims=1, out_dims=(1, None))(x))


@same_story
def test_rules_run_outside_of_their_transform(torch, tell):
    old, vmap, grad = define(torch, lambda ctx, x: x * 2, through), torch.func.vmap, torch.func.grad
    x = torch.ones(2, 3)

    def run(forward=lambda x: x * 2, **more):
        return vmap(define(torch, forward, through, **more, **NOTHING).apply)(x)

    attempt(tell, "random rule", lambda: run(vmap=lambda info, dims, x: (x + torch.rand(3) * 0, 0)))
    attempt(tell, "random forward", lambda: run(lambda x: x + torch.rand(3) * 0, generate_vmap_rule=True))
    attempt(tell, "old rule", lambda: run(vmap=lambda info, dims, x: (old.apply(x), 0)))
    attempt(tell, "old forward", lambda: run(old.apply, generate_vmap_rule=True))
    attempt(tell, "vmap", lambda: run(vmap(lambda x: x * 3), generate_vmap_rule=True))
    attempt(tell, "grad", lambda: run(grad(lambda x: (x**2).sum()), generate_vmap_rule=True))
    plain = define(torch, old.apply, through, **NOTHING)
    attempt(tell, "old under grad", lambda: grad(lambda x: plain.apply(x).sum())(x))


@same_story
def test_vmap_rules_that_are_wrong(torch, tell):
    x = torch.tensor([1.0, 2.0])

    def run(forward=lambda x: x * 2, **more):
        return torch.func.vmap(define(torch, forward, through, **more, **NOTHING).apply)(x)

    two = lambda x: (x, x * 2)
    attempt(tell, "none", run)
    attempt(tell, "both", lambda: run(generate_vmap_rule=True, vmap=lambda info, dims, x: (x, 0)))
    attempt(tell, "one", lambda: run(vmap=lambda info, dims, x: x))
    attempt(tell, "three", lambda: run(vmap=lambda info, dims, x: (x, x, 0)))
    attempt(tell, "a list", lambda: run(vmap=lambda info, dims, x: [x, 0]))
    attempt(tell, "two dims", lambda: run(vmap=lambda info, dims, x: (x, (0, 0))))
    attempt(tell, "three dims", lambda: run(two, vmap=lambda info, dims, x: ((x, x), (0, 0, 0))))
    attempt(tell, "one for two", lambda: run(two, vmap=lambda info, dims, x: ((x, x), 0)))


@same_story
def test_generated_vmap_rules(torch, tell):
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.shape = tuple(inputs[0].shape)
        ctx.kept = inputs[0] * 1

    def backward(ctx, g):
        x, w = ctx.saved_tensors
        tell(tuple(g.shape), tuple(x.shape), tuple(w.shape), ctx.shape, tuple(ctx.kept.shape), ctx.needs_input_grad)
        return g * w, (g * ctx.kept).sum()

    fn = define(torch, lambda x, w: x * w, backward, "Scale", setup_context=setup_context, generate_vmap_rule=True)
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    w = torch.tensor(2.0, requires_grad=True)
    for in_dims, out_dim in (((0, None), 0), ((1, None), 1), ((-1, None), 0)):
        y = torch.func.vmap(fn.apply, in_dims=in_dims, out_dims=out_dim)(x, w)
        tell(y, y.grad_fn.name())
        tell(torch.autograd.grad((y * y).sum(), (x, w)))
    y = torch.func.vmap(torch.func.vmap(fn.apply, in_dims=(0, None)), in_dims=(1, None))(x, w)
    tell(y, torch.autograd.grad((y * y).sum(), (x, w)))
    tell(torch.func.vmap(fn.apply, in_dims=(None, 0))(x.detach(), torch.ones(2)))


@same_story
def test_generated_vmap_rules_that_fail(torch, tell):
    def run(backward):
        fn = define(torch, lambda x, n: x * n, backward, generate_vmap_rule=True, **NOTHING)
        x = torch.ones(3, requires_grad=True)
        torch.func.vmap(fn.apply, in_dims=(0, None))(x, 2).sum().backward()
        return x.grad

    attempt(tell, "good", lambda: run(lambda ctx, g: (g, None)))
    attempt(tell, "more", lambda: run(lambda ctx, g: (g, None, None)))
    attempt(tell, "few", lambda: run(lambda ctx, g: g))
    attempt(tell, "many", lambda: run(lambda ctx, g: (g, None, g)))
    attempt(tell, "none", lambda: run(lambda ctx, g: (None, None)))


@same_story
def test_functions_under_transforms(torch, tell):
    fn = cube(torch, generate_vmap_rule=True)
    x, v = torch.tensor([1.0, 2.0, -1.0]), torch.tensor([0.5, 1.0, 2.0])
    f = lambda x: fn.apply(x)[0]
    grad, vmap, jvp = torch.func.grad, torch.func.vmap, torch.func.jvp
    tell(vmap(f)(x), jvp(f, (x,), (v,)))
    tell(vmap(lambda x, v: jvp(f, (x,), (v,)))(x, v), jvp(vmap(f), (x,), (v,)))
    tell(vmap(grad(f))(x), vmap(grad(grad(f)))(x), grad(lambda x: vmap(f)(x).sum())(x))
    tell(jvp(vmap(grad(f)), (x,), (v,)), vmap(grad(lambda x: jvp(f, (x,), (x,))[1]))(x))
    tell(grad(lambda x: grad(lambda x: f(x).sum())(x).sum())(x))
    x.requires_grad_()
    tell(torch.autograd.grad(vmap(f)(x).sum(), x), torch.autograd.grad(jvp(f, (x,), (v,))[1].sum(), x))
    tell(torch.autograd.grad(vmap(grad(f))(x).sum(), x))


@same_story
def test_functions_that_call_functions(torch, tell):
    times = define(
        torch,
        lambda x, w: x * w,
        lambda ctx, g: (times.apply(g, ctx.saved_tensors[1]), times.apply(g, ctx.saved_tensors[0])),
        "Times",
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
        vmap=lambda info, dims, x, w: (times.apply(*[front(t, d, info) for t, d in ((x, dims[0]), (w, dims[1]))]), 0),
    )

    def front(t, dim, info):
        return t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)

    x, w = torch.tensor([1.0, 2.0, 3.0]), torch.tensor(2.0)
    grad, vmap = torch.func.grad, torch.func.vmap
    tell(vmap(times.apply, in_dims=(0, None))(x, w))
    tell(vmap(grad(times.apply, argnums=(0, 1)), in_dims=(0, None))(x, w))
    tell(grad(lambda x: vmap(lambda x: times.apply(times.apply(x, x), x))(x).sum())(x))
    tell(grad(lambda x: grad(lambda x: times.apply(times.apply(x, x), x))(x))(w))


@same_story
def test_jvps_under_func(torch, tell):
    x = torch.tensor([1.0, 2.0, 3.0])

    def run(forward=lambda x: x * 2, **more):
        return torch.func.jvp(define(torch, forward, **{**NOTHING, **more}).apply, (x,), (torch.ones(3),))

    attempt(tell, "none", run)
    attempt(tell, "one", lambda: run(jvp=lambda ctx, t: t * 2))
    attempt(tell, "few", lambda: run(lambda x: (x, x * 2), jvp=lambda ctx, t: t * 2))
    attempt(tell, "many", lambda: run(jvp=lambda ctx, t: (t, t)))
    attempt(tell, "number", lambda: run(jvp=lambda ctx, t: 3))
    attempt(tell, "shape", lambda: run(jvp=lambda ctx, t: t[:1]))
    attempt(tell, "integer", lambda: run(lambda x: x.long(), jvp=lambda ctx, t: None))
    attempt(tell, "integer's tangent", lambda: run(lambda x: x.long(), jvp=lambda ctx, t: t))
    fixed = lambda ctx, inputs, output: ctx.mark_non_differentiable(output)
    attempt(tell, "fixed", lambda: run(setup_context=fixed, jvp=lambda ctx, t: None))
    attempt(tell, "fixed, moving", lambda: run(setup_context=fixed, jvp=lambda ctx, t: t))
    attempt(tell, "same", lambda: run(lambda x: x, jvp=lambda ctx, t: t))
    attempt(tell, "view", lambda: run(lambda x: x[1:], jvp=lambda ctx, t: t[1:] * 1))


TRANSFORMS = {
    "grad": lambda torch, f: lambda x: torch.func.grad(lambda x: f(x).sum())(x),
    "vmap": lambda torch, f: torch.func.vmap(f),
    "jvp": lambda torch, f: lambda x: torch.func.jvp(f, (x,), (x * x + 1,))[1],
    "vjp": lambda torch, f: lambda x: torch.func.vjp(f, x)[1](x * 2)[0],
}


@given(st.lists(st.sampled_from([*TRANSFORMS]), min_size=1, max_size=3), st.booleans())
@settings(max_examples=25, deadline=None)
def test_any_nesting_of_transforms(names, recorded):
    """Functions made by hand differentiate as PyTorch's do, and as the ops they are made of."""

    def outcome(library, power):
        f = power
        for name in names:
            f = TRANSFORMS[name](library, f)
        x = library.arange(1.0, 25.0, dtype=library.float64).reshape(2, 3, 4) / 8
        if recorded:
            x.requires_grad_()
            y = f(x)
            (g,) = library.autograd.grad(y.sum(), x)
            return [y.detach().tolist(), g.tolist()]
        return [f(x).tolist()]

    def by_hand(library):
        fn = cube(library, generate_vmap_rule=True)
        return lambda x: fn.apply(x)[0] * 1

    found = outcome(torchlite, by_hand(torchlite))
    expected = [outcome(torchlite, lambda x: x**3)]
    if names.count("jvp") < 2:  # PyTorch's Functions do not move while their jvp runs
        expected.append(outcome(torch, by_hand(torch)))
    for wanted in expected:
        for a, b in zip(wanted, found):
            torch.testing.assert_close(
                torch.tensor(b, dtype=torch.float64), torch.tensor(a, dtype=torch.float64), rtol=1e-9, atol=1e-9
            )
