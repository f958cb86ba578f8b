"""What random programs found to differ: steps that functions are made of, what they write to, and in which order."""

from __future__ import annotations

import pytest

from .side_by_side import same_story


def _tried(tell, call, *args, **kwargs):
    """Tell what a call gives, or how it fails."""
    try:
        tell(call(*args, **kwargs))
    except Exception as error:
        tell(type(error).__name__, str(error).split("\n")[0])


# ---- steps that functions are made of


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_a_softmax_of_another_dtype_converts_its_operand_first(name):
    @same_story
    def program(torch, tell):
        x = torch.tensor([[-0.25, 0.75], [2.0, 1.0]], dtype=torch.float64, requires_grad=True)
        for of in (getattr(torch, name), getattr(torch.nn.functional, name), getattr(torch.Tensor, name)):
            for _ in range(3):  # by a plan, too
                for dtype in (torch.float32, torch.float64, None):
                    y = of(x * 2, -1, dtype=dtype)
                    tell(y.dtype, [type(node).__name__ for node, _ in y.grad_fn.next_functions])
                    tell(torch.autograd.grad(y[0, 0], x)[0].dtype)
        _tried(tell, of, torch.tensor([1 + 2j]), 1, dtype=torch.float32)

    program()


def test_areas_between_points_of_any_shapes():
    shapes = [(), (3,), (1,), (0,), (2, 3), (2, 1), (1, 3), (2, 0)]

    @same_story
    def program(torch, tell):
        for name in ("trapezoid", "trapz", "cumulative_trapezoid"):
            area = getattr(torch, name)
            for shape in shapes:
                y = torch.arange(6.0)[: torch.Size(shape).numel()].reshape(shape)
                for dim in (0, -1, 1):
                    _tried(tell, area, y, dim=dim)
                    for other in shapes:
                        x = (1.5 * torch.arange(6.0))[: torch.Size(other).numel()].reshape(other)
                        _tried(tell, area, y, x, dim=dim)

    program()


# ---- what is written to


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_a_vector_times_a_matrix_is_written_as_a_row():
    @same_story
    def program(torch, tell):
        v, m = torch.ones(2), torch.ones(2, 3)
        for shape in [(3,), (7,), (0,), (1, 3), (3, 3)]:
            out = torch.empty(shape)
            tell(torch.matmul(v, m, out=out) is out, out, out.stride(), out._version)
        for a, b, out in [
            (torch.ones(4), m, torch.empty(3)),
            (v, m, torch.empty(3, dtype=torch.float64)),
            (v, m.double(), torch.empty(3, dtype=torch.float64)),
            (v, m, torch.empty(3, requires_grad=True)),
            (v, m, 3),
        ]:
            _tried(tell, torch.matmul, a, b, out=out)

    program()


def test_squares_and_outer_products_are_not_written_over_what_they_read():
    @same_story
    def program(torch, tell):
        def numbers():
            return torch.arange(9.0).reshape(3, 3)

        for write in (
            lambda x: torch.square(x, out=x),
            lambda x: torch.square(x[0], out=x),
            lambda x: torch.square(x[:2], out=x[1:]),
            lambda x: torch.square(x, out=torch.zeros(1).expand(3, 3)),
            lambda x: torch.square(x, out=torch.zeros(1).expand(3)),
            lambda x: torch.square(x, out=3),
            lambda x: torch.outer(x[0], x[1], out=x),
            lambda x: torch.ger(x[0], x[1], out=torch.zeros(1).expand(3)),
            lambda x: torch.outer(x[0], x[1], out=torch.zeros(3, 3).t()),
            lambda x: torch.outer(x[0], x[1], out=3),
        ):
            _tried(tell, write, numbers())

    program()


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_elements_in_one_place_come_apart_where_out_is_resized_first():
    @same_story
    def program(torch, tell):
        x, places, column = torch.arange(6.0).reshape(2, 3), torch.tensor([[0, 0], [1, 1]]), torch.tensor([0])
        for shape in [(1, 1, 3), (5,), (2, 2), (2, 3)]:
            for write in (
                lambda out: torch.gather(x, 1, places, out=out),
                lambda out: torch.index_add(x, 1, column, x[:, :1], out=out),
                lambda out: torch.index_copy(x, 1, column, x[:, :1], out=out),
                lambda out: torch.index_select(x, 1, column, out=out),
                lambda out: torch.scatter(x, 1, places, x, out=out),
            ):
                _tried(tell, write, torch.zeros(1).expand(shape))

    program()


