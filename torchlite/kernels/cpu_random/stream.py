"""Every draw of PyTorch's CPU generator, as flat arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from types import FunctionType

import ml_dtypes
import numpy as np

from . import checks, rejection
from .arithmetic import F4, F8, exp, libm, long_words, multiply_add, ones_below, unit_doubles, unit_floats
from .engine import FEW_WORDS, STATE_WORDS, MT19937Engine, normal_pair
from .normals import fill_normals, join_blocks, normals_of_doubles, normals_of_polar
from .permutation import permutation

_HALVES = frozenset((np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)))
_SINGLE, _DOUBLE = np.dtype(F4), np.dtype(F8)

# Long draws go piece by piece, so that what is between the words and the numbers stays in the cache. A piece is whole
# states, and with them whole blocks of 16.
_PIECE = 105 * STATE_WORDS

_LONG_RANGE = 2**28  # from here on integers are made of 64 bits


class MT19937Stream(MT19937Engine):
    """A generator of PyTorch's CPU numbers. Equal seeds give PyTorch's numbers, and its states, after any draws.

    Every draw returns a fresh one-dimensional array, in the memory order of the tensor it is for (complex tensors draw
    twice as many numbers of their real dtype). Arguments are checked before anything is drawn. Draws may come from
    several threads; each is one undivided stretch of the stream.
    """

    on_host = True  # where parameters that are arrays are read, and numbers made

    # Uniforms and normals

    def uniform(self, n: int, dtype: np.dtype, lo: float = 0.0, hi: float = 1.0) -> np.ndarray:
        """Numbers in [lo, hi)."""
        dtype = np.dtype(dtype)
        words, law = _uniform_law(dtype, lo, hi)
        if law is unit_floats and n <= FEW_WORDS:
            with self._lock:
                return self._ready_uniforms(n)
        return self._pieces(n, dtype, words, law)

    def normal(self, n: int, dtype: np.dtype, mean: float = 0.0, std: float = 1.0, *, block: bool) -> np.ndarray:
        """Normal numbers; `block` says that the tensor is contiguous and has at least 16 of them."""
        dtype = np.dtype(dtype)
        checks.normal(std)
        if n:
            checks.implemented("normal_kernel_cpu", dtype)
        with self._lock:
            if block:
                return self._normal_blocks(n, dtype, mean, std)
            return _cast(multiply_add(self._normals(n), std, mean), dtype)

    def log_normal(self, n: int, dtype: np.dtype, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
        dtype = np.dtype(dtype)
        checks.positive("log_normal_", "std", std)
        if n:
            checks.implemented("log_normal_cpu", dtype)
        with self._lock:
            return _cast(libm(exp, multiply_add(self._normals(n), std, mean)), dtype)

    def _normals(self, n: int) -> np.ndarray:
        """Standard normals in float64, pair by pair."""
        kept = [self._normal] if n and self._normal is not None else []
        pairs = (n - len(kept) + 1) // 2
        u = self._doubles(2 * pairs).tolist()
        normals = kept + [x for pair in map(normal_pair, u[0::2], u[1::2]) for x in pair]
        if n:
            self._normal = normals.pop() if len(normals) > n else None
        return np.array(normals, F8)

    def _normal_blocks(self, n: int, dtype: np.dtype, mean: float, std: float) -> np.ndarray:
        """Normals by blocks of 16; of an n that is no multiple of 16 the last 16 are drawn once more."""
        if n <= FEW_WORDS and dtype == _SINGLE and isinstance(fill_normals, FunctionType):
            return multiply_add(self._few_normals(n), std, mean)
        normals = np.empty(n, F8 if dtype == _DOUBLE else F4)
        start = 0
        while start < n:
            piece = normals[start : start + self._piece()]
            start += piece.size
            whole = piece.size // 16 * 16
            tail = piece.size - whole
            # The tail's own uniforms are drawn, but for halves, and not used.
            passed = 0 if dtype in _HALVES else tail
            last = 16 if tail else 0
            if dtype == _DOUBLE:
                doubles = _joined(self._doubles(whole + passed + last), whole, last)
                first, second = [multiply_add(row, std, mean) for row in normals_of_doubles(doubles)]
                join_blocks(first[: whole // 2], second[: whole // 2], piece[:whole])
                if tail:
                    join_blocks(first[whole // 2 :], second[whole // 2 :], normals[-16:])
                del first, second  # so that the next piece is made in the same memory, which is in the cache
            else:
                words = self._words(whole + passed + last)
                fill_normals(piece[:whole], words[:whole], mean, std)
                if tail:
                    fill_normals(normals[-16:], words[-16:], mean, std)
        return normals.astype(dtype, copy=False)

    def _few_normals(self, n: int) -> np.ndarray:
        whole = n // 16 * 16
        if n == whole and (ready := self._ready_normals(n)) is not None:
            return ready
        normals = np.empty(n, F4)
        table = self._polar(n if n == whole else n + 16)
        normals_of_polar(table[:, :whole], normals[:whole])
        if n != whole:
            normals_of_polar(table[:, -16:], normals[-16:])
        return normals

    # Integers

    def randint(self, n: int, dtype: np.dtype, lo: int, hi: int) -> np.ndarray:
        """Integers in [lo, hi): `randint` and `random_` with bounds."""
        dtype = np.dtype(dtype)
        lo, hi = checks.integers(dtype, lo, hi)
        return self._pieces(n, dtype, *_integer_law(dtype, lo, hi, long=hi - lo >= _LONG_RANGE))

    def random_from(self, n: int, dtype: np.dtype, lo: int) -> np.ndarray:
        """Integers from lo to the largest that the dtype holds: `random_(lo, None)`."""
        dtype = np.dtype(dtype)
        if lo == checks.INT64_MIN:
            if n:
                checks.all_of_int64(dtype)
            hi = 2**63
        else:
            lo, hi = checks.integers_from(dtype, lo)
        return self._pieces(n, dtype, *_integer_law(dtype, lo, hi, long=hi - lo >= _LONG_RANGE))

    def random_full(self, n: int, dtype: np.dtype) -> np.ndarray:
        """Integers from 0 to the largest that the dtype holds: `random_()`."""
        dtype = np.dtype(dtype)
        if n:
            checks.implemented("random_kernel_cpu", dtype, checks.KERNEL_TYPES)
        end = checks.FULL_RANGE.get(dtype, 1)
        return self._pieces(n, dtype, *_integer_law(dtype, 0, end, long=dtype in (np.int64, _DOUBLE)))

    def randperm(self, n: int, dtype: np.dtype) -> np.ndarray:
        """A permutation of 0 ... n - 1."""
        dtype = np.dtype(dtype)
        checks.randperm(n, dtype)
        with self._lock:
            order = permutation(n, self._words)
        return _cast(order, dtype)

    # One or two words a number

    def bernoulli_scalar(self, n: int, p: float, dtype: np.dtype) -> np.ndarray:
        """Ones with probability p, else zeros."""
        dtype = np.dtype(dtype)
        checks.bernoulli(p)
        if n:
            checks.implemented("bernoulli_scalar_cpu_", dtype, checks.KERNEL_TYPES)
        return self._pieces(n, dtype, 2, lambda words: ones_below(words, p, dtype))

    def bernoulli_tensor(self, p: np.ndarray, dtype: np.dtype | None = None) -> np.ndarray:
        """Ones with the probabilities p (flat), else zeros, in p's dtype or the one given."""
        dtype = p.dtype if dtype is None else np.dtype(dtype)
        if p.size:
            checks.implemented("bernoulli_tensor_cpu_self_", dtype, checks.KERNEL_TYPES)
            checks.implemented("bernoulli_tensor_cpu_p_", p.dtype)
        wide = p.dtype == _DOUBLE
        units, words = (unit_doubles, 2) if wide else (unit_floats, 1)
        impossible = np.flatnonzero(~((p >= 0) & (p <= 1)))
        n = impossible[0] if impossible.size else p.size
        # Like PyTorch, which looks at each probability as it comes to it, draw as far as they make sense.
        u = self._pieces(n, _DOUBLE if wide else np.dtype(F4), words, units)
        if impossible.size:
            raise RuntimeError(
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  "
                "If so, please report an enhancement request to PyTorch.)"
            )
        return (u < p.astype(u.dtype, copy=False)).astype(dtype)

    def exponential(self, n: int, dtype: np.dtype, rate: float = 1.0) -> np.ndarray:
        dtype = np.dtype(dtype)
        checks.positive("exponential_", "lambda", rate)
        if n:
            checks.continuous("Exponential", dtype)
        log1p = _exact(math.log1p, np.log1p, dtype)
        return self._pieces(n, dtype, 2, lambda words: _cast(log1p(-unit_doubles(words)) * (-1 / rate), dtype))

    def geometric(self, n: int, dtype: np.dtype, p: float) -> np.ndarray:
        """The number of trials up to the first success."""
        dtype = np.dtype(dtype)
        checks.geometric(p)
        if n:
            checks.implemented("geometric_cpu", dtype, checks.NUMBER_TYPES)
        log_failure = math.log1p(-p)
        return self._pieces(n, dtype, 2, lambda words: _cast(np.ceil(np.log(unit_doubles(words)) / log_failure), dtype))

    def cauchy(self, n: int, dtype: np.dtype, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
        dtype = np.dtype(dtype)
        checks.positive("cauchy_", "sigma", sigma)
        checks.continuous("Cauchy", dtype, in_c=True)
        tan = _exact(math.tan, np.tan, dtype)

        def law(words: np.ndarray) -> np.ndarray:
            return _cast(multiply_add(tan(math.pi * (unit_doubles(words) - 0.5)), sigma, median), dtype)

        return self._pieces(n, dtype, 2, law)

    def _pieces(self, n: int, dtype: np.dtype, words: int, law: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """`law` of n times so many words."""
        with self._lock:
            if n * words <= _PIECE:
                return law(self._words(n * words))
            out = np.empty(n, dtype)
            start = 0
            while start < n:
                piece = out[start : start + self._piece() // words]
                piece[:] = law(self._words(piece.size * words))
                start += piece.size
            return out

    def _piece(self) -> int:
        """How many words to draw next of very many: the blocks of 16 at hand and a piece of whole states."""
        return self._at_hand() // 16 * 16 + _PIECE

    # Categories

    def multinomial(self, p: np.ndarray, n: int, replacement: bool) -> np.ndarray:
        """n indices for each row of weights, with shape (rows, n)."""
        checks.multinomial(p, n, replacement)
        return self._choices(p, n) if replacement and n > 1 else self._top_choices(p, n)

    def _choices(self, p: np.ndarray, n: int) -> np.ndarray:
        # PyTorch looks at each row as it comes to it, and draws for those before a wrong one.
        good, wrong = checks.good_rows(p)
        u = self._pieces(good * n, _DOUBLE, 2, unit_doubles).reshape(-1, n)
        if wrong:
            raise RuntimeError(wrong)
        real = F8 if p.dtype == _DOUBLE else F4
        ladder: np.ndarray = np.cumsum(p, axis=1, dtype=real)
        ladder /= ladder[:, -1:]
        ladder[:, -1:] = 1
        ladder = ladder.astype(F8, copy=False)
        chosen = np.empty(u.shape, np.int64)
        for row, steps, heights in zip(chosen, ladder, u):
            row[:] = steps.searchsorted(heights)
        return chosen

    def _top_choices(self, p: np.ndarray, n: int) -> np.ndarray:
        # The first of exponential waiting times with these rates; in the memory order of p.
        checks.weights(p)
        transposed = p.strides[0] < p.strides[1] and 0 not in p.strides
        waiting = self.exponential(p.size, p.dtype).reshape(p.shape[::-1] if transposed else p.shape)
        score = p / (waiting.T if transposed else waiting)
        if n == 1:
            return score.argmax(axis=1, keepdims=True)
        return _smallest(-score.astype(F8), n)

    # Laws by trial and error

    def poisson(self, rate: np.ndarray) -> np.ndarray:
        """Counts with the rates given (flat), in their dtype."""
        checks.implemented("poisson_cpu", rate.dtype)
        with self._lock, self._one_by_one() as (uniform, _):
            return _cast(rejection.poisson(rate.astype(F8), uniform), rate.dtype)

    def binomial(self, count: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Successes in `count` trials of probability p (flat, of equal size and dtype)."""
        checks.binomial(count, p)
        with self._lock, self._one_by_one() as (uniform, _):
            return rejection.binomial(count, p, uniform)

    def standard_gamma(self, alpha: np.ndarray) -> np.ndarray:
        """Gamma numbers of shape alpha (flat) and scale 1, in its dtype."""
        checks.implemented("gamma_cpu", alpha.dtype, checks.SINGLE_DOUBLE)
        with self._lock, self._one_by_one() as source:
            gammas = rejection.standard_gamma(alpha, *source).astype(alpha.dtype)
        return np.fmax(gammas, np.finfo(alpha.dtype).tiny)

    def dirichlet(self, alpha: np.ndarray) -> np.ndarray:
        """Points of the simplex along the last dimension of alpha, in its shape and dtype."""
        checks.implemented("dirichlet", alpha.dtype, checks.SINGLE_DOUBLE)
        k = alpha.shape[-1] if alpha.ndim else 1
        gammas = self.standard_gamma(alpha.astype(F8).ravel()).reshape(alpha.size // max(k, 1), k)
        limits = np.finfo(alpha.dtype)
        shares = (gammas / rejection.row_sums(gammas)).astype(alpha.dtype)
        return np.clip(shares, limits.tiny, 1 - limits.epsneg).reshape(alpha.shape)


def _smallest(numbers: np.ndarray, n: int) -> np.ndarray:
    """Where the n smallest of each row are, in their order; of equal ones the first."""
    if numbers.shape[1] < 20 * n:
        return np.argsort(numbers, axis=1, kind="stable")[:, :n].copy()
    places = np.empty((len(numbers), n), np.int64)
    for row, out in zip(numbers, places):
        near = np.flatnonzero(~(row > np.partition(row, n - 1)[n - 1]))
        out[:] = near[np.argsort(row[near], kind="stable")[:n]]
    return places


def _joined(numbers: np.ndarray, first: int, last: int) -> np.ndarray:
    """The first and the last."""
    if first + last == numbers.size:
        return numbers
    return np.concatenate([numbers[:first], numbers[numbers.size - last :]])


def _cast(numbers: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """float64, or integers, to the dtype; to a half by way of float32."""
    return (numbers.astype(F4) if dtype in _HALVES else numbers).astype(dtype, copy=False)


def _exact(
    exact: Callable[[float], float], fast: Callable[[np.ndarray], np.ndarray], dtype: np.dtype
) -> Callable[[np.ndarray], np.ndarray]:
    """The C library's function for float64 results; NumPy's, whose last bit may differ, for what will be rounded."""
    return functools.partial(libm, exact) if dtype == _DOUBLE else fast


@functools.lru_cache(256)
def _uniform_law(dtype: np.dtype, lo: float, hi: float) -> tuple[int, Callable[[np.ndarray], np.ndarray]]:
    """How many words a number in [lo, hi) takes, and what makes it of them."""
    checks.uniform(dtype, lo, hi)
    real = F8 if dtype == _DOUBLE else F4
    units, words = (unit_doubles, 2) if real is F8 else (unit_floats, 1)
    if lo == 0 and hi == 1 and dtype not in _HALVES:
        return words, units
    first, end = dtype.type(lo), dtype.type(hi)
    span = float(real(hi) - real(lo))

    def law(words: np.ndarray) -> np.ndarray:
        numbers = multiply_add(units(words), span, lo).astype(dtype, copy=False)
        numbers[numbers == end] = first
        return numbers

    return words, law


def _integer_law(dtype: np.dtype, lo: int, hi: int, *, long: bool) -> tuple[int, Callable[[np.ndarray], np.ndarray]]:
    """How many words an integer in [lo, hi) takes, and the law that makes it of them."""
    span, shift = hi - lo, np.int64(lo)
    if span == 2**64:
        return 2, lambda words: _cast(long_words(words).view(np.int64), dtype)
    if long:
        return 2, lambda words: _cast((long_words(words) % np.uint64(span)).view(np.int64) + shift, dtype)
    return 1, lambda words: _cast((words % np.uint32(span)).astype(np.int64) + shift, dtype)
