"""What a whole training step costs in torchlite and in PyTorch, for small models of several kinds.

    python -m bench.train_small [--models mlp,lstm] [--rounds 15] [--profile lstm]

A step is the forward pass, the loss, backward, the optimizer's step and `zero_grad`. On one thread; the libraries take
turns, and the ratio shown, torchlite's time over PyTorch's, is the median of the rounds'. Set OMP_NUM_THREADS=1 so that
NumPy's matrix products run on one thread too.
"""

from __future__ import annotations

import argparse
import cProfile
import math
import pstats
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import torchlite

Step = Callable[[], Any]
Parts = tuple[Any, Callable[[], Any], str]


def mlp(torch: Any) -> Parts:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    x, y = torch.randn(32, 64), torch.randint(10, (32,))
    return model, lambda: nn.functional.cross_entropy(model(x), y), "Adam"


def lenet(torch: Any) -> Parts:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    x, y = torch.randn(16, 1, 28, 28), torch.randint(10, (16,))
    return model, lambda: nn.functional.cross_entropy(model(x), y), "SGD"


def resnet_block(torch: Any) -> Parts:
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
    x, y = torch.randn(8, 16, 16, 16), torch.randint(10, (8,))
    return model, lambda: nn.functional.cross_entropy(model(x), y), "SGD"


def recurrent(torch: Any, kind: str) -> Parts:
    nn = torch.nn
    words = nn.Embedding(30, 32)
    rnn, out = getattr(nn, kind)(32, 48), nn.Linear(48, 30)
    x, y = torch.randint(30, (20, 8)), torch.randint(30, (160,))
    return (
        nn.ModuleList([words, rnn, out]),
        lambda: nn.functional.cross_entropy(out(rnn(words(x))[0]).view(160, 30), y),
        "Adam",
    )


def char_transformer(torch: Any) -> Parts:
    nn = torch.nn
    words, places = nn.Embedding(40, 32), nn.Embedding(24, 32)
    layers = nn.ModuleList(
        [nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True) for _ in range(2)]
    )
    out = nn.Linear(32, 40)
    x, y = torch.randint(40, (8, 24)), torch.randint(40, (192,))
    mask, order = nn.Transformer.generate_square_subsequent_mask(24), torch.arange(24)

    def loss() -> Any:
        h = words(x) + places(order)
        for layer in layers:
            h = layer(h, src_mask=mask, is_causal=True)
        return nn.functional.cross_entropy(out(h).view(192, 40), y)

    return nn.ModuleList([words, places, layers, out]), loss, "AdamW"


MODELS: dict[str, Callable[[Any], Parts]] = {
    "mlp": mlp,
    "lenet": lenet,
    "resnet_block": resnet_block,
    "lstm": lambda torch: recurrent(torch, "LSTM"),
    "gru": lambda torch: recurrent(torch, "GRU"),
    "char_transformer": char_transformer,
}


def step_of(library: Any, name: str) -> Step:
    library.manual_seed(0)
    model, loss, optimizer = MODELS[name](library)
    stepper = getattr(library.optim, optimizer)(model.parameters(), lr=1e-3)

    def step() -> Any:
        value = loss()
        value.backward()
        stepper.step()
        stepper.zero_grad()
        return value

    return step


def seconds(step: Step, count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        step()
    return (time.process_time() - start) / count


def measure(name: str, rounds: int) -> tuple[float, float, float]:
    """The fastest round of torchlite and of PyTorch in milliseconds a step, and the median of the rounds' ratios."""
    own, other = step_of(torchlite, name), step_of(torch, name)
    for _ in range(5):
        own(), other()
    count = max(1, round(0.02 / seconds(other, 5)))
    pairs = [(seconds(own, count), seconds(other, count)) for _ in range(rounds)]
    fastest = [min(times) * 1e3 for times in zip(*pairs)]
    return fastest[0], fastest[1], statistics.median(a / b for a, b in pairs)


def profile(name: str, steps: int = 100) -> None:
    step = step_of(torchlite, name)
    step()
    seen = cProfile.Profile()
    seen.runcall(lambda: [step() for _ in range(steps)])
    pstats.Stats(seen).sort_stats("tottime").print_stats(25)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.train_small", description=__doc__.partition("\n")[0])
    parser.add_argument("--models", default=",".join(MODELS), metavar="M[,M]", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=15, metavar="N")
    parser.add_argument("--profile", choices=MODELS, help="where torchlite's time goes in this model, and nothing else")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.profile:
        profile(options.profile)
        return
    print(f"{'model':18} {'torchlite ms':>12} {'torch ms':>10} {'ratio':>7}")
    ratios = []
    for name in options.models.split(","):
        own, other, ratio = measure(name, options.rounds)
        ratios.append(ratio)
        print(f"{name:18} {own:12.3f} {other:10.3f} {ratio:7.2f}", flush=True)
    print(f"{'geometric mean':18} {'':12} {'':10} {math.exp(statistics.fmean(map(math.log, ratios))):7.2f}")


if __name__ == "__main__":
    main()
