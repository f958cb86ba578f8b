"""Optimizers whose formula is one kernel over all their parameters, beside the same steps on the host."""

import pytest

import torchlite as torch
from torchlite.testing import cuda_on_host

O = torch.optim
EXACT, ROUNDED = {"rtol": 1e-5, "atol": 1e-6}, {"rtol": 1e-2, "atol": 2e-2}  # of halves, at each store
DTYPES = {
    **dict.fromkeys((torch.float32, torch.float64, torch.complex64), EXACT),
    **dict.fromkeys((torch.float16, torch.bfloat16), ROUNDED),
}
ALGORITHMS = {
    "SGD": [{}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, {"momentum": 0.9, "dampening": 0.3}],
    "Adam": [{}, {"amsgrad": True, "weight_decay": 0.1}, {"maximize": True}],
    "AdamW": [{}, {"amsgrad": True, "maximize": True}],
    "RMSprop": [{}, {"centered": True, "momentum": 0.9, "weight_decay": 0.1}],
    "Adagrad": [{}, {"weight_decay": 0.1, "maximize": True}],
    "Adadelta": [{}, {"weight_decay": 0.1}],
    "Adamax": [{}, {"weight_decay": 0.1}],
    "NAdam": [{}, {"weight_decay": 0.1, "decoupled_weight_decay": True}],
    "RAdam": [{}, {"weight_decay": 0.1}],
    "Rprop": [{}, {"maximize": True}],
    "ASGD": [{}, {"t0": 1, "weight_decay": 0.1}],
}
CASES = [(name, options) for name, several in ALGORITHMS.items() for options in several]


def numbers(*shape, dtype=torch.float32, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def trained(name, options, device, dtype, shapes, steps=7):
    params = [numbers(*shape, dtype=dtype, seed=i).to(device).requires_grad_() for i, shape in enumerate(shapes)]
    optimizer = getattr(O, name)(params, lr=0.05, **options)
    for step in range(steps):
        for i, p in enumerate(params):
            p.grad = numbers(*p.shape, dtype=dtype, seed=100 * step + i).to(device)
        optimizer.step()
    return params, optimizer


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name, options", CASES, ids=lambda case: str(case))
def test_steps_are_those_of_the_host(name, options, dtype):
    shapes, near = [(3, 5), (), (7,), (0,), (70, 70)], DTYPES[dtype]
    (ours, one), (theirs, other) = [trained(name, options, device, dtype, shapes) for device in ("cuda", "cpu")]
    for mine, their in zip(ours, theirs):
        torch.testing.assert_close(mine.detach().cpu(), their.detach(), **near)
        for key, value in other.state[their].items():
            torch.testing.assert_close(one.state[mine][key].cpu(), value, **near)


def test_more_parameters_than_one_launch_has_room_for():
    (ours, _), (theirs, _) = [
        trained("AdamW", {}, device, torch.float32, [(n % 7, 3) for n in range(300)], 2) for device in ("cuda", "cpu")
    ]
    for mine, their in zip(ours, theirs):
        torch.testing.assert_close(mine.detach().cpu(), their.detach())


def test_parameters_without_elements():
    (p,), _ = trained("Adam", {}, "cuda", torch.float32, [(0, 3)])
    assert p.shape == (0, 3)


def test_parameters_and_gradients_that_do_not_lie_in_order():
    found = []
    for device in ("cuda", "cpu"):
        base = numbers(4, 6).to(device)
        p = base.t().requires_grad_()
        q = numbers(6, 4).to(device).requires_grad_()
        optimizer = O.Adam([p, q])
        p.grad, q.grad = numbers(6, 4, seed=2).to(device), numbers(4, 6, seed=3).to(device).t()
        optimizer.step()
        found.append((base.cpu(), q.detach().cpu()))
    for one, other in zip(*found):
        torch.testing.assert_close(one, other)


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_step_is_one_launch(name, dtype):
    _, optimizer = trained(name, {}, "cuda", dtype, [(4, 4)] * 20, 8)
    optimizer.step()
    with cuda_on_host.counted() as tally:
        optimizer.step()
    assert tally.counts.launches == 1, tally.kernels
    assert tally.counts.to_device + tally.counts.to_host + tally.counts.waits == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_gradients_are_clipped_as_on_the_host(dtype):
    found = []
    for device in ("cuda", "cpu"):
        params = [torch.zeros(n % 7, 3, device=device, dtype=dtype, requires_grad=True) for n in range(500)]
        for i, p in enumerate(params):
            p.grad = numbers(*p.shape, seed=i).to(dtype).to(device)
        total = torch.nn.utils.clip_grad_norm_(params, 3.0)
        clipped = [p.grad.cpu().clone() for p in params]
        torch.nn.utils.clip_grad_value_(params, 0.01)
        found.append([total.cpu(), *clipped, *[p.grad.cpu() for p in params]])
    near = {"rtol": 2e-3, "atol": 1e-5} if dtype is torch.float16 else {}  # the norm is rounded once, there twice
    for one, other in zip(*found):
        torch.testing.assert_close(one, other, **near)


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("dtype, most", [(torch.float32, 8), (torch.float16, 9), (torch.bfloat16, 9)])
def test_clipping_is_few_launches(dtype, most):
    params = [torch.zeros(4, 4, device="cuda", dtype=dtype, requires_grad=True) for _ in range(20)]
    for p in params:
        p.grad = torch.ones_like(p)
    for clip, launches in ((torch.nn.utils.clip_grad_norm_, most), (torch.nn.utils.clip_grad_value_, 1)):
        for _ in range(3):  # the second time leaves plans, whose constants are filled in once
            clip(params, 3.0)
        with cuda_on_host.counted() as tally:
            clip(params, 3.0)
        assert tally.counts.launches <= launches, tally.kernels
        assert tally.counts.to_device + tally.counts.to_host + tally.counts.waits == 0


@pytest.mark.parametrize("name", ["Adadelta", "Adam", "AdamW", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steps_that_are_counted_on_the_device_are_those_counted_on_the_host(name, dtype):
    found = []
    for capturable in (False, True):
        x = torch.linspace(-1, 2, 5, dtype=dtype).cuda().requires_grad_()
        optimizer = getattr(torch.optim, name)([x], lr=0.05, capturable=capturable)
        for _ in range(8):
            optimizer.zero_grad()
            (x**3).sum().backward()
            optimizer.step()
        found.append(x.detach())
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["Adadelta", "Adam", "AdamW", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"])
def test_steps_are_captured_in_graphs(name):
    found = []
    for captured in (False, True):
        x = torch.linspace(-1, 2, 5).cuda().requires_grad_()
        optimizer = getattr(torch.optim, name)([x], lr=0.05, capturable=True)

        def step(x=x, optimizer=optimizer):
            optimizer.zero_grad()
            (x**3).sum().backward()
            optimizer.step()

        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(3 if captured else 8):
                step()
        if captured:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step()
            for _ in range(5):
                graph.replay()
        found.append(x.detach().cpu())
    torch.testing.assert_close(*found)
