"""Hooks: when they run, in which order, what they may change, and what they must not."""

from __future__ import annotations

import pytest

from compat_tests.side_by_side import same_story

WAYS = {
    "backward": lambda torch, x, y, z: z.backward(),
    "grad of the leaf": lambda torch, x, y, z: torch.autograd.grad(z, x),
    "grad of the middle": lambda torch, x, y, z: torch.autograd.grad(z, y),
    "grad of both": lambda torch, x, y, z: torch.autograd.grad(z, [x, y]),
    "grad of the root": lambda torch, x, y, z: torch.autograd.grad(z, z),
    "backward into the leaf": lambda torch, x, y, z: z.backward(inputs=[x]),
    "backward into the middle": lambda torch, x, y, z: z.backward(inputs=[y]),
    "with a graph": lambda torch, x, y, z: z.backward(create_graph=True),
}


@pytest.mark.parametrize("way", WAYS)
def test_order(way):
    @same_story
    def program(torch, tell):
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        z = (y * 3).sum()
        accumulator = y.grad_fn.next_functions[0][0]
        x.register_hook(lambda g: tell("leaf", g.detach()))
        x.register_post_accumulate_grad_hook(lambda t: tell("accumulated", t.grad.detach()))
        y.register_hook(lambda g: tell("first", g.detach()))
        y.retain_grad()
        y.register_hook(lambda g: (tell("second", g.detach()), g * 5)[1])
        z.register_hook(lambda g: tell("root", g.detach()))
        y.grad_fn.register_prehook(lambda gs: tell("before the node", len(gs)))
        y.grad_fn.register_hook(lambda ins, outs: tell("after the node", len(ins), len(outs)))
        accumulator.register_prehook(lambda gs: tell("before accumulating", len(gs)))
        accumulator.register_hook(lambda ins, outs: tell("after accumulating", len(ins), len(outs)))
        made = WAYS[way](torch, x, y, z)
        tell([g.detach() for g in made or ()])
        tell(x.grad is None, None if y.grad is None else y.grad.detach())

    program()


@same_story
def test_gradients_asked_for_in_the_middle_are_those_before_the_hooks(torch, tell):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = (y * 3).sum()
    y.register_hook(lambda g: g * 10)
    for goals in ([y, x], [y], [x]):
        tell(torch.autograd.grad(z, goals, retain_graph=True))


@same_story
def test_hooks_around_a_change_in_place(torch, tell):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: tell("before the change", g))
    y.retain_grad()
    y.mul_(3)
    y.register_hook(lambda g: tell("after the change", g))
    y.sum().backward()
    tell(y.grad, x.grad)


@same_story
def test_retained_gradients_add_up(torch, tell):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    z = (y * 3).sum()
    z.backward(retain_graph=True)
    tell(y.grad)
    z.backward()
    tell(y.grad, y.retains_grad, x.retains_grad)
    x.retain_grad()
    tell(x.retains_grad)


@same_story
def test_hooks_on_outputs_that_get_no_gradient(torch, tell):
    parts = torch.ones(3, requires_grad=True).unbind(0)
    parts[1].register_hook(lambda g: tell("unused", g))
    parts[1].retain_grad()
    parts[0].backward()
    tell(parts[1].grad)


RETURNS = {
    "a number": lambda torch, g: 3,
    "another shape": lambda torch, g: torch.ones(3),
    "another dtype": lambda torch, g: g.double(),
    "another device": lambda torch, g: g.to("meta"),
    "nothing": lambda torch, g: None,
    "twice": lambda torch, g: g * 2,
}


@pytest.mark.parametrize("returned", RETURNS)
def test_what_a_tensor_hook_may_return(returned):
    @same_story
    def program(torch, tell):
        x = torch.ones(2, requires_grad=True)

        def hook(g):
            return RETURNS[returned](torch, g)

        (x * 1).register_hook(hook)
        y = x * 2
        y.register_hook(hook)
        y.sum().backward()
        tell(x.grad)

    program()


NODE_RETURNS = {
    "a tensor": lambda gs: gs[0],
    "a list": lambda gs: list(gs),
    "too many": lambda gs: (*gs, gs[0]),
    "too few": lambda gs: (),
    "None for all": lambda gs: (None,) * len(gs),
    "a gradient for None": lambda gs: (gs[0],) * len(gs),
    "seven times": lambda gs: tuple(None if g is None else g * 7 for g in gs),
}


@pytest.mark.parametrize("returned", NODE_RETURNS)
@pytest.mark.parametrize("before", [True, False])
def test_what_a_node_hook_may_return(returned, before):
    @same_story
    def program(torch, tell):
        x = torch.ones(2, requires_grad=True)
        y = x * x.detach()

        def hook(*gradients):
            return NODE_RETURNS[returned](gradients[0])

        (y.grad_fn.register_prehook if before else y.grad_fn.register_hook)(hook)
        y.sum().backward()
        tell(x.grad)

    program()


@same_story
def test_hooks_are_refused_where_no_gradient_comes(torch, tell):
    x = torch.ones(2, requires_grad=True)
    for register in (
        lambda: torch.ones(2).register_hook(print),
        lambda: torch.ones(2).register_post_accumulate_grad_hook(print),
        lambda: (x * 2).register_post_accumulate_grad_hook(print),
        lambda: torch.ones(2).retain_grad(),
    ):
        try:
            register()
        except RuntimeError as error:
            tell(error)


