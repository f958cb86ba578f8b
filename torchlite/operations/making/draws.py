"""Random tensors and in-place draws, from PyTorch's streams.

Numbers are drawn on the host in the memory order of the tensor they are for, then moved to its device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...backends.base import get_backend
from ...core.declare.on_backend import OnBackend
from ...core.declare.op import Op
from ...core.declare.publish import function, publish, publish_python
from ...core.machine.batching import FILLING, RANDOM, drawn
from ...core.machine.node import NOT_IMPLEMENTED, Counter
from ...core.machine.overrides import overridable, public
from ...core.machine.tensor import Tensor, wrap
from ...core.machine.write import bump, into
from ...core.state.mode import local
from ...core.values import dtype as dt
from ...core.values import generator as generators
from ...core.values.arrays import Backend
from ...core.values.device import CPU
from ...core.values.errors import broadcast_shapes
from ...core.values.generator import default_generator
from ...core.values.layout import contiguous_strides
from ...kernels.cpu_random import MT19937Stream
from ..vocabulary import undifferentiable, zero_gradient
from .factories import like, uninitialized
from .factory import factory
from .host_data import from_numpy

generators.make_stream.append(MT19937Stream)
generators.as_tensor.append(from_numpy)


def stream_of(generator: Any, backend: Backend) -> MT19937Stream:
    """The stream to draw from."""
    if generator is None:
        return default_generator(backend.device).stream
    if generator.device.type != backend.device.type:
        raise RuntimeError(
            f"Expected a '{backend.device.type}' device type for generator but found '{generator.device.type}'"
        )
    return generator.stream


# ---- in place


def _in_memory_order(strides: tuple[int, ...]) -> tuple[int, ...]:
    """Dimensions from the outermost in memory to the innermost."""
    return tuple(sorted(range(len(strides)), key=lambda i: (-strides[i], i)))


def _flat(host: np.ndarray) -> np.ndarray:
    """The values row by row."""
    return np.ascontiguousarray(host).reshape(-1)


def _fill(t: Tensor, draw: Callable[[int], np.ndarray]) -> None:
    """Fill a tensor's memory with the numbers that `draw(count)` gives."""
    backend, array = t.backend.real, t.array
    if not backend.values:
        return
    values = draw(array.size)
    if t.is_contiguous():
        backend.write(array, backend.from_fresh(values, array.shape))
        return
    order = _in_memory_order(t.stride())
    backend.write(array.transpose(order), backend.from_fresh(values, tuple([array.shape[i] for i in order])))


class _New(NamedTuple):
    """What a draw needs to know of a tensor that is still to be made."""

    dtype: dt.dtype
    shape: tuple[int, ...]

    def stride(self) -> tuple[int, ...]:
        return contiguous_strides(self.shape)

    def is_contiguous(self) -> bool:
        return True


