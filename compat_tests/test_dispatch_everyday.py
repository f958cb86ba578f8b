"""What a dispatch mode sees of training as it is done every day: PyTorch's overloads, arguments and order."""

from __future__ import annotations

import pytest

import torchlite

from .test_dispatch_modes import seen

torch = pytest.importorskip("torch")


def train(lib, model, loss, x, y, optimizer=None, steps=1, more=None):
    parameters = list(model.parameters())
    optimizer = lib.optim.SGD(parameters, lr=0.1) if optimizer is None else optimizer(lib.optim, parameters)

    def run(lib):
        for _ in range(steps):
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if more is not None:
                more(parameters)
            optimizer.step()

    return run


def classified(lib, model=None, optimizer=None, steps=1, more=None):
    nn = lib.nn
    model = model or nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    data = lib.randn(4, 6), lib.tensor([0, 1, 2, 1])
    return train(lib, model, nn.functional.cross_entropy, *data, optimizer, steps, more)


def with_optimizer(name, **options):
    return lambda lib: classified(lib, optimizer=lambda optim, ps: getattr(optim, name)(ps, **options), steps=2)


def with_dropout(lib):
    nn = lib.nn
    layers = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 3)
    return classified(lib, nn.Sequential(*layers))


def clipped(lib):
    def clip(parameters):
        lib.nn.utils.clip_grad_norm_(parameters, 1.0)
        lib.nn.utils.clip_grad_value_(parameters, 1.0)

    return classified(lib, more=clip)


def convolutional(lib):
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3, bias=False),
        nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 3),
    )  # fmt: skip
    return train(lib, model, nn.functional.cross_entropy, lib.randn(2, 3, 8, 8), lib.tensor([0, 1]))


def pooled(lib):
    nn = lib.nn
    layers = nn.Conv2d(3, 4, 3, stride=2), nn.GroupNorm(2, 4), nn.SiLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(4, 1)
    loss = nn.functional.binary_cross_entropy_with_logits
    return train(lib, nn.Sequential(*layers), lambda o, y: loss(o[:, 0], y), lib.randn(2, 3, 6, 6), lib.ones(2))


def of_letters(lib):
    """A layer of a language model, with attention written out."""
    nn = lib.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.letters, self.norm = nn.Embedding(11, 8), nn.LayerNorm(8)
            self.qkv, self.mix, self.out = nn.Linear(8, 24), nn.Linear(8, 8), nn.Linear(8, 11, bias=False)
            self.register_buffer("mask", lib.tril(lib.ones(5, 5)).view(1, 1, 5, 5))

        def forward(self, ids):
            x = self.letters(ids)
            b, t, c = x.shape
            q, k, v = [z.view(b, t, 2, c // 2).transpose(1, 2) for z in self.qkv(self.norm(x)).split(c, dim=2)]
            attention = (q @ k.transpose(-2, -1)) * 0.5
            attention = attention.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")).softmax(-1)
            return self.out(x + self.mix((attention @ v).transpose(1, 2).contiguous().view(b, t, c)))

    ids = lib.randint(0, 11, (2, 5))
    loss = nn.functional.cross_entropy
    return train(
        lib, Block(), lambda o, y: loss(o.view(-1, 11), y.view(-1)), ids, ids, lambda optim, ps: optim.AdamW(ps)
    )


def variational(lib):
    encode, decode, x = lib.nn.Linear(6, 4), lib.nn.Linear(2, 6), lib.randn(4, 6)

    def run(lib):
        mean, log = encode(x).chunk(2, 1)
        made = lib.sigmoid(decode(mean + (0.5 * log).exp() * lib.randn_like(mean)))
        apart = -0.5 * (1 + log - mean.pow(2) - log.exp()).sum(1).mean()
        (lib.nn.functional.mse_loss(made, x) + apart).backward()

    return run


def averaged(lib):
    model, mean = lib.nn.Linear(2, 3), lib.nn.Linear(2, 3)

    def run(lib):
        with lib.no_grad():
            for p, q in zip(model.parameters(), mean.parameters(), strict=True):
                q.mul_(0.9).add_(p, alpha=0.1)
                q.lerp_(p, 0.1)

    return run


def lost(name, *, logits=False, **options):
    """The gradient of a loss."""

    def program(lib):
        x, y = lib.randn(4, 6, requires_grad=True), lib.randn(4, 6)
        given = x if logits or "cross_entropy" not in name else x.sigmoid()
        target = y.sigmoid() if "entropy" in name else y
        return lambda lib: getattr(lib.nn.functional, name)(given, target, **options).backward()

    return program


PROGRAMS = {
    "a network": classified,
    "momentum": with_optimizer("SGD", lr=0.1, momentum=0.9, weight_decay=0.1),
    "Nesterov": with_optimizer("SGD", lr=0.1, momentum=0.9, nesterov=True, maximize=True),
    "Adam": with_optimizer("Adam", weight_decay=0.1),
    "AdamW": with_optimizer("AdamW", maximize=True),
    "dropout": with_dropout,
    "clipping": clipped,
    "images": convolutional,
    "pools": pooled,
    "letters": of_letters,
    "variational": variational,
    "averages": averaged,
    "l1": lost("l1_loss"),
    "mse": lost("mse_loss", reduction="sum"),
    "smooth l1": lost("smooth_l1_loss"),
    "huber": lost("huber_loss"),
    "entropy": lost("binary_cross_entropy"),
    "entropy of logits": lost("binary_cross_entropy_with_logits", logits=True),
    "probabilities": lost("cross_entropy", logits=True),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_mode_sees_of_training_what_it_sees_in_pytorch(program):
    found = []
    for lib in (torchlite, torch):
        lib.manual_seed(0)
        found.append(seen(lib, program(lib)))
    assert found[0] == found[1]


@pytest.mark.parametrize(("name", "options"), [("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adam", {"amsgrad": True})])
def test_a_watched_step_is_the_same_step(name, options):
    found = []
    for watched in (False, True):
        torchlite.manual_seed(0)
        model = torchlite.nn.Linear(6, 3)
        made = classified(torchlite, model, lambda optim, ps: getattr(optim, name)(ps, **options), 2)
        if watched:
            seen(torchlite, made)
        else:
            made(torchlite)
        found.append([value for p in model.parameters() for value in p.flatten().tolist()])
    assert found[0] == pytest.approx(found[1], rel=1e-4, abs=1e-6)
