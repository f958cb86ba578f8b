"""Transforms of numbers (`scalar`), and of vectors and matrices (`vector`)."""

from ...core.values.sources import one_source
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

one_source(globals(), "transform", "scalar", "vector")  # as pickles name them
