"""The names for how elements lie in memory: `torch.strided`, `torch.contiguous_format` and their kin."""

from __future__ import annotations

import functools
import pickle
from typing import Any

from .pickling import bear_name, shown_in, spelled
from .sealed import sealed


class Named:
    """One of a few objects of a kind, which is its name in torch and nothing else."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return _of_name, (self.name,)


class layout(Named):
    """How a tensor is stored: by strides, or as one of the sparse and nested kinds."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return spelled(_get_layout), (repr(self),)


class memory_format(Named):
    """An order of dimensions in memory."""

    __slots__ = ()


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
COMPRESSED = (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)
_mkldnn = layout("_mkldnn")
jagged = layout("jagged")

contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

for _cls in (layout, memory_format):
    bear_name(_cls, "torch")
    sealed(_cls)

NAMES: dict[str, layout | memory_format] = {
    item.name: item
    for item in (
        strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, _mkldnn, jagged,
        contiguous_format, preserve_format, channels_last, channels_last_3d,
    )
}  # fmt: skip
NAMES["legacy_contiguous_format"] = contiguous_format


def _of_name(name: str) -> layout | memory_format:
    return NAMES[name]


@shown_in("torch.serialization")
def _get_layout(name: str) -> layout:
    """The layout that is shown as `name`."""
    found = NAMES.get(name.removeprefix("torch."))
    if not isinstance(found, layout):
        raise pickle.UnpicklingError(f"there is no layout {name}")
    return found


@functools.lru_cache(4096)
def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def channels_last_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides that put dimension 1 innermost: NHWC for four dimensions, NDHWC for five."""
    order = (1, *range(len(shape) - 1, 1, -1), 0)
    strides, step = [0] * len(shape), 1
    for d in order:
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    return 0 in shape or fits(shape, strides, contiguous_strides(shape))


def fits(shape: tuple[int, ...], strides: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether strides are those wanted, wherever they matter."""
    return all([n == 1 or s == w for n, s, w in zip(shape, strides, wanted, strict=True)])


def is_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether the elements fill one stretch of memory, each a place of its own."""
    step = 1
    for s, n in sorted([(s, n) for s, n in zip(strides, shape, strict=True) if n != 1]):
        if s != step and 0 not in shape:
            return False
        step *= n
    return True


def _inside_out(shape: tuple[int, ...], operands: list[tuple[int, ...]]) -> list[int]:
    """The dimensions in the order in which PyTorch walks through operands of these strides, the innermost first.

    A dimension moves inwards past those of larger steps. Steps of 0 say nothing; of equal ones the shorter goes inside.
    """

    def outside(a: int, b: int) -> int:
        for strides in operands:
            s, t = strides[a], strides[b]
            if s and t:
                if s != t:
                    return s - t
                if shape[a] > shape[b]:
                    return 1
        return 0

    order = list(range(len(shape)))[::-1]
    for i in range(1, len(order)):
        at = i
        for before in range(i - 1, -1, -1):
            verdict = outside(order[before], order[at])
            if verdict > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif verdict < 0:
                break
    return order


def dense_strides(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a copy that keeps the order of dimensions: the same ones, if they leave no gaps."""
    if is_dense(shape, strides):
        return strides
    made, step = [0] * len(shape), 1
    for d in _inside_out(shape, [strides]):
        made[d] = step
        step *= max(shape[d], 1)
    return tuple(made)


@functools.lru_cache(4096)
def result_strides(
    shape: tuple[int, ...], operands: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
) -> tuple[int, ...]:
    """The strides of the result of an elementwise op on operands of these shapes and strides."""
    if all([one == shape for one, _ in operands]):
        if all([is_contiguous(*operand) for operand in operands]):
            return contiguous_strides(shape)
        if len(shape) == 4:
            inside = channels_last_strides(shape)
            if all([fits(shape, strides, inside) for _, strides in operands]):
                return inside
        strides = operands[0][1]
        if is_dense(shape, strides) and all([other == strides for _, other in operands]):
            return strides
    spread = []
    for one, strides in operands:
        lead = len(shape) - len(one)
        steps = [0 if n == 1 and shape[lead + i] != 1 else s for i, (n, s) in enumerate(zip(one, strides, strict=True))]
        spread.append((*(0,) * lead, *steps))
    order = _inside_out(shape, spread)
    if order == sorted(order, reverse=True):
        return contiguous_strides(shape)
    made, step = [0] * len(shape), 1
    for d in order:
        made[d] = step
        step *= shape[d]
    return tuple(made)


def reshaped_strides(shape: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides that show these elements in the shape `new`; None when that takes a copy."""
    if 0 in shape:
        return strides if new == shape else contiguous_strides(tuple(new))
    if not shape:
        return (1,) * len(new)
    # Runs of dimensions that walk through memory evenly, from the last: (number of elements, step).
    runs = [(1, strides[-1])]
    for n, s in zip(reversed(shape), reversed(strides), strict=True):
        count, step = runs[-1]
        if n == 1 or s == count * step:
            runs[-1] = (n * count, step)
        else:
            runs.append((n, s))
    result: list[int] = []
    left = list(new)
    for count, step in runs:
        done = 1
        while left and (done < count or left[-1] == 1):
            result.append(done * step)
            done *= left.pop()
        if done != count:
            return None
    return tuple(reversed(result))
