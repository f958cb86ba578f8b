"""The names for how elements lie in memory: `torch.strided`, `torch.contiguous_format` and their kin."""

from __future__ import annotations

from typing import Any


class layout:
    """How a tensor is stored. Only `torch.strided` tensors exist here; the other names are there to be compared with."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_name, (self.name,)


class memory_format:
    """An order of dimensions in memory."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_name, (self.name,)


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
_mkldnn = layout("_mkldnn")
jagged = layout("jagged")

contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

NAMES: dict[str, layout | memory_format] = {
    item.name: item
    for item in (
        strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, _mkldnn, jagged,
        contiguous_format, preserve_format, channels_last, channels_last_3d,
    )
}  # fmt: skip


def _of_name(name: str) -> layout | memory_format:
    return NAMES[name]


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


def reshaped_strides(
    shape: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...]
) -> tuple[int, ...] | None:
    """The strides that show these elements in the shape `new`; None when that takes a copy."""
    if 0 in shape:
        return strides if new == shape else contiguous_strides(new)
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
