"""Images: convolutions, pools, padding and resampling, as functions and as modules, beside PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from .side_by_side import same_story


def _image(torch: Any, *shape: int, dtype: str = "float64") -> Any:
    """Values of which no two are alike."""
    count = 1
    for n in shape:
        count *= n
    return ((torch.arange(count) * 37 % 101).to(getattr(torch, dtype)) / 16 - 3).reshape(shape)


def _tell_derivatives(torch: Any, tell: Any, f: Any, *inputs: Any) -> None:
    """The result, first and second derivatives."""
    inputs = tuple(t.clone().requires_grad_() for t in inputs)
    made = f(*inputs)
    tell(made.detach(), made.stride())
    weights = _image(torch, *made.shape).requires_grad_()
    first = torch.autograd.grad(made, inputs, weights, create_graph=True)
    tell([g.detach() for g in first])
    tell(torch.autograd.grad(sum((g * g).sum() for g in first), weights, allow_unused=True))


@pytest.fixture(scope="module", autouse=True)
def decompositions() -> None:
    """What PyTorch's forward derivatives load when first used, with warnings of its own."""
    pytest.importorskip("torch._decomp.decompositions_for_jvp")


@same_story
def test_names_of_nodes(torch: Any, tell: Any) -> None:
    F, x = torch.nn.functional, _image(torch, 2, 4, 6, 6).requires_grad_()
    for made in (
        torch.conv2d(x, _image(torch, 3, 4, 2, 2)),
        torch.conv2d(x[0], _image(torch, 3, 4, 2, 2)),
        F.max_pool2d(x, 2),
        F.max_pool1d(x[0], 2),
        F.avg_pool2d(x, 2),
        F.adaptive_avg_pool2d(x, 4),
        F.adaptive_avg_pool2d(x, 1),
        F.pad(x, (1, 1)),
        F.pad(x, (1, 1, 1, 1), mode="reflect"),
        F.interpolate(x, scale_factor=2),
        F.interpolate(x, scale_factor=2, mode="bicubic"),
        F.unfold(x, 2),
        F.pixel_shuffle(x, 2),
    ):
        tell(made.grad_fn)


# ---- convolutions

_GEOMETRIES = [
    {},
    {"stride": 2, "padding": 1},
    {"stride": (1, 2), "padding": (2, 0), "dilation": (1, 2)},
    {"padding": "same", "dilation": 2},
    {"padding": "valid"},
    {"groups": 2, "padding": 1},
]


