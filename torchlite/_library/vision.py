"""torchvision's own operators, which its package brings compiled for PyTorch: here they are made of operations.

What is differentiable is written so that autograd can go through it; the operators for gradients, which torchvision
calls by itself, are pullbacks of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import autograd
from ..autograd.grad_mode import enable_grad
from ..core.machine import Tensor, functions
from ..core.values import dt
from ..library import Library

_library: list[Library] = []  # torchvision's namespace, once it was asked for


# ---- suppression


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The boxes, best first, that overlap no better one that is kept by more than a threshold."""
    order = scores.argsort(descending=True, stable=True)
    boxes = dets.detach()[order]
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    left = functions["ones"](len(boxes), dtype=dt.bool_, device=dets.device)
    kept = []
    for i in range(len(boxes)):
        if not left[i]:
            continue
        kept.append(i)
        rest = boxes[i + 1 :]
        sides = functions["minimum"](rest[:, 2:], boxes[i, 2:]) - functions["maximum"](rest[:, :2], boxes[i, :2])
        common = sides.clamp(min=0).prod(1)
        left[i + 1 :] &= ~(common / (areas[i + 1 :] + areas[i] - common) > iou_threshold)
    return order[functions["tensor"](kept, dtype=dt.int64, device=dets.device)]


# ---- values of images between pixels


def _weights(at: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The two pixels on either side of places, and how much of each."""
    inside = (at >= -1) & (at <= size)
    at = at.clamp(0, size - 1)
    low = at.detach().floor()
    high = (low + 1).clamp(max=size - 1)
    above = at - low
    return low.long(), high.long(), (1 - above) * inside, above * inside


def _sampled(images: Tensor, which: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Channels of images at places, which lie on a grid of rows by columns for each region: (K, C, rows, columns)."""
    height, width = images.shape[-2:]
    rows, columns = _weights(y, height), _weights(x, width)
    total: Any = 0
    batch = which[:, None, None]
    for i, wy in zip(rows[:2], rows[2:], strict=True):
        for j, wx in zip(columns[:2], columns[2:], strict=True):
            found = images.permute(0, 2, 3, 1)[batch, i[:, :, None], j[:, None, :]]
            total = total + found * (wy[:, :, None] * wx[:, None, :])[..., None]
    return total.permute(0, 3, 1, 2)


def _bins(begin: Tensor, length: Tensor, count: int, samples: int) -> Tensor:
    """Places in `count` parts of an interval, evenly, so many in each."""
    steps = (functions["arange"](count * samples, dtype=begin.dtype, device=begin.device) + 0.5) / samples
    return begin[:, None] + steps * (length / count)[:, None]


def _groups(rois: Tensor, length: Tensor, count: int, ratio: int) -> list[tuple[Tensor, int]]:
    """The regions by how many samples they have in each part."""
    if ratio > 0:
        return [(functions["arange"](len(rois), device=rois.device), ratio)]
    wanted = (length / count).ceil().clamp(min=1).long()
    return [((wanted == n).nonzero()[:, 0], int(n)) for n in wanted.unique()]


def _pooled(
    input: Tensor, rois: Tensor, spatial_scale: float, size: tuple[int, int], sampling_ratio: int, offset: float,
    least: float,
) -> Tensor:  # fmt: skip
    """Means of samples in the parts of regions."""
    edges = rois[:, 1:] * spatial_scale - offset
    lengths = edges[:, 2:] - edges[:, :2]
    lengths = lengths.clamp(min=least) if least else lengths
    result = input.new_zeros((len(rois), input.shape[1], *size))
    for vertical, ny in _groups(rois, lengths[:, 1], size[0], sampling_ratio):
        for across, nx in _groups(rois[vertical], lengths[vertical, 0], size[1], sampling_ratio):
            which = vertical[across]
            y = _bins(edges[which, 1], lengths[which, 1], size[0], ny)
            x = _bins(edges[which, 0], lengths[which, 0], size[1], nx)
            found = _sampled(input, rois[which, 0].long(), y, x)
            parts = found.reshape(len(which), input.shape[1], size[0], ny, size[1], nx)
            result = result.index_copy(0, which, parts.mean((3, 5)))
    return result


def roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int,
    aligned: bool,
) -> Tensor:  # fmt: skip
    size = pooled_height, pooled_width
    return _pooled(input, rois, spatial_scale, size, sampling_ratio, 0.5 * aligned, 0.0 if aligned else 1.0)


