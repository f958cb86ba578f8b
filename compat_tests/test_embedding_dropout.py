"""Embeddings, dropout and distances: gradients, bags, masks from the seed, warnings and errors."""

from __future__ import annotations

from compat_tests.side_by_side import same_story


def _table(torch):
    return torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(4, 3).requires_grad_()


@same_story
def test_embedding(torch, tell):
    F = torch.nn.functional
    index = torch.tensor([[0, 1, 1], [3, 2, 1]])
    for more in ({}, {"padding_idx": 1}, {"scale_grad_by_freq": True}, {"padding_idx": -1}):
        w = _table(torch)
        y = F.embedding(index, w, **more)
        (grad,) = torch.autograd.grad((y * y).sum(), w, create_graph=True)
        tell(list(more), y, grad, torch.autograd.grad((grad * grad).sum(), w))
    w = _table(torch).detach()
    tell(F.embedding(index, w, max_norm=0.5), w)


@same_story
def test_bags(torch, tell):
    F = torch.nn.functional
    index, offsets = torch.tensor([0, 1, 2, 1, 3]), torch.tensor([0, 2, 2])
    for mode in ("sum", "mean", "max"):
        for more in ({}, {"padding_idx": 1}):
            w = _table(torch)
            y = F.embedding_bag(index, w, offsets, mode=mode, **more)
            (y * y).sum().backward()
            tell(mode, list(more), y, w.grad)
    w = _table(torch)
    samples = torch.linspace(1, 2, 5, dtype=torch.float64).requires_grad_()
    y = F.embedding_bag(index, w, offsets, mode="sum", per_sample_weights=samples)
    (y * y).sum().backward()
    tell(y, w.grad, samples.grad)
    tell(F.embedding_bag(index[:4].reshape(2, 2), w), torch.nn.EmbeddingBag.from_pretrained(w.detach()))


@same_story
def test_dropout_draws_from_the_seed(torch, tell):
    F = torch.nn.functional
    torch.manual_seed(1)
    x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
    for name in ("dropout", "dropout1d", "alpha_dropout", "feature_alpha_dropout", "dropout2d", "dropout3d"):
        y = getattr(F, name)(x, 0.4, True)
        (grad,) = torch.autograd.grad(y.sum(), x)
        tell(name, y, grad)
    tell(torch.native_dropout(x.detach(), 0.5, True), F.dropout(x.transpose(0, 2), 0.5), F.dropout(x, 1.0))
    tell(F.dropout(x * 1, 0.5, True, True), F.dropout(x, 0.5, False) is x)


@same_story
def test_distances(torch, tell):
    F = torch.nn.functional
    a = _table(torch)
    b = torch.linspace(0, 3, 12, dtype=torch.float64).reshape(4, 3).sin().requires_grad_()
    for f in (
        F.cosine_similarity,
        F.pairwise_distance,
        lambda a, b: F.pdist(a) + b.sum(),
        lambda a, b: F.pdist(a, 1) + b.sum(),
        lambda a, b: F.bilinear(a, b, torch.ones(2, 3, 3, dtype=torch.float64)),
    ):  # fmt: skip
        y = f(a, b)
        grads = torch.autograd.grad((y * y).sum(), (a, b), create_graph=True)
        tell(y.detach(), [g.detach() for g in grads])


@same_story
def test_one_hot(torch, tell):
    one_hot = torch.nn.functional.one_hot
    tell(one_hot(torch.tensor([[0, 2], [1, 0]])), one_hot(torch.tensor(1), 3))


@same_story
def test_errors(torch, tell):
    F = torch.nn.functional
    x, w = torch.ones(3), torch.ones(3, 4)
    calls = [
        lambda: F.embedding(torch.tensor([7]), w), lambda: F.embedding(x, w),
        lambda: F.embedding(torch.tensor([0]), w, padding_idx=5), lambda: F.one_hot(torch.tensor([-1])),
        lambda: F.one_hot(torch.tensor([3]), 2), lambda: F.embedding_bag(torch.tensor([0]), w),
        lambda: F.embedding_bag(torch.tensor([0]), w, torch.tensor([0]), mode="x"), lambda: F.dropout(x, 1.5),
        lambda: F.dropout1d(x), lambda: torch.nn.Dropout(2), lambda: F.dropout(torch.tensor([1])),
        lambda: F.pdist(x), lambda: F.cosine_similarity(x.long(), x.long(), 0),
    ]  # fmt: skip
    for call in calls:
        try:
            call()
        except Exception as error:
            tell(type(error).__name__, str(error).split("\nException")[0])
