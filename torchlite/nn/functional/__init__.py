"""`torch.nn.functional`: what modules compute, as functions of their parameters."""

from __future__ import annotations

from ...absent import loading as _loading
from ...core.machine import Tensor
from ...core.values.pickling import live_here as _live_here
from ...operations.products.linear import linear
from .. import _reduction as _Reduction
from ._activation import *
from ._activation import _get_softmax_dim
from ._attention import *
from ._attention import _canonical_mask, _in_projection, _in_projection_packed, _mha_shape_check, _none_or_dtype
from ._distance import *
from ._dropout import *
from ._loss import *
from ._matmul import *
from ._matmul import assert_int_or_pair, boolean_dispatch
from ._normalization import *
from ._normalization import _verify_batch_size, _verify_spatial_size
from ._sparse import *
from ._sparse import _no_grad_embedding_renorm_
from ._spatial import *
from ._spatial import _unpool_output_size

# Found where they are when asked for: they are made after this module.
_LATER = {
    "grad": "..nn",
    **dict.fromkeys(("_single", "_pair", "_triple", "_list_with_default"), "..nn.modules.utils"),
    **dict.fromkeys(
        ("handle_torch_function", *[f"has_torch_function{of}" for of in ("", "_unary", "_variadic")]), "..overrides"
    ),
}

_live_here(globals())
__getattr__, __dir__ = _loading(__name__, homes=_LATER)
