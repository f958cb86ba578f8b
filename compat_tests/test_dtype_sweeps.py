"""Whole families over all dtypes: in-place forms with numbers of any kind, tensors without elements, losses."""

from __future__ import annotations

import itertools
import warnings

import pytest

from .side_by_side import same_story

DTYPES = ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
KINDS = (TypeError, ValueError, RuntimeError, IndexError, OverflowError)


def _tried(tell, call, *values):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = call(*values)
            tell(*[(t, t.stride()) for t in (made if isinstance(made, tuple) else (made,))])
        except KINDS as error:
            tell(type(error).__name__, str(error).splitlines()[0])


@pytest.mark.parametrize("number", [True, 2.5, 300, 1 + 2j])
def test_in_place_with_a_number(number):
    """Whether the result may be written is asked before whether its dtype has a kernel."""

    @same_story
    def program(torch, tell):
        names = "pow floor_divide remainder fmod bitwise_and bitwise_or bitwise_left_shift copysign xlogy true_divide"
        for name, d in itertools.product(names.split(), DTYPES):
            x = torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64).to(getattr(torch, d))
            _tried(tell, getattr(x, f"{name}_"), number)

    program()


@same_story
def test_numbers_next_to_others(torch, tell):
    ends = [0.0, -0.0, 1.0, -2.5, float("inf"), -float("inf"), float("nan"), 65504.0]
    for d in DTYPES[4:]:
        x, towards = torch.tensor(list(itertools.product(ends, ends)), dtype=getattr(torch, d)).t().contiguous()
        _tried(tell, torch.nextafter, x, towards)
        _tried(tell, lambda x, y: torch.nextafter(x, y).signbit() & (x == x) & (y == y), x, towards)


@same_story
def test_whole_powers_that_do_not_fit(torch, tell):
    for d, power in itertools.product(("uint8", "int8", "int32", "bool"), (2, 127, 128, 255, 256, 2**40, -1)):
        _tried(tell, lambda: torch.ones(2, dtype=getattr(torch, d)) ** power)  # noqa: B023