def _own_channels(pooled: Tensor, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Of each part of a region, the channels that are meant for it; and which these are."""
    height, width = size
    count = pooled.shape[1] // (height * width)
    arange, device = functions["arange"], pooled.device
    i, j = arange(height, device=device)[:, None], arange(width, device=device)
    mapping = (arange(count, device=device)[:, None, None] * height + i) * width + j
    chosen = pooled.gather(1, mapping.expand(len(pooled), *mapping.shape))
    return chosen, mapping.to(dt.int32).expand(len(pooled), *mapping.shape).contiguous()


def ps_roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int, sampling_ratio: int
) -> tuple[Tensor, Tensor]:
    size = pooled_height, pooled_width
    return _own_channels(_pooled(input, rois, spatial_scale, size, sampling_ratio, 0.5, 0.0), size)


def _rounded(x: Tensor) -> Tensor:
    return (x.abs() + 0.5).floor() * x.sign()


def _part(begin: int, length: float, index: int, count: int, size: int) -> slice:
    """The pixels of a part of a region, of which it may have none."""
    low, high = int(index * length // count), -int(-(index + 1) * length // count)
    return slice(min(max(low + begin, 0), size), min(max(high + begin, 0), size))


def _each_part(rois: Tensor, edges: list[list[int]], least: float, size: tuple[int, int], image: Any) -> Any:
    """For each part of each region: where it is in the result, the image, and the pixels of it."""
    for k, (left, top, right, bottom) in enumerate(edges):
        width, height = (max(b - a, least) for a, b in ((left, right), (top, bottom)))
        for i in range(size[0]):
            rows = _part(top, height, i, size[0], image[0])
            for j in range(size[1]):
                yield k, i, j, int(rois[k, 0]), rows, _part(left, width, j, size[1], image[1])


def roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """The greatest values of whole pixels in the parts of regions, and where in the image they are."""
    size, channels, (height, width) = (pooled_height, pooled_width), input.shape[1], input.shape[-2:]
    edges = _rounded(rois[:, 1:] * spatial_scale).long()
    edges[:, 2:] += 1
    values = input.new_zeros((len(rois), channels, *size))
    places = functions["full"](values.shape, -1, dtype=dt.int32, device=input.device)
    for k, i, j, batch, rows, columns in _each_part(rois, edges.tolist(), 1, size, (height, width)):
        part = input[batch, :, rows, columns]
        if part.numel():
            values[k, :, i, j], at = part.flatten(1).max(1)
            across = part.shape[-1]
            places[k, :, i, j] = ((at // across + rows.start) * width + at % across + columns.start).to(dt.int32)
    return values, places


def ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """Means of whole pixels in the parts of regions, each of its own channels."""
    size = pooled_height, pooled_width
    edges = _rounded(rois[:, 1:] * spatial_scale).long()
    pooled = input.new_zeros((len(rois), input.shape[1], *size))
    for k, i, j, batch, rows, columns in _each_part(rois, edges.tolist(), 0.1, size, input.shape[-2:]):
        part = input[batch, :, rows, columns]
        if part.numel():
            pooled[k, :, i, j] = part.mean((1, 2))
    return _own_channels(pooled, size)


# ---- convolution of what lies beside the grid


def deform_conv2d(
    input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int, stride_w: int,
    pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool,
) -> Tensor:  # fmt: skip
    """A convolution whose taps are moved by offsets, and weighted by a mask."""
    n, channels, height, width = input.shape
    kh, kw = weight.shape[-2:]
    rows, columns = offset.shape[-2:]
    moved = offset.reshape(n * offset_groups, kh * kw, 2, rows, columns)
    arange = functions["arange"]

    def taps(count: int, stride: int, pad: int) -> Tensor:
        return arange(count, dtype=input.dtype, device=input.device) * stride - pad

    tap_y = (arange(kh, device=input.device) * dilation_h).repeat_interleave(kw)[:, None, None]
    tap_x = (arange(kw, device=input.device) * dilation_w).repeat(kh)[:, None, None]
    y = moved[:, :, 0] + tap_y + taps(rows, stride_h, pad_h)[:, None]
    x = moved[:, :, 1] + tap_x + taps(columns, stride_w, pad_w)
    images = input.reshape(n * offset_groups, channels // offset_groups, height * width)
    found: Any = 0
    ys, xs = _near(y, height), _near(x, width)
    for i, wy in ys:
        for j, wx in xs:
            index = (i * width + j).flatten(1)[:, None].expand(-1, images.shape[1], -1)
            values = images.gather(2, index).reshape(*images.shape[:2], *y.shape[1:])
            found = found + values * (wy * wx)[:, None]
    if use_mask:
        found = found * mask.reshape(n * offset_groups, 1, kh * kw, rows, columns)
    found = found.reshape(n, groups, channels // groups * kh * kw, rows * columns)
    kernels = weight.reshape(groups, weight.shape[0] // groups, -1)
    return (kernels @ found).reshape(n, weight.shape[0], rows, columns) + bias[:, None, None]


def _near(at: Tensor, size: int) -> list[tuple[Tensor, Tensor]]:
    """The two pixels on either side of places and how much of each; there is nothing beyond the border."""
    low = at.detach().floor()
    above = at - low
    pairs = ((low, 1 - above), (low + 1, above))
    return [(i.clamp(0, size - 1).long(), w * ((i >= 0) & (i < size))) for i, w in pairs]


# ---- gradients


def _pullback(op: Callable[..., Any], after: int = 0) -> Callable[..., Tensor]:
    """The gradient of an operator's image, from that of its result; `after` options follow the image's sizes."""

    def backward(grad: Tensor, rois: Tensor, *rest: Any) -> Tensor:
        options = [value for value in rest if not isinstance(value, Tensor)]
        end = len(options) - after
        image = grad.new_zeros(options[end - 4 : end]).requires_grad_()
        del options[end - 4 : end]
        with enable_grad():
            result = op(image, rois, *options)
            result = result if isinstance(result, Tensor) else result[0]
        return _gradients(result, [image], grad)[0]

    return backward


def _gradients(result: Tensor, inputs: list[Tensor], grad: Tensor) -> tuple[Tensor, ...]:
    found = autograd.grad(result, inputs, grad, allow_unused=True)
    return tuple([functions["zeros_like"](t) if g is None else g for t, g in zip(inputs, found, strict=True)])


def _roi_pool_backward(
    grad: Tensor, rois: Tensor, argmax: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
    batch_size: int, channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    """The gradient goes to the pixels that were greatest."""
    image = grad.new_zeros((batch_size, channels, height * width))
    which = rois[:, 0].long()[:, None, None]
    channel = functions["arange"](channels, device=grad.device)[:, None]
    at = argmax.flatten(2).long()
    given = (grad.flatten(2) * (at >= 0)).to(grad.dtype)
    image.index_put_((which, channel, at.clamp(min=0)), given, accumulate=True)
    return image.reshape(batch_size, channels, height, width)


def _deform_conv2d_backward(grad: Tensor, *given: Any) -> tuple[Tensor, ...]:
    inputs = [t.detach().requires_grad_() for t in given[:5]]
    with enable_grad():
        result = deform_conv2d(*inputs, *given[5:])
    return _gradients(result, inputs, grad)


_POOL = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SIZES = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_TAPS = (
    "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, "
    "SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, "
    "bool use_mask"
)
_IMAGE, _GRAD = "Tensor input, Tensor rois", "Tensor grad, Tensor rois"
_OPERATORS: dict[str, Callable[..., Any] | None] = {
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": nms,
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": None,
    "qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float rois_scale, "
    f"int rois_zero_point, {_POOL}, int sampling_ratio, bool aligned) -> Tensor": None,
    f"roi_align({_IMAGE}, {_POOL}, int sampling_ratio, bool aligned) -> Tensor": roi_align,
    f"_roi_align_backward({_GRAD}, {_POOL}, {_SIZES}, int sampling_ratio, bool aligned) -> Tensor":
        _pullback(roi_align, after=2),
    f"roi_pool({_IMAGE}, {_POOL}) -> (Tensor, Tensor)": roi_pool,
    f"_roi_pool_backward({_GRAD}, Tensor argmax, {_POOL}, {_SIZES}) -> Tensor": _roi_pool_backward,
    f"ps_roi_align({_IMAGE}, {_POOL}, int sampling_ratio) -> (Tensor, Tensor)": ps_roi_align,
    f"_ps_roi_align_backward({_GRAD}, Tensor channel_mapping, {_POOL}, int sampling_ratio, {_SIZES}) -> Tensor":
        _pullback(ps_roi_align),
    f"ps_roi_pool({_IMAGE}, {_POOL}) -> (Tensor, Tensor)": ps_roi_pool,
    f"_ps_roi_pool_backward({_GRAD}, Tensor channel_mapping, {_POOL}, {_SIZES}) -> Tensor": _pullback(ps_roi_pool),
    f"deform_conv2d({_TAPS}) -> Tensor": deform_conv2d,
    f"_deform_conv2d_backward(Tensor grad, {_TAPS}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)":
        _deform_conv2d_backward,
    "_cuda_version() -> int": lambda: -1,
}  # fmt: skip


def load() -> None:
    """Declare the operators."""
    if _library:
        return
    _library.append(Library("torchvision", "DEF"))
    for schema, kernel in _OPERATORS.items():
        name = _library[0].define(schema)
        if kernel is not None:
            _library[0].impl(name, kernel, "CompositeExplicitAutograd")
