"""Numbers at the ends of their ranges, and of rare types: CUDA gives what the CPU gives."""

import itertools

import pytest

import torchlite as torch

F = torch.nn.functional
INF, NAN = float("inf"), float("nan")
HALVES = [torch.float16, torch.bfloat16]
ENDS = [0.0, -0.0, 1.0, -1.0, 2.5, -7.25, INF, -INF, NAN, 3e4, -3e4]


def alike(f, *inputs, **tolerance):
    """What `f` gives on both devices, signs of zeros included."""
    one, other = [f(*[t.to(device) for t in inputs]).cpu() for device in ("cpu", "cuda")]
    assert one.dtype is other.dtype
    torch.testing.assert_close(other, one, equal_nan=True, **tolerance)
    if one.is_floating_point():
        told = ~one.isnan()
        assert torch.equal(one.signbit()[told], other.signbit()[told])


def pairs(numbers, dtype):
    return [torch.tensor(side, dtype=dtype) for side in zip(*itertools.product(numbers, repeat=2))]


def complexes(*shape, dtype=torch.complex64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(3))


ADDING = {
    "index_add": lambda x, i: torch.zeros_like(x).index_add(0, i, x),
    "scatter_add": lambda x, i: torch.zeros_like(x).scatter_add(0, i[:, None].expand(x.shape), x),
    "index_put": lambda x, i: torch.zeros_like(x).index_put((i,), x, accumulate=True),
    "put": lambda x, i: torch.zeros_like(x).put(i, x[:, 0], accumulate=True),
}


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("name", ADDING)
def test_complex_numbers_are_added_at_places(name, dtype):
    alike(ADDING[name], complexes(5, 3, dtype=dtype), torch.tensor([0, 2, 0, 4, 2]))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, i: x[i], lambda x, i: x.index_select(0, i), lambda x, i: x.gather(0, i[:, None].expand(5, 3)),
        lambda x, i: x.take(i), lambda x, i: x.unfold(0, 3, 1), lambda x, i: x.as_strided((3, 2), (1, 1)),
    ],
)  # fmt: skip
def test_gradients_that_add_complex_numbers_at_places(f, dtype):
    def gradient(x, i):
        x = x.detach().requires_grad_()
        made = f(x, i)
        made.backward(torch.full_like(made, 1 - 2j))
        return x.grad

    alike(gradient, complexes(5, 3, dtype=dtype), torch.tensor([0, 2, 0, 4, 2]))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_quotients_at_zero_and_infinity(dtype):
    parts = [complex(a, b) for a, b in itertools.product((0.0, 1.0, -2.0, INF), repeat=2)]
    a, b = pairs(parts, dtype)
    alike(torch.div, a, b)
    alike(torch.reciprocal, b)
    alike(lambda t: 1 / t, b)


def test_the_gradient_of_eigenvectors():
    def gradient(a):
        a = a.detach().requires_grad_()
        values, vectors = torch.linalg.eig(a)
        (values.abs().sum() + vectors.abs().square().sum()).backward()
        return a.grad

    a = torch.randn(4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    alike(gradient, a, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, *HALVES])
def test_numbers_next_to_others(dtype):
    alike(torch.nextafter, *pairs([*ENDS, torch.finfo(dtype).max], dtype), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, *HALVES])