def test_a_mask_may_be_what_is_written_to():
    @same_story
    def program(torch, tell):
        def assigned(mask, index, value):
            mask[index] = value
            return mask

        for bits in ([False, False], [True, False], [True, True]):
            for value in (-0.5, True, torch.tensor(True), torch.tensor([True]), torch.tensor([True, True])):
                for index in (
                    lambda m: m, lambda m: (m,), lambda m: m[:], lambda m: m.t(), lambda m: m[0], lambda m: m.clone()
                ):  # fmt: skip
                    for mask in (torch.tensor(bits), torch.tensor([bits, bits])):
                        _tried(tell, assigned, mask, index(mask), value)
            mask = torch.tensor([*bits, True])
            _tried(tell, assigned, mask[:2], mask[1:], True)
            for write in (
                lambda m: m.index_put_((m,), torch.tensor(True)),
                lambda m: m.index_put_((m,), torch.tensor(True), True),
                lambda m: m.masked_scatter_(m, torch.tensor([True, False, True])),
                lambda m: m.masked_scatter_(m.clone(), m),
                lambda m: m.masked_fill_(m, True),
            ):
                _tried(tell, write, torch.tensor(bits))
        places = torch.tensor([1, 0])
        _tried(tell, assigned, places, places, 5)

    program()


@pytest.mark.parametrize("name", ["ceil", "floor", "frac", "isneginf", "isposinf", "round", "sign", "signbit", "trunc"])
def test_complex_numbers_are_refused_before_the_dtype_of_out_or_after_it(name):
    @same_story
    def program(torch, tell):
        x = torch.ones(2, dtype=torch.complex64)
        for dtype in (torch.complex64, torch.float32, torch.int64, torch.bool):
            _tried(tell, getattr(torch, name), x, out=torch.zeros(2, dtype=dtype))

    program()


@same_story
def test_what_is_kept_for_backward_is_looked_at_before_shapes_and_memory(torch, tell):
    with torch.inference_mode():
        mask, two, three = torch.tensor([False, False]), torch.ones(2), torch.ones(3)
    x = torch.ones(3, 3, requires_grad=True)
    for made in (lambda: x * 1, lambda: x.detach() * 1, lambda: (x * 1)[:1].expand(3, 3)):
        for write in (
            lambda t: t.masked_fill_(mask, 2),
            lambda t: t.mul_(two),
            lambda t: t.mul_(three),
            lambda t: t.index_put_((torch.tensor([0, 1]),), two),
            lambda t: t.masked_scatter_(mask, two),
        ):
            _tried(tell, write, made())


def test_masks_that_do_not_fit_what_is_scattered_into():
    @same_story
    def program(torch, tell):
        source = torch.ones(20)
        for shape in [(3, 3), (3,), (), (0,)]:
            for dtype in (torch.bool, torch.float32):
                for of_mask in [(2,), (3,), (3, 3), (), (0,)]:
                    mask = torch.ones(of_mask, dtype=dtype)
                    _tried(tell, torch.Tensor.masked_scatter_, torch.ones(shape), mask, source)
                    _tried(tell, torch.Tensor.masked_scatter, torch.ones(shape), mask, source)

    program()


def test_matmul_refuses_as_what_it_comes_to():
    @same_story
    def program(torch, tell):
        batch = torch.ones(2, 2, 2, dtype=torch.float64)
        for x in (batch, batch.mT, batch.transpose(0, 1), batch[:1].expand(2, 2, 2)):
            for shape in [(2,), (8,), (2, 2), (8, 2)]:
                for dtype in (torch.float64, torch.bool):
                    _tried(tell, torch.matmul, x, torch.ones(shape, dtype=dtype))
                    _tried(tell, torch.matmul, x, torch.ones(shape, dtype=dtype), out=torch.zeros(0))

    program()


