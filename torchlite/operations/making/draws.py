"""Random tensors and in-place draws, from PyTorch's streams.

Numbers are drawn in the memory order of the tensor they are for: on the host, and then moved to its device, or by a
device that has a stream of its own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...backends.base import get_backend
from ...core.declare import Op, Signature, describe, function, publish, signatures_of
from ...core.machine import (
    FILLING,
    Counter,
    Generator,
    Tensor,
    bump,
    default_generator,
    drawn,
    kernel_alone,
    overridable,
    wrap,
)
from ...core.native import in_c
from ...core.state import local, look_past_forms
from ...core.values import CPU, Backend, contiguous_strides, dt, missing_kernel_of
from ...kernels.cpu_random import MT19937Stream
from ..vocabulary import zero_gradient
from .factories import like, uninitialized
from .factory import Draw, factory


def stream_of(generator: Generator | None, backend: Backend) -> MT19937Stream:
    """The stream to draw from."""
    look_past_forms()
    if generator is None:
        return default_generator(backend.device).stream
    if generator.device.type != backend.device.type and backend.values:  # where nothing is drawn, any will do
        raise RuntimeError(
            f"Expected a '{backend.device.type}' device type for generator but found '{generator.device.type}'"
        )
    return generator.stream


def draws_itself(t: Tensor) -> bool:
    """Whether a tensor lies, inside of nothing, on a device that makes the numbers where they are wanted."""
    return t.is_cuda and not local.state.levels and not stream_of(None, t._backend.home).on_host


def stream_of_device(op: str, generator: Generator | None, backend: Backend) -> Any:
    """The stream of a device that draws itself, for the kernel of an op that there is for no other."""
    stream: Any = stream_of(generator, backend)
    if stream.on_host:
        raise missing_kernel_of(op, backend)
    return stream


# ---- in place


def _in_memory_order(strides: tuple[int, ...]) -> tuple[int, ...]:
    """Dimensions from the outermost in memory to the innermost."""
    return tuple(sorted(range(len(strides)), key=lambda i: (-strides[i], i)))


def _flat(host: np.ndarray) -> np.ndarray:
    """The values row by row."""
    return np.ascontiguousarray(host).reshape(-1)


def told(stream: Any, backend: Backend, parameter: Any, shape: Sequence[int]) -> Any:
    """An array's values row by row, for a stream that makes numbers of them."""
    if stream.on_host:
        return _flat(np.broadcast_to(backend.to_host(parameter), shape))
    return backend.xp.ascontiguousarray(backend.xp.broadcast_to(parameter, tuple(shape))).reshape(-1)


def _fill(t: Tensor, draw: Callable[[int], np.ndarray], checked: bool = False) -> None:
    """Fill a tensor's memory with the numbers that `draw(count)` gives; `checked`: it sees parameters if none are."""
    backend, array = t._backend.real, t._array
    if not backend.values:
        if checked:
            draw(0)
        return
    values = draw(array.size)
    if t.is_contiguous():
        backend.write(array, backend.from_fresh(values, array.shape))
        return
    order = _in_memory_order(t.stride())
    backend.write(array.transpose(order), backend.from_fresh(values, tuple([array.shape[i] for i in order])))


# Distributions whose parameters are looked at on the meta device too.
_CHECKED = frozenset(("normal", "exponential", "geometric", "cauchy", "log_normal"))


class _New(NamedTuple):
    """What a draw needs to know of a tensor that is still to be made."""

    dtype: dt.dtype
    shape: tuple[int, ...]

    def stride(self) -> tuple[int, ...]:
        return contiguous_strides(self.shape)

    def is_contiguous(self) -> bool:
        return True


@functools.lru_cache(1024)
def _in_form(size: tuple[int, ...], d: np.dtype) -> tuple[int, _New]:
    """How many numbers there are in a new tensor, and what is known of it."""
    return math.prod(size), _New(dt.of_numpy(d), size)