class _Draw(Op):
    """An in-place draw. The tensor no longer depends on what it was: its gradient is zero."""

    batch = FILLING

    def __init__(
        self, schema: str, draw: Callable[..., np.ndarray], parts: bool = False, node: str | None = None, **others: Any
    ) -> None:
        super().__init__(schema, None, {"self": zero_gradient, **others}, node=node)
        self.draw = draw
        self.parts = parts  # whether complex numbers are drawn, as their real and imaginary parts

    def numbers(self, stream: Any, count: int, t: Any, parameters: Sequence[Any]) -> np.ndarray:
        """So many numbers for a tensor."""
        d = t.dtype
        if self.parts and d.is_complex:
            return self.draw(stream, 2 * count, d.to_real().numpy, t, *parameters).view(d.numpy)
        return self.draw(stream, count, d.numpy, t, *parameters)

    def apply(self, *values: Any) -> Tensor:
        """The same into a new tensor, which is what transforms ask for."""
        like_, *parameters = values
        if like_.backend.level:
            return super().apply(*values)
        return self.fresh(like_.array.shape, like_.dtype, like_.backend.home, *parameters)

    def apply_in_place(self, values: list[Any]) -> Tensor:
        for level in reversed(local.state.levels):
            if level.serial > values[0].backend.level and level.draws() is not None:
                raise RuntimeError(
                    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like "
                    "same randomness. If this is necessary for your usage, please file an issue with functorch."
                )
        return super().apply_in_place(values)

    def fresh(self, size: Sequence[int], d: dt.dtype, backend: Backend, *parameters: Any) -> Tensor:
        """A new tensor of numbers."""

        def make(batch: tuple[int, ...]) -> Tensor:
            return _unwritten(self.apply_in_place([uninitialized((*batch, *size), d, backend), *parameters]))

        state = local.state
        if state.levels:
            return drawn(make)
        if not backend.values or (size and min(size) <= 0):
            return make(())
        *parameters, generator = parameters
        stream = stream_of(generator, backend)
        get_backend(CPU).check_room(size, d.numpy)
        values = state.quiet(self.numbers, stream, math.prod(size), _New(d, tuple(size)), parameters)
        return wrap(backend.from_fresh(values, size), d, backend)

    def fresh_like(self, t: Tensor, format_: Any, d: Any, backend: Backend, *parameters: Any) -> Tensor:
        """A new tensor of numbers, in the form of the tensor inside another whose level has no part in the draw."""
        while t.backend.home.level and (t.backend.home.owner.elements is None or t.backend.home.owner.draws() is None):
            inside = t.array.main
            if t.backend.home.owner.elements is not None:
                inside = inside.select(t.array.dim, 0)
            backend = inside.backend.home if backend is t.backend.home else backend
            t = inside

        def make(batch: tuple[int, ...]) -> Tensor:
            form = t.expand(*batch, *t.shape) if batch else t
            made = like(form, format_, d, backend)
            if made.backend.level:
                return self.apply(made, *parameters).clone()  # whose memory may have been shared by all elements
            return _unwritten(self.apply_in_place([made, *parameters]))

        return drawn(make, t.backend.level) if local.state.levels else make(())

    def overwrite(self, self_: Tensor, before: Tensor, values: list[Any]) -> None:
        *parameters, generator = values[1:]
        stream = stream_of(generator, self_.backend.real)
        _fill(self_, lambda n: self.numbers(stream, n, self_, parameters))
        bump(self_)


def _unwritten(t: Tensor) -> Tensor:
    """A new tensor; that numbers were drawn into it counts as no write."""
    if t.counter.__class__ is Counter:
        t.counter = None
    return t


def _normal(stream: Any, n: int, d: np.dtype, t: Tensor, mean: float, std: float) -> np.ndarray:
    if t.dtype.is_complex:
        std = std / math.sqrt(2)
    return stream.normal(n, d, mean, std, block=n >= 16 and t.is_contiguous())


uniform_ = _Draw(
    "uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None)",
    lambda stream, n, d, t, low, high: stream.uniform(n, d, low, high),
    parts=True,
)
normal_ = _Draw("normal(Tensor self, float mean=0, float std=1, *, Generator? generator=None)", _normal, parts=True)
exponential_ = _Draw(
    "exponential(Tensor self, float lambd=1, *, Generator? generator=None)",
    lambda stream, n, d, t, rate: stream.exponential(n, d, rate),
)
geometric_ = _Draw(
    "geometric(Tensor self, float p, *, Generator? generator=None)",
    lambda stream, n, d, t, p: stream.geometric(n, d, p),
)
cauchy_ = _Draw(
    "cauchy(Tensor self, float median=0, float sigma=1, *, Generator? generator=None)",
    lambda stream, n, d, t, median, sigma: stream.cauchy(n, d, median, sigma),
)
log_normal_ = _Draw(
    "log_normal(Tensor self, float mean=1, float std=2, *, Generator? generator=None)",
    lambda stream, n, d, t, mean, std: stream.log_normal(n, d, mean, std),
)
random_all = _Draw(
    "random(Tensor self, *, Generator? generator=None)",
    lambda stream, n, d, t: stream.random_full(n, d),
    node="RandomBackward2",
)
random_to = _Draw(
    "random.to(Tensor self, int to, *, Generator? generator=None)",
    lambda stream, n, d, t, high: stream.randint(n, d, 0, high),
    node="RandomBackward1",
)
random_between = _Draw(
    "random.from(Tensor self, int from, int? to, *, Generator? generator=None)",
    lambda stream, n, d, t, low, high: (
        stream.random_from(n, d, low) if high is None else stream.randint(n, d, low, high)
    ),
)
bernoulli_number = _Draw(
    "bernoulli.float(Tensor self, float p=0.5, *, Generator? generator=None)",
    lambda stream, n, d, t, p: stream.bernoulli_scalar(n, p, d),
    node="BernoulliBackward2",
)