@pytest.mark.parametrize("options", _GEOMETRIES, ids=str)
def test_convolution(options: dict[str, Any]) -> None:
    @same_story
    def program(torch: Any, tell: Any) -> None:
        x, bias = _image(torch, 2, 4, 7, 8), _image(torch, 6)
        weight = _image(torch, 6, 4 // options.get("groups", 1), 3, 3)
        conv = torch.nn.functional.conv2d
        _tell_derivatives(torch, tell, lambda x, w, b: conv(x, w, b, **options), x, weight, bias)

    program()


@same_story
def test_every_channel_by_itself(torch: Any, tell: Any) -> None:
    x, weight = _image(torch, 2, 4, 7, 8), _image(torch, 8, 1, 3, 2)
    conv = torch.nn.functional.conv2d
    for stride in (1, 2):
        _tell_derivatives(torch, tell, lambda x, w: conv(x, w, None, stride, 1, groups=4), x, weight)  # noqa: B023


@same_story
def test_large_images_are_taken_in_blocks(torch: Any, tell: Any) -> None:
    x, weight = _image(torch, 3, 8, 60, 70), _image(torch, 5, 8, 5, 5)
    _tell_derivatives(torch, tell, lambda x, w: torch.conv2d(x, w, padding=2), x, weight)


@same_story
def test_transposed_convolution(torch: Any, tell: Any) -> None:
    x, bias = _image(torch, 2, 4, 5, 6), _image(torch, 6)
    conv = torch.nn.functional.conv_transpose2d
    for groups, options in (
        (1, {}),
        (2, {"stride": 2, "padding": 1, "output_padding": 1}),
        (1, {"dilation": 2, "stride": 3}),
    ):
        weight = _image(torch, 4, 6 // groups, 3, 2)
        _tell_derivatives(torch, tell, lambda x, w, b: conv(x, w, b, groups=groups, **options), x, weight, bias)  # noqa: B023


@same_story
def test_one_and_three_dimensions(torch: Any, tell: Any) -> None:
    x, weight = _image(torch, 2, 3, 9), _image(torch, 4, 3, 3)
    _tell_derivatives(torch, tell, lambda x, w: torch.conv1d(x, w, stride=2, padding=1), x, weight)
    x, weight = _image(torch, 1, 2, 4, 5, 4), _image(torch, 3, 2, 2, 3, 2)
    _tell_derivatives(torch, tell, lambda x, w: torch.conv3d(x, w, stride=(1, 2, 1)), x, weight)
    tell(torch.conv2d(_image(torch, 3, 5, 5), _image(torch, 2, 3, 2, 2)).shape)
    x, weight, bias = _image(torch, 6, 2, 4), _image(torch, 3, 4, 5), _image(torch, 5)
    _tell_derivatives(torch, tell, lambda x, w, b: torch.conv_tbc(x, w, b, 1), x, weight, bias)


@same_story
def test_dtypes_of_convolutions(torch: Any, tell: Any) -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.int64, torch.uint8):
        x = (torch.arange(64) % 5).reshape(1, 1, 8, 8).to(dtype)
        tell(torch.conv2d(x, x[:, :, :3, :3]))
    x = torch.complex(_image(torch, 1, 2, 5, 5), _image(torch, 1, 2, 5, 5).flip(-1)).requires_grad_()
    weight = torch.complex(_image(torch, 3, 2, 2, 2), _image(torch, 3, 2, 2, 2).flip(0)).requires_grad_()
    made = torch.conv2d(x, weight)
    tell(made.detach(), torch.autograd.grad(made.abs().sum(), (x, weight)))


@same_story
def test_memory_format_is_kept(torch: Any, tell: Any) -> None:
    F = torch.nn.functional
    x = _image(torch, 2, 4, 6, 6).to(memory_format=torch.channels_last)
    for f in (
        lambda x: torch.conv2d(x, _image(torch, 3, 4, 2, 2)),
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.avg_pool2d(x, 2),
        lambda x: F.adaptive_avg_pool2d(x, 4),
        lambda x: F.adaptive_avg_pool2d(x, 1),
        lambda x: F.pad(x, (1, 1, 1, 1)),
        lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
        lambda x: F.interpolate(x, scale_factor=2),
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
        lambda x: F.pixel_shuffle(x, 2),
    ):
        made = f(x)
        tell(made, made.stride())


@same_story
def test_errors_of_convolutions(torch: Any, tell: Any) -> None:
    x, weight = torch.ones(2, 4, 8, 8), torch.ones(6, 4, 3, 3)
    for arguments, options in (
        ((x[0, 0], weight), {}),
        ((x[:, :3], weight), {}),
        ((x, weight), {"groups": 0}),
        ((x, weight[:5, :2]), {"groups": 2}),
        ((x, weight, torch.ones(5)), {}),
        ((x, weight), {"stride": 0}),
        ((x, weight), {"stride": (1, 2, 3)}),
        ((x, weight), {"padding": -1}),
        ((x, weight), {"padding": "same", "stride": 2}),
        ((x[:, :, :2], weight), {}),
        ((x, weight.double()), {}),
    ):
        try:
            torch.conv2d(*arguments, **options)
        except (RuntimeError, TypeError) as error:
            tell(type(error).__name__, str(error))


# ---- pools


@same_story
def test_maxima(torch: Any, tell: Any) -> None:
    F, nan = torch.nn.functional, float("nan")
    x = (torch.arange(2 * 3 * 7 * 6) * 37 % 11).double().reshape(2, 3, 7, 6)
    for options in (
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 1, "padding": 1},
        {"kernel_size": (2, 3), "stride": (2, 1), "dilation": (2, 1), "ceil_mode": True},
    ):
        tell(F.max_pool2d(x, return_indices=True, **options))
        _tell_derivatives(torch, tell, lambda x: F.max_pool2d(x, **options), x)  # noqa: B023
        _tell_derivatives(torch, tell, lambda x: F.max_pool2d(x, return_indices=True, **options)[0], x)  # noqa: B023
    tell(F.max_pool2d(torch.tensor([[[[nan, 1.0, 2.0, nan], [nan, 3.0, nan, 2.0]]]]), 2, return_indices=True))
    tell(F.max_pool1d(x[0], 3, return_indices=True), F.max_pool3d(x, 2), F.max_pool2d(x.int(), 2))
    tell(F.adaptive_max_pool2d(x, (3, 4), return_indices=True), F.adaptive_max_pool2d(x, (7, 3)))
    made, places = F.max_pool2d(x, 2, return_indices=True)
    tell(F.max_unpool2d(made, places, 2, output_size=(7, 6)))


