"""Convolutions of one, two and three dimensions, and their transposes.

All are one op, `convolution`, whose gradients are one op too, `convolution_backward`: both are products in their
tensors, so that the derivatives of the second are made of the two again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.declare import Composite, LaidOp, Op, conj, describe, publish, publish_python, published
from ...core.machine import Leading, Tensor
from ...core.values import Array, Backend, dt, errors
from ...kernels.summing import widened
from ...kernels.windows import steps, transposed_size
from ..making.windows import Ints, keeps_channels_inside, spread
from ..reductions.summing import CHANNELS, sum_along
from .conv_kernels import Sliding, correlate, of_images, of_weight, sliding, spread_back
from .padding import constant_pad_nd

# ---- kernels


def _sliding(
    backend: Backend, x: Array, weight: Array, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, more: Ints
) -> Sliding:
    size, kernel = x.shape[2:], weight.shape[2:]
    if transposed:
        size, count = tuple(map(transposed_size, size, kernel, stride, padding, dilation, more)), size
        backend.check_room((len(x), *size), x.dtype)
    else:
        count = tuple(map(steps, size, kernel, stride, padding, dilation))
        if any([p > n for p, n in zip(padding, size)]):
            backend.check_room((len(x), *[n + 2 * p for n, p in zip(size, padding)]), x.dtype)
    return sliding(size, count, kernel, stride, padding, dilation)


def _keeps_channels_inside(backend: Backend, x: Array, weight: Array, transposed: bool, groups: int) -> bool:
    """Whether the result is in channels-last format, as an image is: of volumes, where a library spreads them back."""
    if not keeps_channels_inside(backend, x, weight):
        return False
    if not transposed or weight.ndim < 5:
        return True
    large = groups > 1 or len(x) > 1 or min(weight.shape[-2:]) > 3 or math.prod(x.shape[:4]) > 20480
    return large and dt.of_numpy(x.dtype) in (dt.float32, dt.bfloat16)


def _convolution(
    backend: Backend, x: Array, weight: Any, bias: Any,
    stride: Ints, padding: Ints, dilation: Ints, transposed: bool, output_padding: Ints, groups: int,
) -> Any:  # fmt: skip
    inside = _keeps_channels_inside(backend, x, weight, transposed, groups)
    w = _sliding(backend, x, weight, stride, padding, dilation, transposed, output_padding)
    if not x.shape[1]:
        return backend.xp.zeros((len(x), 0, *w.count), x.dtype)  # PyTorch makes no channels of none
    wide, factors = widened(x), widened(weight)
    offset = None if bias is None else widened(bias)
    if transposed:
        made = spread_back(backend, wide, factors, w, groups, inside)
        if offset is not None:
            made += offset.reshape((-1, *(1,) * len(stride)))
    else:
        made = correlate(backend, wide, factors, offset, w, groups, inside)
    return made if wide is x else made.astype(x.dtype)


def _convolution_backward(
    backend: Backend, g: Array, x: Array, weight: Array, bias_sizes: Ints | None,
    stride: Ints, padding: Ints, dilation: Ints, transposed: bool, output_padding: Ints, groups: int,
    output_mask: Sequence[bool],
) -> Any:  # fmt: skip
    xp = backend.xp
    if not x.shape[1]:
        shapes = (x.shape, weight.shape, bias_sizes)
        return tuple([xp.zeros(s, g.dtype) if wanted else None for s, wanted in zip(shapes, output_mask)])
    inside = keeps_channels_inside(backend, x, weight)
    w = _sliding(backend, x, weight, stride, padding, dilation, transposed, output_padding)
    wide, images, factors = widened(g), widened(x), widened(weight)
    of_input = of_weights = of_bias = None
    if output_mask[0]:
        if transposed:
            of_input = correlate(backend, wide, factors, None, w, groups, inside)
        else:
            of_input = of_images(backend, wide, factors, w, groups, inside)
    if output_mask[1]:
        small, large = (images, wide) if transposed else (wide, images)
        of_weights = of_weight(backend, small, large, weight.shape, w, groups)
    if output_mask[2]:
        rows = wide.reshape((*wide.shape[:2], -1))
        of_bias = sum_along(xp, rows, CHANNELS).reshape(-1) if g.dtype.kind in "fcV" else rows.sum((0, 2), g.dtype)
    made = (of_input, of_weights, of_bias)
    return made if wide is g else tuple([None if m is None else m.astype(g.dtype) for m in made])


# ---- checks


def _check(
    input: Tensor, weight: Tensor, bias: Tensor | None,
    stride: Ints, padding: Ints, dilation: Ints, transposed: bool, output_padding: Ints, groups: int,
) -> None:  # fmt: skip
    image, shape = input._array.shape, weight._array.shape
    dims = len(shape) - 2
    if dims <= 0:
        raise RuntimeError("weight should have at least three dimensions")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if min(dilation) < 0:
        raise RuntimeError("dilation should be greater than zero")
    for name, numbers, least in (
        ("negative padding", padding, 0), ("negative output_padding", output_padding, 0),
        ("non-positive stride", stride, 1), ("non-positive dilation", dilation, 1),
    ):  # fmt: skip
        if min(numbers) < least:
            raise RuntimeError(f"{name} is not supported")
    given = f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size {list(shape)}"
    if len(image) != len(shape):
        raise RuntimeError(
            f"Expected {len(shape)}-dimensional input for {len(shape)}-dimensional weight {list(shape)}, but got "
            f"{len(image)}-dimensional input of size {list(image)} instead"
        )
    if shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{list(shape)} instead"
        )
    if shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size [{list(shape)}] instead"
        )
    channels, made = (shape[0], shape[1] * groups) if transposed else (shape[1] * groups, shape[0])
    if image[1] != channels:
        raise RuntimeError(
            f"{given}, expected input{list(image)} to have {channels} channels, but got {image[1]} channels instead"
        )
    if bias is not None and bias._array.shape != (made,):
        given = given if transposed else f"Given weight of size {list(shape)}"
        raise RuntimeError(
            f"{given}, expected bias to be 1-dimensional with {made} elements, but got bias of size "
            f"{list(bias._array.shape)} instead"
        )
    if 0 in shape[2:]:
        raise RuntimeError("could not create a primitive descriptor for the convolution forward propagation primitive")
    _check_sizes(image[2:], shape[2:], stride, padding, dilation, transposed, output_padding)
    if 0 in image[2:] and 0 not in image[:2]:
        row = [1] if len(image) == 3 else []  # which PyTorch makes an image
        shown = [*image[:2], *row, *image[2:]]
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {shown}")
    _check_dtypes(input, weight, bias, transposed, max(dilation) > 1)


def _check_sizes(
    size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, output_padding: Ints
) -> None:
    if not transposed:
        padded = [n + 2 * p for n, p in zip(size, padding)]
        reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
        if any(n < r for n, r in zip(padded, reach)):
            have, needs = " x ".join(map(str, padded)), " x ".join(map(str, reach))
            raise RuntimeError(
                f"Calculated padded input size per channel: ({have}). Kernel size: ({needs}). Kernel size can't be "
                "greater than actual input size"
            )
        return
    if any(more >= max(s, d) for more, s, d in zip(output_padding, stride, dilation)):
        names = ("depth", "height", "width")[-max(2, len(size)) :]
        said = " ".join([
            f"{what}_{name}: {n}"
            for what, numbers in (("output_padding", output_padding), ("stride", stride), ("dilation", dilation))
            for name, n in zip(names, (*(numbers[:1] if len(size) == 1 else ()), *numbers))
        ])  # fmt: skip
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {said}")
    made = list(map(transposed_size, size, kernel, stride, padding, dilation, output_padding))
    if min(made) < 0:
        raise RuntimeError(
            f"Given input size per channel: {list(size)}. Calculated output size per channel: {made}. Output size is "
            "too small"
        )


def _check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None, transposed: bool, dilated: bool) -> None:
    d = input.dtype
    if not transposed:
        _check_bias_dtype(d, bias)
    if weight.dtype is not d:
        one, other = [errors.type_text(t.dtype, t.device) for t in (input, weight)]
        if d in (dt.float32, dt.bfloat16, dt.float16):
            raise RuntimeError(
                f"Input type ({one}) and weight type ({other}) should be the same or input should be a MKLDNN tensor "
                "and weight is a dense tensor"
            )
        if d.is_complex:
            raise RuntimeError(f"Input type ({one}) and weight type ({other}) should be the same")
        raise RuntimeError(f"expected scalar type {d.legacy} but found {weight.dtype.legacy}")
    _check_bias_dtype(d, bias)
    if (d in dt.INTEGERS and d is not dt.int64 and (transposed or dilated)) or d not in dt.NUMBERS:
        volumes = input.dim() == 5
        raise errors.not_implemented_for(
            f"slow_conv_transpose{2 + volumes}d_out_cpu" if transposed else "slow_conv_dilated<>" if dilated
            else "compute_columns3d" if volumes else "slow_conv2d_cpu", d,
        )  # fmt: skip


def _check_bias_dtype(d: dt.dtype, bias: Tensor | None) -> None:
    if bias is not None and bias.dtype is not d:
        raise RuntimeError(f"Input type ({d.cname}) and bias type ({bias.dtype.cname}) should be the same")


# ---- batches


def _batch_of(values: Sequence[tuple[Any, int]]) -> tuple[list[bool], int]:
    """Which tensors have a dimension more than they should, and how long that is."""
    more = [t is not None and t.dim() > rank for t, rank in values]
    return more, next(t.shape[0] for (t, _), with_batch in zip(values, more) if with_batch)


def _in_channels(t: Tensor, batched: bool, size: int) -> Tensor:
    """A batch of images as one image, with the channels of all."""
    whole = t.movedim(0, 1) if batched else t.unsqueeze(1).expand((t.shape[0], size, *t.shape[1:]))
    return whole.flatten(1, 2)


def _in_front(t: Tensor, batched: bool, size: int) -> Tensor:
    return (t if batched else t.expand((size, *t.shape))).flatten(0, 1)


def _convolution_of_batch(input: Tensor, weight: Tensor, bias: Tensor | None, *options: Any) -> Tensor:
    """Elements with the same weights are more images; else each has channels, and groups, of its own."""
    *geometry, groups = options
    rank = len(options[0]) + 2
    (of_input, of_weight_, of_bias), size = _batch_of(((input, rank), (weight, rank), (bias, 1)))
    if not of_weight_ and not of_bias:
        n = input.shape[1]
        return convolution.apply(input.flatten(0, 1), weight, bias, *options).unflatten(0, (size, n))
    made = convolution.apply(
        _in_channels(input, of_input, size), _in_front(weight, of_weight_, size),
        None if bias is None else _in_front(bias, of_bias, size), *geometry, groups * size,
    )  # fmt: skip
    return made.unflatten(1, (size, made.shape[1] // size)).movedim(1, 0)


def _backward_of_batch(g: Tensor, input: Tensor, weight: Tensor, bias_sizes: Ints | None, *options: Any) -> Any:
    """Each element has channels, and groups, of its own."""
    *geometry, groups, mask = options
    rank = len(options[0]) + 2
    batched, size = _batch_of(((g, rank), (input, rank), (weight, rank)))
    of_input, of_weights, of_bias = convolution_backward.apply(
        _in_channels(g, batched[0], size), _in_channels(input, batched[1], size), _in_front(weight, batched[2], size),
        None if bias_sizes is None else (bias_sizes[0] * size,), *geometry, groups * size, mask,
    )  # fmt: skip
    if of_input is not None:
        of_input = of_input.unflatten(1, (size, of_input.shape[1] // size)).movedim(1, 0)
    if of_weights is not None:
        of_weights = of_weights.unflatten(0, (size, of_weights.shape[0] // size))
    if of_bias is not None:
        of_bias = of_bias.unflatten(0, (size, of_bias.shape[0] // size))
    return of_input, of_weights, of_bias


# ---- the ops

_OPTIONS = "int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups"


def _gradients(
    g: Any, input: Any, weight: Any, bias_shape: Any, stride: Any, padding: Any, dilation: Any, transposed: Any,
    output_padding: Any, groups: Any, needs: Any,
) -> Any:  # fmt: skip
    return convolution_backward.apply(
        g, conj(input), conj(weight), bias_shape or None, stride, padding, dilation, transposed, output_padding, groups,
        needs,
    )  # fmt: skip


def _gradients_of_gradients(
    grads: Any, grad_output: Any, input: Any, weight: Any, stride: Any, padding: Any, dilation: Any, transposed: Any,
    output_padding: Any, groups: Any, needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    options = (stride, padding, dilation, transposed, output_padding, groups)
    of_input, of_weights, of_bias = grads
    of_g = []
    made_input = made_weight = None
    if of_input is not None:
        if needs[0]:
            of_g.append(convolution.apply(of_input, conj(weight), None, *options))
        if needs[2]:
            made = convolution_backward.apply(conj(grad_output), of_input, weight, None, *options, (False, True, False))
            made_weight = made[1]
    if of_weights is not None:
        if needs[0]:
            of_g.append(convolution.apply(conj(input), of_weights, None, *options))
        if needs[1]:
            made = convolution_backward.apply(
                conj(grad_output), input, of_weights, None, *options, (True, False, False)
            )
            made_input = made[0]
    if of_bias is not None and needs[0]:
        of_g.append(of_bias.reshape((-1, *(1,) * len(stride))).expand(grad_output.shape))
    return (sum(of_g[1:], of_g[0]) if of_g else None), made_input, made_weight


convolution = LaidOp(
    f"convolution(Tensor input, Tensor weight, Tensor? bias, {_OPTIONS})", _convolution, _gradients, check_form=_check,
    batch=Leading(call=_convolution_of_batch),
    shows="bias_sym_sizes_opt dilation groups output_padding padding stride transposed",
)  # fmt: skip
convolution_backward = LaidOp(
    f"convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, {_OPTIONS}, "
    "bool[] output_mask) -> (Tensor result0, Tensor result1, Tensor result2)",
    _convolution_backward, _gradients_of_gradients, batch=Leading(call=_backward_of_batch),
    seen_as=lambda g, input, weight, bias, *rest: ("convolution_backward", (g, input, weight, bias or [0], *rest)),
)  # fmt: skip
publish(convolution_backward, function=False, method=False)


def _expanded(name: str, numbers: Ints, dims: int) -> Ints:
    if len(numbers) not in (1, dims):
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {dims} values to match the convolution "
            f"dimensions, but got {name}={list(numbers)}"
        )
    return spread(numbers, dims)


@published(f"convolution(Tensor input, Tensor weight, Tensor? bias, {_OPTIONS})", method=False)
def _convolved(*values: Any) -> Tensor:
    op, arguments = _as_op(*values)
    return op.apply(*arguments)


def _as_op(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints,
    transposed: bool, output_padding: Ints, groups: int,
) -> tuple[Op, Sequence[Any]]:  # fmt: skip
    """The op, with its arguments, that a convolution comes to."""
    dims = weight.dim() - 2
    if dims > 0:
        stride, padding = _expanded("stride", stride, dims), _expanded("padding", padding, dims)
        dilation = _expanded("dilation", dilation, dims)
        output_padding = _expanded("output_padding", output_padding, dims)
    return convolution, (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


publish_python(
    f"_convolution(Tensor input, Tensor weight, Tensor? bias, {_OPTIONS}, bool benchmark, bool deterministic, "
    "bool cudnn_enabled, bool allow_tf32=False)",
    lambda *values: _convolved(*values[:9]),
    method=False,
)


def _images(name: str, dims: int, input: Tensor) -> tuple[Tensor, bool]:
    """The input as a batch of images, and whether it was one."""
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )
    return (input, True) if input.dim() == dims + 2 else (input.unsqueeze(0), False)


def _padding_of(name: str, input: Tensor, weight: Tensor, stride: Ints, dilation: Ints) -> tuple[Tensor, Ints]:
    """What "same" and "valid" mean; an uneven padding is added to the image beforehand."""
    dims = weight.dim() - 2
    if name == "valid":
        return input, (0,) * dims
    if name != "same":
        raise RuntimeError(f"Invalid padding string: '{name}'")
    if input.dim() != weight.dim():
        raise RuntimeError(
            f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight{list(weight.shape)}, but "
            f"got {input.dim()}-dimensional input of size {list(input.shape)} instead"
        )
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for k, d in zip(weight._array.shape[2:], _expanded("dilation", dilation, dims), strict=True)]
    if any(n % 2 for n in total):
        errors.warn_once(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
            "input be created"
        )
        more = [n for t in reversed(total) for n in (0, t % 2)]
        input = constant_pad_nd.apply(input, tuple(more), 0)
    return input, tuple([n // 2 for n in total])


def _declare(dims: int) -> None:
    """Publish the functions for images of so many dimensions."""
    name = f"conv{dims}d"

    def conv(
        input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ) -> Tensor:
        images, batched = _images(name, dims, input)
        made = _convolved(images, weight, bias, stride, padding, dilation, False, (0,), groups)
        return made if batched else made.squeeze(0)

    def conv_padded(
        input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: str, dilation: Ints, groups: int
    ) -> Tensor:
        images, batched = _images(name, dims, input)
        images, numbers = _padding_of(padding, images, weight, stride, dilation)
        made = _convolved(images, weight, bias, stride, numbers, dilation, False, (0,), groups)
        return made if batched else made.squeeze(0)

    def conv_transpose(
        input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, output_padding: Ints,
        groups: int, dilation: Ints,
    ) -> Tensor:  # fmt: skip
        images, batched = _images(f"conv_transpose{dims}d", dims, input)
        made = _convolved(images, weight, bias, stride, padding, dilation, True, output_padding, groups)
        return made if batched else made.squeeze(0)

    def as_op(input: Tensor, *rest: Any) -> tuple[Op, Sequence[Any]] | None:
        *options, groups = rest
        return _as_op(input, *options, False, (0,), groups) if input.dim() == dims + 2 else None  # type: ignore[call-arg]

    several = f"int[{dims}]"
    operands = f"Tensor input, Tensor weight, Tensor? bias=None, {several} stride=[1]"
    rest = f"{several} dilation=[1], int groups=1"
    publish(
        Composite(f"{name}({operands}, {several} padding=[0], {rest})", conv, as_op),
        Composite(f"{name}.padding({operands}, str padding='valid', {rest})", conv_padded),
        method=False,
    )
    publish_python(
        f"conv_transpose{dims}d({operands}, {several} padding=[0], {several} output_padding=[0], int groups=1, "
        f"{several} dilation=[1])",
        conv_transpose,
        method=False,
    )


for _dims in (1, 2, 3):
    _declare(_dims)


# ---- time first, channels last


def _check_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int) -> None:
    for t, n, what in ((self, 3, "Input must have 3 dims: time, batch, in_channel"),
                       (weight, 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."),
                       (bias, 1, "Bias must be 1-D")):  # fmt: skip
        if t.dim() != n:
            raise RuntimeError(what)
    if self.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    if self.shape[0] + 2 * pad - weight.shape[0] + 1 < 0:
        raise RuntimeError("Output time must be >= 0")


def _conv_tbc(backend: Backend, self: Array, weight: Array, bias: Any, pad: int) -> Any:
    made = _convolution(
        backend, self.transpose((1, 2, 0)), weight.transpose((2, 1, 0)), bias, (1,), (pad,), (1,), False, (0,), 1
    )
    return made.transpose((2, 0, 1)).copy("C")


def _tbc_gradients(g: Any, self: Any, weight: Any, bias_shape: Any, pad: Any, needs: Any) -> tuple[Any, ...]:
    of_input, of_weights, of_bias = convolution_backward.apply(
        g.permute((1, 2, 0)), self.permute((1, 2, 0)), weight.permute((2, 1, 0)), bias_shape, (1,), (pad,), (1,), False,
        (0,), 1, needs,
    )  # fmt: skip
    of_input = None if of_input is None else of_input.permute((2, 0, 1))
    return of_input, None if of_weights is None else of_weights.permute((2, 1, 0)), of_bias


conv_tbc = LaidOp(
    "conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0)",
    _conv_tbc,
    _tbc_gradients,
    check=_check_tbc,
    batch=lambda self, weight, bias, pad: convolution.apply(
        self.permute((1, 2, 0)), weight.permute((2, 1, 0)), bias, (1,), (pad,), (1,), False, (0,), 1
    ).permute((2, 0, 1)),
)
publish(conv_tbc, method=False)


describe(
    conv1d="The convolution of signals of shape `(batch, channels, length)` with filters.",
    conv2d="The convolution of images of shape `(batch, channels, height, width)` with filters.",
    conv3d="The convolution of volumes of shape `(batch, channels, depth, height, width)` with filters.",
    conv_tbc="The convolution of signals of shape `(length, batch, channels)` with filters.",
    conv_transpose1d="The transpose of `conv1d`: the gradient of one with respect to its input, as an op of its own.",
    conv_transpose2d="The transpose of `conv2d`: the gradient of one with respect to its input, as an op of its own.",
    conv_transpose3d="The transpose of `conv3d`: the gradient of one with respect to its input, as an op of its own.",
    convolution="The convolution, or its transpose, in as many dimensions as the filters have.",
)
