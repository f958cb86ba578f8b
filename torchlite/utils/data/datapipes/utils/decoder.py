"""Bytes as what they hold, by the endings of names: `Decoder`, and the handlers that it asks."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from .....operations.making.host_data import from_numpy
from .common import StreamWrapper

Handler = Callable[[str, Any], Any]

# Of texts and JSON, a part of a name counts as one, as in PyTorch: "pt" is in "transcript", and nothing in everything.
_BASIC: tuple[tuple[str | tuple[str, ...], Callable[[bytes], Any]], ...] = (
    ("txt text transcript", lambda data: data.decode("utf-8")),
    (("cls", "cls2", "class", "count", "index", "inx", "id"), int),
    ("json jsn", json.loads),
    (("pyd", "pickle"), pickle.loads),
)
# Of images: as what they come, the type of their elements, and the mode in which they are read.
imagespecs = {
    f"{kind}{mode}{bits}": (kind or "numpy", "uint8" if bits else "float", mode or "rgb")
    for kind in ("", "torch", "pil")
    for mode in ("l", "rgb", "rgba", "")
    for bits in ("8", "")
    if (kind or mode) and (kind != "pil" or not bits)
}


def basichandlers(extension: str, data: Any) -> Any:
    """Text, numbers, JSON and pickles."""
    return next((read(data) for names, read in _BASIC if extension in names), None)


class ImageHandler:
    """Images as NumPy's arrays, tensors or images of PIL."""

    def __init__(self, imagespec: str) -> None:
        if imagespec not in imagespecs:
            raise AssertionError(f"unknown image specification: {imagespec}")
        self.imagespec = imagespec.lower()

    def __call__(self, extension: str, data: bytes) -> Any:
        if extension.lower() not in ("jpg", "jpeg", "png", "ppm", "pgm", "pbm", "pnm"):
            return None
        from PIL import Image

        kind, elements, mode = imagespecs[self.imagespec]
        image = Image.open(io.BytesIO(data)).convert(mode.upper())
        if kind == "pil":
            return image
        found = np.asarray(image)
        found = found if elements == "uint8" else found.astype("f") / 255.0
        if kind == "numpy":
            return found
        return from_numpy(np.array(found.transpose(2, 0, 1) if found.ndim == 3 else found))


def imagehandler(imagespec: str) -> ImageHandler:
    return ImageHandler(imagespec)


class MatHandler:
    """Files of MATLAB, as SciPy reads them."""

    def __init__(self, **loadmat_kwargs: Any) -> None:
        self.loadmat_kwargs = loadmat_kwargs

    def __call__(self, extension: str, data: bytes) -> Any:
        if extension != "mat":
            return None
        from scipy.io import loadmat

        return loadmat(io.BytesIO(data), **self.loadmat_kwargs)


def mathandler(**loadmat_kwargs: Any) -> MatHandler:
    return MatHandler(**loadmat_kwargs)


def extension_extract_fn(pathname: str) -> str:
    """The ending of a name."""
    return PurePosixPath(pathname).suffix[1:]


class Decoder:
    """What handlers make of data, by their keys: the first that knows an ending decides."""

    def __init__(self, *handler: Handler, key_fn: Callable[[str], str] = extension_extract_fn) -> None:
        self.handlers, self.key_fn = list(handler), key_fn

    def add_handler(self, *handler: Handler) -> None:
        """Ask these first."""
        self.handlers = [*handler, *self.handlers]

    def decode1(self, key: str, data: Any) -> Any:
        """What a value is whose key has this ending; itself if nobody knows."""
        if not data:
            return data
        if isinstance(data, (io.IOBase, StreamWrapper)):
            data = data.read()
        found = (handler(key, data) for handler in self.handlers)
        return next((value for value in found if value is not None), data)

    def decode(self, data: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        """The values by their keys. Of one that begins with an underscore, bytes are text."""
        return {
            key: value.decode("utf-8")
            if key.startswith("_") and isinstance(value, bytes)
            else self.decode1(self.key_fn(key), value)
            for key, value in data
        }

    __call__ = decode
