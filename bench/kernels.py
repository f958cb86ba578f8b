"""Single kernels on larger arrays, forward and backward."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .timing import Workload


def setup(given: dict[str, object], differentiable: bool) -> str:
    """Shapes are of tensors of random numbers, to be differentiated by; strings are expressions."""
    lines = []
    for name, value in given.items():
        if isinstance(value, tuple):
            lines.append(f"{name} = torch.randn({value})" + ".requires_grad_()" * differentiable)
        else:
            lines.append(f"{name} = {value}")
    return "\n".join(lines)


def forward(name: str, call: str, far: float = 1e-4, **given: object) -> list[Workload]:
    return [Workload(name, call, setup(given, False), far)]


def both(name: str, call: str, far: float = 1e-4, **given: object) -> list[Workload]:
    """The call, and its gradients alone."""
    leaves = ", ".join(key for key, value in given.items() if isinstance(value, tuple))
    before = f"{setup(given, True)}\nmade = {call}\ng = torch.randn(made.shape)"
    back = Workload(f"{name}, backward", f"torch.autograd.grad(made, ({leaves},), g, retain_graph=True)", before, far)
    return [*forward(name, call, far, **given), back]


SIZES = {"1e4": (100, 100), "1e6": (1000, 1000)}
ACTIVATIONS = ("relu", "sigmoid", "tanh", "silu", "gelu", "softplus", "elu", "leaky_relu", "hardtanh", "logsigmoid")
ARITHMETIC = {"add": "x + y", "mul": "x * y", "div": "x / y"}
ELEMENTARY = ("exp", "log1p", "sin", "sqrt", "erf")
ROWS, IMAGES = (1024, 1000), (16, 16, 32, 32)
MASK, SHARES = "torch.rand(1000, 1000) < 0.5", "torch.rand(1000, 1000)"
PLACES, AT_ROWS = "torch.randint(1000, (4096,))", "torch.randint(1000, (1000, 1000))"
CONVOLUTIONS = {  # images, weights, options
    "64x1x28 to 6, 5x5": ((64, 1, 28, 28), (6, 1, 5, 5), "padding=2"),
    "16x6x14 to 16, 5x5": ((16, 6, 14, 14), (16, 6, 5, 5), ""),
    "8x16x16 to 16, 3x3": ((8, 16, 16, 16), (16, 16, 3, 3), "padding=1"),
    "16x32x28 to 64, 3x3": ((16, 32, 28, 28), (64, 32, 3, 3), "padding=1"),
    "4x128x16 to 128, 3x3": ((4, 128, 16, 16), (128, 128, 3, 3), "padding=1"),
    "4x256x8 to 256, 3x3": ((4, 256, 8, 8), (256, 256, 3, 3), "padding=1"),
    "8x64x16 to 128, 1x1": ((8, 64, 16, 16), (128, 64, 1, 1), ""),
    "8x16x32 to 32, stride 2": ((8, 16, 32, 32), (32, 16, 3, 3), "stride=2, padding=1"),
    "8x32x32, depthwise": ((8, 32, 32, 32), (32, 1, 3, 3), "padding=1, groups=32"),
}


def pointwise() -> Iterator[Workload]:
    for size, shape in SIZES.items():
        for name in ACTIVATIONS:
            yield from both(f"{name} {size}", f"F.{name}(x)", x=shape)
        for name, call in ARITHMETIC.items():
            yield from forward(f"{name} {size}", call, x=shape, y=shape)
        for name in ELEMENTARY:
            yield from forward(f"{name} {size}", f"torch.{name}(x)", x=f"torch.rand({shape})")
    yield from both("add a row 1e6", "x + y", x=(1000, 1000), y=(1000,))
    yield from both("add a column 1e6", "x + y", x=(1000, 1000), y=(1000, 1))
    yield from both(
        "where 1e6", "torch.where(mask, x, y)", x=(1000, 1000), y=(1000, 1000), mask=MASK
    )
    yield from both("masked_fill 1e6", "x.masked_fill(mask, 0.0)", x=(1000, 1000), mask=MASK)
    yield from forward("sum 1e7", "x.sum()", x=(10**7,))
    yield from forward("add 1e7", "x + y", x=(10**7,), y=(10**7,))
    yield from both("gelu 1e7", "F.gelu(x)", x=(10**7,))
    for kind in ("half", "bfloat16", "double"):
        yield from forward(f"float to {kind} 1e6", f"x.{kind}()", x=(1000, 1000))
        yield from forward(f"{kind} to float 1e6", "x.float()", x=f"torch.randn(1000, 1000).{kind}()")
    yield from forward("gelu of doubles 1e5", "F.gelu(x)", x="torch.randn(100000).double()")
    yield from forward("softmax of doubles", "F.softmax(x, -1)", x="torch.randn(256, 400).double()")


def reductions() -> Iterator[Workload]:
    for name in ("sum", "mean", "amax", "var", "linalg.vector_norm"):
        for of, dim in (("all", None), ("rows", 1), ("columns", 0)):
            yield from forward(f"{name} of {of}", f"torch.{name}(x, dim={dim})", x=(1000, 1000))
    yield from forward("argmax of rows", "x.argmax(1)", x=(1000, 1000))
    yield from both("max of rows", "x.max(1).values", x=(1000, 1000))
    for name in ("cumsum", "cumprod", "logcumsumexp"):
        yield from both(f"{name} along rows", f"torch.{name}(x, 1)", 1e-3, x=(300, 1000))
        yield from forward(f"{name} along columns", f"torch.{name}(x, 0)", 1e-3, x=(300, 1000))
    yield from both("topk 10 of 1000", "x.topk(10).values", x=(300, 1000))
    yield from forward("kthvalue of 1000", "x.kthvalue(300).values", x=(300, 1000))
    yield from both("sort rows of 1000", "x.sort().values", math.inf, x=(300, 1000))  # in which order equals come
    yield from forward("argsort 1e5", "x.argsort()", x="torch.randperm(10**5).float()")
    yield from forward("sort 1e6", "x.sort().values", x=(10**6,))


def learning() -> Iterator[Workload]:
    for name in ("softmax", "log_softmax"):
        yield from both(f"{name} 1024x1000", f"F.{name}(x, -1)", x=ROWS)
        yield from both(f"{name} over channels", f"F.{name}(x, 1)", x=IMAGES)
    yield from both("logsumexp 1024x1000", "x.logsumexp(1)", x=ROWS)
    yield from both("cross_entropy 1024x1000", "F.cross_entropy(x, at)", x=ROWS, at="torch.randint(1000, (1024,))")
    yield from both(
        "bce with logits 1e6", "F.binary_cross_entropy_with_logits(x, t)", x=(1000, 1000), t=SHARES
    )
    yield from both("mse_loss 1e6", "F.mse_loss(x, t)", x=(1000, 1000), t=SHARES)
    yield from both("layer_norm 512x768", "F.layer_norm(x, (768,), w, b)", x=(512, 768), w=(768,), b=(768,))
    yield from both("rms_norm 512x768", "F.rms_norm(x, (768,), w)", x=(512, 768), w=(768,))
    channels = {"x": (16, 64, 16, 16), "w": (64,), "b": (64,)}
    yield from both("group_norm 16x64x16x16", "F.group_norm(x, 8, w, b)", **channels)
    yield from both("batch_norm 16x64x16x16", "F.batch_norm(x, None, None, w, b, True)", **channels)
    yield from both("linear 256x512 to 512", "F.linear(x, w, b)", x=(256, 512), w=(512, 512), b=(512,))
    yield from both("matmul 16x16", "x @ y", x=(16, 16), y=(16, 16))
    yield from both("bmm 64x32x32", "x @ y", x=(64, 32, 32), y=(64, 32, 32))
    yield from both("matvec 1000x1000", "x @ y", x=(1000, 1000), y=(1000,))
    yield from forward("dropout 1e6", "F.dropout(x, 0.2)", math.inf, x=(1000, 1000))
    yield from forward("randn 1e6", "torch.randn(1000, 1000)")
    heads = {"q": (8, 4, 64, 32), "k": (8, 4, 64, 32), "v": (8, 4, 64, 32)}
    attention = "F.scaled_dot_product_attention(q, k, v{})"
    yield from both("attention 8x4x64x32", attention.format(""), **heads)
    yield from both("attention, causal", attention.format(", is_causal=True"), **heads)
    yield from both("attention, mask", attention.format(", mask"), **heads, mask="torch.rand(64, 64).log()")
    for kind in ("LSTM", "GRU", "RNN"):
        before = {"x": (32, 16, 32), "layer": f"nn.{kind}(32, 64)"}
        yield from both(f"{kind} 32x16x32 to 64", "layer(x)[0]", **before)


def places() -> Iterator[Workload]:
    yield from both("embedding 4096 of 1000x64", "F.embedding(at, w)", w=(1000, 64), at=PLACES)
    yield from both("index_select 4096 of 1000x64", "w.index_select(0, at)", w=(1000, 64), at=PLACES)
    yield from both("rows by a tensor", "w[at]", w=(1000, 64), at=PLACES)
    yield from both("gather 1e6", "x.gather(1, at)", x=(1000, 1000), at=AT_ROWS)
    yield from forward("scatter_add 1e6", "x.scatter_add(1, at, y)", x=(1000, 1000), y=(1000, 1000), at=AT_ROWS)
    yield from forward("index_add 4096 rows", "w.index_add(0, at, y)", w=(1000, 64), y=(4096, 64), at=PLACES)
    yield from forward("masked_select 1e6", "x[mask]", x=(1000, 1000), mask=MASK)
    yield from both("transposed copy 1e6", "x.t().contiguous()", x=(1000, 1000))
    yield from both("permuted copy", "x.permute(0, 2, 3, 1).contiguous()", x=(16, 64, 32, 32))
    yield from both("cat 1e6", "torch.cat([x, y], 1)", x=(1000, 500), y=(1000, 500))
    yield from both("stack 1e6", "torch.stack([x, y], 1)", x=(1000, 500), y=(1000, 500))
    yield from both("pad", "F.pad(x, (1, 1, 1, 1))", x=IMAGES)
    yield from both("pad, reflecting", "F.pad(x, (1, 1, 1, 1), 'reflect')", x=IMAGES)
    yield from both("unfold 3x3", "F.unfold(x, 3, padding=1)", x=IMAGES)
    yield from both("fold 3x3", "F.fold(x, (32, 32), 3, padding=1)", x=(4, 144, 1024))
    yield from both("pixel_shuffle", "F.pixel_shuffle(x, 2)", x=IMAGES)
    yield from both("interpolate, nearest", "F.interpolate(x, scale_factor=2)", x=IMAGES)
    yield from both("interpolate, bilinear", "F.interpolate(x, scale_factor=2, mode='bilinear')", x=IMAGES)
    yield from both(
        "grid_sample", "F.grid_sample(x, at, align_corners=False)", x=IMAGES, at="torch.rand(16, 32, 32, 2) * 2 - 1"
    )


def images() -> Iterator[Workload]:
    for name, (x, w, options) in CONVOLUTIONS.items():
        yield from both(f"conv {name}", f"F.conv2d(x, w, {options})", x=x, w=w)
    yield from both("conv1d 16x32x256 to 32, 5", "F.conv1d(x, w, padding=2)", x=(16, 32, 256), w=(32, 32, 5))
    yield from both("conv3d 2x8x8x16x16 to 16, 3", "F.conv3d(x, w, padding=1)", x=(2, 8, 8, 16, 16), w=(16, 8, 3, 3, 3))
    yield from both(
        "conv_transpose 8x32x16 to 16, 4x4",
        "F.conv_transpose2d(x, w, stride=2, padding=1)",
        x=(8, 32, 16, 16),
        w=(32, 16, 4, 4),
    )
    yield from both("max_pool2d 2x2", "F.max_pool2d(x, 2)", x=IMAGES)
    yield from both("max_pool2d 3x3, stride 2", "F.max_pool2d(x, 3, 2, 1)", x=IMAGES)
    yield from both("avg_pool2d 2x2", "F.avg_pool2d(x, 2)", x=IMAGES)
    yield from both("adaptive_avg_pool2d to 1", "F.adaptive_avg_pool2d(x, 1)", x=IMAGES)


WORKLOADS = [*pointwise(), *reductions(), *learning(), *places(), *images()]
