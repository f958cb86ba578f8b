"""Random functions beside PyTorch's, bit for bit, with the generator's state after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import torchlite

from .side_by_side import same_story

real_torch = pytest.importorskip("torch")

DTYPES = ["float32", "float64", "float16", "bfloat16", "complex64", "int64", "int32", "uint8", "bool"]
SIZES = [(), (0,), (3,), (16,), (17,), (4, 5), (2, 3, 7)]
NEW: dict[str, Callable[..., Any]] = {
    "rand": lambda torch, size, **options: torch.rand(size, **options),
    "randn": lambda torch, size, **options: torch.randn(size, **options),
    "randint": lambda torch, size, **options: torch.randint(-3, 100, size, **options),
    "normal": lambda torch, size, **options: torch.normal(0.5, 2.0, size, **options),
}
IN_PLACE: dict[str, tuple[float, ...]] = {
    "uniform_": (-1, 2), "normal_": (1, 3), "exponential_": (2,), "cauchy_": (), "log_normal_": (),
    "geometric_": (0.3,), "random_": (), "bernoulli_": (0.4,),
}  # fmt: skip
LAID: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda t: t.transpose(0, 2), "part": lambda t: t[:, 1:4], "expanded": lambda t: t[:1].expand(3, 6, 5),
}  # fmt: skip


def told(of: Callable[[Any, Any], Any], torch: Any) -> Any:
    generator = torch.Generator().manual_seed(-9)
    try:
        t = of(torch, generator)
    except Exception as error:
        return type(error).__name__, str(error).split("\nException raised")[0]
    wide = t.float() if "bfloat16" in str(t.dtype) else t
    return (
        tuple(t.shape), t.stride(), str(t.dtype), wide.contiguous().numpy().tobytes(),
        generator.get_state().numpy().tobytes(),
    )  # fmt: skip


def compare(of: Callable[[Any, Any], Any]) -> None:
    assert told(of, torchlite) == told(of, real_torch)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NEW)
def test_new_tensors(name: str, dtype: str) -> None:
    for size in SIZES:
        compare(lambda torch, g, s=size: NEW[name](torch, s, generator=g, dtype=getattr(torch, dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str, dtype: str) -> None:
    def drawn(torch: Any, generator: Any, t: Any) -> Any:
        return getattr(t, name)(*IN_PLACE[name], generator=generator)

    for size in SIZES:
        compare(lambda torch, g, s=size: drawn(torch, g, torch.zeros(s, dtype=getattr(torch, dtype))))
    for lay in (LAID["transposed"], LAID["part"]):
        compare(lambda torch, g, lay=lay: drawn(torch, g, lay(torch.zeros(4, 6, 5, dtype=getattr(torch, dtype)))))


@pytest.mark.parametrize("laid", LAID)
@pytest.mark.parametrize("name", ["rand_like", "randn_like"])
def test_like_tensors(name: str, laid: str) -> None:
    for dtype in DTYPES[:5]:
        compare(
            lambda torch, g, d=dtype: getattr(torch, name)(
                LAID[laid](torch.zeros(4, 6, 5, dtype=getattr(torch, d))), generator=g
            )
        )


@pytest.mark.parametrize("dtype", ["int64", "int32", "float32", "uint8", "bfloat16"])
def test_permutations(dtype: str) -> None:
    for n in (0, 1, 2, 17, 999, 1000, 1500, 30000):
        compare(lambda torch, g, n=n: torch.randperm(n, generator=g, dtype=getattr(torch, dtype)))


FROM_PARAMETERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "bernoulli": lambda torch, p, g: torch.bernoulli(p, generator=g),
    "bernoulli-p": lambda torch, p, g: torch.bernoulli(p, 0.3, generator=g),
    "multinomial": lambda torch, p, g: torch.multinomial(p, 9, True, generator=g),
    "multinomial-transposed": lambda torch, p, g: torch.multinomial(p.t(), 1, generator=g),
    "poisson": lambda torch, p, g: torch.poisson(p * 30, generator=g),
    "binomial": lambda torch, p, g: torch.binomial(p * 0 + 20, p, generator=g),
    "gamma": lambda torch, p, g: torch._standard_gamma(p * 3, generator=g),
    "dirichlet": lambda torch, p, g: torch._sample_dirichlet(p * 3, generator=g),
    "normal": lambda torch, p, g: torch.normal(p, p, generator=g),
    "normal-mean": lambda torch, p, g: torch.normal(p, 2.0, generator=g),
    "normal-std": lambda torch, p, g: torch.normal(1.0, p, generator=g),
}


@pytest.mark.parametrize("dtype", DTYPES[:4])
@pytest.mark.parametrize("name", FROM_PARAMETERS)
def test_from_parameters(name: str, dtype: str) -> None:
    values = np.linspace(0.05, 0.95, 24).reshape(4, 6).tolist()
    compare(lambda torch, g: FROM_PARAMETERS[name](torch, torch.tensor(values, dtype=getattr(torch, dtype)), g))


@same_story
def test_generators(torch, tell):
    for seed in (-1, 2**63, True, 1.5, "a", 2**64):
        try:
            tell(seed, torch.Generator().manual_seed(seed).initial_seed())
        except Exception as error:
            tell(seed, type(error).__name__, str(error))
    g = torch.Generator()
    states = (3, torch.zeros(3), torch.zeros(3, dtype=torch.uint8), torch.zeros(5056, 2, dtype=torch.uint8)[:, 0])
    refused = [lambda state=state: g.set_state(state) for state in states]
    refused += [g.get_offset, lambda: g.set_offset(1), g.graphsafe_get_state, lambda: g.graphsafe_set_state(g)]
    for program in refused:
        try:
            tell(program())
        except Exception as error:
            tell(type(error).__name__, str(error))
    other = g.clone_state()
    tell(torch.rand(3, generator=g), torch.rand(3, generator=other), g.get_state(), g.initial_seed(), g.device)
    tell(sorted(torch.random.__all__), torch.random.thread_safe_generator())


@same_story
def test_forked_streams(torch, tell):
    torch.manual_seed(1)
    with torch.random.fork_rng(devices=[]):
        tell(torch.rand(2))
    tell(torch.rand(2))
    with torch.random.fork_rng():
        torch.manual_seed(99)
    tell(torch.rand(2))
    try:
        with torch.random.fork_rng(device_type="xyz"):
            pass
    except RuntimeError as error:  # it also lists the devices that were registered
        tell(str(error).endswith("device type at start of device string: xyz"))


@same_story
def test_what_draws_leave_of_gradients(torch, tell):
    x, p = torch.ones(3, requires_grad=True), torch.full((3,), 0.5, requires_grad=True)
    for draw in (
        lambda t: t.random_(),
        lambda t: t.random_(5),
        lambda t: t.random_(2, 5),
        lambda t: t.bernoulli_(0.5),
        lambda t: t.bernoulli_(p),
    ):
        torch.manual_seed(0)
        drawn = draw(x * 1)
        tell(drawn, torch.autograd.grad(drawn.sum(), (x, p), allow_unused=True))
    torch.manual_seed(0)
    counts = torch.binomial(torch.full((3,), 5.0), p)
    tell(counts)
    counts.sum().backward()


@same_story
def test_a_tensor_without_weights_has_nothing_to_draw(torch, tell):
    torch.multinomial(torch.ones(0), 1)
