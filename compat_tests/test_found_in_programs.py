"""What random programs found to differ: steps that functions are made of, what they write to, and in which order."""

from __future__ import annotations

import pytest

from .side_by_side import same_story, tried

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
        tried(tell, of, torch.tensor([1 + 2j]), 1, dtype=torch.float32)

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
                    tried(tell, area, y, dim=dim)
                    for other in shapes:
                        x = (1.5 * torch.arange(6.0))[: torch.Size(other).numel()].reshape(other)
                        tried(tell, area, y, x, dim=dim)

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
            tried(tell, torch.matmul, a, b, out=out)

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
            tried(tell, write, numbers())

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
                tried(tell, write, torch.zeros(1).expand(shape))

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
                        tried(tell, assigned, mask, index(mask), value)
            mask = torch.tensor([*bits, True])
            tried(tell, assigned, mask[:2], mask[1:], True)
            for write in (
                lambda m: m.index_put_((m,), torch.tensor(True)),
                lambda m: m.index_put_((m,), torch.tensor(True), True),
                lambda m: m.masked_scatter_(m, torch.tensor([True, False, True])),
                lambda m: m.masked_scatter_(m.clone(), m),
                lambda m: m.masked_fill_(m, True),
            ):
                tried(tell, write, torch.tensor(bits))
        places = torch.tensor([1, 0])
        tried(tell, assigned, places, places, 5)

    program()


@pytest.mark.parametrize("name", ["ceil", "floor", "frac", "isneginf", "isposinf", "round", "sign", "signbit", "trunc"])
def test_complex_numbers_are_refused_before_the_dtype_of_out_or_after_it(name):
    @same_story
    def program(torch, tell):
        x = torch.ones(2, dtype=torch.complex64)
        for dtype in (torch.complex64, torch.float32, torch.int64, torch.bool):
            tried(tell, getattr(torch, name), x, out=torch.zeros(2, dtype=dtype))

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
            tried(tell, write, made())


def test_masks_that_do_not_fit_what_is_scattered_into():
    @same_story
    def program(torch, tell):
        source = torch.ones(20)
        for shape in [(3, 3), (3,), (), (0,)]:
            for dtype in (torch.bool, torch.float32):
                for of_mask in [(2,), (3,), (3, 3), (), (0,)]:
                    mask = torch.ones(of_mask, dtype=dtype)
                    tried(tell, torch.Tensor.masked_scatter_, torch.ones(shape), mask, source)
                    tried(tell, torch.Tensor.masked_scatter, torch.ones(shape), mask, source)

    program()


def test_matmul_refuses_as_what_it_comes_to():
    @same_story
    def program(torch, tell):
        batch = torch.ones(2, 2, 2, dtype=torch.float64)
        for x in (batch, batch.mT, batch.transpose(0, 1), batch[:1].expand(2, 2, 2)):
            for shape in [(2,), (8,), (2, 2), (8, 2)]:
                for dtype in (torch.float64, torch.bool):
                    tried(tell, torch.matmul, x, torch.ones(shape, dtype=dtype))
                    tried(tell, torch.matmul, x, torch.ones(shape, dtype=dtype), out=torch.zeros(0))

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
                    tried(tell, torch.cdist, a, b, p)
        tried(tell, torch.cdist, torch.ones(30, 3), torch.ones(30, 3, dtype=torch.float64))

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
                tried(tell, write, torch.zeros(1).expand(size)._neg_view())
                tried(tell, write, torch.zeros(1).expand(size))

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
            tried(tell, View.apply(torch.zeros(4, 2)).__setitem__, index, value)


# ---- warnings and refusals


def test_numbers_are_looked_at_after_the_places_they_go_to():
    @same_story
    def program(torch, tell):
        for dtype in (torch.float32, torch.int64, torch.float16):
            x = torch.zeros(3, 1, dtype=dtype)
            for value in (0.5 + 1j, 1e60, 2.5):
                for index in ([[3]], [[0]], [[-1]]):
                    tried(tell, x.scatter, 0, torch.tensor(index), value)
                    tried(tell, x.clone().scatter_, 0, torch.tensor(index), value, reduce="add")
                tried(tell, x.scatter, 0, torch.zeros(0, 1, dtype=torch.int64), value)

    program()


