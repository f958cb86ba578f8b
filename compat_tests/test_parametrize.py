"""`torch.nn.utils.parametrize` and `parametrizations` behave as PyTorch's do."""

from __future__ import annotations

import copy
import itertools
from typing import Any

from .side_by_side import same_story


def attempt(tell: Any, call: Any) -> None:
    try:
        tell("gave", call())
    except Exception as error:
        tell("raised", error)


def parametrizations(torch: Any) -> Any:
    """A few parametrizations to try."""
    nn = torch.nn

    class Symmetric(nn.Module):
        def forward(self, X: Any) -> Any:
            return X.triu() + X.triu(1).mT

        def right_inverse(self, A: Any) -> Any:
            return A.triu()

    class Doubled(nn.Module):
        def forward(self, X: Any) -> Any:
            return 2 * X

    class Ranked(nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x.unsqueeze(1) * y

        def right_inverse(self, A: Any) -> Any:
            return A[:, 0], A[0]

    class Giving(nn.Module):
        def __init__(self, give: Any, back: Any = lambda X: X) -> None:
            super().__init__()
            self.give, self.back = give, back

        def forward(self, *X: Any) -> Any:
            return self.give(*X)

        def right_inverse(self, X: Any) -> Any:
            return self.back(X)

    return Symmetric, Doubled, Ranked, Giving


@same_story
def test_registering(torch, tell):
    Symmetric, Doubled, *_ = parametrizations(torch)
    P = torch.nn.utils.parametrize
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 3)
    tell(P.is_parametrized(layer), P.is_parametrized(layer, "weight"), P.type_before_parametrizations(layer).__name__)
    tell(P.register_parametrization(layer, "weight", Symmetric()) is layer)
    tell(repr(layer), type(layer).__name__, type(layer).__module__, type(layer).__bases__[0].__name__)
    tell(P.is_parametrized(layer), P.is_parametrized(layer, "weight"), P.is_parametrized(layer, "bias"))
    tell(layer.weight, layer.parametrizations.weight.original, list(layer.state_dict()))
    tell([n for n, _ in layer.named_parameters()], "weight" in layer._parameters)
    tell(P.type_before_parametrizations(layer) is torch.nn.Linear)
    P.register_parametrization(layer, "weight", Doubled())
    P.register_parametrization(layer, "bias", Doubled())
    tell(repr(layer), layer.weight, layer.bias, list(layer.state_dict()))
    layer(torch.ones(2, 3)).sum().backward()
    tell(layer.parametrizations.weight.original.grad, layer.parametrizations.bias.original.grad)
    tell(len(layer.parametrizations.weight), layer.parametrizations["bias"].unsafe)
    tell(layer.parametrizations.weight.is_tensor)
    P.remove_parametrizations(layer, "bias", leave_parametrized=True)
    tell(layer.bias, isinstance(layer.bias, torch.nn.Parameter), list(layer.state_dict()))
    P.remove_parametrizations(layer, "weight", leave_parametrized=True)
    tell(repr(layer), type(layer) is torch.nn.Linear, layer.weight, hasattr(layer, "parametrizations"))


@same_story
def test_assignment_goes_through_right_inverse(torch, tell):
    Symmetric, Doubled, Ranked, _ = parametrizations(torch)
    P = torch.nn.utils.parametrize
    layer = torch.nn.Linear(3, 3)
    P.register_parametrization(layer, "weight", Symmetric())
    layer.weight = torch.arange(9.0).view(3, 3)
    tell(layer.weight, layer.parametrizations.weight.original)
    attempt(tell, lambda: setattr(layer, "weight", torch.ones(2)))
    attempt(tell, lambda: setattr(layer, "weight", 3))
    P.register_parametrization(layer, "weight", Doubled())
    attempt(tell, lambda: setattr(layer, "weight", torch.ones(3, 3)))
    attempt(tell, lambda: setattr(layer.parametrizations.weight, "original", None))
    other = torch.nn.Linear(3, 2, bias=False)
    with torch.no_grad():
        other.weight.copy_(torch.arange(6.0).view(2, 3))
    P.register_parametrization(other, "weight", Ranked(), unsafe=True)
    tell(repr(other), list(other.state_dict()), other.weight, other.parametrizations.weight.ntensors)
    other.weight = torch.ones(2, 3)
    tell(other.weight, other.parametrizations.weight.original0)
    attempt(tell, lambda: P.remove_parametrizations(other, "weight", leave_parametrized=False))
    P.remove_parametrizations(other, "weight")
    tell(other.weight)


