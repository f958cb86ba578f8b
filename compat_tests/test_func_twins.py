"""What is recorded in an outermost `grad` of plain tensors, and is seen, written to or gone through while that runs."""

from __future__ import annotations

import pytest

from .side_by_side import same_story


@same_story
def test_gradients_of_gradients_inside(torch, tell):
    x, w = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.5, -1.0, 2.0])

    def penalty(x):
        y = (x.tanh() * w + x[1:].sum() * x / 10).sigmoid()
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return (g * g).sum() + y.softmax(0)[0]

    tell(torch.func.grad(penalty)(x))
    tell(torch.func.grad(lambda x: torch.func.grad(penalty)(x).sum())(x))
    out, pull = torch.func.vjp(penalty, x)
    tell(out, pull(torch.tensor(1.0)), pull(torch.tensor(2.0)))


@same_story
def test_histories_below_and_of_gradients_given(torch, tell):
    x, w = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0], requires_grad=True)
    value = torch.func.grad(lambda x: (x.exp() * x * w + x.sigmoid()).sum())(x)
    tell(value, torch.autograd.grad(value.sum(), w))
    _, pull = torch.func.vjp(lambda x: x.exp() * x, x)
    found = pull(w)[0]
    tell(found, pull(torch.ones(2))[0], torch.autograd.grad(found.sum(), w))


@same_story
def test_what_tensors_inside_say(torch, tell):
    def f(x):
        y = x * 2
        tell(x.requires_grad, x.is_leaf, x.grad_fn is None, (x > 1).grad_fn)
        tell(y.requires_grad, y.is_leaf, y.grad_fn.name())
        tell(repr(x), repr(y), repr(y.detach()), repr(x > 1), y[0].item(), y._version)
        tell(y[1:]._is_view(), y[1:]._base is y, [n is None for n, _ in y.grad_fn.next_functions])
        with torch.no_grad():
            tell(repr(y * 3))
        return (y + y.detach()).sum(), (y, x > 1)

    found, (y, mask) = torch.func.grad(f, has_aux=True)(torch.tensor([1.0, 2.0]))
    tell(found, y.requires_grad, y, mask)


@same_story
def test_writes_inside(torch, tell):
    captured = torch.tensor([1.0, 2.0])

    def f(x):
        y = x * 3
        y[0] = x[1]
        y[1:].mul_(2)
        z = y.clone().add_(captured)
        z.exp_()
        return (y * z).sum()

    def stale(x):
        y = x.exp()
        y.add_(1)
        return y.sum()

    def overwrites(x):
        captured.add_(1)
        return x.sum()

    def overwrites_leaf(x):
        return x.add_(1).sum()

    tell(torch.func.grad(f)(captured))
    for wrong in (stale, overwrites, overwrites_leaf):
        with pytest.raises(RuntimeError) as refusal:
            torch.func.grad(wrong)(torch.tensor([1.0, 2.0]))
        tell(str(refusal.value).split("[")[0])
    tell(captured)


@same_story
def test_writes_of_what_has_a_history_below(torch, tell):
    w = torch.tensor([3.0, 4.0], requires_grad=True)

    def f(x):
        y = x * x
        y[1:] = w[:1]
        return (y * x).sum()

    value = torch.func.grad(f)(torch.tensor([1.0, 2.0]))
    tell(value, torch.autograd.grad(value.sum(), w))


@same_story
def test_hooks_inside(torch, tell):
    def f(x):
        y = x * 2
        x.register_hook(lambda g: g + 1)
        y.register_hook(lambda g: g * 10)
        return y.sin().sum()

    tell(torch.func.grad(f)(torch.tensor([1.0, 2.0])))


@same_story
def test_several_results_and_lists(torch, tell):
    def f(x):
        values, places = x.reshape(2, 2).max(1)
        first, second = x.chunk(2)
        top = torch.topk(torch.cat([first, second * 2.25, values * 0.75]), 3)
        return top.values.prod() + torch.stack([first, second]).var() + places.sum()

    tell(torch.func.grad_and_value(f)(torch.tensor([1.0, 3.0, -2.0, 0.5])))
    tell(torch.func.jacrev(lambda x: torch.stack(x.unbind()).cumsum(0))(torch.tensor([1.0, 2.0])))
    with torch.no_grad():
        tell(torch.func.grad(lambda x: (x * x).sum())(torch.tensor([1.0, 2.0], requires_grad=True)))
