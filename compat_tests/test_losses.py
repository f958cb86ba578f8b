"""Losses: every reduction, weights, what is ignored, smoothing, gradients, warnings and errors."""

from __future__ import annotations

from compat_tests.side_by_side import same_story


def _logits(torch, *shape):
    count = 1
    for n in shape:
        count *= n
    return ((torch.arange(float(count)) * 5 % 7) / 3 - 1).reshape(shape)


@same_story
def test_cross_entropy(torch, tell):
    F = torch.nn.functional
    weight = torch.tensor([1.0, 2.0, 0.5, 3.0])
    targets = {
        "classes": (_logits(torch, 3, 4), torch.tensor([0, 3, 1])),
        "places": (_logits(torch, 2, 4, 3), torch.tensor([[0, 1, 2], [3, 1, 0]])),
        "images": (_logits(torch, 1, 4, 2, 2), torch.tensor([[[0, 1], [2, 3]]])),
        "one": (_logits(torch, 4), torch.tensor(2)),
        "probabilities": (_logits(torch, 3, 4), _logits(torch, 3, 4).softmax(1)),
    }
    for name, (x, target) in targets.items():
        for reduction in ("mean", "sum", "none"):
            for more in ({}, {"weight": weight}, {"label_smoothing": 0.2}, {"ignore_index": 1}):
                if name == "probabilities" and "ignore_index" in more:
                    continue
                x = x.detach().requires_grad_()
                loss = F.cross_entropy(x, target, reduction=reduction, **more)
                loss.sum().backward()
                tell(name, reduction, list(more), loss.detach(), x.grad)


@same_story
def test_pairs(torch, tell):
    F = torch.nn.functional
    t = (_logits(torch, 4, 3) * 2).flip(0)
    losses = {
        "mse_loss": t, "l1_loss": t, "smooth_l1_loss": t, "huber_loss": t, "soft_margin_loss": t.sign(),
        "hinge_embedding_loss": t.sign(), "binary_cross_entropy_with_logits": t.sigmoid(), "kl_div": t.sigmoid(),
        "poisson_nll_loss": t.abs(), "multilabel_soft_margin_loss": t.sigmoid(),
    }  # fmt: skip
    for name, target in losses.items():
        for reduction in ("mean", "sum", "none"):
            x = _logits(torch, 4, 3).double().requires_grad_()
            loss = getattr(F, name)(x, target.double(), reduction=reduction)
            (grad,) = torch.autograd.grad(loss.sum(), x, create_graph=True)
            tell(name, reduction, loss.detach(), grad.detach())
            if name not in ("l1_loss", "hinge_embedding_loss", "kl_div"):  # which are made of straight lines
                tell(torch.autograd.grad(grad.sum(), x)[0])


@same_story
def test_margins(torch, tell):
    F = torch.nn.functional
    for reduction in ("mean", "sum", "none"):
        x = _logits(torch, 3, 4).requires_grad_()
        loss = F.multi_margin_loss(x, torch.tensor([0, 3, 1]), p=2, weight=torch.ones(4) * 2, reduction=reduction)
        listed = torch.tensor([[3, 0, -1, 1], [1, 2, 0, -1], [0, -1, -1, 2]])
        other = F.multilabel_margin_loss(x, listed, reduction=reduction)
        (loss.sum() + other.sum()).backward()
        tell(loss.detach(), other.detach(), x.grad)


@same_story
def test_ctc(torch, tell):
    F = torch.nn.functional
    for targets in (torch.tensor([[1, 2, 2], [3, 0, 0]]), torch.tensor([1, 2, 2, 3])):
        for reduction in ("mean", "sum", "none"):
            x = _logits(torch, 6, 2, 4).double().requires_grad_()
            loss = F.ctc_loss(x.log_softmax(2), targets, (6, 4), (3, 1), reduction=reduction)
            loss.sum().backward()
            tell(loss.detach(), x.grad)
    x = _logits(torch, 2, 1, 4).log_softmax(2).requires_grad_()
    loss = F.ctc_loss(x, torch.tensor([[1, 1, 2]]), (2,), (3,), zero_infinity=True)
    loss.backward()
    tell(loss.detach(), x.grad)


@same_story
def test_gradients_that_have_none(torch, tell):
    """Gradients with a graph say that they depend on what they were taken of, and that nobody knows how."""
    functional = torch.nn.functional
    targets, lengths = torch.tensor([[1, 2], [2, 1]]), torch.tensor([2, 2])
    odds = torch.arange(12.0, dtype=torch.float64).sin().reshape(2, 2, 3).log_softmax(2)
    for loss, of in (
        (lambda x: functional.multi_margin_loss(x, targets[0], p=2), odds[0]),
        (lambda x: functional.multilabel_margin_loss(x, torch.tensor([[0, 1, -1], [1, -1, 0]])), odds[0]),
        (lambda x: functional.ctc_loss(x, targets[:, :1], lengths, torch.tensor([1, 1])), odds),
    ):
        x = of.clone().requires_grad_()
        (grad,) = torch.autograd.grad(loss(x), x, create_graph=True)
        tell(grad, grad.grad_fn.name())
        try:
            torch.autograd.grad(grad.sum(), x)
        except RuntimeError as error:
            tell(str(error))


@same_story
def test_warnings(torch, tell):
    F = torch.nn.functional
    tell(F.mse_loss(torch.ones(2, 2), torch.ones(2)), F.kl_div(torch.zeros(2), torch.ones(2)))
    tell(F.l1_loss(torch.ones(2), torch.zeros(2), size_average=False))


@same_story
def test_errors(torch, tell):
    F = torch.nn.functional
    x, classes = torch.ones(3, 4), torch.tensor([0, 1, 2])
    calls = [
        lambda: F.cross_entropy(x, torch.tensor([0, 1, 4])), lambda: F.cross_entropy(x, classes[:2]),
        lambda: F.cross_entropy(x, classes.float()), lambda: F.cross_entropy(x, classes, weight=torch.ones(3)),
        lambda: F.cross_entropy(x, classes, label_smoothing=2.0), lambda: F.nll_loss(x, classes, reduction="x"),
        lambda: F.nll_loss(x[0, 0], classes), lambda: F.binary_cross_entropy(x * 2, x),
        lambda: F.binary_cross_entropy(x, x[:2]), lambda: F.huber_loss(x, x, delta=0.0),
        lambda: F.smooth_l1_loss(x, x, beta=-1.0), lambda: F.mse_loss(x.long(), x.long()),
        lambda: F.multi_margin_loss(x, classes, p=3), lambda: F.gaussian_nll_loss(x, x, -x),
        lambda: F.triplet_margin_loss(x, x, x, margin=-1), lambda: F.margin_ranking_loss(x, x, x[0]),
        lambda: F.cosine_embedding_loss(x, x, x), lambda: F.ctc_loss(x[:, None], classes[None], (3,), (9,)),
    ]  # fmt: skip
    for call in calls:
        try:
            call()
        except Exception as error:
            tell(type(error).__name__, str(error).split("\nException")[0])
