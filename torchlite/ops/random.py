"""Random tensors and in-place draws, from PyTorch's streams.

Numbers are drawn on the host in the memory order of the tensor they are for, then moved to its device.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.cpu_random import MT19937Stream
from ..core import dtype as dt
from ..core import generator as generators
from ..core.batching import FILLING, RANDOM
from ..core.errors import not_implemented_for
from ..core.generator import default_generator
from ..core.mode import local
from ..core.op import Op
from ..core.operands import common_backend
from ..core.overrides import overridable, public
from ..core.publish import functions, method, publish, publish_python
from ..core.tensor import Tensor, wrap
from ..core.write import bump
from .create import factory, like
from .host import from_numpy

if TYPE_CHECKING:
    from collections.abc import Callable

generators.make_stream.append(MT19937Stream)
generators.as_tensor.append(from_numpy)


def stream_of(generator: Any, backend: Any) -> MT19937Stream:
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


def write_drawn(t: Tensor, draw: Callable[[int, np.dtype], np.ndarray]) -> None:
    """Fill a tensor's memory with the `count` numbers that `draw(count, dtype)` gives."""
    backend, d, array = t.backend.real, t.dtype, t.array
    if not backend.values:
        return
    count = array.size
    if not count:
        draw(0, d.to_real().numpy)
        return
    values = draw(2 * count, d.to_real().numpy).view(d.numpy) if d.is_complex else draw(count, d.numpy)
    order = _in_memory_order(t.stride())
    backend.write(array.transpose(order), backend.from_host(values.reshape([array.shape[i] for i in order])))


class _Draw(Op):
    """An in-place draw. The tensor no longer depends on what it was: its gradient is zero."""

    batch = FILLING

    def __init__(self, schema: str, draw: Callable[..., np.ndarray], **others: None) -> None:
        super().__init__(schema, None, {"self": lambda g: g.new_zeros(g.shape), **others})
        self.draw = draw

    def apply(self, *values: Any) -> Tensor:
        """The same into a new tensor, which is what transforms ask for."""
        like_, *parameters = values
        if like_.backend.level:
            return super().apply(*values)
        return self.apply_in_place([_new(like_.array.shape, like_.dtype, like_.backend.real), *parameters])

    def overwrite(self, self_: Tensor, before: Tensor, values: list[Any]) -> None:
        *parameters, generator = values[1:]
        stream = stream_of(generator, self_.backend.real)
        write_drawn(self_, lambda n, d: self.draw(stream, n, d, self_, *parameters))
        bump(self_)


def _normal(stream: Any, n: int, d: np.dtype, t: Tensor, mean: float, std: float) -> np.ndarray:
    if t.dtype.is_complex:
        std = std / math.sqrt(2)
    return stream.normal(n, d, mean, std, block=n >= 16 and t.is_contiguous())


uniform_ = _Draw(
    "uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None)",
    lambda stream, n, d, t, low, high: stream.uniform(n, d, low, high),
)
normal_ = _Draw("normal(Tensor self, float mean=0, float std=1, *, Generator? generator=None)", _normal)
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
)
random_to = _Draw(
    "random.to(Tensor self, int to, *, Generator? generator=None)",
    lambda stream, n, d, t, high: stream.randint(n, d, 0, high),
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
)


def _bernoulli_each(stream: Any, n: int, d: np.dtype, t: Tensor, p: Tensor) -> np.ndarray:
    if p.dtype.category < dt.FLOAT:
        raise RuntimeError(f"Expected a floating-point tensor of probabilities, but got {p.dtype}")
    return stream.bernoulli_tensor(_flat(p.expand(t.array.shape).permute(_in_memory_order(t.stride()))), d)


bernoulli_each = _Draw(
    "bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None)", _bernoulli_each, p=None
)
publish(uniform_, forms="inplace")
publish(normal_, forms="inplace")
publish(exponential_, forms="inplace")
publish(geometric_, forms="inplace")
publish(cauchy_, forms="inplace")
publish(log_normal_, forms="inplace")
publish(random_all, random_to, random_between, names="random", forms="inplace")
publish(bernoulli_each, bernoulli_number, names="bernoulli", forms="inplace")


# ---- new tensors


def _flat(t: Tensor) -> np.ndarray:
    """A tensor's values on the host, row by row."""
    return np.ascontiguousarray(t.detach().host_array()).reshape(-1)


