"""Random numbers of CUDA devices, made where they are wanted.

Philox 4x32-10 counts: number `i` of a draw is made of the block of words `counter + i` of the seed's stream, however
many threads there are. They are not the numbers of PyTorch's CUDA generators, which depend on the threads of a GPU.

In a CUDA graph, seed and counter are read from memory of the device, which is written before each replay: so it draws
the numbers that would have been drawn without it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from ..kernels.cpu_random import MT19937Stream, checks
from .cupy_kernels import asserts, attention
from .cupy_kernels.philox import PHILOX
from .cupy_kernels.raw import SUMS

_BLOCK = 4  # words, which the offset of a generator counts


def _kernel(name: str, parameters: str, body: str, result: str = "T y") -> Any:
    return cupy.ElementwiseKernel(
        f"uint64 seed, uint64 counter, uint64 graph, {parameters}", result,
        f"const torchlite_block made(seed, counter + i, graph); {body}", f"torchlite_{name}",
        preamble=PHILOX + SUMS + asserts.SOURCE,
    )  # fmt: skip


_NORMAL = "sqrt(R(-2) * log1p(-made.unit(0, R()))) * cospi(R(2) * made.unit(1, R())) * b + a"
_LAWS = {
    "uniform": "y = T(made.unit(0, R()) * (b - a) + a); if (R(y) == R(T(b))) y = T(a)",
    "normal": f"y = T({_NORMAL})",
    "log_normal": f"y = T(exp({_NORMAL}))",
    "exponential": "y = T(-log1p(-made.unit(0, R())) / a)",
    "geometric": "y = T(max(ceil(log1p(-made.unit(0, R())) / log1p(-a)), R(1)))",
    "cauchy": "y = T(a + b * tan(R(3.141592653589793) * (made.unit(0, R()) - R(0.5))))",
    "bernoulli": "y = T(R(made.unit(0, double()) < a))",
}
_kernels = {
    (name, real): _kernel(name, f"{real} a, {real} b", f"typedef {type_} R; {body}")
    for name, body in _LAWS.items()
    for real, type_ in (("float32", "float"), ("float64", "double"))
}
_integers = _kernel(
    "integers", "uint64 span, int64 low", "y = (long long)(span ? made.whole(0) % span : made.whole(0)) + low",
    "int64 y",
)  # fmt: skip
_each = _kernel(
    "bernoulli_each", "P p, int64 found",
    "const double wanted = double(float(p));"
    "if (!(wanted >= 0 && wanted <= 1)) wrong((long long*)found, 3, 0);"
    "y = T(float(made.unit(0, double()) < wanted))",
)  # fmt: skip
_dropout = _kernel(
    "dropout", "S x, float64 keep",
    "typedef torchlite_sum<S>::type T; mask = made.unit(0, double()) < keep; y = S(T(x) * T(mask) * T(1 / keep))",
    "S y, bool mask",
)  # fmt: skip
_again = cupy.ElementwiseKernel(
    "raw uint64 drawn, float64 keep", "T y",
    "const torchlite_block made(drawn[0], drawn[1] + i, 0); y = T(double(made.unit(0, double()) < keep) / keep)",
    "torchlite_dropped_again", preamble=PHILOX,
)  # fmt: skip
_begin_at = cupy.ElementwiseKernel(
    "uint64 seed, uint64 counter", "uint64 state", "state = i ? counter : seed", "torchlite_begin_at"
)


class Drawn:
    """What a CUDA graph draws of a stream: so many blocks, from where `state` says."""

    def __init__(self) -> None:
        self.state, self.blocks = cupy.zeros(2, np.uint64), 0


def _on_host(law: str) -> Callable[..., np.ndarray]:
    """What takes trial and error, or rows of weights."""

    def draw(self: PhiloxStream, *parameters: Any) -> np.ndarray:
        if self.captured is not None:
            raise RuntimeError(f"torchlite draws {law} numbers on the host, which a CUDA graph does not capture")
        seeds = np.random.SeedSequence(self._begin(1)[:2])
        stream = MT19937Stream(int(seeds.generate_state(1)[0]))
        return getattr(stream, law)(*[p.get() if p.__class__ is cupy.ndarray else p for p in parameters])

    return draw


class PhiloxStream:
    """The numbers of a generator of a CUDA device, with the methods of `MT19937Stream`, and its refusals.

    What takes trial and error is drawn on the host, from a stream that is begun for the call.
    """

    on_host = False
    captured: Drawn | None = None  # while a graph is captured

    def __init__(self, seed: int, device: int) -> None:
        self._lock, self._device = threading.Lock(), device
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start anew."""
        self.initial_seed, self._counter = seed % 2**64, 0

    @property
    def offset(self) -> int:
        """How many words were drawn."""
        return self._counter * _BLOCK

    @offset.setter
    def offset(self, words: int) -> None:
        if words % _BLOCK:
            raise RuntimeError(f"offset must be a multiple of {_BLOCK}")
        self._counter = words // _BLOCK

    def get_state(self) -> np.ndarray:
        """Seed and offset, as PyTorch's 16 bytes."""
        return np.array([self.initial_seed, self.offset], "<u8").view(np.uint8)

    def set_state(self, state: np.ndarray) -> None:
        """Continue from what `get_state` gave."""
        if state.size != 2 * 8:
            raise RuntimeError("RNG state is wrong size")
        seed, words = map(int, np.frombuffer(state.tobytes(), "<u8"))
        self.initial_seed, self.offset = seed, words

    def clone(self) -> PhiloxStream:
        """An independent stream that goes on as this one does."""
        twin = PhiloxStream(0, self._device)
        twin.set_state(self.get_state())
        return twin

    def replay(self, drawn: Drawn) -> None:
        """Let a graph draw the next numbers when it is launched."""
        if drawn.blocks:
            _begin_at(*self._begin(drawn.blocks)[:2], drawn.state)

    def _begin(self, n: int) -> tuple[int, int, int]:
        """The seed, the first of n blocks, and where both are to be looked up in a graph."""
        with self._lock:
            drawn = self.captured
            if drawn is not None:
                drawn.blocks += n
                return 0, drawn.blocks - n, drawn.state.data.ptr
            if cupy.cuda.get_current_stream().is_capturing():
                raise RuntimeError("Attempt to increase offset for a CUDA generator not in capture mode.")
            counter = self._counter
            self._counter += n
        return self.initial_seed, counter, 0

    def _run(self, kernel: Any, n: int, dtype: Any, *numbers: Any) -> Any:
        with cupy.cuda.Device(self._device):
            made = cupy.empty(n, dtype)
            if n:
                kernel(*self._begin(n), *numbers, made)
            return made

    def _draw(self, law: str, n: int, dtype: np.dtype, a: float, b: float = 0.0) -> Any:
        real = "float64" if dtype == np.float64 or dtype.kind in "iub" else "float32"
        return self._run(_kernels[law, real], n, dtype, a, b)

    def uniform(self, n: int, dtype: np.dtype, lo: float = 0.0, hi: float = 1.0) -> Any:
        """Numbers in [lo, hi)."""
        checks.uniform(dtype, lo, hi)
        return self._draw("uniform", n, dtype, lo, hi)

    def normal(self, n: int, dtype: np.dtype, mean: float = 0.0, std: float = 1.0, *, block: bool = True) -> Any:
        """Normal numbers."""
        checks.normal(std)
        if n:
            checks.implemented("normal_kernel_cuda", dtype)
        return self._draw("normal", n, dtype, mean, std)

    def log_normal(self, n: int, dtype: np.dtype, mean: float = 1.0, std: float = 2.0) -> Any:
        """Numbers whose logarithms are normal."""
        checks.positive("log_normal_", "std", std)
        if n:
            checks.implemented("log_normal_cuda", dtype)
        return self._draw("log_normal", n, dtype, mean, std)

    def exponential(self, n: int, dtype: np.dtype, rate: float = 1.0) -> Any:
        """Waiting times of this rate."""
        checks.positive("exponential_", "lambda", rate)
        if n:
            checks.continuous("Exponential", dtype)
        return self._draw("exponential", n, dtype, rate)

    def geometric(self, n: int, dtype: np.dtype, p: float) -> Any:
        """The number of trials up to the first success."""
        checks.geometric(p)
        if n:
            checks.implemented("geometric_cuda", dtype, checks.NUMBER_TYPES)
        return self._draw("geometric", n, dtype, p)

    def cauchy(self, n: int, dtype: np.dtype, median: float = 0.0, sigma: float = 1.0) -> Any:
        """Numbers of the Cauchy distribution."""
        checks.positive("cauchy_", "sigma", sigma)
        checks.continuous("Cauchy", dtype)
        return self._draw("cauchy", n, dtype, median, sigma)

    def bernoulli_scalar(self, n: int, p: float, dtype: np.dtype) -> Any:
        """Ones with probability p, else zeros."""
        checks.bernoulli(p)
        if n:
            checks.implemented("bernoulli_scalar_cuda_", dtype, checks.KERNEL_TYPES)
        return self._draw("bernoulli", n, np.dtype(dtype), p)

    def bernoulli_tensor(self, p: Any, dtype: Any = None) -> Any:
        """Ones with the probabilities p (flat), else zeros; one that is none is told at the next wait."""
        dtype = p.dtype if dtype is None else np.dtype(dtype)
        if p.size:
            checks.implemented("bernoulli_tensor_cuda_self_", dtype, checks.KERNEL_TYPES)
            checks.implemented("bernoulli_tensor_cuda_p_", p.dtype)
        return self._run(_each, p.size, dtype, p, int(asserts.places()))

    def dropout(self, x: Any, keep: float) -> tuple[Any, Any]:
        """Numbers of which each is kept with this probability, and scaled, or 0; and which were kept."""
        made, mask = cupy.empty_like(x), cupy.empty_like(x, bool)
        order = sorted(range(x.ndim), key=lambda d: -made.strides[d])
        with cupy.cuda.Device(self._device):
            _dropout(*self._begin(x.size), x.transpose(order), keep, made.transpose(order), mask.transpose(order))
        return made, mask

    takes_attention, attention_backward = staticmethod(attention.takes), staticmethod(attention.dropped_backward)

    def attention(
        self, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float, keep: float
    ) -> tuple[Any, ...]:
        """Attention whose weights are dropped as `dropout` would; the logarithms of its sums, and what was drawn from.

        That is where the numbers began, for gradients to draw them again.
        """
        with cupy.cuda.Device(self._device):
            begin = self._begin(math.prod(query.shape[:-1]) * key.shape[-2])
            return attention.dropped(query, key, value, mask, causal, scale, keep, *begin)

    def dropped_again(self, drawn: Any, size: tuple[int, ...], dtype: np.dtype, keep: float) -> Any:
        """What numbers were multiplied with that were dropped: 0, or one over the probability to be kept."""
        made = cupy.empty(size, dtype)
        _again(drawn, keep, made)
        return made

    def _between(self, n: int, dtype: np.dtype, low: int, end: int) -> Any:
        return self._run(_integers, n, np.int64, (end - low) % 2**64, low).astype(dtype, copy=False)

    def randint(self, n: int, dtype: np.dtype, lo: int, hi: int) -> Any:
        """Integers in [lo, hi)."""
        return self._between(n, dtype, *checks.integers(np.dtype(dtype), lo, hi))

    def random_from(self, n: int, dtype: np.dtype, lo: int) -> Any:
        """Integers from lo to the largest that the dtype holds."""
        if lo != checks.INT64_MIN:
            return self._between(n, dtype, *checks.integers_from(np.dtype(dtype), lo))
        if n:
            checks.all_of_int64(np.dtype(dtype))
        return self._between(n, dtype, lo, 2**63)

    def random_full(self, n: int, dtype: np.dtype) -> Any:
        """Integers from 0 to the largest that the dtype holds."""
        if n:
            checks.implemented("random_kernel_cuda", dtype, checks.KERNEL_TYPES)
        return self._between(n, dtype, 0, checks.FULL_RANGE.get(np.dtype(dtype), 1))

    def randperm(self, n: int, dtype: np.dtype) -> Any:
        """A permutation of 0 ... n - 1."""
        checks.randperm(n, dtype)
        return cupy.argsort(self._between(n, np.dtype(np.int64), -(2**63), 2**63)).astype(dtype, copy=False)

    multinomial, poisson, binomial, standard_gamma, dirichlet = map(
        _on_host, ("multinomial", "poisson", "binomial", "standard_gamma", "dirichlet")
    )
