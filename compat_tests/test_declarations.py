"""Declarations of ops: their words are checked, said once, and what they say is seen in PyTorch's words."""

from __future__ import annotations

import pytest

import torchlite
from torchlite.core.declare import ITSELF, By, Elementwise, Op, Unary
from torchlite.core.machine.registry import registry
from torchlite.operations.gradient_kernels import by_kernel

from .side_by_side import same_story


def _families(of: type) -> list[type]:
    return [family for direct in of.__subclasses__() for family in (direct, *_families(direct))]


def test_a_family_serves_several_ops():
    for family in _families(Op):
        assert sum(isinstance(op, family) for op in registry.values()) > 1, family


def test_words_are_checked():
    with pytest.raises(TypeError, match="there is no word 'exact'"):
        Unary("word_that_nobody_knows", "negative", exact=True)
    assert "word_that_nobody_knows" not in registry


def test_an_op_is_not_changed_once_it_is_declared():
    torchlite.ones(2).exp()  # which finds a kernel, and changes nothing
    for op in registry.values():
        with pytest.raises(AttributeError, match="is declared"):
            op.linear = True


def test_a_step_of_its_own_can_call_the_familys(monkeypatch):
    monkeypatch.setattr("torchlite.core.declare.declaration.registry", dict(registry))
    op = Unary(
        "negative_in_rows", "negative", lambda g: -g,
        arranged=lambda op, outputs, values: Unary.arranged(op, outputs, values).copy("C"),
    )  # fmt: skip
    x = torchlite.ones(2, 3).t()
    for _ in range(3):
        assert op.apply(x).stride() == (2, 1) and (-x).stride() == (1, 3)
    assert torchlite.autograd.gradcheck(op.apply, torchlite.ones(2, 3, dtype=torchlite.float64, requires_grad=True))


def test_a_derivative_may_be_an_op(monkeypatch):
    """Given by name what it takes beside the gradient, or once and for all; and the op itself, where it is linear."""
    monkeypatch.setattr("torchlite.core.declare.declaration.registry", dict(registry))
    slope = Elementwise(
        "power_slope(Tensor grad, Tensor base, Scalar exponent, Scalar factor)",
        lambda xp, g, x, exponent, factor: g * factor * exponent * x ** (exponent - 1),
        {"grad": ITSELF, "base": lambda g, grad, base, exponent, factor: (
            g * grad * factor * exponent * (exponent - 1) * base ** (exponent - 2)
        )},
    )  # fmt: skip
    power = Elementwise(
        "double_power(Tensor self, Scalar exponent)", lambda xp, x, exponent: 2 * x**exponent,
        {"self": By(slope, {"base": "self"}, factor=2)}, on_arrays=by_kernel,
    )  # fmt: skip
    x = torchlite.rand(3, 2, dtype=torchlite.float64).add_(1).requires_grad_()
    made = power.apply(x, 3)
    assert sorted(n for n in dir(made.grad_fn) if n.startswith("_saved")) == ["_saved_exponent", "_saved_self"]
    made.sum().backward()
    assert torchlite.allclose(x.grad, 6 * x**2)
    assert torchlite.autograd.gradcheck(lambda x: power.apply(x, 3), x)
    assert torchlite.autograd.gradgradcheck(lambda x: power.apply(x, 3), x)


@same_story
def test_nodes_show_what_their_declarations_say(torch, tell):
    x = torch.ones(2, 2, requires_grad=True)
    for node in (
        x.clone().as_strided_((2, 2), (1, 2)).grad_fn, x.as_strided((2, 2), (1, 2)).grad_fn,
        torch.normal(x, torch.ones(2, 2)).grad_fn, torch.normal(x, 1.0).grad_fn, x.unsqueeze(0).squeeze(0).grad_fn,
        torch.squeeze_copy(x, 0).grad_fn, x.clone().squeeze_(0).grad_fn, x.sum(0).grad_fn, x.mean(0).grad_fn,
    ):  # fmt: skip
        tell(node.name(), sorted([n for n in dir(node) if n.startswith("_saved")]))


@same_story
def test_forms_that_come_to_one_op_are_planned_alike(torch, tell):
    """The second call of a form makes its plan, later ones run it: with images of several ranks, and modes between."""
    functional = torch.nn.functional
    weight, bias = torch.arange(18.0).reshape(2, 1, 3, 3).requires_grad_(), torch.ones(2, requires_grad=True)
    scale = torch.full((4,), 2.0, requires_grad=True)
    for at in range(4):
        image = torch.arange(32.0).reshape(2, 1, 4, 4) + at
        made = functional.conv2d(image, weight, bias, padding=1)
        alone = functional.conv2d(image[0], weight, bias, stride=(1, 2))
        rows = functional.layer_norm(image, (4,), scale, None)
        with torch.no_grad():
            bare = functional.conv2d(image, weight, padding="same"), functional.layer_norm(image, (4, 4))
        tell(made, made.grad_fn.name(), alone, rows, rows.grad_fn.name(), *bare, bare[0].requires_grad)
        grads = torch.autograd.grad(made.sum() + alone.square().mean() + rows[:, 0].sum(), (weight, bias, scale))
        tell(*[g.round(decimals=2) for g in grads])
        with torch.autocast("cpu", torch.bfloat16):
            tell(functional.conv2d(image, weight, bias).dtype, functional.layer_norm(image, (4,)).dtype)