@pytest.mark.parametrize("d", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_along_dimensions_without_elements(d, shape):
    """No kernel runs there, so that none is missing, where PyTorch does not look for it first."""

    @same_story
    def program(torch, tell):
        x = torch.zeros(shape, dtype=getattr(torch, d))
        F = torch.nn.functional
        names = "mode amax amin cummax cummin softmax log_softmax logcumsumexp median nanmedian max cumsum"
        for name, dim in itertools.product(names.split(), (0, -1)):
            _tried(tell, getattr(torch, name), x, dim)
        for f in (F.glu, torch.where, torch.nonzero, torch.median, torch.trace, torch.cholesky):
            _tried(tell, f, x)

    program()


@same_story
def test_places_share_the_memory_that_they_were_found_in(torch, tell):
    for x in (torch.ones(2, 3), torch.tensor([[True], [False]]), torch.tensor(2.0), torch.zeros(2, 0, 3)):
        found = torch.where(x)
        tell(found, [(t.stride(), t.storage_offset()) for t in found])
        tell(len({t.untyped_storage().data_ptr() for t in found}))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_of_no_classes(reduction):
    @same_story
    def program(torch, tell):
        F = torch.nn.functional
        for shape, smoothing in itertools.product(((0,), (2, 0), (0, 0), (0, 3)), (0.0, 0.1)):
            x, t = torch.zeros(shape), torch.zeros(shape)
            _tried(tell, lambda: F.cross_entropy(x, t, reduction=reduction, label_smoothing=smoothing))  # noqa: B023

    program()


@pytest.mark.parametrize("d", DTYPES[:-1])
def test_what_losses_refuse_first(d):
    @same_story
    def program(torch, tell):
        F, dtype = torch.nn.functional, getattr(torch, d)
        for shape, size in itertools.product(((4,), (4, 4)), (1, 2, 4)):
            x, t = torch.ones(shape), torch.ones(size, dtype=dtype)
            for loss in (F.nll_loss, F.multi_margin_loss, F.multilabel_margin_loss):
                _tried(tell, loss, x, t)
                _tried(tell, loss, x.half(), t)

    program()


@pytest.mark.parametrize("d", ["int64", "float16", "float32", "float64", "complex64"])
def test_soft_margins_have_the_dtype_of_the_input(d):
    @same_story
    def program(torch, tell):
        for other, size in itertools.product(("int64", "float16", "float32", "float64", "complex64"), (1, 2)):
            x = torch.tensor([2.0, 1.0], dtype=torch.float64).to(getattr(torch, d))
            target = torch.tensor([1.0, -1.0][:size], dtype=torch.float64).to(getattr(torch, other))
            for loss in (torch.nn.functional.soft_margin_loss, torch.nn.SoftMarginLoss()):
                _tried(tell, loss, x, target)
            if d.startswith("float") and d != "float16":  # of which PyTorch rounds each step
                tell(torch.autograd.grad(loss(x.requires_grad_(), target), x))

    program()


@pytest.mark.parametrize("d", DTYPES)
def test_dtypes_of_images(d):
    @same_story
    def program(torch, tell):
        F, dtype = torch.nn.functional, getattr(torch, d)
        modes = ("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear")
        for mode, dims, smooth in itertools.product(modes, (1, 2, 3), (False, True)):
            x = torch.ones((1, 1) + (3,) * dims, dtype=dtype)
            _tried(tell, lambda: F.interpolate(x, size=5, mode=mode, antialias=smooth).sum())  # noqa: B023
        row = torch.tensor([[3, 1, 2]]).to(dtype)
        for places in (False, True):
            _tried(tell, lambda: F.max_pool1d(row, 2, return_indices=places))  # noqa: B023
        _tried(tell, lambda: row[0].index_reduce(0, torch.tensor([0, 0, 1]), row[0], "amax"))
        _tried(tell, lambda: torch.searchsorted(row[0].sort().values, 1))

    program()


@same_story
def test_histograms_have_a_history_that_leads_nowhere(torch, tell):
    x = torch.tensor([0.5, 1.0, 2.5], requires_grad=True)
    for made in (torch.histogram(x, 3), torch.histogram(x, torch.tensor([0.0, 1.0, 3.0]))):
        tell(made.hist.requires_grad, made.bin_edges.requires_grad)
        _tried(tell, made.hist.sum().backward)


@pytest.mark.parametrize("name", ["e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu"])
def test_what_is_computed_in_eight_bits(name):
    @same_story
    def program(torch, tell):
        x, y = (
            torch.tensor(numbers).to(getattr(torch, f"float8_{name}"))
            for numbers in ([1.0, 2.0, float("nan"), 0.5, 3.0], [2.0, 2.0, 1.0, 0.25, 4.0])
        )
        tell((x * y).float(), x == y, x != 2, x == x, x.isnan(), torch.where(x == y, x, y).float())

    program()


@pytest.mark.parametrize("name", ["e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu"])
def test_what_becomes_eight_bits(name):
    @same_story
    def program(torch, tell):
        dtype = getattr(torch, f"float8_{name}")
        numbers = [464.0, 480.0, 1e5, float("inf"), -500.0, float("nan"), 61440.0, 65536.0, 250.0, 2.0**-127, -3.0]
        tell(torch.tensor(numbers, dtype=dtype).float(), torch.tensor([1000, -3]).to(dtype).float())
        for wide in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            tell(torch.tensor(numbers, dtype=wide).to(dtype).float())
        held = torch.zeros(2, dtype=dtype)
        held[0] = torch.tensor(-1000.0)
        tell(held.float(), held.copy_(torch.tensor([900.0, -900.0])).float())
        tell(torch.full((1,), 1000.0, dtype=dtype).float(), torch.zeros(1).to(dtype).float())

    program()


@same_story
def test_halves_are_scaled_and_added_with_one_rounding(torch, tell):
    x, y = torch.arange(-40, 40) * 0.37, torch.arange(80) * 0.0625
    for d in (torch.float16, torch.bfloat16):
        a, b, one = x.to(d), y.to(d), torch.tensor(0.7, dtype=d)
        tell(torch.add(a, b, alpha=2), torch.sub(a, b, alpha=0.5), torch.rsub(a, b, alpha=4))
        tell(a.clone().add_(b, alpha=-2))
        tell(torch.add(a, b, alpha=0.75), torch.add(a, 3, alpha=0.3), torch.add(one, a), a - one, a + True)
        tell(a + 0.3, 0.3 - a, a * 0.3, a.relu(), a.exp(), a.sigmoid())
        tell(a.sum(), a.view(8, 10).sum(0), a.view(8, 10).mean(1), a[::2].sum())
