"""Transforms of numbers (`scalar`), and of vectors and matrices (`vector`)."""

from ...core.values import bear_name
from .scalar import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from .scalar import _clipped_sigmoid as _clipped_sigmoid
from .transform import ComposeTransform, IndependentTransform, ReshapeTransform, Transform, identity_transform
from .transform import _InverseTransform as _InverseTransform
from .vector import (
    CatTransform,
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
)

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftplusTransform",
    "TanhTransform", "SoftmaxTransform", "StackTransform", "StickBreakingTransform", "Transform", "identity_transform",
]  # fmt: skip

for _class in (_InverseTransform, *[globals()[name] for name in __all__ if name != "identity_transform"]):
    bear_name(_class, __name__)  # as pickles name them