def test_distances_ask_for_histories_before_dtypes():
    @same_story
    def program(torch, tell):
        for dtype in (torch.bfloat16, torch.float32):
            x = torch.ones(2, 3, dtype=dtype, requires_grad=True)
            with torch.inference_mode():
                kept = torch.ones(2, 3, dtype=dtype)
            for p in (1.0, 2.0, 3.0):
                for a, b in [(x, kept), (kept, kept), (x, x.detach().double()), (x[:0], x.double())]:
                    _tried(tell, torch.cdist, a, b, p)
        _tried(tell, torch.cdist, torch.ones(30, 3), torch.ones(30, 3, dtype=torch.float64))

    program()


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_a_resized_out_with_bits_has_a_place_for_each_element():
    @same_story
    def program(torch, tell):
        x = torch.arange(2.0) + 1
        for size in (1, 2, 3):
            for write in (
                lambda out: torch.mul(x, x, out=out),
                lambda out: torch.sin(x, out=out),
                lambda out: torch.index_select(x, 0, torch.tensor([0, 1]), out=out),
                lambda out: torch.where(x > 1, x, x, out=out),
                lambda out: torch.clamp(x, 0, 1, out=out),
            ):
                _tried(tell, write, torch.zeros(1).expand(size)._neg_view())
                _tried(tell, write, torch.zeros(1).expand(size))

    program()


@same_story
def test_indices_that_require_grad_record_no_write(torch, tell):
    class View(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return grad

    for index in (torch.tensor([1.5], requires_grad=True) * 1, torch.tensor([1])):
        for value in (True, torch.tensor(1.0), torch.ones(3, 3)):
            _tried(tell, View.apply(torch.zeros(4, 2)).__setitem__, index, value)


# ---- passes


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
                _tried(tell, torch.autograd.backward, roots, gradients)
                _tried(tell, torch.autograd.grad, roots, tensors[0], gradients)


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
        _tried(tell, torch.autograd.grad, kept.sum(), x, retain_graph=True)
        y.detach_()
        _tried(tell, torch.autograd.grad, kept.sum(), x, retain_graph=True)
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
            _tried(tell, torch.autograd.grad, made().real.sum(), of)


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
            _tried(tell, torch.func.jvp, lambda x: x > 0, (view,), (torch.ones(2),))
            _tried(tell, torch.func.jvp, lambda x: 3, (view,), (torch.ones(2),))
            _tried(tell, torch.func.jacfwd(lambda x: (x > 0).float()), view)

    program()


# ---- warnings and refusals


def test_numbers_are_looked_at_after_the_places_they_go_to():
    @same_story
    def program(torch, tell):
        for dtype in (torch.float32, torch.int64, torch.float16):
            x = torch.zeros(3, 1, dtype=dtype)
            for value in (0.5 + 1j, 1e60, 2.5):
                for index in ([[3]], [[0]], [[-1]]):
                    _tried(tell, x.scatter, 0, torch.tensor(index), value)
                    _tried(tell, x.clone().scatter_, 0, torch.tensor(index), value, reduce="add")
                _tried(tell, x.scatter, 0, torch.zeros(0, 1, dtype=torch.int64), value)

    program()


def test_values_with_too_many_dimensions_are_put_nowhere():
    @same_story
    def program(torch, tell):
        for shape in [(2,), (3, 2)]:
            for places in ([1], [0, 1], [[0, 1]], [True, False]):
                for of_values in [(), (1,), (1, 1), (1, 1, 1), (1, 2), (2, 1)]:
                    x, index, values = torch.zeros(shape), torch.tensor(places), torch.ones(of_values)
                    _tried(tell, x.index_put, (index,), values)
                    _tried(tell, x.__setitem__, index, values)
                    tell(x)

    program()


@same_story
def test_images_are_asked_for_their_history_before_their_size(torch, tell):
    x = torch.ones(3, 4, requires_grad=True) * 2
    images = x[:, :2].view(3, 2, 1).mH
    nothing = images.split([1, 0], -2)[1]
    x.mul_(2)
    _tried(tell, torch.nn.functional.interpolate, nothing, size=5, mode="linear")
    _tried(tell, torch.nn.functional.interpolate, nothing.detach(), size=5, mode="linear")


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_too_few_complex_numbers_are_told_of_for_either_part(name):
    @same_story
    def program(torch, tell):
        for dtype in (torch.float32, torch.complex64):
            for shape in [(0,), (1, 3), (3, 3)]:
                tell(getattr(torch, name)(torch.ones(shape, dtype=dtype), 0, correction=3))

    program()


def test_what_is_slow_to_search_is_told_of_once():
    @same_story
    def program(torch, tell):
        row, x = torch.arange(8.0), torch.arange(6.0).reshape(2, 3)
        for values in (x, x.t(), x.t()._neg_view(), x._neg_view().t()):
            for sequence in (row, row._neg_view(), row[::2], row._neg_view()[::2]):
                tell(torch.searchsorted(sequence, values), torch.bucketize(values, sequence))

    program()
