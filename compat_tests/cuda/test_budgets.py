"""How often the device is asked for something, for the ops that training is made of: a table, held to it.

A launch is a kernel, a product by cuBLAS, a sort or a fill. Nothing here copies between host and device or waits, but
where it says so. Each figure is for a second call, when plans are made and kernels compiled.
"""

from typing import Any, NamedTuple

import pytest

import torchlite as torch
from torchlite.testing import cuda_on_host

pytestmark = pytest.mark.usefixtures("stand_in")
nn, F = torch.nn, torch.nn.functional


def randn(*shape):
    return torch.randn(*shape, device="cuda", requires_grad=True)


def classes(*shape, below=16):
    return torch.randint(0, below, shape, device="cuda")


def filled(x, value):
    x[x > 0] = value
    return x


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
    "mul": Budget(lambda a, b: a * b, lambda: (randn(8, 16), randn(8, 16)), 1, 3),
    "mul by a number": Budget(lambda x: x * 2.5, lambda: (randn(8, 16),), 1, 2),
    "add a bias": Budget(lambda a, b: a + b, lambda: (randn(8, 16), randn(16)), 1, 4),
    "sum": Budget(lambda x: x.sum(0), lambda: (randn(8, 16),), 1, 2),
    "mean": Budget(lambda x: x.mean(1), lambda: (randn(8, 16),), 1, 2),
    "where": Budget(lambda a, b: torch.where(a > 0, a, b), lambda: (randn(8, 16), randn(8, 16)), 2, 4),
    "exp": Budget(torch.exp, lambda: (randn(8, 16),), 1, 2),
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
    "group_norm": Budget(
        lambda x, w, b: F.group_norm(x, 2, w, b), lambda: (randn(2, 4, 5, 5), randn(4), randn(4)), 1, 3
    ),
    "rms_norm": Budget(lambda x, w: F.rms_norm(x, (16,), w), lambda: (randn(8, 16), randn(16)), 1, 3),
    "batch_norm of running statistics": Budget(
        lambda x, w, b: F.batch_norm(x, b.detach(), w.detach(), w, b), lambda: (randn(2, 4, 5, 5), randn(4), randn(4)),
        1, 2,
    ),
    "mse_loss": Budget(F.mse_loss, lambda: (randn(8, 16), randn(8, 16).detach()), 1, 2),
    "smooth_l1_loss": Budget(F.smooth_l1_loss, lambda: (randn(8, 16), randn(8, 16).detach()), 1, 2),
    "bce_with_logits": Budget(
        F.binary_cross_entropy_with_logits, lambda: (randn(8, 16), randn(8, 16).detach()), 1, 2
    ),
    "binary_cross_entropy": Budget(
        F.binary_cross_entropy,
        lambda: (torch.rand(8, 16, device="cuda", requires_grad=True), torch.rand(8, 16, device="cuda")),
        2, 3,
    ),
    "one_hot": Budget(lambda x, i: x * F.one_hot(i, 16), lambda: (randn(8, 16), classes(8)), 5, 7),
    "max": Budget(lambda x: x.max(), lambda: (randn(8, 16),), 1, 4),
    "norm": Budget(lambda x: x.norm(), lambda: (randn(8, 16),), 1, 2),
    "norm along a dimension": Budget(lambda x: x.norm(dim=1), lambda: (randn(8, 16),), 1, 2),
    "var": Budget(lambda x: x.var(0), lambda: (randn(8, 16),), 1, 3),
    "std": Budget(lambda x: x.std(), lambda: (randn(8, 16),), 1, 3),
    "logsumexp": Budget(lambda x: x.logsumexp(1), lambda: (randn(8, 16),), 1, 2),
    "linear": Budget(F.linear, lambda: (randn(8, 16), randn(12, 16), randn(12)), 2, 5),
    "matmul": Budget(torch.matmul, lambda: (randn(2, 8, 16), randn(2, 16, 3)), 1, 3),
    "embedding": Budget(lambda w, i: F.embedding(i, w), lambda: (randn(10, 8), classes(4, 6, below=10)), 1, 3),
    "embedding of a part, padded": Budget(
        lambda w, i: F.embedding(i[:, 1:], w, 0).transpose(0, 1), lambda: (randn(10, 8), classes(4, 6, below=10)), 2, 6
    ),
    "embedding_bag": Budget(
        lambda w, i: F.embedding_bag(i, w, mode="sum"), lambda: (randn(10, 8), classes(4, 6, below=10)), 4, 8
    ),
    "dropout": Budget(lambda x: F.dropout(x, 0.5), lambda: (randn(8, 16),), 1, 2),
    "attention": Budget(
        F.scaled_dot_product_attention, lambda: (randn(2, 2, 6, 8), randn(2, 2, 6, 8), randn(2, 2, 6, 8)), 1, 4
    ),
    "attention with dropout": Budget(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, None, 0.3, True),
        lambda: (randn(2, 2, 6, 8), randn(2, 2, 6, 8), randn(2, 2, 6, 8)), 1, 4,
    ),
    "avg_pool2d": Budget(lambda x: F.avg_pool2d(x, 2), lambda: (randn(2, 3, 8, 8),), 1, 2),
    "adaptive_avg_pool2d": Budget(lambda x: F.adaptive_avg_pool2d(x, 2), lambda: (randn(2, 3, 8, 8),), 1, 2),
    "adaptive_max_pool2d": Budget(lambda x: F.adaptive_max_pool2d(x, 3), lambda: (randn(2, 3, 8, 8),), 1, 3),
    "interpolate": Budget(
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), lambda: (randn(2, 3, 8, 8),), 1, 2
    ),
    "max_pool2d": Budget(lambda x: F.max_pool2d(x, 2), lambda: (randn(2, 3, 8, 8),), 1, 2),
    "conv2d": Budget(
        lambda x, w, b: F.conv2d(x, w, b, padding=1), lambda: (randn(8, 16, 32, 32), randn(16, 16, 3, 3), randn(16)),
        3, 8,
    ),
    "conv2d without a bias": Budget(
        lambda x, w: F.conv2d(x, w, padding=1), lambda: (randn(2, 3, 8, 8), randn(4, 3, 3, 3)), 2, 6
    ),
    "conv_transpose2d": Budget(
        lambda x, w: F.conv_transpose2d(x, w, stride=2), lambda: (randn(2, 4, 8, 8), randn(4, 3, 2, 2)), 2, 6
    ),
    "index": Budget(lambda x, i: x[:, i], lambda: (randn(2, 8, 16), classes(3, below=8)), 1, 4),
    "index of two dimensions": Budget(
        lambda x, i, j: x[i, j], lambda: (randn(2, 8, 16), classes(5, below=2), classes(5, below=8)), 2, 7
    ),
    "arange": Budget(lambda x: x + torch.arange(16, device="cuda"), lambda: (randn(8, 16),), 3, 4),
    "fill by a mask": Budget(lambda x: filled(x * 1, 0.5), lambda: (randn(8, 16),), 5, 9),
    "gather": Budget(lambda x, i: x.gather(0, i), lambda: (randn(8, 16), classes(3, 16, below=8)), 1, 3),
    "scatter": Budget(
        lambda x, y, i: x.scatter(0, i, y), lambda: (randn(8, 16), randn(3, 16), classes(3, 16, below=8)), 2, 5
    ),
    "scatter_add": Budget(
        lambda x, y, i: x.scatter_add(0, i, y), lambda: (randn(8, 16), randn(3, 16), classes(3, 16, below=8)), 2, 4
    ),
    "index_select": Budget(lambda x, i: x.index_select(1, i), lambda: (randn(8, 16), classes(5)), 1, 3),
    "index_add": Budget(
        lambda x, y, i: x.index_add(1, i, y), lambda: (randn(8, 16), randn(8, 5), classes(5)), 2, 4
    ),
}  # fmt: skip


