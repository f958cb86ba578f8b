"""What `out=` may be, arguments in an older order, and the errors of maths that no sample covers."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings

import pytest

from .side_by_side import same_story, warning_always


def _tried(tell, call):
    try:
        tell(call())
    except (TypeError, ValueError, RuntimeError, IndexError, AssertionError) as error:
        tell(type(error).__name__, str(error).strip())


def _values(torch, d="float32"):
    return torch.arange(1, 5, dtype=getattr(torch, d))


@same_story
def test_numbers_may_come_before_what_they_scale(torch, tell):
    x = torch.ones(2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tell(x.clone().add_(-0.5, x * 3), x.add(2, x), torch.sub(x, 0.5, x))
        tell(x.clone().addcdiv_(-0.5, x, x * 2), torch.addcmul(x, 3, x, x), x.clone().addr_(2, 3, x[0], x[0]))
        tell(torch.addmm(2, x, x, x), torch.addmm(2, x, 3, x, x), x.addmm(2, 3, x, x))


def test_an_older_order_is_told_of():
    import torchlite as torch

    with warning_always(torch), pytest.warns(UserWarning, match=r"This overload of addcmul_ is deprecated"):
        torch.ones(2).addcmul_(0.5, torch.ones(2), torch.ones(2))


def test_older_orders_are_told_of_once():
    program = """
