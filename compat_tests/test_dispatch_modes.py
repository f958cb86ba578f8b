"""Modes that see operations below autograd: the overloads, their arguments and their order are PyTorch's."""

from __future__ import annotations

import importlib

import pytest

import torchlite

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [torch, torchlite], ids=["torch", "torchlite"])

_UNSEEN = ("profiler.",)  # what PyTorch's profiler is told of optimizers

_WITH_WORKSPACE = ("aten.mkldnn_rnn_layer_backward.default",)  # whose size is up to the machine


def mode_of(lib):
    return importlib.import_module(f"{lib.__name__}.utils._python_dispatch").TorchDispatchMode


def shown(lib, value):
    if isinstance(value, lib.Tensor):
        return "T" + str(list(value.shape))
    if isinstance(value, list | tuple):
        return [shown(lib, v) for v in value]
    return f"{value:.4g}" if isinstance(value, float) else str(value)  # it may have been computed


def seen(lib, program, *inputs):
    """What a mode sees of a program, as text."""
    calls = []

    class Log(mode_of(lib)):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            told = args[:-1] if str(func) in _WITH_WORKSPACE else args
            calls.append((str(func), shown(lib, told), {k: shown(lib, v) for k, v in kwargs.items()}))
            return func(*args, **kwargs)

    with Log():
        program(lib, *inputs)
    return [call for call in calls if not call[0].startswith(_UNSEEN)]


def inputs(lib):
    x = (lib.arange(24, dtype=lib.float32).reshape(4, 6) / 7 - 1).requires_grad_()
    y = lib.arange(24, 0, -1, dtype=lib.float32).reshape(4, 6) / 5
    return x, y


def _convolve(lib, x, y):
    image, kernel = y.reshape(1, 2, 3, 4), y.reshape(4, 2, 3, 1)
    return lib.nn.functional.conv2d(image, kernel, None, (1, 2), (0, 1))


PROGRAMS = {
    "arithmetic": lambda lib, x, y: ((x + y) * 2 - y / 3, x + 1, 2 * x, x.add(y, alpha=2), -x, x**2, x**y),
    "functions": lambda lib, x, y: x.exp().tanh().sigmoid().relu().abs().sqrt().log(),
    "activations": lambda lib, x, y: [
        getattr(lib.nn.functional, name)(x) for name in ("gelu", "silu", "elu", "hardtanh", "softplus", "mish")
    ],
    "sums": lambda lib, x, y: (x.sum(), x.sum(1), x.sum((0, 1), keepdim=True), x.mean(0), x.prod(), x.amax(1)),
    "extremes": lambda lib, x, y: (x.max(), x.max(1), x.min(0), x.argmax(1), x.var(1), x.logsumexp(1), x.cumsum(0)),
    "views": lambda lib, x, y: (x.view(6, 4), x.t(), x.T, x.transpose(0, 1), x.permute(1, 0), x.expand(2, 4, 6)),
    "pieces": lambda lib, x, y: (x[0], x[:, 1:3], x[1:, 0], x[None].squeeze(0), x.chunk(2), x.split(2), x.unbind()),
    "indices": lambda lib, x, y: (
        x[lib.tensor([0, 1])], x[y > 3], x.gather(1, lib.tensor([[0], [1]])), x.index_select(0, lib.tensor([1])),
    ),
    "products": lambda lib, x, y: (x @ y.t(), x @ y[0], lib.bmm(x[None], y.t()[None]), x[None] @ y.t()),
    "linear": lambda lib, x, y: lib.nn.functional.linear(x, y, y[:, 0]),
    "convolution": _convolve,
    "norms": lambda lib, x, y: (
        lib.softmax(x, 1), lib.log_softmax(x, -1), lib.nn.functional.layer_norm(x, (6,), y[0], y[1]),
    ),
    "choices": lambda lib, x, y: (lib.where(x > 0, x, y), x.clamp(0, 1), lib.maximum(x, y), x.masked_fill(y > 2, 0.0)),
    "comparisons": lambda lib, x, y: (x > 0, x == y, x.ne(1), (x > y) & (y > 1), x.isnan().any(), (x > 0).all()),
    "joining": lambda lib, x, y: (lib.cat([x, y]), lib.stack([x, y], 1)),
    "making": lambda lib, x, y: (
        lib.zeros(2, 3), lib.ones(2, dtype=lib.int64), lib.empty(2), lib.full((2,), 3.0), lib.zeros_like(x), lib.eye(2),
    ),
    "in place": lambda lib, x, y: y.clone().add_(1).mul_(2).relu_().clamp_(min=0).copy_(y).zero_(),
    "conversions": lambda lib, x, y: (x.double(), x.to(lib.float16), x.clone(), x.t().contiguous(), x.float()),
    "loss": lambda lib, x, y: lib.nn.functional.cross_entropy(x, lib.tensor([0, 1, 2, 3])),
    "backward of functions": lambda lib, x, y: lib.autograd.grad((x * y).relu().softmax(1), x, y),
    "backward of activations": lambda lib, x, y: [
        lib.autograd.grad(f(x).sum(), x)
        for f in (lib.tanh, lib.sigmoid, lib.exp, lib.sqrt, *[
            getattr(lib.nn.functional, name) for name in (
                "gelu", "silu", "elu", "hardtanh", "softplus", "mish", "leaky_relu", "hardswish",
            )
        ])
    ],
    "backward of arithmetic": lambda lib, x, y: lib.autograd.grad((x * 2 + x / y - x / 3 + 1 - 3 * x).sum(), x),
    "backward of sums": lambda lib, x, y: lib.autograd.grad(x.sum() + x.mean() + x.sum(1).mean() + x.mean(0).sum(), x),
    "backward of linear": lambda lib, x, y: lib.autograd.grad(
        lib.nn.functional.linear(x, y).sum() + lib.nn.functional.linear(y, x).exp().sum(), x
    ),
    "backward of products": lambda lib, x, y: lib.autograd.grad(
        (x @ y.t()).sum() + lib.bmm(y[None], x[None].mT).sum(), x
    ),
    "backward of convolution": lambda lib, x, y: lib.autograd.grad(
        lib.nn.functional.conv2d(x.view(1, 2, 3, 4), y.view(4, 2, 3, 1)).sum(), x
    ),
    "backward of norms": lambda lib, x, y: lib.autograd.grad(
        (lib.nn.functional.layer_norm(x, (6,), y[0], y[1]) * lib.log_softmax(x, 1)).sum(), x
    ),
    "backward of losses": lambda lib, x, y: [
        lib.autograd.grad(loss, x) for loss in (
            lib.nn.functional.cross_entropy(x, lib.tensor([0, 1, 2, 3])), lib.nn.functional.mse_loss(x, y),
            lib.nn.functional.smooth_l1_loss(x, y),
        )
    ],
    "backward of views": lambda lib, x, y: lib.autograd.grad(
        (x.view(6, 4).t()[1:, :2].reshape(-1) * 1).sum() + x[0].sum() + x.unsqueeze(0).permute(2, 0, 1).sum(), x
    ),
    "backward of an embedding": lambda lib, x, y: lib.autograd.grad(
        lib.nn.functional.embedding(lib.tensor([0, 1]), x).sum(), x
    ),
    "backward to leaves": lambda lib, x, y: (x * x).sum().backward(),
    "values": lambda lib, x, y: (x.sum().item(), bool((x > 0).any()), lib.tensor(1.0) + 1),
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_mode_sees_what_it_sees_of_pytorch(program):
    assert seen(torchlite, program, *inputs(torchlite)) == seen(torch, program, *inputs(torch))


@BOTH
def test_gradients_and_writes_are_those_without_a_mode(lib):
    functional, found = lib.nn.functional, []
    for inside in (False, True):
        lib.manual_seed(0)
        model = lib.nn.Sequential(
            lib.nn.Conv2d(1, 2, 3), lib.nn.ReLU(), lib.nn.MaxPool2d(2), lib.nn.Flatten(), lib.nn.LayerNorm(8),
            lib.nn.Linear(8, 3),
        )  # fmt: skip
        x = lib.linspace(-1, 1, 72).reshape(2, 1, 6, 6)

        class Through(mode_of(lib)):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))

        def step(model=model, x=x):
            loss = functional.cross_entropy(model(x), lib.tensor([0, 2]))
            loss.backward()
            with lib.no_grad():
                for p in model.parameters():
                    p.sub_(p.grad, alpha=0.1)
            return loss.item()

        if inside:
            with Through():
                loss = step()
        else:
            loss = step()
        found.append([loss, *[p.flatten().tolist() for p in model.parameters()]])
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-6)
    for a, b in zip(found[0][1:], found[1][1:], strict=True):
        assert a == pytest.approx(b, rel=1e-5, abs=1e-7)


