"""`torch.nn.attention.flex_attention`: attention whose scores are changed, or masked, by functions of their places.

The functions are written for one score, and mapped over all of them; the scores are all made, whatever a mask leaves.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

from ...core.machine import Tensor, TorchFunctionMode, functions
from ...core.values import DeviceLike, bear_name, dt
from ...func import vmap
from ...operations.places.advanced_indexing import index
from .block_mask import BlockMask, noop_mask, ordered_blocks

__all__ = [
    "BlockMask", "flex_attention", "AuxOutput", "AuxRequest", "FlexKernelOptions", "create_block_mask", "create_mask",
    "or_masks", "and_masks", "noop_mask",
]  # fmt: skip

Mod = Callable[..., Tensor]
_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(NamedTuple):
    """What to give beside the result: the logarithm of each query's sum, the largest score of each query."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


class FlexKernelOptions(TypedDict, total=False):
    """Options of compiled kernels, which make no difference here."""

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    BLOCK_M1: int
    BLOCK_N1: int
    BLOCK_M2: int
    BLOCK_N2: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    USE_TMA: bool
    kpack: int
    matrix_instr_nonkdim: int
    waves_per_eu: int
    BACKEND: str


class _TensorsPick(TorchFunctionMode):
    """Inside, 0-dim tensors index as tensors do, not as the numbers they hold: `bias[head, query]`."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.__getitem__:
            items = args[1] if isinstance(args[1], tuple) else (args[1],)
            if all(isinstance(i, Tensor) and not i.dim() and i.dtype in (dt.int64, dt.int32) for i in items):
                return index.apply(args[0], list(items))
        return func(*args, **(kwargs or {}))


def _everywhere(mod: Mod, sizes: tuple[int, ...], device: DeviceLike, scores: Tensor | None = None) -> Tensor:
    """The values of a function at every batch, head, query and key."""
    first = () if scores is None else (scores,)
    for at in (3, 2, 1, 0):
        mod = vmap(mod, in_dims=(*[0] * len(first), *[0 if i == at else None for i in range(4)]))
    with _TensorsPick():
        return mod(*first, *[functions["arange"](n, device=device) for n in sizes])


def _places(mod: Mod) -> int:
    """How many arguments a function wants: four for a mask, five for a change of scores."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    wanted = inspect.signature(mod).parameters.values()
    count = sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in wanted)
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count


def create_mask(
    mod_fn: Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: DeviceLike = None
) -> Tensor:
    """What a mask says, as a tensor; of a change of scores, where it does not say minus infinity."""
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    if _places(mod_fn) == 4:
        return _everywhere(mod_fn, sizes, device)
    changed = _everywhere(mod_fn, sizes, device, functions["zeros"](sizes, device=device))
    return functions["isneginf"](changed).logical_not()


def create_block_mask(
    mask_mod: Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: DeviceLike = None,
    BLOCK_SIZE: int | tuple[int, int] = 128, _compile: bool = False, separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False, dq_kv_order: bool = True,
) -> BlockMask:  # fmt: skip
    """A mask by blocks of queries and keys: those in which it leaves some scores, and those in which it leaves all."""
    if _places(mask_mod) != 4:
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    if compute_dq_write_order:
        raise NotImplementedError("torchlite has no compiled kernels, for which alone compute_dq_write_order is")
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    over = (0, -KV_LEN % columns, 0, -Q_LEN % rows)
    counts = functions["constant_pad_nd"](mask.to(dt.int64), over)
    counts = counts.unflatten(3, (-1, columns)).unflatten(2, (-1, rows)).sum((3, 5))
    full = counts.eq(rows * columns) if separate_full_blocks else functions["zeros_like"](counts, dtype=dt.bool_)
    count, numbers = ordered_blocks(counts.gt(0).logical_and(full.logical_not()))
    all_count, all_numbers = ordered_blocks(full) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(count, numbers, all_count, all_numbers, (rows, columns), mask_mod, (Q_LEN, KV_LEN))


def _create_empty_block_mask(query: Tensor, key: Tensor) -> BlockMask:
    """The mask of one block that leaves everything."""
    number = functions["zeros"]((1, 1, 1, 1), dtype=dt.int32, device=query.device)
    return BlockMask.from_kv_blocks(
        number[0] + 1, number, BLOCK_SIZE=1 << 30, seq_lengths=(query.shape[-2], key.shape[-2])
    )


