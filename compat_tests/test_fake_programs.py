"""Everyday programs on fakes, and their operations counted: forms, dtypes, devices and counts are PyTorch's."""

from __future__ import annotations

import copy
import importlib

import pytest

import torchlite

torch = pytest.importorskip("torch")


def module(lib, name):
    return importlib.import_module(f"{lib.__name__}.{name}")


def form(t):
    if not hasattr(t, "stride"):
        return [form(v) for v in t] if isinstance(t, list | tuple) else t
    return type(t).__name__, tuple(t.shape), t.stride(), str(t.dtype), str(t.device), t.requires_grad


def told(program, lib):
    lib.manual_seed(0)
    try:
        return program(lib)
    except Exception as error:
        return type(error).__name__, str(error)


def trained(make, *shapes, call=lambda made, *inputs: made(*inputs), optimizer=None):
    """The forms of results, of gradients, and of an optimizer's state."""

    def program(lib):
        with module(lib, "_subclasses").FakeTensorMode():
            made = make(lib.nn)
            results = call(made, *[lib.randn(*shape) for shape in shapes])
            (results[0] if isinstance(results, tuple) else results).sum().backward()
            found = [form(results), [form(p) for p in made.parameters()], [form(p.grad) for p in made.parameters()]]
            if optimizer is not None:
                stepping = getattr(lib.optim, optimizer)(made.parameters(), lr=0.1)
                for _ in range(2):
                    stepping.step()
                found += [[(k, form(v)) for k, v in stepping.state[p].items()] for p in made.parameters()]
            return found

    return program


def written(text):
    """The forms of expressions of x, (4, 6), and y, on another device."""
    codes = [compile(e.strip(), e, "eval") for e in text.split(" ;")]

    def program(lib):
        found = []
        with module(lib, "_subclasses").FakeTensorMode():
            x, y = lib.empty(4, 6), lib.empty(4, 6, device="cuda")
            scope = {"lib": lib, "x": x, "y": y, "F": lib.nn.functional}
            for code in codes:
                found.append(form(told(lambda _, code=code: eval(code, scope), lib)))
        return found

    return program


_OF_SQUARES = ("cholesky", "cholesky_ex", "eig", "eigvals", "ldl_factor_ex", "matrix_exp", "cond", "inv", "det")
_OF_ANY = ("lu", "lu_factor", "lu_factor_ex", "svdvals", "svd", "qr", "pinv", "matrix_rank")
_BATCH = "lib.empty(2, 5, 3, dtype=lib.complex64)"

