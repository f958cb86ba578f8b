"""Recurrent layers, a kernel and a product a step, beside the same on the host."""

import copy

import pytest

import torchlite as torch
from torchlite.testing import cuda_on_host

nn = torch.nn
KINDS = {
    "lstm": (nn.LSTM, {}), "gru": (nn.GRU, {}), "tanh": (nn.RNN, {}), "relu": (nn.RNN, {"nonlinearity": "relu"})
}  # fmt: skip
FORMS = {
    "plain": {}, "two layers, both ways": {"num_layers": 2, "bidirectional": True}, "no bias": {"bias": False},
    "batch first": {"batch_first": True, "bidirectional": True},
}  # fmt: skip


def both(make, x, states, dtype=torch.float32):
    """Outputs and gradients on both devices."""
    torch.manual_seed(2)
    model, found = make().to(dtype), []
    for device in ("cpu", "cuda"):
        there = copy.deepcopy(model).to(device)
        given = x.to(device, dtype).detach().requires_grad_()
        first = [s.to(device, dtype).detach().requires_grad_() for s in states]
        y, last = there(given, *([tuple(first) if len(first) > 1 else first[0]] if first else []))
        last = last if isinstance(last, tuple) else (last,)
        loss = (y * y).sum() + sum([(s * (k + 2)).sum() for k, s in enumerate(last)])
        loss.backward()
        grads = [t.grad for t in (given, *first, *there.parameters())]
        found.append([t.detach().cpu() for t in (y, *last, *grads)])
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_layers(kind, form):
    (module, more), options = KINDS[kind], FORMS[form]
    x = torch.randn(4, 4, 3, generator=torch.Generator().manual_seed(3))
    count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    states = torch.randn(2 if kind == "lstm" else 1, count, 4, 5, generator=torch.Generator().manual_seed(4))
    for first in ((), states.unbind(0)):
        for dtype, tolerance in ((torch.float32, 1e-4), (torch.float64, 1e-10)):
            one, other = both(lambda: module(3, 5, **more, **options), x, first, dtype)
            for a, b in zip(one, other, strict=True):
                torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves(dtype):
    x = torch.randn(3, 2, 3, generator=torch.Generator().manual_seed(3))
    for one, other in zip(*both(lambda: nn.GRU(3, 4), x, (), dtype), strict=True):
        torch.testing.assert_close(one, other, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("lengths", [[3, 3], [3, 1]])
def test_packed_sequences(lengths):
    x = torch.randn(3, 2, 4, generator=torch.Generator().manual_seed(3))
    torch.manual_seed(2)
    model, found = nn.LSTM(4, 5, proj_size=0), []
    for device in ("cpu", "cuda"):
        packed = nn.utils.rnn.pack_padded_sequence(x.to(device), lengths)
        y, (h, c) = copy.deepcopy(model).to(device)(packed)
        found.append([t.detach().cpu() for t in (y.data, h, c)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_projected_states_and_cells():
    x = torch.randn(3, 2, 4, generator=torch.Generator().manual_seed(3))
    for one, other in zip(*both(lambda: nn.LSTM(4, 5, proj_size=2), x, ()), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    torch.manual_seed(2)
    for cell in (nn.LSTMCell(4, 5), nn.GRUCell(4, 5)):
        made = [copy.deepcopy(cell).to(device)(x[0].to(device)) for device in ("cpu", "cuda")]
        made = [m if isinstance(m, tuple) else (m,) for m in made]
        for one, other in zip(*made, strict=True):
            torch.testing.assert_close(one, other.cpu())


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", KINDS)
def test_launches_are_two_a_step(kind, dtype):
    module, more = KINDS[kind]
    model, counts = module(8, 16, **more).to("cuda", dtype), {}
    for length in (6, 12):
        x = torch.randn(length, 4, 8, device="cuda", dtype=dtype, requires_grad=True)
        g = torch.randn(length, 4, 16, device="cuda", dtype=dtype)
        for _ in range(2):
            with cuda_on_host.counted() as forward:
                y, _ = model(x)
            with cuda_on_host.counted() as backward:
                y.backward(g)
        for tally in (forward, backward):
            assert tally.counts.to_device + tally.counts.to_host + tally.counts.waits == 0
        counts[length] = forward.counts.launches, backward.counts.launches
    for short, long in zip(counts[6], counts[12]):
        assert long - short == 12, counts
        assert long <= 24 + 18, counts
