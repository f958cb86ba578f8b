"""The language in which ops are declared and published."""

from .conversions import dtype_of, is_tensor, longs
from .declaration import ITSELF, By, Formula
from .elementwise import Binary, Elementwise, Scaled, Unary, as_operand, conj, contiguous, fit_gradient, sum_to
from .on_backend import LaidOp, LaidView, OnBackend
from .op import Op
from .op_node import OpNode, shape_at
from .public_forms import left_to_other
from .publishing import (
    Composite,
    aten,
    exchanged,
    function,
    method,
    publish,
    publish_alias,
    publish_as,
    publish_loss,
    publish_python,
    published,
    published_whole,
    seen_whole,
)
from .reduction import Along, Reduction, all_dims, reduced_count, refused, with_reduced
from .rules import rules_in
from .schema import Signature, refusal, taking
from .told import describe, signatures_of, tell
from .view_op import ViewOp
