"""What custom Functions save, show and write to, and when it is freed: the same story in PyTorch and in torchlite."""

from __future__ import annotations

import gc
import math
import threading
import warnings
import weakref

import pytest

import torchlite
from compat_tests.functions import attempt, cube, define, leaf, square, through, writer
from compat_tests.side_by_side import same_story

# ---- what is saved


@same_story
def test_saved_tensors(torch, tell):
    x = leaf(torch)

    def saving(*what):
        return define(torch, lambda ctx, x: (ctx.save_for_backward(*what), x * 1)[1], through)

    tell(saving(None, x).apply(x).grad_fn.saved_tensors)
    for what in (3, [x], "s"):
        attempt(tell, str(type(what)), lambda what=what: saving(x, what).apply(x))
        attempt(tell, "not recorded", lambda what=what: saving(x, what).apply(x.detach()))
    with warnings.catch_warnings(record=True):
        tell(saving(x).apply(x).grad_fn.saved_variables)


@same_story
def test_saved_tensors_are_freed(torch, tell):
    for save in (True, False):

        def forward(ctx, x, save=save):
            if save:
                ctx.save_for_backward(x)
            return x * 1

        x = leaf(torch)
        y = define(torch, forward, lambda ctx, g: (tell(ctx.saved_tensors), g)[1]).apply(x)
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        attempt(tell, "again", lambda y=y: y.sum().backward())
        for name in ("saved_tensors", "_raw_saved_tensors"):
            attempt(tell, name, lambda y=y, name=name: getattr(y.grad_fn, name))
    y = define(torch, lambda ctx, x: x * 1, through).apply(leaf(torch))
    y.sum().backward()
    y.sum().backward()


@same_story
def test_saved_tensors_read_once(torch, tell):
    def backward(ctx, g):
        tell(ctx.saved_tensors)
        attempt(tell, "again", lambda: ctx.saved_tensors)
        return g

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    fn = define(torch, forward, backward, clear_saved_tensors_on_access=True)
    y = fn.apply(leaf(torch))
    y.sum().backward(retain_graph=True)
    attempt(tell, "twice", lambda: y.sum().backward(retain_graph=True))
    y = fn.apply(leaf(torch))
    tell(y.grad_fn.saved_tensors)
    attempt(tell, "outside", lambda: y.sum().backward())


@same_story
def test_stale_saved_tensors(torch, tell):
    x = leaf(torch)
    base = x * 1
    y = square(torch).apply(base)
    base.add_(1)
    attempt(tell, "input", lambda: y.sum().backward())

    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    y = define(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
    z = y.mul_(2)
    attempt(tell, "output", lambda: z.sum().backward())


@same_story
def test_saved_outputs(torch, tell):
    def forward(ctx, x):
        y, n, k = x.exp(), x * 2, x.long()
        ctx.mark_non_differentiable(n)
        ctx.save_for_backward(y, n, k, x)
        return y, n, k

    def backward(ctx, g, *_):
        y, n, k, x = ctx.saved_tensors
        tell(y, n, k, x, y.grad_fn is ctx)
        return g * y

    x = leaf(torch)
    y, *rest = define(torch, forward, backward).apply(x)
    tell(y, rest, y.grad_fn.saved_tensors)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    tell(torch.autograd.grad(g.sum(), x))


@same_story
def test_saved_tensors_hooks(torch, tell):
    def forward(ctx, x):
        y = x * 2
        ctx.save_for_backward(x, y, None)
        return y

    def backward(ctx, g):
        x, y, nothing = ctx.saved_tensors
        tell(x.tolist(), y.tolist(), nothing)
        return g

    def pack(t):
        tell("pack", t.tolist())
        return t.tolist()

    def unpack(values):
        tell("unpack", values)
        return torch.tensor(values) * 10

    fn, x = define(torch, forward, backward), leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = fn.apply(x)
    y.sum().backward()
    y = fn.apply(x)
    raw = y.grad_fn._raw_saved_tensors
    tell(len(raw))
    raw[0].register_hooks(pack, unpack)
    attempt(tell, "twice", lambda: raw[0].register_hooks(pack, unpack))
    attempt(tell, "none", lambda: raw[2].register_hooks(pack, unpack))
    y.sum().backward()


# ---- inputs that come back, views, and writing in place


@same_story
def test_inputs_returned_as_they_are(torch, tell):
    same = define(torch, lambda ctx, x: x, lambda ctx, g: g * 5)
    for make in (lambda: leaf(torch), lambda: torch.ones(2), lambda: leaf(torch) * 1, lambda: torch.arange(3)):
        x = make()
        y = same.apply(x)
        tell(y is x, y, y._is_view(), y._base is x, y.data_ptr() == x.data_ptr())
        if y.requires_grad:
            y.sum().backward()
        attempt(tell, "written", lambda y=y: y.add_(1))
        attempt(tell, "without a graph", lambda y=y: (torch.no_grad()(y.add_)(1), y._version))
    x = leaf(torch) * 1
    y = same.apply(x)
    x.add_(1)
    attempt(tell, "base written", lambda: (y, y.grad_fn))


@same_story
def test_views_of_inputs(torch, tell):
    part = define(torch, lambda ctx, x: x[1:], lambda ctx, g: torch.cat([g[:1] * 0, g]))
    parts = define(torch, lambda ctx, x: (x[1:], x[:1]), lambda ctx, g, h: torch.cat([h, g]))
    mixed = define(torch, lambda ctx, x: (x[1:], x * 1), lambda ctx, g, h: h)
    for x in (leaf(torch), leaf(torch) * 1, torch.ones(3)):
        for fn in (part, parts, mixed):
            results = fn.apply(x)
            results = results if isinstance(results, tuple) else (results,)
            tell([(r, r._is_view()) for r in results])
            for r in results:
                attempt(tell, "written", lambda r=r: r.add_(1))
            if results[0].requires_grad:
                results[0].sum().backward()
    y = part.apply(torch.ones(3))
    attempt(tell, "with history", lambda: y.add_(leaf(torch, 1.0)))


@same_story
def test_writing_in_place(torch, tell):
    x = leaf(torch)
    y = x * 1
    z = writer(torch).apply(y)
    tell(z is y, z, z._version, y.grad_fn.next_functions, y.output_nr)
    y.sum().backward()
    tell(x.grad)
    y = torch.ones(3)
    z = writer(torch).apply(y)
    tell(z is y, z, z._version)
    attempt(tell, "leaf", lambda: writer(torch).apply(leaf(torch)))
    with torch.no_grad():
        x = leaf(torch)
        z = writer(torch).apply(x)
        tell(z is x, z, x)


@same_story
def test_writing_views_in_place(torch, tell):
    x = leaf(torch)
    base = x * 1
    view, other = base[1:], base[:2]
    z = writer(torch).apply(view)
    tell(z is view, z, base, other, z._base is base, [n for n, _ in base.grad_fn.next_functions])
    (base * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    tell(x.grad)
    attempt(tell, "of a leaf", lambda: writer(torch).apply(leaf(torch)[1:]))
    attempt(tell, "two results", lambda: writer(torch, True).apply((leaf(torch) * 1)[1:]))
    attempt(tell, "one of many", lambda: writer(torch).apply((leaf(torch) * 1).unbind()[1]))
    base = leaf(torch) * 1
    with torch.no_grad():
        view = base[1:]
    attempt(tell, "made without a graph", lambda: writer(torch).apply(view))
    base = torch.zeros(3)
    writes = define(
        torch, lambda ctx, x, w: (ctx.mark_dirty(x), x.copy_(w))[1], lambda ctx, g: (torch.zeros_like(g), g * 2)
    )
    x = leaf(torch, 5.0, 6.0)
    writes.apply(base[:2], x)
    tell(base)
    base.sum().backward()
    tell(x.grad)


@same_story
def test_marks_that_are_wrong(torch, tell):
    def marking(method, what, returned):
        def forward(ctx, x):
            made = x * 1
            getattr(ctx, method)(what(x, made))
            return returned(x, made)

        return define(torch, forward, through)

    x = leaf(torch) * 1
    given, made = (lambda x, y: x), (lambda x, y: y)
    attempt(tell, "dirty, kept", lambda: marking("mark_dirty", given, made).apply(x))
    attempt(tell, "dirty, kept, not recorded", lambda: marking("mark_dirty", given, made).apply(torch.ones(2)))
    attempt(tell, "dirty number", lambda: marking("mark_dirty", lambda x, y: 3, made).apply(x))
    attempt(tell, "fixed number", lambda: marking("mark_non_differentiable", lambda x, y: 3, made).apply(x))
    attempt(tell, "fixed input", lambda: marking("mark_non_differentiable", given, made).apply(x))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        attempt(tell, "dirty result", lambda: marking("mark_dirty", made, made).apply(x))
    tell([str(w.message).split(" (Triggered")[0] for w in caught])


@same_story
def test_results_without_gradient(torch, tell):
    def forward(ctx, x, which):
        results = {"made": x * 2, "given": x, "view": x[1:], "written": x}
        fixed = results[which]
        if which == "written":
            ctx.mark_dirty(x)
            x.add_(1)
        ctx.mark_non_differentiable(fixed)
        return fixed, x * 3

    def backward(ctx, g, h):
        tell(g, h)
        return h, None

    for which in ("made", "given", "view", "written"):
        x = leaf(torch)
        start = x * 1
        fixed, other = define(torch, forward, backward).apply(start, which)
        tell(which, fixed, other, fixed is start, fixed._is_view(), fixed._version)
        other.sum().backward()
        attempt(tell, "written", lambda fixed=fixed: fixed.add_(1))


@same_story
def test_results_from_elsewhere(torch, tell):
    x = leaf(torch)
    for make in (lambda: leaf(torch), lambda: leaf(torch) * 2):
        for argument in (x, x.detach(), 3):
            captured = make()
            result = define(torch, lambda ctx, x, t=captured: t, through).apply(argument)
            tell(result is captured, result, result.is_leaf)


@same_story
def test_setup_context_saves_no_input_that_comes_back(torch, tell):
    def saving(pick):
        return define(
            torch,
            lambda x: (x, x * 1),
            lambda ctx, g, h: g,
            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(pick(inputs, output)),
        )

    x = leaf(torch)
    attempt(tell, "output", lambda: saving(lambda i, o: o[0]).apply(x))
    attempt(tell, "input", lambda: saving(lambda i, o: i[0]).apply(x))
    attempt(tell, "not recorded", lambda: saving(lambda i, o: i[0]).apply(x.detach()))
    attempt(tell, "other", lambda: saving(lambda i, o: o[1]).apply(x))


# ---- lifetimes and threads


def gone(make):
    """Whether what `make` gives a weak reference to is freed at once, without the collector."""
    gc.collect()
    gc.disable()
    try:
        return make()() is None
    finally:
        gc.enable()


def exponential():
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        return y

    def slope(ctx, g):
        return g * ctx.saved_tensors[1]

    return define(torchlite, forward, slope, jvp=slope)


def test_a_graph_is_freed_with_its_last_tensor():
    fn = exponential()

    def forward():
        return weakref.ref(fn.apply(leaf(torchlite)).grad_fn)

    def backward():
        y = fn.apply(leaf(torchlite))
        y.sum().backward(create_graph=False)
        return weakref.ref(y.grad_fn)

    def twice():
        x = leaf(torchlite)
        y = fn.apply(x)
        (g,) = torchlite.autograd.grad(y.sum(), x, create_graph=True)
        g.sum().backward()
        return weakref.ref(y.grad_fn)

    def in_place():
        y = leaf(torchlite) * 1
        z = writer(torchlite).apply(y[1:])
        assert z.requires_grad
        return weakref.ref(z.grad_fn)

    def moving():
        forward_ad = torchlite.autograd.forward_ad
        with forward_ad.dual_level():
            y = fn.apply(forward_ad.make_dual(leaf(torchlite), torchlite.ones(3)))
            assert forward_ad.unpack_dual(y).tangent is not None
            return weakref.ref(y.grad_fn)

    def transformed():
        x = leaf(torchlite)
        f = cube(torchlite, generate_vmap_rule=True)
        y = torchlite.func.vmap(torchlite.func.grad(lambda x: f.apply(x)[0]))(x)
        return weakref.ref(y.grad_fn)

    for make in (forward, backward, twice, in_place, moving, transformed):
        assert gone(make), make.__name__


def test_generated_vmap_rules_leave_nothing_behind():
    fn = cube(torchlite, generate_vmap_rule=True)
    run = torchlite.func.vmap(torchlite.func.vmap(lambda x: fn.apply(x)[0]))
    x = torchlite.ones(2, 3, requires_grad=True)
    for _ in range(5):  # plans of what is run are made at first
        run(x).sum().backward()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(20):
            run(x).sum().backward()
        assert len(gc.get_objects()) - before < 20
    finally:
        gc.enable()


def test_a_saved_written_view_is_no_cycle():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        ctx.save_for_backward(x)
        return x

    fn = define(torchlite, forward, lambda ctx, g: g * 2)

    def make():
        base = leaf(torchlite) * 1
        fn.apply(base[1:])
        return weakref.ref(base.grad_fn)

    assert gone(make)


def test_threads():
    fn = exponential()
    shared = leaf(torchlite, 0.5, 1.0)
    graph = fn.apply(shared)
    failures = []

    def work():
        try:
            for _ in range(50):
                x = leaf(torchlite, 0.5, 1.0)
                fn.apply(fn.apply(x)).sum().backward()
                slopes = [math.exp(math.exp(v)) * math.exp(v) for v in (0.5, 1.0)]
                assert x.grad.tolist() == pytest.approx(slopes, rel=1e-5)
                torchlite.autograd.grad(graph.sum(), shared, retain_graph=True)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
