"""torch.distributions beside PyTorch's: values, draws from one seed, gradients, divergences, transforms, errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import torchlite

from .side_by_side import same_story

real_torch = pytest.importorskip("torch")
Parameters = Callable[[Any], dict[str, Any]]

# ---- parameter sets: what to call each class with, in a library


def numbers(*values: Any, shape: tuple[int, ...] = (), dtype: str = "float64") -> Callable[[Any], Any]:
    array = np.array(values, dtype)
    return lambda torch: torch.tensor((array.reshape(shape) if shape else array).tolist(), dtype=getattr(torch, dtype))


single = {"dtype": "float32"}
LOC, SCALE = numbers(-1.0, 0.0, 2.5), numbers(0.3, 1.0, 4.0)
PROBS, LOGITS = numbers(0.05, 0.3, 0.8), numbers(-2.0, 0.1, 3.0)
SIMPLEX = numbers(0.1, 0.2, 0.7, 0.5, 0.25, 0.25, shape=(2, 3))
VECTOR_LOGITS = numbers(0.5, -1.0, 2.0, 0.0, 0.0, 1.0, shape=(2, 3))
POSITIVE = numbers(0.2, 1.0, 7.5)
LARGER = numbers(2.5, 4.5, 9.0)
COVARIANCE = numbers(2.0, 0.5, 0.1, 0.5, 1.0, -0.2, 0.1, -0.2, 3.0, shape=(3, 3))
PRECISION = numbers(1.0, 0.3, 0.3, 2.0, 2.0, -0.5, -0.5, 1.0, shape=(2, 2, 2))
LOWER = numbers(1.5, 0.0, -0.4, 0.7, shape=(2, 2))
FACTOR = numbers(1.0, 0.5, -0.3, 0.2, 0.4, 1.2, shape=(3, 2))

PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "Bernoulli": [{"probs": PROBS}, {"logits": LOGITS}, {"probs": 0.5}],
    "Beta": [{"concentration1": POSITIVE, "concentration0": LARGER}, {"concentration1": 2.0, "concentration0": 0.5}],
    "Binomial": [{"total_count": 12, "probs": PROBS}, {"total_count": 40, "logits": LOGITS}],
    "Categorical": [{"probs": SIMPLEX}, {"logits": VECTOR_LOGITS}],
    "Cauchy": [{"loc": LOC, "scale": SCALE}, {"loc": 0.0, "scale": 1.0}],
    "Chi2": [{"df": POSITIVE}, {"df": LARGER}],
    "ContinuousBernoulli": [{"probs": PROBS}, {"logits": LOGITS}, {"probs": numbers(0.4995, 0.5, 0.7)}],
    "Dirichlet": [{"concentration": SIMPLEX}, {"concentration": LARGER}, {"concentration": numbers(0.5, 0.4)}],
    "Exponential": [{"rate": POSITIVE}, {"rate": 1.5}],
    "FisherSnedecor": [{"df1": LARGER, "df2": numbers(1.0, 5.0, 3.0)}, {"df1": 3.0, "df2": 6.0}],
    "Gamma": [{"concentration": POSITIVE, "rate": SCALE}, {"concentration": 0.5, "rate": 2.0}],
    "GeneralizedPareto": [
        {"loc": 0.5, "scale": 2.0, "concentration": numbers(0.2, 0.0, 0.45, **single)},
        {"loc": 0.0, "scale": 1.0, "concentration": -0.3},
        {"loc": 0.0, "scale": 1.0, "concentration": numbers(0.7, 1.0, 2.0, **single)},
    ],
    "Geometric": [{"probs": PROBS}, {"logits": LOGITS}],
    "Gumbel": [{"loc": LOC, "scale": SCALE}, {"loc": 0.0, "scale": 1.0}],
    "HalfCauchy": [{"scale": SCALE}, {"scale": 1.0}],
    "HalfNormal": [{"scale": SCALE}, {"scale": 1.0}],
    "InverseGamma": [{"concentration": LARGER, "rate": SCALE}, {"concentration": POSITIVE, "rate": 1.0}],
    "Kumaraswamy": [{"concentration1": POSITIVE, "concentration0": LARGER}],
    "LKJCholesky": [{"dim": 3, "concentration": POSITIVE}, {"dim": 4, "concentration": 1.0}],
    "Laplace": [{"loc": LOC, "scale": SCALE}, {"loc": 0.0, "scale": 1.0}],
    "LogNormal": [{"loc": LOC, "scale": numbers(0.3, 1.0, 0.7)}, {"loc": 0.0, "scale": 1.0}],
    "LogisticNormal": [{"loc": LOC, "scale": SCALE}],
    "LowRankMultivariateNormal": [{"loc": LOC, "cov_factor": FACTOR, "cov_diag": POSITIVE}],
    "Multinomial": [{"total_count": 6, "probs": SIMPLEX}, {"total_count": 3, "logits": VECTOR_LOGITS}],
    "MultivariateNormal": [
        {"loc": LOC, "covariance_matrix": COVARIANCE},
        {"loc": numbers(0.0, 1.0), "precision_matrix": PRECISION},
        {"loc": numbers(0.0, 1.0), "scale_tril": LOWER},
    ],
    "NegativeBinomial": [{"total_count": LARGER, "probs": PROBS}, {"total_count": 3, "logits": LOGITS}],
    "Normal": [{"loc": LOC, "scale": SCALE}, {"loc": 0.0, "scale": 1.0}, {"loc": numbers(1, 2, **single), "scale": 2}],
    "OneHotCategorical": [{"probs": SIMPLEX}, {"logits": VECTOR_LOGITS}],
    "OneHotCategoricalStraightThrough": [{"probs": SIMPLEX}, {"logits": VECTOR_LOGITS}],
    "Pareto": [{"scale": SCALE, "alpha": LARGER}, {"scale": 1.0, "alpha": POSITIVE}],
    "Poisson": [{"rate": POSITIVE}, {"rate": 20.5}],
    "RelaxedBernoulli": [
        {"temperature": numbers(0.7, shape=(1,)), "probs": PROBS},
        {"temperature": numbers(2.0, shape=(1,)), "logits": LOGITS},
    ],
    "RelaxedOneHotCategorical": [
        {"temperature": numbers(0.7, shape=(1,)), "probs": SIMPLEX},
        {"temperature": numbers(2.0, shape=(1,)), "logits": VECTOR_LOGITS},
    ],
    "StudentT": [{"df": LARGER, "loc": LOC, "scale": SCALE}, {"df": POSITIVE}],
    "Uniform": [{"low": LOC, "high": numbers(0.0, 0.5, 3.0)}, {"low": 0.0, "high": 2.0}],
    "VonMises": [{"loc": LOC, "concentration": POSITIVE}, {"loc": 0.0, "concentration": 4.0}],
    "Weibull": [{"scale": SCALE, "concentration": LARGER}, {"scale": 1.0, "concentration": POSITIVE}],
    "Wishart": [
        {"df": numbers(4.5, shape=(1,)), "covariance_matrix": COVARIANCE},
        {"df": numbers(3.0, 5.0), "precision_matrix": PRECISION},
        {"df": 4.0, "scale_tril": LOWER},
    ],
}
CASES = [(name, i) for name, sets in PARAMETERS.items() for i in range(len(sets))]
# PyTorch's fits to the gradients of gamma and beta numbers are good to three digits.
FITTED = {"Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT", "Wishart"}
# Bessel functions by polynomials of seven digits.
ROUGH = {"VonMises": 3e-6}


def made(torch: Any, name: str, i: int, grad: bool = False) -> tuple[Any, list[Any]]:
    """The distribution, and the parameters that are tensors."""
    parameters = {key: v(torch) if callable(v) else v for key, v in PARAMETERS[name][i].items()}
    tensors = [v for v in parameters.values() if isinstance(v, torch.Tensor)]
    for t in tensors if grad else ():
        t.requires_grad_()
    return getattr(torch.distributions, name)(**parameters), tensors


def drawn(torch: Any, d: Any, shape: tuple[int, ...] = (4,)) -> Any:
    torch.manual_seed(7)
    return d.sample(shape)


def array(t: Any) -> np.ndarray:
    return t.detach().numpy()


def agree(theirs: Any, ours: Any, rtol: float = 1e-6) -> None:
    theirs, ours = array(theirs), array(ours)
    assert theirs.dtype == ours.dtype
    assert theirs.shape == ours.shape
    single_ = theirs.dtype == np.float32
    np.testing.assert_allclose(
        ours, theirs, rtol=max(rtol, 2e-5 if single_ else 0), atol=1e-5 if single_ else 1e-10, equal_nan=True
    )


def both(of: Callable[[Any], Any]) -> tuple[Any, Any]:
    """What both libraries give; an error counts as its type and text."""
    results = []
    for torch in (real_torch, torchlite):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                results.append(of(torch))
            except Exception as error:
                results.append((type(error).__name__, str(error).replace("torchlite", "torch")))
    return results[0], results[1]


def compare(of: Callable[[Any], Any], rtol: float = 1e-6) -> None:
    theirs, ours = both(of)
    if isinstance(theirs, real_torch.Tensor) and isinstance(ours, torchlite.Tensor):
        agree(theirs, ours, rtol)
    elif isinstance(theirs, list):
        assert len(theirs) == len(ours)
        for a, b in zip(theirs, ours):
            agree(a, b, rtol)
    elif isinstance(theirs, tuple) and theirs and theirs[0] == "NotImplementedError":
        assert ours[0] == "NotImplementedError"
    else:
        assert str(theirs).split("torch.distributions")[0] == str(ours).split("torch.distributions")[0]


# ---- each class


@pytest.mark.parametrize("what", ["mean", "mode", "variance", "stddev"])
@pytest.mark.parametrize(("name", "i"), CASES)
def test_moments(name: str, i: int, what: str) -> None:
    compare(lambda torch: getattr(made(torch, name, i)[0], what), ROUGH.get(name, 1e-6))


@pytest.mark.parametrize(("name", "i"), CASES)
def test_entropy(name: str, i: int) -> None:
    compare(lambda torch: made(torch, name, i)[0].entropy())


@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
@pytest.mark.parametrize(("name", "i"), CASES)
def test_draws(name: str, i: int, shape: tuple[int, ...]) -> None:
    compare(lambda torch: drawn(torch, made(torch, name, i)[0], shape))


@pytest.mark.parametrize(("name", "i"), CASES)
def test_state_after_draws(name: str, i: int) -> None:
    def of(torch: Any) -> Any:
        drawn(torch, made(torch, name, i)[0])
        return torch.get_rng_state()

    compare(of)


def _gradients(value: Any, tensors: list[Any], torch: Any) -> list[Any]:
    weights = torch.arange(value.numel(), dtype=value.dtype).reshape(value.shape).cos()
    found = torch.autograd.grad((value * weights).sum(), tensors, allow_unused=True)
    return [torch.zeros_like(t) if g is None else g for t, g in zip(tensors, found)]


@pytest.mark.parametrize(("name", "i"), CASES)
def test_gradients_of_draws(name: str, i: int) -> None:
    def of(torch: Any) -> Any:
        d, tensors = made(torch, name, i, grad=True)
        if not d.has_rsample or not tensors:
            return f"has_rsample {d.has_rsample}"
        torch.manual_seed(7)
        return _gradients(d.rsample((4,)), tensors, torch)

    compare(of, 5e-3 if name in FITTED else 1e-6)


@pytest.mark.parametrize(("name", "i"), CASES)
def test_log_prob(name: str, i: int) -> None:
    compare(lambda torch: (d := made(torch, name, i)[0]).log_prob(drawn(torch, d)), ROUGH.get(name, 1e-6))


@pytest.mark.parametrize(("name", "i"), CASES)
def test_gradients_of_log_prob(name: str, i: int) -> None:
    def of(torch: Any) -> Any:
        d, tensors = made(torch, name, i, grad=True)
        log_prob = d.log_prob(drawn(torch, d))
        return _gradients(log_prob, tensors, torch) if tensors else log_prob

    compare(of, ROUGH.get(name, 1e-5))


@pytest.mark.parametrize(("name", "i"), CASES)
def test_gradients_of_entropy(name: str, i: int) -> None:
    def of(torch: Any) -> Any:
        d, tensors = made(torch, name, i, grad=True)
        entropy = d.entropy()
        return _gradients(entropy, tensors, torch) if tensors and entropy.requires_grad else entropy

    compare(of)


@pytest.mark.parametrize(("name", "i"), CASES)
def test_cdf(name: str, i: int) -> None:
    compare(lambda torch: (d := made(torch, name, i)[0]).cdf(drawn(torch, d)))


@pytest.mark.parametrize(("name", "i"), CASES)
def test_icdf(name: str, i: int) -> None:
    def of(torch: Any) -> Any:
        d = made(torch, name, i)[0]
        return d.icdf(torch.full(d.batch_shape, 0.3, dtype=torch.float64))

    compare(of)


@pytest.mark.parametrize(("name", "i"), CASES)
def test_shapes_and_repr(name: str, i: int) -> None:
    def of(torch: Any) -> Any:
        d = made(torch, name, i)[0]
        shapes = tuple(d.batch_shape), tuple(d.event_shape)
        return repr((d, *shapes, d.has_enumerate_support, d.arg_constraints, d.support))

    compare(of)


@pytest.mark.parametrize(("name", "i"), CASES)
def test_expand(name: str, i: int) -> None:
    def of(torch: Any) -> Any:
        d = made(torch, name, i)[0]
        wide = d.expand((2, *d.batch_shape))
        value = drawn(torch, wide)
        return [value, wide.log_prob(value), torch.tensor([*wide.batch_shape, *wide.event_shape])]

    compare(of, ROUGH.get(name, 1e-6))


@pytest.mark.parametrize("expand", [False, True])
@pytest.mark.parametrize(("name", "i"), CASES)
def test_enumerate_support(name: str, i: int, expand: bool) -> None:
    compare(lambda torch: made(torch, name, i)[0].enumerate_support(expand))


@pytest.mark.parametrize(("name", "i"), CASES)
def test_values_off_the_support(name: str, i: int) -> None:
    def of(torch: Any) -> Any:
        d = made(torch, name, i)[0]
        return d.log_prob(torch.full(d.batch_shape + d.event_shape, -2.5, dtype=torch.float64))

    compare(of, ROUGH.get(name, 1e-6))


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), 1.5])
@pytest.mark.parametrize("name", PARAMETERS)
def test_wrong_parameters(name: str, wrong: float) -> None:
    for key, given in PARAMETERS[name][0].items():
        if not callable(given):
            continue

        def of(torch: Any, key: str = key) -> Any:
            parameters = {k: v(torch) if callable(v) else v for k, v in PARAMETERS[name][0].items()}
            parameters[key] = torch.full_like(parameters[key], wrong)
            return repr(getattr(torch.distributions, name)(**parameters))

        compare(of)


# ---- divergences

KL_PARAMETERS = PARAMETERS | {
    "Normal": [{"loc": LOC, "scale": SCALE}, {"loc": 0.0, "scale": 1.0}],
    "Uniform": [{"low": numbers(0.1, 0.2, 0.3), "high": numbers(0.5, 0.9, 0.95)}, {"low": 0.0, "high": 1.0}],
    "Pareto": [{"scale": numbers(0.05, 0.1, 0.2), "alpha": LARGER}, {"scale": 1.0, "alpha": POSITIVE}],
    "LowRankMultivariateNormal": [
        {"loc": LOC, "cov_factor": FACTOR, "cov_diag": POSITIVE},
        {"loc": SCALE, "cov_factor": FACTOR, "cov_diag": LARGER},
    ],
    "MultivariateNormal": [
        {"loc": LOC, "covariance_matrix": COVARIANCE},
        {"loc": SCALE, "scale_tril": numbers(1, 0, 0, 0.2, 1.5, 0, 0.3, -0.2, 2, shape=(3, 3))},
    ],
}
_REGISTERED = sorted((p.__name__, q.__name__) for p, q in real_torch.distributions.kl._KL_REGISTRY)
PAIRS = [pair for pair in _REGISTERED if all(name in KL_PARAMETERS for name in pair)]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("p", "q"), [*PAIRS, ("Chi2", "Gamma"), ("Normal", "Poisson"), ("LogNormal", "LogNormal")])
def test_kl(p: str, q: str, reverse: bool) -> None:
    def of(torch: Any) -> Any:
        sets = []
        for name, i in ((p, 0), (q, -1)) if not reverse else ((p, -1), (q, 0)):
            parameters = KL_PARAMETERS[name][i].items()
            given = {key: v(torch) if callable(v) else v for key, v in parameters}
            sets.append(getattr(torch.distributions, name)(**given))
        return torch.distributions.kl_divergence(*sets)

    compare(of, 1e-5)


def test_the_same_pairs_have_divergences() -> None:
    ours = {(p.__name__, q.__name__) for p, q in torchlite.distributions.kl._KL_REGISTRY}
    assert set(_REGISTERED) <= ours


# ---- transforms

TRANSFORMS: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...]]] = {
    "exp": (lambda t, torch: t.ExpTransform(), (2, 3)),
    "power": (lambda t, torch: t.PowerTransform(2.5), (2, 3)),
    "sigmoid": (lambda t, torch: t.SigmoidTransform(), (2, 3)),
    "softplus": (lambda t, torch: t.SoftplusTransform(), (2, 3)),
    "tanh": (lambda t, torch: t.TanhTransform(), (2, 3)),
    "abs": (lambda t, torch: t.AbsTransform(), (2, 3)),
    "affine": (lambda t, torch: t.AffineTransform(1.0, -2.0), (2, 3)),
    "affine-vectors": (lambda t, torch: t.AffineTransform(1.0, torch.tensor([1.0, 2, 3]), event_dim=1), (2, 3)),
    "softmax": (lambda t, torch: t.SoftmaxTransform(), (2, 3)),
    "stick-breaking": (lambda t, torch: t.StickBreakingTransform(), (2, 3)),
    "lower-cholesky": (lambda t, torch: t.LowerCholeskyTransform(), (2, 3, 3)),
    "positive-definite": (lambda t, torch: t.PositiveDefiniteTransform(), (2, 3, 3)),
    "corr-cholesky": (lambda t, torch: t.CorrCholeskyTransform(), (2, 6)),
    "reshape": (lambda t, torch: t.ReshapeTransform((6,), (2, 3)), (2, 6)),
    "independent": (lambda t, torch: t.IndependentTransform(t.ExpTransform(), 1), (2, 3)),
    "compose": (lambda t, torch: t.ComposeTransform([t.AffineTransform(0.5, 2.0), t.SigmoidTransform()]), (2, 3)),
    "compose-dims": (lambda t, torch: t.ComposeTransform([t.ExpTransform(), t.StickBreakingTransform()]), (2, 3)),
    "identity": (lambda t, torch: t.identity_transform, (2, 3)),
    "cat": (lambda t, torch: t.CatTransform([t.ExpTransform(), t.TanhTransform()], -1, [1, 2]), (2, 3)),
    "stack": (lambda t, torch: t.StackTransform([t.ExpTransform(), t.TanhTransform()], 0), (2, 3)),
    "cdf": (lambda t, torch: t.CumulativeDistributionTransform(torch.distributions.Normal(0.0, 2.0)), (2, 3)),
    "inverse": (lambda t, torch: t.ExpTransform().inv.inv, (2, 3)),
    "cached": (lambda t, torch: t.ExpTransform(cache_size=1), (2, 3)),
}


def _transform(torch: Any, name: str) -> tuple[Any, Any]:
    make, shape = TRANSFORMS[name]
    x = torch.linspace(0.2, 1.4, int(np.prod(shape)), dtype=torch.float64).reshape(shape)
    return make(torch.distributions.transforms, torch), x


@pytest.mark.parametrize("what", ["there", "back", "slope", "back slope", "shapes", "facts", "gradient"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str, what: str) -> None:
    def of(torch: Any) -> Any:
        t, x = _transform(torch, name)
        y = t(x)
        if what == "there":
            return y
        if what == "back":
            return t.inv(y)
        if what == "slope":
            return t.log_abs_det_jacobian(x, y)
        if what == "back slope":
            return t.inv.log_abs_det_jacobian(y, x)
        if what == "shapes":
            return repr((tuple(t.forward_shape(x.shape)), tuple(t.inverse_shape(y.shape)), t.event_dim))
        if what == "gradient":
            return _gradients(t(x.requires_grad_()), [x], torch)
        return repr((t, t.domain, t.codomain, t.bijective, t.inv, t == t, t.with_cache(1)))

    compare(of)


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize(
    "region",
    [
        "real", "positive", "nonnegative", "unit_interval", "simplex", "lower_cholesky", "corr_cholesky",
        "positive_definite", "real_vector", "boolean", "one_hot", "interval(-1.0, 2.0)", "less_than(3.0)",
        "greater_than(1.0)", "half_open_interval(0.0, 1.0)", "independent(positive, 1)", "integer_interval(0, 3)",
        "stack([real, positive], 0)", "cat([real, positive], -1, [1, 2])",
    ],
)  # fmt: skip
def test_constraint_registry(region: str, registry: str) -> None:
    def of(torch: Any) -> Any:
        constraint = eval(region, dict(vars(torch.distributions.constraints)))
        t = getattr(torch.distributions, registry)(constraint)
        shape = {"lower_cholesky": (2, 3, 3), "positive_definite": (2, 3, 3)}.get(region, (2, 3))
        x = torch.linspace(-1.0, 1.0, int(np.prod(shape)), dtype=torch.float64).reshape(shape)
        y = t(x)
        return [y, t.inv(y), constraint.check(y)]

    compare(of)


# ---- programs


@same_story
def test_errors(torch, tell):
    d, t = torch.distributions, torch.distributions.transforms
    x = torch.tensor([0.1])
    programs = [
        lambda: d.Normal(0, 1).enumerate_support(), lambda: d.Normal(0, -1), lambda: d.Normal("a", 1),
        lambda: d.Bernoulli(), lambda: d.Bernoulli(0.5, 0.5), lambda: d.Bernoulli(2.0), lambda: d.Poisson(-1.0),
        lambda: d.Categorical(torch.tensor(1.0)), lambda: d.Categorical(torch.tensor([-1.0, 2.0])),
        lambda: d.Multinomial(2.5, torch.ones(2)), lambda: d.Dirichlet(torch.tensor(1.0)), lambda: d.Beta(0.0, -1.0),
        lambda: d.MultivariateNormal(torch.zeros(2)), lambda: d.MultivariateNormal(torch.tensor(1.0), torch.eye(1)),
        lambda: d.MultivariateNormal(torch.zeros(2), torch.tensor([[1.0, 2.0], [2.0, 1.0]])),
        lambda: d.MultivariateNormal(torch.zeros(1), torch.ones(1)), lambda: d.Uniform(1.0, 0.0),
        lambda: d.LKJCholesky(1), lambda: d.Wishart(torch.tensor(1.0), torch.eye(2)), lambda: d.Wishart(3.0),
        lambda: d.MixtureSameFamily(d.Normal(0, 1), d.Normal(0, 1)), lambda: d.MixtureSameFamily(d.Categorical(x), 3),
        lambda: d.MixtureSameFamily(d.Categorical(torch.ones(3)), d.Normal(torch.zeros(2), 1)),
        lambda: d.TransformedDistribution(d.Normal(0, 1), 3), lambda: d.TransformedDistribution(d.Normal(0, 1), [3]),
        lambda: d.TransformedDistribution(d.Normal(0, 1), [t.StickBreakingTransform()]),
        lambda: d.Distribution.set_default_validate_args(3), lambda: d.Normal(0, 1).log_prob(1.0),
        lambda: d.Normal(torch.zeros(2), 1).log_prob(torch.zeros(3)), lambda: t.Transform(cache_size=2),
        lambda: d.Dirichlet(torch.ones(2)).log_prob(torch.ones(3)), lambda: d.Geometric(0.0),
        lambda: d.Binomial(torch.tensor([2, 3]), torch.tensor([0.1, 0.2])).enumerate_support(),
        lambda: d.Binomial(torch.tensor([2, 3]), torch.tensor([0.1, 0.2])).entropy(),
        lambda: d.Independent(d.Normal(0, 1), 1), lambda: t.SoftmaxTransform().log_abs_det_jacobian(x, x),
        lambda: d.LowRankMultivariateNormal(torch.tensor(1.0), torch.ones(2, 2), torch.ones(2)),
        lambda: d.LowRankMultivariateNormal(torch.ones(2), torch.ones(2), torch.ones(2)),
        lambda: d.LowRankMultivariateNormal(torch.ones(2), torch.ones(3, 2), torch.ones(2)),
        lambda: d.LowRankMultivariateNormal(torch.ones(2), torch.ones(2, 2), torch.ones(3)),
        lambda: d.OneHotCategorical(torch.ones(3)).log_prob(torch.ones(3)), lambda: d.StudentT(-1.0),
        lambda: t.ReshapeTransform((2,), (3,)), lambda: d.kl_divergence(d.Normal(0, 1), d.Poisson(1)),
        lambda: d.biject_to(d.constraints.boolean), lambda: d.biject_to.register(3, 4),
        lambda: d.Independent(d.Bernoulli(torch.ones(2) / 2), 1).enumerate_support(),
        lambda: d.constraints.dependent.check(x), lambda: d.Categorical(torch.ones(3)).log_prob(torch.tensor(3)),
        lambda: d.Poisson(1.0).rsample(), lambda: d.Poisson(1.0).log_prob(torch.tensor(1.5)),
        lambda: d.VonMises(0.0, -1.0), lambda: d.NegativeBinomial(-1, 0.5), lambda: d.Cauchy(0, 0),
        lambda: d.LogNormal(0, -1), lambda: d.Gumbel(0, -1), lambda: d.Pareto(-1, 1), lambda: d.Gamma(1, 0),
        lambda: d.Weibull(1, -1), lambda: d.HalfNormal(-1), lambda: d.RelaxedBernoulli(x, 2.0),
    ]  # fmt: skip
    for i, program in enumerate(programs):
        try:
            tell(i, repr(program()))
        except Exception as error:
            tell(i, type(error).__name__, str(error))


@same_story
def test_a_subclass_must_expand_itself(torch, tell):
    class Mine(torch.distributions.Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    Mine(torch.zeros(2)).expand((3, 2))


@same_story
def test_independent(torch, tell):
    base = torch.distributions.Normal(torch.zeros(3, 4), torch.ones(3, 4))
    for n in range(3):
        d = torch.distributions.Independent(base, n)
        torch.manual_seed(0)
        value = d.rsample((2,))
        tell(d, value, d.log_prob(value).shape, d.entropy(), d.mean, d.variance, d.mode, d.support, d.has_rsample)
        tell(d.expand((2, *d.batch_shape)), torch.distributions.kl_divergence(d, d))


@same_story
def test_mixtures(torch, tell):
    d = torch.distributions
    mix = d.Categorical(torch.tensor([0.2, 0.8]))
    parts = d.Normal(torch.tensor([-1.0, 2.0]), torch.tensor([0.5, 1.5]))
    vectors = d.MultivariateNormal(torch.tensor([[0.0, 1.0], [2.0, 3.0]]), torch.eye(2))
    for each in (d.MixtureSameFamily(mix, parts), d.MixtureSameFamily(mix, vectors)):
        torch.manual_seed(0)
        value = each.sample((3,))
        tell(each, value, each.mean, each.variance, each.support, each.batch_shape, each.event_shape)
        tell(each.expand((4,)).sample().shape, each.has_rsample)
    one = d.MixtureSameFamily(mix, parts)
    tell(
        one.cdf(torch.tensor(0.3)).double().round(decimals=4),
        one.log_prob(torch.tensor(0.3)).double().round(decimals=4),
    )


@same_story
def test_switching_checks_off(torch, tell):
    d = torch.distributions
    tell(d.Normal(0.0, -1.0, validate_args=False).scale)
    d.Distribution.set_default_validate_args(False)
    try:
        tell(d.Normal(0.0, -1.0).scale, d.Poisson(2.0).log_prob(torch.tensor(1.5)).shape)
    finally:
        d.Distribution.set_default_validate_args(True)


@same_story
def test_names_and_lazy_parameters(torch, tell):
    d = torch.distributions
    tell(d.normal.Normal is d.Normal, d.utils.broadcast_all(1, torch.ones(2)), d.kl.kl_divergence is d.kl_divergence)
    bernoulli = d.Bernoulli(logits=torch.tensor([0.0, 1.0]))
    tell("probs" in vars(bernoulli), bernoulli.param_shape)
    tell(bernoulli.probs)
    tell("probs" in vars(bernoulli), sorted(d.__all__) if hasattr(d, "__all__") else None)
    tell(d.utils.vec_to_tril_matrix(torch.arange(6.0)), d.utils.tril_matrix_to_vec(torch.eye(3), -1))
    tell(d.relaxed_bernoulli.LogitRelaxedBernoulli(torch.tensor([1.0]), 0.5))
    tell(d.relaxed_categorical.ExpRelaxedCategorical(torch.tensor([1.0]), torch.ones(2)))


@same_story
def test_what_stands_behind_the_laws_can_be_named(torch, tell):
    d = torch.distributions
    inverse = d.ExpTransform().inv
    tell(isinstance(inverse, d.transforms._InverseTransform), inverse._inv)
    tell(d.kl._kl_expfamily_expfamily(d.Normal(0.0, 1.0), d.Normal(1.0, 2.0)))
    point, concentration = torch.tensor([0.2, 0.3, 0.5]), torch.tensor([1.0, 2.0, 3.0])
    tell(d.dirichlet._Dirichlet_backward(point, concentration, torch.tensor([1.0, 0.0, 2.0])))
    logistic = d.LogisticNormal(torch.zeros(2), torch.ones(2))
    tell(logistic.batch_shape, logistic.event_shape, type(logistic.event_shape).__name__)
    d.MultivariateNormal(torch.zeros(2), scale_tril=torch.ones(2))
