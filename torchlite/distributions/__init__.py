"""torch.distributions: probability distributions, the transforms between them and the constraints on their parameters.

The classes stand in files by family; PyTorch's own module for each class is another name of its family's.
"""

import sys as _sys

from ..absent import lacking
from ..core.values import bear_name
from . import (
    categories,
    composed,
    constraint_registry,
    constraints,
    counts,
    distribution,
    gamma_family,
    kl,
    location_scale,
    matrices,
    multivariate,
    parameters,
    relaxed,
    transformed,
    transforms,
)
from .categories import Categorical, Multinomial, OneHotCategorical, OneHotCategoricalStraightThrough
from .composed import Independent, MixtureSameFamily, TransformedDistribution
from .constraint_registry import biject_to, transform_to
from .counts import Bernoulli, Binomial, ContinuousBernoulli, Geometric, NegativeBinomial, Poisson
from .distribution import Distribution, ExponentialFamily
from .gamma_family import Beta, Chi2, Dirichlet, Exponential, FisherSnedecor, Gamma
from .kl import kl_divergence, register_kl
from .location_scale import Cauchy, GeneralizedPareto, Laplace, Normal, StudentT, Uniform, VonMises
from .matrices import LKJCholesky, Wishart
from .multivariate import LowRankMultivariateNormal, MultivariateNormal
from .relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from .transformed import (
    Gumbel,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    Pareto,
    Weibull,
)
from .transforms import *

_ALSO = {
    parameters: "utils",
    distribution: "exp_family",
    location_scale: "cauchy generalized_pareto laplace normal studentT uniform von_mises",
    gamma_family: "beta chi2 dirichlet exponential fishersnedecor gamma",
    counts: "bernoulli binomial continuous_bernoulli geometric negative_binomial poisson",
    categories: "categorical multinomial one_hot_categorical",
    composed: "independent mixture_same_family transformed_distribution",
    transformed: "gumbel half_cauchy half_normal inverse_gamma kumaraswamy log_normal logistic_normal pareto weibull",
    relaxed: "relaxed_bernoulli relaxed_categorical",
    multivariate: "lowrank_multivariate_normal multivariate_normal",
    matrices: "lkj_cholesky wishart",
}
_AND = {
    "exp_family": "ExponentialFamily", "lkj_cholesky": "LKJCholesky",
    "one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
    "relaxed_bernoulli": "LogitRelaxedBernoulli RelaxedBernoulli",
    "relaxed_categorical": "ExpRelaxedCategorical RelaxedOneHotCategorical",
}  # fmt: skip
for _module, _names in _ALSO.items():
    for _name in _names.split():
        globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = _module
        _plain = _name.replace("_", "").lower()
        for _class in _AND.get(_name, "").split() or [n for n in vars(_module) if n.lower() == _plain]:
            bear_name(vars(_module)[_class], f"{__name__}.{_name}")

__all__ = [
    *transforms.__all__, "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli",
    "Dirichlet", "Distribution", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto",
    "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy", "LKJCholesky",
    "Laplace", "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial",
    "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough",
    "Pareto", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution",
    "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "kl_divergence", "register_kl", "transform_to",
]  # fmt: skip

__getattr__ = lacking(__name__)