@pytest.mark.parametrize("f", [torch.remainder, torch.floor_divide, torch.fmod])
def test_remainders_at_the_ends(f, dtype):
    alike(f, *pairs([*ENDS, 6e4, 1e-4], dtype), rtol=0, atol=0)
    if dtype not in HALVES:
        alike(f, *pairs([3e38, 1.0, 0.5, -2.5, 1e-30], dtype), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_remainders_of_large_integers(dtype):
    most = torch.iinfo(dtype).max
    a = torch.tensor([most, most - 1, 7, 1, 100], dtype=dtype)
    for divisor in (2, 3, 7, 100):
        for f in (torch.remainder, torch.floor_divide, torch.fmod):
            alike(lambda t, f=f, by=divisor: f(t, by), a)
            alike(f, a, torch.full_like(a, divisor))


BF16 = {
    "tril": torch.tril, "triu": lambda x: torch.triu(x, 1), "isin": lambda x: torch.isin(x, x[0]),
    "lu_unpack": lambda x: torch.cat(torch.lu_unpack(x, torch.arange(1, 4, dtype=torch.int32, device=x.device))[1:]),
    "eye": lambda x: torch.eye(3, dtype=x.dtype, device=x.device) + x,
    "where": lambda x: torch.where(x > 0, x, -x), "sort": lambda x: x.sort(1)[0], "cumsum": lambda x: x.cumsum(0),
    "unique": torch.unique, "median": lambda x: x.median(1)[0],
    "searchsorted": lambda x: torch.searchsorted(x.sort()[0], x),
}  # fmt: skip


@pytest.mark.parametrize("name", BF16)
def test_bfloat16_where_cupy_has_other_types(name):
    alike(BF16[name], torch.randn(3, 3, generator=torch.Generator().manual_seed(4)).bfloat16())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, *HALVES])
def test_relu_of_minus_zero(dtype):
    alike(torch.relu, torch.tensor(ENDS, dtype=dtype))
    alike(lambda t: t.clone().relu_(), torch.tensor(ENDS, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8])
def test_negative_powers_of_integers(dtype):
    base = torch.tensor([1, -1, 2, -2, 5], dtype=dtype)
    alike(lambda t: t.pow(torch.tensor([-1, -3, -2, -1, -4], dtype=dtype, device=t.device)), base)
    for device in ("cpu", "cuda"):
        with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allowed"):
            base.to(device) ** -2


def test_elementwise_halves_are_rounded_once():
    """As PyTorch's kernels do, which compute in float32; a number beside them is not rounded first."""
    for dtype in HALVES:
        x = torch.randn(64, generator=torch.Generator().manual_seed(6)).to(dtype)
        wide = x.float()
        for f in (torch.sigmoid, torch.nn.functional.silu, lambda t: t * 2.3, lambda t: t / 0.7, lambda t: t**3):
            made, wanted = f(x.cuda()).cpu(), f(wide).to(dtype)
            assert made.dtype is dtype
            torch.testing.assert_close(made, wanted, rtol=torch.finfo(dtype).eps, atol=0)
        for f in (torch.sum, torch.mean):
            torch.testing.assert_close(f(x.cuda()).cpu(), f(wide).to(dtype), rtol=torch.finfo(dtype).eps, atol=1e-4)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: F.elu(x, 0.7), lambda x: F.softplus(x, 0.7, 1.3), lambda x: F.softshrink(x, 0.3),
        lambda x: F.huber_loss(x.t(), x.t() * 0.37, delta=0.7, reduction="none"), lambda x: torch.lerp(x, x + 1, 0.3),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numbers_in_fused_formulas_are_as_precise_as_their_operands(f, dtype):
    x = torch.randn(4, 5, dtype=dtype, generator=torch.Generator().manual_seed(3))

    def with_gradient(x):
        x = x.detach().requires_grad_()
        made = f(x)
        made.sum().backward()
        return torch.cat([made.detach().reshape(-1), x.grad.reshape(-1)])

    near = 1e-6 if dtype is torch.float32 else 1e-13
    alike(with_gradient, x, rtol=near, atol=near)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int32, torch.uint8])
@pytest.mark.parametrize("ends", [(0, 9), (3, 17, 4), (9, -2, -3), (0.25, 2, 0.3), (5, 5)])
def test_numbers_in_a_row(dtype, ends):
    made, wanted = [torch.arange(*ends, dtype=dtype, device=device) for device in ("cuda", "cpu")]
    torch.testing.assert_close(made.cpu(), wanted)
