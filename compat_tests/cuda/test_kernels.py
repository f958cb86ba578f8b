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
    target = torch.randint(0, classes, (*shape[2:], shape[0]) if len(shape) > 1 else ())
    target = target.movedim(-1, 0) if len(shape) > 2 else target
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
    for given in (indices, indices.t()[1:], indices.int()):
        alike(lambda w, i=given: F.embedding(i.to(w.device), w, padding_idx=padding), numbers(5, 3))
        alike(lambda w, i=given: F.embedding(i.to(w.device), w, padding_idx=padding).transpose(0, 1), numbers(5, 3))
    with pytest.raises(torch.AcceleratorError, match="index 9 is out of range"):
        F.embedding(torch.tensor([0, 9], device="cuda"), numbers(5, 3).cuda()).cpu()


def test_a_target_that_is_no_class_is_told_at_the_next_wait():
    loss = F.cross_entropy(torch.zeros(2, 3, device="cuda"), torch.tensor([1, 7], device="cuda"))
    with pytest.raises(torch.AcceleratorError, match=r"device-side assert triggered\nTarget 7 is out of bounds"):
        loss.item()
    assert torch.ones(2, device="cuda").sum().item() == 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_what_is_no_probability_is_told_at_the_next_wait(dtype):
    target = torch.ones(3, device="cuda", dtype=dtype)
    assert F.binary_cross_entropy(torch.tensor([0, 0.5, 1], device="cuda", dtype=dtype), target).item() > 30
    for wrong in (1.01, -0.01, torch.nan):
        loss = F.binary_cross_entropy(torch.tensor([0, 0.5, wrong], device="cuda", dtype=dtype), target)
        with pytest.raises(torch.AcceleratorError, match="between 0 and 1"):
            loss.item()


def test_one_hot_vectors():
    indices = torch.tensor([[0, 2], [1, 2]])
    for classes in (-1, 3, 5):
        assert torch.equal(F.one_hot(indices.cuda(), classes).cpu(), F.one_hot(indices, classes))
    with pytest.raises(torch.AcceleratorError, match="index 2 is out of range"):
        F.one_hot(indices.cuda(), 2).cpu()


