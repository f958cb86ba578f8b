"""`torch.quasirandom`: Sobol's sequence, whose points fill a cube more evenly than random ones do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .core.machine import Generator, Tensor, functions
from .core.values import get_default_dtype, int64, shown_in

_BITS = 30


def _direction_numbers(dimension: int) -> np.ndarray:
    """For each dimension, the number that is added where a given bit of the Gray code changes (Joe and Kuo's)."""
    try:
        import scipy.stats
    except ImportError as error:
        raise ImportError("SobolEngine reads its direction numbers from SciPy, which is not installed") from error
    with np.load(Path(scipy.stats.__file__).with_name("_sobol_direction_numbers.npz")) as known:
        polynomials, first = known["poly"][:dimension], known["vinit"][:dimension]
    numbers = np.ones((dimension, _BITS), np.int64)
    degrees = np.frexp(polynomials.astype(np.float64))[1] - 1
    for degree in range(1, int(degrees.max()) + 1):
        of_degree = degrees == degree
        v, p = numbers[of_degree], polynomials[of_degree]
        v[:, :degree] = first[of_degree, :degree]
        for j in range(degree, _BITS):
            v[:, j] = v[:, j - degree]
            for k in range(1, degree + 1):
                v[:, j] ^= ((p >> (degree - k)) & 1) * (v[:, j - k] << k)
        numbers[of_degree] = v
    return numbers << np.arange(_BITS - 1, -1, -1)


def _parity(numbers: np.ndarray) -> np.ndarray:
    for shift in (16, 8, 4, 2, 1):
        numbers = numbers ^ (numbers >> shift)
    return numbers & 1


@shown_in("torch.quasirandom")
class SobolEngine:
    """Draws the points of a Sobol sequence, one after the other.

    With `scramble`, their bits are mixed at random, by matrices and shifts drawn from `seed` or the default generator.
    """

    MAXBIT = _BITS
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        numbers = _direction_numbers(dimension)
        self.shift = functions["zeros"](dimension, dtype=int64)
        if scramble:
            numbers = self._scrambled(numbers)
        self.sobolstate = functions["from_numpy"](numbers)
        self.reset()

    def _scrambled(self, numbers: np.ndarray) -> np.ndarray:
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        randint, size = functions["randint"], (self.dimension, _BITS)
        shift = randint(2, size, generator=generator).numpy()
        self.shift = functions["from_numpy"]((shift << np.arange(_BITS)).sum(-1))
        matrices = np.tril(randint(2, (*size, _BITS), generator=generator).numpy(), -1)
        rows = (matrices << np.arange(_BITS - 1, -1, -1)).sum(-1) | (1 << np.arange(_BITS - 1, -1, -1))
        mixed = _parity(rows[:, None, :] & numbers[:, :, None])
        return (mixed << np.arange(_BITS - 1, -1, -1)).sum(-1)

    def _advance(self, n: int, already: int) -> np.ndarray:
        """The next `n` points after so many, in 30 bits; the last of them is kept."""
        steps = np.arange(already, already + n)
        changed = np.frexp((~steps & (steps + 1)).astype(np.float64))[1] - 1  # the rightmost zero of each
        chain = np.concatenate([self.quasi.numpy()[None], self.sobolstate.numpy().T[changed]])  # type: ignore[has-type]
        points = np.bitwise_xor.accumulate(chain)[1:]
        if n:
            self.quasi = functions["from_numpy"](points[-1].copy())
        return points

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next `n` points, each a row."""
        dtype = get_default_dtype() if dtype is None else dtype
        first = self.num_generated == 0
        points = self._advance(n - 1 if first else n, max(self.num_generated - 1, 0))
        result = functions["from_numpy"](points).to(dtype) * 2.0**-_BITS
        if first:
            result = functions["cat"]((self._first_point.to(dtype), result))
        self.num_generated += n
        if out is None:
            return result
        return out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next 2**m points, after which a power of two have been drawn."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}="
                f"{total}. If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begin anew."""
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**_BITS).reshape(1, -1)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave `n` points out."""
        self._advance(n - 1 if self.num_generated == 0 else n, max(self.num_generated - 1, 0))
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        options = [f"dimension={self.dimension}"]
        options += ["scramble=True"] if self.scramble else []
        options += [f"seed={self.seed}"] if self.seed is not None else []
        return f"{type(self).__name__}({', '.join(options)})"
