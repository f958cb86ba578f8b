"""Recurrent networks, their cells, and sequences that are packed."""

from __future__ import annotations

import copy
import itertools
import pickle
import tracemalloc

import pytest

from compat_tests.side_by_side import same_story
from torchlite.core.native import native

KINDS = {
    "RNN": {}, "RNN with relu": {"nonlinearity": "relu"}, "GRU": {}, "LSTM": {},
    "LSTM with projection": {"proj_size": 2},
}  # fmt: skip
LENGTHS = {"padded": None, "sorted": [5, 3], "unsorted": [2, 5], "equal": [5, 5]}


def network(torch, kind, **settings):
    """A network of a kind, with the same weights in both libraries."""
    torch.manual_seed(1)
    return getattr(torch.nn, kind.split()[0])(3, 4, **KINDS[kind], **settings).double()


def states(torch, m, batch=2):
    """First states for a network."""
    layers = m.num_layers * (2 if m.bidirectional else 1)
    h = torch.randn(layers, batch, m.proj_size or m.hidden_size, dtype=torch.float64).requires_grad_()
    if m.mode != "LSTM":
        return h
    return h, torch.randn(layers, batch, m.hidden_size, dtype=torch.float64).requires_grad_()


def listed(hx):
    return list(hx) if isinstance(hx, tuple) else [hx]


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_networks(kind, lengths):
    @same_story
    def program(torch, tell):
        flags = (False, True)
        for two_ways, bias, batch_first, layers in itertools.product(flags, flags, flags, (1, 2)):
            m = network(
                torch, kind, bidirectional=two_ways, bias=bias, batch_first=batch_first, num_layers=layers,
                dropout=0.5 if layers > 1 else 0.0,
            )  # fmt: skip
            x = torch.randn(*((2, 5, 3) if batch_first else (5, 2, 3)), dtype=torch.float64).requires_grad_()
            hx, given = states(torch, m), x
            if LENGTHS[lengths]:
                pack = torch.nn.utils.rnn.pack_padded_sequence
                given = pack(x, LENGTHS[lengths], batch_first, enforce_sorted=lengths != "unsorted")
            output, last = m(given, hx)
            if LENGTHS[lengths]:
                tell([None if t is None else t.detach() for t in output])
                output = output.data
            else:
                tell(output.detach(), output.stride())
            tell([t.detach() for t in listed(last)])
            loss = (output * output).sum() + sum((t**3).sum() for t in listed(last))
            tell(torch.autograd.grad(loss, [x, *listed(hx), *m.parameters()]))

    program()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_dtypes(kind, dtype):
    @same_story
    def program(torch, tell):
        d = getattr(torch, dtype)
        m = network(torch, kind).to(d)
        x = torch.randn(5, 2, 3).to(d).requires_grad_()
        output, last = m(x)
        tell(output.dtype, [t.dtype for t in listed(last)], output.detach().double().mul(4).round())
        output.sum().backward()
        tell(x.grad.dtype, [p.grad.dtype for p in m.parameters()])

    program()


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_second_derivatives(kind):
    @same_story
    def program(torch, tell):
        m = network(torch, kind, bidirectional=True)
        x = torch.randn(4, 2, 3, dtype=torch.float64).requires_grad_()
        leaves = [x, *m.parameters()]
        first = torch.autograd.grad((m(x)[0] ** 2).sum(), leaves, create_graph=True)
        tell([g.detach() for g in first])
        tell(torch.autograd.grad(sum((g * g).sum() for g in first), leaves))

    program()