def _bernoulli_each(stream: Any, n: int, d: np.dtype, t: Tensor, p: Tensor) -> np.ndarray:
    if p.dtype.category < dt.FLOAT:
        raise NotImplementedError(f"\"bernoulli_tensor_cpu_p_\" not implemented for '{p.dtype.legacy}'")
    laid = p.detach().expand(t.shape).permute(_in_memory_order(t.stride()))
    return stream.bernoulli_tensor(_flat(laid.host_array()), d)


bernoulli_each = _Draw(
    "bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None)",
    _bernoulli_each,
    node="BernoulliBackward1",
    p=lambda g, p_shape: g.new_zeros(p_shape),
)
for _op in (uniform_, normal_, exponential_, geometric_, cauchy_, log_normal_):
    publish(_op, function=False, method=False, inplace=True)
publish(random_all, random_to, random_between, names="random", function=False, method=False, inplace=True)
publish(bernoulli_each, bernoulli_number, names="bernoulli", function=False, method=False, inplace=True)


# ---- new tensors


def array_drawn(draw: Callable[[], np.ndarray], shape: Any, d: np.dtype, backend: Backend) -> Any:
    """An array of the numbers that `draw()` gives."""
    return backend.from_host(draw().reshape(tuple(shape))) if backend.values else backend.empty(tuple(shape), d)


def _floating(d: dt.dtype | None) -> dt.dtype:
    return d or dt.get_default_dtype()


@factory("rand(int[] size, *, Generator? generator=None)")
def rand(size: Any, generator: Any, d: Any, backend: Backend) -> Tensor:
    """Numbers between 0 and 1."""
    return uniform_.fresh(size, _floating(d), backend, 0.0, 1.0, generator)


@factory("randn(int[] size, *, Generator? generator=None)")
def randn(size: Any, generator: Any, d: Any, backend: Backend) -> Tensor:
    """Numbers of the standard normal distribution."""
    return normal_.fresh(size, _floating(d), backend, 0.0, 1.0, generator)


@factory("rand_like(Tensor self, *, Generator? generator=None, MemoryFormat? memory_format=None)")
def rand_like(self: Tensor, generator: Any, format_: Any, d: Any, backend: Backend) -> Tensor:
    """Numbers between 0 and 1, in a tensor's form."""
    return uniform_.fresh_like(self, format_, d, backend, 0.0, 1.0, generator)


@factory("randn_like(Tensor self, *, Generator? generator=None, MemoryFormat? memory_format=None)")
def randn_like(self: Tensor, generator: Any, format_: Any, d: Any, backend: Backend) -> Tensor:
    """Numbers of the standard normal distribution, in a tensor's form."""
    return normal_.fresh_like(self, format_, d, backend, 0.0, 1.0, generator)


@factory("randint(int low, int high, int[] size, *, Generator? generator=None)", function=False)
def _randint_between(low: int, high: int, size: Any, generator: Any, d: Any, backend: Backend) -> Tensor:
    return random_between.fresh(size, d or dt.int64, backend, low, high, generator)


@function("randint")
@overridable
def randint(*args: Any, **kwargs: Any) -> Tensor:
    """Integers from low (0) up to but without high."""
    if "low" not in kwargs and len(args) < 3 - ("high" in kwargs) - ("size" in kwargs):
        args = (0, *args)
    return _randint_between(*args, **kwargs)


