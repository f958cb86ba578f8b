"""Tensors drawn from distributions whose parameters are tensors, from PyTorch's streams."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.declare import OnBackend, Op, aten, describe, function, publish, publish_python, signatures_of
from ...core.machine import NOT_IMPLEMENTED, RANDOM, Generator, Tensor, drawn, into, public
from ...core.state import local
from ...core.values import Backend, broadcast_shapes, dt
from ..formulas import zeros
from ..vocabulary import undifferentiable, zero_gradient
from .draws import _floating, array_drawn, bernoulli_each, normal_, stream_of, told
from .factories import like, uninitialized
from .factory import factory


class FromParameters(OnBackend, Op):
    """An op whose tensors are parameters for each element."""

    batch = RANDOM

    def apply(self, *values: Any) -> Tensor:
        levels = local.state.levels
        if self.recorded and local.state.mode.grad:
            self.edges(values)  # of histories that may not be asked for, PyTorch tells before it draws
        if not levels:
            return self.run_bound(*values)
        above = max([v._backend.level for v in values if isinstance(v, Tensor)])

        def make(batch: tuple[int, ...]) -> Tensor:
            shape = broadcast_shapes(*[v._array.shape for v in values if isinstance(v, Tensor)])
            wide = [v.expand(*batch, *shape) if batch and isinstance(v, Tensor) else v for v in values]
            return self.run_bound(*wide)

        return drawn(make, above)


def sampler(schema: str, draw: Callable[..., np.ndarray], vjp: Any, **words: Any) -> FromParameters:
    """An op whose `draw(stream, *parameters)` is told the parameters row by row."""

    def kernel(backend: Backend, first: Any, *rest: Any) -> Any:
        *parameters, generator = rest
        stream = stream_of(generator, backend)
        tensors = [p for p in (first, *parameters) if isinstance(p, backend.Array)]
        shape = broadcast_shapes(*[p.shape for p in tensors])

        def given(p: Any) -> Any:
            return told(stream, backend, p, shape) if isinstance(p, backend.Array) else p

        return array_drawn(lambda: draw(stream, *map(given, (first, *parameters))), shape, first.dtype, backend)

    return FromParameters(schema, kernel, vjp, **words)


def _into_any(op: Op, out: Any, values: Sequence[Any]) -> Any:
    """`out=` may be of any dtype, and is resized without a warning."""

    def draw(p: Tensor, generator: Generator | None) -> Tensor:
        return bernoulli_each.apply_in_place([like(out, None, out.dtype, out._backend.home), p, generator])

    out._resize_output_(values[0]._array.shape, out.device)
    return into(out, draw, values, "bernoulli")


bernoulli = sampler(
    "bernoulli(Tensor self, *, Generator? generator=None)",
    lambda stream, p: stream.bernoulli_tensor(p),
    {"self": zero_gradient},
    into=_into_any,
    complex_gradients=False,
)
bernoulli_like = sampler(
    "bernoulli.p(Tensor self, float p, *, Generator? generator=None)",
    lambda stream, t, p: stream.bernoulli_scalar(t.size, p, t.dtype),
    {"self": undifferentiable("derivative for aten::bernoulli is not implemented")},
    node=NOT_IMPLEMENTED,
)
poisson = sampler(
    "poisson(Tensor self, Generator? generator=None)",
    lambda stream, rate: stream.poisson(rate),
    {"self": zero_gradient},
)
binomial = sampler(
    "binomial(Tensor count, Tensor prob, Generator? generator=None)",
    lambda stream, count, p: stream.binomial(count, p),
    dict.fromkeys(("count", "prob"), undifferentiable("derivative for aten::binomial is not implemented")),
    node=NOT_IMPLEMENTED,
)
publish(bernoulli, bernoulli_like)
publish(poisson, method=False)
publish(binomial, method=False)


def _multinomial(
    backend: Backend, weights: Any, num_samples: int, replacement: bool, generator: Generator | None
) -> Any:
    def draw() -> np.ndarray:
        rows = backend.to_host(weights)  # drawn for in the order in which they lie in memory
        rows = rows if rows.ndim == 2 else rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])
        return stream_of(generator, backend).multinomial(rows, num_samples, replacement)

    return array_drawn(draw, (*weights.shape[:-1], num_samples), dt.int64.numpy, backend)


_indices = FromParameters(
    "_multinomial(Tensor self, int num_samples, bool replacement, Generator? generator)", _multinomial,
    seen_as=lambda *values: ("multinomial", values),
)  # fmt: skip


def multinomial(self: Tensor, num_samples: int, replacement: bool, generator: Generator | None) -> Tensor:
    """Indices drawn with the weights that each row gives."""
    if self.dim() not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    return _indices.apply(self, num_samples, replacement, generator)


def _into_indices(out: Any, apply: Callable[..., Tensor], values: Sequence[Any], name: str) -> Tensor:
    if out.dtype is not dt.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype.legacy}")
    indices = apply(*values)
    out._resize_output_(indices._array.shape, out.device)
    return into(out, lambda *_: indices, values, name)


publish_python(
    "multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None)",
    multinomial,
    into=_into_indices,
)


def _check_deviation(mean: Any, std: Any, generator: Generator | None) -> None:
    if isinstance(std, Tensor) and std.dtype.is_complex:
        raise RuntimeError("normal expects standard deviation to be non-complex")


def _normal_around(backend: Backend, mean: Any, std: Any, generator: Generator | None) -> Any:
    given = [v for v in (mean, std) if isinstance(v, backend.Array)]
    d, one = given[0].dtype, isinstance(std, backend.Array)
    if one and backend.values and not (std >= 0).all():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    drawn = uninitialized(broadcast_shapes(*[v.shape for v in given]), dt.of_numpy(d), backend)
    numbers = normal_.apply_in_place([drawn, 0.0, 1.0 if one else std, generator])._array
    stretched = (numbers * std).astype(d) if one else numbers
    return (stretched + mean).astype(d, copy=False)


def _into_converted(op: Op, out: Any, values: Sequence[Any]) -> Any:
    mean, std, generator = [v.to(out.dtype) if isinstance(v, Tensor) else v for v in values]
    if not isinstance(std, Tensor):  # then PyTorch makes the mean fit the shape that `out` has
        mean = mean.expand(broadcast_shapes(mean._array.shape, out._array.shape))
    return Op.into(op, out, (mean, std, generator))


_NO_GRADIENT = {
    "mean": lambda g, mean_shape: zeros(g, mean_shape), "std": lambda g, std_shape: zeros(g, std_shape),
}  # fmt: skip


def _normal_of(schema: str, node: str, *tensors: str) -> FromParameters:
    """Normal numbers whose mean, deviation or both are an element's own. What they are drawn from gets no gradient."""
    return FromParameters(
        f"{schema}, *, Generator? generator=None)", _normal_around, {name: _NO_GRADIENT[name] for name in tensors},
        node=node, complex_gradients=False, check=_check_deviation, into=_into_converted,
        shows=" ".join([f"{name}_sym_sizes" for name in tensors]),
    )  # fmt: skip


