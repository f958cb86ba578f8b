"""What random programs found to differ, each as the shortest program that shows it."""

from __future__ import annotations

import warnings
from functools import partial

import pytest

from .side_by_side import same_story, warning_always


def _tried(tell, call):
    """Tell what a call gives, or how it fails."""
    try:
        tell(call())
    except Exception as error:
        tell(type(error).__name__, str(error).split("\n")[0])


# ---- what hooks see of nodes


NODES = {
    "min": lambda torch, x: x.min(0)[0],
    "sort": lambda torch, x: x.sort()[0],
    "batch_norm": lambda torch, x: torch.nn.functional.batch_norm(x, None, None, training=True),
    "frexp": lambda torch, x: torch.frexp(x)[0],
    "clamp of numbers": lambda torch, x: x.clamp(0.1, 0.2),
    "plus a number": lambda torch, x: x + 2,
    "xlogy with a number": lambda torch, x: x.xlogy(2.0),
    "xlog1py with a number": lambda torch, x: torch.special.xlog1py(x, 2.0),
}


@pytest.mark.parametrize("name", NODES)
def test_hooks_see_the_edges_and_outputs_that_torch_has(name):
    @same_story
    def program(torch, tell):
        x = torch.arange(1.0, 7.0).reshape(2, 3).requires_grad_()
        for _ in range(3):  # by plan, too
            made = NODES[name](torch, x * 0.5)
            made.grad_fn.register_prehook(lambda grads: tell(len(grads)))
            made.grad_fn.register_hook(lambda given, taken: tell([g is None for g in given], len(taken)))
            made.sum().backward()
            tell(x.grad)

    program()


# ---- where results and gradients lie in memory


GRADIENTS = {
    "mean": lambda torch, x: x.mean(),
    "mean of a transpose": lambda torch, x: x.t().mean(),
    "mean along a dimension": lambda torch, x: x.mean(1),
    "mse_loss": lambda torch, x: torch.nn.functional.mse_loss(x.t(), x.detach().t() + 1),
    "huber_loss": lambda torch, x: torch.nn.functional.huber_loss(x.t(), x.detach().t() + 1, reduction="none"),
    "soft_margin_loss": lambda torch, x: torch.nn.functional.soft_margin_loss(x.t(), x.detach().t()),
    "logsigmoid": lambda torch, x: torch.nn.functional.logsigmoid(x.t()),
    "var_mean": lambda torch, x: torch.var_mean(x, 1)[1],
    "cumsum along one element": lambda torch, x: x[:, :1].expand(2, 3).sum(1, True).cumsum(1).sum(),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_lie_in_memory_as_torchs_do(name):
    @same_story
    def program(torch, tell):
        for graph in (False, True):
            x = torch.arange(1.0, 7.0).reshape(2, 3).requires_grad_()
            y = x * 1
            y.register_hook(lambda grad: tell(grad, grad.stride()))
            GRADIENTS[name](torch, y).sum().backward(create_graph=graph)

    program()


@same_story
def test_results_of_complex_angles_and_of_nonzero_lie_in_memory_as_torchs_do(torch, tell):
    z = torch.complex(torch.ones(2, 3), torch.ones(2, 3))
    tell(z.t().angle().stride(), (z * z).mT.angle().stride(), z.real.t().angle().stride())
    for out in ((0,), (3, 2), (2, 3), (9,)):
        for x in (torch.eye(3), torch.zeros(3, 3), torch.ones(3)):
            found = torch.nonzero(x, out=torch.empty(out, dtype=torch.int64))
            tell(found, found.stride())


# ---- values


@same_story
def test_products_of_zeros_have_signs(torch, tell):
    x = torch.tensor([0.0, 1.0, -1.25])
    tell(torch.outer(x, x).signbit(), torch.outer(x.requires_grad_(), x).signbit())


@same_story
def test_complex_zeros_to_the_power_of_zeros(torch, tell):
    z = torch.zeros(5, dtype=torch.complex64)
    for power in (z**z, z.real**z, z**z.real, 0**z, z**0, z**0.0, (z + 1) ** z, z ** (z - 1)):
        tell(torch.view_as_real(power))
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    (x.abs() ** torch.tensor([1.0 + 0j, 1.0])).sum().abs().backward()
    tell(x.grad)


@same_story
def test_bounds_keep_the_sign_of_zero(torch, tell):
    x = torch.tensor([-0.0, 0.0])
    for bounds in ((-1, 0), (0, 1), (-0.0, 1), (None, 0), (0, None), (x.flip(0), None), (None, x.flip(0))):
        tell(x.clamp(*bounds).signbit())
    tell(torch.nn.functional.hardtanh(x, 0, 1).signbit(), torch.nn.functional.relu6(x).signbit())


@same_story
def test_gradients_of_determinants_of_singular_matrices_can_be_differentiated(torch, tell):
    batch = [[[1.0, 0], [0, 1]], [[1, 1], [1, 1]]]
    for rows in ([[4.0, 2.5], [2.5, 1.5625]], [[1.0, 2, 3], [2, 4, 6], [1, 1, 1]], batch):
        x = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
        (grad,) = torch.autograd.grad(torch.linalg.det(x).sum(), x, create_graph=True)
        tell(grad.detach().round(decimals=9).abs())
        tell(torch.autograd.grad(grad.square().sum(), x)[0].round(decimals=9).abs())


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["sigmoid", "reciprocal"])
def test_zeros_of_complex_quotients_have_signs(name, dtype):
    parts = [0.75, -0.75, 0.0, -0.0]

    @same_story
    def program(torch, tell):
        for factor in (1, 200):  # NumPy has several ways for reciprocals, by how many there are
            z = torch.tensor([complex(a, b) for a in parts for b in parts] * factor, dtype=getattr(torch, dtype))
            made = torch.view_as_real(getattr(z, name)())
            tell(made.signbit().masked_fill(made.isnan(), False))

    program()