@pytest.mark.usefixtures("forward_level_was_open")
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_transforms(kind):
    @same_story
    def program(torch, tell):
        m = network(torch, kind)
        x = torch.randn(4, 2, 3, dtype=torch.float64)

        def loss(x):
            return (m(x)[0] ** 2).sum()

        tell(torch.func.grad(loss)(x).detach())
        tell(torch.func.hessian(loss)(x[:2]).detach())
        tell([t.detach() for t in torch.func.jvp(loss, (x,), (torch.ones_like(x),))])
        twice = {name: 2 * p for name, p in m.named_parameters()}
        tell(torch.func.functional_call(m, twice, (x,))[0].detach())

    program()


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_batches_of_weights(kind):
    """PyTorch has no rule for these; each element of the batch is what it is alone."""
    import torchlite as torch

    m = network(torch, kind)
    x = torch.randn(3, 4, 2, 3, dtype=torch.float64)
    found = torch.func.vmap(lambda x: m(x)[0])(x)
    grads = torch.func.vmap(torch.func.grad(lambda x: (m(x)[0] ** 2).sum()))(x)
    for at in range(3):
        assert torch.allclose(found[at], m(x[at])[0])
        assert torch.allclose(grads[at], torch.func.grad(lambda x: (m(x)[0] ** 2).sum())(x[at]))


@same_story
def test_one_tensor_as_several_operands(torch, tell):
    m = network(torch, "LSTM")
    h = torch.randn(1, 2, 4, dtype=torch.float64).requires_grad_()
    x = torch.randn(3, 2, 3, dtype=torch.float64)
    g = torch.autograd.grad((m(x, (h, h))[0] ** 2).sum(), h, create_graph=True)[0]
    tell(g.detach(), torch.autograd.grad((g * g).sum(), h))


@same_story
def test_the_output_may_be_written_to(torch, tell):
    for kind in ("RNN", "GRU"):
        m = network(torch, kind)
        x = torch.randn(3, 2, 3, dtype=torch.float64).requires_grad_()
        output, _ = m(x)
        output.mul_(2)
        tell(torch.autograd.grad(output.sum(), x))


@same_story
def test_training_with_adam(torch, tell):
    torch.manual_seed(0)
    m = torch.nn.LSTM(3, 4, 2, dropout=0.25)
    x, y = torch.randn(5, 2, 3), torch.randn(5, 2, 4)
    for _ in range(4):
        loss = ((m(x)[0] - y) ** 2).mean()
        m.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in m.parameters():
                p -= 0.1 * p.grad
        tell(loss.detach())


# ---- cells

CELLS = {
    "RNNCell": lambda nn: nn.RNNCell(3, 4),
    "RNNCell with relu": lambda nn: nn.RNNCell(3, 4, nonlinearity="relu"),
    "GRUCell": lambda nn: nn.GRUCell(3, 4),
    "GRUCell without bias": lambda nn: nn.GRUCell(3, 4, bias=False),
    "LSTMCell": lambda nn: nn.LSTMCell(3, 4),
    "LSTMCell without bias": lambda nn: nn.LSTMCell(3, 4, False),
    "of no kind": lambda nn: nn.RNNCell(3, 4, nonlinearity="abs"),
}


@pytest.mark.parametrize("name", CELLS)
def test_cells(name):
    @same_story
    def program(torch, tell):
        torch.manual_seed(2)
        m = CELLS[name](torch.nn).double()
        tell(repr(m), [*m.state_dict()], type(m).__module__)
        x = torch.randn(2, 3, dtype=torch.float64).requires_grad_()
        h, c = (torch.randn(2, 4, dtype=torch.float64).requires_grad_() for _ in range(2))
        two = name.startswith("LSTM")
        tell([t.detach() for t in listed(m(x))], [t.detach() for t in listed(m(x[0], (h[0], c[0]) if two else h[0]))])
        made = listed(m(x, (h, c) if two else h))
        asked = [x, h, *([c] if two else []), *m.parameters()]
        first = torch.autograd.grad(sum((t**3).sum() for t in made), asked, create_graph=True)
        tell([t.detach() for t in made], [g.detach() for g in first])
        tell(torch.autograd.grad(sum((g * g).sum() for g in first), asked))

    program()