def test_values_with_too_many_dimensions_are_put_nowhere():
    @same_story
    def program(torch, tell):
        for shape in [(2,), (3, 2)]:
            for places in ([1], [0, 1], [[0, 1]], [True, False]):
                for of_values in [(), (1,), (1, 1), (1, 1, 1), (1, 2), (2, 1)]:
                    x, index, values = torch.zeros(shape), torch.tensor(places), torch.ones(of_values)
                    tried(tell, x.index_put, (index,), values)
                    tried(tell, x.__setitem__, index, values)
                    tell(x)

    program()


def test_rows_that_are_cut_to_nothing():
    @same_story
    def program(torch, tell):
        for mode in ("reflect", "replicate"):
            for pad in [(-9, -9), (-2, -2), (-4, 0), (0, -4), (1, -9), (-3, 0)]:
                for shape in [(2, 3, 4), (2, 4)]:
                    tried(tell, torch.nn.functional.pad, torch.ones(shape), pad, mode=mode)
        tell(torch.nn.functional.pad(torch.ones(2, 3, 4), (-4, 1), mode="circular").shape)

    program()


def test_places_in_nothing_are_refused_before_values():
    @same_story
    def program(torch, tell):
        for shape in [(2, 0), (0, 2), (2, 3)]:
            for places in ([0], [], [[0, 1]]):
                for dtype in (torch.float32, torch.float64):
                    for of_values in [(), (2,), (3, 3), (0,)]:
                        index = torch.tensor(places, dtype=torch.int64)
                        x, values = torch.zeros(shape, dtype=torch.float64), torch.ones(of_values, dtype=dtype)
                        tried(tell, x.index_put, (index,), values)
                        tried(tell, x.__setitem__, (slice(None), index), values)

    program()


@same_story
def test_numbers_behind_a_bit_are_asked_for_their_history(torch, tell):
    x = torch.ones(3, 4, requires_grad=True) * 2
    with torch.no_grad():
        view, behind = x.view(3, 4, 1), x._neg_view()
    x.mul_(2)
    for t in (view, behind, behind.detach()):
        tried(tell, t.tolist)
    tried(tell, torch.nn.functional.pad, view, (1, 1), mode="reflect")


@same_story
def test_images_are_asked_for_their_history_before_their_size(torch, tell):
    x = torch.ones(3, 4, requires_grad=True) * 2
    images = x[:, :2].view(3, 2, 1).mH
    nothing = images.split([1, 0], -2)[1]
    x.mul_(2)
    tried(tell, torch.nn.functional.interpolate, nothing, size=5, mode="linear")
    tried(tell, torch.nn.functional.interpolate, nothing.detach(), size=5, mode="linear")


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


@same_story
def test_rows_without_elements_may_be_meant_by_any_place(torch, tell):
    x, places = torch.ones(0, 2), torch.tensor([5])
    tried(tell, x.index_add_, 1, places, torch.ones(0, 1))
    tried(tell, x.index_copy_, 1, places, torch.ones(0, 1))
    tried(tell, x.index_fill_, 1, places, 1)
    tried(tell, torch.ones(2, 0).index_add_, -1, torch.tensor([2, 1]), torch.ones(2, 2))
    tried(tell, torch.ones(0).index_add_, 0, torch.tensor([2, 1]), torch.ones(2))


@same_story
def test_a_view_of_one_made_in_inference_mode_is_told_of_as_that(torch, tell):
    for shown in (lambda t: t.mT, lambda t: t[0], lambda t: t.view(4), lambda t: t.unsqueeze(0)):
        x = torch.ones(2, 2, requires_grad=True) * 1
        with torch.inference_mode():
            first = x.view(2, 2)
        for _ in range(3):  # by a plan, too
            with torch.no_grad():
                second = shown(first)
        x.mul_(0)
        tried(tell, getattr, second, "grad_fn")
