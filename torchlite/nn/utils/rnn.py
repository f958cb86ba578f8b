"""Sequences of several lengths in one tensor: padded, or packed as recurrent layers take them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

from ...core.machine import Tensor, functions
from ...core.values import contiguous_format, dt, shown_in, spelled
from ...operations.learning import packed_sequences as packing

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pad_packed_sequence", "pad_sequence",
    "unpad_sequence", "pack_sequence", "unpack_sequence",
]  # fmt: skip


@shown_in("torch.nn.utils.rnn")
class PackedSequence_(NamedTuple):
    """The parts of a `PackedSequence`."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


_DTYPES = {
    "double": dt.float64, "float": dt.float32, "half": dt.float16, "long": dt.int64, "int": dt.int32,
    "short": dt.int16, "char": dt.int8, "byte": dt.uint8,
}  # fmt: skip


def _converter(name: str) -> Callable[[PackedSequence], PackedSequence]:
    d = _DTYPES[name]

    def convert(self: PackedSequence) -> PackedSequence:
        return self.to(dtype=d)

    convert.__name__, convert.__qualname__ = name, f"PackedSequence.{name}"
    convert.__doc__ = f"The sequences in {d.name}."
    return convert


@shown_in("torch.nn.utils.rnn")
class PackedSequence(PackedSequence_):
    """Sequences packed by time: all first elements, then all second ones, of the longest sequence first.

    `batch_sizes` says how many sequences reach each time, `sorted_indices` how they were sorted by length, and
    `unsorted_indices` undoes that.
    """

    def __new__(
        cls, data: Any, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:  # fmt: skip
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in "
                "nn.utils.rnn. https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def __reduce__(self) -> Any:
        return spelled(type(self)), tuple(self)

    def _with(self, data: Tensor, change: Any) -> Self:
        """The same sequences with other data, and the indices changed too; sizes stay on the host."""
        indices = [None if t is None else change(t) for t in self[2:]]
        return type(self)(data, self.batch_sizes, *indices)

    def pin_memory(self) -> Self:
        """The same in pinned memory."""
        return self._with(self.data.pin_memory(), lambda t: t.pin_memory())

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The data in another dtype or on another device; itself where nothing changes."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._with(data, lambda t: t.to(data.device))

    def _on(self, kind: str, *args: Any, **kwargs: Any) -> Self:
        asked = functions["empty"](0, dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        if asked.device.type != kind:
            kwargs["device"] = kind
        return self.to(*args, **kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """The data on a CUDA device."""
        return self._on("cuda", *args, **kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """The data on the host."""
        return self._on("cpu", *args, **kwargs)

    double, float, half, long, int, short, char, byte = map(_converter, _DTYPES)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data lies in pinned memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes one."""
    if permutation is None:
        return None
    made = functions["empty_like"](permutation, memory_format=contiguous_format)
    return made.scatter_(0, permutation, functions["arange"](0, permutation.numel(), device=permutation.device))


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack what is not padding: `lengths` says how long each sequence is.

    They must come longest first, unless `enforce_sorted` is False.
    """
    if isinstance(lengths, Tensor):
        lengths = lengths.to(dt.int64)
    else:
        lengths = functions["as_tensor"](lengths, dtype=dt.int64, device="cpu")
    order = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = functions["_pack_padded_sequence"](input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, order)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Unpack sequences: padded to the longest, or to `total_length`, with their lengths."""
    length = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < length:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {length}"
            )
        length = total_length
    padded, lengths = functions["_pad_packed_sequence"](
        sequence.data, sequence.batch_sizes, batch_first, padding_value, length
    )
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:  # fmt: skip
    """Sequences side by side, with a value before or after those that are shorter than the longest."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    return packing.pad_sequence(tuple(sequences), batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences without their padding. (Where the batch comes second, the padded tensor is transposed in place.)"""
    if not batch_first:
        padded_sequences.transpose_(0, 1)
    times = functions["arange"](padded_sequences.shape[1], device=lengths.device)
    return [sequence[times < length] for sequence, length in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences."""
    lengths = functions["as_tensor"]([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)
