"""Random equations of `einsum` beside real PyTorch: values, errors, and how results lie in memory."""

from __future__ import annotations

import random

import pytest

import torchlite

torch = pytest.importorskip("torch")

LETTERS = "abcde"


def _equation(draw: random.Random, ones: bool) -> tuple[str, list[tuple[int, ...]]]:
    """An equation and shapes that mostly fit it; where `ones`, some sizes are one, to be broadcast."""
    sizes = {x: draw.choice((1, 2, 3) if ones else (2, 3, 4)) for x in LETTERS}
    terms = ["".join(draw.sample(LETTERS, draw.randint(0, 4))) for _ in range(draw.choice((1, 2, 2, 3)))]
    if draw.random() < 0.15 and terms[0]:
        terms[0] += terms[0][0]
    used = sorted(set("".join(terms)))
    equation = ",".join(terms)
    if draw.random() < 0.9:
        equation += "->" + "".join(draw.sample(used, draw.randint(0, len(used))))
    shapes = [tuple([1 if ones and draw.random() < 0.1 else sizes[x] for x in term]) for term in terms]
    return equation, shapes


@pytest.mark.parametrize("ones", [False, True])
def test_random_equations(ones: bool) -> None:
    draw = random.Random(ones)
    for _ in range(150):
        equation, shapes = _equation(draw, ones)
        operands = [torch.randn(shape) for shape in shapes]
        ours = [torchlite.from_numpy(t.numpy()) for t in operands]
        try:
            expected = torch.einsum(equation, *operands)
        except RuntimeError as error:
            with pytest.raises(RuntimeError) as caught:
                torchlite.einsum(equation, *ours)
            assert str(caught.value) == str(error), equation
            continue
        result = torchlite.einsum(equation, *ours)
        assert result.shape == expected.shape, equation
        torch.testing.assert_close(torch.from_numpy(result.numpy()), expected, msg=f"{equation} of {shapes}")
        if not ones and len(operands) < 3:  # the order of more products is open
            assert result.stride() == expected.stride(), f"{equation} of {shapes}"
