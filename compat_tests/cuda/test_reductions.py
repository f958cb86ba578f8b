"""What is reduced, normalized or pooled in one launch: values and gradients beside the CPU's, also of halves."""

import pytest

import torchlite as torch

from .test_kernels import alike, numbers

F = torch.nn.functional
TYPES = {torch.float32: 1e-5, torch.float64: 1e-11, torch.float16: 4e-3, torch.bfloat16: 3e-2}
INF, NAN = float("inf"), float("nan")

REDUCTIONS = {
    "amax": lambda x, *d: x.amax(*d), "amin": lambda x, *d: x.amin(*d),
    "norm": lambda x, *d: torch.linalg.vector_norm(x, 2, *d),
    "norm 1": lambda x, *d: torch.linalg.vector_norm(x, 1, *d),
    "norm inf": lambda x, *d: torch.linalg.vector_norm(x, INF, *d),
    "norm -inf": lambda x, *d: torch.linalg.vector_norm(x, -INF, *d),
    "norm 3": lambda x, *d: torch.linalg.vector_norm(x, 3, *d), "std": lambda x, *d: x.std(*d),
    "var": lambda x, *d: x.var(*d), "logsumexp": lambda x, *d: x.logsumexp(*(d or ((0, 1, 2),))),
    "var_mean": lambda x, *d: sum(torch.var_mean(x, *d)), "sum": lambda x, *d: x.sum(*d),
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", TYPES)
def test_reductions(name, dtype):
    x, f, near = numbers(3, 5, 4).to(dtype), REDUCTIONS[name], TYPES[dtype]
    for dims in ((), (1,), ((-1, 0),)):
        alike(lambda t, dims=dims: f(t, *dims), x, rtol=near, atol=near)
    alike(lambda t: f(t.transpose(0, 2), 1), x, rtol=near, atol=near)


@pytest.mark.parametrize("name", ["max", "min", "prod"])
def test_reductions_of_all(name):
    alike(lambda x: getattr(x, name)(), torch.tensor([[1.0, 3.0, -2.0], [3.0, -2.0, 0.5]]))
    alike(lambda x: getattr(x, name)(), torch.tensor([1.0, NAN, -2.0]))


@pytest.mark.parametrize("name", [name for name in REDUCTIONS if name != "sum"])
def test_reductions_of_what_is_not_finite(name):
    f, rows = (
        REDUCTIONS[name],
        [[1.0, INF, 2.0], [1.0, NAN, 2.0], [-INF, -INF, -INF], [1.0, -INF, 0.0], [0.0, -0.0, 0.0]],
    )
    one, other = [f(torch.tensor(rows, device=d), 1).cpu() for d in ("cpu", "cuda")]
    torch.testing.assert_close(other, one, equal_nan=True)


def test_variances_of_what_is_far_from_zero():
    x = numbers(4, 300) + 1e4
    for f in (torch.var, torch.std):
        torch.testing.assert_close(f(x.cuda(), 1).cpu(), f(x, 1), rtol=1e-4, atol=0)
        torch.testing.assert_close(f(x.cuda()[:, :1], 1, correction=0).cpu(), torch.zeros(4))
    with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
        assert x.cuda()[:, :1].var(1).isnan().all()


def test_the_norm_of_a_large_number_is_its_size():
    assert torch.tensor([[3e38], [-2e-40]], device="cuda").norm(dim=1).tolist() == pytest.approx([3e38, 2e-40])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape, groups", [((2, 4, 3), 2), ((3, 6, 2, 5), 3), ((2, 4), 1), ((2, 6, 40, 9), 6)])
def test_group_norm(shape, groups, dtype):
    near, x = TYPES[dtype] * 8, numbers(*shape).to(dtype)
    alike(lambda x: F.group_norm(x, groups), x, rtol=near, atol=near)
    parameters = [numbers(shape[1]).to(dtype) for _ in "wb"]
    alike(lambda x, w, b: F.group_norm(x, groups, w, b), x, *parameters, rtol=near, atol=near)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape, last", [((3, 5), (5,)), ((2, 3, 4), (3, 4)), ((40, 300), (300,))])
def test_rms_norm(shape, last, dtype):
    near, x, w = TYPES[dtype] * 8, numbers(*shape).to(dtype), numbers(*last).to(dtype)
    alike(lambda x: F.rms_norm(x, last), x, rtol=near, atol=near)
    alike(lambda x, w: F.rms_norm(x, last, w, 1e-3), x, w, rtol=near, atol=near)


def test_rms_norm_is_one_node_that_differentiates_again():
    x, w = numbers(3, 5).double(), numbers(5).double()
    made = F.rms_norm(x.cuda().requires_grad_(), (5,), w.cuda())
    assert type(made.grad_fn).__name__ == "FusedRmsNormBackward0"

    def bent(x, w):
        (slope,) = torch.autograd.grad(F.rms_norm(x, (5,), w).pow(3).sum(), x, create_graph=True)
        return slope.pow(2)

    alike(bent, x, w, rtol=1e-10, atol=1e-10)
    batched = torch.vmap(lambda t: F.rms_norm(t, (5,), w.cuda()))(x.cuda())
    torch.testing.assert_close(batched.cpu(), F.rms_norm(x, (5,), w))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("shape", [(5, 4), (3, 4, 5), (2, 4, 5, 6)])
def test_batch_norm_of_running_statistics(shape, dtype):
    mean, var, near = numbers(4), numbers(4).abs() + 0.5, TYPES[dtype]
    x, parameters = numbers(*shape).to(dtype), [numbers(4), numbers(4)]

    def call(x, *parameters):
        return F.batch_norm(
            x, mean.to(x.device, parameters[0].dtype), var.to(x.device, parameters[0].dtype), *parameters
        )

    alike(
        call, x, *[p.to(torch.float32 if dtype is torch.bfloat16 else dtype) for p in parameters], rtol=near, atol=near
    )


AVERAGES = {
    "plain": lambda x: F.avg_pool2d(x, 2), "steps": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "without padding": lambda x: F.avg_pool2d(x, (3, 2), 2, 1, count_include_pad=False),
    "up": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
    "divisor": lambda x: F.avg_pool2d(x, 2, divisor_override=3),
    "rows": lambda x: F.avg_pool1d(x[0], 3, 2, 1), "volumes": lambda x: F.avg_pool3d(x, 2, 1, 1),
    "adaptive": lambda x: F.adaptive_avg_pool2d(x, (3, 7)), "uneven": lambda x: F.adaptive_avg_pool2d(x, (4, 5)),
    "nearest": lambda x: F.interpolate(x, scale_factor=2.0),
    "bilinear": lambda x: F.interpolate(x, (5, 11), mode="bilinear"),
    "bicubic": lambda x: F.interpolate(x, (5, 11), mode="bicubic", align_corners=True),
    "largest": lambda x: F.adaptive_max_pool2d(x, (3, 7)),
    "largest, uneven": lambda x: F.adaptive_max_pool2d(x, (4, 5)),
    "innermost channels": lambda x: F.avg_pool2d(x.contiguous(memory_format=torch.channels_last), 3, 2, 1),
}  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", AVERAGES)
def test_pools_and_resampling(name, dtype):
    if name == "volumes" and dtype.itemsize == 2:
        pytest.skip("which the CPU has no kernel for")
    near = TYPES[dtype]
    alike(AVERAGES[name], numbers(2, 3, 6, 7).to(dtype), rtol=near, atol=near)


LOSSES = {
    "mse": F.mse_loss, "smooth_l1": F.smooth_l1_loss, "huber": lambda x, y, **r: F.huber_loss(x, y, delta=0.7, **r),
    "smooth_l1, 0": lambda x, y, **r: F.smooth_l1_loss(x, y, beta=0, **r),
    "soft_margin": lambda x, y, **r: F.soft_margin_loss(x, y.detach().sign(), **r),
    "bce": lambda x, y, **r: F.binary_cross_entropy(x.sigmoid(), y.detach().sigmoid(), **r),
    "bce_with_logits": lambda x, y, **r: F.binary_cross_entropy_with_logits(x, y.detach().sigmoid(), **r),
    "bce_with_logits, weighted": lambda x, y, **r: F.binary_cross_entropy_with_logits(
        x, y.detach().sigmoid(), y.detach().abs(), pos_weight=y.detach()[0].abs(), **r
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, dtype):
    near, f = TYPES[dtype] * 2, LOSSES[name]
    x, y = numbers(6, 5).to(dtype), numbers(5, 6).to(dtype) + 0.5
    for reduction in ("mean", "sum", "none"):
        alike(lambda x, r=reduction: f(x, y.t().contiguous().to(x.device), reduction=r), x, rtol=near, atol=near)
        alike(lambda x, r=reduction: f(x, y.t().to(x.device), reduction=r), x, rtol=near, atol=near)
    if name in ("mse", "huber"):
        alike(f, x, x * 0.9, rtol=near, atol=near)