CONVOLUTIONS = {
    "1d": (F.conv1d, (3, 4, 11), (6, 4, 3), {"stride": 2, "padding": 1}),
    "2d": (F.conv2d, (2, 3, 9, 8), (4, 3, 3, 2), {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}),
    "2d of one tap": (F.conv2d, (2, 3, 5, 4), (4, 3, 1, 1), {}),
    "2d in groups": (F.conv2d, (2, 6, 9, 8), (4, 3, 3, 3), {"groups": 2, "padding": 2}),
    "2d by channel": (F.conv2d, (2, 4, 9, 8), (8, 1, 3, 3), {"groups": 4, "padding": 1}),
    "3d": (F.conv3d, (2, 2, 5, 6, 4), (3, 2, 2, 3, 2), {"padding": 1}),
    "transposed 1d": (F.conv_transpose1d, (2, 4, 7), (4, 3, 3), {"stride": 2, "output_padding": 1}),
    "transposed 2d": (
        F.conv_transpose2d, (2, 4, 5, 6), (4, 3, 3, 2), {"stride": 2, "padding": 1, "groups": 2, "dilation": (2, 1)}
    ),
    "transposed 3d": (F.conv_transpose3d, (1, 2, 3, 2, 4), (2, 3, 2, 2, 2), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name):
    f, images, weight, options = CONVOLUTIONS[name]
    out = weight[1] * options.get("groups", 1) if "transposed" in name else weight[0]
    for bias in ((numbers(out),), ()):
        alike(lambda x, w, *b: f(x, w, *b, **options), numbers(*images), numbers(*weight), *bias, rtol=1e-4, atol=1e-4)
    double = [numbers(*shape, dtype=torch.float64) for shape in (images, weight, (out,))]
    alike(lambda x, w, b: f(x, w, b, **options), *double, rtol=1e-10, atol=1e-10)


def test_convolutions_of_images_in_other_layouts():
    for x in (numbers(2, 3, 6, 6).to(memory_format=torch.channels_last), numbers(3, 2, 6, 6).transpose(0, 1)):
        alike(lambda t: F.conv2d(t, torch.ones(4, 3, 2, 2, device=t.device)), x, rtol=1e-4, atol=1e-4)


POOLS = {
    "2d": ((2, 3, 8, 9), dict(kernel_size=2)),
    "2d that overlap": ((2, 3, 8, 9), dict(kernel_size=3, stride=2, padding=1)),
    "2d dilated": ((3, 8, 9), dict(kernel_size=(2, 3), stride=1, dilation=2, ceil_mode=True)),
    "3d": ((2, 2, 5, 4, 6), dict(kernel_size=2, stride=(1, 2, 1), padding=1)),
}  # fmt: skip


@pytest.mark.parametrize("name", POOLS)
def test_max_pools(name):
    shape, options = POOLS[name]
    f = F.max_pool3d if "3d" in name else F.max_pool2d
    x = numbers(*shape).round()  # with several largest values in a window
    alike(lambda t: f(t, **options), x)
    x.view(-1)[::7] = float("nan")
    alike(lambda t: f(t, **options), x)
    alike(lambda t: f(t, **options, return_indices=True)[0], x)
    one, other = [f(t, **options, return_indices=True)[1] for t in (x, x.cuda())]
    assert torch.equal(one, other.cpu())


MASKS = {
    "none": lambda q, k: None,
    "bool": lambda q, k: numbers(q, k) > -2,
    "bool of batches": lambda q, k: numbers(2, 1, q, k) > 0,
    "float of heads": lambda q, k: numbers(3, q, 1).expand(3, q, k),
    "nothing left": lambda q, k: torch.zeros(q, k, dtype=torch.bool),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(
    "queries, keys, width, value_width",
    [(6, 6, 8, 8), (3, 34, 5, 33), (33, 2, 4, 1), (1, 1, 1, 2)],
)
def test_attention(mask, queries, keys, width, value_width):
    given = MASKS[mask](queries, keys)

    def attend(q, k, v):
        m = None if given is None else given.to(q.device)
        return F.scaled_dot_product_attention(q, k, v, m, is_causal=mask == "none" and keys > 6)

    operands = numbers(2, 3, queries, width), numbers(2, 3, keys, width), numbers(2, 3, keys, value_width)
    alike(attend, *operands, rtol=1e-4, atol=1e-4)
    if mask in ("none", "float of heads"):
        alike(attend, *[t[0].double() for t in operands], rtol=1e-10, atol=1e-10)


def _told_with_dropout(attend, dtype, again, *shapes):
    """What attention with dropout gives, its gradients and, if they are asked for `again`, those of these."""
    operands = [(numbers(*shape) / 3).to("cuda", dtype).requires_grad_() for shape in shapes]
    torch.cuda.manual_seed(5)
    made = attend(*operands)
    found = [made, *torch.autograd.grad((made * made).sum(), operands, create_graph=again)]
    if again:
        found += torch.autograd.grad(sum((g * g).sum() for g in found[1:]), operands)
    return found


@pytest.mark.parametrize("dtype, near", [(torch.float32, 1e-4), (torch.float64, 1e-10), (torch.bfloat16, 0.1)])
@pytest.mark.parametrize("causal, again", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("lead, queries, keys", [((2, 3), 7, 7), ((3,), 2, 70), ((), 35, 3)])
def test_attention_drops_the_weights_that_dropout_does(dtype, near, causal, again, lead, queries, keys):
    def in_steps(q, k, v):
        scores = q @ k.mT / 2
        if causal:
            scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -float("inf"))
        return F.dropout(scores.softmax(-1), 0.4) @ v

    shapes = (*lead, queries, 4), (*lead, keys, 4), (*lead, keys, 6)
    wanted = _told_with_dropout(in_steps, dtype, again, *shapes)
    found = _told_with_dropout(
        lambda *qkv: F.scaled_dot_product_attention(*qkv, None, 0.4, causal), dtype, again, *shapes
    )
    assert type(found[0].grad_fn).__name__ == "ScaledDotProductEfficientAttentionBackward0"
    for one, other in zip(wanted, found):
        torch.testing.assert_close(other, one, rtol=near, atol=near * one.abs().max().item())


def test_attention_of_heads_that_lie_inside():
    q, k, v = [numbers(2, 7, 3, 8).transpose(1, 2) for _ in range(3)]
    alike(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3), q, k, v, rtol=1e-4, atol=1e-5)
    assert F.scaled_dot_product_attention(q.cuda(), k.cuda(), v.cuda()).stride() == q.stride()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "first, second", [((3, 5), (5, 4)), ((2, 3, 5), (2, 5, 4)), ((2, 3, 5), (5, 4)), ((3, 0), (0, 4))]
)
def test_products_of_halves(dtype, first, second):
    a, b = numbers(*first).to(dtype), numbers(*second).to(dtype)
    alike(torch.matmul, a, b, rtol=0.02, atol=0.1)
    alike(lambda a, b: torch.matmul(a.mT.contiguous().mT, b.mT.contiguous().mT), a, b, rtol=0.02, atol=0.1)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_linear_of_halves(dtype):
    x, w, b = numbers(2, 4, 5).to(dtype), numbers(3, 5).to(dtype), numbers(3).to(dtype)
    alike(F.linear, x, w, b, rtol=0.02, atol=0.1)
    alike(lambda x, w, b: torch.addmm(b, x[0], w.t(), beta=2, alpha=0.5), x, w, b, rtol=0.02, atol=0.1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_indexed_along_a_dimension(dtype):
    x, index = numbers(3, 4, 5, dtype=dtype), torch.tensor([[1, -1, 1], [0, 3, -4]])
    for pick in (
        lambda t, i: t[i % 3], lambda t, i: t[:, i], lambda t, i: t[:, :, i[0]], lambda t, i: t.transpose(0, 2)[i],
        lambda t, i: t[:, i, i], lambda t, i: t[..., i[:0]], lambda t, i: t[i % 3, i, i[0]],
        lambda t, i: t[i % 3, :, i], lambda t, i: t.transpose(0, 1)[i[:, None], i % 3],
    ):  # fmt: skip
        alike(lambda t, pick=pick: pick(t, index.to(t.device)), x, rtol=1e-5, atol=1e-5)
    y = torch.zeros(2, 3, device="cuda")
    y.index_put_((torch.tensor([0, 2], device="cuda"),), torch.ones(2, 3, device="cuda"), accumulate=True)
    with pytest.raises(torch.AcceleratorError, match="index 2 is out of range"):
        y.cpu()
    for wrong in ((5, 0, 0), (0, -5, 0), (0, 0, 7)):
        named = x.cuda()[tuple([torch.tensor([0, at], device="cuda") for at in wrong])]
        with pytest.raises(torch.AcceleratorError, match=rf"index {sum(wrong)} is out of range"):
            named.cpu()


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int32, torch.complex64, torch.uint8]
)
def test_what_is_named_element_by_element(dtype):
    x, y = [numbers(*shape).mul(9).to(dtype) for shape in ((3, 4, 5), (5, 2, 6))]
    y = y.transpose(0, 2)[:2, :, :5]
    index, slices = torch.tensor([[[1, 0, 3, 2, 2], [0, 0, 3, 1, 2]]]).expand(2, 2, 5), torch.tensor([2, 0, 2])

    def on(f, *tensors):
        made = [f(*[t.to(device) for t in tensors]).cpu() for device in ("cpu", "cuda")]
        torch.testing.assert_close(*made)
        assert made[0].stride() == made[1].stride()

    on(lambda x, i: x.gather(1, i), x, index)
    on(lambda x, i: x.mT.gather(-1, i.mT), x, index)
    on(lambda x, i: x.index_select(-1, i), x, slices)
    on(lambda x, i: x[:, 1].index_select(0, i), x, slices)
    once = torch.tensor([[[0, 1, 2, 3, 0], [1, 2, 3, 0, 3]]]).expand(2, 2, 5)
    on(lambda x, y, i: x.scatter(1, i, y), x, y, once)
    on(lambda x, i: x.scatter(1, i, 3), x, once)
    on(lambda x, y, i: x.scatter_add(1, i, y), x, y, index)
    on(lambda x, y, i: x.clone().mT.scatter_add_(2, i.mT, y.mT), x, y, index)
    on(lambda x, i: x.index_add(0, i, x.flip(0)), x, slices)
    on(lambda x, i: x.index_add(0, i, x.flip(0), alpha=2), x, slices)
    with pytest.raises(torch.AcceleratorError, match="4 is out of"):
        x.cuda().gather(1, index.cuda() + 1).cpu()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_are_computed_with_as_floats(dtype):
    x, w, b = numbers(4, 300).to(dtype), numbers(300).to(dtype), numbers(300).to(dtype)
    for f in (
        F.gelu, lambda t: F.gelu(t, approximate="tanh"), F.leaky_relu, torch.erf, F.relu, lambda t: F.softmax(t, 0),
    ):  # fmt: skip
        alike(f, x, rtol=0.01, atol=0.01)
    alike(lambda x, w, b: F.layer_norm(x, (300,), w, b), x, w, b, rtol=0.02, atol=0.05)
    for parameters in ((w[:4], b[:4]), (w[:4].float(), b[:4].float()), ()):
        alike(
            lambda x, *wb: F.batch_norm(x.view(5, 4, 60), None, None, *wb, training=True), x, *parameters, rtol=0.02,
            atol=0.05,
        )  # fmt: skip
    alike(lambda x, w: F.conv1d(x[None], w[:20].reshape(1, 4, 5)), x, w, rtol=0.02, atol=0.5)
    alike(lambda x: F.max_pool1d(x, 3), x)
    q = [numbers(2, 3, 40, 8).to(dtype) for _ in range(3)]
    alike(F.scaled_dot_product_attention, *q, rtol=0.02, atol=0.3)
    alike(lambda w: F.embedding(torch.tensor([1, 0, 1], device=w.device), w), x, rtol=0.01, atol=0.01)
