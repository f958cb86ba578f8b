"""Whole training steps of small models: the forward pass, the loss, backward, the optimizer's step and `zero_grad`.

python -m bench --group training
python -m bench.training lstm         where torchlite's time goes in this model
"""

from __future__ import annotations

import cProfile
import pstats
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from .timing import Workload

Step = Callable[[], Any]
Parts = tuple[Any, Callable[[], Any], str]  # the model, its loss, the optimizer


def linear_regression(torch: Any, times: int = 1) -> Parts:
    model = torch.nn.Linear(10, 1)
    x, y = torch.randn(100 * times, 10), torch.randn(100 * times, 1)
    return model, lambda: torch.nn.functional.mse_loss(model(x), y), "SGD"


def mlp(torch: Any, times: int = 1) -> Parts:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    x, y = torch.randn(32 * times, 64), torch.randint(10, (32 * times,))
    return model, lambda: nn.functional.cross_entropy(model(x), y), "Adam"


def mlp_mnist(torch: Any, times: int = 1) -> Parts:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10))
    x, y = torch.randn(64 * times, 784), torch.randint(10, (64 * times,))
    return model, lambda: nn.functional.cross_entropy(model(x), y), "SGD"


def autoencoder(torch: Any, times: int = 1) -> Parts:
    nn = torch.nn
    widths = (196, 64, 16, 64, 196)
    layers = [part for n, m in pairwise(widths) for part in (nn.Linear(n, m), nn.GELU())]
    model = nn.Sequential(*layers[:-1])
    x = torch.rand(32 * times, 196)
    return model, lambda: nn.functional.binary_cross_entropy_with_logits(model(x), x), "Adam"


def lenet(torch: Any, times: int = 1) -> Parts:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    x, y = torch.randn(16 * times, 1, 28, 28), torch.randint(10, (16 * times,))
    return model, lambda: nn.functional.cross_entropy(model(x), y), "SGD"


def resnet_block(torch: Any, times: int = 1) -> Parts:
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
            self.conv2, self.bn2 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)

        def forward(self, x: Any) -> Any:
            y = nn.functional.relu(self.bn1(self.conv1(x)))
            return nn.functional.relu(self.bn2(self.conv2(y)) + x)

    model = nn.Sequential(Block(16), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
    x, y = torch.randn(8 * times, 16, 16, 16), torch.randint(10, (8 * times,))
    return model, lambda: nn.functional.cross_entropy(model(x), y), "SGD"


def text_classifier(torch: Any, times: int = 1) -> Parts:
    nn = torch.nn
    words, out = nn.EmbeddingBag(2000, 64, mode="mean"), nn.Linear(64, 4)
    x, y = torch.randint(2000, (640 * times,)), torch.randint(4, (32 * times,))
    starts = torch.arange(0, 640 * times, 20)
    return nn.ModuleList([words, out]), lambda: nn.functional.cross_entropy(out(words(x, starts)), y), "SGD"


def recurrent(torch: Any, kind: str, times: int = 1) -> Parts:
    nn = torch.nn
    words = nn.Embedding(30, 32)
    rnn, out = getattr(nn, kind)(32, 48), nn.Linear(48, 30)
    x, y = torch.randint(30, (20, 8 * times)), torch.randint(30, (160 * times,))
    return (
        nn.ModuleList([words, rnn, out]),
        lambda: nn.functional.cross_entropy(out(rnn(words(x))[0]).view(-1, 30), y),
        "Adam",
    )


def char_transformer(torch: Any, times: int = 1) -> Parts:
    nn = torch.nn
    words, places = nn.Embedding(40, 32), nn.Embedding(24, 32)
    layers = nn.ModuleList(
        [nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True) for _ in range(2)]
    )
    out = nn.Linear(32, 40)
    x, y = torch.randint(40, (8 * times, 24)), torch.randint(40, (192 * times,))
    mask, order = nn.Transformer.generate_square_subsequent_mask(24), torch.arange(24)

    def loss() -> Any:
        h = words(x) + places(order)
        for layer in layers:
            h = layer(h, src_mask=mask, is_causal=True)
        return nn.functional.cross_entropy(out(h).view(-1, 40), y)

    return nn.ModuleList([words, places, layers, out]), loss, "AdamW"


def dqn(torch: Any, times: int = 1) -> Parts:
    """Values of actions, learnt from transitions, beside a copy that stands still."""
    nn = torch.nn

    def network() -> Any:
        return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    model, still = network(), network()
    n = 64 * times
    states, later, rewards = torch.randn(n, 4), torch.randn(n, 4), torch.randn(n)
    actions, ended = torch.randint(2, (n, 1)), (torch.rand(n) < 0.1).float()

    def loss() -> Any:
        with torch.no_grad():
            targets = rewards + 0.99 * still(later).max(1).values * (1 - ended)
        return nn.functional.smooth_l1_loss(model(states).gather(1, actions).squeeze(1), targets)

    return model, loss, "Adam"


def pinn(torch: Any, times: int = 1) -> Parts:
    """A network that is to solve u'' = -sin x, by derivatives of derivatives."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    x = torch.linspace(0, 3, 64 * times).unsqueeze(1).requires_grad_()

    def loss() -> Any:
        u = model(x)
        (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (bend,) = torch.autograd.grad(slope.sum(), x, create_graph=True)
        return ((bend + torch.sin(x)) ** 2).mean() + u[0, 0] ** 2

    return model, loss, "Adam"


MODELS: dict[str, Callable[[Any, int], Parts]] = {
    "linear_regression": linear_regression,
    "mlp": mlp,
    "mlp_mnist": mlp_mnist,
    "autoencoder": autoencoder,
    "lenet": lenet,
    "resnet_block": resnet_block,
    "text_classifier": text_classifier,
    "lstm": lambda torch, times: recurrent(torch, "LSTM", times),
    "gru": lambda torch, times: recurrent(torch, "GRU", times),
    "char_transformer": char_transformer,
    "dqn": dqn,
    "pinn": pinn,
}


def step_of(library: Any, name: str, times: int = 1) -> Step:
    """A model's step, with batches that are so many times as large."""
    library.manual_seed(0)
    model, loss, optimizer = MODELS[name](library, times)
    stepper = getattr(library.optim, optimizer)(model.parameters(), lr=1e-3)

    def step() -> Any:
        value = loss()
        value.backward()
        stepper.step()
        stepper.zero_grad()
        return value

    return step


SETUP = "from bench.training import step_of\nstep = step_of(torch, {!r})\nfor _ in range(3): step()"
WORKLOADS = [Workload(name, "step()", SETUP.format(name)) for name in MODELS]


def profile(name: str, steps: int = 100) -> None:
    step = step_of(__import__("torchlite"), name)
    step()
    seen = cProfile.Profile()
    seen.runcall(lambda: [step() for _ in range(steps)])
    pstats.Stats(seen).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    profile(sys.argv[1])