# What halves take where it is more: some sums are made in float32 beside them.
IN_HALVES: dict[str, dict[str, int]] = {
    "embedding": {"both": 4}, "embedding of a part, padded": {"both": 7}, "index": {"both": 6},
    "index of two dimensions": {"both": 9},
}  # fmt: skip


def told(call):
    call()
    call()
    with cuda_on_host.counted() as tally:
        kept = call()  # noqa: F841
    return tally


def inputs_of(budget, dtype):
    return [
        t.detach().to(dtype).requires_grad_(t.requires_grad) if t.dtype.is_floating_point else t for t in budget.on()
    ]


@pytest.mark.parametrize("name", BUDGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_launches(name, dtype):
    """Halves are taken as they are, so they cost no more; where they do, the table says so."""
    budget = BUDGETS[name]
    if dtype is not torch.float32:
        budget = budget._replace(**IN_HALVES.get(name, {}))
    inputs = inputs_of(budget, dtype)
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


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(20, 16), nn.Embedding(6, 16)
        self.block = nn.TransformerEncoderLayer(16, 2, 32, 0.1, F.gelu, batch_first=True, norm_first=True)
        self.out = nn.Linear(16, 20)

    def forward(self, words):
        places = torch.arange(words.shape[1], device=words.device)
        return self.out(self.block(self.words(words) + self.places(places)).mean(1))


class Recurrent(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell(8, 16, batch_first=True)
        self.out = nn.Linear(16, 20)

    def forward(self, x):
        return self.out(self.cell(x)[0][:, -1])


class Words(Recurrent):
    """A model that reads what comes before each word, of lines that are filled up with zeros."""

    def __init__(self):
        super().__init__(nn.LSTM)
        self.words = nn.Embedding(20, 8, padding_idx=0)

    def forward(self, words):
        return super().forward(self.words(words[:, :-1]))


def images(*shape):
    return torch.randn(shape, device="cuda")


TRAINED = {
    "mlp": (
        lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 20)), lambda: images(4, 8), torch.optim.SGD
    ),
    "cnn": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 20)
        ),
        lambda: images(4, 1, 8, 8), torch.optim.Adam,
    ),
    "transformer": (Attention, lambda: classes(4, 6, below=20), torch.optim.AdamW),
    "lstm": (lambda: Recurrent(nn.LSTM), lambda: images(4, 5, 8), torch.optim.RMSprop),
    "gru": (lambda: Recurrent(nn.GRU), lambda: images(4, 5, 8), torch.optim.Adagrad),
    "lstm of words": (Words, lambda: classes(4, 6, below=20), torch.optim.NAdam),
}  # fmt: skip


@pytest.mark.parametrize("autocast, dtype, most", [
    (False, torch.float32, 77), (True, torch.float32, 110), (False, torch.float16, 75), (False, torch.bfloat16, 75),
])  # fmt: skip
def test_launches_of_a_training_step(autocast, dtype, most):
    layer = nn.TransformerEncoderLayer(16, 2, 32, 0.1, F.gelu, batch_first=True).to("cuda", dtype)
    head = nn.Linear(16, 5).to("cuda", dtype)
    optimizer = torch.optim.AdamW([*layer.parameters(), *head.parameters()])
    x, y = images(4, 6, 16).to(dtype), classes(4, below=5)

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            loss = F.cross_entropy(head(layer(x).mean(1)), y)
        loss.backward()
        optimizer.step()

    tally = told(step)
    assert tally.counts.launches <= most, tally.kernels


@pytest.mark.parametrize("name", TRAINED)
def test_a_training_step_neither_copies_nor_waits(name):
    make, batch, optimizer = TRAINED[name]
    model = make().cuda()
    x, y, optimizer = batch(), classes(4, below=20), optimizer(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    tally = told(step)
    assert tally.counts.to_device + tally.counts.to_host + tally.counts.waits == 0, (tally.counts, tally.kernels)