def _drawn(draw: Callable[[], np.ndarray], shape: Any, d: dt.dtype, backend: Any) -> Tensor:
    """A tensor of the numbers that `draw()` gives."""
    if not backend.values:
        return wrap(backend.empty(tuple(shape), d.numpy), d, backend)
    return wrap(backend.from_host(draw().reshape(tuple(shape))), d, backend)


def _floating(d: dt.dtype | None) -> dt.dtype:
    return d or dt.get_default_dtype()


@factory("rand(int[] size, *, Generator? generator=None)")
def rand(size: Any, generator: Any, d: Any, backend: Any) -> Tensor:
    """Numbers between 0 and 1."""
    return uniform_.apply_in_place([_new(size, _floating(d), backend), 0.0, 1.0, generator])


@factory("randn(int[] size, *, Generator? generator=None)")
def randn(size: Any, generator: Any, d: Any, backend: Any) -> Tensor:
    """Numbers of the standard normal distribution."""
    return normal_.apply_in_place([_new(size, _floating(d), backend), 0.0, 1.0, generator])


def _new(size: Any, d: dt.dtype, backend: Any) -> Tensor:
    for n in size:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")
    return wrap(backend.empty(tuple(size), d.numpy), d, backend)


@factory("rand_like(Tensor self, *, Generator? generator=None, MemoryFormat? memory_format=None)")
def rand_like(self: Tensor, generator: Any, format_: Any, d: Any, backend: Any) -> Tensor:
    """Numbers between 0 and 1, in a tensor's form."""
    return uniform_.apply_in_place([like(self, format_, d, backend), 0.0, 1.0, generator])


@factory("randn_like(Tensor self, *, Generator? generator=None, MemoryFormat? memory_format=None)")
def randn_like(self: Tensor, generator: Any, format_: Any, d: Any, backend: Any) -> Tensor:
    """Numbers of the standard normal distribution, in a tensor's form."""
    return normal_.apply_in_place([like(self, format_, d, backend), 0.0, 1.0, generator])


def _integers(t: Tensor, low: int, high: int, generator: Any) -> Tensor:
    return random_between.apply_in_place([t, low, high, generator])


@factory("_randint(int low, int high, int[] size, *, Generator? generator=None)")
def _randint(low: int, high: int, size: Any, generator: Any, d: Any, backend: Any) -> Tensor:
    return _integers(_new(size, d or dt.int64, backend), low, high, generator)


@overridable
def randint(*args: Any, **kwargs: Any) -> Tensor:
    """Integers from low (0) up to but without high."""
    low = kwargs.pop("low", None)
    args = tuple(args)
    if low is None and args and (len(args) > 2 or (len(args) == 2 and "size" in kwargs) or "high" in kwargs):
        low, args = args[0], args[1:]
    return functions["_randint"](low or 0, *args, **kwargs)


functions["randint"] = randint


@factory("randint_like(Tensor self, Operand low, int? high=None, *, Generator? generator=None, MemoryFormat? memory_format=None)")
def randint_like(self: Tensor, low: Any, high: Any, generator: Any, format_: Any, d: Any, backend: Any) -> Tensor:
    """Integers from low (0) up to but without high, in a tensor's form."""
    low = int(low)
    if high is None:
        low, high = 0, low
    return _integers(like(self, format_, d, backend), low, high, generator)


@factory("randperm(int n, *, Generator? generator=None)")
def randperm(n: int, generator: Any, d: Any, backend: Any) -> Tensor:
    """The integers below n in random order."""
    d = d or dt.int64
    return _drawn(lambda: stream_of(generator, backend).randperm(n, d.numpy), (max(n, 0),), d, backend)


# ---- from parameters


def _sampler(schema: str, law: str, vjp: Any = None, types: str = "") -> Op:
    """An op whose elements are drawn each with a parameter of its own."""

    class Sampler(Op):
        batch = RANDOM

        def apply(self, *values: Any) -> Tensor:
            if common_backend(self, values).level:
                return super().apply(*values)
            *parameters, generator = values
            first = parameters[0]
            if types and first.dtype.category < dt.FLOAT:
                raise not_implemented_for(types, first.dtype)
            backend = first.backend.real
            draw = getattr(stream_of(generator, backend), law)
            result = _drawn(lambda: draw(*map(_flat, parameters)), first.array.shape, first.dtype, backend)
            if local.state.mode.grad:
                self.record(values, (result,))
            return result

    return Sampler(schema, None, vjp)