class _Draw(Op):
    """An in-place draw. The tensor no longer depends on what it was: its gradient is zero."""

    batch = FILLING
    in_place_by_form = True

    def __init__(
        self, schema: str, draw: Callable[..., np.ndarray], parts: bool = False, node: str | None = None,
        kernel: str = "", **others: Any,
    ) -> None:  # fmt: skip
        super().__init__(schema, None, {"self": zero_gradient, **others}, node=node)
        self.draw = draw
        self.parts = parts  # whether complex numbers are drawn, as their real and imaginary parts
        # What draws new numbers row by row, given the stream, a shape, a dtype and the parameters; of this name in C.
        self.in_shape = in_c(kernel, self._in_shape) if kernel else self._in_shape

    def numbers(self, stream: Any, count: int, t: Any, parameters: Sequence[Any]) -> np.ndarray:
        """So many numbers for a tensor."""
        d = t.dtype
        if self.parts and d.is_complex:
            return self.draw(stream, 2 * count, d.to_real().numpy, t, *parameters).view(d.numpy)
        return self.draw(stream, count, d.numpy, t, *parameters)

    def _in_shape(self, stream: Any, size: tuple[int, ...], d: np.dtype, *parameters: Any) -> np.ndarray:
        values = self.numbers(stream, *_in_form(size, d), parameters)
        return get_backend(CPU).from_fresh(values, size)

    def apply(self, *values: Any) -> Tensor:
        """The same into a new tensor, which is what transforms ask for."""
        like_, *parameters = values
        if like_._backend.level:
            return self.run_bound(*values)
        return self.fresh(like_._array.shape, like_.dtype, like_._backend.home, *parameters)

    def apply_in_place(self, values: list[Any]) -> Tensor:
        for level in reversed(local.state.levels):
            if level.serial > values[0]._backend.level and level.draws() is not None:
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
        stream = stream_of(parameters[-1], backend)
        get_backend(CPU).check_room(size, d.numpy)
        values = state.quiet(self.numbers, stream, math.prod(size), _New(d, tuple(size)), parameters[:-1])
        return wrap(backend.from_fresh(values, size), d, backend)

    def fresh_like(self, t: Tensor, format_: Any, d: Any, backend: Backend, *parameters: Any) -> Tensor:
        """A new tensor of numbers, in the form of the tensor inside another whose level has no part in the draw."""
        while (home := t._backend.home).level and (home.owner.elements is None or home.owner.draws() is None):
            inside = t._array.main
            if home.owner.elements is not None:
                inside = inside.select(t._array.dim, 0)
            backend = inside._backend.home if backend is home else backend
            t = inside

        def make(batch: tuple[int, ...]) -> Tensor:
            form = t.expand(*batch, *t.shape) if batch else t
            made = like(form, format_, d, backend)
            if made._backend.level:
                return self.apply(made, *parameters).clone()  # whose memory may have been shared by all elements
            return _unwritten(self.apply_in_place([made, *parameters]))

        return drawn(make, t._backend.level) if local.state.levels else make(())

    def overwrite(self, self_: Tensor, before: Tensor, values: list[Any]) -> None:
        *parameters, generator = values[1:]
        stream = stream_of(generator, self_._backend.real)
        checked = self.signature.name in _CHECKED
        _fill(self_, lambda n: self.numbers(stream, n, self_, parameters), checked)
        bump(self_)

    def native_in_place(self, values: Sequence[Any], tensors: list[Tensor], at: Any) -> Any:
        target, *parameters, _ = values  # no generator is named: it would have no form
        array, cpu = target._array, get_backend(CPU)
        if len(tensors) > 1 or target.dtype.is_complex or not array.flags.c_contiguous:
            return None
        arguments = default_generator(CPU).stream, array.shape, array.dtype, *parameters
        return kernel_alone(self.in_shape, arguments, target.dtype, array.dtype, cpu)


def _unwritten(t: Tensor) -> Tensor:
    """A new tensor; that numbers were drawn into it counts as no write."""
    if t._counter.__class__ is Counter:
        t._counter = None
    return t


def _normal(stream: Any, n: int, d: np.dtype, t: Tensor, mean: float, std: float) -> np.ndarray:
    if t.dtype.is_complex:
        std = std / math.sqrt(2)
    return stream.normal(n, d, mean, std, block=n >= 16 and t.is_contiguous())


def _law(name: str, parameters: str, draw: Callable[..., np.ndarray] | None = None, **more: Any) -> _Draw:
    """Publish what fills a tensor with numbers of a law, for which streams have a method of this name."""

    def of_stream(stream: Any, n: int, d: np.dtype, t: Tensor, *values: float) -> np.ndarray:
        return getattr(stream, name)(n, d, *values)

    op = _Draw(f"{name}(Tensor self, {parameters}, *, Generator? generator=None)", draw or of_stream, **more)
    publish(op, function=False, method=False, inplace=True)
    return op


uniform_ = _law("uniform", "float from=0, float to=1", parts=True, kernel="draw.uniform")
normal_ = _law("normal", "float mean=0, float std=1", _normal, parts=True, kernel="draw.normal")
_law("exponential", "float lambd=1")
_law("geometric", "float p")
_law("cauchy", "float median=0, float sigma=1")
_law("log_normal", "float mean=1, float std=2")
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
    kernel="draw.integers",
)
bernoulli_number = _Draw(
    "bernoulli.float(Tensor self, float p=0.5, *, Generator? generator=None)",
    lambda stream, n, d, t, p: stream.bernoulli_scalar(n, p, d),
    node="BernoulliBackward2",
    kernel="draw.ones",
)


def _bernoulli_each(stream: Any, n: int, d: np.dtype, t: Tensor, p: Tensor) -> np.ndarray:
    if p.dtype.category < dt.FLOAT:
        raise NotImplementedError(f"\"bernoulli_tensor_cpu_p_\" not implemented for '{p.dtype.legacy}'")
    laid = p.detach().expand(t.shape).permute(_in_memory_order(t.stride()))
    return stream.bernoulli_tensor(told(stream, p._backend.real, laid._array, laid.shape), d)


