"""Sequences of several lengths in one tensor: padded to the longest, or packed, all elements of a time together."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from ...backends.base import get_backend
from ...core.declare import Op, publish_python, published
from ...core.machine import Tensor, functions
from ...core.state import is_watched
from ...core.values import CPU, Array, Namespace, dt
from ..making.factories import checked, full
from ..making.host_data import tensor
from ..shapes.slicing import slice_
from ..vocabulary import requirement

_require = requirement("")


def places(sizes: Sequence[int], batch: int, like: Tensor) -> Tensor:
    """Where packed elements lie in a padded tensor, time by time, when `sizes` of the batch are still there."""
    rows = [t * batch + i for t, n in enumerate(sizes) for i in range(n)]
    return tensor(rows, dtype=dt.int64, device=like.device)


def _counts(numbers: Sequence[int]) -> list[int]:
    """For 0, 1, … up to the largest: how many of the numbers are larger."""
    longest = max(numbers)
    get_backend(CPU).check_room(checked((longest,), "empty"), dt.int64.numpy)
    return [sum([n > k for n in numbers]) for k in range(longest)]


def runs(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The packed elements of each time: where they begin and end."""
    ends = itertools.accumulate(sizes)
    return zip(itertools.chain((0,), ends), itertools.accumulate(sizes))


# ---- as dispatch modes see it


def _pack_rows(xp: Namespace, input: Array, lengths: Tensor, batch_first: bool) -> tuple[Any, Any]:
    sizes = _counts(lengths.tolist())[: input.shape[int(batch_first)]]
    padded = input.swapaxes(0, 1) if batch_first else input
    return xp.concatenate([padded[t, :n] for t, n in enumerate(sizes)]), xp.asarray(sizes, "int64")


def _pack_rows_vjp(g: Tensor, input_shape: tuple[int, ...], lengths: Tensor, batch_first: bool) -> Tensor:
    length, batch = input_shape[:2][:: -1 if batch_first else 1]
    whole = functions["zeros"]((length, batch, *input_shape[2:]), dtype=g.dtype, layout=g.layout, device=g.device)
    for t, (start, end) in enumerate(runs(_counts(lengths.tolist()))):
        place = slice_.apply(whole.select(0, t), 0, 0, end - start, 1)
        place.copy_(slice_.apply(g, 0, start, end, 1))
    return whole.transpose(0, 1) if batch_first else whole


_pack_shown = Op(
    "_pack_padded_sequence(Tensor input, any lengths, bool batch_first) -> (Tensor data, Tensor batch_sizes)",
    _pack_rows, {"input": _pack_rows_vjp}, node="PackPaddedSequenceBackward0", differentiable=1,
)  # fmt: skip


def _pad_shown(data: Tensor, sizes: Sequence[int], length: int, padding_value: Any) -> tuple[Tensor, Tensor]:
    """Packed sequences in a tensor filled with a value, and memory for their lengths."""
    options = {"layout": data.layout, "device": data.device}
    padded = full((length, sizes[0], *data.shape[1:]), padding_value, dtype=data.dtype, **options)
    lengths = functions["empty"]((sizes[0],), dtype=dt.int64, layout=data.layout, device=CPU)
    start = t = 0
    for n, same in itertools.groupby(sizes):
        times = len(list(same))
        rows = slice_.apply(data, 0, start, start + times * n, 1)
        place = slice_.apply(slice_.apply(padded, 0, t, t + times, 1), 1, 0, n, 1)
        place.copy_(rows.view((times, n, *data.shape[1:])))
        start, t = start + times * n, t + times
    return padded, lengths


# ---- the functions


@published("_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first)", method=False)
def pack_padded(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """The elements there are, time by time, and how many sequences each time has."""
    _require(
        lengths.dim() == 1 and lengths.device.type == "cpu" and lengths.dtype is dt.int64,
        f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device.type} "
        f"{lengths.dtype.legacy} tensor",
    )
    _require(input.numel() > 0, "Cannot pack empty tensors.")
    length, batch = input._array.shape[:2][:: -1 if batch_first else 1]
    sizes = lengths.tolist()
    _require(
        len(sizes) == batch,
        f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={batch})",
    )
    _require(
        sizes[-1] > 0, "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
    )
    _require(
        sizes == sorted(sizes, reverse=True),
        "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
        "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do "
        "not need ONNX exportability.",
    )
    if is_watched():
        return _pack_shown.apply(input, lengths, batch_first)
    batch_sizes = _counts(sizes)
    rows = places(batch_sizes[:length], batch, input)
    padded = input.transpose(0, 1) if batch_first else input
    return padded.flatten(0, 1).index_select(0, rows), tensor(batch_sizes, dtype=dt.int64)


@published(
    "_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length)",
    method=False,
)
def pad_packed(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: Any, total_length: int
) -> tuple[Tensor, Tensor]:
    """Packed sequences padded to a length, and their lengths."""
    sizes = batch_sizes.tolist()
    length, batch, features = max(total_length, len(sizes)), sizes[0], data.shape[1:]
    if is_watched():
        padded, lengths = _pad_shown(data, sizes, length, padding_value)
        lengths._array[...] = _counts(sizes)
        return padded.transpose(0, 1) if batch_first else padded, lengths
    padded = data.new_full((length * batch, *features), padding_value)
    padded = padded.index_copy(0, places(sizes, batch, data), data).view((length, batch, *features))
    return padded.transpose(0, 1) if batch_first else padded, tensor(_counts(sizes), dtype=dt.int64)


def _pad_sequence(sequences: Sequence[Tensor], batch_first: bool, padding_value: float, padding_side: str) -> Tensor:
    """Sequences side by side, with a value where the others are longer."""
    _require(len(sequences) > 0, "received an empty list of sequences")
    _require(
        padding_side in ("left", "right"), f"Expected padding_side to be one of left or right, but got {padding_side}."
    )
    first = sequences[0]
    _require(first.dim() > 0, "ArrayRef: invalid slice, N = 1; size = 0")
    length, features = max([s.size(0) for s in sequences]), first.shape[1:]
    form = (len(sequences), length) if batch_first else (length, len(sequences))
    padded = full((*form, *features), padding_value, dtype=first.dtype, layout=first.layout, device=first.device)
    for i, sequence in enumerate(sequences):
        n = sequence.size(0)
        start = length - n if padding_side == "left" else 0
        rows = padded.select(0, i).narrow(0, start, n) if batch_first else padded.narrow(0, start, n).select(1, i)
        rows.copy_(sequence)
    return padded


pad_sequence = publish_python(
    "pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side='right')",
    _pad_sequence, function=False, method=False,
)  # fmt: skip