BAD_CELLS = {
    "one state": lambda t, o: t.lstm_cell(o(2, 3), (o(2, 4),), o(16, 3), o(16, 4)),
    "another input": lambda t, o: t.lstm_cell(o(2, 5), (o(2, 4), o(2, 4)), o(16, 3), o(16, 4)),
    "another batch": lambda t, o: t.lstm_cell(o(2, 3), (o(3, 4), o(2, 4)), o(16, 3), o(16, 4)),
    "another batch of cells": lambda t, o: t.lstm_cell(o(2, 3), (o(2, 4), o(3, 4)), o(16, 3), o(16, 4)),
    "another state": lambda t, o: t.lstm_cell(o(2, 3), (o(2, 5), o(2, 4)), o(16, 3), o(16, 4)),
    "other weights": lambda t, o: t.lstm_cell(o(2, 3), [o(2, 4), o(2, 4)], o(15, 3), o(16, 4)),
    "no batch": lambda t, o: t.lstm_cell(o(3), (o(4), o(4)), o(16, 3), o(16, 4)),
    "one bias": lambda t, o: t.lstm_cell(o(2, 3), (o(2, 4), o(2, 4)), o(16, 3), o(16, 4), o(16)),
    "a GRU's other state": lambda t, o: t.gru_cell(o(2, 3), o(2, 5), o(12, 3), o(12, 4)),
    "an RNN's other batch": lambda t, o: t.rnn_tanh_cell(o(2, 3), o(1, 4), o(4, 3), o(4, 4)),
    "an LSTM's one state": lambda t, o: t.lstm(
        o(5, 2, 3), (o(1, 2, 4),), [o(16, 3), o(16, 4)], False, 1, 0.0, False, False, False
    ),
    "no time": lambda t, o: t.gru(o(0, 2, 3), o(1, 2, 4), [o(12, 3), o(12, 4)], False, 1, 0.0, False, False, False),
    "an input of three": lambda t, o: t.nn.LSTMCell(3, 4)(o(1, 2, 3)),
    "a state of three": lambda t, o: t.nn.LSTMCell(3, 4)(o(2, 3), (o(2, 4), o(1, 2, 4))),
    "a GRU's state of three": lambda t, o: t.nn.GRUCell(3, 4)(o(2, 3), o(1, 2, 4)),
}  # fmt: skip


@pytest.mark.parametrize("call", BAD_CELLS)
def test_what_is_refused(call):
    @same_story
    def program(torch, tell):
        tell([type(t).__name__ for t in listed(BAD_CELLS[call](torch, torch.ones))])

    program()


# ---- modules

MADE = {
    "LSTM": lambda nn: nn.LSTM(3, 4, 2, bidirectional=True, dropout=0.25, proj_size=2, batch_first=True),
    "GRU": lambda nn: nn.GRU(3, 4, bias=False),
    "RNN by place": lambda nn: nn.RNN(3, 4, 1, "relu"),
    "dropout of one layer": lambda nn: nn.LSTM(3, 4, dropout=0.5),
    "dropout out of range": lambda nn: nn.LSTM(3, 4, dropout=1.5),
    "dropout that is a bool": lambda nn: nn.LSTM(3, 4, dropout=True),
    "no hidden size": lambda nn: nn.GRU(3, 0),
    "no input size": lambda nn: nn.GRU(0, 3),
    "no layers": lambda nn: nn.GRU(3, 4, 0),
    "a size that is a float": lambda nn: nn.GRU(3, 4.0),
    "a bias that is an int": lambda nn: nn.GRU(3, 4, bias=1),
    "a projection too large": lambda nn: nn.LSTM(3, 4, proj_size=4),
    "a negative projection": lambda nn: nn.LSTM(3, 4, proj_size=-1),
    "a projection of a GRU": lambda nn: nn.GRU(3, 4, proj_size=2),
    "no such nonlinearity": lambda nn: nn.RNN(3, 4, nonlinearity="abs"),
}


@pytest.mark.parametrize("name", MADE)
def test_modules(name):
    @same_story
    def program(torch, tell):
        torch.manual_seed(3)
        m = MADE[name](torch.nn)
        tell(repr(m), type(m).__module__, m.state_dict(), [[tuple(w.shape) for w in ws] for ws in m.all_weights])
        tell({k: v.get("version") for k, v in m.state_dict()._metadata.items()}, m._flat_weights_names)

    program()