import warnings, {} as torch
x = torch.ones(2, 2)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.add(x, 2, x), torch.addmm(2, x, x, x), x.addcmul_(2, x, x)
print([str(warning.message).split(" (Triggered")[0] for warning in caught])
"""
    pytest.importorskip("torch")
    ours, theirs = (
        subprocess.run([sys.executable, "-c", program.format(name)], capture_output=True, text=True, check=True).stdout
        for name in ("torchlite", "torch")
    )
    assert ours == theirs and "add(" in ours


@same_story
def test_too_many_arguments_are_refused(torch, tell):
    x = torch.ones(2)
    for call in (lambda: torch.mul(x, x, x), lambda: torch.add(x, x, x), lambda: torch.mul(x, 2, x)):
        with pytest.raises(TypeError):
            call()


@same_story
def test_in_place_methods_are_told_by_their_names(torch, tell):
    x = torch.ones(2)
    for name in ("atan2_", "logical_and_", "hypot_"):
        getattr(torch.ones(2), name)(torch.ones(2))
        _tried(tell, lambda name=name: getattr(x, name)(2))


@same_story
def test_whether_bytes_are_true_is_written_as_bools_or_bytes(torch, tell):
    x = torch.tensor([[1, 0], [2, 3]], dtype=torch.uint8)
    for d in ("bool", "uint8", "float32"):
        out = torch.empty(0, dtype=getattr(torch, d))
        for args in ((), (0,), ((0, 1),)):
            _tried(tell, lambda out=out, args=args: torch.any(x, *args, out=out))
            _tried(tell, lambda out=out, args=args: torch.all(x.int(), *args, out=out))


@same_story
def test_sizes_are_looked_at_before_factors(torch, tell):
    for a, b, alpha in (
        (torch.ones(3), torch.ones(4) > 0, True), (torch.ones(3).int(), torch.ones(4).int(), 0.5),
        (torch.ones(3), torch.ones(3) > 0, True), (torch.ones(3), torch.ones(4), 1j),
    ):  # fmt: skip
        _tried(tell, lambda a=a, b=b, alpha=alpha: torch.add(a, b, alpha=alpha))
        _tried(tell, lambda a=a, b=b, alpha=alpha: a.clone().sub_(b.to(a.dtype), alpha=alpha))


@same_story
def test_factors_of_products_of_halves_are_floats(torch, tell):
    for d in (torch.float16, torch.bfloat16, torch.float64, torch.int32):
        m = torch.ones(2, 2, dtype=d)
        for alpha in (1 + 1j, 1e5):
            _tried(tell, lambda m=m, alpha=alpha: torch.addmm(m, m, m, alpha=alpha))
            _tried(tell, lambda m=m, alpha=alpha: torch.baddbmm(m, m[None], m[None], beta=alpha))
            _tried(tell, lambda m=m, alpha=alpha: torch.addmv(m[0], m, m[0], alpha=alpha))


@same_story
def test_dtypes_of_out(torch, tell):
    x, other = _values(torch), torch.empty(0, dtype=torch.float64)
    places = torch.tensor([0])
    calls = [
        lambda: torch.sum(x, 0, dtype=torch.float64, out=torch.empty(0)),
        lambda: torch.cumsum(x, 0, dtype=torch.float64, out=torch.empty(0)),
        lambda: torch.amax(x, 0, out=other),
        lambda: torch.kthvalue(x, 2, out=(other, torch.empty(0, dtype=torch.int64))),
        lambda: torch.median(x, 0, out=(other, torch.empty(0, dtype=torch.int64))),
        lambda: torch.index_select(x, 0, places, out=other),
        lambda: torch.take(x, places, out=other),
        lambda: torch.where(x > 2, x, x, out=other),
        lambda: torch.float_power(x, 2, out=torch.empty(0)),
        lambda: torch.clamp(x, 0, out=places),
        lambda: torch.tril(torch.ones(2, 2), out=other),
        lambda: torch.linalg.norm(x, out=other),
        lambda: torch.linalg.eigvals(torch.eye(2), out=torch.empty(0)),
        lambda: torch.linalg.matrix_rank(torch.eye(2), out=torch.empty(0, dtype=torch.bool)),
        lambda: torch.quantile(x, 0.5, 0, out=other),
        lambda: torch.histc(x, 3, out=other),
    ]
    for call in calls:
        _tried(tell, call)


@same_story
def test_out_is_a_tensor_or_a_tuple_of_so_many(torch, tell):
    x = _values(torch)
    _tried(tell, lambda: torch.topk(x, 1, out=torch.empty(1)))
    _tried(tell, lambda: torch.topk(x, 1, out=(torch.empty(1),)))
    _tried(tell, lambda: torch.sin(x, out=(torch.empty(4),)))
    _tried(tell, lambda: torch.sin(x, out=1))


@same_story
def test_variances_by_all_their_forms(torch, tell):
    x = _values(torch)
    tell(torch.var(x, 0, unbiased=False), x.std(0, unbiased=False), x.var((0,), unbiased=True), torch.std(x, False))
    for name in ("var_mean", "std_mean"):
        tell(getattr(torch, name)(torch.ones(2, 0), dim=1), getattr(torch, name)(torch.ones(0)))
        _tried(tell, lambda name=name: getattr(torch, name)(torch.ones(3, dtype=torch.int64)))


@same_story
def test_a_factor_of_zero_lets_no_nan_through(torch, tell):
    wild, x = torch.full((2, 2), math.nan), torch.ones(2, 2)
    tell(torch.addmm(x, wild, x, alpha=0), torch.addmm(wild, wild, x, alpha=0, beta=0))
    tell(torch.addmv(x[0], wild, x[0], alpha=0))


@same_story
def test_errors_of_linear_algebra(torch, tell):
    x = torch.ones(2, 3)
    calls = [
        lambda: torch.linalg.solve(torch.eye(2), torch.tensor(1.0)),
        lambda: torch.linalg.cholesky(-torch.eye(2)),
        lambda: torch.linalg.cholesky_ex(-torch.eye(2), check_errors=True),
        lambda: torch.tensordot(x, x, dims=3),
        lambda: torch.tensordot(x, x, dims="a"),
        lambda: torch.lobpcg(torch.eye(9), X=torch.ones(8, 2)),
        lambda: torch.trace(x > 0),
        lambda: torch.softmax(torch.ones(2, 2, dtype=torch.int64), 1),
        lambda: torch.softmax(torch.ones(2, 2, dtype=torch.int64), 0),
    ]
    for call in calls:
        _tried(tell, call)
    for name in ("eig", "lstsq", "matrix_rank", "solve", "symeig"):
        with pytest.raises(RuntimeError, match="is now removed"):
            getattr(torch, name)(torch.eye(2), torch.eye(2))


@same_story
def test_errors_of_einsum(torch, tell):
    x = torch.ones(2, 3)
    for equation in ("...ij...", "ij->...i...", "ij->i.j", "ijk", "ijk...", "i.j", "ij->i$"):
        _tried(tell, lambda equation=equation: torch.einsum(equation, x))
    _tried(tell, lambda: torch.einsum("ij"))
    _tried(tell, lambda: torch.einsum(1, x))


@same_story
def test_errors_about_shapes(torch, tell):
    x = torch.arange(4).reshape(2, 2)
    for dims in ((0, 2), (0, -2), (0, 0), (0, -3), (0,)):
        _tried(tell, lambda dims=dims: torch.rot90(x, 1, dims))
    _tried(tell, lambda: torch.diff(x, prepend=torch.zeros(1, 3, dtype=torch.int64), dim=0))
    _tried(tell, lambda: torch.unique(torch.ones(0, 0), dim=0))
    _tried(tell, lambda: torch.heaviside(torch.tensor([1j]), torch.tensor([1.0])))


@same_story
def test_packed_scalars_of_lists(torch, tell):
    x = [torch.ones(2)]
    for scalars in (torch.tensor([2.0]), torch.tensor([2.0, 3.0]), torch.tensor([[2.0]])):
        _tried(tell, lambda scalars=scalars: torch._foreach_addcmul(x, x, x, scalars))
    _tried(tell, lambda: torch._foreach_addcmul(x, x, []))


@same_story
def test_gradients_are_unscaled(torch, tell):
    for value in (2.0, math.inf):
        grads, found = [torch.full((2,), value), torch.ones(1)], torch.zeros(1)
        torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor([0.5]))
        tell(grads, found)


@same_story
def test_resized_outs_take_the_layout_of_elementwise_results(torch, tell):
    x = torch.arange(6.0).view(2, 3).t()
    calls = (
        lambda out: torch.add(x, x, out=out),
        lambda out: torch.sqrt(x, out=out),
        lambda out: torch.addcmul(x, x, x, out=out),
        lambda out: torch.clamp(x, 0.5, out=out),
        lambda out: torch.cumsum(x, 0, out=out),
    )
    for call in calls:
        for size, dtype in ((0, torch.float32), (4, torch.float32), (4, torch.float64)):
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                _tried(tell, lambda call=call, size=size, dtype=dtype: call(torch.zeros(size, dtype=dtype)).stride())
            tell([str(warning.message).partition(" (Triggered")[0] for warning in warned])


@same_story
def test_autocast_leaves_outs_alone(torch, tell):
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        for dtype in (torch.float32, torch.bfloat16):
            _tried(tell, lambda dtype=dtype: torch.matmul(x, x, out=torch.empty(0, dtype=dtype)).dtype)
            _tried(tell, lambda dtype=dtype: torch.addmm(x, x, x, out=torch.empty(0, dtype=dtype)).dtype)


@same_story
def test_what_is_said_first(torch, tell):
    ones, truth = torch.ones(2), torch.ones((), dtype=torch.bool)
    whole = torch.ones(3, dtype=torch.int64)
    calls = (
        lambda: ones.masked_fill(ones, ones),
        lambda: whole // torch.zeros(2, dtype=torch.int64),
        lambda: torch.ones(2, 2, 2).split([2, 1], -1),
        lambda: torch.addmv(ones, torch.ones(2, 2).double(), ones.double()),
        lambda: torch.addmm(truth, torch.ones(2, 2).double(), torch.ones(2, 2, 2)),
        lambda: whole.clamp_(-0.5, 0.5),
        lambda: whole.clamp_(torch.tensor(0.5)),
        lambda: torch.ones(3, dtype=torch.complex64).expand(2, 3).clamp_(1.0, 2.0),
        lambda: ones.clamp_max(1j),
        lambda: truth.kthvalue(1)[0],
        lambda: truth[None].kthvalue(1)[0],
        lambda: torch.nn.functional.one_hot(torch.ones(3, 2, dtype=torch.int64).t(), 4).stride(),
        lambda: torch.nn.functional.one_hot(torch.ones(3, dtype=torch.int64))._version,
    )
    for call in calls:
        _tried(tell, call)


@same_story
def test_warnings_given_once_are_given_always_if_asked(torch, tell):
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        x = torch.ones((), requires_grad=True)
        for _ in range(2):
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                tell(float(x))
            tell(len(warned))
    finally:
        torch.set_warn_always(before)


@same_story
def test_results_that_lie_row_by_row(torch, tell):
    x = torch.arange(-3.0, 3.0).view(2, 3).t()
    for dim in (0, 1):
        tell([t.stride() for t in torch.cummax(x, dim)], [t.stride() for t in torch.cummin(x, dim)])
    for training in (True, False):
        tell(torch.nn.functional.rrelu(x, training=training).stride())
        tell(torch.nn.functional.rrelu(x.clone(), training=training, inplace=True).stride())


@same_story
def test_quotients_as_methods(torch, tell):
    x = torch.arange(4.0)
    for name in ("div", "divide", "true_divide"):
        tell(getattr(x, name)(2), getattr(x, name)(x + 1), getattr(torch, name)(x, 2, out=torch.empty(4)))


@same_story
def test_what_is_sorted_into_resized_memory_lies_as_the_operand_does(torch, tell):
    for x in (torch.arange(6.0).reshape(2, 3).t(), torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)):
        for kinds in ({}, {"stable": True}):
            out = torch.empty(0), torch.empty(0, dtype=torch.int64)
            tell([t.stride() for t in torch.sort(x, dim=1, out=out, **kinds)])


@same_story
def test_running_totals_in_place_are_of_no_leaf_first_of_all(torch, tell):
    for x in (torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True) * 1, torch.zeros(2)):
        for name in ("cumsum_", "cumprod_"):
            for dim, dtype in ((-2, None), (0, torch.float64), (-2, torch.float64)):
                try:
                    getattr(x, name)(dim, dtype=dtype)
                except (IndexError, RuntimeError) as error:
                    tell(type(error).__name__, str(error))
