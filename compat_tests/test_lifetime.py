"""What is no longer needed is freed at once, by reference counting alone: no test here lets the collector run."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import torchlite as torch


@pytest.fixture(autouse=True)
def collector_off():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def cycles() -> list[str]:
    """The kinds of torchlite's objects that only the collector can free."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        kinds = [type(o) for o in gc.garbage]
        found = [k.__name__ for k in kinds if str(k.__module__).split(".")[0] in ("torchlite", "torch")]
        gc.garbage.clear()
    finally:
        gc.set_debug(0)
    return found


def leaf(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, requires_grad=True)


def plain_backward():
    x = leaf(3)
    (x.exp() * x.sin()).sum().backward()


def graph_never_run():
    x = leaf(3)
    return weakref.ref((x.exp() * x).sum().grad_fn)


def saved_output():
    y = leaf(3).exp().tanh().softmax(0)
    return weakref.ref(y)


def kept_graph():
    x = leaf(3)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    return weakref.ref(y.grad_fn)


def gradients_of_gradients():
    x = leaf(3)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    return weakref.ref(h)


def hooks_of_all_sorts():
    x = leaf(3)
    y = x * 2
    y.retain_grad()
    x.register_hook(lambda g: g * 1)
    y.register_hook(lambda g: None)
    y.grad_fn.register_hook(lambda ins, outs: None)
    y.grad_fn.next_functions[0][0].register_prehook(lambda gs: None)
    x.register_post_accumulate_grad_hook(lambda t: None)
    torch.autograd.graph.register_multi_grad_hook([x, y], lambda gs: None)
    y.sum().backward()
    return weakref.ref(y)


def in_place_and_views():
    x = leaf(4, 4)
    y = x * 1
    y[1:3].mul_(2)
    y.t()[0].add_(y[3])
    part = y[0]
    y.sub_(1)
    part.exp().sum().backward()
    return weakref.ref(y)


def views_of_views():
    base = torch.zeros(4, 4)
    view = base[1:].t().reshape(-1)
    return weakref.ref(view)


def an_edge_and_an_accumulator():
    x = leaf(3)
    y = x * 2
    edge = torch.autograd.graph.get_gradient_edge(y)
    accumulator = torch.autograd.graph.get_gradient_edge(x).node
    assert accumulator.variable is x
    return weakref.ref(edge.node)


def an_error_on_the_way():
    x = leaf(3)
    y = x.exp()
    z = y.sum()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    return weakref.ref(z)


def an_error_in_a_hook():
    x = leaf(3)
    y = x * 2

    def fail(g):
        raise ValueError("no")

    y.register_hook(fail)
    with pytest.raises(ValueError, match="no"):
        y.sum().backward()
    return weakref.ref(y)


def anomaly_detection():
    with torch.autograd.set_detect_anomaly(True):
        x = leaf(3)
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        g.sum().backward()
    return weakref.ref(g)


def another_thread():
    def work():
        plain_backward()
        in_place_and_views()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


PROGRAMS = (
    plain_backward, graph_never_run, saved_output, kept_graph, gradients_of_gradients, hooks_of_all_sorts,
    in_place_and_views, views_of_views, an_edge_and_an_accumulator, an_error_on_the_way, an_error_in_a_hook,
    anomaly_detection, another_thread,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_nothing_is_left(program):
    program()  # what is made once and kept
    gc.collect()
    reference = program()
    assert reference is None or reference() is None
    assert cycles() == []


def test_backward_frees_what_was_saved_as_it_goes():
    x = leaf(100)
    saved = []
    alive = []
    y = x
    for _ in range(5):
        y = y.exp() * 0.1
        saved.append(weakref.ref(y))
        y.register_hook(lambda g: alive.append(sum(r() is not None for r in saved)))
        y = y.sin()
    y.sum().backward()
    assert alive == [4, 3, 2, 1, 0]  # each is gone when the step that saved it has run
    assert [r() for r in saved] == [None] * 5


def test_a_gradient_nobody_else_holds_is_taken_over():
    w, x = leaf(50, 50), torch.ones(50, 50)
    product = x.mm(w)
    weight = torch.full((50, 50), 2.0)
    seen = []
    w.register_hook(lambda g: seen.append(g.data_ptr()))
    product.backward(weight)
    assert [w.grad.data_ptr()] == seen
    v = leaf(3)
    given = torch.ones(3)
    v.backward(given)
    assert v.grad.data_ptr() != given.data_ptr()


def test_what_is_remembered_of_calls_keeps_no_level_that_has_ended():
    left: list[torch.Tensor] = []
    torch.func.grad(lambda x: (left.append(x * 1), x.sum())[1])(torch.ones(3, 5))
    t = left.pop()
    level = weakref.ref(t._backend.owner)
    for _ in range(3):
        t.clone()
        t.sum(1)
        t.transpose(0, 1)
    del t
    gc.collect()
    assert level() is None