# ---- results that are computed when they are read


@same_story
def test_products_of_conjugates_are_conjugates(torch, tell):
    x = torch.tensor([1.0 + 2j, 0.5j], requires_grad=True)
    y = x.conj()
    for product in (torch.dot(y, y), y @ y, torch.inner(y, y), torch.vdot(x, y), torch.vdot(y, y), torch.dot(x, y)):
        tell(product, product.is_conj(), product.grad_fn.name(), product._is_view())
        tell(torch.autograd.grad(product.abs(), x))


@same_story
def test_kron_of_what_is_then_overwritten(torch, tell):
    for view in (lambda t: t._neg_view(), lambda t: (t * 1j).conj(), lambda t: t.view(2)):
        x = torch.tensor([-2.0, -1.25], requires_grad=True)
        y = view(x * 1)
        product = torch.kron(y, x)
        y.pow_(2)
        tell(torch.autograd.grad(product.sum().abs(), x))


# ---- what calls of one form come to when they are made again


@same_story
def test_results_lie_alike_each_time(torch, tell):
    x = torch.arange(24.0).reshape(2, 3, 4)
    mask = torch.ones(4, 2, dtype=torch.bool)
    for _ in range(4):
        for y in (x.permute(2, 0, 1), x.permute(1, 2, 0), torch.ones(2, 3).expand(3, 2, 3).transpose(1, 2).floor()):
            for result in (y.cumsum(0), y.logcumsumexp(1), y.sum(0), y.mean(2), y.amax(1), y.softmax(0)):
                tell(result.stride())
        tell((x[0].t()[:, :2].logical_not() | mask).stride(), (x[0, :2].t().sin() + mask).stride())


@same_story
def test_sums_of_gradients_lie_as_the_first_that_came(torch, tell):
    x = torch.rand(3, 4).t().requires_grad_()
    for compute in (lambda x: (x * 2).add_(x.erf()), lambda x: x.erf() + x * 2, lambda x: x.sin() * x):
        tell(torch.autograd.grad(compute(x).sum(), x)[0].stride())


@same_story
def test_products_of_one_element_stay_as_they_are_under_autocast(torch, tell):
    with torch.autocast("cpu"):
        for sizes in (((1,), (1,), 0), ((1, 3), (3, 1), 1), ((2,), (2,), 0)):
            one, other, dims = torch.ones(sizes[0]), torch.ones(sizes[1]), sizes[2]
            tell(torch.tensordot(one, other, dims).dtype, torch.tensordot(one, other, dims))


@same_story
def test_errors_about_views_name_the_overload(torch, tell):
    x = torch.ones(2, 2, requires_grad=True) * 1
    y = x.unbind(0)[0].unsqueeze(0).squeeze(0)
    x.mul_(2)
    _tried(tell, lambda: y.grad_fn)


@same_story
def test_draws_that_are_refused_take_no_numbers(torch, tell):
    x = torch.zeros(2, requires_grad=True) * 1
    y = x.split(1, 0)[0].permute([0])
    x += 1
    for draw in (lambda: torch.normal(y, 0.5), lambda: torch.bernoulli(y, 0.5), lambda: torch.poisson(y)):
        torch.manual_seed(0)
        _tried(tell, draw)
        tell(torch.rand(2))


@same_story
def test_gradients_that_leaves_take_count_their_writes(torch, tell):
    for shape in ((2,), (2, 3)):
        for compute in (torch.sum, lambda x: (x.sum(0) * 2).sum()):
            for graph in (False, True):
                x = torch.ones(shape, requires_grad=True)
                compute(x).backward(create_graph=graph)
                tell(x.grad, x.grad._version, x.grad.grad_fn and x.grad.grad_fn.name())


@same_story
def test_views_made_in_inference_mode_say_so_whatever_was_made_of_them(torch, tell):
    x = torch.ones(3, requires_grad=True) * 1
    with torch.inference_mode():
        y = x.view(3)
    z = y.split([1, 2])[0]
    x.detach()[1:] = 2
    _tried(tell, lambda: z.grad_fn)


@same_story
def test_resizing_what_is_empty_gives_memory_to_all_who_share_it(torch, tell):
    x = torch.ones(4).tile((0,))
    first, _, last = x.tensor_split(3)
    torch.zeros((3, 4), out=last)
    tell([t.untyped_storage().nbytes() for t in (x, first, last)])
    tell(x.untyped_storage().data_ptr() == last.untyped_storage().data_ptr())


@same_story
def test_hooks_of_a_view_see_the_second_pass_through_what_wrote_to_it(torch, tell):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x + 0
    part = y.select(0, 0)
    part.sigmoid_()
    part.register_hook(lambda grad: tell(grad) or grad + part)
    (grad,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    tell(grad, torch.autograd.grad(grad.sum(), x))


@same_story
def test_what_is_computed_from_little_lies_in_rows_and_owns_its_memory(torch, tell):
    for x in (torch.rand(3, 2).mT.unfold(-2, 1, 1), torch.rand(2, 3, 4).permute(1, 2, 0)):
        tell(torch.nn.functional.group_norm(x, 1).stride())
    x = torch.ones(1)
    tell(torch.addmv(x.squeeze(0), torch.ones(2, 0), torch.ones(0)).data_ptr() != x.data_ptr())
    tell((torch.tensor([[0.0], [1.0]]) @ torch.tensor([[-1.0, 2.0]])).signbit())


@same_story
def test_functions_ask_for_histories_where_something_is_recorded(torch, tell):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.ones(2, requires_grad=True) * 1
    part = x.split(1)[0]
    x.mul_(2)
    for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad):
        with mode():
            _tried(tell, lambda: Double.apply(part))


@same_story
def test_gradients_of_running_products_divide_where_nothing_is_zero(torch, tell):
    for values in ([1.0, 2, 3], [1.0, 0, 3], [float("inf"), 1, 2], [float("nan"), 1, 2]):
        for dtype in (torch.float64, torch.float16):
            x = torch.tensor(values, dtype=dtype, requires_grad=True)
            tell(torch.autograd.grad(x.cumprod(0).sum(), x))


# ---- errors


@same_story
def test_what_keeps_nothing_runs_again(torch, tell):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    for _ in range(3):  # by plan, too
        y = x.index_add(1, torch.tensor([1, 0]), torch.full((2, 2), 0.25)).clone()
        y.scatter_add_(0, torch.tensor([[1, 1]]), torch.ones(1, 2))
        y.sum().backward()
        y.sum().backward()
        tell(x.grad)


