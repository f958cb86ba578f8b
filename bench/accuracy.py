"""How far results in single precision are from the truth, in torchlite and in PyTorch.

The truth is what PyTorch computes from the same numbers in double precision. Errors are the largest, in units of the
last place: of each number by itself or, where terms cancel, as they do in sums and in gradients, of the largest number.
Gradients are those of results weighted by random numbers, and are looked at together.

    python -m bench --accuracy
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .kernels import ACTIVATIONS, ELEMENTARY

Shape = tuple[int, ...]
IMAGES: Shape = (4, 16, 20, 20)


@dataclass(frozen=True)
class Case:
    """An expression of tensors, drawn from a normal distribution; whose places are whole numbers below a size."""

    name: str
    call: str
    tensors: dict[str, Shape]
    places: dict[str, tuple[Shape, int]] = field(default_factory=dict)
    each: bool = False  # whether every number of the result has to be right by itself
    positive: bool = False


def _pointwise() -> Iterator[Case]:
    many: dict[str, Shape] = {"x": (200_000,)}
    for name in ACTIVATIONS:
        yield Case(name, f"F.{name}(x)", many, each=True)
    for name in ("exp", "sin", "erf", "expm1"):
        yield Case(name, f"torch.{name}(x)", many, each=True)
    for name in (*[n for n in ELEMENTARY if n in ("log1p", "sqrt")], "log"):
        yield Case(name, f"torch.{name}(x)", many, each=True, positive=True)


def _rows() -> Iterator[Case]:
    rows: dict[str, Shape] = {"x": (300, 1000)}
    for dim in (0, 1):
        along = ("columns", "rows")[dim]
        yield Case(f"softmax of {along}", f"F.softmax(x, {dim})", rows, each=True)
        yield Case(f"log_softmax of {along}", f"F.log_softmax(x, {dim})", rows)
        yield Case(f"logsumexp of {along}", f"x.logsumexp({dim})", rows, each=True)
        for name in ("sum", "mean", "var", "cumsum"):
            yield Case(f"{name} of {along}", f"x.{name}({dim})", rows)
        yield Case(f"norm of {along}", f"torch.linalg.vector_norm(x, dim={dim})", rows, each=True)
    yield Case("sum of all", "x.sum()", {"x": (3_000_000,)}, each=True, positive=True)
    yield Case("layer_norm", "F.layer_norm(x, (1000,), w, b)", {**rows, "w": (1000,), "b": (1000,)})
    yield Case("rms_norm", "F.rms_norm(x, (1000,), w)", {**rows, "w": (1000,)})
    yield Case("group_norm", "F.group_norm(x, 4, w, b)", {"x": IMAGES, "w": (16,), "b": (16,)})
    yield Case("batch_norm", "F.batch_norm(x, None, None, w, b, True)", {"x": IMAGES, "w": (16,), "b": (16,)})
    yield Case("cross_entropy", "F.cross_entropy(x, at)", rows, {"at": ((300,), 1000)}, each=True)
    for name in ("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits"):
        yield Case(name, f"F.{name}(x, t)", {**rows, "t": (300, 1000)})


def _products() -> Iterator[Case]:
    yield Case("matmul", "x @ y", {"x": (200, 300), "y": (300, 100)})
    yield Case("matrix by vector", "x @ y", {"x": (1000, 1000), "y": (1000,)})
    for name, kernel, options in (
        ("few channels", (8, 16, 3, 3), ", padding=1"), ("stride 2", (8, 16, 3, 3), ", stride=2"),
        ("depthwise", (16, 1, 3, 3), ", groups=16"),
    ):  # fmt: skip
        yield Case(f"conv, {name}", f"F.conv2d(x, w{options})", {"x": IMAGES, "w": kernel})
    yield Case("conv, many channels", "F.conv2d(x, w)", {"x": (2, 256, 8, 8), "w": (128, 256, 3, 3)})
    heads: dict[str, Shape] = {"q": (2, 4, 64, 32), "k": (2, 4, 64, 32), "v": (2, 4, 64, 32)}
    yield Case("attention", "F.scaled_dot_product_attention(q, k, v)", heads)
    for kind, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1)):
        weights = {"w": (gates * 32, 16), "u": (gates * 32, 32), "b": (gates * 32,), "d": (gates * 32,)}
        state = "(h, h)" if kind == "lstm" else "h"
        call = f"torch.{kind}(x, {state}, (w / 4, u / 4, b, d), True, 1, 0.0, False, False, False)[0]"
        yield Case(kind, call, {"x": (20, 8, 16), "h": (1, 8, 32), **weights})


def _places() -> Iterator[Case]:
    yield Case("embedding", "F.embedding(at, w)", {"w": (50, 64)}, {"at": ((5000,), 50)})
    yield Case("bilinear", "F.interpolate(x, scale_factor=2, mode='bilinear')", {"x": IMAGES})
    yield Case("bicubic", "F.interpolate(x, scale_factor=2, mode='bicubic')", {"x": IMAGES})
    call = "F.grid_sample(x, at, align_corners=False)"
    yield Case("grid_sample", call, {"x": IMAGES, "at": (4, 30, 30, 2)})
    yield Case("avg_pool2d", "F.avg_pool2d(x, 3)", {"x": IMAGES})


CASES = [*_pointwise(), *_rows(), *_products(), *_places()]


def results(case: Case, torch: Any, double: bool) -> list[np.ndarray]:
    """The result, and the gradients of all tensors as one vector."""
    draw = np.random.default_rng(0)
    names: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    for name, shape in case.tensors.items():
        numbers = draw.standard_normal(shape).astype(np.float32)
        made = torch.from_numpy(np.abs(numbers) + np.float32(1e-3) if case.positive else numbers)
        names[name] = (made.double() if double else made).requires_grad_()
    for name, (shape, size) in case.places.items():
        names[name] = torch.from_numpy(draw.integers(0, size, shape))
    made = eval(case.call, names)
    weights = torch.from_numpy(draw.standard_normal(tuple(made.shape)).astype(np.float32))
    leaves = [names[name] for name in case.tensors]
    gradients = torch.autograd.grad(made, leaves, weights.double() if double else weights)
    return [made.detach().numpy().ravel(), np.concatenate([g.numpy().ravel() for g in gradients])]


def error(found: np.ndarray, truth: np.ndarray, each: bool) -> float:
    """The largest error, in units of the last place; numbers too small for these count as the smallest normal one."""
    size = np.abs(truth) if each else np.abs(truth).max()
    unit = np.spacing(np.maximum(size, np.finfo(np.float32).tiny).astype(np.float32)).astype(np.float64)
    return float((np.abs(found - truth) / unit).max())


def main() -> None:
    import torch

    import torchlite

    print("| | forward | PyTorch | gradient | PyTorch |\n|---|--:|--:|--:|--:|")
    worse = 0
    for case in CASES:
        truth = results(case, torch, True)
        both = [results(case, library, False) for library in (torchlite, torch)]
        figures = []
        for which, right in enumerate(truth):
            pair = [error(found[which], right, case.each and not which) for found in both]
            worse += pair[0] > pair[1] * 1.05 + 0.05
            figures += [f"{figure:.2f}" if figure < 100 else f"{figure:.0f}" for figure in pair]
        print(f"| {case.name} | {' | '.join(figures)} |", flush=True)
    print(f"\n{worse} of {2 * len(CASES)} figures are larger than PyTorch's.")
