"""How views follow their base when it, or they themselves, were reshaped or written to in place.

PyTorch makes the history of a stale view anew from the geometry that it has. What a geometry cannot say (bits, parts of
complex numbers) it replays, from the geometry of that time, knowing nothing of what was done to the view since.
"""

from __future__ import annotations

import pytest

from .side_by_side import same_story


def leaf(torch):
    return (torch.arange(6.0) - 2.5).reshape(2, 3).requires_grad_()


@same_story
def test_a_negative_view_reshaped_in_place_is_replayed_in_its_old_shape(torch, tell):
    x = leaf(torch)
    base = x * 2
    view = base._neg_view()
    view.unsqueeze_(0)
    tell(view.grad_fn.name())
    base.add_(1)
    tell(view.grad_fn.name(), view.shape)
    view.sum().backward()
    tell(x.grad)


@same_story
def test_a_part_of_a_negative_view_reshaped_in_place(torch, tell):
    x = leaf(torch)
    base = x * 2
    part = base._neg_view()[1]
    part.unsqueeze_(1)
    part.mul_(3)
    tell(part.grad_fn.name(), part.shape, base.grad_fn.name())
    base.sum().backward()
    tell(x.grad)


@same_story
def test_writing_to_a_complex_part_of_a_base_reshaped_in_place(torch, tell):
    x = leaf(torch)
    base = torch.complex(x, x * 2)
    pairs = torch.view_as_real(base)
    base.t_()
    pairs[:, 1, 0] = x[:, 0]
    tell(base.grad_fn.name(), base)
    base.sum().backward(torch.tensor(1 + 2j))
    tell(x.grad)


@same_story
def test_a_conjugate_transpose_of_a_base_squeezed_in_place(torch, tell):
    x = leaf(torch)
    base = torch.complex(x[:1], x[1:]) * 1
    adjoint = base.mH
    base.squeeze_()
    adjoint *= 2j
    tell(adjoint.grad_fn.name(), adjoint, base)
    base.sum().backward(torch.tensor(1 + 2j))
    tell(x.grad)


@same_story
def test_gradients_are_summed_to_the_shape_that_the_history_has(torch, tell):
    x = leaf(torch)
    base = x[:, :1] * 2
    view = base._neg_view()
    base.squeeze_()
    torch.lerp(base, view, 1.5).sum().backward()
    tell(x.grad)


@same_story
def test_a_refused_write_has_looked_at_the_history(torch, tell):
    x = leaf(torch)
    base = x * 2
    wide, row = base.expand(4, 2, 3), base[0]
    row += 1
    with pytest.raises(RuntimeError):
        wide -= wide
    base.detach_()
    wide.sum().backward()
    tell(x.grad)


@same_story
def test_a_saved_view_that_may_not_have_been_written_to_says_so(torch, tell):
    x = leaf(torch)
    base = x * 2
    with torch.no_grad():
        view = base.expand(4, 2, 3)
    quotient = view / view
    base.view(-1).add_(1)
    quotient.sum().backward()


@same_story
def test_the_gradient_of_a_product_divides_by_what_is_there_now(torch, tell):
    for dim in ((), (1,)):
        x = leaf(torch)
        product = x.prod(*dim)
        x.data.mul_(3)
        product.sum().backward()
        tell(x.grad)


@same_story
def test_a_running_mean_is_nan_after_an_infinity(torch, tell):
    inf = float("inf")
    x = torch.tensor([[1.0, 2.0, inf], [inf, 1.0, 2.0], [-inf, 1.0, inf], [1.0, 2.0, 3.0]])
    for mean in (torch.var_mean, torch.std_mean):
        tell(mean(x, 1), mean(x, 0), mean(x), mean(x[:1]), mean(x.t(), 0, keepdim=True))


@same_story
def test_the_negative_of_bools_fails_when_it_is_read(torch, tell):
    view = torch.tensor([True, False])._neg_view()
    tell(view.is_neg(), view.shape)
    view.clone()


@same_story
def test_functions_of_several_tensors_compute_lazy_ones_in_inference_mode(torch, tell):
    view = (leaf(torch) * 2)._neg_view()
    with torch.inference_mode():
        for made in (
            torch.atleast_1d(view), torch.atleast_3d(view), *torch.broadcast_tensors(view, view), view.type_as(view),
            view.conj_physical(), *torch.meshgrid(view[0], view[1], indexing="ij"), view.reshape(-1), view.flatten(),
        ):  # fmt: skip
            tell(made, made.is_neg(), made.is_inference(), made.requires_grad, made._base is None)


@same_story
def test_strides_follow_the_copies_that_operands_are_converted_to(torch, tell):
    whole = torch.arange(18).reshape(2, 9).t()
    odd = whole.unsqueeze(-2).diagonal(1, 1, 0)
    tell(odd.stride(), odd.cos().stride(), (odd * 1.5).stride(), (odd / odd).stride(), (odd + 1).stride())
    row = torch.tensor([1.5, 2j]).unfold(0, 2, 1)
    spread = torch.tensor(0.25).broadcast_to(1, 2)
    tell((row / spread).stride(), (spread / row).stride(), (row.real * spread).stride())
    tell(torch.where(row == 0, spread, row).stride())


@same_story
def test_output_numbers_bring_no_history_up_to_date(torch, tell):
    base = torch.ones(3, requires_grad=True) * 2
    parts, rest = base.unbind(0), base[1:]
    base.mul_(2)
    tell(parts[1].output_nr, rest.output_nr)
    tell(rest.grad_fn.name(), rest.output_nr)
