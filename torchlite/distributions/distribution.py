"""`Distribution`, which all distributions are, and `ExponentialFamily`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from ..autograd.backward import grad
from ..autograd.grad_mode import no_grad
from ..core.machine import Tensor, functions
from ..core.values import Size, warn
from ..func.functionalization import debug_unwrap
from . import constraints
from .parameters import broadcast_all, lazy_property, logits_to_probs, one_of, probs_to_logits, sum_rightmost
from .texts import inherit_texts

if TYPE_CHECKING:
    from .constraints import Constraint


SCALAR = Size()


def _everywhere(checked: Tensor) -> bool:
    """Whether a check holds for all values; inside of `vmap` for those of all elements."""
    return bool(functions["_is_all_true"](debug_unwrap(checked)))


class Distribution:
    """A batch of distributions. A sample has the shape sample_shape + batch_shape + event_shape.

    A subclass says in `arg_constraints` what its parameters are and where they must lie, in `support` where samples
    lie, in `expands` which of its attributes have the batch's shape in front, and in `holds` what others it has.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    expands: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    _validate_args = __debug__

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        inherit_texts(cls)

    def __init__(
        self, batch_shape: Size = SCALAR, event_shape: Size = SCALAR, validate_args: bool | None = None
    ) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether arguments are checked where a distribution is not told."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    # ---- its own words for making subclasses

    def _settle(self, validate_args: bool | None, event: Sequence[int] = (), **parameters: Any) -> None:
        """Set parameters, broadcast together, whose common shape is the batch's; then check them."""
        tensors = broadcast_all(*parameters.values())
        self.__dict__.update(zip(parameters, tensors))
        shape = next((t.shape for t in tensors), Size())
        Distribution.__init__(self, shape, Size(event), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """The same distributions with their batch expanded to another shape."""
        home: Any = next((c for c in type(self).__mro__ if "expands" in c.__dict__), Distribution)
        if home is Distribution:
            raise NotImplementedError
        new: Any = self._get_checked_instance(home, _instance)
        if not isinstance(new, home):
            raise TypeError("super(type, obj): obj must be an instance or subtype of type")
        batch_shape = Size(batch_shape)
        self._expand_parameters(home, new, batch_shape)
        self._expand_rest(new, batch_shape)
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expand_parameters(self, home: Any, new: Any, batch_shape: Size) -> None:
        regions = self.arg_constraints
        for name in home.expands:
            if name in self.__dict__:
                t = self.__dict__[name]
                own = regions[name].event_dim if name in regions else 0
                new.__dict__[name] = t.expand(batch_shape + t.shape[t.dim() - own :])

    def _expand_rest(self, new: Any, batch_shape: Size) -> None:
        """Give an expanded distribution what it holds; distributions are expanded, too."""
        for cls in type(self).__mro__:
            for name in vars(cls).get("holds", ()):
                held = getattr(self, name)
                setattr(new, name, held.expand(batch_shape) if isinstance(held, Distribution) else held)

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    # ---- what it is

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions that the parameters make."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """The constraint of each parameter, by name."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint that samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    # ---- draws

    def sample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        """Draws without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = SCALAR) -> Tensor:
        """Draws that can be differentiated with respect to the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """So many samples (deprecated: `sample((n,))`)."""
        warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample(Size((n,)))

    # ---- probabilities

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at a value."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of no more than a value."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The value below which a given probability lies."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a first dimension."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    # ---- checks

    def _extended_shape(self, sample_shape: Sequence[int] = SCALAR) -> Size:
        return Size(Size(sample_shape) + self._batch_shape + self._event_shape)

    def _check_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                "initialize the distribution with `validate_args=False` to turn off validation.",
            )
        for param, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if param not in self.__dict__ and isinstance(getattr(type(self), param), lazy_property):
                continue
            value = getattr(self, param)
            if not _everywhere(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {param} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                    f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid "
                    f"values:\n{value}"
                )

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event_start = value.dim() - len(self._event_shape)
        if value.shape[event_start:] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.shape), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {Size(expected)}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
            )
            return
        if not _everywhere(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _checked(self, value: Any) -> Any:
        """A value that densities are asked for, checked where the distribution checks arguments."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def __repr__(self) -> str:
        given = [(name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__]
        shown = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in given]
        return f"{type(self).__name__}({', '.join(shown)})"


class ExponentialFamily(Distribution):
    """Densities exp(t(x)·θ - F(θ) + k(x)): entropies and divergences follow from F, the log normaliser."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any, **_: Any) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """By Bregman's divergence: F(θ) - θ·∇F(θ) - E k(x)."""
        result: Any = -self._mean_carrier_measure
        params = [p.detach().requires_grad_() for p in self._natural_params]
        log_normalizer = self._log_normalizer(*params)
        result = result + log_normalizer
        for p, g in zip(params, grad(log_normalizer.sum(), params, create_graph=True)):
            result = result - sum_rightmost(p * g, len(self._event_shape))
        return result


class ByProbsOrLogits:
    """Distributions given by probabilities or by logits: `is_binary` says of how many outcomes each."""

    is_binary = True
    holds: tuple[str, ...] = ("_given",)
    _given: str

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, self.is_binary)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, self.is_binary)

    def _give(self, probs: Any, logits: Any) -> dict[str, Any]:
        """Note which one is given; its value by its name."""
        self._given, value = one_of(probs, logits)
        return {self._given: value}

    @property
    def _param(self) -> Tensor:
        return self.__dict__[self._given]

    @property
    def param_shape(self) -> Size:
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


__all__ = ["Distribution", "ExponentialFamily"]