@same_story
def test_a_hook_that_raises_ends_backward(torch, tell):
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    y = x * 2

    def fail(g):
        raise ValueError("no")

    handle = y.register_hook(fail)
    z = y.sum() + w.sum()
    try:
        z.backward(retain_graph=True)
    except ValueError as error:
        tell(error, x.grad, w.grad, torch.is_grad_enabled())
    handle.remove()
    z.backward()
    tell(x.grad, w.grad)


@same_story
def test_handles(torch, tell):
    x = torch.ones(2, requires_grad=True)
    tell(x._backward_hooks, x._post_accumulate_grad_hooks)
    with x.register_hook(lambda g: tell("inside", g)) as handle:
        tell(len(x._backward_hooks), type(handle).__name__, type(handle).__module__)
        x.sum().backward()
    x.sum().backward()
    handle.remove()
    tell(len(x._backward_hooks), x.grad)


@same_story
def test_a_hook_may_remove_itself_and_add_others(torch, tell):
    x = torch.ones(2, requires_grad=True)
    handles = []

    def once(g):
        tell("once", g)
        handles[0].remove()
        x.register_hook(lambda g: tell("added", g))

    handles.append(x.register_hook(once))
    x.sum().backward()
    x.sum().backward()


@same_story
def test_hooks_may_write_into_a_gradient_of_their_own(torch, tell):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g.mul_(10) and None if g.numel() == 1 else None)
    z = y.sum()
    z.register_hook(lambda g: (g.mul_(3), None)[1])
    z.backward()
    tell(x.grad)


@same_story
def test_backward_inside_a_hook(torch, tell):
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    y = x * 2

    def inner(g):
        with torch.enable_grad():
            (w * w).sum().backward()

    y.register_hook(inner)
    y.sum().backward()
    tell(x.grad, w.grad)


@same_story
def test_gradients_in_hooks_have_a_history_where_one_is_asked_for(torch, tell):
    x = torch.ones(2, requires_grad=True)
    y = x**3
    y.register_hook(lambda g: tell(g.requires_grad, torch.is_grad_enabled()))
    (y * y).sum().backward()
    (x**3 * x).sum().backward(create_graph=True)
    tell(x.grad.detach(), x.grad.requires_grad)


# ---- several tensors at once


@pytest.mark.parametrize("mode", ["all", "any", "some"])
def test_multi_grad_hooks(mode):
    @same_story
    def program(torch, tell):
        a, b, c = (torch.ones(2, requires_grad=True) for _ in range(3))
        d = a * 5
        handle = torch.autograd.graph.register_multi_grad_hook([a, b, c, d], lambda gs: tell(gs), mode=mode)
        (a * b).sum().backward()
        (d * b * c).sum().backward(retain_graph=True)
        torch.autograd.grad((a * b).sum(), [a])
        torch.autograd.grad((a * b).sum(), [a, b])
        tell(type(handle).__name__, len(handle.__getstate__()))
        handle.remove()
        (a * b * c).sum().backward()

    program()


@same_story
def test_callbacks_run_when_backward_is_done(torch, tell):
    engine = torch.autograd.Variable._execution_engine
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: engine.queue_callback(lambda: tell("done")))
    x.register_hook(lambda g: tell("leaf"))
    y.sum().backward()
    engine.queue_callback(print)


@same_story
def test_a_retained_gradient_is_that_before_the_node_s_own_hooks(torch, tell):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 100,))
    y.sum().backward()
    tell(y.grad, x.grad)


@pytest.mark.parametrize("named", ["zx", "xz", "yx", "zy", "zyx", "x", "z"])
def test_several_tensors_and_where_a_pass_begins(named):
    @same_story
    def program(torch, tell):
        told = []
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        z = y * 3
        tensors = [{"x": x, "y": y, "z": z}[name] for name in named]
        torch.autograd.graph.register_multi_grad_hook(tensors, lambda grads: told.append([g is None for g in grads]))
        ones = torch.ones(2)
        passes = (
            lambda: z.backward(ones, retain_graph=True),
            lambda: torch.autograd.backward([z, y], [ones, ones], retain_graph=True),
            lambda: z.sum().backward(retain_graph=True),
            lambda: torch.autograd.backward([z], [ones], inputs=[x], retain_graph=True),
            lambda: torch.autograd.grad(z, y, ones, retain_graph=True),
            lambda: torch.autograd.grad(z, z, ones, retain_graph=True),
            lambda: x.backward(ones),
        )
        for one in passes:
            try:
                one()
            except RuntimeError as error:
                told.append(str(error))
            told.append("passed")
        tell(told)

    program()


@same_story
def test_gradients_of_views_without_history(torch, tell):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    with torch.no_grad():
        views = x[:2], x.view_as(x), y[:2]
    for t in views:
        for find in (
            lambda t: torch.autograd.grad(y.sum(), t, retain_graph=True),
            lambda t: torch.autograd.grad(y.sum(), t, allow_unused=True, retain_graph=True),
            lambda t: torch.autograd.backward(y.sum(), inputs=[t], retain_graph=True),
        ):
            try:
                tell(find(t), t.grad)
            except RuntimeError as error:
                tell(str(error))


@same_story
def test_a_function_reads_what_was_detached_in_place(torch, tell):
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].cos()

    for write in (False, True):
        for f in (Sine.apply, torch.sin):
            x = torch.tensor([2.0, 0.5], requires_grad=True)
            y = x * 2
            z = f(y)
            y.detach_()
            if write:
                y.mul_(2)
            try:
                z.sum().backward()
                tell(x.grad)
            except RuntimeError as error:
                tell(str(error)[:60])
