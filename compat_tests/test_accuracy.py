"""How exact results are: against what float64 gives, torchlite's error is no larger than PyTorch's."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import torchlite

torch = pytest.importorskip("torch", reason="errors are compared with those of real PyTorch")

_INF = math.inf


def _error(found: Any, truth: np.ndarray) -> float:
    """The largest error, relative to the largest value."""
    return float(np.abs(found.detach().double().numpy() - truth).max() / np.abs(truth).max())


def _both(array: np.ndarray) -> tuple[Any, Any]:
    return torchlite.from_numpy(array), torch.from_numpy(array)


@pytest.mark.parametrize(
    ("shape", "dim"),
    [
        ((1000, 100), 0), ((100, 1000), 1), ((20000, 5), 0), ((5, 20000), 1), ((7, 4001, 9), 1), ((300, 6, 50), (0, 2)),
        ((60, 60, 60, 4), (0, 1, 2)), ((65, 3), 0), ((200, 700), 0), ((100000,), 0), ((3, 1, 2000, 1, 3), 2),
    ],
)  # fmt: skip
@pytest.mark.parametrize("turned", [False, True])
def test_sums_along_dimensions(shape: tuple[int, ...], dim: Any, turned: bool) -> None:
    array = np.random.default_rng(0).random(shape, np.float32)
    if turned:  # the same numbers in the opposite order in memory
        array = np.asfortranarray(array)
    ours, theirs = _both(array)
    truth = array.sum(dim, np.float64)
    for name in ("sum", "mean"):
        wanted = truth if name == "sum" else truth * truth.size / array.size
        limit = max(2 * _error(getattr(theirs, name)(dim), wanted), 2e-7)
        assert _error(getattr(ours, name)(dim), wanted) <= limit


@pytest.mark.parametrize("layer", ["BatchNorm1d", "BatchNorm2d", "GroupNorm", "LayerNorm", "Conv1d"])
def test_gradients_of_parameters_are_sums_over_long_batches(layer: str) -> None:
    make = {
        "BatchNorm1d": (lambda nn: nn.BatchNorm1d(4), (30000, 4)),
        "BatchNorm2d": (lambda nn: nn.BatchNorm2d(4), (100, 4, 30, 30)),
        "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), (300, 4, 200)),
        "LayerNorm": (lambda nn: nn.LayerNorm(4), (30000, 4)),
        "Conv1d": (lambda nn: nn.Conv1d(4, 4, 1), (300, 4, 200)),
    }
    build, shape = make[layer]
    random = np.random.default_rng(0)
    array, upstream = random.random(shape, np.float32), random.random(shape, np.float32)

    def gradients(library: Any, dtype: str) -> list[Any]:
        module = build(library.nn).to(getattr(library, dtype))
        with library.no_grad():
            for p in module.parameters():
                p.copy_(library.linspace(0.5, 1, p.numel()).reshape(p.shape))
        made = module(library.from_numpy(array).to(getattr(library, dtype)))
        made.backward(library.from_numpy(upstream).to(getattr(library, dtype)))
        return [p.grad for p in module.parameters()]

    found, wanted = gradients(torchlite, "float32"), gradients(torch, "float32")
    for one, other, truth in zip(found, wanted, gradients(torch, "float64")):
        assert _error(one, truth.numpy()) <= max(2 * _error(other, truth.numpy()), 1e-6)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_spread_does_not_depend_on_what_it_is_around(name: str, dtype: str) -> None:
    spread = np.random.default_rng(0).standard_normal((1000, 6))
    columns = np.add(spread, [0, 1e3, 1e6, -1e6, 1e7, 0]).astype(dtype)
    truth = getattr(np, name)(columns.astype(np.longdouble) - columns[0], 0, ddof=1).astype(np.float64)
    for array, dim in ((columns, 0), (np.ascontiguousarray(columns.T), 1)):
        found = getattr(torchlite.from_numpy(array), name)(dim).double().numpy()
        np.testing.assert_allclose(found, truth, rtol=2e-7)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("value", [1e8, 0.1, -3e-5, 0.0])
def test_what_is_constant_has_no_spread(value: float, dtype: str) -> None:
    value = value if dtype != "float16" else value / 1e4
    same = torchlite.full((777, 3), value, dtype=getattr(torchlite, dtype))
    for spread in (same.var(0), same.std(0), same.var(), same.t().std(1), torchlite.var_mean(same, 0)[0]):
        assert not spread.any()
    assert torchlite.equal(torchlite.var_mean(same, 0)[1], same[0])


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e18, 1e30])
def test_deviations_of_numbers_whose_squares_do_not_fit(scale: float) -> None:
    array = (np.random.default_rng(0).standard_normal((50, 3)) * scale).astype(np.float32)
    assert _error(torchlite.from_numpy(array).std(0), array.astype(np.float64).std(0, ddof=1)) < 2e-7


@pytest.mark.parametrize("ord", [-1000, -50, 2.5, 3, 50, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [1e-20, 1, 1e20])
def test_norms_of_any_order(ord: float, dtype: str, scale: float) -> None:
    array = ((np.random.default_rng(0).random((4, 30)) + 0.1) * scale).astype(dtype)
    wide = array.astype(np.longdouble) / scale  # since powers of it must fit
    truth = ((wide**ord).sum(1) ** (np.longdouble(1) / ord)).astype(np.float64) * scale
    t = torchlite.from_numpy(array).requires_grad_()
    made = torchlite.linalg.vector_norm(t, ord, 1)
    assert _error(made, truth) < {"float32": 4e-7, "float64": 1e-15}[dtype]
    made.sum().backward()
    slope = ((wide / (truth / scale)[:, None]) ** (ord - 1)).astype(np.float64)
    assert _error(t.grad, slope) < {"float32": 1e-3, "float64": 1e-12}[dtype]
    unit = torchlite.nn.functional.normalize(torchlite.from_numpy(array), p=ord, eps=0.0)
    assert _error(unit, array.astype(np.float64) / truth[:, None]) < 1e-6


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("span", [(1, 2, 3), (-2, -3, 50), (0, 10, 7), (-5, 5, 1000), (0, 60000, 101), (1e-3, 2e-3, 7)])
def test_evenly_spaced_halves(dtype: str, span: tuple[float, float, int]) -> None:
    ours, theirs = (lib.linspace(*span, dtype=getattr(lib, dtype)).tolist() for lib in (torchlite, torch))
    assert ours == theirs


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("values", [[0, 2, 3], [0, 0, 3], [2, 0], [0], [1e-7, 2, 3]])
def test_gradients_of_products_with_zeros(dtype: str, values: list[float]) -> None:
    found = []
    for library in (torchlite, torch):
        t = library.tensor([values, values], dtype=getattr(library, dtype)).requires_grad_()
        (t.prod(1).sum() + t[0].prod()).backward()
        found.append(t.grad.double().numpy())
    np.testing.assert_allclose(*found, rtol=1e-2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_infinity_has_no_cholesky_factor(dtype: str) -> None:
    for n in (2, 3, 5):
        for library in (torchlite, torch):
            full = library.full((n, n), _INF, dtype=getattr(library, dtype))
            assert library.linalg.cholesky_ex(full).info == 2
            with pytest.raises(library.linalg.LinAlgError, match="leading minor of order 2"):
                library.linalg.cholesky(full)


def test_gradients_where_formulas_cancel_or_vanish() -> None:
    """Each of these was NaN, infinite, refused or without a correct digit."""
    cases: list[tuple[str, Any]] = [
        ("sinc", lambda lib, dtype: _gradient(lib, lambda t: t.sinc(), [1e-4, 1e-5, 0.5], dtype)),
        ("cumprod", lambda lib, dtype: _gradient(lib, lambda t: t.cumprod(0), [200.0, 0.0, 100.0, 3.0], dtype)),
        ("slogdet", lambda lib, dtype: _gradient(lib, lambda t: t.slogdet()[1], [[1.0, 1.0], [1.0, 1.0]], "float32")),
        (
            "binary_cross_entropy",
            lambda lib, dtype: lib.nn.functional.binary_cross_entropy(
                lib.tensor([1e-9, 2e-9]), lib.tensor([0.0, 0.0]), reduction="none"
            ),
        ),
        ("cdist", lambda lib, dtype: lib.cdist(lib.tensor([[math.nan, 1.0]]), lib.tensor([[0.0, 1.0]]), p=0.0)),
        ("pdist", lambda lib, dtype: lib.pdist(lib.tensor([[1.0, math.nan], [1.0, 2.0]]), p=0.0)),
    ]
    for name, call in cases:
        for dtype in ("float16", "float32"):
            found = [call(lib, dtype).detach().double().numpy() for lib in (torchlite, torch)]
            np.testing.assert_allclose(*found, rtol=2e-3 if dtype == "float16" else 1e-6, err_msg=f"{name} {dtype}")


def _gradient(library: Any, function: Any, values: Any, dtype: str) -> Any:
    t = library.tensor(values, dtype=getattr(library, dtype)).requires_grad_()
    function(t).sum().backward()
    return t.grad


def test_gradients_of_a_variance_around_a_large_mean() -> None:
    array = (1e6 + np.random.default_rng(0).standard_normal(1000)).astype(np.float32)
    t = torchlite.from_numpy(array).requires_grad_()
    t.var().backward()
    wide = array.astype(np.float64)
    assert _error(t.grad, 2 * (wide - wide.mean()) / 999) < 1e-5


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_what_is_constant_has_no_variance(dtype: str) -> None:
    for value, n in itertools.product((0.1, -1.3, 5e4), (2, 7, 1000, 100003)):
        constant = torchlite.full((n,), value, dtype=getattr(torchlite, dtype))
        assert constant.var().item() == constant.std().item() == 0


_SURVEYED = [
    "sum", "mean", "prod", "var", "linalg.vector_norm", "logsumexp", "softmax", "sinc", "cumprod", "hypot", "erfinv",
    "digamma", "renorm", "logit", "special.ndtri", "nn.functional.layer_norm",
]  # fmt: skip


@pytest.mark.parametrize("operator", _SURVEYED)
def test_hostile_inputs(operator: str) -> None:
    """A share of `python -m compat_tests.accuracy`."""
    from .accuracy.run import survey
    from .parity.pool import Settings, reference_library, subject_library

    libraries = reference_library(), subject_library(Settings("torchlite"))
    report = survey(operator, libraries, ["float16", "float32"], limit=1)
    assert report.compared > 20
    worse = [finding for finding in report.worse if not finding.accepted]
    assert not worse, "\n".join(map(str, worse))


def test_long_reductions() -> None:
    """A share of `python -m compat_tests.accuracy.long`."""
    from .accuracy.long import findings
    from .parity.pool import Settings, reference_library, subject_library

    libraries = reference_library(), subject_library(Settings("torchlite"))
    for case, verdicts in findings(libraries, ["float32"], {"sum", "var"}):
        assert not verdicts, f"{case}: {verdicts[0].text}"


def _results(library: Any, call: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """What a call gives, and the gradients of its sum."""
    tensors = [library.from_numpy(a.copy()).requires_grad_() for a in arrays]
    made = call(library, *tensors)
    made.sum().backward()
    return [made.detach().numpy(), *[t.grad.numpy() for t in tensors]]


def _with(array: np.ndarray, special: float, random: np.random.Generator) -> np.ndarray:
    array.reshape(-1)[random.integers(array.size)] = special
    return array


@pytest.mark.parametrize("special", [_INF, -_INF, math.nan])
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("form", [{}, {"padding": 1}, {"padding": 2, "dilation": 2}, {"stride": 2}], ids=str)
def test_infinity_reaches_only_the_windows_that_read_it(special: float, groups: int, form: dict[str, int]) -> None:
    random = np.random.default_rng(groups)
    for transposed in (False, True):
        for place in (0, 1):
            arrays = [random.standard_normal(s).astype(np.float32) for s in ((2, 4, 7, 6), (4, 4 // groups, 3, 3))]
            arrays[place] = _with(arrays[place], special, random)

            def call(lib: Any, x: Any, w: Any) -> Any:
                function = lib.conv_transpose2d if transposed else lib.conv2d  # noqa: B023
                return function(x, w, None, groups=groups, **form)

            for one, other in zip(*[_results(lib, call, arrays) for lib in (torchlite, torch)]):
                known = ~np.isnan(other)  # some of PyTorch's kernels multiply infinity by the zeros of padding
                np.testing.assert_allclose(one[known], other[known], rtol=1e-4, atol=1e-5)
                assert math.isnan(special) or not np.isnan(one).any()


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, _INF])
def test_distances_of_infinite_points(p: float) -> None:
    random = np.random.default_rng(0)
    for special in (_INF, -_INF, math.nan):
        for _ in range(5):
            arrays = [random.integers(-3, 4, (n, 5)).astype(np.float32) for n in (3, 2)]
            arrays = [_with(a, special, random) for a in arrays]
            for given, call in (
                (arrays, lambda lib, a, b: lib.cdist(a, b, p, "donot_use_mm_for_euclid_dist")),
                (arrays[:1], lambda lib, a: lib.pdist(a, p)),
            ):
                for one, other in zip(*[_results(lib, call, given) for lib in (torchlite, torch)]):
                    np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize("name", ["scatter_reduce", "index_reduce"])
@pytest.mark.parametrize("reduce", ["amin", "amax"])
def test_extremes_of_nan_have_no_gradient(name: str, reduce: str) -> None:
    for include_self in (True, False):

        def call(lib: Any, a: Any, b: Any) -> Any:
            index = lib.tensor([0, 2, 2])
            return getattr(a, name)(0, index, b, reduce, include_self=include_self)  # noqa: B023

        arrays = [np.array(v, np.float32) for v in ([1, 2, 3, math.nan], [4, 3, math.nan])]
        for one, other in zip(*[_results(lib, call, arrays) for lib in (torchlite, torch)]):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["multi_margin_loss", "multilabel_margin_loss"])
def test_margins_pass_over_nan(name: str) -> None:
    target = [1, 0] if name == "multi_margin_loss" else [[1, -1, 0], [0, 2, -1]]
    array = np.array([[math.nan, 1, 2], [1, 3, _INF]], np.float32)
    for one, other in zip(*[
        _results(lib, lambda lib, x: getattr(lib.nn.functional, name)(x, lib.tensor(target)), [array])
        for lib in (torchlite, torch)
    ]):  # fmt: skip
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("ord", [-3, -1, 0, 0.5, 2, 3])
def test_the_norm_of_one_number_is_its_size(ord: float) -> None:
    array = np.array([[1e30], [-1e-30], [3]], np.float32)
    found, wanted = [
        [lib.linalg.vector_norm(t, ord, 1), lib.linalg.vector_norm(t[0], ord), lib.masked.norm(t[0, 0], ord)]
        for lib in (torchlite, torch) for t in [lib.from_numpy(array)]
    ]  # fmt: skip
    for one, other in zip(found, wanted):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_by_targets_of_halves_do_not_overflow(dtype: str, weighted: bool) -> None:
    found = []
    for library in (torchlite, torch):
        values = [900.0, -800.0], [0.5, 1.0], [100.0, 0.5]
        x, y, w = (library.tensor(v, dtype=getattr(library, dtype)) for v in values)
        y.requires_grad_()
        loss = library.nn.functional.binary_cross_entropy_with_logits
        loss(x, y, pos_weight=w if weighted else None, reduction="mean").backward()
        found.append(y.grad.double().numpy())
    np.testing.assert_allclose(*found, rtol=1e-2)


@pytest.mark.parametrize("layer", ["batch_norm", "group_norm"])
def test_normalization_around_a_large_mean(layer: str) -> None:
    array = (1e5 + np.random.default_rng(0).standard_normal((400, 3, 5))).astype(np.float32)
    wide = array.astype(np.float64)
    axes = (0, 2) if layer == "batch_norm" else (1, 2)
    truth = (wide - wide.mean(axes, keepdims=True)) / np.sqrt(wide.var(axes, keepdims=True) + 1e-5)
    x = torchlite.from_numpy(array)
    functional = torchlite.nn.functional
    made = functional.batch_norm(x, None, None, training=True) if layer == "batch_norm" else functional.group_norm(x, 1)
    assert _error(made, truth) < 1e-6


def test_products_over_many_numbers() -> None:
    random = np.random.default_rng(0)
    for k, m, n in ((3000, 4, 4), (10000, 4, 4), (10000, 2, 8)):
        a, b = random.random((k, m), np.float32), random.random((k, n), np.float32)
        truth = a.T.astype(np.float64) @ b.astype(np.float64)
        x, y = torchlite.from_numpy(a), torchlite.from_numpy(b)
        w = torchlite.zeros(n, m, requires_grad=True)
        torchlite.nn.functional.linear(x, w).backward(y)
        for found in (x.t() @ y, w.grad.t()):
            assert _error(found, truth) < 1e-6


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "options", [{}, {"acc_policy": "accurate"}, {"acc_policy": "accurate", "acc_dtype": "float32"}], ids=str
)
def test_scores_of_halves_are_as_wide_as_options_say(dtype: str, options: dict[str, str]) -> None:
    found = []
    for library in (torchlite, torch):
        half = getattr(library, dtype)
        given = {k: getattr(library, v) if k == "acc_dtype" else v for k, v in options.items()}
        x = library.full((3, 8), 100.0, dtype=half).requires_grad_()
        w = (library.arange(40.0).reshape(5, 8) * 10).to(half)
        loss = library.nn.functional.linear_cross_entropy(
            x, w, library.tensor([4, 3, 4]), reduction="sum", options=library.nn.LinearCrossEntropyOptions(**given)
        )
        loss.backward()
        found.append([loss.item(), *x.grad.double().flatten().tolist()])
    np.testing.assert_allclose(*found, rtol=2e-2, atol=1e-2)


def test_masked_spreads_around_a_large_mean() -> None:
    array = (1e6 + np.random.default_rng(0).standard_normal((3, 400))).astype(np.float32)
    kept = np.arange(400) % 3 > 0
    made = torchlite.masked.var(torchlite.from_numpy(array), 1, mask=torchlite.from_numpy(kept).expand(3, 400))
    assert _error(made, array[:, kept].astype(np.float64).var(1, ddof=1)) < 1e-6


def test_the_largest_in_a_bag_may_be_nan() -> None:
    array = np.array([[1, math.nan], [math.nan, 3], [2, 5]], np.float32)

    def call(lib: Any, w: Any) -> Any:
        bags = lib.tensor([0, 2, 2, 1]), lib.tensor([0, 2])
        return lib.nn.functional.embedding_bag(bags[0], w, bags[1], mode="max")

    for one, other in zip(*[_results(lib, call, [array]) for lib in (torchlite, torch)]):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("call", ["scatter_reduce", "index_reduce"])
def test_a_zero_among_factors_that_overflow(call: str) -> None:
    index = torchlite.tensor([0, 0, 0, 1, 1])
    factors = torchlite.tensor([1e30, 1e30, 2.0, 1e30, math.inf])
    made = getattr(torchlite.zeros(2), call)(0, index, factors, "prod")
    assert made[0].item() == 0 and made[1].isnan()  # as infinity times zero is


def test_gradients_of_layers_around_a_large_mean() -> None:
    random = np.random.default_rng(0)
    array = (1e6 + random.standard_normal((4, 64))).astype(np.float32)
    upstream = random.standard_normal((4, 64)).astype(np.float32)

    def gradients(library: Any, dtype: str) -> list[Any]:
        x, g = [library.from_numpy(a.astype(dtype)) for a in (array, upstream)]
        weight = library.ones(64, dtype=x.dtype, requires_grad=True)
        y = library.nn.functional.layer_norm(x.requires_grad_(), (64,), weight)
        return list(library.autograd.grad(y, (x, weight), g))

    for made, truth in zip(gradients(torchlite, "float32"), gradients(torch, "float64")):
        assert _error(made, truth.numpy()) < 1e-3


@pytest.mark.parametrize("special", [_INF, -_INF, math.nan, 0.0])
def test_symmetric_factors_of_what_has_none(special: float) -> None:
    for library in (torchlite, torch):
        a = library.tensor([[special, 1.0], [1.0, 2.0]])
        factors, pivots, info = library.linalg.ldl_factor_ex(a)
        assert factors.shape == (2, 2) and pivots.shape == (2,) and (info > 0) == math.isnan(special)
        singular = library.linalg.ldl_solve(library.zeros(2, 2), library.tensor([1, 2]), library.ones(2, 1))
        assert not singular.isfinite().any()


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("far", [1e10, 3e20, 8e37])
def test_sampling_far_from_the_image(mode: str, padding: str, far: float) -> None:
    found = []
    for library in (torchlite, torch):
        image = library.arange(96, dtype=library.float32).reshape(1, 2, 6, 8)
        points = library.linspace(-far, far, 36).reshape(1, 3, 6, 2)
        sampled = library.nn.functional.grid_sample(image, points, mode, padding, align_corners=False)
        found.append(sampled.numpy())
    np.testing.assert_array_equal(*found)


def test_least_squares_of_tiny_numbers_have_gradients() -> None:
    a = torchlite.from_numpy((np.random.default_rng(0).standard_normal((4, 3)) * 1e-20).astype(np.float32))
    torchlite.linalg.lstsq(a.requires_grad_(), torchlite.ones(4, 1) * 1e-20).solution.sum().backward()
    assert a.grad.isfinite().all()
