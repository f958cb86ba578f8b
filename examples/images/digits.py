"""The 1797 handwritten digits of scikit-learn, 8x8 pixels each, as tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

try:
    from sklearn.datasets import load_digits
except ImportError:
    raise SystemExit("these examples learn from scikit-learn's digits: pip install scikit-learn") from None


def digits() -> tuple[Tensor, Tensor]:
    """Images in [0, 1], of shape (1797, 1, 8, 8), and the digits they show."""
    data: Any = load_digits()
    images = torch.from_numpy(data.images).float().unsqueeze(1) / 16
    return images, torch.from_numpy(data.target)


def show(*images: Tensor) -> None:
    """Prints images of one size side by side, in characters."""
    for row in torch.cat([image.squeeze() for image in images], dim=1).clamp(0, 1).mul(4.99).int().tolist():
        print("  " + "".join(" .+%#"[shade] * 2 for shade in row))