BAD_CALLS = {
    "another dtype": lambda nn, o: nn.LSTM(3, 4)(o(5, 2, 3).double()),
    "another input size": lambda nn, o: nn.LSTM(3, 4)(o(5, 2, 2)),
    "one dimension": lambda nn, o: nn.LSTM(3, 4)(o(3)),
    "one dimension for a GRU": lambda nn, o: nn.GRU(3, 4)(o(3)),
    "a state of two dimensions": lambda nn, o: nn.GRU(3, 4)(o(5, 2, 3), o(1, 4)),
    "a state of three dimensions": lambda nn, o: nn.GRU(3, 4)(o(5, 3), o(1, 1, 4)),
    "states of two dimensions": lambda nn, o: nn.LSTM(3, 4)(o(5, 2, 3), (o(1, 4), o(1, 4))),
    "states of three dimensions": lambda nn, o: nn.LSTM(3, 4)(o(5, 3), (o(1, 1, 4), o(1, 4))),
    "another batch": lambda nn, o: nn.RNN(3, 4)(o(5, 2, 3), o(1, 3, 4)),
    "another hidden state": lambda nn, o: nn.LSTM(3, 4)(o(5, 2, 3), (o(1, 2, 3), o(1, 2, 4))),
    "another cell state": lambda nn, o: nn.LSTM(3, 4)(o(5, 2, 3), (o(1, 2, 4), o(1, 2, 3))),
}


@pytest.mark.parametrize("call", BAD_CALLS)
def test_calls_that_are_refused(call):
    @same_story
    def program(torch, tell):
        BAD_CALLS[call](torch.nn, torch.ones)

    program()


@same_story
def test_weights_that_change(torch, tell):
    m = network(torch, "LSTM")
    x = torch.ones(2, 1, 3, dtype=torch.float64)
    other = copy.deepcopy(m)
    with torch.no_grad():
        other.weight_ih_l0.mul_(2)
    tell(m(x)[0].detach(), other(x)[0].detach())
    m.weight_hh_l0 = torch.nn.Parameter(torch.zeros_like(m.weight_hh_l0))
    tell(m(x)[0].detach(), m._flat_weights[1] is m.weight_hh_l0)
    m.float()
    tell(m(x.float())[0].dtype, [w is p for w, p in zip(m._flat_weights, m.parameters())])
    m.flatten_parameters()
    again = pickle.loads(pickle.dumps(m))
    tell(again(x.float())[0].detach(), [w is p for w, p in zip(again._flat_weights, again.parameters())])


# ---- packing

