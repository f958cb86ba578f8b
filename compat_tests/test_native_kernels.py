"""Each kernel in C beside its NumPy twin: over layouts, sizes around every vector's width, numbers of every kind, and
every instruction set that this processor has."""

import itertools
import math
import threading

import numpy as np
import pytest

import torchlite
from torchlite.backends import numpy as numpy_backend
from torchlite.backends.base import Backend, cast_array, get_backend
from torchlite.core.machine.registry import registry
from torchlite.core.native import native
from torchlite.kernels import sparse
from torchlite.kernels.cpu_random import MT19937Stream, arithmetic, normals
from torchlite.nn.utils import clip_grad
from torchlite.operations.images import grid_sample, resample
from torchlite.operations.making import draws
from torchlite.operations.places import gather, masked, writing

pytestmark = pytest.mark.skipif(native is None, reason="without the native build")

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 130, 1000)
SPECIAL = np.array([
    0.0, -0.0, 1e-45, -1e-45, 1e-40, -1e-40, 1.2e-38, -1.2e-38, 1e-10, -1e-10, 0.5, -0.5, 1.0, -1.0, 5.0, -5.0, 9.5,
    -9.5, 20.0, -20.0, 87.5, -87.5, 88.8, -88.8, 103.0, -103.0, 1e5, -1e5, 1e38, -1e38, np.inf, -np.inf, np.nan,
], np.float32)  # fmt: skip


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(params=native.isas if native else [])
def isa(request):
    native.use_isa(request.param)
    yield request.param
    native.use_isa(native.isas[0])


STEPS = {name: getattr(torchlite.optim, name).formula for name in ("SGD", "Adam", "RMSprop", "Adagrad")}


OF_WORDS = {
    kernel.general.__name__: kernel.general
    for kernel in (
        arithmetic.unit_floats, arithmetic.unit_doubles, arithmetic.ones_below, arithmetic.multiply_add,
        normals.fill_normals,
    ) if native is not None
}  # fmt: skip
DRAWS = {
    "draw.uniform": draws.uniform_._in_shape, "draw.normal": draws.normal_._in_shape,
    "draw.ones": draws.bernoulli_number._in_shape, "draw.integers": draws.random_between._in_shape,
}  # fmt: skip
DRAWN = {  # parameters
    "draw.uniform": [(0.0, 1.0), (-0.5, 0.25), (0, 3), (1e30, 1e30), (-2.0, 1.0)],
    "draw.normal": [(0.0, 1.0), (2.0, 0.5), (-1, 3), (0.1, 0.0)],
    "draw.ones": [(0.5,), (0.0,), (1.0,), (0.3,)],
    "draw.integers": [(0, 10), (-7, 3), (5, 6), (-(2**63), 7 - 2**63), (0, 2**28 - 1), (0, 2**28), (-5, 2**40)],
}
TWINS = {  # that are no kernels of ops
    "cast": cast_array, "copy.rows": numpy_backend.copied, "map_all": resample._map_all,
    "combine": writing._combine, "scatter.write": gather._scatter, "scatter_add.write": gather._scatter_add,
    "norm_of_all": clip_grad._norm_of_all, "scale_all": clip_grad._scale_all,
    "masked_fill.write": masked._fill,
    "grid_sample": grid_sample._sample, "grid_sample_backward": grid_sample._sample_backward,
    "sparse.product": sparse._product,
    "sparse.product_of_rows": sparse._product_of_rows, "sparse.samples": sparse._samples, **OF_WORDS,
    **DRAWS,
}  # fmt: skip


def twin_of(name):
    if name in TWINS:
        return TWINS[name]
    if name in ("sum", "mean"):
        return Backend.kernel(get_backend("cpu"), registry[name]).general
    if name.startswith("optim."):
        return next(step.general for kind, step in STEPS.items() if kind.lower() == name.removeprefix("optim."))
    twin = Backend.kernel(get_backend("cpu"), registry[name])
    if name in ("cumsum", "cumprod", "logcumsumexp", "var.correction", "std.correction"):  # wide at first
        return lambda array, *rest: np.asarray(twin(array, *rest)).astype(array.dtype)
    return twin


class Pair:
    """A kernel and its twin; `declined` counts how often the kernel left a call to the twin."""

    def __init__(self, name):
        self.twin = twin_of(name)
        self.kernel = native.Kernel(name, self._general)
        self.declined = 0

    def _general(self, *args):
        self.declined += 1
        return self.twin(*args)

    def agree(self, args, rtol=2e-6, atol=1e-37, taken=True, signs=True):
        """Both give the same, up to a tolerance; and the kernel did it by itself, where that is known."""
        before = self.declined
        with np.errstate(all="ignore"):
            theirs = copies(args)
            wanted = self.twin(*theirs)
            made = self.kernel(*args)
        assert taken is None or (self.declined == before) == taken
        for one, other in zip([*listed(made), *arrays(args)], [*listed(wanted), *arrays(theirs)], strict=True):
            if other is None:
                assert one is None
                continue
            assert one.dtype == other.dtype and one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol, atol)
            zeros = (one == 0) & (other == 0)
            if signs and rtol < 1e-4:
                np.testing.assert_array_equal(np.signbit(one[zeros]), np.signbit(other[zeros]))


def copies(args):
    return [a.copy("K") if isinstance(a, np.ndarray) else a for a in args]


def arrays(args):
    """What a kernel may have written into."""
    return [a for a in args if isinstance(a, np.ndarray)]


def listed(made):
    return made if isinstance(made, (tuple, list)) else (made,)


def numbers(n, seed=0, scale=3.0):
    return (np.random.default_rng(seed).standard_normal(n) * scale).astype(np.float32)


def special(n, seed=0):
    return np.random.default_rng(seed).permutation(np.resize(SPECIAL, n))


def layouts(array):
    """The same numbers, otherwise in memory; with whether a kernel takes them so."""
    yield array, True
    shifted = np.empty(array.size + 1, array.dtype)[1:].reshape(array.shape)
    shifted[...] = array
    yield shifted, True
    frozen = array.copy()
    frozen.setflags(write=False)
    yield frozen, True
    if array.size > 1:
        spread = np.empty((*array.shape, 2), array.dtype)[..., 0]
        spread[...] = array
        yield spread, False
        backward = np.empty_like(array)[..., ::-1]
        backward[...] = array
        yield backward, None
        raw = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
        raw[...] = array
        yield raw, False


# ---- one number at a time