@same_story
def test_what_a_parametrization_must_be(torch, tell):
    *_, Doubled, _, Giving = parametrizations(torch)
    P = torch.nn.utils.parametrize

    def register(give: Any, back: Any = lambda X: X, unsafe: bool = False, twice: bool = False) -> Any:
        layer = torch.nn.Linear(2, 2)
        if twice:
            P.register_parametrization(layer, "weight", torch.nn.Identity())
        P.register_parametrization(layer, "weight", Giving(give, back), unsafe=unsafe)
        return list(layer.state_dict()), list(layer.weight.shape)

    for twice in (False, True):
        for give in (lambda X: 3, lambda X: X.double(), lambda X: X[0], lambda *X: X[0]):
            attempt(tell, lambda give=give, twice=twice: register(give, twice=twice))
            attempt(tell, lambda give=give, twice=twice: register(give, unsafe=True, twice=twice))
        for back in (lambda X: 3, lambda X: X.double(), lambda X: X[0], lambda X: (X,), lambda X: (X, 3)):
            attempt(tell, lambda back=back, twice=twice: register(lambda X, *_: X, back, twice=twice))
            attempt(tell, lambda back=back, twice=twice: register(lambda X, *_: X, back, unsafe=True, twice=twice))

    def fails(X: Any) -> Any:
        raise NotImplementedError

    attempt(tell, lambda: register(lambda X: X, fails))
    attempt(tell, lambda: P.register_parametrization(torch.nn.Linear(2, 2), "nothing", Doubled()))
    attempt(tell, lambda: P.remove_parametrizations(torch.nn.Linear(2, 2), "weight"))
    attempt(tell, lambda: P.is_parametrized(torch.nn.Linear(2, 2), "weight"))
    attempt(tell, lambda: P.ParametrizationList([], torch.ones(2)))


@same_story
def test_values_are_kept_within_cached(torch, tell):
    _, Doubled, *_ = parametrizations(torch)
    P = torch.nn.utils.parametrize
    layer = torch.nn.Linear(2, 2)
    P.register_parametrization(layer, "weight", Doubled())
    tell(layer.weight is layer.weight)
    with P.cached():
        tell(layer.weight is layer.weight)
        with P.cached():
            kept = layer.weight
        tell(layer.weight is kept)
    tell(layer.weight is kept)


@same_story
def test_copies_pickles_and_buffers(torch, tell):
    Symmetric, Doubled, *_ = parametrizations(torch)
    P = torch.nn.utils.parametrize
    layer = torch.nn.BatchNorm1d(3)
    P.register_parametrization(layer, "running_mean", Doubled())
    tell(list(layer.state_dict()), [n for n, _ in layer.named_buffers()], layer.running_mean)
    P.remove_parametrizations(layer, "running_mean", leave_parametrized=True)
    tell([n for n, _ in layer.named_buffers()], layer.running_mean)
    linear = torch.nn.Linear(2, 2)
    P.register_parametrization(linear, "weight", Symmetric())
    twin = copy.deepcopy(linear)
    tell(type(twin) is type(linear), type(twin).__name__, bool((twin.weight == linear.weight).all()))
    with torch.no_grad():
        twin.parametrizations.weight.original.fill_(1.0)
    tell(twin.weight, bool((twin.weight == linear.weight).all()))
    import pickle

    attempt(tell, lambda: pickle.dumps(linear))
    target = torch.nn.Linear(2, 2)
    P.transfer_parametrizations_and_params(linear, target)
    tell(repr(target), bool((target.weight == linear.weight).all()), bool((target.bias == linear.bias).all()))
    again = torch.nn.Linear(2, 2)
    P.transfer_parametrizations_and_params(linear, again, "weight")
    tell(repr(again), bool((again.weight == linear.weight).all()))
    P.remove_parametrizations(linear, "weight", leave_parametrized=False)
    tell(repr(linear), list(linear.state_dict()))