REFUSALS = {
    "a class loss without classes": lambda torch: torch.nn.functional.nll_loss(torch.eye(0), torch.zeros(0).long()),
    "pads that cut more than there is": lambda torch: torch.nn.functional.pad(torch.zeros(2), (1, -3)),
    "pads of nothing": lambda torch: torch.nn.functional.pad(torch.zeros(3, 0), (1, -1)),
    "medians of nothing": lambda torch: torch.zeros(0, dtype=torch.bool).median(-1),
    "medians of bools": lambda torch: torch.zeros(2, dtype=torch.bool).median(0),
    "floor of bools into floats": lambda torch: torch.floor(torch.ones(2) > 0, out=torch.empty(2)),
    "softmax of integers into floats": lambda torch: torch.softmax(torch.ones(2).long(), 0, out=torch.empty(2)),
    "amax of nothing into ints": lambda torch: torch.amax(torch.ones(0), 0, out=torch.ones(2).long()),
    "t_ of what has three dimensions": lambda torch: torch.ones(1, 2, 3).t_(),
    "softmax along no dimension into ints": lambda torch: torch.softmax(torch.ones(2), 3, out=torch.ones(2).long()),
    "a joined number": lambda torch: torch.cat([torch.ones(2), torch.tensor(1.0)], out=torch.empty(2).long()),
    "joined misfits": lambda torch: torch.stack([torch.ones(2), torch.ones(3)], out=torch.empty(2).long()),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_wrong_is_said_in_torchs_order(name):
    @same_story
    def program(torch, tell):
        _tried(tell, lambda: REFUSALS[name](torch))

    program()


@same_story
def test_histories_that_may_not_be_asked_for_are_said_first(torch, tell):
    x = torch.ones(4, requires_grad=True) * 1
    part = x.split(2)[0]
    x.mul_(2)
    _tried(tell, lambda: part << 1)
    _tried(tell, lambda: part.repeat_interleave(1, 5))
    _tried(tell, lambda: torch.cdist(part.half(), part))


@same_story
def test_picks_and_gradients_of_transposes_lie_in_memory_as_torchs_do(torch, tell):
    x, places = torch.arange(27.0).reshape(3, 3, 3), torch.tensor([0, 0])
    for view in (x, x.mT, x.permute(2, 0, 1), x.permute(1, 2, 0)):
        for picked in (view[places], view[places, :, ::2], view[:, places, ::2], view[::2, :, places]):
            tell(picked, picked.stride())
    functional = torch.nn.functional
    for compute in (lambda x: functional.glu(x, 1), lambda x: x.norm(dim=(1, 2))):
        for graph in (False, True):
            y = (torch.rand(2, 2, 4, requires_grad=True) * 1).mT
            y.register_hook(lambda grad: tell(grad.stride()))
            compute(y).square().sum().backward(create_graph=graph)


@same_story
def test_negative_powers_of_no_integers_are_refused_each_time(torch, tell):
    for _ in range(3):
        tell(torch.tensor([1, 2]) ** 2)
        _tried(tell, lambda: torch.ones(2, 0, dtype=torch.int64) ** -1)


@same_story
def test_what_is_computed_of_nothing_or_of_bools_is_torchs(torch, tell):
    for dtype in (torch.int8, torch.int16, torch.int32, torch.int64, torch.float32):
        tell(torch.ones(0, dtype=dtype).median())
    for shape in ((2, 0), (0, 0), (0,)):
        x = torch.ones(shape, requires_grad=True)
        tell(torch.autograd.grad(torch.nn.functional.layer_norm(x, (0,)).sum(), x))
    for _ in range(3):
        tell((torch.ones(3, 4).t() > 0).sign().stride(), (torch.ones(3, 4).t() ** 1).stride())


@same_story
def test_losses_and_pools_lie_in_memory_as_torchs_do(torch, tell):
    functional = torch.nn.functional
    rows, columns = torch.rand(2, 3), torch.rand(3, 2).t()
    for x in (rows, columns):
        for y in (rows, columns):
            for loss in (functional.binary_cross_entropy, functional.binary_cross_entropy_with_logits):
                leaf = x.clone().requires_grad_()
                made = loss(leaf, y, reduction="none")
                tell(made.stride(), torch.autograd.grad(made.sum(), leaf)[0].stride())
    for x in (torch.rand(1, 1, 3).mT, torch.rand(2, 4, 3).mT, torch.rand(2, 4, 1).mT, torch.rand(2, 3, 1)):
        tell(functional.avg_pool1d(x, 1).stride())
        for leaf in (x, x.clone().requires_grad_()):
            tell(functional.adaptive_max_pool1d(leaf, 2).stride(), functional.adaptive_avg_pool1d(leaf, 2).stride())
    tell(functional.max_pool1d(torch.rand(2, 4, 3).mT, 1).stride())


@same_story
def test_gradients_of_transforms_are_no_inference_tensors(torch, tell):
    x = torch.ones(2, 2)
    with torch.inference_mode():
        for compute in (lambda x: x.sum(), lambda x: x.t().exp().sum(), lambda x: x[0].cumsum(0).view(2).sum()):
            tell(torch.func.grad(compute)(x).is_inference())
        tell(torch.func.vjp(lambda x: x[0], x)[1](torch.ones(2))[0].is_inference())


@same_story
def test_what_hooks_unpack_is_watched_for_writes_by_itself(torch, tell):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        x = torch.tensor([0.25, 0.75], requires_grad=True)
        y = x.sin()
        y.sigmoid_()
    grad = torch.autograd.grad((y * x).sum(), x, create_graph=True)[0]
    torch.autograd.graph.increment_version(y)
    grad.sum().backward()
    tell(x.grad)


@same_story
def test_a_view_that_is_refused_another_shape_keeps_its_history(torch, tell):
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    y = x.sin()
    view = y.expand(3, 1, 2)
    view[-1, :1, torch.tensor([[1]])] += 0.25
    _tried(tell, view.t_)
    y.detach_()
    view.sum().backward()
    tell(x.grad)


@same_story
def test_products_of_any_dtype_have_gradients_each_time(torch, tell):
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.complex64):
        for turn in (lambda x: x, lambda x: x.t()):
            for _ in range(3):  # by plan, too
                x = turn(torch.ones(2, 2, dtype=dtype)).requires_grad_()
                for product in (x.matmul(x.t()), x @ x, torch.mm(x, x), x @ x[0], x[0] @ x, x[0] @ x[0]):
                    tell(torch.autograd.grad(product.sum(), x, torch.tensor(1, dtype=dtype))[0])