normal_of_tensors = _normal_of("normal.Tensor_Tensor(Tensor mean, Tensor std", "NormalBackward3", "mean", "std")
normal_of_means = _normal_of("normal.Tensor_float(Tensor mean, float std=1", "NormalBackward1", "mean")
normal_of_deviations = _normal_of("normal.float_Tensor(float mean, Tensor std", "NormalBackward2", "std")
_each_normal = publish(
    normal_of_tensors, normal_of_means, normal_of_deviations, names="normal", function=False, method=False
)


@factory("normal(float mean, float std, int[] size, *, Generator? generator=None)", function=False)
def _sized_normal(mean: float, std: float, size: Any, generator: Generator | None, d: Any, backend: Backend) -> Tensor:
    return normal_.fresh(size, _floating(d), backend, mean, std, generator)


@function("normal", *signatures_of(_each_normal), *signatures_of(_sized_normal))
def normal(*args: Any, **kwargs: Any) -> Tensor:
    """Normal numbers with a mean and deviation for each, or one for all and a size."""
    return (_sized_normal if "size" in kwargs or len(args) > 2 else _each_normal)(*args, **kwargs)


public[_each_normal] = public[_sized_normal] = aten["normal"] = normal


describe(
    bernoulli="Ones and zeros by chance: each element is the probability of a one, or `p` is.",
    binomial="Numbers of successes by chance, for so many trials (`count`) of probability `prob`.",
    poisson="Numbers drawn from Poisson distributions of these rates.",
)
