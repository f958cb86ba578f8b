"""Tensors in notebooks, as tables and images, for those who ask for it."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from ..core.machine import Tensor
from ..core.values import dt, strided
from .png import png
from .tables import html_table

_MOST = 30  # rows and columns of a table
_CHANNELS = (1, 3, 4)


def show_tensors(on: bool = True) -> None:
    """Let notebooks show small matrices as tables, and images (channels first) as images; or no longer.

    `print` and `repr` stay as they are.

    >>> from torchlite import viz
    >>> viz.show_tensors()
    >>> torch.eye(2)._repr_html_()[:7]
    '<table>'
    >>> viz.show_tensors(False)
    >>> hasattr(torch.eye(2), "_repr_html_")
    False
    """
    if on:
        Tensor._repr_html_ = _html  # type: ignore[attr-defined]
    elif hasattr(Tensor, "_repr_html_"):
        del Tensor._repr_html_


def _html(tensor: Tensor) -> str | None:
    """A table or an image; None where `repr` tells more."""
    if tensor.layout is not strided or tensor.device.type == "meta" or tensor.is_quantized:
        return None
    values: Any = tensor.detach().resolve_conj().resolve_neg().cpu()
    if tensor.ndim == 2 and tensor.numel() > 0 and max(tensor.shape) <= _MOST:
        return _table(tensor, values)
    if tensor.ndim == 3 and tensor.shape[0] in _CHANNELS and min(tensor.shape[1:]) > 7:
        return _image(tensor, values)
    return None


def _describe(tensor: Tensor) -> str:
    return f"{'×'.join(map(str, tensor.shape))} {tensor.dtype} on {tensor.device}"


def _table(tensor: Tensor, values: Tensor) -> str:
    rows = [["", *map(str, range(tensor.shape[1]))]]
    for i, row in enumerate(values.tolist()):
        rows.append([str(i), *[f"{x:.4g}" if isinstance(x, (float, complex)) else str(x) for x in row]])
    return html_table(rows, _describe(tensor))


def _image(tensor: Tensor, values: Tensor) -> str | None:
    """Bytes as they are, other numbers if all are between 0 and 1."""
    if not tensor.is_floating_point() and tensor.dtype is not dt.uint8:
        return None
    picture = values.double().numpy()
    if tensor.is_floating_point():
        if not (picture.min() >= 0 and picture.max() <= 1):
            return None
        picture = (picture * 255).round()
    file = png(picture.transpose(1, 2, 0).astype(np.uint8))
    return (
        f'<img src="data:image/png;base64,{base64.b64encode(file).decode()}" '
        f'style="image-rendering:pixelated;min-width:128px"><p>{_describe(tensor)}</p>'
    )
