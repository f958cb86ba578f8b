"""Embeddings as modules."""

from __future__ import annotations

from dataclasses import InitVar
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.machine import Tensor
from ...core.values import DeviceLike, dt
from ...operations.making.factories import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .fields import fields
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """What both have: a row for each number, of which that of `padding_idx` is zero at first and stays as it is."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    weight: Tensor

    def _set_weight(self, weight: Tensor | None, freeze: bool, device: DeviceLike, dtype: Any) -> None:
        shape = [self.num_embeddings, self.embedding_dim]
        if weight is None:
            self.weight = Parameter(empty(shape, device=device, dtype=dtype), requires_grad=not freeze)
            self.reset_parameters()
        else:
            if list(weight.shape) != shape:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw new rows from the standard normal distribution."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


def _inside(padding_idx: int | None, num_embeddings: int, name: str) -> int | None:
    """The index counted from the front."""
    if padding_idx is None:
        return None
    if not -num_embeddings <= padding_idx < num_embeddings:
        raise AssertionError(f"{name} must be within num_embeddings")
    return padding_idx + num_embeddings if padding_idx < 0 else padding_idx


def _unusual(table: _Table) -> str:
    """The options that both kinds of tables show where they are not the usual."""
    shown = "" if table.max_norm is None else f", max_norm={table.max_norm}"
    shown += f", norm_type={table.norm_type}" if table.norm_type != 2 else ""
    freq = table.scale_grad_by_freq
    return shown + (f", scale_grad_by_freq={freq}" if freq is not False else "")


def _table_size(embeddings: Tensor) -> tuple[int, int]:
    if embeddings.dim() != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
    rows, cols = embeddings.shape
    return rows, cols


@fields
class Embedding(_Table):
    """The rows of a matrix that the input names."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None = None
    max_norm: float | None = None
    norm_type: float = 2.0
    scale_grad_by_freq: bool = False
    sparse: bool = False
    _weight: InitVar[Tensor | None] = None
    _freeze: InitVar[bool] = False
    device: InitVar[DeviceLike] = None
    dtype: InitVar[dt.dtype | None] = None

    def complete(self, _weight: Tensor | None, _freeze: bool, device: DeviceLike, dtype: Any) -> None:
        self.padding_idx = _inside(self.padding_idx, self.num_embeddings, "Padding_idx")
        self._set_weight(_weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        sparse = ", sparse=True" if self.sparse is not False else ""
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}{_unusual(self)}{sparse}"

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
    ) -> Embedding:  # fmt: skip
        """An embedding of rows that are given, which are not trained when frozen."""
        rows, cols = _table_size(embeddings)
        return cls(
            num_embeddings=rows, embedding_dim=cols, _weight=embeddings, _freeze=freeze, padding_idx=padding_idx,
            max_norm=max_norm, norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse,
        )  # fmt: skip


@fields
class EmbeddingBag(_Table):
    """Sums, means or maxima of the rows that bags of the input name."""

    num_embeddings: int
    embedding_dim: int
    max_norm: float | None = None
    norm_type: float = 2.0
    scale_grad_by_freq: bool = False
    mode: str = "mean"
    sparse: bool = False
    _weight: InitVar[Tensor | None] = None
    include_last_offset: bool = False
    padding_idx: int | None = None
    device: InitVar[DeviceLike] = None
    dtype: InitVar[dt.dtype | None] = None

    def complete(self, _weight: Tensor | None, device: DeviceLike, dtype: Any) -> None:
        self.padding_idx = _inside(self.padding_idx, self.num_embeddings, "padding_idx")
        self._set_weight(_weight, False, device, dtype)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
            per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{_unusual(self)}, mode={self.mode!r}{padding}"

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:  # fmt: skip
        """Bags of rows that are given, which are not trained when frozen."""
        rows, cols = _table_size(embeddings)
        made = cls(
            num_embeddings=rows, embedding_dim=cols, _weight=embeddings, max_norm=max_norm, norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq, mode=mode, sparse=sparse, include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )  # fmt: skip
        made.weight.requires_grad = not freeze
        return made
