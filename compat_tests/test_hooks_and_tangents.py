"""Tangents where saved-tensor hooks are on: what is packed keeps its tangent, formulas pack nothing."""

from __future__ import annotations

import warnings

import pytest

from .side_by_side import same_story

HOOKS = {
    "packed as a copy": (lambda t: t.clone(), lambda t: t),
    "packed as a copy without a history": (lambda t: t.detach().clone(), lambda t: t),
    "unpacked as a copy without a history": (lambda t: t, lambda t: t.detach().clone()),
}


@pytest.mark.parametrize("hooks", HOOKS)
@pytest.mark.parametrize("function", ["x.sin()", "x * x * x.sum()", "x.prod()", "x.cumprod(0)"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_tangents_are_the_same_whatever_hooks_make_of_what_is_saved(function, hooks, dtype):
    @same_story
    def program(torch, tell):
        x = torch.tensor([0.5, 0.75, -0.75, 1.5], dtype=getattr(torch, dtype), requires_grad=True)

        def f(x):
            return eval(function, {"x": x})

        def tangent(x):
            return torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]

        with warnings.catch_warnings(), torch.autograd.graph.saved_tensors_hooks(*HOOKS[hooks]):
            warnings.filterwarnings("ignore", ".*torch.jit.script")
            both = torch.func.jvp(tangent, (x,), (torch.ones_like(x),))
        for y in both:
            (g,) = torch.autograd.grad(y.sum().abs(), x, retain_graph=True)
            tell(torch.view_as_real(g + 0j).round(decimals=9))

    program()


@pytest.mark.parametrize("hooks", HOOKS)
@pytest.mark.parametrize("function", ["x.sin()", "x.exp()", "x * x * x.sum()", "x.prod()", "x.cumprod(0)"])
def test_what_is_saved_moves_whatever_hooks_make_of_it(function, hooks):
    @same_story
    def program(torch, tell):
        forward = torch.autograd.forward_ad
        x = torch.tensor([0.5, 0.75, -0.75, 1.5], dtype=torch.float64, requires_grad=True)
        with forward.dual_level(), torch.autograd.graph.saved_tensors_hooks(*HOOKS[hooks]):
            dual = forward.make_dual(x, torch.ones_like(x))
            (g,) = torch.autograd.grad(eval(function, {"x": dual}).sum(), dual, create_graph=True)
            tangent = forward.unpack_dual(g).tangent
        tell(tangent.detach().round(decimals=9), torch.autograd.grad(tangent.sum(), x)[0].round(decimals=9))

    program()
