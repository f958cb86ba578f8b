"""Normalization: statistics, running averages, gradients of all orders, parameters and errors."""

from __future__ import annotations

import torchlite
from compat_tests.side_by_side import same_story


def _images(torch):
    return ((torch.arange(48.0, dtype=torch.float64) * 7 % 11) / 3).reshape(2, 4, 6)


def _derivatives(torch, tell, f, *inputs):
    """The result, gradients, and gradients of these."""
    y = f(*inputs)
    weights = torch.arange(float(y.numel()), dtype=y.dtype).reshape(y.shape).cos()
    grads = torch.autograd.grad((y * weights).sum(), inputs, create_graph=True)
    tell(y, [g.detach() for g in grads])
    tell(torch.autograd.grad(sum((g * g).sum() for g in grads), inputs))


@same_story
def test_derivatives(torch, tell):
    F = torch.nn.functional
    x = _images(torch).requires_grad_()
    w, b = [torch.linspace(0.5, n, 4, dtype=torch.float64).requires_grad_() for n in (1.0, 2.0)]
    u, v = [torch.linspace(0.5, n, 6, dtype=torch.float64).requires_grad_() for n in (1.0, 2.0)]
    _derivatives(torch, tell, lambda x, u, v: F.layer_norm(x, (6,), u, v), x, u, v)
    _derivatives(torch, tell, lambda x, w, b: F.group_norm(x, 2, w, b), x, w, b)
    _derivatives(torch, tell, lambda x, w, b: F.batch_norm(x, None, None, w, b, True), x, w, b)
    _derivatives(torch, tell, lambda x, w, b: F.instance_norm(x, None, None, w, b), x, w, b)
    _derivatives(torch, tell, lambda x, u: F.rms_norm(x, (6,), u), x, u)
    means, variances = torch.arange(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    _derivatives(torch, tell, lambda x, w, b: F.batch_norm(x, means, variances, w, b), x, w, b)


@same_story
def test_running_statistics(torch, tell):
    for momentum in (0.1, None):
        norm = torch.nn.BatchNorm1d(4, momentum=momentum)
        for scale in (1, 2):
            tell(norm(_images(torch).float() * scale))
        norm.eval()
        tell(norm(_images(torch).float()), dict(norm.state_dict()))


@same_story
def test_statistics_that_are_not_kept(torch, tell):
    norm = torch.nn.BatchNorm1d(4, track_running_stats=False, affine=False).eval()
    tell(norm(_images(torch).float()), repr(norm), list(norm.state_dict()))


@same_story
def test_lazy_norms_take_the_number_of_channels(torch, tell):
    norm = torch.nn.LazyBatchNorm1d()
    tell(repr(norm), norm(_images(torch).float()), repr(norm), type(norm).__name__)


@same_story
def test_native_functions_give_statistics(torch, tell):
    x = _images(torch)
    tell(torch.native_layer_norm(x, (4, 6), None, None, 1e-5))
    tell(torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5))


def test_mean_and_deviation_of_groups_have_gradients():
    x = torchlite.linspace(-1, 2, 12, dtype=torchlite.float64).sin().reshape(1, 4, 3).requires_grad_()
    w = torchlite.linspace(0.5, 1, 4, dtype=torchlite.float64).requires_grad_()

    def results(which):
        return lambda x, w: [torchlite.native_group_norm(x, w, None, 1, 4, 3, 2, 1e-5)[at] for at in which]

    for which in ((0, 1, 2), (0, 2), (1, 2), (2,)):
        assert torchlite.autograd.gradcheck(results(which), (x, w))
        assert torchlite.autograd.gradgradcheck(results(which), (x, w))
    assert torchlite.autograd.gradcheck(results((1,)), (x, w))


@same_story
def test_which_statistics_have_gradients(torch, tell):
    x = _images(torch).requires_grad_()
    made = torch.native_group_norm(x, None, None, 2, 4, 6, 2, 1e-5)
    tell([r.requires_grad for r in torch.native_layer_norm(x, (6,), None, None, 1e-5)])
    tell([r.requires_grad for r in torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)])
    for some in (made, made[1:]):
        tell(some, torch.autograd.grad(some, x, [torch.ones_like(r) for r in some], retain_graph=True))


@same_story
def test_errors(torch, tell):
    F = torch.nn.functional
    x, ones = torch.ones(3, 4), torch.ones
    calls = [
        lambda: F.layer_norm(x, (5,)), lambda: F.layer_norm(x, ()), lambda: F.layer_norm(x, (4,), ones(3)),
        lambda: F.layer_norm(x.long(), (4,)), lambda: F.group_norm(x, 3), lambda: F.group_norm(x, 2, ones(3)),
        lambda: F.batch_norm(x[:1], None, None, training=True), lambda: F.batch_norm(x, None, None),
        lambda: F.batch_norm(x, ones(3), ones(4)), lambda: F.instance_norm(x), lambda: F.local_response_norm(x, 2),
        lambda: torch.nn.BatchNorm2d(4)(x), lambda: torch.nn.GroupNorm(3, 4), lambda: F.rms_norm(x, (5,)),
    ]  # fmt: skip
    for call in calls:
        try:
            call()
        except Exception as error:
            tell(type(error).__name__, str(error).split("\nException")[0])


@same_story
def test_batch_norm_of_a_vector_finds_no_channels(torch, tell):
    vector, nothing = torch.ones(4), torch.ones(0)
    for given in ((vector, None, None, None, None, True), (vector, nothing, nothing), (vector, torch.ones(1), nothing)):
        try:
            torch.nn.functional.batch_norm(*given)
        except Exception as error:
            tell(type(error).__name__, str(error))