def _nothing(g: Tensor) -> Tensor:
    return g.new_zeros(g.shape)


bernoulli = _sampler(
    "bernoulli(Tensor self, *, Generator? generator=None)", "bernoulli_tensor", {"self": _nothing}, "bernoulli_tensor_cpu_p_"
)
poisson = _sampler("poisson(Tensor self, Generator? generator=None)", "poisson", {"self": _nothing}, "poisson_cpu")
binomial = _sampler(
    "binomial(Tensor count, Tensor prob, Generator? generator=None)", "binomial", {"count": None, "prob": _nothing}
)
publish(poisson, forms="function")
publish(binomial, forms="function")


def _bernoulli_of(self: Tensor, p: float, generator: Any) -> Tensor:
    return bernoulli_number.apply_in_place([_new(self.array.shape, self.dtype, self.backend.real), p, generator])


_plain_bernoulli = bernoulli.function()


def bernoulli_function(*args: Any, **kwargs: Any) -> Tensor:
    """Zeros and ones: each is 1 with the probability that the tensor (or `p`) says."""
    if len(args) > 1 or "p" in kwargs:
        return _published_bernoulli(*args, **kwargs)
    return _plain_bernoulli(*args, **kwargs)


_published_bernoulli = publish_python(
    "bernoulli(Tensor self, float p, *, Generator? generator=None)", _bernoulli_of, forms="function"
)
public[_plain_bernoulli] = public[_published_bernoulli] = functions["bernoulli"] = bernoulli_function
method("bernoulli")(bernoulli_function)


def _multinomial(self: Tensor, num_samples: int, replacement: bool, generator: Any) -> Tensor:
    """Indices drawn with the weights that each row gives."""
    if self.dim() not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    backend = self.backend.real

    def draw() -> np.ndarray:
        host = self.detach().host_array()
        return stream_of(generator, backend).multinomial(host[None] if self.dim() == 1 else host, num_samples, replacement)

    shape = (num_samples,) if self.dim() == 1 else (self.array.shape[0], num_samples)
    return _drawn(draw, shape, dt.int64, backend)


publish_python("multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None)", _multinomial)


def normal(*args: Any, **kwargs: Any) -> Tensor:
    """Normal numbers with a mean and deviation for each, or one for all and a size."""
    mean = args[0] if args else kwargs.get("mean", 0.0)
    std = args[1] if len(args) > 1 else kwargs.get("std", 1.0)
    if "size" in kwargs or len(args) > 2:
        return _sized_normal(*args, **kwargs)
    generator, out = kwargs.get("generator"), kwargs.get("out")
    like_ = mean if isinstance(mean, Tensor) else std
    if not isinstance(like_, Tensor):
        raise TypeError("normal() needs a tensor, or a size")
    shape = like_.array.shape
    if isinstance(mean, Tensor) and isinstance(std, Tensor):
        shape = tuple((mean.detach() + std.detach()).shape)
    drawn = normal_.apply_in_place([_new(shape, like_.dtype, like_.backend.real), 0.0, 1.0, generator])
    if isinstance(std, Tensor) and std.dtype.is_complex:
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if std is like_ or isinstance(std, Tensor):
        if std.backend.values and bool((std.detach() < 0).any()):
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    result = (drawn * std + mean).detach()
    return out.copy_(result) if out is not None else result


@factory("_normal(float mean, float std, int[] size, *, Generator? generator=None)")
def _sized(mean: float, std: float, size: Any, generator: Any, d: Any, backend: Any) -> Tensor:
    return normal_.apply_in_place([_new(size, _floating(d), backend), mean, std, generator])


_sized_normal = functions.pop("_normal")
functions["normal"] = normal


def _dropout(self: Tensor, p: float, train: bool) -> Tensor:
    """Zero elements with probability `p` and scale the others up, when `train`."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not train or not self.numel():
        return self
    if p == 1:
        return self * self.new_zeros(())
    noise = like(self, None, self.dtype, self.backend.real)
    bernoulli_number.apply_in_place([noise, 1 - p, None])
    return self * noise.div_(1 - p)


publish_python("dropout(Tensor input, float p, bool train)", _dropout, forms="function")