@same_story
def test_maxima_may_be_written_to(torch: Any, tell: Any) -> None:
    F, nn = torch.nn.functional, torch.nn
    for pool, shape in ((F.max_pool1d, (2, 3, 8)), (F.max_pool2d, (2, 3, 8, 6)), (F.max_pool3d, (2, 3, 4, 4, 6))):
        for options in ({"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}):
            x = _image(torch, *shape).requires_grad_()
            made = pool(x, **options)
            made.relu_()
            tell(made, *torch.autograd.grad((made * made).sum(), x))
    layers = nn.Sequential(nn.MaxPool2d(2), nn.ReLU(inplace=True), nn.AdaptiveMaxPool2d(2), nn.ReLU(inplace=True))
    x = _image(torch, 2, 3, 8, 6).requires_grad_()
    tell(layers(x), *torch.autograd.grad(layers(x).sum(), x))


@same_story
def test_means(torch: Any, tell: Any) -> None:
    F, x = torch.nn.functional, _image(torch, 2, 3, 7, 6)
    for options in (
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
        {"kernel_size": (3, 2), "ceil_mode": True, "padding": (1, 0)},
        {"kernel_size": 2, "divisor_override": 3},
    ):
        _tell_derivatives(torch, tell, lambda x: F.avg_pool2d(x, **options), x)  # noqa: B023
    for size in (1, 3, (7, 2), (None, 4), (9, 12)):
        _tell_derivatives(torch, tell, lambda x: F.adaptive_avg_pool2d(x, size), x)  # noqa: B023
    tell(F.avg_pool1d(x[0], 3), F.avg_pool3d(x, 2), F.avg_pool2d((x * 9).long(), 2), F.lp_pool2d(x, 2, 3))


@same_story
def test_fractional_maxima_follow_the_generator(torch: Any, tell: Any) -> None:
    F, x = torch.nn.functional, _image(torch, 2, 3, 9, 8, dtype="float32")
    torch.manual_seed(5)
    tell(F.fractional_max_pool2d(x, 2, output_size=(5, 4), return_indices=True))
    tell(F.fractional_max_pool3d(x, 2, output_ratio=(0.5, 0.5, 0.5)))


# ---- padding and resampling


@same_story
def test_padding(torch: Any, tell: Any) -> None:
    F, x = torch.nn.functional, _image(torch, 2, 3, 5, 6)
    for mode in ("constant", "reflect", "replicate", "circular"):
        for pad in ((1, 2, 3, 4), (-1, 2, 0, -2), (0, 0, 2, 1)):
            _tell_derivatives(torch, tell, lambda x: F.pad(x, pad, mode=mode), x)  # noqa: B023
    tell(F.pad(x, (1, 1), value=2.5), F.pad(x[0], (4, 4), mode="circular"))


_INTERPOLATIONS = [
    {"size": (7, 3), "mode": "nearest"},
    {"scale_factor": 1.7, "mode": "nearest-exact"},
    {"size": (9, 11), "mode": "bilinear"},
    {"size": (3, 4), "mode": "bilinear", "align_corners": True},
    {"scale_factor": (0.6, 2.3), "mode": "bicubic"},
    {"scale_factor": 1.3, "mode": "bilinear", "recompute_scale_factor": True},
    {"size": (3, 2), "mode": "bilinear", "antialias": True},
    {"size": (4, 9), "mode": "bicubic", "antialias": True},
    {"size": (3, 4), "mode": "area"},
]


@pytest.mark.parametrize("options", _INTERPOLATIONS, ids=str)
def test_interpolation(options: dict[str, Any]) -> None:
    @same_story
    def program(torch: Any, tell: Any) -> None:
        F = torch.nn.functional
        _tell_derivatives(torch, tell, lambda x: F.interpolate(x, **options), _image(torch, 1, 2, 5, 6))

    program()


@same_story
def test_sampling(torch: Any, tell: Any) -> None:
    F, x = torch.nn.functional, _image(torch, 2, 3, 5, 6)
    grid = (_image(torch, 2, 4, 3, 2) / 2.3).contiguous()
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (False, True):
                _tell_derivatives(
                    torch, tell, lambda x, g: F.grid_sample(x, g, mode, padding, align), x, grid  # noqa: B023
                )  # fmt: skip
    tell(F.grid_sample(_image(torch, 1, 2, 3, 4, 5), _image(torch, 1, 2, 2, 2, 3) / 3, align_corners=False))
    theta = _image(torch, 2, 2, 3)
    _tell_derivatives(torch, tell, lambda t: F.affine_grid(t, (2, 3, 4, 5), align_corners=False), theta)


@same_story
def test_windows_as_columns(torch: Any, tell: Any) -> None:
    F, x = torch.nn.functional, _image(torch, 2, 3, 6, 7)
    _tell_derivatives(torch, tell, lambda x: F.unfold(x, (2, 3), dilation=2, padding=1, stride=2), x)
    columns = F.unfold(x, 3, padding=1)
    _tell_derivatives(torch, tell, lambda c: F.fold(c, (6, 7), 3, padding=1), columns)


@same_story
def test_shuffling(torch: Any, tell: Any) -> None:
    F, x = torch.nn.functional, _image(torch, 2, 8, 4, 6)
    for f in (lambda x: F.pixel_shuffle(x, 2), lambda x: F.pixel_unshuffle(x, 2), lambda x: F.channel_shuffle(x, 4)):
        _tell_derivatives(torch, tell, f, x)


@same_story
def test_under_transforms(torch: Any, tell: Any) -> None:
    F, x, weight = torch.nn.functional, _image(torch, 3, 2, 4, 6, 6), _image(torch, 3, 5, 4, 3, 3)
    tell(torch.func.vmap(lambda x: F.conv2d(x, weight[0]))(x))
    tell(torch.func.vmap(F.conv2d)(x, weight))
    tell(torch.func.vmap(F.conv2d, in_dims=(None, 0))(x[0], weight))
    tell(torch.func.vmap(torch.func.grad(lambda w, x: F.conv2d(x, w).sin().sum()))(weight, x))
    tell(torch.func.jvp(F.conv2d, (x[0], weight[0]), (x[1], weight[1])))
    tell(torch.func.jvp(lambda x: F.max_pool2d(x, 2), (x[0],), (x[1],)))
    for f in (
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.avg_pool2d(x, 2),
        lambda x: F.adaptive_avg_pool2d(x, 4),
        lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
        lambda x: F.pixel_shuffle(x, 2),
    ):
        tell(torch.func.vmap(f)(x), torch.func.jvp(f, (x[0],), (x[1],)))


# ---- modules


@same_story
def test_modules_from_a_seed(torch: Any, tell: Any) -> None:
    nn = torch.nn
    torch.manual_seed(1)
    x = _image(torch, 2, 4, 9, 9)
    for module in (
        nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2),
        nn.Conv2d(4, 6, 3, padding=2, padding_mode="reflect", bias=False),
        nn.Conv2d(4, 6, (3, 2), padding="same", dilation=2),
        nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1),
        nn.LazyConv2d(5, 3),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.AvgPool2d(3, 2),
        nn.AdaptiveAvgPool2d((None, 3)),
        nn.LPPool2d(2, 2),
        nn.ZeroPad2d((1, 2, 0, 1)),
        nn.CircularPad2d(2),
        nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.PixelShuffle(2),
        nn.ChannelShuffle(2),
        nn.Unfold(3),
    ):
        module = module.double()
        tell(repr(module), module(x), repr(module), module.state_dict())