@same_story
def test_what_is_laid_over_parts_of_complex_numbers_keeps_to_their_history(torch, tell):
    for part in (lambda x: x.real, lambda x: x.conj().imag):
        for write in (False, True):
            x = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
            view = part(x * 1)
            laid = view.as_strided((2, 2), (2, 1), 0)
            if write:
                view.mul_(2)
            laid.square().sum().backward()
            tell(x.grad)


@same_story
def test_what_is_refused_once_it_is_drawn_has_used_its_numbers(torch, tell):
    mean = torch.zeros(2, dtype=torch.complex64, requires_grad=True)
    for draw in (lambda: torch.normal(mean, 0.5), lambda: torch.normal(mean, torch.ones(2))):
        torch.manual_seed(0)
        _tried(tell, draw)
        tell(torch.rand(2))


@same_story
def test_integers_of_which_there_may_be_no_history_are_copied_to(torch, tell):
    for dtype in (torch.int64, torch.bool, torch.float32):
        for view in (lambda x: x.chunk(2, 1)[1], lambda x: x[:, 1:].squeeze(0)):
            for mode in (torch.no_grad(), torch.enable_grad()):
                x = torch.ones(3, 2, dtype=dtype)
                with mode:
                    part = view(x)
                _tried(tell, lambda part=part: part.copy_(torch.ones(3, 1, requires_grad=True)))


@same_story
def test_bounds_that_are_numbers_say_which_dtype_is_computed_in(torch, tell):
    for dtype in (torch.bool, torch.int32, torch.int64, torch.float32):
        for low, high in ((2.0, 3), (2, None), (None, 2.5), (True, False)):
            for out in (torch.float64, torch.int64):
                call = partial(torch.clamp, torch.ones(2, dtype=dtype), low, high, out=torch.empty(2, dtype=out))
                _tried(tell, call)


@same_story
def test_expanded_memory_is_told_of_before_a_mask_that_does_not_fit(torch, tell):
    with warning_always(torch), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        _tried(tell, lambda: torch.zeros(2).expand(3, 2).masked_fill_(torch.ones(3, dtype=torch.bool), 1))
    tell([str(warning.message).partition(" (Triggered")[0] for warning in told])


@same_story
def test_a_plan_repeats_no_warnings(torch, tell):
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        x = torch.tensor([1j, 2.0])
        for call in (lambda: x.sum(-1, dtype=torch.float64), lambda: x.cumsum(0, dtype=torch.float32)):
            for _ in range(4):
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    call()
                tell(len(told))
    finally:
        torch.set_warn_always(before)
