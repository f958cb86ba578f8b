"""Pictures as arrays of height, width and channels."""

from __future__ import annotations

from typing import Any

import numpy as np


def with_channels_last(array: np.ndarray, form: str) -> np.ndarray:
    """A picture whose dimensions are called by the letters of `form`; several (N) become one, in rows of eight."""
    form = form.upper()
    if len(set(form)) != len(form):
        raise AssertionError(f"You can not use the same dimension shordhand twice.         input_format: {form}")
    if array.ndim != len(form):
        raise AssertionError(
            f"size of input tensor and input format are different.         tensor shape: {array.shape}, "
            f"input_format: {form}"
        )
    order = [form.index(letter) for letter in "NHWC" if letter in form]
    array = array.transpose(order)
    if "C" not in form:
        array = array[..., None]
    if array.shape[-1] == 1:
        array = array.repeat(3, -1)
    return _grid(array) if "N" in form else array


def _grid(pictures: np.ndarray, columns: int = 8) -> np.ndarray:
    count, height, width, channels = pictures.shape
    columns = min(count, columns)
    rows = -(-count // columns)
    grid = np.zeros((rows, columns, height, width, channels), pictures.dtype)
    grid.reshape(-1, height, width, channels)[:count] = pictures
    return grid.transpose(0, 2, 1, 3, 4).reshape(rows * height, columns * width, channels)


def as_bytes(picture: np.ndarray) -> np.ndarray:
    """Values between 0 and 255; those of other dtypes than uint8 are between 0 and 1."""
    scaled = picture.astype(np.float32) * (1 if picture.dtype == np.uint8 else 255)
    return scaled.clip(0, 255).astype(np.uint8)


def of_figure(figure: Any, close: bool) -> np.ndarray:
    """What a figure of matplotlib looks like, with channels first."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = np.asarray(canvas.buffer_rgba())[..., :3]
    if close:
        import matplotlib.pyplot as plt

        plt.close(figure)
    return picture.transpose(2, 0, 1)
