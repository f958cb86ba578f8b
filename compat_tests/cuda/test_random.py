"""Numbers drawn on the device: Philox's, the laws that they follow, seeds and states."""

import math

import numpy as np
import pytest

import torchlite as torch
from torchlite.testing import cuda_on_host

cuda, F = torch.cuda, torch.nn.functional
DRAWS = {
    "rand": lambda n: torch.rand(n, device="cuda"),
    "randn": lambda n: torch.randn(n, device="cuda"),
    "randint": lambda n: torch.randint(-3, 9, (n,), device="cuda"),
    "uniform_": lambda n: torch.empty(n, device="cuda").uniform_(-1, 2),
    "normal_": lambda n: torch.empty(n, device="cuda", dtype=torch.float64).normal_(1, 2),
    "exponential_": lambda n: torch.empty(n, device="cuda").exponential_(2),
    "geometric_": lambda n: torch.empty(n, device="cuda").geometric_(0.25),
    "log_normal_": lambda n: torch.empty(n, device="cuda").log_normal_(0, 0.5),
    "cauchy_": lambda n: torch.empty(n, device="cuda").cauchy_(1, 2),
    "bernoulli_": lambda n: torch.empty(n, device="cuda").bernoulli_(0.3),
    "bernoulli": lambda n: torch.bernoulli(torch.full((n,), 0.3, device="cuda")),
}  # fmt: skip
MOMENTS = {  # mean and deviation
    "rand": (0.5, 12**-0.5), "randn": (0, 1), "randint": (2.5, (143 / 12) ** 0.5), "uniform_": (0.5, 3 * 12**-0.5),
    "normal_": (1, 2), "exponential_": (0.5, 0.5), "geometric_": (4, 12**0.5),
    "log_normal_": (math.exp(0.125), math.exp(0.125) * (math.exp(0.25) - 1) ** 0.5), "cauchy_": (1, None),
    "bernoulli_": (0.3, 0.21**0.5), "bernoulli": (0.3, 0.21**0.5),
}  # fmt: skip


@pytest.mark.parametrize("law", DRAWS)
def test_laws(law):
    cuda.manual_seed(7)
    n = 20000
    made = DRAWS[law](n).double()
    mean, deviation = MOMENTS[law]
    if deviation is None:  # of a law without one: the middle of it
        made = made.clamp(mean - 10, mean + 10)
    assert made.mean().item() == pytest.approx(mean, abs=5 * (deviation or 5) / n**0.5)
    if deviation is not None:
        assert made.std().item() == pytest.approx(deviation, rel=0.06)


def test_the_words_are_philoxs():
    """The published first block of Philox 4x32-10: 6627e8d5 e169c58d bc57ac4c 9b00dbd8."""
    cuda.manual_seed(0)
    assert torch.empty(1, device="cuda", dtype=torch.int64).random_(-(2**63), None).item() == 0x6627E8D5E169C58D - 2**63
    cuda.manual_seed(0)
    assert torch.rand(1, device="cuda").item() == (0x6627E8D5 >> 8) / 2**24
    cuda.manual_seed(0)
    u, v = 0x6627E8D5E169C58D >> 11, 0xBC57AC4C9B00DBD8 >> 11
    normal = math.sqrt(-2 * math.log1p(-u / 2**53)) * math.cos(2 * math.pi * v / 2**53)
    assert torch.randn(1, device="cuda", dtype=torch.float64).item() == pytest.approx(normal)


@pytest.mark.parametrize("law", DRAWS)
def test_a_seed_gives_the_same_numbers_at_once_or_in_parts(law):
    cuda.manual_seed(3)
    whole = DRAWS[law](1000)
    cuda.manual_seed(3)
    parts = torch.cat([DRAWS[law](n) for n in (1, 299, 700)])
    assert torch.equal(whole, parts)
    assert not torch.equal(whole, DRAWS[law](1000))


def test_states():
    generator = torch.Generator("cuda").manual_seed(11)
    before = generator.get_state()
    assert before.shape == (16,) and generator.get_offset() == 0
    first = torch.randn(5, device="cuda", generator=generator)
    assert generator.get_offset() == 20
    generator.set_state(before)
    assert torch.equal(first, torch.randn(5, device="cuda", generator=generator))
    generator.set_offset(0)
    twin = generator.clone_state()
    assert torch.equal(torch.rand(3, device="cuda", generator=generator), torch.rand(3, device="cuda", generator=twin))
    with pytest.raises(RuntimeError, match="offset must be a multiple of 4"):
        generator.set_offset(3)
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        generator.set_state(torch.get_rng_state())
    with pytest.raises(RuntimeError, match="CPU Generator does not use offset"):
        torch.Generator().get_offset()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.uint8, torch.bool])
def test_types(dtype):
    made = torch.empty(500, dtype=dtype, device="cuda").bernoulli_(0.5).float()
    assert set(made.tolist()) == {0.0, 1.0}
    if dtype.is_floating_point:
        uniform = torch.rand(3000, dtype=dtype, device="cuda")
        assert uniform.dtype is dtype and uniform.min() >= 0 and uniform.max() < 1
    if dtype is not torch.bool:
        assert set(torch.randint(2, 5, (200,), dtype=dtype, device="cuda").tolist()) == {2, 3, 4}


def test_permutations_and_laws_by_trial_and_error():
    order = torch.randperm(300, device="cuda")
    assert sorted(order.tolist()) == list(range(300)) and order.tolist() != list(range(300))
    rates = torch.full((4000,), 4.0, device="cuda")
    for make in (lambda: torch.poisson(rates), lambda: torch._standard_gamma(rates)):
        cuda.manual_seed(5)
        made = make()
        assert made.is_cuda and made.mean().item() == pytest.approx(4, abs=0.3)
        cuda.manual_seed(5)
        assert torch.equal(made, make())
        assert not torch.equal(made, make())
    chosen = torch.multinomial(torch.tensor([0.0, 1.0, 3.0], device="cuda"), 2000, True).double()
    assert chosen.mean().item() == pytest.approx(1.75, abs=0.1)


def test_a_probability_that_is_none_is_told_at_the_next_wait():
    drawn = torch.bernoulli(torch.tensor([0.5, 1.5], device="cuda"))
    with pytest.raises(torch.AcceleratorError, match="device-side assert"):
        drawn.cpu()


def test_dropout():
    x = torch.ones(4000, device="cuda", requires_grad=True)
    cuda.manual_seed(2)
    y = F.dropout(x, 0.25)
    y.backward(torch.full_like(y, 3.0))
    np.testing.assert_allclose(np.unique(y.detach().cpu().numpy()), [0, 1 / 0.75], rtol=1e-6)
    assert torch.equal(x.grad, y.detach() * 3)
    assert y.detach().mean().item() == pytest.approx(1, abs=0.05)
    cuda.manual_seed(2)
    assert torch.equal(F.dropout(x, 0.25), y)
    assert F.rrelu(-torch.ones(50, device="cuda"), 0.2, 0.3, training=True).unique().numel() > 40
    again = torch.ones(6, 5, device="cuda").t()
    assert F.dropout(again, 0.5).stride() == again.stride()


@pytest.mark.usefixtures("stand_in")
def test_nothing_is_copied_to_draw():
    draws = [*DRAWS.values(), lambda n: F.dropout(torch.ones(n, device="cuda"), 0.5, inplace=True)]
    for draw in draws:
        draw(100)
        with cuda_on_host.counted() as tally:
            draw(100)
        counts = tally.counts
        assert counts.to_device + counts.to_host + counts.waits == 0 and counts.launches <= 4, tally.kernels