@same_story
def test_modules_refuse(torch: Any, tell: Any) -> None:
    nn = torch.nn
    for make in (
        lambda: nn.Conv2d(4, 6, 3, groups=3),
        lambda: nn.Conv2d(4, 6, 3, groups=0),
        lambda: nn.Conv2d(4, 6, 3, padding="same", stride=2),
        lambda: nn.ConvTranspose2d(4, 6, 3, padding_mode="reflect"),
        lambda: nn.ConvTranspose2d(4, 6, 3, 2)(torch.ones(1, 4, 8, 8), output_size=(20, 20)),
        lambda: nn.LazyConv2d(4, 3)(torch.ones(8, 8)),
        lambda: nn.FractionalMaxPool2d(3),
        lambda: nn.FractionalMaxPool2d(3, output_ratio=1.5),
    ):
        try:
            make()
        except (ValueError, RuntimeError) as error:
            tell(type(error).__name__, str(error))


@same_story
def test_many_distances_are_those_of_few(torch, tell):
    """Differences of one vector at a time, and all at once, give the same."""
    x = (torch.arange(90 * 40) * 37 % 101 / 16).view(90, 40)
    for d in (torch.float32, torch.float64):
        for p in (0, 1, 2, 3, float("inf")):
            made = torch.nn.functional.pdist(x.to(d), p)
            tell(made.dtype, made.shape, made[::100].tolist())
    few = torch.cat([torch.nn.functional.pdist(x[i : i + 2]) for i in range(89)])
    rows = torch.triu_indices(90, 90, 1)
    tell(torch.allclose(torch.nn.functional.pdist(x)[rows[1] - rows[0] == 1], few))
