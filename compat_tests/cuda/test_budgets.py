"""How often the device is asked for something, for the ops that training is made of: a table, held to it.

A launch is a kernel, a product by cuBLAS, a sort or a fill. Nothing here copies between host and device or waits, but
where it says so. Each figure is for a second call, when plans are made and kernels compiled.
"""

from typing import Any, NamedTuple

import pytest

import torchlite as torch
from torchlite.testing import cuda_on_host

pytestmark = pytest.mark.usefixtures("stand_in")
F = torch.nn.functional


def randn(*shape):
    return torch.randn(*shape, device="cuda", requires_grad=True)


def classes(*shape, below=16):
    return torch.randint(0, below, shape, device="cuda")


class Budget(NamedTuple):
    """What is called on which tensors, and how many launches it may take forward, and forward and backward.

    `waits` are what it may wait for, or copy from or to the host: forward, and both ways.
    """

    call: Any
    on: Any
    forward: int
    both: int
    waits: tuple[int, int] = (0, 0)


BUDGETS = {
    "add": Budget(lambda a, b: a + b, lambda: (randn(8, 16), randn(8, 16)), 1, 3),
    "relu": Budget(F.relu, lambda: (randn(8, 16),), 1, 2),
    "sigmoid": Budget(torch.sigmoid, lambda: (randn(8, 16),), 1, 2),
    "tanh": Budget(torch.tanh, lambda: (randn(8, 16),), 1, 2),
    "softplus": Budget(F.softplus, lambda: (randn(8, 16),), 1, 2),
    "hardswish": Budget(F.hardswish, lambda: (randn(8, 16),), 1, 2),
    "elu": Budget(F.elu, lambda: (randn(8, 16),), 1, 2),
    "silu": Budget(F.silu, lambda: (randn(8, 16),), 1, 2),
    "gelu": Budget(F.gelu, lambda: (randn(8, 16),), 1, 2),
    "gelu tanh": Budget(lambda x: F.gelu(x, approximate="tanh"), lambda: (randn(8, 16),), 1, 2),
    "softmax": Budget(lambda x: F.softmax(x, -1), lambda: (randn(8, 16),), 1, 2),
    "log_softmax": Budget(lambda x: F.log_softmax(x, 0), lambda: (randn(8, 16),), 1, 2),
    "layer_norm": Budget(
        lambda x, w, b: F.layer_norm(x, (16,), w, b), lambda: (randn(8, 16), randn(16), randn(16)), 1, 3
    ),
    "batch_norm": Budget(
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True), lambda: (randn(2, 4, 5, 5), randn(4), randn(4)), 1, 2
    ),
    "cross_entropy": Budget(F.cross_entropy, lambda: (randn(8, 16), classes(8)), 2, 4),
    "mse_loss": Budget(F.mse_loss, lambda: (randn(8, 16), randn(8, 16).detach()), 4, 8),
    "linear": Budget(F.linear, lambda: (randn(8, 16), randn(12, 16), randn(12)), 3, 6),
    "matmul": Budget(torch.matmul, lambda: (randn(2, 8, 16), randn(2, 16, 3)), 1, 5),
    "embedding": Budget(lambda w, i: F.embedding(i, w), lambda: (randn(10, 8), classes(4, 6, below=10)), 1, 3),
    "dropout": Budget(lambda x: F.dropout(x, 0.5), lambda: (randn(8, 16),), 2, 3, (1, 1)),  # drawn on the host
    "attention": Budget(
        F.scaled_dot_product_attention, lambda: (randn(2, 2, 6, 8), randn(2, 2, 6, 8), randn(2, 2, 6, 8)), 15, 32
    ),
    "max_pool2d": Budget(lambda x: F.max_pool2d(x, 2), lambda: (randn(2, 3, 8, 8),), 3, 24, (0, 2)),
    "conv2d": Budget(
        lambda x, w, b: F.conv2d(x, w, b, padding=1), lambda: (randn(8, 16, 32, 32), randn(16, 16, 3, 3), randn(16)),
        42, 160, (2, 8),
    ),
    "index": Budget(lambda x, i: x[:, i], lambda: (randn(2, 8, 16), classes(3, below=8)), 3, 60, (2, 12)),
}  # fmt: skip


def told(call):
    call()
    call()
    with cuda_on_host.counted() as tally:
        kept = call()  # noqa: F841
    return tally


@pytest.mark.parametrize("name", BUDGETS)
def test_launches(name):
    budget = BUDGETS[name]
    inputs = budget.on()
    g = torch.ones_like(budget.call(*inputs))

    def train():
        for t in inputs:
            t.grad = None
        budget.call(*inputs).backward(g)

    for call, most, waits in (
        (lambda: budget.call(*inputs), budget.forward, budget.waits[0]), (train, budget.both, budget.waits[1]),
    ):  # fmt: skip
        tally = told(call)
        counts = tally.counts
        assert counts.to_device + counts.to_host + counts.waits <= waits, (counts, tally.kernels)
        assert counts.launches <= most, (counts, tally.kernels)