PACKED = {
    "sorted": lambda u, t: u.pack_padded_sequence(t, [3, 1]),
    "unsorted": lambda u, t: u.pack_padded_sequence(t, [1, 3]),
    "to be sorted": lambda u, t: u.pack_padded_sequence(t, [1, 3], enforce_sorted=False),
    "batch first": lambda u, t: u.pack_padded_sequence(t, [2, 1, 2], True, False),
    "a length of zero": lambda u, t: u.pack_padded_sequence(t, [3, 0]),
    "too few lengths": lambda u, t: u.pack_padded_sequence(t, [3]),
    "too long a length": lambda u, t: u.pack_padded_sequence(t, [4, 1]),
    "nothing": lambda u, t: u.pack_padded_sequence(t[:0], [0, 0]),
    "lengths of two dimensions": lambda u, t: u.pack_padded_sequence(t, (t[:1, :, 0] + 1).long()),
    "floats": lambda u, t: u.pack_padded_sequence(t, t.new_tensor([3.0, 1.0])),
    "no features": lambda u, t: u.pack_padded_sequence(t[:, :, 0], [3, 1]),
    "two back": lambda u, t: u.pad_packed_sequence(u.pack_padded_sequence(t, [3, 1])),
    "sorted back": lambda u, t: u.pad_packed_sequence(u.pack_padded_sequence(t, [1, 3], enforce_sorted=False)),
    "back with more": lambda u, t: u.pad_packed_sequence(u.pack_padded_sequence(t, [3, 1]), True, -1.0, 5),
    "back with less": lambda u, t: u.pad_packed_sequence(u.pack_padded_sequence(t, [3, 1]), total_length=2),
    "a list": lambda u, t: u.pad_sequence([t[:, 0], t[:2, 0]]),
    "a list, on the left": lambda u, t: u.pad_sequence([t[:, 0], t[:2, 0]], True, 5.0, "left"),
    "a list, elsewhere": lambda u, t: u.pad_sequence([t[:, 0], t[:2, 0]], True, 5.0, "top"),
    "an empty list": lambda u, t: u.pad_sequence([]),
    "a number": lambda u, t: u.pad_sequence(3),
    "a list with a number": lambda u, t: u.pad_sequence([t, 3]),
    "of several dtypes": lambda u, t: u.pad_sequence([t[:, 0], t[:2, 0].double()]),
    "of ints": lambda u, t: u.pad_sequence([t[:, 0, 0].int(), t[:2, 0, 0].int()], padding_value=1.5),
    "of several widths": lambda u, t: u.pad_sequence([t[:, 0], t[:, 0, :1].expand(3, 3)]),
    "a list packed": lambda u, t: u.pack_sequence([t[:, 0], t[:2, 0]]),
    "and unpacked": lambda u, t: u.unpack_sequence(u.pack_sequence([t[:2, 0], t[:, 0]], enforce_sorted=False)),
    "unpadded": lambda u, t: u.unpad_sequence(t.clone(), t.new_tensor([3, 1])),
    "by hand": lambda u, t: u.PackedSequence((t[:, 0], t.new_tensor([1, 1, 1]).long())),
    "by hand, without sizes": lambda u, t: u.PackedSequence(t),
    "sizes elsewhere": lambda u, t: u.PackedSequence(t, t.to("meta")),
    "a permutation": lambda u, t: u.invert_permutation(t.new_tensor([2, 0, 1]).long()),
    "in doubles": lambda u, t: u.pack_padded_sequence(t, [1, 3], enforce_sorted=False).double(),
    "in ints": lambda u, t: u.pack_padded_sequence(t, [3, 1]).int(),
}  # fmt: skip


@pytest.mark.parametrize("name", PACKED)
def test_packing(name):
    @same_story
    def program(torch, tell):
        made = PACKED[name](torch.nn.utils.rnn, torch.arange(12.0).view(3, 2, 2))
        tell(type(made).__name__, made)

    program()


@same_story
def test_gradients_of_packing(torch, tell):
    utils = torch.nn.utils.rnn
    x = torch.arange(12.0).view(3, 2, 2).requires_grad_()
    packed = utils.pack_padded_sequence(x, [3, 1])
    padded, _ = utils.pad_packed_sequence(packed, True)
    tell(torch.autograd.grad((padded**2).sum(), x))
    a, b = x[:, 0], x[:2, 1]
    tell(torch.autograd.grad((utils.pad_sequence([a, b]) ** 3).sum(), x))


@same_story
def test_packed_sequences_as_objects(torch, tell):
    p = torch.nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2, 2), [3, 1])
    tell(p.is_cuda, p.to(torch.float32) is p, p.cpu() is p, [c.__name__ for c in type(p).__mro__], type(p).__module__)
    tell(repr(p), p.batch_sizes, p.to("meta").data.device.type, p.double().data.dtype, len(p))


@pytest.mark.skipif(native is None, reason="NumPy keeps more")
def test_backward_of_a_gru_holds_its_gates_gradients_once():
    import torchlite

    length, batch, size = 20, 64, 48
    layer = torchlite.nn.GRU(8, size)
    total = layer(torchlite.randn(length, batch, 8))[0].sum()
    tracemalloc.start()
    try:
        total.backward()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 6 * length * batch * size * 4  # those of three gates, the states before, and what is small