bernoulli_each = _Draw(
    "bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None)",
    _bernoulli_each,
    node="BernoulliBackward1",
    p=lambda g, p_shape: g.new_zeros(p_shape),
)
publish(random_all, random_to, random_between, names="random", function=False, method=False, inplace=True)
publish(bernoulli_each, bernoulli_number, names="bernoulli", function=False, method=False, inplace=True)


# ---- new tensors


def array_drawn(draw: Callable[[], np.ndarray], shape: Any, d: np.dtype, backend: Backend) -> Any:
    """An array of the numbers that `draw()` gives."""
    return backend.from_fresh(draw(), tuple(shape)) if backend.values else backend.empty(tuple(shape), d)


def _floating(d: dt.dtype | None) -> dt.dtype:
    return d or dt.get_default_dtype()


def _standard(name: str, op: _Draw, doc: str) -> None:
    """Publish what draws numbers of a law's standard form: in a tensor of a size, and in one of a tensor's form."""

    def of_size(size: Any, generator: Generator | None, d: Any, backend: Backend) -> Tensor:
        return op.fresh(size, _floating(d), backend, 0.0, 1.0, generator)

    def of_form(self: Tensor, generator: Generator | None, format_: Any, d: Any, backend: Backend) -> Tensor:
        return op.fresh_like(self, format_, d, backend, 0.0, 1.0, generator)

    of_size.__doc__, of_form.__doc__ = f"{doc}.", f"{doc}, in a tensor's form."
    draw, options = Draw(op.in_shape, (0.0, 1.0), op.name), "*, Generator? generator=None"
    factory(f"{name}(int[] size, {options})", draw=draw)(of_size)
    factory(f"{name}_like(Tensor self, {options}, MemoryFormat? memory_format=None)", draw=draw)(of_form)


_standard("rand", uniform_, "Numbers between 0 and 1")
_standard("randn", normal_, "Numbers of the standard normal distribution")


def _from_zero_too(call: Any) -> tuple[Signature, Signature]:
    """The signature of a function of low and high, and that without low."""
    (between,) = signatures_of(call)
    return between, Signature(between.text.replace("int low, ", ""))


@factory(
    "randint(int low, int high, int[] size, *, Generator? generator=None)", function=False,
    draw=Draw(random_between.in_shape, ("low", "high")),
)  # fmt: skip
def _randint_between(low: int, high: int, size: Any, generator: Generator | None, d: Any, backend: Backend) -> Tensor:
    return random_between.fresh(size, d or dt.int64, backend, low, high, generator)


@function("randint", *_from_zero_too(_randint_between))
@overridable
def randint(*args: Any, **kwargs: Any) -> Tensor:
    """Integers from low (0) up to but without high."""
    if "low" not in kwargs and len(args) < 3 - ("high" in kwargs) - ("size" in kwargs):
        args = (0, *args)
    return _randint_between(*args, **kwargs)


@factory(
    "randint_like(Tensor self, int low, int high, *, Generator? generator=None, MemoryFormat? memory_format=None)",
    function=False, method=False, draw=Draw(random_between.in_shape, ("low", "high")),
)  # fmt: skip
def _randint_like_between(
    self: Tensor, low: int, high: int, generator: Generator | None, format_: Any, d: Any, backend: Backend
) -> Any:
    return random_between.fresh_like(self, format_, d, backend, low, high, generator)


@function("randint_like", *_from_zero_too(_randint_like_between))
@overridable
def randint_like(*args: Any, **kwargs: Any) -> Tensor:
    """Integers from low (0) up to but without high, in a tensor's form."""
    given = len(args) + ("input" in kwargs) + ("self" in kwargs)
    if "low" not in kwargs and given + ("high" in kwargs) == 2:  # the limit alone, which may be a tensor
        *rest, high = (*args, kwargs.pop("high")) if "high" in kwargs else args
        args = tuple(rest)
        kwargs |= {"low": 0, "high": high.item() if isinstance(high, Tensor) else high}
    return _randint_like_between(*args, **kwargs)


@factory(
    "randperm(int n, *, Generator? generator=None)",
    draw=Draw(lambda stream, size, d, n: stream.randperm(n, d), ["n"]),
)
def randperm(n: int, generator: Generator | None, d: Any, backend: Backend) -> Tensor:
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


describe(
    cauchy_="Filled with numbers drawn from a Cauchy distribution.",
    exponential_="Filled with numbers drawn from an exponential distribution of rate `lambd`.",
    geometric_="Filled with the numbers of trials up to a first success of probability `p`.",
    log_normal_="Filled with numbers whose logarithms are drawn from a normal distribution.",
    normal_="Filled with numbers drawn from a normal distribution.",
    random_="Filled with whole numbers, each as likely as any other, from `from` up to before `to`.",
    uniform_="Filled with numbers drawn evenly from `from` up to `to`.",
)
