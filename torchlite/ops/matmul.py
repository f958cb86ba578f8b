"""Products of matrices."""

from __future__ import annotations

from ..core.op import Op
from ..core.publish import publish

mm = Op(
    "mm(Tensor self, Tensor mat2)",
    lambda xp, self, mat2: self.dot(mat2),
    {"self": lambda g, mat2: g.mm(mat2.t()), "mat2": lambda g, self: self.t().mm(g)},
)
publish(mm)
