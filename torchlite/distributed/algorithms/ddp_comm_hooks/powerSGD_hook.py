"""PowerSGD: gradients travel as products of two thin matrices, found by one step of the power iteration a time.

A gradient M of n × m is sent as P (n × r) and Q (m × r): P = M Q is averaged and made orthogonal, then Q = Mᵀ P is
averaged, and P Qᵀ stands for the mean of M. What that leaves out is kept and added to the next gradient (Vogels,
Karimireddy, Jaggi: PowerSGD, 2019). All processes wait for P, while Q travels as backward goes on: so the collectives
have one order everywhere.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....core.machine import Generator, Tensor, functions
from ....futures import Future
from ....linalg import qr
from ...buckets import GradBucket, views_of
from ...collectives import all_reduce
from ...world import _get_default_group
from .default_hooks import allreduce_hook

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]

_log = logging.getLogger(__name__)


class PowerSGDState:
    """What PowerSGD keeps from one iteration to the next, and what it is to do.

    `matrix_approximation_rank` is r. The first `start_powerSGD_iter` iterations send gradients as they are; so are
    always those of which this would not make less than one `min_compression_rate`-th.
    """

    __slots__ = (
        "batch_tensors_with_same_shape", "compression_stats_logging_frequency", "error_dict", "iter",
        "matrix_approximation_rank", "min_compression_rate", "next_stats_report", "orthogonalization_epsilon",
        "p_memory_dict", "process_group", "q_memory_dict", "rng", "start_powerSGD_iter",
        "total_numel_after_compression", "total_numel_before_compression", "use_error_feedback", "warm_start",
    )  # fmt: skip

    def __init__(
        self, process_group: Any, matrix_approximation_rank: int = 1, start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2, use_error_feedback: bool = True, warm_start: bool = True,
        orthogonalization_epsilon: float = 0, random_seed: int = 0, compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:  # fmt: skip
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD "
                "can only be applied after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, Tensor] = {}
        self.p_memory_dict: dict[int, Tensor] = {}
        self.q_memory_dict: dict[int, Tensor] = {}
        self.iter = 0
        self.total_numel_before_compression = self.total_numel_after_compression = 0
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.next_stats_report = 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = _get_default_group()
        for name, value in state.items():
            setattr(self, name, value)

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count an iteration, at its last bucket."""
        if bucket.is_last():
            self.iter += 1
            if self.iter == self.start_powerSGD_iter:
                _log.info("Start to apply PowerSGD after %s iterations.", self.iter)

    def compression_stats(self) -> tuple[float, int, int]:
        """How many times less is sent, and how many numbers there were before and after compression."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after > 0 else 0, before, after)

    def count(self, before: int, after: int, bucket: GradBucket) -> None:
        """Note how much is sent for a bucket."""
        self.total_numel_before_compression += before
        self.total_numel_after_compression += after
        if bucket.is_last() and self.iter >= self.next_stats_report:
            _log.info("Compression stats: iter %s, rate %s, before %s, after %s", self.iter, *self.compression_stats())
            self.next_stats_report = self.iter + self.compression_stats_logging_frequency


class _Factors(NamedTuple):
    """A matrix, or several of one shape, and what they are sent as."""

    matrix: Tensor
    p: Tensor
    q: Tensor

    def put_back(self) -> None:
        functions["bmm"](self.p, self.q.transpose(1, 2), out=self.matrix)


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """Send each gradient that is a matrix, or has more dimensions, as two thin ones."""
    group = state.process_group or _get_default_group()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(group, bucket)
    buffer, index = bucket.buffer(), bucket.index()
    original = _with_errors(state, buffer, index)
    plain, matrices, after = _sorted(state, bucket.gradients())
    state.count(buffer.numel(), after, bucket)
    uncompressed = functions["cat"]([tensor.view(-1) for tensor in plain]) if plain else buffer.new_zeros(0)
    work = all_reduce(uncompressed, group=group, async_op=True)
    factors = _thin(state, index, matrices, buffer)
    sent = _averaged_factors(state, factors, index, group)

    def finish(future: Future) -> Tensor:
        assert work is not None
        work.wait()
        uncompressed.div_(group.size())
        for tensor, mean in zip(plain, views_of(uncompressed, plain)):
            tensor.copy_(mean)
        return _restored(state, future, factors, bucket, original, group)

    return sent.then(finish)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """Send all gradients of a bucket as one square matrix, made of two thin ones: faster, and coarser."""
    group = state.process_group or _get_default_group()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(group, bucket)
    buffer, index = bucket.buffer(), bucket.index()
    side = math.ceil(math.sqrt(buffer.numel()))
    rank = min(state.matrix_approximation_rank, side)
    state.count(buffer.numel(), side * rank * 2, bucket)
    padded = functions["cat"]([buffer, buffer.new_zeros(side * side - buffer.numel())])
    original = _with_errors(state, padded, index)
    factors = _thin(state, index, [padded.view(1, side, side)], buffer)
    sent = _averaged_factors(state, factors, index, group)

    def finish(future: Future) -> Tensor:
        _restored(state, future, factors, bucket, original, group, padded)
        return buffer.copy_(padded[: buffer.numel()])

    return sent.then(finish)


def _with_errors(state: PowerSGDState, flat: Tensor, index: int) -> Tensor | None:
    """Add what the last iteration left out; a copy of what is to be sent then."""
    if not state.use_error_feedback:
        return None
    if index in state.error_dict:
        flat.add_(state.error_dict[index])
    else:
        state.error_dict[index] = functions["zeros_like"](flat)
    return flat.clone()


def _sorted(state: PowerSGDState, gradients: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor], int]:
    """The gradients that are sent as they are; the others, as stacks of matrices; how many numbers are sent in all."""
    plain, matrices, after = [], [], 0
    by_shape: defaultdict[tuple[int, int], list[Tensor]] = defaultdict(list)
    for gradient in gradients:
        matrix = gradient.view(gradient.shape[0], -1) if gradient.dim() else gradient.view(1, 1)
        n, m = matrix.shape
        compressed = (n + m) * min(n, m, state.matrix_approximation_rank)
        if compressed * state.min_compression_rate < n * m:
            by_shape[n, m].append(matrix)
            after += compressed
        else:
            plain.append(gradient)
            after += gradient.numel()
    for same in by_shape.values():
        matrices += [matrix.unsqueeze(0) for matrix in same]
    return plain, matrices, after


def _thin(state: PowerSGDState, index: int, matrices: Sequence[Tensor], like: Tensor) -> list[_Factors]:
    """P and Q for each matrix, in two flat tensors; Q is that of the last iteration, or drawn at random."""
    shapes = [(*matrix.shape, min(*matrix.shape[1:], state.matrix_approximation_rank)) for matrix in matrices]
    known = state.warm_start and index in state.p_memory_dict
    if not known:
        state.p_memory_dict[index] = like.new_zeros(sum(count * n * r for count, n, m, r in shapes))
        state.q_memory_dict[index] = like.new_zeros(sum(count * m * r for count, n, m, r in shapes))
    p_memory, q_memory = state.p_memory_dict[index], state.q_memory_dict[index]
    factors, p_at, q_at = [], 0, 0
    generator = None if known else Generator().manual_seed(int(state.rng.randint(1_000_000_000)))
    for matrix, (count, n, m, r) in zip(matrices, shapes):
        p = p_memory[p_at : p_at + count * n * r].view(count, n, r)
        q = q_memory[q_at : q_at + count * m * r].view(count, m, r)
        p_at, q_at = p_at + p.numel(), q_at + q.numel()
        if not known:
            q.copy_(functions["randn"](*q.shape, generator=generator, dtype=q.dtype))
        _make_orthogonal(q, state.orthogonalization_epsilon)
        factors.append(_Factors(matrix, p, q))
    return factors


def _averaged_factors(state: PowerSGDState, factors: Sequence[_Factors], index: int, group: Any) -> Future:
    """Average P, which is waited for, and Q, of which a future is returned."""
    for matrix, p, q in factors:
        functions["bmm"](matrix, q, out=p)
    all_reduce(state.p_memory_dict[index], group=group)
    for matrix, p, q in factors:
        _make_orthogonal(p, state.orthogonalization_epsilon)
        functions["bmm"](matrix.transpose(1, 2), p, out=q)
    work = all_reduce(state.q_memory_dict[index], group=group, async_op=True)
    assert work is not None
    return work.get_future()


def _restored(
    state: PowerSGDState, future: Future, factors: Sequence[_Factors], bucket: GradBucket, original: Tensor | None,
    group: Any, flat: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Put the products in the matrices' place, and keep what they leave out."""
    future.value()[0].div_(group.size())
    for each in factors:
        each.put_back()
    sent = bucket.buffer() if flat is None else flat
    if original is not None:
        state.error_dict[bucket.index()] = original - sent
    if not state.warm_start:
        state.p_memory_dict.clear()
        state.q_memory_dict.clear()
    state.maybe_increase_iter(bucket)
    return sent


def _make_orthogonal(matrices: Tensor, epsilon: float) -> None:
    """Make the columns of each matrix orthonormal, in place."""
    if epsilon == 0:
        matrices.copy_(qr(matrices)[0])
        return
    for at in range(matrices.shape[2]):  # modified Gram-Schmidt
        column = matrices[:, :, at : at + 1]
        column /= functions["norm"](column, dim=1, keepdim=True) + epsilon
        rest = matrices[:, :, at + 1 :]
        rest -= (column * rest).sum(1, keepdim=True) * column
