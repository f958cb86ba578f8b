"""Random programs of nested transforms; `python -m compat_tests.transforms` runs more of them."""

from __future__ import annotations

import pytest

import torchlite
from torchlite.core.state.mode import local

from .transforms import differences


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed):
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    found = differences(f"test {seed}", 25, torch, torchlite)
    different = [f"{source}\n# {said}" for source, said in found if said not in ("", "skipped")]
    if different:
        pytest.fail("\n\n".join(different), pytrace=False)


def test_tangents_given_are_not_written_to():
    x, v = torchlite.ones(3), torchlite.ones(3)
    out, moved = torchlite.func.jvp(lambda x: (x + 0).mul_(2), (x,), (v,))
    assert out.tolist() == moved.tolist() == [2.0, 2.0, 2.0]
    assert x.tolist() == v.tolist() == [1.0, 1.0, 1.0]


def test_a_transform_leaves_the_mode_as_it_was():
    before = local.state.mode
    for transform in (torchlite.func.grad, torchlite.func.vmap, torchlite.func.jacfwd, torchlite.func.jacrev):
        transform(lambda x: (x * x).sum())(torchlite.ones(2))
        assert local.state.mode is before
