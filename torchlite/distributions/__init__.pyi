# Written by `python -m torchlite.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"
from typing import Any as _Any
from torchlite.distributions.transforms.transform import ComposeTransform as _ComposeTransform
from torchlite.distributions.constraint_registry import ConstraintRegistry as _ConstraintRegistry

from torchlite.distributions.transforms.scalar import AbsTransform as AbsTransform
from torchlite.distributions.transforms.scalar import AffineTransform as AffineTransform
from torchlite.distributions.counts import Bernoulli as Bernoulli
from torchlite.distributions.gamma_family import Beta as Beta
from torchlite.distributions.counts import Binomial as Binomial
from torchlite.distributions.transforms.vector import CatTransform as CatTransform
from torchlite.distributions.categories import Categorical as Categorical
from torchlite.distributions.location_scale import Cauchy as Cauchy
from torchlite.distributions.gamma_family import Chi2 as Chi2
from torchlite.distributions.transforms.transform import ComposeTransform as ComposeTransform
from torchlite.distributions.counts import ContinuousBernoulli as ContinuousBernoulli
from torchlite.distributions.transforms.vector import CorrCholeskyTransform as CorrCholeskyTransform
from torchlite.distributions.transforms.scalar import CumulativeDistributionTransform as CumulativeDistributionTransform
from torchlite.distributions.gamma_family import Dirichlet as Dirichlet
from torchlite.distributions.distribution import Distribution as Distribution
from torchlite.distributions.transforms.scalar import ExpTransform as ExpTransform
from torchlite.distributions.gamma_family import Exponential as Exponential
from torchlite.distributions.distribution import ExponentialFamily as ExponentialFamily
from torchlite.distributions.gamma_family import FisherSnedecor as FisherSnedecor
from torchlite.distributions.gamma_family import Gamma as Gamma
from torchlite.distributions.location_scale import GeneralizedPareto as GeneralizedPareto
from torchlite.distributions.counts import Geometric as Geometric
from torchlite.distributions.transformed import Gumbel as Gumbel
from torchlite.distributions.transformed import HalfCauchy as HalfCauchy
from torchlite.distributions.transformed import HalfNormal as HalfNormal
from torchlite.distributions.composed import Independent as Independent
from torchlite.distributions.transforms.transform import IndependentTransform as IndependentTransform
from torchlite.distributions.transformed import InverseGamma as InverseGamma
from torchlite.distributions.transformed import Kumaraswamy as Kumaraswamy
from torchlite.distributions.matrices import LKJCholesky as LKJCholesky
from torchlite.distributions.location_scale import Laplace as Laplace
from torchlite.distributions.transformed import LogNormal as LogNormal
from torchlite.distributions.transformed import LogisticNormal as LogisticNormal
from torchlite.distributions.multivariate import LowRankMultivariateNormal as LowRankMultivariateNormal
from torchlite.distributions.transforms.vector import LowerCholeskyTransform as LowerCholeskyTransform
from torchlite.distributions.composed import MixtureSameFamily as MixtureSameFamily
from torchlite.distributions.categories import Multinomial as Multinomial
from torchlite.distributions.multivariate import MultivariateNormal as MultivariateNormal
from torchlite.distributions.counts import NegativeBinomial as NegativeBinomial
from torchlite.distributions.location_scale import Normal as Normal
from torchlite.distributions.categories import OneHotCategorical as OneHotCategorical
from torchlite.distributions.categories import OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough
from torchlite.distributions.transformed import Pareto as Pareto
from torchlite.distributions.counts import Poisson as Poisson
from torchlite.distributions.transforms.vector import PositiveDefiniteTransform as PositiveDefiniteTransform
from torchlite.distributions.transforms.scalar import PowerTransform as PowerTransform
from torchlite.distributions.relaxed import RelaxedBernoulli as RelaxedBernoulli
from torchlite.distributions.relaxed import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from torchlite.distributions.transforms.transform import ReshapeTransform as ReshapeTransform
from torchlite.distributions.transforms.scalar import SigmoidTransform as SigmoidTransform
from torchlite.distributions.transforms.vector import SoftmaxTransform as SoftmaxTransform
from torchlite.distributions.transforms.scalar import SoftplusTransform as SoftplusTransform
from torchlite.distributions.transforms.vector import StackTransform as StackTransform
from torchlite.distributions.transforms.vector import StickBreakingTransform as StickBreakingTransform
from torchlite.distributions.location_scale import StudentT as StudentT
from torchlite.distributions.transforms.scalar import TanhTransform as TanhTransform
from torchlite.distributions.transforms.transform import Transform as Transform
from torchlite.distributions.composed import TransformedDistribution as TransformedDistribution
from torchlite.distributions.location_scale import Uniform as Uniform
from torchlite.distributions.location_scale import VonMises as VonMises
from torchlite.distributions.transformed import Weibull as Weibull
from torchlite.distributions.matrices import Wishart as Wishart
from torchlite.core.values.pickling import bear_name as bear_name
from torchlite.distributions import categories as categories
from torchlite.distributions import composed as composed
from torchlite.distributions import constraint_registry as constraint_registry
from torchlite.distributions import constraints as constraints
from torchlite.distributions import counts as counts
from torchlite.distributions import distribution as distribution
from torchlite.distributions import gamma_family as gamma_family
from torchlite.distributions import kl as kl
from torchlite.distributions.kl import kl_divergence as kl_divergence
from torchlite.distributions import library as library
from torchlite.distributions import location_scale as location_scale
from torchlite.distributions import matrices as matrices
from torchlite.distributions import multivariate as multivariate
from torchlite.distributions import parameters as parameters
from torchlite.distributions.kl import register_kl as register_kl
from torchlite.distributions import relaxed as relaxed
from torchlite.distributions import texts as texts
from torchlite.distributions import transformed as transformed
from torchlite.distributions import transforms as transforms

bernoulli: _Any
beta: _Any
biject_to: _ConstraintRegistry
binomial: _Any
categorical: _Any
cauchy: _Any
chi2: _Any
continuous_bernoulli: _Any
dirichlet: _Any
exp_family: _Any
exponential: _Any
fishersnedecor: _Any
gamma: _Any
generalized_pareto: _Any
geometric: _Any
gumbel: _Any
half_cauchy: _Any
half_normal: _Any
identity_transform: _ComposeTransform
independent: _Any
inverse_gamma: _Any
kumaraswamy: _Any
laplace: _Any
lkj_cholesky: _Any
log_normal: _Any
logistic_normal: _Any
lowrank_multivariate_normal: _Any
mixture_same_family: _Any
multinomial: _Any
multivariate_normal: _Any
negative_binomial: _Any
normal: _Any
one_hot_categorical: _Any
pareto: _Any
poisson: _Any
relaxed_bernoulli: _Any
relaxed_categorical: _Any
studentT: _Any
transform_to: _ConstraintRegistry
transformed_distribution: _Any
uniform: _Any
utils: _Any
von_mises: _Any
weibull: _Any
wishart: _Any