def _joined(mask_mods: tuple[Mod, ...], start: bool, join: Callable[[Any, Any], Any]) -> Mod:
    if not all(callable(m) for m in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_full((), start, dtype=dt.bool_)
        for mod in mask_mods:
            result = join(result, mod(b, h, q_idx, kv_idx))
        return result

    return mask


def or_masks(*mask_mods: Mod) -> Mod:
    """The mask that leaves what any of these leaves."""
    return _joined(mask_mods, False, lambda a, b: a | b)


def and_masks(*mask_mods: Mod) -> Mod:
    """The mask that leaves what all of these leave."""
    return _joined(mask_mods, True, lambda a, b: a & b)


def _check(query: Tensor, key: Tensor, value: Tensor, block_mask: BlockMask | None, enable_gqa: bool) -> None:
    if any(t.dim() != 4 for t in (query, key, value)):
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={query.shape[-1]} and E={key.shape[-1]}."
        )
    if not enable_gqa and query.shape[1] != key.shape[1]:
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={query.shape[1]} and Hkv={key.shape[1]}. Try setting enable_gqa=True for GQA."
        )
    if query.shape[1] % key.shape[1]:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={query.shape[1]} and Hkv={key.shape[1]}."
        )
    if query.shape[0] != key.shape[0] and block_mask is None:
        raise ValueError(
            "Expect query and key/value to have the same batch size, or non-none block_mask, but got block_mask=None, "
            f"Bq={query.shape[0]}, and Bkv={key.shape[0]}."
        )
    lengths = (query.shape[2], key.shape[2])
    if block_mask is not None and block_mask.seq_lengths != lengths:
        smaller = any(made < used for made, used in zip(block_mask.seq_lengths, lengths))
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={lengths[0]} and "
            f"kv_len={lengths[1]}. As the block mask was created for a {'smaller' if smaller else 'larger'} length "
            "than you're using it for, you "
            + (
                "likely need to create a new block mask."
                if smaller
                else "can either 1. create a new block mask with the correct length, or 2. 'adjust' the existing block "
                "mask to the correct length by calling block_mask._adjust(q_len, kv_len). This essentially 'crops' the "
                "block mask to the upper left corner, which does not work for all mask_mods!"
            )
        )


def attend(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Mod | None, mask_mod: Mod, scale: float
) -> tuple[Tensor, Tensor]:
    """The result of attention, and the scores that it is made with."""
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = query @ key.transpose(-2, -1) * scale
    scores = scores if scores.dtype is dt.float64 else scores.to(dt.float32)
    sizes = tuple(scores.shape)
    if score_mod is not None:
        scores = _everywhere(score_mod, sizes, query.device, scores)
    if mask_mod is not noop_mask:
        scores = scores.masked_fill(_everywhere(mask_mod, sizes, query.device).logical_not(), -math.inf)
    weights = scores.softmax(-1).masked_fill(scores.eq(-math.inf).all(-1, True), 0)
    return weights.to(query.dtype) @ value.to(query.dtype), scores


def flex_attention(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Mod | None = None, block_mask: BlockMask | None = None,
    scale: float | None = None, enable_gqa: bool = False, return_lse: bool = False,
    kernel_options: FlexKernelOptions | None = None, *, return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """Attention with scores `score_mod(score, batch, head, query, key)`, but for those that `block_mask` masks.

    With `return_lse`, or with `return_aux`, a pair: the result, and what was asked for besides.
    """
    _check(query, key, value, block_mask, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    mask_mod = noop_mask if block_mask is None else block_mask.mask_mod
    result, scores = attend(query, key, value, score_mod, mask_mod, scale)
    if return_lse:
        return result, scores.logsumexp(-1)
    if return_aux is not None:
        return result, AuxOutput(
            lse=scores.logsumexp(-1) if return_aux.lse else None,
            max_scores=scores.amax(-1) if return_aux.max_scores else None,
        )
    return result


for _class in (AuxOutput, AuxRequest, BlockMask):
    bear_name(_class, "torch.nn.attention.flex_attention")
