"""Calls of one form on tensors of transforms, again and again: what is remembered of the first goes for the last."""

from __future__ import annotations

import pytest

from .side_by_side import same_story

TIMES = 5  # the general way, once more to be remembered, and by what was remembered


def writes(torch, x):
    y = x * 2
    y[1:].mul_(3)
    y[0] = 1.0
    return y


FUNCTIONS = {
    "arithmetic": lambda torch, x: (x * 2 + 1 - x / 3) ** 2 + 2 ** (0.1 * x) - (-x).abs().sqrt(),
    "numbers": lambda torch, x: x[0] * 2.5 + x[1] - x[0].floor() + x[2].clamp(-0.5, 0.5),
    "whole numbers": lambda torch, x: x[0] * x.long()[1] + x.long()[0] / 2 + x.long()[1] * 2,
    "a constant": lambda torch, x: x * torch.arange(6.0) + torch.ones(6, 6) @ x + torch.linspace(0, 1, 6).reshape(6),
    "slices": lambda torch, x: x[1:] * x[:-1] + x[..., 2:3] + x[None, -1] + x[[0, 2, 1, 4, 3]] - x[::2][1],
    "shapes": lambda torch, x: x.reshape(2, 3).T.flatten() * x.view(3, 2).permute(1, 0).reshape(-1) + x.unsqueeze(0),
    "several": lambda torch, x: (
        torch.cat([x, x * 2]).chunk(3)[1] + torch.stack([x, -x]).unbind(1)[0].sum() + x.max(0)[0]
    ),
    "reductions": lambda torch, x: (
        x.sum() * x.mean(0) - x.var() + x.norm() + x.softmax(0).prod() + x.cumsum(0)[2] + x.amax()
    ),
    "choices": lambda torch, x: torch.where(x > 0, x, x * 0.1) + x.masked_fill(x < 0, 2.0) + x.maximum(x.flip(0)),
    "products": lambda torch, x: (
        torch.outer(x, x) @ x + torch.dot(x, x) + torch.eye(6) @ x + torch.tril(x * x[:, None]).sum(0)
    ),
    "complex": lambda torch, x: (
        torch.view_as_real(torch.complex(x, x * 2) * 1j).sum(1) + torch.complex(x, x).exp().real
    ),
    "writes": writes,
    "lerp": lambda torch, x: x.lerp(x.tanh(), 0.3).sigmoid().log() + torch.nn.functional.gelu(x),
}  # fmt: skip

TRANSFORMS = {
    "vmap": lambda func, f, x: func.vmap(f)(x),
    "vmap over another dimension": lambda func, f, x: func.vmap(f, in_dims=1, out_dims=-1)(x.T.contiguous()),
    "vmap of vmap": lambda func, f, x: func.vmap(func.vmap(f), in_dims=0)(x.reshape(2, 2, 6)),
    "vmap of grad": lambda func, f, x: func.vmap(func.grad(lambda x: f(x).sum()))(x),
    "grad": lambda func, f, x: func.grad(lambda x: (f(x) * f(x * 2)).sum())(x[0]),
    "grad of vmap": lambda func, f, x: func.grad(lambda x: func.vmap(f)(x).sum())(x),
    "grad of grad": lambda func, f, x: func.grad(lambda x: func.grad(lambda x: (f(x) * x.sum()).sum())(x).sum())(x[1]),
    "jacrev": lambda func, f, x: func.jacrev(f)(x[0]),
    "jvp of vmap": lambda func, f, x: func.jvp(func.vmap(f), (x,), (x * 2,)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_every_call_gives_what_the_first_gives(function, transform):
    f, run = FUNCTIONS[function], TRANSFORMS[transform]

    @same_story
    def story(torch, tell):
        torch.manual_seed(0)
        for _ in range(TIMES):
            x = torch.randn(4, 6)
            tell(run(torch.func, lambda x: f(torch, x), x))
