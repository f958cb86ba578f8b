"""Constraints: where the values of parameters and samples must lie. `check` says of each value whether it does."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..core.machine import Tensor
from ..core.values import bool_
from .library import torch
from .parameters import epsilon


class Constraint:
    """A region. `event_dim` last dimensions of a value together make one point of it."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Which points lie in the region."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__.removeprefix('_')}({self._shown()})"

    def _shown(self) -> str:
        return ""


# ---- regions that depend on other values


class _Dependent(Constraint):
    """A region known only where a distribution is: it cannot be checked by itself."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    def _known(self, name: str) -> Any:
        value = getattr(self, f"_{name}")
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    @property
    def is_discrete(self) -> bool:
        return self._known("is_discrete")

    @property
    def event_dim(self) -> int:
        return self._known("event_dim")

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """The same with what is known said."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x: Any) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property that gives a region. Of the class it is a dependent constraint."""

    def __init__(
        self, fn: Callable[..., Any] | None = None, *, is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:  # fmt: skip
        property.__init__(self, fn, doc=(fn and fn.__doc__) or "The region, which depends on the parameters.")
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other parameters."""
    return isinstance(constraint, _Dependent)


# ---- regions of other regions


class _OfBase(Constraint):
    """A region by another, that of the parts of a point."""

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete


class _IndependentConstraint(_OfBase):
    """A point is a whole of so many more dimensions, all parts of which lie in the base region."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        n = self.reinterpreted_batch_ndims
        if result.dim() < n:
            expected = self.base_constraint.event_dim + n
            raise ValueError(f"Expected value.dim() >= {expected} but got {value.dim()}")
        return result.reshape(*result.shape[: result.dim() - n], -1).all(-1)

    def _shown(self) -> str:
        return f"{self.base_constraint!r}, {self.reinterpreted_batch_ndims}"


class MixtureSameFamilyConstraint(_OfBase):
    """The region of a mixture's samples, given that of its components'."""

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        dim = value.dim() - self.event_dim
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return result.reshape(*result.shape[:dim], -1).all(-1)

    def _shown(self) -> str:
        return repr(self.base_constraint)


class _Joined(Constraint):
    """Regions one after another along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int) -> None:
        assert all(isinstance(c, Constraint) for c in cseq)
        self.cseq = list(cseq)
        self.dim = dim

    @property
    def is_discrete(self) -> bool:
        return any(c.is_discrete for c in self.cseq)


class _Cat(_Joined):
    """Values concatenated along a dimension, each part in a region of its own."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        assert len(self.lengths) == len(self.cseq)

    @property
    def event_dim(self) -> int:
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        assert -value.dim() <= self.dim < value.dim()
        parts = value.split(self.lengths, self.dim)
        return torch.cat([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)


class _Stack(_Joined):
    """Values stacked along a dimension, each in a region of its own."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        assert -value.dim() <= self.dim < value.dim()
        parts = value.unbind(self.dim)
        return torch.stack([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)


# ---- regions of numbers


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value == value  # not nan


class _Bounded(Constraint):
    """Numbers between bounds, which a subclass names, as it says which values they `_admit`."""

    bounds: tuple[str, ...]
    _admit: Callable[..., Tensor]
    lower_bound: Any
    upper_bound: Any
    __signature__: inspect.Signature

    def __init_subclass__(cls, bounds: str = "", admit: Callable[..., Tensor] | None = None) -> None:
        if admit is None:  # a program's own class of such regions
            return
        cls.bounds, cls._admit = tuple(bounds.split()), staticmethod(admit)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        cls.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in cls.bounds])

    def __init__(self, *values: Any, **named: Any) -> None:
        given = dict(zip(self.bounds, values), **named)
        if len(values) + len(named) != len(self.bounds) or set(given) != set(self.bounds):
            raise TypeError(f"{type(self).__name__}.__init__() takes just {' and '.join(self.bounds)}")
        self.__dict__.update(given)

    def check(self, value: Tensor) -> Tensor:
        return self._admit(value, *[getattr(self, name) for name in self.bounds])

    def _shown(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.bounds)


class _GreaterThan(_Bounded, bounds="lower_bound", admit=lambda x, low: low < x):
    """Numbers above a bound."""


class _GreaterThanEq(_Bounded, bounds="lower_bound", admit=lambda x, low: low <= x):
    """Numbers not below a bound."""


class _LessThan(_Bounded, bounds="upper_bound", admit=lambda x, high: x < high):
    """Numbers below a bound."""


class _Interval(_Bounded, bounds="lower_bound upper_bound", admit=lambda x, low, high: (low <= x) & (x <= high)):
    """Numbers between two bounds, which are in."""


class _HalfOpenInterval(_Bounded, bounds="lower_bound upper_bound", admit=lambda x, low, high: (low <= x) & (x < high)):
    """Numbers between two bounds, of which the upper is out."""


class _IntegerInterval(
    _Bounded, bounds="lower_bound upper_bound", admit=lambda x, low, high: (x % 1 == 0) & (low <= x) & (x <= high)
):
    """Whole numbers between two bounds, which are in."""

    is_discrete = True


class _IntegerLessThan(_Bounded, bounds="upper_bound", admit=lambda x, high: (x % 1 == 0) & (x <= high)):
    """Whole numbers not above a bound."""

    is_discrete = True


class _IntegerGreaterThan(_Bounded, bounds="lower_bound", admit=lambda x, low: (x % 1 == 0) & (x >= low)):
    """Whole numbers not below a bound."""

    is_discrete = True


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


# ---- regions of vectors


class _Simplex(Constraint):
    """Vectors of probabilities."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        boolean, normalized = (value == 0) | (value == 1), value.sum(-1).eq(1)
        return boolean.all(-1) & normalized


class _Multinomial(Constraint):
    """Counts that sum up to a number."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


# ---- regions of matrices


class _Matrix(Constraint):
    event_dim = 2

    @staticmethod
    def all_entries(holds: Tensor) -> Tensor:
        return holds.reshape(*holds.shape[:-2], -1).min(-1)[0]


class _LowerTriangular(_Matrix):
    def check(self, value: Tensor) -> Tensor:
        return self.all_entries(value.tril() == value)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(0, -2, -1) > 0).min(-1)[0]


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors whose rows have length one."""

    def check(self, value: Tensor) -> Tensor:
        tolerance = epsilon(value) * value.shape[-1] * 10  # 10 is what PyTorch allows for
        unit = (value.norm(dim=-1) - 1).abs() < tolerance
        return unit.all(-1) & super().check(value)


class _Square(_Matrix):
    def check(self, value: Tensor) -> Tensor:
        return torch.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=bool_, device=value.device)


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        square = super().check(value)
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1) if square.all() else square


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return torch.linalg.eigvalsh(value).ge(0).all(-1) if symmetric.all() else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return torch.linalg.cholesky_ex(value).info.eq(0) if symmetric.all() else symmetric


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack

__all__ = [
    "Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than",
    "greater_than_eq", "independent", "integer_interval", "interval", "half_open_interval", "is_dependent", "less_than",
    "lower_cholesky", "lower_triangular", "MixtureSameFamilyConstraint", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_semidefinite", "positive_definite", "positive_integer",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip
