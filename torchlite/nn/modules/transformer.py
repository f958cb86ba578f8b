"""The transformer: an encoder and a decoder, made of layers of attention and of feed-forward networks."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import InitVar
from typing import Any, ClassVar

from ...core.machine import Tensor, functions
from ...core.state import local
from ...core.values import DeviceLike, dt, warn
from .. import functional as F
from ..functional._attention import _canonical_mask, _none_or_dtype
from ..init import xavier_uniform_
from .activation import GELU, ReLU
from .container import ModuleList
from .dropout import Dropout
from .fields import fields
from .linear import Linear
from .module import Module
from .multihead_attention import MultiheadAttention
from .normalization import LayerNorm

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"
]  # fmt: skip

Activation = str | Callable[[Any], Any]


# ---- masks


def _generate_square_subsequent_mask(sz: int, device: DeviceLike = None, dtype: dt.dtype | None = None) -> Tensor:
    """Minus infinity above the diagonal: what comes later is not looked at."""
    return functions["full"]((sz, sz), -math.inf, dtype=dtype, device=device).triu(1)


def _get_seq_len(src: Tensor, batch_first: bool) -> int | None:
    """How long the sequences are."""
    return src.size(1 if batch_first and src.dim() != 2 else 0)


def _detect_is_causal_mask(mask: Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    """What was said about causality or, where nothing was, whether the mask is the causal one."""
    if is_causal is not None or mask is None:
        return is_causal is True
    causal = _generate_square_subsequent_mask(
        mask.size(-2) if size is None else size, device=mask.device, dtype=mask.dtype
    )
    return mask.size() == causal.size() and bool((mask == causal).all())


# ---- layers


def _get_activation_fn(activation: str) -> Callable[[Any], Any]:
    """An activation by its name."""
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


def _get_clones(module: Module, N: int) -> ModuleList:
    """So many copies of a module."""
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


@fields(repr=False)
class _Layer(Module):
    """What both kinds of layers are made of: attention, each followed by a norm, then a feed-forward network."""

    _attentions: ClassVar[tuple[str, ...]]

    d_model: InitVar[int]
    nhead: InitVar[int]
    dim_feedforward: InitVar[int] = 2048
    dropout: InitVar[float] = 0.1
    activation: InitVar[Activation] = F.relu
    layer_norm_eps: InitVar[float] = 1e-5
    batch_first: InitVar[bool] = False
    norm_first: bool = False
    bias: InitVar[bool] = True
    device: InitVar[DeviceLike] = None
    dtype: InitVar[dt.dtype | None] = None

    def complete(
        self, d_model: int, nhead: int, dim_feedforward: int, dropout: float, activation: Activation,
        layer_norm_eps: float, batch_first: bool, bias: bool, device: DeviceLike, dtype: Any,
    ) -> None:  # fmt: skip
        made: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **made))
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        blocks = range(1, len(self._attentions) + 2)
        for n in blocks:
            setattr(self, f"norm{n}", LayerNorm(d_model, eps=layer_norm_eps, **made))
        for n in blocks:
            setattr(self, f"dropout{n}", Dropout(dropout))
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        attended = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False
        )[0]
        return self.dropout1(attended)


@fields(constants="norm_first", repr=False)
class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, then a feed-forward network, each added to its input and normalized.

    With `norm_first`, what goes into each is normalized instead.
    """

    _attentions = ("self_attn",)

    def complete(self) -> None:
        known = ((F.relu, ReLU), (F.gelu, GELU))
        act = self.activation
        kinds = [nr for nr, (f, kind) in enumerate(known, 1) if act is f or isinstance(act, kind)]
        self.activation_relu_or_gelu = kinds[0] if kinds else 0

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """`src` after this layer; `src_key_padding_mask` says what of it is padding."""
        src_key_padding_mask = _canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", _none_or_dtype(src_mask), "src_mask", src.dtype
        )
        src_mask = _canonical_mask(src_mask, "src_mask", None, "", src.dtype, False)
        masks = (src_mask, src_key_padding_mask, is_causal)
        if self.norm_first:
            x = src + self._sa_block(self.norm1(src), *masks)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(src + self._sa_block(src, *masks))
        return self.norm2(x + self._ff_block(x))

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


@fields(constants="norm_first", repr=False)
class TransformerDecoderLayer(_Layer):
    """As a layer of the encoder, with attention to what that made (`memory`) in between."""

    _attentions = ("self_attn", "multihead_attn")

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"activation": F.relu} | state)

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """`tgt` after this layer."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, *other))
        return self.norm3(x + self._ff_block(x))

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        attended = self.multihead_attn(
            x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False
        )[0]
        return self.dropout2(attended)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


# ---- stacks of layers


def _why_padded(layer: Any) -> str:
    """Why PyTorch would not run layers such as this one on nested tensors; nothing where it would."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = (
        (layer.norm_first, ".norm_first was True"),
        (
            not attention.batch_first,
            ".self_attn.batch_first was not True(use batch_first for better inference performance)",
        ),
        (not attention._qkv_same_embed_dim, ".self_attn._qkv_same_embed_dim was not True"),
        (attention.in_proj_bias is None, ".self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, ".activation_relu_or_gelu was not True"),
        (layer.norm1.eps != layer.norm2.eps, ".norm1.eps was not equal to encoder_layer.norm2.eps"),
        (attention.num_heads % 2 == 1, ".self_attn.num_heads is odd"),
    )
    return next(("encoder_layer" + why for holds, why in reasons if holds), "")


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after the other, and a last normalization.

    Nothing is made nested; where PyTorch would do so (in evaluation, with padding at the end of sequences and
    `enable_nested_tensor`), what is padding comes out of the layers as zeros, as it does there.
    """

    __constants__ = ["norm"]  # noqa: RUF012

    def __init__(
        self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None,
        enable_nested_tensor: bool = True, mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        why = _why_padded(encoder_layer)
        if enable_nested_tensor and why:
            warn(f"enable_nested_tensor is True, but self.use_nested_tensor is False because {why}")
            self.use_nested_tensor = False

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:  # fmt: skip
        """`src` after all layers."""
        src_key_padding_mask = _canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", _none_or_dtype(mask), "mask", src.dtype
        )
        mask = _canonical_mask(mask, "mask", None, "", src.dtype, False)
        zeroed = self._zeroed(src, mask, src_key_padding_mask)
        first = self.layers[0]
        causal = _detect_is_causal_mask(mask, is_causal, _get_seq_len(src, first.self_attn.batch_first))
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        if zeroed is not None:
            output = output.masked_fill(zeroed.unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _zeroed(self, src: Tensor, mask: Tensor | None, padding: Tensor | None) -> Tensor | None:
        """The padding, where what the layers give there comes out as zeros."""
        layer = self.layers[0]
        if not getattr(self, "use_nested_tensor", False) or layer.training or src.dim() != 3:
            return None
        if padding is None or mask is not None:
            return None
        attention, norms, linears = layer.self_attn, (layer.norm1, layer.norm2), (layer.linear1, layer.linear2)
        parts = [attention.out_proj, *norms, *linears]
        tensors = [src, attention.in_proj_weight, attention.in_proj_bias]
        tensors += [t for part in parts for t in (part.weight, part.bias)]
        if local.state.mode.grad and any([t is not None and t.requires_grad for t in tensors]):
            return None
        kept = padding.logical_not()
        if getattr(self, "mask_check", True):
            times = functions["arange"](kept.shape[1], device=kept.device)
            if not bool((kept == (times < kept.sum(1, True))).all()):
                return None
        return kept.logical_not()


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after the other, and a last normalization."""

    __constants__ = ["norm"]  # noqa: RUF012

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """`tgt` after all layers, which look at `memory`."""
        length = _get_seq_len(tgt, self.layers[0].self_attn.batch_first)
        causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, length)
        output = tgt
        for layer in self.layers:
            output = layer(
                output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder and a decoder that looks at what it makes."""

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = F.relu,
        custom_encoder: Any | None = None, custom_decoder: Any | None = None, layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: DeviceLike = None,
        dtype: dt.dtype | None = None,
    ) -> None:  # fmt: skip
        made: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first)
        super().__init__()

        def stacked(stack: Any, kind: Any, count: int) -> Any:
            return stack(kind(*layer, **made), count, LayerNorm(d_model, eps=layer_norm_eps, **made))

        self.encoder = (
            stacked(TransformerEncoder, TransformerEncoderLayer, num_encoder_layers)
            if custom_encoder is None
            else custom_encoder
        )
        self.decoder = (
            stacked(TransformerDecoder, TransformerDecoderLayer, num_decoder_layers)
            if custom_decoder is None
            else custom_decoder
        )
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """What the decoder makes of `tgt` and of what the encoder makes of `src`."""
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: DeviceLike = None, dtype: dt.dtype | None = None) -> Tensor:
        """The mask by which no element looks at later ones: minus infinity above the diagonal."""
        return _generate_square_subsequent_mask(sz, device=device, dtype=dtype)

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.dim() > 1:
                xavier_uniform_(p)
