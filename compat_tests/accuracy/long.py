"""Sums and their kin over many elements, along each dimension: ``python -m compat_tests.accuracy.long``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..parity.pool import Settings, reference_library, subject_library
from .measure import verdicts

SHAPES = [((200_003,), 0), ((200_003, 3), 0), ((3, 200_003), 1), ((2, 100_003, 4), 1), ((1003, 3, 203), (0, 2))]
KINDS: dict[str, Callable[[np.random.Generator, Any], np.ndarray]] = {
    "positive": lambda random, shape: random.random(shape),
    "around 0": lambda random, shape: random.standard_normal(shape),
    "around 1000": lambda random, shape: random.standard_normal(shape) + 1e3,
}

# What is called with the library, a tensor and dimensions; those of one dimension only are marked.
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": lambda lib, t, dim: t.sum(dim),
    "mean": lambda lib, t, dim: t.mean(dim),
    "nansum": lambda lib, t, dim: t.nansum(dim),
    "nanmean": lambda lib, t, dim: t.nanmean(dim),
    "var": lambda lib, t, dim: t.var(dim),
    "std": lambda lib, t, dim: t.std(dim),
    "norm": lambda lib, t, dim: lib.linalg.vector_norm(t, 2, dim),
    "norm of order 1": lambda lib, t, dim: lib.linalg.vector_norm(t, 1, dim),
    "norm of order 3": lambda lib, t, dim: lib.linalg.vector_norm(t, 3, dim),
    "logsumexp": lambda lib, t, dim: t.logsumexp(dim),
    "mse_loss": lambda lib, t, dim: lib.nn.functional.mse_loss(t, t * 0.5),
    "l1_loss": lambda lib, t, dim: lib.nn.functional.l1_loss(t, t * 0.5),
}
ALONG_ONE: dict[str, Callable[..., Any]] = {
    "softmax": lambda lib, t, dim: t.softmax(dim) * t.shape[dim],
    "log_softmax": lambda lib, t, dim: t.log_softmax(dim),
    "cumsum": lambda lib, t, dim: t.cumsum(dim),
    "logcumsumexp": lambda lib, t, dim: t.logcumsumexp(dim),
    "trapezoid": lambda lib, t, dim: lib.trapezoid(t, dim=dim),
    "cosine_similarity": lambda lib, t, dim: lib.nn.functional.cosine_similarity(t, t.flip(dim), dim),
    "normalize": lambda lib, t, dim: lib.nn.functional.normalize(t, dim=dim),
    "index_add": lambda lib, t, dim: (
        t.narrow(dim, 0, 2).index_add(dim, lib.zeros(t.shape[dim], dtype=lib.int64), t)
    ),
    "layer_norm": lambda lib, t, dim: lib.nn.functional.layer_norm(t.movedim(dim, -1), (t.shape[dim],)),
    "batch_norm": lambda lib, t, dim: lib.nn.functional.batch_norm(
        t.movedim(dim, 0).reshape(t.shape[dim], -1), None, None, training=True
    ),
    "group_norm": lambda lib, t, dim: lib.nn.functional.group_norm(t.movedim(dim, -1).reshape(-1, 1, t.shape[dim]), 1),
}


def cases() -> Iterator[tuple[str, Callable[..., Any], tuple[int, ...], Any]]:
    for shape, dim in SHAPES:
        for name, call in {**REDUCTIONS, **(ALONG_ONE if isinstance(dim, int) else {})}.items():
            yield name, call, shape, dim


def findings(
    libraries: tuple[Any, Any], dtypes: list[str], names: set[str] | None = None
) -> Iterator[tuple[str, list[Any]]]:
    """Each case, and what is worse than twice PyTorch's error in it, in values and gradients."""
    reference, subject = (library.module for library in libraries)
    for name, call, shape, dim in cases():
        for kind, make in KINDS.items() if names is None or name in names else ():
            for dtype in dtypes:
                values = make(np.random.default_rng(0), shape).astype(np.float32)
                ours, theirs = (_both(lib, call, values, dim, dtype) for lib in (subject, reference))
                rounded = reference.from_numpy(values).to(getattr(reference, dtype)).double().numpy()
                truth = _both(reference, call, rounded, dim, "float64")
                yield f"{name} {shape} dim {dim} {kind} {dtype}", list(verdicts(ours, theirs, truth, each=False))


def _both(library: Any, call: Callable[..., Any], values: np.ndarray, dim: Any, dtype: str) -> list[np.ndarray]:
    """What a call gives and its gradient, as arrays; bfloat16 in float32's, which show its rounding as an error."""
    t = library.from_numpy(values).to(getattr(library, dtype)).requires_grad_()
    made = call(library, t, dim)
    upstream = np.random.default_rng(1).integers(1, 5, tuple(made.shape)) / 4
    made.backward(library.from_numpy(np.asarray(upstream)).to(made.dtype))
    return [(x.float() if dtype == "bfloat16" else x).detach().numpy() for x in (made, t.grad)]


def main() -> int:
    compared = worse = 0
    for case, found in findings((reference_library(), subject_library(Settings("torchlite"))), ["float32", "float16"]):
        compared += 2
        worse += len(found)
        for verdict in found:
            print(f"{case}: {verdict.text}")
    print(f"{compared} results compared, {worse} of torchlite's worse than twice PyTorch's")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
