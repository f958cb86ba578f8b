"""The fused kernels beside the ops' own over NumPy: the same calls on both devices, and their gradients."""

import pytest

import torchlite as torch

F = torch.nn.functional


def alike(f, *inputs, rtol=1e-5, atol=1e-6):
    """What `f` gives on both devices, and the gradients of its floating-point inputs."""
    found = []
    for device in ("cpu", "cuda"):
        given = [t.to(device).detach().requires_grad_(t.is_floating_point()) for t in inputs]
        made = f(*given)
        g = torch.randn(made.shape, generator=torch.Generator().manual_seed(5), dtype=made.dtype).to(device)
        made.backward(g)
        found.append([made, *[t.grad for t in given if t.requires_grad]])
    for one, other in zip(*found):
        assert one.dtype is other.dtype
        torch.testing.assert_close(one, other.cpu(), rtol=rtol, atol=atol, equal_nan=True)


def numbers(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=dtype) * 3


ACTIVATIONS = {
    "relu": F.relu, "sigmoid": torch.sigmoid, "silu": F.silu, "gelu": F.gelu, "mish": F.mish, "erf": torch.erf,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "hardswish": F.hardswish, "leaky_relu": F.leaky_relu,
    "softplus": F.softplus, "erfc": torch.erfc, "lerp": lambda x: torch.lerp(x, x * 2, 0.7),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_activations(name, dtype):
    tolerance = 2e-3 if dtype is torch.float16 else 1e-5
    x = torch.cat([numbers(5, 7).to(dtype).flatten(), torch.tensor([0.0, -0.0, 30.0, -30.0], dtype=dtype)])
    alike(ACTIVATIONS[name], x, rtol=tolerance, atol=tolerance)
    alike(lambda t: ACTIVATIONS[name](t.t()), numbers(5, 7).to(dtype), rtol=tolerance, atol=tolerance)


def test_activations_of_nan_infinity_and_minus_zero():
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0])
    for name in ("relu", "sigmoid", "silu", "gelu", "softplus"):
        one, other = ACTIVATIONS[name](x), ACTIVATIONS[name](x.cuda()).cpu()
        torch.testing.assert_close(one, other, equal_nan=True)
        assert torch.equal(torch.signbit(one[1:]), torch.signbit(other[1:]))


@pytest.mark.parametrize("f", [F.softmax, F.log_softmax])
@pytest.mark.parametrize(
    "shape, dim", [((3, 5), -1), ((3, 5), 0), ((2, 4, 3), 1), ((2, 700), 1), ((6,), 0), ((2, 1), 1)]
)
def test_softmax(f, shape, dim):
    alike(lambda x: f(x, dim), numbers(*shape))
    alike(lambda x: f(x, dim), numbers(*shape, dtype=torch.float64), rtol=1e-12, atol=1e-12)


def test_softmax_of_what_is_large_or_transposed():
    alike(lambda x: F.softmax(x, 1), torch.tensor([[1e30, 1.0, -1e30], [-float("inf"), 0.0, 1.0]]))
    alike(lambda x: F.log_softmax(x.t(), 1), numbers(4, 6))
    assert F.softmax(torch.full((1, 2), -float("inf"), device="cuda"), 1).isnan().all()


@pytest.mark.parametrize(
    "shape, normalized", [((3, 5), (5,)), ((2, 3, 4), (3, 4)), ((2, 600), (600,)), ((40, 33), (33,))]
)
@pytest.mark.parametrize("affine", [True, False])
def test_layer_norm(shape, normalized, affine):
    parameters = [numbers(*normalized), numbers(*normalized)] if affine else []
    alike(lambda x, *wb: F.layer_norm(x, normalized, *wb), numbers(*shape), *parameters, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(5, 4), (2, 4, 3), (2, 4, 3, 2), (4,)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [True, False])
def test_cross_entropy(shape, reduction, weighted):
    classes = shape[1] if len(shape) > 1 else shape[0]
    target = torch.randint(0, classes, (shape[0], *shape[2:]) if len(shape) > 1 else ())
    weight = torch.rand(classes) + 0.5 if weighted else None

    def loss(x):
        there = None if weight is None else weight.to(x.device)
        return F.cross_entropy(x, target.to(x.device), there, ignore_index=1, reduction=reduction)

    alike(loss, numbers(*shape), atol=1e-5)


@pytest.mark.parametrize("shape", [(5, 4), (3, 4, 5), (2, 4, 5, 6)])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm(shape, affine):
    parameters = [numbers(4), numbers(4)] if affine else []
    alike(lambda x, *wb: F.batch_norm(x, None, None, *wb, training=True), numbers(*shape), *parameters, atol=1e-5)
    running = {}
    for device in ("cpu", "cuda"):
        module = torch.nn.BatchNorm1d(4, affine=affine).to(device)
        for scale in (1, 2):
            module(numbers(7, 4).to(device) * scale)
        running[device] = [module.running_mean.cpu(), module.running_var.cpu(), module.num_batches_tracked.cpu()]
        running[device].append(module.eval()(numbers(2, 4).to(device)).detach().cpu())
    torch.testing.assert_close(running["cpu"], running["cuda"])


@pytest.mark.parametrize("padding", [None, 1])
def test_embedding(padding):
    indices = torch.tensor([[1, 3, 1], [0, 1, 4]])
    alike(lambda w: F.embedding(indices.to(w.device), w, padding_idx=padding), numbers(5, 3))
    with pytest.raises(torch.AcceleratorError, match="index 9 is out of range"):
        F.embedding(torch.tensor([0, 9], device="cuda"), numbers(5, 3).cuda()).cpu()


def test_a_target_that_is_no_class_is_told_at_the_next_wait():
    loss = F.cross_entropy(torch.zeros(2, 3, device="cuda"), torch.tensor([1, 7], device="cuda"))
    with pytest.raises(torch.AcceleratorError, match=r"device-side assert triggered\nTarget 7 is out of bounds"):
        loss.item()
    assert torch.ones(2, device="cuda").sum().item() == 2
