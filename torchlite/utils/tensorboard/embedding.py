"""Points with labels and pictures, as the files that TensorBoard's projector reads."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from ...viz.png import png
from . import images
from .summary import as_numpy


def write(log_dir: str, mat: Any, metadata: Any, label_img: Any, step: int, tag: str, header: list[str] | None) -> None:
    """Write points, one in each row of `mat`, and add them to the projector's configuration."""
    points = as_numpy(mat)
    if points.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    place = os.path.join(str(step).zfill(5), "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):02x}" for c in tag))
    directory = os.path.join(log_dir, place)
    os.makedirs(directory, exist_ok=True)
    lines = [f'tensor_name: "{tag}:{str(step).zfill(5)}"', f'tensor_path: "{os.path.join(place, "tensors.tsv")}"']
    np.savetxt(os.path.join(directory, "tensors.tsv"), points, delimiter="\t", fmt="%.8g")
    if metadata is not None:
        if len(metadata) != len(points):
            raise AssertionError("#labels should equal with #data points")
        rows = ["\t".join(map(str, row)) if header else str(row) for row in metadata]
        with open(os.path.join(directory, "metadata.tsv"), "w", encoding="utf-8") as file:
            file.write("\n".join(["\t".join(header), *rows] if header else rows) + "\n")
        lines.append(f'metadata_path: "{os.path.join(place, "metadata.tsv")}"')
    if label_img is not None:
        pictures = as_numpy(label_img)
        if len(pictures) != len(points):
            raise AssertionError("#images should equal with #data points")
        side = math.ceil(math.sqrt(len(pictures)))
        sheet = np.zeros((side * side, *pictures.shape[1:]), pictures.dtype)
        sheet[: len(pictures)] = pictures
        rows_of = sheet.reshape(side, side, *pictures.shape[1:]).transpose(0, 3, 1, 4, 2)  # rows, H, columns, W, C
        picture = rows_of.reshape(side * pictures.shape[2], side * pictures.shape[3], -1)
        with open(os.path.join(directory, "sprite.png"), "wb") as out:
            out.write(png(images.as_bytes(picture if picture.shape[-1] > 1 else picture.repeat(3, -1))))
        height, width = pictures.shape[2:]
        lines.append(
            f'sprite {{\n  image_path: "{os.path.join(place, "sprite.png")}"\n  single_image_dim: {width}\n'
            f"  single_image_dim: {height}\n}}"
        )
    with open(os.path.join(log_dir, "projector_config.pbtxt"), "a", encoding="utf-8") as file:
        file.write("embeddings {\n" + "\n".join(lines) + "\n}\n")