PROGRAMS = {
    "perceptron": trained(lambda nn: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), (3, 4)),
    "images": trained(
        lambda nn: nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 5)
        ),
        (2, 3, 8, 8),
    ),
    "LSTM": trained(lambda nn: nn.LSTM(4, 6, 2), (5, 2, 4)),
    "LSTM, batches first": trained(lambda nn: nn.LSTM(4, 6, 2, batch_first=True), (2, 5, 4)),
    "GRU": trained(lambda nn: nn.GRU(4, 6, bidirectional=True), (5, 2, 4)),
    "an encoder": trained(lambda nn: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
    **{
        name: trained(lambda nn: nn.Linear(4, 2), (3, 4), optimizer=name)
        for name in ("SGD", "Adam", "AdamW", "RMSprop", "NAdam", "RAdam", "Adadelta", "Adagrad")
    },
    "views": written("x.t() ; x[1:] ; x[:, ::2] ; x.view(6, 4) ; x.expand(2, 4, 6) ; x.chunk(2)[1]"),
    "in place": written(
        "x.clone().t_() ; x.clone().unsqueeze_(0) ; x.clone().transpose_(0, 1).add_(1) ; x.clone().squeeze_()"
    ),
    "reductions": written("x.sum(0) ; x.max(1) ; x.topk(2) ; x.softmax(1) ; x.std() ; x.argmax(1) ; x.cumsum(0)"),
    "devices": written(
        "y + 1 ; y.cpu() ; y.to('cpu', lib.float16) ; x.to(y) ; x.clone().copy_(y) ; y + lib.ones(()) ; x + y ;"
        " lib.cat([y, x]) ; F.linear(y, x)"
    ),
    "numbers that were written down": written(
        "lib.tensor(3.0).item() ; lib.tensor(2).add_(1).item() ; int(lib.tensor(7)) ; (lib.tensor(2) * 3).item() ;"
        " lib.ones(1).item() ; x.sum().item() ; lib.tensor(1.0).add_(x.sum()).item() ; lib.tensor([1, 2]).tolist()"
    ),
    "what depends on values": written(
        "x.nonzero() ; x[x > 0] ; x.unique() ; lib.argwhere(x) ; F.one_hot(x.long()) ;"
        " lib.repeat_interleave(x.long()[0]) ; lib.repeat_interleave(x, 2)"
    ),
    "other dtypes": written(
        "x.softmax(1, lib.double) ; x.log_softmax(1, dtype=lib.double) ; F.softmin(x, 1, dtype=x.dtype)"
    ),
    "ends that are tensors": written(
        "lib.linspace(x[0, 0], x[1, 1], 5) ; lib.linspace(1, x[0, 0], 5) ; lib.logspace(x[0, 0], 3, 4, dtype=lib.long)"
    ),
    "losses, statistics and segments": written(
        "F.hinge_embedding_loss(x, x, 0.3) ; F.multilabel_margin_loss(x, x.long()) ;"
        " F.instance_norm(x.view(2, 3, 4), lib.zeros(3), lib.ones(3)) ;"
        " lib.segment_reduce(x, 'sum', lengths=lib.empty(2, dtype=lib.long)) ;"
        " lib.segment_reduce(x, 'max', offsets=lib.empty(4, 3, dtype=lib.long), axis=1)"
    ),
    "other sizes": written("x.clone().resize_(2, 3) ; x.clone().resize_(7, 8) ; x.clone().resize_(4, 6)"),
    "factors": written(
        " ; ".join([
            *[f"lib.linalg.{name}(x[:, :4])" for name in _OF_SQUARES],
            *[f"lib.linalg.{name}(x) ; lib.linalg.{name}({_BATCH})" for name in _OF_ANY],
            "lib.linalg.svd(x, full_matrices=False)", "lib.cholesky_inverse(x[:, :4])",
            "lib.linalg.ldl_solve(*lib.linalg.ldl_factor(x[:, :4]), x)",
        ])
    ),
    "bags and bins": written(
        " ; ".join([
            *[f"F.embedding_bag(lib.zeros(2, 3, dtype=lib.long), x, mode='{m}')" for m in ("sum", "mean", "max")],
            "lib.histogram(x, 5)", "lib.histc(x, 5)", "lib.mode(x)",
        ])
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_forms(program):
    assert told(program, torchlite) == told(program, torch)


def test_copies_of_fakes():
    with module(torchlite, "_subclasses").FakeTensorMode():
        model = torchlite.nn.Sequential(torchlite.nn.Linear(4, 2), torchlite.nn.BatchNorm1d(2))
        made = [*model.parameters(), *model.buffers(), torchlite.ones(2, 3).t()]
        other, last = copy.deepcopy((model, made[-1]))
        copies = [*other.parameters(), *other.buffers(), last]
    assert all(a is not b for a, b in zip(made, copies, strict=True))
    assert list(map(form, copies)) == list(map(form, made))


def counted(make, *shapes, fake=False, call=lambda made, *inputs: made(*inputs).sum().backward()):
    """The operations of modules, and the table of them."""

    def program(lib):
        counter = module(lib, "utils.flop_counter").FlopCounterMode(display=False, depth=4)
        made, inputs = make(lib), [lib.randn(*shape, requires_grad=True) for shape in shapes]
        with counter:
            call(made, *inputs)
        counts = {name: {str(op): n for op, n in ops.items()} for name, ops in counter.get_flop_counts().items()}
        return counter.get_total_flops(), counts, counter.get_table()

    return program


def convolutions(lib):
    nn = lib.nn
    return nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.Conv2d(8, 8, 3, groups=4), nn.ConvTranspose2d(8, 3, 3))


COUNTED = {
    "perceptron": counted(lambda lib: lib.nn.Sequential(lib.nn.Linear(4, 8), lib.nn.Linear(8, 2)), (3, 4)),
    "convolutions": counted(convolutions, (2, 3, 16, 16)),
    "encoder": counted(
        lambda lib: lib.nn.TransformerEncoder(lib.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2), (2, 5, 8)
    ),
    "attention": counted(lambda lib: lambda q: lib.nn.functional.scaled_dot_product_attention(q, q, q), (2, 4, 5, 8)),
    "products": counted(lambda lib: lambda a: lib.baddbmm(lib.zeros(4, 5, 5), a, a.mT) + a @ a.mT, (4, 5, 8)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", COUNTED.values(), ids=COUNTED)
def test_counted_operations(program):
    ours, theirs = told(program, torchlite), told(program, torch)
    assert ours == theirs
