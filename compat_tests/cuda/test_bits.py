"""Floats of 8 bits and complex32, which CuPy has no arrays of: tensors of them are the CPU's, to the bit."""

import pytest

import torchlite as torch

EIGHT_BITS = [
    torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu
]  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")


def bits(t):
    return t.cpu().contiguous().view(torch.uint8 if t.dtype in EIGHT_BITS else torch.int32).tolist()


def same(one, other):
    """Whether both are of one form, and of the same bits."""
    return (one.dtype, one.shape, one.stride(), bits(one)) == (other.dtype, other.shape, other.stride(), bits(other))


@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_numbers_are_rounded_as_on_the_cpu(dtype):
    halves = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(torch.float16)
    halves = halves[~halves.isnan()]  # of which signs may be lost on the way
    near = torch.tensor([448.0, 464.0, 464.01, 57344.0, 61440.0, 61441.0, 1e30, 2.0**-127, 2.0**-140])
    for x in (halves, halves.float() * (1 + 2.0**-20), near, -near, near.double()):
        assert same(x.cuda().to(dtype), x.to(dtype))


@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_all_bits_stand_for_what_they_do_on_the_cpu(dtype):
    x = torch.arange(256).to(torch.uint8).view(dtype)
    for to in (torch.float32, torch.bfloat16, torch.float64):
        torch.testing.assert_close(x.cuda().to(to).cpu(), x.to(to), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [*EIGHT_BITS, torch.complex32])
@pytest.mark.parametrize(
    "do",
    [
        lambda x: x.t().contiguous(),
        lambda x: x.t().clone(),
        lambda x: x[1:, ::2].clone(),
        lambda x: torch.cat([x, x[:1]]),
        lambda x: torch.stack([x, x.roll(1, 0)]),
        lambda x: x[torch.tensor([2, 0], device=x.device)],
        lambda x: x.index_select(1, torch.tensor([1], device=x.device)),
        lambda x: x.as_strided((2, 2), (1, 3)).clone(),
        lambda x: torch.where(x == x, x, x.t()),
        lambda x: x.clone().fill_(1.7),
        lambda x: torch.full_like(x, 0.3),
        lambda x: torch.zeros_like(x).copy_(torch.ones(4, device=x.device)),
        lambda x: torch.tensor([1.3, 2.0], device=x.device).to(x.dtype),
    ],
)
def test_elements_are_moved_and_written_as_on_the_cpu(dtype, do):
    x = torch.tensor([-3.0, 0.1, 5.0, 2.0, 0.25, 70.0, 1.0, 0.0] * 2).reshape(4, 4).to(dtype)
    assert same(do(x.cuda()).cpu(), do(x))


def test_places_are_written():
    x = torch.zeros(3, 2, device="cuda").to(torch.float8_e5m2)
    x[torch.tensor([0, 2], device="cuda")] = torch.ones(2, device="cuda").to(torch.float8_e5m2)
    x[1, 0] = 1.1
    assert x.tolist() == [[1, 1], [1, 0], [1, 1]]
    assert "1.0000, 1.0000" in str(x) or "1., 1." in str(x)


def test_products_of_eight_bits():
    a, b = [torch.tensor([[1.5, -2.0], [0.5, 4.0]]).to(torch.float8_e4m3fn) for _ in range(2)]
    assert same((a.cuda() @ b.cuda()).cpu(), a @ b)


def test_half_complex_numbers_are_computed_with():
    x = torch.tensor([1 + 2j, -0.5j]).to(torch.complex32)
    for f in (lambda x: x * x + 1, lambda x: x.conj() * 2, lambda x: x.abs(), lambda x: x.real, torch.view_as_real):
        torch.testing.assert_close(f(x.cuda()).cpu(), f(x))
    parts = torch.ones(2, dtype=torch.float16, device="cuda")
    assert torch.complex(parts, -parts).tolist() == [1 - 1j, 1 - 1j]
