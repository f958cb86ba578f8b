"""A mask of attention by blocks: which blocks of keys each block of queries needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from ...core.machine import Tensor, functions
from ...core.values import DeviceLike, dt

Blocks = tuple[Any, Any]  # how many there are, and their numbers; None where there is nothing to say
_TENSORS = (
    "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices",
    "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices",
)  # fmt: skip


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask that leaves all scores."""
    return batch.new_ones((), dtype=dt.bool_)


def _sliced_mask_mod_error(*_: Any) -> Any:
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], the mask_mod attribute is "
        "reset. You must set it from the original BlockMask's mask_mod."
    )


def ordered_blocks(dense: Tensor) -> Blocks:
    """Of each row: how many blocks there are, and the numbers of all columns, those of the blocks first."""
    order = functions["argsort"](dense.to(dt.int32), dim=-1, descending=True, stable=True)
    return dense.sum(-1).to(dt.int32), order.to(dt.int32)


def dense_blocks(blocks: Blocks) -> Tensor:
    """The same as ones and zeros."""
    count, order = blocks
    there = functions["arange"](order.shape[-1], device=order.device) < count.unsqueeze(-1)
    return functions["zeros_like"](there, dtype=dt.int32).scatter(-1, order.to(dt.int64), there.to(dt.int32))


class BlockMask:
    """Which blocks of scores are needed: in part, as `mask_mod` says, or in full.

    `kv_indices` has, for each block of queries, the numbers of the blocks of keys, of which the first `kv_num_blocks`
    count; the `q_*` are the same the other way round.
    """

    def __init__(
        self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None, full_kv_indices: Tensor | None, q_num_blocks: Tensor | None,
        q_indices: Tensor | None, full_q_num_blocks: Tensor | None, full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (128, 128), mask_mod: Callable[..., Tensor] = noop_mask,
    ) -> None:  # fmt: skip
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None, BLOCK_SIZE: int | tuple[int, int] = 128,
        mask_mod: Callable[..., Tensor] | None = None, seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> Self:  # fmt: skip
        """The mask with these blocks of keys; the blocks of queries follow from them."""
        if (full_kv_num_blocks is None) is not (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        blocks: list[Any] = [kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices]
        for pair in ((kv_num_blocks, kv_indices), (full_kv_num_blocks, full_kv_indices)):
            wanted = compute_q_blocks and pair[0] is not None
            blocks += ordered_blocks(dense_blocks(pair).transpose(-2, -1)) if wanted else (None, None)
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        return cls(seq_lengths, *blocks, size, mask_mod or noop_mask)  # type: ignore[call-arg]

    def _with(self, partial: Blocks, full: tuple[Any, Any], mask_mod: Any, seq_lengths: tuple[int, int]) -> BlockMask:
        return type(self).from_kv_blocks(
            *partial, *full, self.BLOCK_SIZE, mask_mod, seq_lengths, self.q_indices is not None
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """What it is made of, in the order that compiled kernels are given it in; what these alone have is None."""
        lengths, sizes = (self.seq_lengths, self.BLOCK_SIZE) if flatten else ((self.seq_lengths,), (self.BLOCK_SIZE,))
        keys = (self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices)
        queries = (self.q_num_blocks, self.q_indices, self.full_q_num_blocks, self.full_q_indices)
        return (*lengths, *keys, *queries, None, None, None, None, *sizes, self.mask_mod)

    def numel(self) -> int:
        """How many scores there are."""
        count = 1
        for n in self.shape:
            count *= n
        return count

    def sparsity(self) -> float:
        """How many of 100 scores lie in no block."""
        counts = [c for c in (self.kv_num_blocks, self.full_kv_num_blocks) if c is not None]
        inside = sum(c.sum().item() for c in counts) * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - inside / self.numel())

    def to_dense(self) -> Tensor:
        """Ones where there are blocks."""
        dense = dense_blocks((self.kv_num_blocks, self.kv_indices))
        if self.full_kv_num_blocks is not None:
            dense = dense | dense_blocks((self.full_kv_num_blocks, self.full_kv_indices))
        return dense

    def to(self, device: DeviceLike) -> BlockMask:
        """The mask with its tensors on a device; its `mask_mod` stays as it is."""
        tensors: list[Any] = [None if t is None else t.to(device) for t in (getattr(self, name) for name in _TENSORS)]
        return type(self)(self.seq_lengths, *tensors, self.BLOCK_SIZE, self.mask_mod)  # type: ignore[call-arg]

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, heads and blocks of queries; it lacks a `mask_mod` until it is given one."""
        index = index if isinstance(index, tuple) else (index,)
        index = tuple([slice(i, i + 1 or None) if isinstance(i, int) else i for i in index[:3]])
        cut = [None if t is None else t[index] for t in (getattr(self, name) for name in _TENSORS[:4])]
        return self._with((cut[0], cut[1]), (cut[2], cut[3]), _sliced_mask_mod_error, self.seq_lengths)

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The upper left part of the mask, for fewer queries and keys."""
        rows, columns = (-(-n // size) for n, size in zip((new_q_len, new_kv_len), self.BLOCK_SIZE))
        pairs = (self.kv_num_blocks, self.kv_indices), (self.full_kv_num_blocks, self.full_kv_indices)
        partial, full = [
            (None, None) if pair[0] is None else ordered_blocks(dense_blocks(pair)[..., :rows, :columns])
            for pair in pairs
        ]
        return self._with(partial, full, self.mask_mod, (new_q_len, new_kv_len))

    def __repr__(self) -> str:
        parts = {name: getattr(self, name) for name in _TENSORS}
        shown = [f"{name}={None if t is None else t.shape}" for name, t in parts.items()]
        shown += [f"BLOCK_SIZE={self.BLOCK_SIZE}", f"shape={self.shape}", f"sparsity={self.sparsity():.2f}%"]
        shown.append(f"mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}")
        return "BlockMask(\n    " + ",\n    ".join(shown) + "\n)"

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def to_string(self, grid_size: int | tuple[int, int] = 20, limit: int = 5) -> str:
        """A picture of at most `grid_size` signs in both directions, of at most `limit` batches and heads.

        A full sign stands for blocks that are all there, a light one for blocks some of which are.
        """
        dense = self.to_dense()
        rows, columns = dense.shape[-2:]
        if grid_size == -1:
            grid_size = (rows, columns)
        sizes = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        high, wide = -(-rows // sizes[0]) or 1, -(-columns // sizes[1]) or 1
        pictures = []
        for number, place in enumerate(_places(dense.shape[:-2])):
            if number == limit:
                pictures.append(
                    "...\nTo print out more, set BlockMask.to_string(limit=N)\n"
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or head"
                )
                break
            values = dense[place].tolist()
            lines = [str(place)]
            for top in range(0, rows, high):
                cells = [
                    [n for row in values[top : top + high] for n in row[left : left + wide]]
                    for left in range(0, columns, wide)
                ]
                lines.append("".join("██" if all(c) else "░░" if any(c) else "  " for c in cells))
            pictures.append("\n".join(lines) + "\n")
        return "\n".join(pictures)


def _places(shape: Any) -> list[tuple[int, ...]]:
    places: list[tuple[int, ...]] = [()]
    for n in shape:
        places = [(*p, i) for p in places for i in range(n)]
    return places
