"""Forms of other ops that PyTorch has for its own use, most of them only under `torch.ops.aten`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.declare import Composite, describe, publish, publish_python, published
from ...core.machine import Tensor
from ...core.machine.registry import functions, registry
from ...core.values import dt, wrap_dim
from ..images.max_pool import max_pool2d_with_indices, max_pool3d_with_indices
from ..images.padding import constant_pad_nd
from ..images.upsample import upsample
from ..learning.batch_norm import native_batch_norm
from ..shapes.slicing import slice_
from ..vocabulary import requirement

Ints = tuple[int, ...]

publish(slice_, function=False, method=False)
publish_python(
    "slice_inverse(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1)",
    lambda self, src, *_: self.as_strided(src.shape, src.stride(), src.storage_offset()),
)

# ---- chunks of several tensors, side by side

_require = requirement("_chunk_cat expects ")


@published("_chunk_cat(Tensor[] tensors, int dim, int num_chunks)", method=False)
def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Each tensor cut into so many chunks, with zeros to make them alike; the first chunks in the first row, and on."""
    _require(num_chunks >= 1, "positive num_chunks")
    _require(bool(tensors), "a non-empty input tensor list")
    if any(t.dim() != tensors[0].dim() for t in tensors):
        _require(dim >= 0, "non-negative dim when input tensors have different ndims")
        _require(all(t.dim() > dim for t in tensors), "dim < ndim for all input tensors")
    dim = wrap_dim(dim, tensors[0].dim())
    rows = []
    for t in tensors:
        _require(bool(t.numel()), "non-empty tensor")
        _require(t.dtype is tensors[0].dtype, "all input tensors with the same dtype")
        before = t.shape[:dim]
        _require(before == tensors[0].shape[:dim], "same sizes of 0,...,dim-1 dimensions for all tensors")
        missing = -t.shape[dim] % num_chunks
        whole = constant_pad_nd.apply(t, (0, 0) * (t.dim() - 1 - dim) + (0, missing), 0) if missing else t
        rows.append(whole.reshape(*before, num_chunks, -1))
    return functions["cat"](rows, dim + 1)


# ---- gradients as they are found inside


@published("native_dropout_backward(Tensor grad_output, Tensor mask, float scale)", function=False, method=False)
def _native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """What is left of a gradient where elements were kept."""
    return grad_output * mask * scale


def _publish_pool(dims: int, pool: Callable[..., Any]) -> None:
    """The largest of windows with their places, and what is led back to these."""
    name, ints = f"max_pool{dims}d_with_indices", f"int[{dims}]"
    back = registry[f"{name}_backward"]
    publish_python(
        f"{name}(Tensor self, {ints} kernel_size, {ints} stride=[], {ints} padding=0, {ints} dilation=1, "
        "bool ceil_mode=False)",
        pool,
        function=False,
        method=False,
    )
    publish_python(
        f"{name}_backward(Tensor grad_output, Tensor self, {ints} kernel_size, {ints} stride, {ints} padding, "
        f"{ints} dilation, bool ceil_mode, Tensor indices)",
        lambda g, self, kernel_size, stride, padding, dilation, ceil_mode, indices: back.apply(g, self, indices),
        function=False,
        method=False,
    )


_publish_pool(2, max_pool2d_with_indices)
_publish_pool(3, max_pool3d_with_indices)

# ---- batch norm, with the running statistics in view of the schema


_PARAMETERS = "Tensor input, Tensor? weight, Tensor? bias"
_STATISTICS = "Tensor running_mean, Tensor running_var"
_STEP = "float momentum, float eps"


@published(f"_batch_norm_with_update({_PARAMETERS}, {_STATISTICS}, {_STEP})", function=False, method=False)
def _batch_norm_with_update(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor,
    momentum: float, eps: float,
) -> tuple[Tensor, ...]:  # fmt: skip
    """`native_batch_norm` in training, and the memory of a library that there is none of."""
    made = native_batch_norm.apply(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *made, input.new_empty(0, dtype=dt.uint8)


publish(
    Composite(
        f"_native_batch_norm_legit({_PARAMETERS}, {_STATISTICS}, bool training, {_STEP})", native_batch_norm.apply
    ),
    Composite(
        f"_native_batch_norm_legit.no_stats({_PARAMETERS}, bool training, {_STEP})",
        lambda input, weight, bias, *rest: native_batch_norm.apply(input, weight, bias, None, None, *rest),
    ),
    method=False,
)

# ---- images of another size


def _bilinear(input: Tensor, output_size: Ints | None, align_corners: bool, scale_factors: Any) -> Tensor:
    """Images in another size, smoothed where they shrink."""
    if (output_size is None) == (scale_factors is None):
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    return upsample("bilinear_aa", input, output_size, scale_factors, align_corners)


publish(
    Composite(
        "_upsample_bilinear2d_aa.vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors)",
        _bilinear,
    ),
    Composite(
        "_upsample_bilinear2d_aa(Tensor self, int[2] output_size, bool align_corners, float? scales_h=None, "
        "float? scales_w=None)",
        lambda self, output_size, align_corners, *scales: upsample(
            "bilinear_aa", self, output_size, scales, align_corners
        ),
    ),
    function=False, method=False,
)


describe(slice_inverse="The view of `src` of which `input` is a slice.")
