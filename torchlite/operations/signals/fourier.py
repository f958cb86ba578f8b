"""Discrete Fourier transforms. What `torch.fft` offers stands in `fft`.

Everything comes down to three linear ops: complex to complex, real to complex and complex to real. Of the spectrum of
real numbers, half says it all (`onesided`). `normalization` is none, by the root of the number of data points, or by
that number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...core.declare import LaidOp, publish, publish_python
from ...core.machine import LEADING, Tensor, TensorBase, functions, into
from ...core.values import Array, Backend, dt, wrap_dim, wrap_dims
from ..images.padding import constant_pad_nd
from ..making.factory import factory
from ..shapes.slicing import narrow

Ints = tuple[int, ...]

NONE, PER_ROOT, PER_POINT = range(3)
fft: dict[str, Callable[..., Any]] = {}
_SCALES = ("backward", "ortho", "forward")  # where NumPy puts the factor that each normalization asks for

# ---- the three transforms


def _refuse_halves(d: dt.dtype) -> None:
    if d is dt.complex32:
        raise RuntimeError("MKL FFT doesn't support tensors of type: Half")
    if d in dt.HALVES or d in dt.EIGHT_BITS:
        raise RuntimeError(f"Unsupported dtype {d.legacy}")


def _check(category: int, kind: str) -> Callable[..., None]:
    def check(self: Tensor, *_: Any) -> None:
        if self.dtype.category != category:
            raise RuntimeError(f"Only supports {kind} dtypes, but found: {self.dtype.legacy}")
        _refuse_halves(self.dtype)

    return check


def _along(backend: Backend, array: Array, dims: Ints, transform: Callable[..., Any]) -> Any:
    """`transform` along the last so many dimensions, with `dims` brought there; the result lies in memory like that."""
    strides = backend.strides(array)
    rest = sorted([d for d in range(array.ndim) if d not in dims], key=lambda d: -strides[d])
    order = (*rest, *dims)
    made = backend.xp.ascontiguousarray(transform(array.transpose(order), axes=tuple(range(-len(dims), 0))))
    return made.transpose([order.index(d) for d in range(array.ndim)]) if list(order) != sorted(order) else made


def _by_strides(backend: Backend, array: Array, dims: Ints) -> Ints:
    strides = backend.strides(array)
    return tuple(sorted(dims, key=lambda d: -strides[d]))


def _c2c(backend: Backend, array: Array, dim: Ints, normalization: int, forward: bool) -> Any:
    if not dim:
        return backend.copy(array)
    transform = backend.xp.fft.fftn if forward else backend.xp.fft.ifftn
    norm = _SCALES[normalization if forward else 2 - normalization]
    dims = _by_strides(backend, array, wrap_dims(dim, array.ndim))
    return _along(backend, array, dims, lambda a, axes: transform(a, axes=axes, norm=norm))


def _r2c(backend: Backend, array: Array, dim: Ints, normalization: int, onesided: bool) -> Any:
    *others, last = wrap_dims(dim, array.ndim)
    transform = backend.xp.fft.rfftn if onesided else backend.xp.fft.fftn
    dims = (*_by_strides(backend, array, tuple(others)), last)
    return _along(backend, array, dims, lambda a, axes: transform(a, axes=axes, norm=_SCALES[normalization]))


def _c2r(backend: Backend, array: Array, dim: Ints, normalization: int, last_dim_size: int) -> Any:
    *others, last = wrap_dims(dim, array.ndim)
    half = _c2c(backend, array, tuple(others), normalization, False) if others else array
    norm = _SCALES[2 - normalization]
    return _along(
        backend, half, (last,), lambda a, axes: backend.xp.fft.irfft(a, last_dim_size, axis=axes[0], norm=norm)
    )


def _r2c_backward(g: Tensor, self: Tensor, dim: Ints, normalization: int, onesided: bool) -> Tensor:
    if onesided:
        shape = self._array.shape  # PyTorch keeps all of the tensor for it
        last = wrap_dim(dim[-1], len(shape))
        after = shape[last] - g._array.shape[last]
        if after > 0:
            whole = g.new_zeros(shape)
            narrow(whole, last, 0, g._array.shape[last]).copy_(g)
            g = whole
    return c2c.apply(g, dim, normalization, False).real


def _c2r_backward(g: Tensor, dim: Ints, normalization: int) -> Tensor:
    half = r2c.apply(g, dim, normalization, True)
    twice = g._array.shape[dim[-1]] - half._array.shape[dim[-1]]  # how many stand for the other half too
    if twice > 0:
        narrow(half, dim[-1], 1, twice).mul_(2)
    return half


def _declare(name: str, last: str, kernel: Any, vjp: Any, category: int, kind: str) -> LaidOp:
    op = LaidOp(
        f"_fft_{name}(Tensor self, int[] dim, int normalization, {last})", kernel, {"self": vjp},
        check=_check(category, kind), node=f"Fft{name.upper()}Backward0", linear=True, batch=LEADING,
    )  # fmt: skip
    publish(op, method=False)
    return op


c2c: LaidOp = _declare(
    "c2c", "bool forward", _c2c,
    lambda g, dim, normalization, forward: c2c.apply(g, dim, normalization, not forward), dt.COMPLEX, "complex",
)  # fmt: skip
r2c = _declare("r2c", "bool onesided", _r2c, _r2c_backward, dt.FLOAT, "floating-point")
c2r = _declare("c2r", "int last_dim_size", _c2r, _c2r_backward, dt.COMPLEX, "complex")


# ---- what is common to the public functions


def _promoted(self: Tensor, complex_: bool = False) -> Tensor:
    d = self.dtype if self.dtype.category >= dt.FLOAT else dt.get_default_dtype()
    _refuse_halves(d)
    return self.to(d.to_complex() if complex_ else d)


def _normalization(norm: str | None, forward: bool) -> int:
    if norm not in (None, *_SCALES):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    code = _SCALES.index(norm or "backward")
    return code if forward else 2 - code


def _check_points(*sizes: int) -> None:
    for n in sizes:
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")


def _checked_dim(self: Tensor, dim: int) -> int:
    if not self.dim():
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, self.dim())


def _fitted(self: Tensor, dims: Ints, sizes: Ints) -> Tensor:
    """The tensor cut, or filled up with zeros, to these sizes."""
    for d, n in zip(dims, sizes):
        have = self._array.shape[d]
        if n < have:
            self = narrow(self, d, 0, n)
        elif n > have:
            self = constant_pad_nd.apply(self, (0, 0) * (self.dim() - 1 - d) + (0, n - have), 0)
    return self


def _sizes(self: Tensor, s: Ints | None, dim: Ints | None) -> tuple[Ints, Ints]:
    """The dimensions that a transform of several goes along, and how many data points it takes of each."""
    ndim = self.dim()
    if dim is not None:
        if not ndim and dim:
            _checked_dim(self, dim[0])
        dims = tuple([wrap_dim(d, ndim) for d in dim])
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif s is not None:
        if len(s) > ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
        dims = tuple(range(ndim - len(s), ndim))
    else:
        dims = tuple(range(ndim))
    sizes = tuple([self._array.shape[d] if n == -1 else n for d, n in zip(dims, s or (-1,) * len(dims))])
    return dims, sizes


def _offer(name: str, parameters: str, f: Callable[..., Tensor]) -> None:
    """Publish a function of `torch.fft`."""
    real = name.startswith(("irfft", "hfft"))
    called = name.replace("2", "n").replace("ifftn", "fftn")

    def into_kind(out: Any, f: Callable[..., Any], values: Any, full_name: str) -> Any:
        if isinstance(out, TensorBase) and out.dtype.category != (dt.FLOAT if real else dt.COMPLEX):
            made = "floating point" if real else "complex"
            raise RuntimeError(f"{called} expects a {made} output tensor, but got {out.dtype.legacy}")
        if name in ("ifft", "ihfft") and not values[0].dtype.is_complex:  # conjugated on its way into memory
            return into(out, f, values, "conj_physical", elementwise=True)
        return into(out, f, values, full_name)

    along = {"2": "along the last two dimensions, or `dim`", "n": "along all dimensions, or `dim`"}
    f.__doc__ = f"{_DOCS[name.rstrip('2n')]}, {along.get(name[-1], 'along one dimension')}."
    fft[name] = publish_python(f"fft_{name}(Tensor self, {parameters})", f, False, False, into_kind)


_DOCS = {
    "fft": "The discrete Fourier transform",
    "ifft": "The inverse of the discrete Fourier transform",
    "rfft": "The first half of the spectrum of real numbers",
    "irfft": "The real numbers whose spectrum has this first half",
    "hfft": "The real spectrum of numbers of which this is the first half, and the second mirrors it, conjugated",
    "ihfft": "The first half of the numbers that have this real spectrum",
}

# ---- transforms along one dimension


def _one(self: Tensor, n: int | None, dim: int) -> tuple[Tensor, Ints]:
    """The tensor with as many data points as asked along a dimension, and this from the front."""
    dim = _checked_dim(self, dim)
    size = self._array.shape[dim] if n is None else n
    _check_points(size)
    return _fitted(self, (dim,), (size,)), (dim,)


def _whole(forward: bool) -> Callable[..., Tensor]:
    def transform(self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
        self, dims = _one(_promoted(self), n, dim)
        code = _normalization(norm, forward)
        if self.dtype.is_complex:
            return c2c.apply(self, dims, code, forward)
        result = r2c.apply(self, dims, code, False)
        return result if forward else result.conj()

    return transform


def _from_real(name: str, forward: bool) -> Callable[..., Tensor]:
    def transform(self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
        if self.dtype.is_complex:
            raise RuntimeError(f"{name} expects a real input tensor, but got {self.dtype.legacy}")
        self, dims = _one(_promoted(self), n, dim)
        result = r2c.apply(self, dims, _normalization(norm, forward), True)
        return result if forward else result.conj()

    return transform


def _to_real(forward: bool) -> Callable[..., Tensor]:
    def transform(self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
        self, dim = _promoted(self, True), _checked_dim(self, dim)
        size = 2 * (self._array.shape[dim] - 1) if n is None else n
        _check_points(size)
        self = _fitted(self, (dim,), (size // 2 + 1,))
        return c2r.apply(self.conj() if forward else self, (dim,), _normalization(norm, forward), size)

    return transform


for _name, _transform in (
    ("fft", _whole(True)), ("ifft", _whole(False)), ("rfft", _from_real("rfft", True)),
    ("ihfft", _from_real("ihfft", False)), ("irfft", _to_real(False)), ("hfft", _to_real(True)),
):  # fmt: skip
    _offer(_name, "int? n=None, int dim=-1, str? norm=None", _transform)


# ---- along several


def _check_axes(name: str, dims: Ints) -> None:
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")


def _several(self: Tensor, s: Ints | None, dim: Ints | None, name: str = "") -> tuple[Tensor, Ints]:
    """The tensor with as many data points as asked along dimensions, and these: one at least if it has a `name`."""
    dims, sizes = _sizes(self, s, dim)
    if name:
        _check_axes(name, dims)
    _check_points(*sizes)
    return _fitted(self, dims, sizes), dims


def _half(name: str, self: Tensor, s: Ints | None, dim: Ints | None) -> tuple[Tensor, Ints, int]:
    """Half a spectrum with as much of it as asked, its dimensions, and the size of the last one in the result."""
    dims, sizes = _sizes(self, s, dim)
    _check_axes(name, dims)
    last = 2 * (self._array.shape[dims[-1]] - 1) if s is None or s[-1] == -1 else s[-1]
    _check_points(*sizes[:-1], last)
    return _fitted(_promoted(self, True), dims, (*sizes[:-1], last // 2 + 1)), dims, last


def _whole_n(forward: bool) -> Callable[..., Tensor]:
    def transform(self: Tensor, s: Ints | None, dim: Ints | None, norm: str | None) -> Tensor:
        self, dims = _several(_promoted(self, True), s, dim)
        return c2c.apply(self, dims, _normalization(norm, forward), forward)

    return transform


def _rfftn(self: Tensor, s: Ints | None, dim: Ints | None, norm: str | None) -> Tensor:
    if self.dtype.is_complex:
        raise RuntimeError(f"rfftn expects a real-valued input tensor, but got {self.dtype.legacy}")
    self, dims = _several(_promoted(self), s, dim, "rfftn")
    return r2c.apply(self, dims, _normalization(norm, True), True)


def _ihfftn(self: Tensor, s: Ints | None, dim: Ints | None, norm: str | None) -> Tensor:
    self, dims = _several(_promoted(self), s, dim, "ihfftn")
    code = _normalization(norm, False)
    half = r2c.apply(self, dims[-1:], code, True)
    return c2c.apply(half.conj_physical(), dims[:-1], code, False) if dims[:-1] else half.conj()


def _irfftn(self: Tensor, s: Ints | None, dim: Ints | None, norm: str | None) -> Tensor:
    self, dims, last = _half("irfftn", self, s, dim)
    return c2r.apply(self, dims, _normalization(norm, False), last)


def _hfftn(self: Tensor, s: Ints | None, dim: Ints | None, norm: str | None) -> Tensor:
    self, dims, last = _half("hfftn", self, s, dim)
    code = _normalization(norm, True)
    whole = c2c.apply(self, dims[:-1], code, True) if dims[:-1] else self
    return c2r.apply(whole.conj(), dims[-1:], code, last)


for _name, _transform in (
    ("fft", _whole_n(True)), ("ifft", _whole_n(False)), ("rfft", _rfftn), ("irfft", _irfftn), ("hfft", _hfftn),
    ("ihfft", _ihfftn),
):  # fmt: skip
    _offer(f"{_name}n", "int[1]? s=None, int[1]? dim=None, str? norm=None", _transform)
    _offer(f"{_name}2", "int[1]? s=None, int[1] dim=[-2, -1], str? norm=None", _transform)


# ---- frequencies, and their order


def _frequencies(name: str, half: bool) -> Callable[..., Tensor]:
    def make(n: int, d: float, dtype: dt.dtype | None, backend: Backend) -> Tensor:
        dtype = dtype or dt.get_default_dtype()
        if dtype.category < dt.FLOAT:
            raise RuntimeError(f"{name} requires a floating point or complex dtype")
        count = n // 2 + 1 if half else n
        places = functions["arange"](count, dtype=dtype, device=backend.device)
        if not half:
            places[(n + 1) // 2 :] -= n
        return places * (1 / (n * d) if n * d else math.inf)

    make.__doc__ = "The frequencies of which a spectrum of n data points, at a distance of d, tells."
    return factory(f"fft_{name}(int n, float d=1.0)", function=False, flat=True)(make)


fft["fftfreq"] = _frequencies("fftfreq", False)
fft["rfftfreq"] = _frequencies("rfftfreq", True)


def _shift(name: str, up: int, doc: str) -> None:
    def shift(self: Tensor, dim: Ints | None) -> Tensor:
        dims = tuple(range(self.dim())) if dim is None else tuple([wrap_dim(d, self.dim()) for d in dim])
        return self.roll([(self._array.shape[d] + up) // 2 for d in dims], dims)

    shift.__doc__ = doc
    fft[name] = publish_python(f"fft_{name}(Tensor self, int[1]? dim=None)", shift, False, False)


_shift("fftshift", 0, "A spectrum with the frequency zero moved from the front to the middle.")
_shift("ifftshift", 1, "A spectrum with the frequency zero moved from the middle to the front.")
