"""What random programs found to differ in passes: what they compute, refuse, and look at first."""

from __future__ import annotations

import pytest

from .side_by_side import same_story, tried


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("factors", [[0.0, 0.0, 1.0], [0.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
def test_products_of_zeros_behind_a_bit_move_nothing_whatever_the_gradient(factors, create_graph):
    @same_story
    def program(torch, tell):
        x = torch.tensor(factors, requires_grad=True)
        for y in (x._neg_view(), torch.complex(x * 0, -x).conj().imag):
            for g in (float("-inf"), float("nan"), 2.0):
                for of in (y.prod(), y.prod(0)):
                    tell(torch.autograd.grad(of, x, torch.tensor(g), create_graph=create_graph)[0].tolist())

    program()


@same_story
def test_given_gradients_are_looked_at_first_then_histories_then_shapes(torch, tell):
    def scene():
        x = torch.ones(2, 3, requires_grad=True)
        y = x * 2
        part = y.split([1, 1], 0)[0]
        y.mul_(2)  # after which no gradient may go to the part
        shown = x * 3
        behind = shown._neg_view()
        shown.unsqueeze_(0)  # so that the view has another shape than its node expects
        shown.mul_(2)
        return x, part, behind, x.sum(), x.to(torch.complex64).sum(), torch.ones(2)

    for first in range(6):
        for second in range(6):
            for given in (lambda t: torch.ones_like(t), lambda t: None, lambda t: torch.ones(7), lambda t: 3):
                tensors = scene()
                roots = [tensors[first], tensors[second]]
                gradients = [given(roots[0]), torch.ones_like(roots[1])]
                tried(tell, torch.autograd.backward, roots, gradients)
                tried(tell, torch.autograd.grad, roots, tensors[0], gradients)


@same_story
def test_the_gradient_of_an_empty_pair_is_viewed_as_complex_whatever_its_steps(torch, tell):
    x = torch.tensor([-0.75, 1.75], dtype=torch.complex128, requires_grad=True)
    pairs = torch.view_as_real(torch.addcmul(x[2:], x[2:], x[2:], value=1.5).tensor_split(1, 0)[0])
    tell(torch.autograd.grad(pairs.relu(), x, torch.zeros(0, 2, dtype=torch.float64))[0])


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("keep", ["exp", "square", "sigmoid", "logsumexp"])
def test_what_is_detached_in_place_again_is_refused_again(keep, times):
    @same_story
    def program(torch, tell):
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        for _ in range(times):
            y.detach_()
            y.add_(x)
            tell(y._version, y.requires_grad)
        kept = y.logsumexp(0) if keep == "logsumexp" else getattr(y, keep)()
        tried(tell, torch.autograd.grad, kept.sum(), x, retain_graph=True)
        y.detach_()
        tried(tell, torch.autograd.grad, kept.sum(), x, retain_graph=True)
        tell(y._version, y.is_leaf)

    program()


@same_story
def test_bends_of_prelu_at_zero(torch, tell):
    x = torch.tensor([[-1.5, -1.75], [0.0, 0.25], [0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    for weight in (torch.tensor(0.25, dtype=torch.float64), torch.tensor([0.25, 0.5], dtype=torch.float64)):
        weight.requires_grad_()
        y = torch.nn.functional.prelu(x, weight)
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        tell(g.detach(), *torch.autograd.grad(g.sum(), [x, weight]))


@same_story
def test_what_cannot_be_differentiated_twice_says_so_before_other_nodes(torch, tell):
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sin()

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, grad):
            return grad * 2

    x = torch.tensor([-0.5, 2.0, -0.5], requires_grad=True)
    part = x.clone().chunk(1, 0)[0]
    (g,) = torch.autograd.grad((part * Once.apply(part.atan())).sum(), x, create_graph=True)
    part.detach().zero_()
    g.sum().backward()


@same_story
def test_of_what_was_written_through_a_view_only_the_gradients_asked_for_are_computed(torch, tell):
    def written(base):
        base[::2, -1] = number
        return base

    x = torch.tensor([[-0.5], [-1.0], [1.25], [0.5]], dtype=torch.complex128, requires_grad=True)
    number = torch.tensor(-0.75, requires_grad=True)  # to which no complex gradient goes
    for made in (lambda: written(x * 2), lambda: written((number + x).clone())):
        for of in (x, number, [x, number]):
            tried(tell, torch.autograd.grad, made().real.sum(), of)


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_hooks_give_back_a_view_made_without_gradients_as_one_that_requires_grad(mode):
    @same_story
    def program(torch, tell):
        x = torch.tensor([[1.75, -0.25]], requires_grad=True)
        y = x.sin()
        with getattr(torch, mode)():
            view = y.unsqueeze(2)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.double(), lambda t: t.float()):
            z = view.cos()
            again = torch.utils.checkpoint.checkpoint(torch.cos, view, use_reentrant=True)
        kept = z.grad_fn._saved_self
        tell(kept.requires_grad, kept.is_leaf, kept.grad_fn)
        (z + again).sum().backward()
        tell(view.grad, x.grad)

    program()


@same_story
def test_what_retains_its_gradient_is_not_asked_for_its_history_again(torch, tell):
    x = torch.ones(2, 4, requires_grad=True) * 2
    part = x.chunk(3, 1)[0]
    part.retain_grad()
    x.t_()
    part.retain_grad()
    tell(part._is_view())
    y = torch.ones(2, requires_grad=True) * 2
    for _ in range(2):
        y.retain_grad()
        y.mul_(3)
        tell(y.retains_grad)
    y.sum().backward()
    tell(y.grad)


@pytest.mark.parametrize("grad", [True, False])
def test_what_moves_is_asked_for_its_history_before_the_function_runs(grad):
    pytest.importorskip("torch._decomp.decompositions_for_jvp")  # warns when first loaded

    @same_story
    def program(torch, tell):
        x = torch.tensor([-1.25, -1.25], requires_grad=True) * 2
        with torch.no_grad():
            view = x[:]
        x.sub_(1)
        with torch.set_grad_enabled(grad):
            tried(tell, torch.func.jvp, lambda x: x > 0, (view,), (torch.ones(2),))
            tried(tell, torch.func.jvp, lambda x: 3, (view,), (torch.ones(2),))
            tried(tell, torch.func.jacfwd(lambda x: (x > 0).float()), view)

    program()