@factory(
    "randint_like(Tensor self, int low, int high, *, Generator? generator=None, MemoryFormat? memory_format=None)",
    function=False, method=False,
)
def _randint_like_between(
    self: Tensor, low: int, high: int, generator: Any, format_: Any, d: Any, backend: Backend
) -> Any:
    return random_between.fresh_like(self, format_, d, backend, low, high, generator)


@function("randint_like")
@overridable
def randint_like(*args: Any, **kwargs: Any) -> Tensor:
    """Integers from low (0) up to but without high, in a tensor's form."""
    given = len(args) + ("input" in kwargs) + ("self" in kwargs)
    if "low" not in kwargs and given + ("high" in kwargs) == 2:  # the limit alone, which may be a tensor
        *args, high = (*args, kwargs.pop("high")) if "high" in kwargs else args
        kwargs |= {"low": 0, "high": high.item() if isinstance(high, Tensor) else high}
    return _randint_like_between(*args, **kwargs)


@factory("randperm(int n, *, Generator? generator=None)")
def randperm(n: int, generator: Any, d: Any, backend: Backend) -> Tensor:
    """The integers below n in random order."""
    d = d or dt.int64

    def make(batch: tuple[int, ...]) -> Tensor:
        def orders() -> np.ndarray:
            stream = stream_of(generator, backend)
            return np.stack([stream.randperm(n, d.numpy) for _ in range(math.prod(batch))])

        return wrap(array_drawn(orders, (*batch, max(n, 0)), d.numpy, backend), d, backend)

    if local.state.levels:
        return drawn(make)
    if not backend.values:
        return make(())
    return wrap(backend.from_fresh(stream_of(generator, backend).randperm(n, d.numpy), (n,)), d, backend)


# ---- from parameters


class FromParameters(OnBackend, Op):
    """An op whose tensors are parameters for each element."""

    batch = RANDOM

    def apply(self, *values: Any) -> Tensor:
        levels = local.state.levels
        if not levels:
            return super().apply(*values)
        above = max([v.backend.level for v in values if isinstance(v, Tensor)])

        def make(batch: tuple[int, ...]) -> Tensor:
            shape = broadcast_shapes(*[v.array.shape for v in values if isinstance(v, Tensor)])
            wide = [v.expand(*batch, *shape) if batch and isinstance(v, Tensor) else v for v in values]
            return super(FromParameters, self).apply(*wide)

        return drawn(make, above)


def sampler(schema: str, draw: Callable[..., np.ndarray], vjp: Any, **words: Any) -> FromParameters:
    """An op whose `draw(stream, *parameters)` is told the parameters row by row."""

    def kernel(backend: Backend, first: Any, *rest: Any) -> Any:
        *parameters, generator = rest
        stream = stream_of(generator, backend)
        tensors = [p for p in (first, *parameters) if isinstance(p, backend.Array)]
        shape = broadcast_shapes(*[p.shape for p in tensors])

        def told(p: Any) -> Any:
            return _flat(np.broadcast_to(backend.to_host(p), shape)) if isinstance(p, backend.Array) else p

        return array_drawn(lambda: draw(stream, *map(told, (first, *parameters))), shape, first.dtype, backend)

    return FromParameters(schema, kernel, vjp, **words)


def _into_any(op: Op, out: Any, values: Sequence[Any]) -> Any:
    """`out=` may be of any dtype, and is resized without a warning."""

    def draw(p: Tensor, generator: Any) -> Tensor:
        return bernoulli_each.apply_in_place([like(out, None, out.dtype, out.backend.home), p, generator])

    out._resize_output_(values[0].array.shape, out.device)
    return into(out, draw, values, "bernoulli")


bernoulli = sampler(
    "bernoulli(Tensor self, *, Generator? generator=None)",
    lambda stream, p: stream.bernoulli_tensor(p),
    {"self": zero_gradient},
    into=_into_any,
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


def _multinomial(backend: Backend, weights: Any, num_samples: int, replacement: bool, generator: Any) -> Any:
    def draw() -> np.ndarray:
        rows = backend.to_host(weights)  # drawn for in the order in which they lie in memory
        rows = rows if rows.ndim == 2 else rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])
        return stream_of(generator, backend).multinomial(rows, num_samples, replacement)

    return array_drawn(draw, (*weights.shape[:-1], num_samples), dt.int64.numpy, backend)


