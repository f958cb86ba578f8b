"""Draws of sizes at which the way they are made changes, and of sizes in a row: PyTorch's numbers and states."""

import random

import numpy as np
import pytest

import torchlite

torch = pytest.importorskip("torch")

WORDS = 624  # of one state of the generator
DRAWS = {
    "rand": lambda torch, n: torch.rand(n),
    "randn": lambda torch, n: torch.randn(n),
    "randn, doubles": lambda torch, n: torch.randn(n, dtype=torch.float64),
    "normal, halves": lambda torch, n: torch.empty(n, dtype=torch.float16).normal_(1.0, 3.0),
    "bernoulli": lambda torch, n: torch.empty(n).bernoulli_(0.3),
    "randint": lambda torch, n: torch.randint(1000, (n,)),
    "randperm": lambda torch, n: torch.randperm(n),
}


def same(draw, n, where=()):
    theirs, ours = [draw(library, n).numpy() for library in (torch, torchlite)]
    np.testing.assert_array_equal(ours, theirs, str(where))
    states = [library.get_rng_state().numpy() for library in (torch, torchlite)]
    np.testing.assert_array_equal(*states, str(where))


@pytest.mark.parametrize("name", DRAWS)
def test_sizes(name):
    for n in (0, 1, 15, 16, 17, WORDS - 1, WORDS, 4 * WORDS, 4 * WORDS + 1, 16 * WORDS + 8, 105 * WORDS + 16, 140_001):
        for library in (torch, torchlite):
            library.manual_seed(n)
        same(DRAWS[name], n, (name, n))
        same(DRAWS["rand"], 3, (name, n))


@pytest.mark.parametrize("seed", range(20))
def test_draws_in_a_row(seed):
    choose = random.Random(seed)
    for library in (torch, torchlite):
        library.manual_seed(seed)
    for _ in range(40):
        name, n = choose.choice(list(DRAWS)), choose.choice((1, 7, 16, 50, 600, 1000, 3000, 12_000))
        same(DRAWS[name], n, (name, n))
        if choose.random() < 0.2:
            for library in (torch, torchlite):
                library.set_rng_state(library.get_rng_state())


@pytest.mark.parametrize("phase", [0, 3, 13])
def test_small_blocks_of_normals_in_a_row(phase):
    for library in (torch, torchlite):
        library.manual_seed(phase)
    same(DRAWS["rand"], phase, phase)
    for n in (16, 32, 48, 640, 16, 2480) * 12:
        same(DRAWS["randn"], n, (phase, n))


@pytest.mark.parametrize("n", [8000, 16_000, 16_001, 32_000, 32_001, 40_000, 100_000])
def test_permutations(n):
    for seed in range(4):
        for library in (torch, torchlite):
            library.manual_seed(seed)
        same(DRAWS["randperm"], n, seed)


@pytest.mark.parametrize("columns, count", [(50, 2), (60, 3), (61, 3), (5000, 10), (30_000, 7)])
def test_choices_without_replacement(columns, count):
    for seed in range(5):
        for library in (torch, torchlite):
            library.manual_seed(seed)
        same(lambda torch, n: torch.multinomial(torch.rand(3, n) + 0.1, count), columns, seed)