@same_story
def test_weight_norm(torch, tell):
    W = torch.nn.utils.parametrizations.weight_norm
    nn = torch.nn
    for make in (lambda: nn.Linear(3, 4), lambda: nn.Conv2d(2, 3, 2), lambda: nn.ConvTranspose1d(2, 3, 2)):
        for dim in (0, 1, -1, None):
            torch.manual_seed(1)
            layer = W(make().double(), dim=dim)
            tell(repr(layer), list(layer.state_dict()), layer.weight.detach())
            (layer.weight**2).sin().sum().backward()
            tell([p.grad for p in layer.parameters()], [tuple(p.shape) for p in layer.parameters()])
    attempt(tell, lambda: W(torch.nn.Linear(2, 2), "nothing"))
    layer = W(torch.nn.Linear(2, 2))
    old = {"bias": torch.zeros(2), "weight_g": torch.ones(2, 1), "weight_v": torch.eye(2)}
    tell(layer.load_state_dict(old), layer.weight)


@same_story
def test_spectral_norm(torch, tell):
    S = torch.nn.utils.parametrizations.spectral_norm
    nn = torch.nn
    for make in (lambda: nn.Linear(3, 4), lambda: nn.Conv2d(2, 3, 2), lambda: nn.ConvTranspose2d(2, 3, 2)):
        torch.manual_seed(1)
        layer = S(make().double(), n_power_iterations=2)
        tell(repr(layer), list(layer.state_dict()))
        tell(layer.weight, layer.weight)
        layer.eval()
        tell(layer.weight, layer.weight)
        (layer.weight**2).sum().backward()
        tell([p.grad for p in layer.parameters()])
        layer.weight = torch.ones_like(layer.weight)
        tell(layer.weight)
    attempt(tell, lambda: S(torch.nn.Linear(2, 2), n_power_iterations=0))
    attempt(tell, lambda: S(torch.nn.Linear(2, 2), dim=4))
    attempt(tell, lambda: S(torch.nn.Linear(2, 2), "nothing"))
    vector = S(torch.nn.BatchNorm1d(3))
    tell(repr(vector), vector.weight, list(vector.state_dict()))


@same_story
def test_orthogonal(torch, tell):
    orthogonal = torch.nn.utils.parametrizations.orthogonal
    shapes, maps = ((3, 3), (2, 4), (4, 2)), ("cayley", "matrix_exp", "householder", None)
    for shape, name, trivial in itertools.product(shapes, maps, (True, False)):
        if trivial or shape[0] <= shape[1] or name in ("cayley", "matrix_exp"):
            torch.manual_seed(1)
            layer = orthogonal(torch.nn.Linear(*shape).double(), orthogonal_map=name, use_trivialization=trivial)
            weight = layer.weight.detach()
            tell(repr(layer), list(layer.state_dict()), tuple(weight.shape), weight)
            (layer.weight**2).sin().sum().backward()
            tell([None if p.grad is None else p.grad.shape for p in layer.parameters()])
            attempt(tell, lambda layer=layer: setattr(layer, "weight", torch.eye(*layer.weight.shape).double()))
            attempt(tell, lambda layer=layer: setattr(layer, "weight", torch.rand(layer.weight.shape).double()))
            attempt(tell, lambda layer=layer: setattr(layer, "weight", torch.rand(1)))
            tell(layer.weight.detach())
    attempt(tell, lambda: orthogonal(torch.nn.Linear(3, 3), orthogonal_map="other"))
    attempt(tell, lambda: orthogonal(torch.nn.Linear(3, 3), "bias"))
    attempt(tell, lambda: orthogonal(torch.nn.Linear(3, 3), "nothing"))
    attempt(tell, lambda: orthogonal(torch.nn.Linear(3, 3).to(torch.complex64), orthogonal_map="householder"))


@same_story
def test_assignment_checks_what_right_inverse_gives(torch, tell):
    *_, Giving = parametrizations(torch)
    P = torch.nn.utils.parametrize
    one, two = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    P.register_parametrization(one, "weight", Giving(lambda X: X))
    P.register_parametrization(two, "weight", Giving(lambda X, Y: X + Y, lambda X: (X, X)))
    t = torch.ones(2, 2)
    for back in (3, t.double(), (t,), (t, 3), (t, t.double()), (t, t, t), t):
        for layer in (one, two):
            layer.parametrizations.weight[0].back = lambda X, back=back: back
            attempt(tell, lambda layer=layer: setattr(layer, "weight", t))
    tell(one.weight, two.weight)