_indices = FromParameters(
    "_multinomial(Tensor self, int num_samples, bool replacement, Generator? generator)", _multinomial
)


def multinomial(self: Tensor, num_samples: int, replacement: bool, generator: Any) -> Tensor:
    """Indices drawn with the weights that each row gives."""
    if self.dim() not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    return _indices.apply(self, num_samples, replacement, generator)


def _into_indices(out: Any, apply: Callable[..., Tensor], values: Sequence[Any], name: str) -> Tensor:
    if out.dtype is not dt.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype.legacy}")
    indices = apply(*values)
    out._resize_output_(indices.array.shape, out.device)
    return into(out, lambda *_: indices, values, name)


publish_python(
    "multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None)",
    multinomial,
    into=_into_indices,
)


def _check_deviation(mean: Any, std: Any, generator: Any) -> None:
    if isinstance(std, Tensor):
        if std.dtype.is_complex:
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.backend.values and not std.backend.home.level and not bool((std.detach() >= 0).all()):
            raise RuntimeError("normal expects all elements of std >= 0.0")


def _normal_around(backend: Backend, mean: Any, std: Any, generator: Any) -> Any:
    given = [v for v in (mean, std) if isinstance(v, backend.Array)]
    d = given[0].dtype
    drawn = uninitialized(broadcast_shapes(*[v.shape for v in given]), dt.of_numpy(d), backend)
    one = isinstance(std, backend.Array)
    numbers = normal_.apply_in_place([drawn, 0.0, 1.0 if one else std, generator]).array
    stretched = (numbers * std).astype(d) if one else numbers
    return (stretched + mean).astype(d, copy=False)


def _into_converted(op: Op, out: Any, values: Sequence[Any]) -> Any:
    mean, std, generator = [v.to(out.dtype) if isinstance(v, Tensor) else v for v in values]
    if not isinstance(std, Tensor):  # then PyTorch makes the mean fit the shape that `out` has
        mean = mean.expand(broadcast_shapes(mean.array.shape, out.array.shape))
    return Op.into(op, out, (mean, std, generator))


_NO_GRADIENT = {
    "mean": lambda g, mean_shape: g.new_zeros(mean_shape), "std": lambda g, std_shape: g.new_zeros(std_shape),
}  # fmt: skip


def _normal_of(schema: str, node: str, *tensors: str) -> FromParameters:
    """Normal numbers whose mean, deviation or both are an element's own. What they are drawn from gets no gradient."""
    return FromParameters(
        f"{schema}, *, Generator? generator=None)", _normal_around, {name: _NO_GRADIENT[name] for name in tensors},
        node=node, check=_check_deviation, into=_into_converted,
    )  # fmt: skip


normal_of_tensors = _normal_of("normal.Tensor_Tensor(Tensor mean, Tensor std", "NormalBackward3", "mean", "std")
normal_of_means = _normal_of("normal.Tensor_float(Tensor mean, float std=1", "NormalBackward1", "mean")
normal_of_deviations = _normal_of("normal.float_Tensor(float mean, Tensor std", "NormalBackward2", "std")
_each_normal = publish(
    normal_of_tensors, normal_of_means, normal_of_deviations, names="normal", function=False, method=False
)


@factory("normal(float mean, float std, int[] size, *, Generator? generator=None)", function=False)
def _sized_normal(mean: float, std: float, size: Any, generator: Any, d: Any, backend: Backend) -> Tensor:
    return normal_.fresh(size, _floating(d), backend, mean, std, generator)


@function("normal")
def normal(*args: Any, **kwargs: Any) -> Tensor:
    """Normal numbers with a mean and deviation for each, or one for all and a size."""
    return (_sized_normal if "size" in kwargs or len(args) > 2 else _each_normal)(*args, **kwargs)


public[_each_normal] = public[_sized_normal] = normal