@BOTH
def test_modes_nest_and_take_the_place_of_operations(lib):
    dispatch = importlib.import_module(f"{lib.__name__}.utils._python_dispatch")
    told = []

    class Named(dispatch.TorchDispatchMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            told.append((self.name, str(func), dispatch._get_current_dispatch_mode() is not None))
            if func is lib.ops.aten.mul.Tensor and self.name == "inner":
                func = lib.ops.aten.add.Tensor
            return func(*args, **(kwargs or {}))

    x = lib.ones(2, requires_grad=True)
    with Named("outer") as outer:
        with Named("inner") as inner:
            assert dispatch._get_current_dispatch_mode_stack() == [outer, inner]
            result = x * 3
        assert dispatch._get_current_dispatch_mode() is outer
        with dispatch._disable_current_modes():
            assert x.exp().requires_grad
    assert told == [("inner", "aten.mul.Tensor", True), ("outer", "aten.add.Tensor", False)]
    assert result.tolist() == [4, 4]
    assert result.requires_grad
    assert dispatch._get_current_dispatch_mode() is None


@BOTH
def test_what_a_handler_raises_ends_the_mode(lib):
    class Refusing(mode_of(lib)):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise KeyError(str(func))

    x = lib.ones(2)
    for call in (lambda: x + 1, lambda: x[0], lambda: x.add_(1), lambda: lib.zeros(1)):
        with pytest.raises(KeyError, match="aten"), Refusing():
            call()
    assert x.tolist() == [1, 1]
    assert (x + 1).tolist() == [2, 2]


def _flops(lib):
    counter = importlib.import_module(f"{lib.__name__}.utils.flop_counter")
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 6, 3, stride=2, groups=2), nn.ConvTranspose2d(6, 3, 3),
        nn.Flatten(), nn.Linear(108, 5),
    )  # fmt: skip
    x, a = lib.ones(2, 3, 9, 9), lib.ones(2, 4, 5, requires_grad=True)
    with counter.FlopCounterMode(display=False) as forward:
        model(x)
    with counter.FlopCounterMode(display=False) as both:
        model(x).sum().backward()
        (a @ a.mT).sum().backward()
        lib.baddbmm(lib.zeros(2, 4, 4), a, a.mT)
        nn.functional.linear(a, lib.ones(3, 5))
    return [
        (mode.get_total_flops(), {n: {str(p): c for p, c in of.items()} for n, of in mode.get_flop_counts().items()})
        for mode in (forward, both)
    ]


def test_operations_are_counted_as_pytorch_counts_them():
    assert _flops(torchlite) == _flops(torch)