UNARY = {
    "relu": (), "sigmoid": (), "silu": (), "gelu": ("none",), "gelu.tanh": ("tanh",), "leaky_relu": (0.01,),
    "hardtanh": (-1, 2.5), "hardsigmoid": (), "hardswish": (), "elu": (1.5, 1.1, 0.7), "softplus": (2, 20),
    "log_sigmoid": (), "erf": (), "tanh": (), "exp": (), "expm1": (), "log": (), "log1p": (), "sin": (), "cos": (),
    "pow.Tensor_Scalar": (2,), "sign": (), "sgn": (), "threshold": (0.1, -3), "hardshrink": (0.5,),
    "softshrink": (0.5,), "celu": (0.7,),
}  # fmt: skip
WIDE = ("gelu", "gelu_backward", "erf")  # of doubles, too
SLOPES = {  # and other functions of two arrays
    "logaddexp": (), "nextafter": (), "hypot": (), "lerp.Scalar": (0.3,), "lerp.Scalar.far": (1.25,),
    "threshold_backward": (0,), "silu_backward": (), "gelu_backward": ("none",), "gelu_backward.tanh": ("tanh",),
    "leaky_relu_backward": (-0.5, False), "hardtanh_backward": (-1, 2.5), "hardsigmoid_backward": (),
    "hardswish_backward": (), "softplus_backward": (2, 20), "log_sigmoid_backward": (None,),
    "hardshrink_backward": (0.5,), "softshrink_backward": (0.5,),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("n", SIZES)
def test_unary(isa, name, n):
    pair, rest = Pair(name.removesuffix(".tanh")), UNARY[name]
    for x in (numbers(n), special(n)):
        angle = name in ("sin", "cos") and not (np.abs(x) <= 1e6).all()  # too large a one, for which the twin is better
        for laid, taken in layouts(x):
            pair.agree((laid, *rest), 1e-5, atol(name), taken and not angle)
    if name not in WIDE:
        pair.agree((numbers(n).astype(np.float64), *rest), taken=False)


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize("n", SIZES)
def test_slopes(isa, name, n):
    pair, rest = Pair(name.removesuffix(".tanh").removesuffix(".far")), SLOPES[name]
    for x in (numbers(n), special(n)):
        g = numbers(n, 1)
        for laid, taken in layouts(x):
            pair.agree((g, laid, *rest), 1e-5, atol(name), taken)
        if n > 1:
            pair.agree((g[:1], x, *rest), 1e-5, atol(name), taken=False)


@pytest.mark.parametrize("weight", (0, 0.1, 0.4999, 0.5, 0.9, 1, -3.25, 12.7))
def test_lerp_rounds_its_weight_as_torch_does(torch, isa, weight):
    x, y = numbers(1000), numbers(1000, 1)
    wanted = torch.lerp(torch.from_numpy(x), torch.from_numpy(y), weight).numpy()
    pair = Pair("lerp.Scalar")
    for lerp in (pair.kernel, pair.twin):
        far = np.abs(y - x) * max(1.0, abs(weight)) + np.abs(x)
        assert (np.abs(lerp(x, y, weight) - wanted) <= 1.2e-7 * far).all()


@pytest.mark.parametrize("n", SIZES)
def test_slope_of_elu(isa, n):
    for x in (numbers(n), special(n)):
        for laid, taken in layouts(x):
            Pair("elu_backward").agree((numbers(n, 1), 1.5, 1.1, 0.7, False, laid), 1e-5, 1e-37, taken)
        Pair("elu_backward").agree((numbers(n, 1), 1.5, 1.1, 0.7, True, x), 1e-5, 1e-37, False)


@pytest.mark.parametrize("n", SIZES)
def test_bounds_and_weights_of_one_number(isa, n):
    low, high, none = np.array(-1, np.float32), np.array([2.5], np.float32), np.array(np.nan, np.float32)
    clamp, prelu = Pair("clamp"), Pair("_prelu_kernel")
    for x in (numbers(n), special(n)):
        for laid, taken in layouts(x):
            for bounds in ((low, high), (low, None), (None, high), (high, low)):
                clamp.agree((laid, *bounds), 0, 0, taken)
            prelu.agree((laid, high), 0, 0, taken)
        clamp.agree((x, none, high), 0, 0, taken=False)
        clamp.agree((x, high.reshape(1, 1), None), 0, 0, taken=False)
        prelu.agree((x, none), 0, 0, taken=False)
        if n > 1:
            prelu.agree((x, numbers(n, 1)), 0, 0, taken=False)


def atol(name):
    # The twins' 1 + erf(x) and 1 + tanh(x) lose what is small where x is negative, and 1 / (1 + exp(-x)), too.
    if name.startswith("lerp"):  # whose terms may cancel
        return 1e-6
    return 2e-5 if name.startswith("gelu") else 1e-35 if name == "silu_backward" else 1e-37


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("n", SIZES)
def test_doubles(isa, name, n):
    gradient = (numbers(n, 1).astype(np.float64),) * name.endswith("backward")
    for x in (numbers(n, 0).astype(np.float64), special(n).astype(np.float64)):
        for laid, taken in layouts(x):
            Pair(name).agree((*gradient, laid, *(("none",) * (name != "erf"))), 1e-13, 1e-14, taken)


TRUTHS = {  # in double precision, right where numbers are small
    "exp": np.exp, "expm1": np.expm1, "tanh": np.tanh, "sin": np.sin, "cos": np.cos,
    "log": np.log, "log1p": np.log1p,
    "erf": lambda x: np.array([math.erf(v) for v in x]),
    "log_sigmoid": lambda x: np.where(x < 0, x, 0) - np.log1p(np.exp(-np.abs(x))),
    "elu": lambda x: np.where(x <= 0, np.expm1(np.minimum(x, 0)), x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_functions_are_right_to_the_last_digits(isa, name):
    x = np.concatenate([np.linspace(-12, 12, 20001), np.geomspace(1e-30, 1, 2001), -np.geomspace(1e-30, 1, 2001)])
    x = x.astype(np.float32)
    if name.startswith("log") and name != "log_sigmoid":
        x = x[x > -1 if name == "log1p" else x > 0]
    truth = TRUTHS[name](x.astype(np.float64))
    made = Pair(name).kernel(x, *({"elu": (1, 1, 1)}.get(name, ())))
    assert (np.abs(made - truth) <= 5e-7 * np.abs(truth)).all()


@pytest.mark.parametrize("name", ["tanh", "erf", "exp", "expm1"])
def test_functions_are_rounded_nearly_always_to_the_nearest(isa, name):
    x = np.concatenate([np.linspace(-5, 5, 30001), np.geomspace(1e-30, 1, 2001)]).astype(np.float32)
    truth = TRUTHS[name](x.astype(np.float64))
    assert (np.abs(Pair(name).kernel(x) - truth) <= 0.6 * np.spacing(np.abs(truth).astype(np.float32))).all()


def test_exponentials_are_right_to_the_last_denormal(isa):
    x = np.linspace(-104.5, 20, 40001, dtype=np.float32)
    row = np.stack([np.zeros_like(x), np.minimum(x, 0)], 1)
    made = Pair("softmax.int").kernel(row, 1)[:, 1]
    truth = np.exp(row[:, 1].astype(np.float64))
    truth /= 1 + truth
    assert np.abs(made - truth).max() < 1e-7
    assert (np.abs(made - truth) <= np.maximum(3e-7 * truth, 1.5e-45)).all()
    assert made[0] == 0 and 0 < made[800] < 1e-44


def test_gelu_is_right_where_it_is_small(isa):
    x = np.linspace(-13, 5, 20001, dtype=np.float32)
    scaled = x.astype(np.float64)
    truth = scaled * np.array([0.5 * torchlite.special.erfc(-v / 2**0.5).item() for v in torchlite.tensor(scaled)])
    made = Pair("gelu").kernel(x, "none")
    assert (np.abs(made - truth) <= np.maximum(1e-5 * np.abs(truth), 1e-37)).all()


# ---- rows

SHAPES = [(1, n) for n in SIZES if n] + [(5, 3), (3, 17), (2, 3, 33), (7,), (4, 600), (70, 5), (2, 40, 9)]


@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(isa, shape):
    for name in ("softmax.int", "log_softmax.int"):
        pair = Pair(name)
        for x in (numbers(shape), special(shape)):
            for laid, taken in layouts(x):
                pair.agree((laid, -1), 1e-5, 1e-6, taken)
                pair.agree((laid, len(shape) - 1), 1e-5, 1e-6, taken)
        for dim in range(len(shape) - 1):
            for x in (numbers(shape), special(shape)):
                for laid, taken in layouts(x):
                    pair.agree((laid, dim), 1e-5, 1e-6, taken)
    for keepdim in (False, True):
        for x in (numbers(shape), special(shape)):
            for laid, taken in layouts(x):
                Pair("logsumexp").agree((laid, (-1,), keepdim), 1e-5, 1e-6, taken, signs=False)
    for name in ("_softmax_backward_data", "_log_softmax_backward_data"):
        y = Pair(name.removesuffix("_backward_data").removeprefix("_") + ".int").twin(numbers(shape), -1)
        for g in (numbers(shape, 1), np.zeros(shape, np.float32)):
            for laid, taken in layouts(g):
                for dim in range(len(shape)):
                    Pair(name).agree((laid, y, dim), 1e-5, 1e-5, taken)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("parameters", ("both", "weight", "none"))
def test_layer_norm(isa, shape, parameters):
    n = shape[-1]
    w = None if parameters == "none" else numbers(n, 1)
    b = numbers(n, 2) if parameters == "both" else None
    forward, back = Pair("native_layer_norm"), Pair("native_layer_norm_backward")
    for laid, taken in layouts(numbers(shape) + 10):
        forward.agree((laid, (n,), w, b, 1e-5), 1e-4, 1e-4, taken)
    x = numbers(shape)
    _, mean, rstd = forward.twin(x, (n,), w, b, 1e-5)
    for mask in ((True, w is not None, b is not None), (True, False, False), (False, w is not None, False)):
        for laid, taken in layouts(numbers(shape, 3)):
            back.agree((laid, x, (n,), mean, rstd, w, b, mask), 1e-4, 1e-3 * float(rstd.max()), taken)


def test_normalized_dimensions_may_be_several(isa):
    x, w = numbers((4, 5, 6)), numbers((5, 6), 1)
    Pair("native_layer_norm").agree((x, (5, 6), w, w, 1e-5), 1e-5, 1e-5)
    x[0, 0, 0] = np.nan
    Pair("native_layer_norm").agree((x, (5, 6), w, w, 1e-5), 1e-5, 1e-5)


def test_a_row_far_from_zero_keeps_its_digits(isa):
    x = numbers((3, 4096), scale=1.0) + np.float32(1e4)
    made, mean, _ = Pair("native_layer_norm").kernel(x, (4096,), None, None, 1e-5)
    wide = x.astype(np.float64)
    truth = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    assert np.abs(made - truth).max() < 2e-3
    assert np.abs(mean - wide.mean(1, keepdims=True)).max() < 3e-3


# ---- convolutions

CONVOLUTIONS = [  # images, weights, stride, padding, dilation, groups
    ((2, 1, 9), (3, 1, 3), (1,), (1,), (1,), 1),
    ((3, 4, 50), (6, 2, 4), (3,), (2,), (2,), 2),
    ((2, 1, 28, 28), (6, 1, 5, 5), (1, 1), (2, 2), (1, 1), 1),
    ((2, 6, 14, 14), (16, 6, 5, 5), (1, 1), (0, 0), (1, 1), 1),
    ((1, 3, 8, 11), (13, 3, 3, 2), (2, 1), (1, 0), (1, 2), 1),
    ((2, 5, 7, 7), (10, 1, 3, 3), (2, 2), (1, 1), (1, 1), 5),
    ((2, 8, 9, 9), (8, 1, 3, 3), (1, 1), (1, 1), (1, 1), 8),
    ((1, 2, 5, 5), (3, 2, 5, 5), (1, 1), (0, 0), (1, 1), 1),
    ((1, 2, 5, 5), (3, 2, 3, 3), (7, 4), (0, 0), (1, 1), 1),
    ((2, 2, 6, 6), (4, 2, 1, 1), (2, 2), (1, 0), (1, 1), 1),
    ((1, 2, 6, 6), (4, 2, 3, 3), (1, 1), (4, 5), (1, 1), 1),
    ((2, 17, 6, 5), (19, 17, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 3, 7, 6), (35, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 4, 9, 8), (50, 2, 3, 3), (2, 1), (1, 0), (1, 2), 2),
    ((2, 2, 5, 6, 7), (3, 2, 2, 3, 3), (1, 2, 1), (1, 0, 1), (1, 1, 2), 1),
    ((5, 33, 4, 6), (40, 33, 1, 1), (1, 1), (0, 0), (1, 1), 1),  # and as products of matrices
    ((2, 33, 5, 6), (40, 33, 1, 1), (2, 1), (1, 0), (1, 1), 1),
    ((3, 230, 5, 5), (96, 230, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 230, 6, 7), (97, 230, 3, 3), (2, 1), (1, 0), (1, 2), 1),
    ((3, 300, 9), (100, 300, 7), (1,), (2,), (1,), 1),
    ((2, 230, 24, 24), (96, 230, 3, 3), (1, 1), (1, 1), (1, 1), 1),  # one image at a time
    ((2, 100, 3, 4, 5), (96, 100, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    ((6, 16, 20, 20), (32, 16, 3, 3), (1, 1), (1, 1), (1, 1), 1),  # whose gradients are added up in parts
    ((7, 4, 40, 40), (8, 4, 3, 3), (1, 1), (0, 1), (1, 1), 1),
]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolutions(isa, case):
    image, kernel, stride, padding, dilation, groups = case
    forward, back = Pair("convolution"), Pair("convolution_backward")
    x, w, b = numbers(image), numbers(kernel, 1), numbers(kernel[0], 2)
    options = (stride, padding, dilation, False, (0,) * len(stride), groups)
    for laid, taken in layouts(x):
        forward.agree((laid, w, b, *options), 1e-4, 1e-3, taken)
    forward.agree((x, w, None, *options), 1e-4, 1e-3)
    g = numbers(forward.twin(x, w, b, *options).shape, 3)
    for laid, _ in layouts(g):
        back.agree((laid, x, w, (kernel[0],), *options, (True, True, True)), 1e-4, 1e-2)
    back.agree((g, x, w, None, *options, (True, False, False)), 1e-4, 1e-2)
    back.agree((g, x, w, None, *options, [False, True, False]), 1e-4, 1e-2)


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_transposed_convolutions(isa, case):
    (n, _, *size), kernel, stride, padding, dilation, groups = case
    forward, back = Pair("convolution"), Pair("convolution_backward")
    x, w, b = numbers((n, kernel[0], *size)), numbers(kernel, 1), numbers(kernel[1] * groups, 2)
    for more in ((0,) * len(stride), tuple(s - 1 for s in stride)):
        options = (stride, padding, dilation, True, more, groups)
        if max(padding) > 3:  # nothing is left
            continue
        shape = forward.twin(x, w, b, *options).shape
        forward.agree((x, w, b, *options), 1e-4, 1e-3)
        forward.agree((x, w, None, *options), 1e-4, 1e-3)
        back.agree((numbers(shape, 3), x, w, b.shape, *options, (True, True, True)), 1e-4, 1e-2)


def test_numbers_that_are_not_finite_stay_out_of_the_padding(isa):
    x, w = numbers((1, 2, 6, 6)), numbers((3, 2, 3, 3), 1)
    options = ((1, 1), (1, 1), (1, 1), False, (0, 0), 1)
    g = numbers((1, 3, 6, 6), 2)
    bad = w.copy()
    bad[0, 0, 0, 0] = np.inf
    Pair("convolution").agree((x, bad, None, *options), 1e-4, 1e-4, taken=False)
    Pair("convolution_backward").agree((g, x, bad, None, *options, (True, True, True)), 1e-4, 1e-4, taken=False)
    bad = x.copy()
    bad[0, 0, 2, 3] = np.nan
    Pair("convolution").agree((bad, w, None, *options), 1e-4, 1e-4)
    Pair("convolution_backward").agree((g, bad, w, None, *options, (True, True, True)), 1e-4, 1e-4, taken=False)
    bad = g.copy()
    bad[0, 0, 2, 3] = -np.inf
    Pair("convolution_backward").agree((bad, x, w, None, *options, (True, True, True)), 1e-4, 1e-4, taken=False)


# ---- pooling

POOLS = [  # image, window, stride, padding, dilation
    ((2, 3, 8, 8), (2, 2), (2, 2), (0, 0), (1, 1)),
    ((2, 3, 9, 7), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((1, 2, 7, 40), (3, 2), (1, 1), (1, 0), (1, 1)),
    ((3, 11, 13), (2, 3), (3, 4), (1, 1), (2, 1)),
    ((4, 33), (5,), (1,), (2,), (1,)),
    ((2, 6, 7, 9), (2, 3, 2), (2, 2, 3), (1, 0, 1), (1, 1, 2)),
]


@pytest.mark.parametrize("case", POOLS, ids=str)
def test_max_pooling(isa, case):
    image, *geometry = case
    options = (*geometry, False)
    dims = max(len(geometry[0]), 2)
    forward, back = Pair(f"max_pool{dims}d"), Pair(f"_max_pool{dims}d_backward")
    tied = np.round(numbers(image))
    for x in (numbers(image), tied, special(image)):
        for laid, taken in layouts(x):
            forward.agree((laid, *options), 0, 0, taken, signs=False)  # which of two zeros it is
    hollow = numbers(image)
    hollow[..., :4] = -np.inf
    for x in (numbers(image), tied, special(image), hollow):
        best, taps = forward.twin(x, *options)
        for laid, _ in layouts(numbers(best.shape, 1)):
            back.agree((laid, x, taps, *options), 1e-6, 1e-6, signs=False)
        forward.agree((x, *options), 0, 0, signs=False)
    back.agree((special(best.shape), x, taps, *options), 1e-6, 1e-6, signs=False)
    sizes = zip(image[len(image) - len(geometry[0]) :], *geometry, strict=True)
    fits = not any((n + 2 * border - (window - 1) * apart - 1) % step for n, window, step, border, apart in sizes)
    forward.agree((x, *geometry, True), 0, 0, taken=fits, signs=False)  # no window lies beyond the end
    if fits:
        back.agree((best, x, taps, *geometry, True), 1e-6, 1e-6, signs=False)


# ---- the first few


@pytest.mark.parametrize("shape", [(7,), (5, 33), (3, 1), (4, 9, 2), (2, 300), (3, 900)])
@pytest.mark.parametrize("largest", (True, False))
def test_topk(isa, shape, largest):
    pair = Pair("topk")
    for axis in range(len(shape)):
        for k in {1, min(3, shape[axis]), min(64, shape[axis])}:
            x = np.random.default_rng(0).permutation(math.prod(shape)).reshape(shape).astype(np.float32)
            for laid, taken in layouts(x):
                pair.agree((laid, axis, k, largest, True), 0, 0, taken)
            if x.size <= 256:  # where the twin, too, takes of equals the first, of which some here are NaN
                pair.agree((special(x.size).reshape(shape), axis, k, largest, True), 0, 0)
    pair.agree((numbers((2, 70)), 1, 65, largest, True), taken=False)
    pair.agree((numbers((2, 70)), 1, 0, largest, True), taken=False)


@pytest.mark.parametrize("shape", [(1,), (7,), (5, 33), (3, 1), (4, 9, 2), (2, 300), (3, 900)])
def test_kthvalue(shape):
    pair, last, size = Pair("kthvalue"), len(shape) - 1, shape[-1]
    for k in {1, (size + 1) // 2, size}:
        for x in (np.random.default_rng(0).permutation(math.prod(shape)).reshape(shape), numbers(shape)):
            for laid, taken in layouts(x.astype(np.float32)):
                for keepdim in (False, True):
                    pair.agree((laid, last, keepdim, k), 0, 0, taken)
        for x in (special(shape), np.rint(numbers(shape))):
            values, places = native.Kernel("kthvalue", decline)(x, last, True, k)
            np.testing.assert_array_equal(values, np.partition(x, k - 1)[..., k - 1 : k])
            np.testing.assert_array_equal(values, np.take_along_axis(x, places, last))
    if last:
        pair.agree((laid, 0, False, 1), 0, 0, taken=False)


@pytest.mark.parametrize("shape", [(n,) for n in SIZES if n] + [(5, 3), (2, 3, 40), (3, 1000)])
@pytest.mark.parametrize("descending", (False, True))
def test_sorts(shape, descending):
    for x in (numbers(shape), np.round(numbers(shape)), special(shape), -np.abs(special(shape))):
        for laid, taken in layouts(x):
            for axis in {-1, len(shape) - 1}:
                for name in ("sort", "argsort"):
                    Pair(name).agree((laid, axis, descending), 0, 0, taken)
                    Pair(f"{name}.stable").agree((laid, axis, True, descending), 0, 0, taken)
    if len(shape) > 1:
        Pair("sort").agree((x, 0, descending), 0, 0, taken=False)
    Pair("sort").agree((x.astype(np.float64), -1, descending), 0, 0, taken=False)


# ---- batch normalization


BATCHES = [(2, 3, 5), (4, 5, 3, 7), (1, 2, 33), (1, 3, 1), (3, 2, 2, 3, 4), (2, 1, 1030), (5, 3), (40, 130)]


@pytest.mark.parametrize("shape", BATCHES)
@pytest.mark.parametrize("training", (True, False))
def test_batch_norm(isa, shape, training):
    forward, back = Pair("native_batch_norm"), Pair("native_batch_norm_backward")
    w, b, mean = (numbers(shape[1], i) for i in (1, 2, 3))
    var = np.abs(numbers(shape[1], 4))
    for laid, taken in layouts(numbers(shape) + 5):
        for parameters in ((w, b), (None, None)):
            statistics = [(mean.copy(), var.copy()) for _ in range(2)]
            with np.errstate(all="ignore"):
                wanted = forward.twin(laid, *parameters, *statistics[0], training, 0.1, 1e-5)
            before = forward.declined
            made = forward.kernel(laid, *parameters, *statistics[1], training, 0.1, 1e-5)
            assert taken is None or taken == (forward.declined == before)
            for one, other in zip((*made, *statistics[1]), (*wanted, *statistics[0]), strict=True):
                np.testing.assert_allclose(one, other, 1e-4, 1e-4)
    x = numbers(shape)
    _, kept, rstd = forward.twin(x, w, b, None, None, True, 0.1, 1e-5)
    for mask in ((True, True, True), (True, False, False), (False, True, True, False, False)):
        for laid, _ in layouts(numbers(shape, 5)):
            args = (laid, x, w, None, None, kept, rstd, True, 1e-5, mask)
            back.agree(args, 1e-4, 1e-3 * max(1.0, float(rstd.max())))


# ---- places


@pytest.mark.parametrize("n", (1, 5, 16, 33))
def test_embedding(isa, n):
    forward, back = Pair("embedding"), Pair("embedding_dense_backward")
    w, at = numbers((7, n)), np.array([[0, 6, 3], [3, 3, 1]])
    for laid, taken in layouts(at):
        forward.agree((w, laid, -1, False, False), 0, 0, taken)
        back.agree((numbers((2, 3, n)), laid, 7, -1, False), 1e-6, 1e-6, taken)
    back.agree((numbers((2, 3, n)), at, 7, 3, False), 1e-6, 1e-6)
    back.agree((numbers((2, 3, n)), at, 7, 3, True), 1e-6, 1e-6, taken=False)
    with pytest.raises(IndexError, match="out of range"):
        forward.kernel(w, at - 1, -1, False, False)


@pytest.mark.parametrize("shape", [(7,), (7, 5), (7, 2, 33), (7, 0)])
def test_rows(isa, shape):
    index, select = Pair("index.Tensor"), Pair("index_select")
    x, at = numbers(shape), np.array([0, 6, 3, 3])
    for laid, taken in layouts(x):
        index.agree((laid, [at]), 0, 0, taken if x.size else True)
        select.agree((laid, 0, at), 0, 0, taken if x.size else True)
    index.agree((x, [at.reshape(2, 1, 2)]), 0, 0)
    index.agree((x, [at[:0]]), 0, 0)
    index.agree((x, [at - 7]), 0, 0, taken=False)
    if len(shape) > 1:
        index.agree((x, [None, at[:0]]), 0, 0, taken=False)
    index.agree((x, [x.reshape(7, -1).sum(1) >= 0]), 0, 0, taken=False)
    select.agree((x, len(shape) - 1, at[:0]), 0, 0, taken=len(shape) == 1)
    for wrong in (at + 7, at - 8) if x.size else ():
        with pytest.raises(IndexError, match="out of"):
            index.kernel(x, [wrong])
        with pytest.raises(IndexError, match="out of"):
            select.kernel(x, 0, wrong)


@pytest.mark.parametrize("n", (1, 5, 16, 33))
@pytest.mark.parametrize("mode", (0, 1))
def test_bags(isa, n, mode):
    forward, back = Pair("_embedding_bag"), Pair("_embedding_bag_rows_backward")
    w, at, offsets = numbers((7, n)), np.array([0, 6, 3, 3, 3, 1, 5]), np.array([0, 3, 3, 6])
    samples = numbers(len(at), 1)
    for laid, taken in layouts(at):
        for weights in (None, samples):
            forward.agree((w, laid, offsets, False, mode, False, weights, False, -1), 1e-6, 1e-6, taken)
            forward.agree((w, laid, offsets, False, mode, False, weights, True, 3), 1e-6, 1e-6, taken)
        back.agree((numbers((4, n)), laid, np.array([0, 0, 0, 2, 2, 2, 3]), 7, -1), 1e-6, 1e-6, taken)
    back.agree((numbers((4, n)), at, np.array([0, 0, 0, 2, 2, 2, 3]), 7, 3), 1e-6, 1e-6)
    none = np.zeros(0, np.int64)
    forward.agree((w, none, np.zeros(3, np.int64), False, mode, False, None, False, -1))
    back.agree((numbers((4, n)), none, none, 7, -1))
    forward.agree((special((7, n)), at, offsets, False, mode, False, None, False, -1), signs=False)
    forward.agree((w, at, offsets, False, 2, False, None, False, -1), taken=False)
    with pytest.raises(RuntimeError, match="valid range"):
        forward.kernel(w, at + 1, offsets, False, mode, False, None, False, -1)


@pytest.mark.parametrize("shape", [(2, 4, 16), (3, 6, 5, 7), (1, 6, 130), (2, 6, 3)])
@pytest.mark.parametrize("groups", (1, 2))
def test_group_norm(isa, shape, groups):
    n, channels, size = shape[0], shape[1], math.prod(shape[2:])
    sizes, taken = (n, channels, size, groups), size >= 16
    forward, back = Pair("native_group_norm"), Pair("native_group_norm_backward")
    x, w, b = numbers(shape) + 3, numbers(channels, 1), numbers(channels, 2)
    w[0] = 0
    for weight, bias in ((w, b), (w, None), (None, None)):
        for laid, fits in layouts(x):
            forward.agree((laid, weight, bias, *sizes, 1e-5), 1e-4, 1e-4, fits and taken)
        _, mean, rstd = forward.twin(x, weight, bias, *sizes, 1e-5)
        for mask in ((True, weight is not None, bias is not None), (True, False, False)):
            for laid, _ in layouts(numbers(shape, 3)):
                back.agree((laid, x, mean, rstd, weight, *sizes, mask), 1e-4, 1e-4, taken)


@pytest.mark.parametrize("shape", [(3, 4), (5, 5), (2, 7, 3), (1, 1), (33, 2)])
@pytest.mark.parametrize("name", ("tril", "triu"))
def test_triangles(isa, name, shape):
    pair = Pair(name)
    x = numbers(shape)
    for some in (x, special(shape), x > 0, x.astype(np.complex64), x.astype(np.int8)):
        for laid, taken in layouts(some):
            for diagonal in (0, 1, -2, 100, -100, 2**62, -(2**62)):
                pair.agree((laid, diagonal), 0, 0, None if some.itemsize == 1 else taken, signs=False)
    pair.agree((numbers((0, 3)), 0), taken=False)


@pytest.mark.parametrize("n", (0, 1, 3, 16, 33))
def test_rows_added_at_places(isa, n):
    pair, at = Pair("combine"), np.array([0, 6, 3, 3, 3, 1])
    for shape in ((7, n), (7, n, 2), (7,)):
        target, values = numbers(shape), numbers((6, *shape[1:]), 1)
        for laid, _ in layouts(values):
            pair.agree((np, "add", target.copy(), at, laid), 1e-6, 1e-6)
        pair.agree((np, "add", target.copy(), at, np.broadcast_to(values[:1], values.shape)), 1e-6, 1e-6, taken=True)
    target = numbers((7, 5))
    pair.agree((np, "maximum", target.copy(), at, numbers((6, 5), 1)), taken=False)
    pair.agree((np, "add", target.astype(np.float64), at, np.ones((6, 5))), taken=False)
    for places, values in ((at + 1, numbers((6, 5))), (at - 1, numbers((6, 5))), (at[:5], target[1:6])):
        with pytest.raises(Declined):  # out of range, or of what lies in what is written to
            native.Kernel("combine", decline)(np, "add", target, places, values)


@pytest.mark.parametrize("dim", (0, 1, 2, -1))
def test_gather_and_scatter_add(isa, dim):
    x, more = numbers((4, 5, 3)), {d: n + 4 * (d == dim % 3) for d, n in enumerate((4, 5, 3))}
    at = np.random.default_rng(0).integers(0, x.shape[dim], tuple(more.values()))
    for laid, taken in layouts(x):
        Pair("gather").agree((laid, dim, at, False), 0, 0, taken)
    for laid, taken in layouts(at):
        Pair("gather").agree((x, dim, laid, False), 0, 0, taken)
        Pair("scatter_add.write").agree((np, x.copy(), dim, laid, numbers(at.shape, 1)), 1e-6, 1e-6, taken)
        Pair("scatter.write").agree((np, x.copy(), dim, laid, numbers(at.shape, 1)), taken=taken)
    Pair("gather").agree((x, dim, at[:0], False), 0, 0, taken=None)
    Pair("gather").agree((x, dim, at[:2, :2, :2], False), 0, 0, taken=None)
    for bad in (at - 1, at + 1):
        with pytest.raises(RuntimeError, match="out of bounds"):
            Pair("gather").kernel(x, dim, bad, False)
        with pytest.raises(RuntimeError, match="out of bounds"):
            Pair("scatter_add.write").kernel(np, x.copy(), dim, bad, numbers(at.shape, 1))


CHOICES = [  # of the mask, and two arrays
    *[((n,),) * 3 for n in SIZES if n], ((3, 1100),) * 3, ((3, 1100), (), (1100,)), ((3, 1), (3, 1100), ()),
    ((1100,), (3, 1), (3, 1100)), ((4, 1, 5), (3, 1), (4, 3, 5)), ((2, 1, 3, 1), (4, 1, 5), (2, 1, 1, 5)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", (np.float32, np.float64, np.int32, np.int64, np.complex64), ids=lambda d: d.__name__)
@pytest.mark.parametrize("shapes", CHOICES, ids=str)
def test_masks(isa, shapes, dtype):
    mask, *arrays = (np.asarray(numbers(shape, i)) for i, shape in enumerate(shapes))
    if dtype == np.float32:
        arrays = [special(a.size, i).reshape(a.shape) for i, a in enumerate(arrays)]
    x, y = (a.astype(dtype) for a in arrays)
    where, fill, number = Pair("where"), Pair("masked_fill.Scalar"), np.array(3, dtype)
    signs = dtype != np.complex64
    for laid, taken in layouts(mask > 0):
        where.agree((laid, x, y), 0, 0, None if taken is False else taken, signs)  # no order of bytes is a wrong one
    for laid, taken in layouts(x):
        where.agree((mask > 0, laid, y), 0, 0, taken, signs)
        fill.agree((laid, mask > 0, number), 0, 0, taken, signs)
        if np.broadcast_shapes(laid.shape, mask.shape) == laid.shape and laid.flags.writeable:
            Pair("masked_fill.write").agree((np, laid, mask > 0, number), 0, 0, taken, signs)
    spread = np.broadcast_to(number, np.broadcast_shapes(*shapes))
    where.agree((mask > 0, x, spread), 0, 0, True, signs)
    where.agree((mask, x, y), 0, 0, False, signs)
    where.agree((mask > 0, np.ones(x.shape, np.float16), y), 0, 0, False, signs)


def test_masks_that_lie_in_what_they_fill():
    bits = np.arange(8, dtype=np.int32)
    with pytest.raises(Declined):
        native.Kernel("masked_fill.write", decline)(np, bits, bits.view(bool)[3:11], np.array(3, np.int32))


@pytest.mark.parametrize("reduction", (0, 1, 2))
def test_likelihood(isa, reduction):
    forward, back = Pair("nll_loss_forward"), Pair("nll_loss_backward")
    x = numbers((6, 5))
    for at in (np.array([0, 4, 2, 2, 1, 3]), np.array([0, -100, 2, -100, 1, 3]), np.full(6, -100)):
        forward.agree((x, at, None, reduction, -100), 1e-6)
        total = forward.twin(x, at, None, reduction, -100)[1]
        g = numbers(6, 1) if reduction == 0 else np.float32(1.5).reshape(())
        with np.errstate(all="ignore"):
            back.agree((np.array(g), x, at, None, reduction, -100, total), 1e-6)
    forward.agree((x, at, numbers(5), reduction, -100), taken=False)
    with pytest.raises(IndexError, match="out of bounds"):
        forward.kernel(x, np.full(6, 5), None, reduction, -100)
    forward.agree((numbers((0, 5)), np.zeros(0, np.int64), None, reduction, -100))


# ---- recurrent layers


@pytest.mark.parametrize("mode", ("RNN_TANH", "RNN_RELU", "GRU", "LSTM"))
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (5, 8, 3, 4), (3, 7, 17, 21), (2, 19, 40, 33), (4, 2, 5, 48)])
@pytest.mark.parametrize("reverse", (False, True))
def test_recurrent_layers(isa, mode, sizes, reverse):
    length, batch, features, n = sizes
    gates = {"GRU": 3, "LSTM": 4}.get(mode, 1)
    x, h = numbers((length, batch, features), scale=1.0), numbers((batch, n), 1, 1.0)
    c = numbers((batch, n), 2, 1.0) if mode == "LSTM" else None
    w_ih, w_hh = numbers((gates * n, features), 3, 0.3), numbers((gates * n, n), 4, 0.3)
    forward, back = Pair("_recurrent"), Pair("_recurrent_backward")
    for b_ih, b_hh in ((numbers(gates * n, 5), numbers(gates * n, 6)), (None, None)):
        args = (x, h, c, w_ih, w_hh, b_ih, b_hh, None, mode, None, reverse)
        forward.agree(args, 1e-4, 1e-5, signs=False)
    made = forward.kernel(*args)
    g, ends = numbers((length, batch, n), 7), (numbers((batch, n), 8), None if c is None else numbers((batch, n), 9))
    for needs in ((True, True, mode == "LSTM", True, True, True, True, False), (False,) * 4 + (True,) + (False,) * 3):
        for given in ((g, *ends), (g, None, None), (None, ends[0], None), (np.broadcast_to(g[:1], g.shape), *ends)):
            args = (*given, x, h, c, w_ih, w_hh, None, *made[3:], mode, None, reverse, needs)
            wanted, got = back.twin(*args), back.kernel(*args)
            for one, other, need in zip(got, wanted, needs, strict=True):
                assert (one is not None) == need
                if need:
                    np.testing.assert_allclose(one, other, 1e-3, 1e-4 * max(1.0, float(np.abs(other).max())))
    assert not back.declined
    # What the twin kept is for the twin.
    kept = forward.twin(x, h, c, w_ih, w_hh, None, None, None, mode, None, reverse)[3:]
    args = (g, *ends, x, h, c, w_ih, w_hh, None, *kept, mode, None, reverse, needs)
    back.agree(args, 1e-3, 1e-3, taken=None, signs=False)


def test_what_an_elman_network_carries_on_is_no_less_exact_than_pytorchs(torch, isa):
    def errors(library, seed):
        x, h, *weights = (numbers(shape, seed, 1.0) for shape in ((20, 8, 16), (1, 8, 32), (32, 16), (32, 32), 32, 32))
        weights = [a / 4 if a.ndim == 2 else a for a in weights]

        def states(library, dtype):
            x_, h_, *parameters = (library.from_numpy(a.astype(dtype)) for a in (x, h, *weights))
            return library.rnn_tanh(x_, h_, parameters, True, 1, 0.0, False, False, False)[0].numpy()

        return np.abs(states(library, np.float32) - states(torch, np.float64)).max()

    mine, theirs = ([errors(library, seed) for seed in range(16)] for library in (torchlite, torch))
    assert np.mean(mine) < 0.9 * np.mean(theirs)


# ---- attention


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1, 1), (2, 3, 24, 24, 8, 8), (2, 1, 7, 33, 5, 18), (1, 2, 50, 9, 3, 3)])
@pytest.mark.parametrize("causal", (False, True))
def test_attention(isa, sizes, causal):
    batch, heads, queries, keys, features, values = sizes
    forward, back = Pair("_scaled_dot_product_attention"), Pair("_scaled_dot_product_attention_backward")
    shapes = ((queries, features), (keys, features), (keys, values))
    q, k, v = (numbers((batch, heads, *shape), i, 1.0) for i, shape in enumerate(shapes))
    for turned in (False, True):
        if turned:  # batch, heads and rows in another order in memory
            q, k, v = (np.ascontiguousarray(a.transpose(2, 0, 1, 3)).transpose(1, 2, 0, 3) for a in (q, k, v))
        made, kept = forward.kernel(q, k, v, None, causal, 0.3)
        wanted = forward.twin(q, k, v, None, causal, 0.3)[0]
        np.testing.assert_allclose(made, wanted, 1e-4, 1e-5)
        assert made.strides == wanted.strides and not forward.declined
        for g in (numbers(made.shape, 5), np.broadcast_to(np.float32(1), made.shape)):
            for needs in ((True, True, True, False), (False, True, False, False)):
                args = (g, q, k, v, None, made, kept, causal, 0.3, needs)
                back.agree(args, 1e-3, 1e-4, signs=False)
    for lead in ((), (heads,), (1, 1), (batch, 1), (batch, heads)):
        for sizes in ((queries, keys), (1, keys), (queries, 1)):
            mask = numbers((*lead, *sizes), 6)
            seen, hidden = mask > -1, np.where(mask > 0, mask, np.float32(-np.inf))
            for given in (mask, seen, hidden, np.ascontiguousarray(mask.T).T, np.ones_like(seen)):
                args = (q, k, v, given, causal, 0.3)
                made, kept = forward.kernel(*args)
                np.testing.assert_allclose(made, forward.twin(*args)[0], 1e-4, 1e-5)
    assert not forward.declined
    back.agree((numbers(made.shape, 5), *args[:4], made, kept, causal, 0.3, needs), 1e-3, 1e-4, signs=False)
    forward.agree((q, k, v, mask.astype(np.float64), False, 0.3), 1e-4, 1e-5, taken=False, signs=False)


# ---- halves


@pytest.mark.parametrize("half", (torchlite.float16.numpy, torchlite.bfloat16.numpy), ids=str)
def test_halves(isa, half):
    pair, every = Pair("_to_copy"), np.arange(1 << 16, dtype=np.uint16).view(half)
    made, wanted = pair.kernel(every, np.dtype(np.float32), None), every.astype(np.float32)
    np.testing.assert_array_equal(made, wanted)
    np.testing.assert_array_equal(np.signbit(made), np.signbit(wanted))
    # Between neighbours: at them, in the middle, and a little beside it.
    finite = np.sort(wanted[np.isfinite(wanted)]).astype(np.float64)
    middle = ((finite[1:] + finite[:-1]) / 2).astype(np.float32)
    beside = [np.nextafter(middle, np.float32(to)) for to in (-np.inf, np.inf)]
    for x in (finite.astype(np.float32), middle, *beside, SPECIAL, np.float32([65504, 65519, 65520, 3.4e38, 3.39e38])):
        with np.errstate(all="ignore"):
            made, wanted = pair.kernel(x, half, None), x.astype(half)
        same = (made.view(np.uint16) == wanted.view(np.uint16)) | np.isnan(x)
        assert made.dtype == half and same.all()
        assert np.isnan(made[np.isnan(x)].astype(np.float32)).all()
    assert not pair.declined
    for n in SIZES:
        for laid, taken in layouts(numbers(n)):
            pair.agree((laid, half, None), 0, 0, taken)
    for array, dtype in ((np.ones(3), half), (np.ones(3, half), np.dtype(np.float64)), (np.ones(3, half), half)):
        pair.agree((array, dtype, None), taken=False)


@pytest.mark.parametrize("n", SIZES)
def test_singles_and_doubles(isa, n):
    for x in (numbers(n), special(n)):
        for given, dtype in ((x, np.float64), (x.astype(np.float64) / 3e-4, np.float32)):
            for laid, taken in layouts(given):
                Pair("cast").agree((laid, np.dtype(dtype)), 0, 0, taken)


@pytest.mark.parametrize("half", (torchlite.float16.numpy, torchlite.bfloat16.numpy), ids=str)
@pytest.mark.parametrize("name", ("relu", "threshold_backward", "hardswish", "exp", "sigmoid"))
def test_pointwise_kernels_compute_halves_in_floats(isa, half, name):
    takes = {"threshold_backward": lambda x: (x[::-1].copy(), x, 0)}.get(name, lambda x: (x,))
    for n in (0, 1, 63, 64, 65, 1023, 1024, 1025, 5000):
        x = np.resize(np.concatenate([SPECIAL, numbers(101)]), n)
        with np.errstate(all="ignore"):
            x = x.astype(half)
            made = native.Kernel(name, decline)(*takes(x))
            floats = [a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in takes(x)]
            wanted = native.Kernel(name, decline)(*floats).astype(half)
        assert made.dtype == half and made.shape == x.shape
        np.testing.assert_array_equal(made.astype(np.float32), wanted.astype(np.float32))


# ---- steps of optimizers

STEP_CALLS = [  # how many arrays of state, and the numbers
    ("optim.sgd", 0, (0.1, None, 0.0, None, False)),
    ("optim.sgd", 0, (0.1, 0.01, 0.0, None, False)),
    ("optim.sgd", 1, (0.1, None, 0.9, 0.5, False)),
    ("optim.sgd", 1, (0.1, 0.01, 0.9, None, True)),
    ("optim.adam", 2, (None, None, 0.1, 0.999, 0.001, 1e-8, 0.01)),
    ("optim.adam", 2, (0.99, 0.02, 0.1, 0.999, 0.001, 1e-8, 0.01)),
    ("optim.rmsprop", 1, (0.1, 0.99, 0.01, 1e-8, 0.01, None, False)),
    ("optim.adagrad", 1, (None, 1e-10, 0.01)),
]


def step_arguments(n, states, rest, number=float):
    roles = [numbers(n, i) for i in range(2)] + [np.abs(numbers(n, i + 2)) for i in range(states)]
    return (np, *roles, *(number(value) if type(value) is float else value for value in rest))


@pytest.mark.parametrize("name,states,rest", STEP_CALLS)
def test_steps_of_optimizers(isa, name, states, rest):
    pair = Pair(name)
    for n in SIZES:
        for number in (float, lambda value: np.array(value, np.float32)):
            pair.agree(step_arguments(n, states, rest, number), 1e-5, 1e-5, signs=False)
    args = step_arguments(9, states, rest)
    for at in range(1, 3 + states):
        for laid, taken in layouts(args[at]):
            if laid.flags.writeable:
                pair.agree((*args[:at], laid, *args[at + 1 :]), 1e-5, 1e-5, taken, signs=False)
    wide = [a.astype(np.float64) if isinstance(a, np.ndarray) else a for a in args]
    pair.agree(wide, taken=False)
    before = pair.declined
    pair.kernel(np, args[1], args[1], *args[3:])  # which lie over each other
    assert pair.declined == before + 1


def test_further_state_is_for_the_twin():
    Pair("optim.adam").agree(step_arguments(5, 3, (None, None, 0.1, 0.999, 0.001, 1e-8, 0.01)), taken=False)
    Pair("optim.rmsprop").agree(step_arguments(5, 2, (None, 0.99, 0.01, 1e-8, 0.01, 0.9, False)), taken=False)


# ---- of few elements


@pytest.mark.parametrize("special", [None, np.nan, np.inf, -0.0])
def test_few_elements(special):
    for shape in ((7,), (3, 4), (2, 3, 4), (1, 5), (40, 30)):
        x = np.round(numbers(shape) * 2)  # so that some are equal
        if special is not None:
            x.reshape(-1)[::3] = special
        for laid, taken in layouts(x):
            for name in ("max", "min"):
                Pair(name).agree((laid, None, False), taken=taken, signs=False)
                for dim in range(len(shape)):
                    for keepdim in (False, True):
                        Pair(f"{name}.dim").agree((laid, dim, keepdim), taken=taken, signs=False)
                        Pair(f"arg{name}").agree((laid, dim, keepdim), taken=taken)
            for dim in range(len(shape)):
                with np.errstate(all="ignore"):
                    wanted = twin_of("cumsum")(laid, dim).astype(np.float32)
                    np.testing.assert_array_equal(Pair("cumsum").kernel(laid, dim).astype(np.float32), wanted)
        for laid, _ in layouts(x > 0):
            for name in ("any", "all"):
                Pair(name).agree((laid, None, False), taken=None)  # no order of bytes is a wrong one


def test_joined_arrays():
    shapes = [(shape, shape) for shape in ((3, 4), (2, 3, 4), (300, 200))] + [((3, 4), (5, 4)), ((6,), (2,))]
    for shape, other in shapes:
        for dtype in (np.float32, np.float64, np.int64):
            x, y = numbers(shape).astype(dtype), numbers(other, 1).astype(dtype)
            for laid, taken in layouts(x):
                Pair("cat").agree(([laid, y, y], 0), taken=taken)
                for dim in range(-len(shape), len(shape)) if shape == other else ():
                    Pair("cat").agree(([laid, y], dim), taken=taken)
                    Pair("stack").agree(([y, laid], dim), taken=taken)


# ---- sums


@pytest.mark.parametrize("shape", [(1,), (16,), (1000,), (5, 33), (7, 1, 15), (3, 17, 2), (0, 3), (300, 1100)])
def test_flips(shape):
    pair = Pair("flip")
    for d in range(-len(shape), len(shape)):
        for laid, taken in layouts(numbers(shape)):
            pair.agree((laid, (d,)), 0, 0, taken and laid.size > 0)
    pair.agree((numbers(shape), tuple(range(len(shape)))), 0, 0, taken=None)
    pair.agree((numbers(shape).astype(np.float64), (0,)), 0, 0, taken=False)


@pytest.mark.parametrize("shape", [(64,), (1000,), (3, 700), (700, 3), (70, 33), (5, 6, 40), (40, 4, 300), (2, 3, 40)])
def test_sums(isa, shape):
    x = numbers(shape) + 1
    axes = [None, -1, 0, tuple(range(len(shape))), (0, -1), tuple(range(1, len(shape))) or 0, len(shape) // 2]
    for name in ("sum.dim_IntList", "mean.dim"):
        pair = Pair(name)
        for axis in axes:
            if axis == (0, -1) and len(shape) == 1:
                continue
            for keepdim in (False, True):
                for laid, _ in layouts(x):
                    pair.agree((laid, axis, keepdim), 1e-5, 1e-5, taken=None)
        assert pair.declined < len(axes) * 12
    for bad in (np.nan, np.inf):
        x.reshape(-1)[5] = bad
        Pair("sum.dim_IntList").agree((x, None, False), taken=True)


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 5), (2, 3, 4, 5), (1, 1), (0, 3)])
def test_borders(isa, shape):
    pair, value = Pair("constant_pad_nd"), np.array(1.5, np.float32)
    for before, after in ((1, 2), (0, 3), (-1, 2), (2, -1), (-1, -1), (-3, 5), (7, -4), (0, 0)):
        for count in range(1, len(shape) + 1):
            if min(shape[-count:]) + min(before, 0) + min(after, 0) < 0:
                continue
            for laid, _ in layouts(special(shape)):
                pair.agree((laid, (before, after) * count, value), 0, 0, taken=None)
    pair.agree((numbers(shape), (1, 2), value), 0, 0, taken=0 not in shape)


@pytest.mark.parametrize("n", (1, 7, 8, 31, 32, 33, 64, 95, 1000))
def test_products_are_pytorchs_to_the_last_bit(torch, isa, n):
    for rows in (1, 3, 1000):
        x = np.exp(numbers((rows, n), scale=0.3))
        made = native.Kernel("prod.dim_int", decline)(x, 1, False)
        np.testing.assert_array_equal(made, torch.from_numpy(x).prod(1).numpy())
        whole = native.Kernel("prod", decline)(x[0].copy(), None, False)
        assert whole.shape == () and whole == torch.from_numpy(x[0]).prod().numpy()
        assert native.Kernel("prod.dim_int", decline)(x, -1, True).shape == (rows, 1)


@pytest.mark.parametrize("shape", ((1, 1), (3, 5), (70, 90), (2, 70, 33), (2, 3, 70)))
@pytest.mark.parametrize("name", ("cummax", "cummin", "max.dim", "min.dim", "argmax", "argmin"))
def test_where_extremes_stand(torch, isa, name, shape):
    function = getattr(torch, name.removesuffix(".dim"))
    for x in (numbers(shape), special(shape), np.rint(numbers(shape))):
        for dim in range(len(shape)):
            if not name.startswith("cum") and x.size > 4096 and dim < x.ndim - 1:
                continue  # NumPy's
            for keepdim in ((), (False,), (True,)) if not name.startswith("cum") else ((),):
                made = native.Kernel(name, decline)(x, dim, *(keepdim or (() if name.startswith("cum") else (False,))))
                wanted = function(torch.from_numpy(x), dim, *keepdim)
                for one, other in zip(listed(made), listed(wanted), strict=True):
                    np.testing.assert_array_equal(one, other.numpy())


@pytest.mark.parametrize("dtype", (np.float64, np.float16, np.int64, np.int32, np.int8, np.uint8))
def test_rows_of_other_types_have_their_extremes_found(torch, dtype):
    x = (numbers((70, 90)) * 20).astype(dtype)
    for name in ("max", "min"):
        values, places = native.Kernel(f"{name}.dim", decline)(x, 1, False)
        wanted = getattr(torch.from_numpy(x), name)(1)
        assert values.dtype == x.dtype
        np.testing.assert_array_equal(values, wanted.values.numpy())
        np.testing.assert_array_equal(places, wanted.indices.numpy())


@pytest.mark.parametrize("name", ("amax", "amin"))
@pytest.mark.parametrize("shape", [(64,), (1000,), (3, 65), (700, 79), (2, 3, 127), (5, 63), (0, 70)])
def test_extremes_of_rows(isa, name, shape):
    pair, x = Pair(name), numbers(shape)
    for keepdim in (False, True):
        for laid, _ in layouts(x):
            pair.agree((laid, (len(shape) - 1,), keepdim), 0, 0, taken=None)
    pair.agree((x, (len(shape) - 1,), False), 0, 0, taken=shape[-1] >= 64 and x.size > 0)
    for bad in (np.inf, -np.inf, np.nan):
        for at in (0, -1) if x.size else ():
            x.reshape(-1)[at] = bad
            pair.agree((x, (len(shape) - 1,), True), 0, 0, taken=None)


@pytest.mark.parametrize("name", ("amax", "amin", "max", "min"))
@pytest.mark.parametrize("shape", [(64,), (70, 79), (1 << 15,), (1 << 16,), (2, 300, 111), (65537,), (0,), (7,)])
def test_extremes_of_all(isa, name, shape):
    pair, x = Pair(name), numbers(shape)
    axes = [None, tuple(range(len(shape)))] if name.startswith("a") else [None]
    for bad in (None, np.inf, -np.inf, np.nan) if x.size else ():
        for at in (0, x.size // 2, -1):
            if bad is not None:
                x.reshape(-1)[at] = bad
            for axis, keepdim in itertools.product(axes, (False, True)):
                pair.agree((x, axis, keepdim), 0, 0, taken=None)
    assert pair.declined == 0 or x.size < 64 or not name.startswith("a")


@pytest.mark.parametrize("shape", [(70, 80), (64, 65), (3, 40, 50), (5, 3, 17, 33), (2, 2, 2, 40, 31), (4, 1, 1100)])
def test_copies_of_dimensions_in_another_order(isa, shape):
    pair, x = Pair("copy.rows"), numbers(shape)
    for order in itertools.permutations(range(len(shape))):
        turned = x.transpose(order)
        pair.agree((turned, "C"), 0, 0, taken=None)
        pair.agree((turned[..., 1:], "C"), 0, 0, taken=None)
        pair.agree((turned[..., ::-1], "C"), 0, 0, taken=None)
        pair.agree((np.broadcast_to(turned[..., :1], turned.shape), "C"), 0, 0, taken=None)
    pair.agree((x, "C"), 0, 0, taken=False)
    pair.agree((x.T, "K"), 0, 0, taken=False)
    pair.agree((x.astype(np.float64).T, "C"), 0, 0, taken=False)
    pair.agree((x.T, "C"), 0, 0, taken=x.size >= 4096)


@pytest.mark.parametrize("shape", [(64,), (1000,), (3, 700), (700, 3), (70, 33), (5, 6, 40), (40, 4, 300), (2, 1, 40)])
def test_norms(isa, shape):
    pair = Pair("linalg_vector_norm")
    for axis in (None, (0,), (len(shape) - 1,), tuple(range(len(shape)))):
        for keepdim in (False, True):
            for laid, _ in layouts(numbers(shape)):
                pair.agree((laid, axis, keepdim, 2), 1e-5, 1e-6, taken=None)
                pair.agree((laid, axis, keepdim, 1.0), 1e-5, 1e-6, taken=False)
    for bad in (np.nan, np.inf, 1e30):
        x = numbers(shape)
        x.reshape(-1)[5] = bad
        pair.agree((x, None, False, 2.0), 1e-5, taken=True)


@pytest.mark.parametrize("shape", [(2, 2), (3, 1), (33, 70), (300, 1100), (257, 40)])
def test_a_matrix_by_columns_times_a_vector(isa, shape):
    a, v = numbers(shape[::-1], scale=1.0).T, numbers(shape[1], 1, 1.0)
    Pair("mv").agree((a, v), 1e-4, 1e-4, taken=shape[1] > 1)
    Pair("mv").agree((np.ascontiguousarray(a), v), 1e-4, 1e-4, taken=False)
    Pair("mv").agree((a[::2], v), 1e-4, 1e-4, taken=False)


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
@pytest.mark.parametrize("shape", [(1, 2, 3, 4), (7, 33, 1, 2), (50, 31, 65, 33), (0, 3, 3, 3)])
def test_products_of_batches(shape, dtype):
    count, rows, n, columns = shape
    x, y = numbers((count, rows, n)).astype(dtype), numbers((count, n, columns), 1).astype(dtype)
    turned = [np.ascontiguousarray(a.mT).mT for a in (x, y)]
    for a, b in itertools.product((x, turned[0], x[::-1]), (y, turned[1])):
        Pair("bmm").agree((a, b), 0, 0)
    for a, b in ((x[..., :0], y[:, :0]), (x[:, :1], y), (x, y[..., :1]), (x.sum(0), y), (x, y.astype(np.float16))):
        Pair("bmm").agree((a, b), 0, 0, taken=False)
    Pair("bmm").agree((np.ones((2, 128, 64), dtype), np.ones((2, 64, 65), dtype)), taken=False)  # which BLAS shares


@pytest.mark.parametrize(
    "shape", [(33, 97, 331), (515, 97, 33), (64, 289, 290), (40, 1100, 48), (39, 577, 600), (50, 145, 151)]
)
def test_products_of_matrices(isa, shape):
    rows, n, columns = shape
    x, y, bias = numbers((rows, n)), numbers((n, columns), 1), numbers(columns, 2)
    taken = None if n >= 1000 else True  # BLAS's long sums are the twin's
    for a, b in itertools.product((x, np.asfortranarray(x)), (y, np.asfortranarray(y))):
        Pair("mm").agree((a, b), 1e-4, 1e-2, taken)
        Pair("_linear").agree((a, b.T), 1e-4, 1e-2, taken)
        Pair("_linear.bias").agree((bias, a, b.T), 1e-4, 1e-2, taken)


@pytest.mark.skipif(not native or "avx512" not in native.isas, reason="where vectors are narrower, products are BLAS's")
@pytest.mark.parametrize("shape", [(200, 300, 100), (64, 784, 256), (48, 2000, 64)])
def test_products_and_their_gradients_are_as_exact_as_pytorchs(torch, shape):
    rows, n, columns = shape
    given = numbers((rows, n)), numbers((n, columns), 1), numbers((rows, columns), 2)

    def learned(library, dtype=np.float32):
        x, y, g = (library.from_numpy(a.astype(dtype)) for a in given)
        made = x.requires_grad_() @ y.requires_grad_()
        return [made.detach().numpy(), *[a.numpy() for a in library.autograd.grad(made, (x, y), g)]]

    for mine, theirs, truth in zip(learned(torchlite), learned(torch), learned(torch, np.float64), strict=True):
        assert np.abs(mine - truth).max() <= 1.05 * np.abs(theirs - truth).max()


@pytest.mark.parametrize("name", ("sum.dim_IntList", "mean.dim", "linalg_vector_norm"))
@pytest.mark.parametrize("shape", [(), (1,), (4, 4), (3, 1, 5), (2, 7, 3), (40,)])
def test_sums_of_few(isa, name, shape):
    pair, order = Pair(name), (2,) if "norm" in name else ()
    for x in (numbers(shape), special(shape) if shape else numbers(())):
        for axis in (None, *range(len(shape)), (0,) if shape else (), -1 if shape else None):
            for keepdim in (False, True):
                for laid, _ in layouts(np.asarray(x, np.float32)):
                    pair.agree((laid, axis, keepdim, *order), 1e-6, 1e-6, taken=None)


@pytest.mark.parametrize("name", ("var.correction", "std.correction"))
@pytest.mark.parametrize(
    "shape", [(64,), (1000,), (3, 700), (70, 33), (5, 6, 40), (40, 4, 3), (4, 4), (5,), (2, 3, 5)]
)
def test_variances(isa, name, shape):
    pair, x = Pair(name), numbers(shape) + 100
    for axis in (None, (0,), (len(shape) - 1,), tuple(range(1, len(shape))) or (0,)):
        for correction in (None, 0, 1, 3):
            for keepdim in (False, True):
                for laid, _ in layouts(x):
                    pair.agree((laid, axis, keepdim, correction), 1e-4, 1e-6, taken=None)
    pair.agree((x, None, False, 1), 1e-4, 1e-6)
    x.reshape(-1)[3] = np.inf
    pair.agree((x, None, False, 1), taken=False)


@pytest.mark.parametrize("name", ("cumsum", "cumprod", "logcumsumexp"))
@pytest.mark.parametrize("shape", [(1,), (65,), (3, 17), (8, 33), (19, 5), (4, 5, 7), (2, 9, 300), (0, 3), (3, 0)])
def test_running_totals(isa, name, shape):
    for axis in (*range(len(shape)), -1):
        for x in (numbers(shape, scale=1.0), special(shape)):
            for laid, taken in layouts(x):
                Pair(name).agree((laid, axis), 1e-5, 1e-5, taken, signs=name == "cumprod")  # PyTorch begins with +0


@pytest.mark.parametrize("dim", (0, 1))
def test_logarithms_of_totals_are_as_exact_as_pytorchs(torch, isa, dim):
    x = numbers((700, 900))
    truth = np.logaddexp.accumulate(x.astype(np.float64), dim)
    made, theirs = Pair("logcumsumexp").kernel(x, dim), torch.from_numpy(x).logcumsumexp(dim).numpy()
    assert np.abs(made - truth).max() <= np.abs(theirs - truth).max() * 1.03


def test_long_sums_are_nearer_to_the_truth_than_pairwise_ones(isa):
    x = np.random.default_rng(0).random((3, 1 << 18), np.float32)
    truth = x.astype(np.float64).sum(1)
    for turned, axis in ((x, 1), (np.ascontiguousarray(x.T.reshape(-1, 48)), None)):
        made, pairwise = Pair("sum.dim_IntList").kernel(turned, axis, False), turned.sum(axis)
        wanted = truth if axis == 1 else truth.sum()
        assert np.abs(made - wanted).max() <= max(np.abs(pairwise - wanted).max(), 1e-7 * np.abs(wanted).max())


def test_sums_of_columns_are_right_to_the_last_place(isa):
    x = numbers((300, 1000))
    truth = x.astype(np.float64).sum(0)
    made = Pair("sum.dim_IntList").kernel(x, 0, False)
    assert np.abs(made - truth).max() < np.spacing(np.abs(made).max())


# ---- losses of pairs

LOSSES = {  # what stands between the arrays and the reduction, and behind it
    "mse_loss": ((), ()), "smooth_l1_loss": ((), (0.7,)), "smooth_l1_loss.sharp": ((), (0.0,)),
    "huber_loss": ((), (1.5,)), "binary_cross_entropy_with_logits": ((None, None), ()),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("n", (*SIZES, 5000))
def test_losses_of_pairs(isa, name, n):
    before, after = LOSSES[name]
    forward, back = Pair(name.removesuffix(".sharp")), Pair(f"{name.removesuffix('.sharp')}_backward")
    strange = special(n)
    strange[np.abs(strange) == np.float32(1e38)] = 7  # whose products are finite in the one or in the other
    for x, t in ((numbers(n), numbers(n, 1)), (strange, numbers(n, 1)), (numbers(n), strange)):
        for reduction in range(3):
            for laid, taken in layouts(x):
                taken = taken and n > 0
                forward.agree((laid, t, *before, reduction, *after), 2e-5, 1e-6, taken, signs=False)
                for g in (numbers(n, 2), np.array(0.7, np.float32)):
                    back.agree((g, laid, t, *before, reduction, *after), 2e-5, 1e-6, taken, signs=False)


def test_a_loss_of_many_is_as_near_to_the_truth_as_a_pairwise_sum(isa):
    x, t = np.random.default_rng(0).random((2, 1 << 20), np.float32)
    truth = ((x - t).astype(np.float64) ** 2).sum()
    assert abs(Pair("mse_loss").kernel(x, t, 2) - truth) <= 1e-7 * truth


# ---- many arrays at once


def test_lists_of_arrays(isa):
    arrays = [np.asarray(numbers(shape, i)) for i, shape in enumerate(((3, 4), (), (1000,), (0,), (65, 7)))]
    norm, scale = Pair("norm_of_all"), Pair("scale_all")
    norm.agree((np, arrays), 1e-6)
    copied = [a.copy() for a in arrays]
    scale.kernel(np, arrays, np.array(0.3, np.float32))
    for one, other in zip(arrays, copied, strict=True):
        np.testing.assert_array_equal(one, other * np.float32(0.3))
    assert not norm.declined and not scale.declined
    norm.agree((np, [*arrays, numbers(4).astype(np.float64)]), 1e-6, taken=False)
    norm.agree((np, [numbers((5, 6)).T, np.array([np.inf], np.float32)]), 1e-6, taken=False)


# ---- images of another size, and sampled


def table_of(rows, size):
    """The arguments of a map along a dimension."""
    return resample.Map(rows, size).arrays(get_backend("cpu"), np.dtype(np.float32))


MAPS = {  # for each result: elements and their weights
    "moved": [[(3, 1)], [(0, 1)], [(1, 1)], [(2, 1)], [(3, 1)], [(4, 1)], [(0, 1)]],
    "added": [[(0, 1), (2, 1)], [], [(4, 1)], [(1, 1), (2, 1), (3, 1)]],
    "between": [[(0, 0.75), (1, 0.25)], [(1, 0.5), (2, 0.5)], [(3, 0.0), (4, 1.0)]],
    "uneven": [[(0, 0.5)], [(1, 2.0), (2, -1.0), (4, 0.25)], []],
}


@pytest.mark.parametrize("rows", MAPS)
@pytest.mark.parametrize("shape", [(5,), (3, 5), (9, 5), (5, 1), (5, 17), (2, 5, 64), (3, 2, 5, 3), (0, 5), (5, 0)])
def test_maps_of_dimensions(isa, rows, shape):
    pair, axis = Pair("map_all"), shape.index(5)
    for x in (numbers(shape), np.abs(special(shape))):
        for laid, taken in layouts(x):
            pair.agree((np, laid, [(axis, *table_of(MAPS[rows], 5))]), 1e-6, 1e-6, taken if x.size else None)


@pytest.mark.parametrize("one", MAPS)
@pytest.mark.parametrize("other", MAPS)
def test_maps_of_planes(isa, one, other):
    for shape in ((5, 5), (3, 5, 5), (0, 5, 5)):
        n, x = len(shape), numbers(shape)
        for axes in ((n - 2, n - 1), (n - 1, n - 2)):
            steps = [(axis, *table_of(MAPS[rows], 5)) for axis, rows in zip(axes, (one, other))]
            Pair("map_all").agree((np, x, steps), 1e-6, 1e-6, taken=bool(x.size))


@pytest.mark.parametrize("padding", range(3))
@pytest.mark.parametrize("align", (False, True))
@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (1, 1, 1, 1), (1, 2, 1, 4), (2, 1, 30, 20)])
def test_sampled_images(isa, padding, align, shape):
    forward, back, n = Pair("grid_sample"), Pair("grid_sample_backward"), shape[0]
    for points in ((1, 1), (3, 5), (20, 17)):
        x, grid = numbers(shape), numbers((n, *points, 2), 1, 0.6)
        options, g = (0, padding, align), numbers((n, shape[1], *points), 2)
        for strange in (None, np.nan, 1e30, -5.0, 1.0, -1.0):
            if strange is not None:
                grid[0, 0, 0, 0] = grid[-1, -1, -1, 1] = strange
            backend = get_backend("cpu")
            for laid, taken in layouts(x):
                forward.agree((backend, laid, grid, *options), 1e-4, 1e-5, taken, signs=False)
            for mask in ((True, True), (True, False), (False, True)):
                back.agree((backend, g, x, grid, *options, mask), 1e-4, 1e-4, signs=False)
    x[0, 0, 0, 0] = np.inf  # which would be multiplied by a weight of 0
    forward.agree((backend, x, grid, *options), 1e-4, 1e-5, taken=False)


# ---- sparse products


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 21, 64, 100])
def test_sparse_products(isa, width, dtype):
    r = np.random.default_rng(width)
    rows, columns, values = r.integers(0, 30, 200), r.integers(0, 20, 200), r.standard_normal(200).astype(dtype)
    dense = r.standard_normal((20, width)).astype(dtype)
    ordered = np.sort(rows)
    starts = np.searchsorted(ordered, np.arange(31))
    for index in (np.int64, np.int32):
        where = rows.astype(index), columns.astype(index)
        for fused in (True, False):
            Pair("sparse.product").agree((np, *where, values, dense, 30, fused), 1e-4, 1e-5)
            Pair("sparse.product").agree((np, ordered, columns, values, dense, 33, fused), 1e-4, 1e-5)
        Pair("sparse.product_of_rows").agree((np, starts.astype(index), where[1], values, dense), 1e-4, 1e-5)
        other = r.standard_normal((30, width)).astype(dtype)
        Pair("sparse.samples").agree((np, *where, other, dense), 1e-4, 1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lengths", [[2000], [0, 511, 1, 0, 512, 513, 7], [9] * 150, [0, 0]])
def test_sparse_products_with_a_vector(isa, lengths, dtype):
    r = np.random.default_rng(len(lengths))
    starts = np.cumsum([0, *lengths])
    columns, vector = r.integers(0, 20, starts[-1]), r.standard_normal(20).astype(dtype)
    values, rows = r.standard_normal(starts[-1]).astype(dtype), np.repeat(np.arange(len(lengths)), lengths)
    Pair("sparse.product_of_rows").agree((np, starts, columns, values, vector), 1e-3, 1e-4)
    Pair("sparse.product").agree((np, rows, columns, values, vector, len(lengths), True), 1e-3, 1e-4)


def in_order(products, dtype, lanes):
    """The sum of rounded products, those of all whole fours in so many lanes."""
    sums = np.zeros(lanes, dtype)
    whole = len(products) // 4 * 4 if lanes > 1 else 0
    for i in range(0, whole, lanes):
        sums += products[i : i + lanes]
    while sums.size > 1:
        sums = sums[::2] + sums[1::2]
    for product in products[whole:]:
        sums += product
    return sums[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("each", [6, 7])
def test_compressed_rows_are_added_up_in_pytorchs_order(isa, each, dtype):
    r = np.random.default_rng(each)
    rows = np.sort(np.concatenate([np.arange(40), r.integers(0, 40, 40 * each - 40)]))
    starts, columns = np.searchsorted(rows, np.arange(41)), r.integers(0, 20, rows.size)
    values, dense = r.standard_normal(rows.size).astype(dtype), r.standard_normal((20, 9)).astype(dtype)
    kernel = Pair("sparse.product_of_rows").kernel
    products = values[:, None] * dense[columns]
    made = kernel(np, starts, columns, values, dense)
    vector = kernel(np, starts, columns, values, dense[:, 0].copy())
    lanes = 2 if dtype is np.float64 else 4 if each > 6 else 1
    for i, (low, high) in enumerate(itertools.pairwise(starts)):
        assert [in_order(p, dtype, 1) for p in products[low:high].T] == list(made[i])
        assert in_order(products[low:high, 0], dtype, lanes) == vector[i]


@pytest.mark.parametrize("width", [0, 8])
def test_threads_share_compressed_rows(isa, width):
    r = np.random.default_rng(width)
    rows = np.sort(r.integers(0, 4000, 50_000))
    starts, columns = np.searchsorted(rows, np.arange(4001)), r.integers(0, 20, rows.size)
    values = r.standard_normal(rows.size, np.float32)
    dense = r.standard_normal((20, width) if width else 20, np.float32)
    kernel, threads = native.Kernel("sparse.product_of_rows", lambda *_: None), torchlite.get_num_threads()
    try:
        made = []
        for count in (1, 3):
            torchlite.set_num_threads(count)
            made.append(kernel(np, starts, columns, values, dense))
        columns[-1] = 20
        assert np.array_equal(*made) and kernel(np, starts, columns, values, dense) is None
    finally:
        torchlite.set_num_threads(threads)


# ---- random numbers: the same to the bit


def words_of(n, seed=0):
    edges = np.array([0, 1, 0xFFFFFF, 0xFFFFFFFF, 0x1FFFFF, 0x200000, 0x800000, 0x4AFB0D, 0x4AFB0C], np.uint32)
    drawn = np.random.default_rng(seed).integers(0, 1 << 32, n, np.uint32)
    drawn[: edges.size] = edges[:n]
    return drawn


SHAPES = [(), (0,), (1,), (3,), (15,), (16,), (17,), (4, 4), (2, 0), (5, 7), (640,), (1000,), (40, 300), (3,) * 6]


@pytest.mark.parametrize("name", DRAWS)
def test_draws_from_a_stream(isa, name):
    stream, declined = MT19937Stream(7), []

    def general(*args):
        declined.append(args)
        return DRAWS[name](*args)

    kernel = native.Kernel(name, general)
    dtypes = (np.int64,) if name == "draw.integers" else (np.float32, np.float64)
    calls = [(shape, np.dtype(d)) for shape in SHAPES for d in dtypes]
    some = np.random.default_rng(1)
    for at, which in zip(some.integers(len(calls), size=2000), some.integers(len(DRAWN[name]), size=2000)):
        other, call = stream.clone(), (*calls[at], *DRAWN[name][which])
        made, wanted = kernel(stream, *call), DRAWS[name](other, *call)
        assert made.shape == wanted.shape and made.dtype == wanted.dtype and made.tobytes() == wanted.tobytes()
        assert stream.get_state().tobytes() == other.get_state().tobytes()
    assert len(declined) < 1300


@pytest.mark.parametrize("name", DRAWS)
def test_draws_that_are_declined(name):
    kernel, stream = native.Kernel(name, decline), MT19937Stream(7)
    own, foreign = (np.int64, np.float32) if name == "draw.integers" else (np.float32, np.int64)
    fine = stream, (4, 4), np.dtype(own), *DRAWN[name][0]
    with pytest.raises(Declined):  # before the first words are made
        kernel(*fine)
    stream.words32(1)
    assert kernel(*fine).shape == (4, 4)
    for i, arg in enumerate(fine):
        for other in ("no such", *other_values(arg if i else None)):
            try:
                assert kernel(*fine[:i], other, *fine[i + 1 :]).shape == (other if i == 1 else (4, 4))
            except Declined:
                pass
    for dtype in (np.float16, foreign, ">f4", ">i8", np.complex64):
        with pytest.raises(Declined):
            kernel(stream, (4, 4), np.dtype(dtype), *fine[3:])
    stream.seed(7)
    stream.words32(1)
    held, done = threading.Event(), threading.Event()

    def hold():
        with stream._lock:
            held.set()
            done.wait()

    other = threading.Thread(target=hold)
    other.start()
    held.wait()
    with pytest.raises(Declined):
        kernel(*fine)
    done.set()
    other.join()
    assert kernel(*fine).shape == (4, 4)


def calls_on_words(n):
    words = words_of(n)
    yield "unit_floats", (words,)
    yield "unit_doubles", (words_of(2 * n),)
    yield "ones_below", (words_of(2 * n), 0.3, np.dtype(np.float32))
    for scale, shift in ((1.0, 0.0), (3.0, 0.0), (1.0, 0.3), (0.7, -1.3), (1e-30, 1e-38), (math.inf, 1.0)):
        yield "multiply_add", (special(n), scale, shift)
        yield "fill_normals", (np.empty(16 * n, np.float32), words_of(16 * n, n), shift, scale)


@pytest.mark.parametrize("n", (*SIZES, 100_000))
def test_numbers_of_words(isa, n):
    for name, args in calls_on_words(n):
        pair = Pair(name)
        theirs = copies(args)
        with np.errstate(all="ignore"):
            made, wanted = pair.kernel(*args), pair.twin(*theirs)
        if name == "fill_normals":
            made, wanted = args[0], theirs[0]
        np.testing.assert_array_equal(made, wanted)
        assert np.array_equal(np.signbit(made), np.signbit(wanted)) or np.isnan(wanted).any()
        assert not pair.declined


# ---- what no kernel may take as it is


def good_calls():
    """Of every kernel, arguments that it takes: by name and what tells several calls of one apart."""
    x, y, w, image = numbers((4, 6)), numbers((4, 6), 1), numbers(6, 2), numbers((2, 4, 6, 5), 3)
    rows = np.ones((4, 1), np.float32)
    for name, rest in UNARY.items():
        yield name.removesuffix(".tanh"), (x, *rest)
    for name, rest in SLOPES.items():
        yield name.removesuffix(".tanh").removesuffix(".far"), (x, y, *rest)
    yield "index_select", (x, 0, np.array([3, 0, 3]))
    yield "index.Tensor", (x, [np.array([3, 0, 3])])
    yield "where", (x > 0, x, y)
    yield "masked_fill.Scalar", (x, y > 0, np.array(2, np.float32))
    yield "masked_fill.Tensor", (x, y > 0, np.array(2, np.float32))
    yield "masked_fill.write", (np, x, y > 0, np.array(2, np.float32))
    yield "elu_backward", (x, 1.0, 1, 1, False, y)
    for name in ("softmax", "log_softmax"):
        yield f"{name}.int", (x, -1)
        yield f"_{name}", (x, -1, False)
    for name in ("_softmax_backward_data", "_log_softmax_backward_data"):
        yield name, (x, y, 1)
    yield "logsumexp", (x, (-1,), True)
    for name in ("sum", "mean"):
        yield name, (numbers((40, 40)), None, False)
    for name in ("sum.dim_IntList", "mean.dim"):
        yield name, (image, (0, 2, 3), False)
        yield name, (numbers((4, 40)), -1, False)
        yield name, (numbers((4, 40)), 0, False)
    yield "constant_pad_nd", (image, (1, 2, -1, 0), np.array(0, np.float32))
    for name in ("amax", "amin"):
        yield name, (numbers((4, 80)), (1,), False)
        yield name, (numbers((4, 80)), None, False)
    yield "copy.rows", (numbers((70, 80)).T, "C")
    for name in ("cumsum", "cumprod", "logcumsumexp"):
        yield name, (image, 2)
    yield "var.correction", (numbers((4, 40)), (1,), False, 1)
    yield "linalg_vector_norm", (numbers((4, 40)), (1,), False, 2)
    yield "mv", (numbers((5, 4)).T, numbers(5, 1))
    for name, (before, after) in LOSSES.items():
        name = name.removesuffix(".sharp")
        for reduction, g in ((0, y), (1, np.array(2, np.float32))):
            yield name, (x, numbers((4, 6), 2), *before, reduction, *after)
            yield f"{name}_backward", (g, x, numbers((4, 6), 2), *before, reduction, *after)
    yield "_to_copy", (x, np.dtype(np.float16), None)
    yield "cast", (x, np.dtype(np.float16))
    yield "native_layer_norm", (x, (6,), w, w, 1e-5)
    yield "native_layer_norm_backward", (x, y, (6,), rows, rows, w, w, (True, True, True))
    flat = ((1, 1), (1, 1), (1, 1), False, (0, 0), 2)
    turned = ((2, 2), (1, 1), (1, 1), True, (1, 1), 2)
    kernel = numbers((4, 2, 3, 3), 4)
    yield "convolution", (image, kernel, numbers(4), *flat)
    yield "convolution", (image, kernel, numbers(4), *turned)
    yield "convolution_backward", (numbers((2, 4, 6, 5)), image, kernel, (4,), *flat, (True, True, True))
    yield "convolution_backward", (numbers((2, 4, 12, 10)), image, kernel, (4,), *turned, (True, True, True))
    pool = ((2, 2), (2, 2), (0, 0), (1, 1), False)
    best, taps = Pair("max_pool2d").twin(image, *pool)
    yield "max_pool2d", (image, *pool)
    yield "_max_pool2d_backward", (numbers(best.shape, 5), image, taps, *pool)
    pool = ((2,) * 3, (2,) * 3, (0,) * 3, (1,) * 3, False)
    best, taps = Pair("max_pool3d").twin(image, *pool)
    yield "max_pool3d", (image, *pool)
    yield "_max_pool3d_backward", (numbers(best.shape, 5), image, taps, *pool)
    for name in ("tril", "triu"):
        yield name, (image, 1)
    yield "topk", (image, 1, 2, True, True)
    yield "kthvalue", (image, 3, True, 2)
    yield "clamp", (image, np.array(0, np.float32), None)
    yield "_prelu_kernel", (image, np.array([0.3], np.float32))
    c = np.abs(numbers(4, 6)) + 1
    for training in (True, False):
        yield "native_batch_norm", (image, c, c, c.copy(), c.copy(), training, 0.1, 1e-5)
    yield "native_batch_norm_backward", (image, image, c, None, None, c, c, True, 1e-5, (True, True, True))
    tall = numbers((2, 4, 6, 5), 9)
    yield "native_group_norm", (tall, c, c, 2, 4, 30, 2, 1e-5)
    stats = Pair("native_group_norm").twin(tall, c, c, 2, 4, 30, 2, 1e-5)[1:]
    yield "native_group_norm_backward", (numbers((2, 4, 6, 5)), tall, *stats, c, 2, 4, 30, 2, (True, True, True))
    at = np.array([[0, 3], [2, 2]])
    yield "embedding", (x, at, -1, False, False)
    yield "embedding_dense_backward", (numbers((2, 2, 6)), at, 4, -1, False)
    flat = at.reshape(-1)
    yield "_embedding_bag", (x, flat, np.array([0, 1, 1]), False, 1, False, None, False, -1)
    yield "_embedding_bag_rows_backward", (numbers((3, 6)), flat, np.array([0, 2, 2, 2]), 4, -1)
    yield "combine", (np, "add", numbers((4, 6)), flat, x)
    along = np.array([[0, 3, 2, 1, 1, 0]])
    yield "gather", (x, 0, along, False)
    for name in ("scatter.write", "scatter_add.write"):
        yield name, (np, numbers((4, 6)), 0, along, numbers((1, 6)))
    rows, columns = np.array([0, 0, 2, 3, 1]), np.array([3, 0, 1, 1, 2])
    yield "sparse.product", (np, rows, columns, numbers(5), x, 4, True)
    yield "sparse.product_of_rows", (np, np.array([0, 2, 2, 5]), columns, numbers(5), x)
    yield "sparse.samples", (np, rows, columns, x, y)
    classes, total = np.array([0, 5, 2, -100]), np.float32(3).reshape(())
    for reduction in (0, 1):
        yield "nll_loss_forward", (x, classes, None, reduction, -100)
        g = numbers(4) if reduction == 0 else np.array(1, np.float32)
        yield "nll_loss_backward", (g, x, classes, None, reduction, -100, np.array(total))
    for name in ("mm", "matmul"):
        yield name, (x, np.ascontiguousarray(y.T))
        yield name, (numbers((20, 30)), numbers((30, 20)))
    yield "flip", (x, (1,))
    yield "bmm", (numbers((3, 4, 5)), numbers((3, 5, 2)))
    yield "_linear", (x, y)
    yield "_linear.bias", (numbers(4), x, y)
    for mode, gates in (("RNN_TANH", 1), ("GRU", 3), ("LSTM", 4)):
        h = numbers((2, 3), 7)
        cell, b = (h if mode == "LSTM" else None), numbers(gates * 3, 8)
        weights = (numbers((gates * 3, 5), 9), numbers((gates * 3, 3), 10))
        steps, rest = numbers((4, 2, 5), 11), (mode, None, False)
        args = (steps, h, cell, *weights, b, b, None, *rest)
        yield "_recurrent", args
        kept = Pair("_recurrent").kernel(*args)[3:]
        needs = (True, True, mode == "LSTM", True, True, True, True, False)
        yield "_recurrent_backward", (numbers((4, 2, 3)), h, cell, steps, h, cell, *weights, None, *kept, *rest, needs)
    q, k, v = numbers((2, 2, 3, 4)), numbers((2, 2, 5, 4), 1), numbers((2, 2, 5, 6), 2)
    made = Pair("_scaled_dot_product_attention").kernel(q, k, v, None, False, 0.3)
    for mask in (None, numbers((3, 5)), numbers((2, 1, 3, 5)) > 0):
        yield "_scaled_dot_product_attention", (q, k, v, mask, False, 0.3)
    yield "_scaled_dot_product_attention_backward", (made[0], q, k, v, None, *made, False, 0.3, (True,) * 3 + (False,))
    for name, states, rest in STEP_CALLS:
        yield name, step_arguments(6, states, rest)
    words = words_of(32)
    yield "unit_floats", (words,)
    yield "unit_doubles", (words,)
    yield "ones_below", (words, 0.3, np.dtype(np.float32))
    yield "multiply_add", (numbers(5), 0.5, 2.0)
    yield "fill_normals", (numbers(32), words, 1.0, 2.0)
    x = numbers((3, 4))
    for name in ("max", "min"):
        yield from ((name, (x, None, False)), (f"{name}.dim", (x, 1, False)), (f"arg{name}", (x, 0, True)))
    for name in ("any", "all"):
        yield name, (x > 0, None, False)
    for name in ("sum.dim_IntList", "mean.dim"):
        yield name, (x, 1, False)
    for axis in (None, 0):
        yield "linalg_vector_norm", (x, axis, True, 2)
    for name in ("var.correction", "std.correction"):
        yield name, (x, None, False, 1)
        yield name, (x, (1,), True, None)
    yield "cumsum", (x, 1)
    for name in ("sort", "argsort"):
        yield name, (x, 1, False)
        yield f"{name}.stable", (x, 1, True, False)
    for name in ("cummax", "cummin"):
        yield name, (x, 1)
    yield "prod", (x, None, False)
    yield "prod.dim_int", (x, 1, False)
    for name in ("cat", "stack"):
        yield name, ((x, numbers((3, 4), 1)), 1)


    yield "norm_of_all", (np, [x, y])
    yield "scale_all", (np, [x.copy(), y.copy()], np.array(2, np.float32))
    backend = get_backend("cpu")
    for rows in MAPS.values():
        yield "map_all", (np, numbers((5, 6)), [(0, *table_of(rows, 5))])
    sampled, grid = numbers((2, 4, 5, 5)), numbers((2, 3, 4, 2), 1, 0.6)
    yield "grid_sample", (backend, sampled, grid, 0, 1, False)
    yield "grid_sample_backward", (backend, numbers((2, 4, 3, 4)), sampled, grid, 0, 0, True, (True, True))


def other_arrays(array):
    """What an array might have been instead."""
    for d in range(array.ndim):
        yield np.take(array, 0, d)
        yield np.repeat(array, 2, d)
        yield np.delete(array, 0, d)
        yield np.concatenate([array, np.take(array, [0], d)], d)
        yield np.take(array, [], d)
    yield array[None]
    yield array.T
    yield np.ascontiguousarray(array.T)
    yield array.reshape(-1)
    yield np.broadcast_to(array[..., :1] if array.ndim else array, array.shape)
    yield array[..., ::-1] if array.ndim else array
    for dtype in (np.float16, np.float64, np.int32, np.int64, bool, np.complex64, array.dtype.newbyteorder(">")):
        yield np.nan_to_num(array).astype(dtype)
    frozen = array.copy()
    frozen.setflags(write=False)
    yield frozen
    yield np.zeros((), array.dtype)
    if array.dtype.kind == "i":
        for place in (-1, 1 << 40, -(1 << 63), (1 << 63) - 1):
            wrong = array.copy()
            wrong.flat[-1] = place
            yield wrong
    yield None


def other_values(value):
    """What an argument might have been instead, of whatever kind it is."""
    if isinstance(value, np.ndarray):
        yield from other_arrays(value)
    elif isinstance(value, bool):
        yield not value
        yield None
    elif isinstance(value, (int, float)):
        kind = type(value)
        yield from (kind(n) for n in (-(1 << 63), -7, -1, 0, 1, 2, 3, 50, 1 << 61))
        yield from (None, "3", 1 << 70)
    elif isinstance(value, tuple):
        yield from (None, 1, (), value[1:], (*value, *value[:1]), list(value))
        for i, item in enumerate(value):
            yield from ((*value[:i], other, *value[i + 1 :]) for other in other_values(item))
        yield from (tuple([n] * len(value)) for n in (-1, 0, 1 << 20, 1 << 61))
    else:
        yield from (None, 0, "no such", ("none",), np.ones(3, np.float32))


# Which weights causal attention keeps, and in which order, is each one's own.
OWN = {("_scaled_dot_product_attention", 4), ("_scaled_dot_product_attention_backward", 7)}
OWN |= {("_scaled_dot_product_attention_backward", 4)}  # a mask, which the weights that were kept have seen to
OWN |= {("_scaled_dot_product_attention_backward", i) for i in (3, 5)}  # what is kept follows from them
OWN |= {("kthvalue", 1), *[(name, i) for name in ("sum", "mean") for i in (1, 2)]}  # which the twins do not look at
OWN |= {("erf", 0)}  # of halves the twin makes halves at each step
OWN |= {("map_all", 2)}  # two accounts of each map, of which each reads its own
OWN |= {("grid_sample", 0), ("grid_sample_backward", 0)}  # the backend


class Declined(Exception):
    pass


def decline(*args):
    raise Declined


def equal(one, other):
    if one is None or other is None:
        return one is other
    atol = 1e-3 * np.abs(other[np.isfinite(other)]).max(initial=1)
    if one.shape == other.shape == () and abs(one) > 1e36:  # a sum in double precision, where the twin's may overflow
        return bool(other) and np.sign(one) == np.sign(other)
    return one.shape == other.shape and np.allclose(one, other, 1e-3, atol, equal_nan=True)


def outcome(name, call, made):
    """What a kernel gives; of equal numbers any may be chosen, so that what is at their places is compared."""
    if name not in ("topk", "kthvalue"):
        return listed(made)
    values, places = made
    if values.ndim < call[0].ndim:
        values, places = values[..., None], places[..., None]
    return [values, np.take_along_axis(call[0], places, call[1])]


@pytest.mark.filterwarnings("ignore")
def test_a_kernel_declines_what_it_cannot_do_or_does_what_its_twin_does(isa):
    seen, wrong = set(), []
    for name, args in good_calls():
        seen.add(name)
        kernel, twin = native.Kernel(name, decline), Pair(name).twin
        kernel(*copies(args))
        calls = [args[:n] for n in range(len(args))]
        for i, arg in enumerate(args):
            if (name, i) not in OWN:
                calls += [(*args[:i], other, *args[i + 1 :]) for other in other_values(arg)]
        for call in calls:
            before, kept = copies(call), copies(call)  # since some are written to
            try:
                made = kernel(*call)
            except (Declined, MemoryError):
                continue
            try:
                with np.errstate(all="ignore"):
                    wanted = twin(*before)
                compared = [[*outcome(name, c, r), *arrays(c)] for c, r in ((call, made), (before, wanted))]
                fine = all(map(equal, *compared))
            except Exception as error:
                fine, wanted = isinstance(error, TypeError) and len(call) < len(args), repr(error)
            for written, back in zip(arrays(call), arrays(kept), strict=True):
                if written.flags.writeable:
                    written[...] = back
            if not fine:
                wrong.append((name, [a.shape if isinstance(a, np.ndarray) else a for a in call], listed(wanted)))
    assert not wrong
    assert not wrong and seen | DRAWS.keys() == native.kernels


def test_sizes_beyond_64_bits_are_declined():
    image, kernel, far = np.ones((1,) * 5, np.float32), np.ones((1, 1, 3, 3, 3), np.float32), (1 << 20,) * 3
    with pytest.raises(Declined):
        native.Kernel("convolution", decline)(image, kernel, None, (1,) * 3, far, far, False, (0,) * 3, 1)
    q = np.broadcast_to(np.float32(1), (1, 1, 1 << 20, 1 << 30))
    with pytest.raises(Declined):
        native.Kernel("_scaled_dot_product_attention", decline)(q, q[:, :, :1], q[:, :, :1], None, False, 0.3)
    with pytest.raises(Declined):
        native.Kernel("embedding_dense_backward", decline)(numbers((1, 3)), np.zeros(1, int), 1 << 61, -1, False)


# ---- all of them


def test_every_kernel_has_a_twin():
    for name in native.kernels:
        assert callable(Pair(name).twin)


def test_what_no_kernel_knows_goes_to_the_twin():
    x = np.ones(3, np.float32)
    kernel = native.Kernel("relu", lambda *args, **kwargs: (args, kwargs))
    assert kernel(x, 1, 2)[0][1:] == (1, 2)
    assert kernel(x, key=5) == ((x,), {"key": 5})
    assert kernel([1.0])[0] == ([1.0],)
    with pytest.raises(LookupError):
        native.Kernel("no such", print)
    with pytest.raises(ValueError, match="instruction set"):
        native.use_isa("no such")
