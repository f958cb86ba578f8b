"""Four ways to differentiate, side by side: what each costs, and how far it is from the truth.

    numerical   f(x + h) - f(x - h) over 2h: any function will do, but h is either too large or too small
    symbolic    rules turn a formula into a formula for its derivative, which may grow much longer than the first
    forward     automatic: numbers carry their derivatives along, one direction at a time
    reverse     automatic: one pass back through what was computed, for all inputs at once

Nothing here knows of torchlite. Run it with PyTorch, or with torchlite in PyTorch's place:

    python examples/differentiation.py
    python -m torchlite examples/differentiation.py
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

torch.set_default_dtype(torch.float64)


# -- symbolic: expressions that know their derivatives


class Expression:
    """A formula in the variables x[0], x[1], …; `value(x)` evaluates it and `derivative(i)` is another formula."""

    def value(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def derivative(self, i: int) -> Expression:
        raise NotImplementedError

    def size(self) -> int:
        raise NotImplementedError

    def __add__(self, other: Expression) -> Sum:
        return Sum(self, other)

    def __mul__(self, other: Expression) -> Product:
        return Product(self, other)


class Number(Expression):
    def __init__(self, number: float) -> None:
        self.number = number

    def value(self, x: Tensor) -> Tensor:
        return torch.tensor(self.number)

    def derivative(self, i: int) -> Expression:
        return Number(0.0)

    def size(self) -> int:
        return 1


class Variable(Expression):
    def __init__(self, i: int) -> None:
        self.i = i

    def value(self, x: Tensor) -> Tensor:
        return x[self.i]

    def derivative(self, i: int) -> Expression:
        return Number(1.0 if i == self.i else 0.0)

    def size(self) -> int:
        return 1


class Sum(Expression):
    def __init__(self, a: Expression, b: Expression) -> None:
        self.a, self.b = a, b

    def value(self, x: Tensor) -> Tensor:
        return self.a.value(x) + self.b.value(x)

    def derivative(self, i: int) -> Expression:
        return self.a.derivative(i) + self.b.derivative(i)

    def size(self) -> int:
        return self.a.size() + self.b.size() + 1


class Product(Sum):
    def value(self, x: Tensor) -> Tensor:
        return self.a.value(x) * self.b.value(x)

    def derivative(self, i: int) -> Expression:
        return self.a.derivative(i) * self.b + self.a * self.b.derivative(i)


class Sine(Expression):
    """sin(a + quarter turns), so that cosines are sines too."""

    def __init__(self, a: Expression, quarters: int = 0) -> None:
        self.a, self.quarters = a, quarters

    def value(self, x: Tensor) -> Tensor:
        return torch.sin(self.a.value(x) + self.quarters * torch.pi / 2)

    def derivative(self, i: int) -> Expression:
        return Sine(self.a, self.quarters + 1) * self.a.derivative(i)

    def size(self) -> int:
        return self.a.size() + 1


def sin(a: Any) -> Any:
    return Sine(a) if isinstance(a, Expression) else torch.sin(a)


# -- the functions: they take tensors and expressions alike, and give their exact gradients too


def product(x: Any) -> Any:
    """x[0] · x[1] · … · x[n - 1]"""
    result = x[0]
    for factor in x[1:]:
        result = result * factor
    return result


def gradient_of_product(x: Tensor) -> Tensor:
    return torch.stack([product([*x[:i], *x[i + 1 :]]) for i in range(len(x))])


def waves(x: Any) -> Any:
    """The sum of sin(x[i] · x[i + 1])"""
    result = sin(x[0] * x[1])
    for a, b in itertools.pairwise(x[1:]):
        result = result + sin(a * b)
    return result


def gradient_of_waves(x: Tensor) -> Tensor:
    slopes = torch.cos(x[:-1] * x[1:])
    gradient = torch.zeros_like(x)
    gradient[:-1] += slopes * x[1:]
    gradient[1:] += slopes * x[:-1]
    return gradient


def nested(x: Any) -> Any:
    """sin(… sin(sin(x[0]) · x[1]) … · x[n - 1])"""
    result = sin(x[0])
    for factor in x[1:]:
        result = sin(result * factor)
    return result


def gradient_of_nested(x: Tensor) -> Tensor:
    inner, slope = x[0], torch.eye(len(x))[0]
    for i in range(1, len(x)):
        value, slope = torch.sin(inner), slope * torch.cos(inner)
        slope = slope * x[i]
        slope[i] = value
        inner = value * x[i]
    return slope * torch.cos(inner)


# -- the four ways


def numerical(function: Callable[..., Any], x: Tensor, h: float = 1e-6) -> Tensor:
    """Two evaluations for each variable."""
    steps = h * torch.eye(len(x))
    return torch.stack([(function(x + step) - function(x - step)) / (2 * h) for step in steps])


def symbolic(function: Callable[..., Any], x: Tensor) -> Tensor:
    """A formula for each variable."""
    formula = function([Variable(i) for i in range(len(x))])
    return torch.stack([formula.derivative(i).value(x) for i in range(len(x))])


def forward(function: Callable[..., Any], x: Tensor) -> Tensor:
    """One evaluation with tangents for each variable."""
    slopes = []
    for direction in torch.eye(len(x)):
        with forward_ad.dual_level():
            result = function(forward_ad.make_dual(x, direction))
            slope = forward_ad.unpack_dual(result).tangent
            slopes.append(torch.zeros(()) if slope is None else slope)
    return torch.stack(slopes)


def reverse(function: Callable[..., Any], x: Tensor) -> Tensor:
    """One evaluation, and one pass back."""
    x = x.clone().requires_grad_()
    return torch.autograd.grad(function(x), x)[0]


METHODS = (numerical, symbolic, forward, reverse)
FUNCTIONS = ((product, gradient_of_product), (waves, gradient_of_waves), (nested, gradient_of_nested))


def milliseconds(method: Callable[..., Any], function: Callable[..., Any], x: Tensor) -> float:
    """The best of a few runs."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        method(function, x)
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def compare() -> None:
    print(f"{'function':<10}{'n':>4}" + "".join(f"{method.__name__:>24}" for method in METHODS))
    print(" " * 14 + f"{'error':>14}{'ms':>10}" * len(METHODS))
    for function, exact in FUNCTIONS:
        for n in (2, 4, 8, 16):
            x = torch.linspace(0.6, 1.4, n)
            truth, row = exact(x), f"{function.__name__:<10}{n:>4}"
            for method in METHODS:
                error = (method(function, x) - truth).abs().max().item()
                assert error < 1e-6, f"{method.__name__} differentiation of {function.__name__} is wrong"
                row += f"{error:>14.0e}{milliseconds(method, function, x):>10.2f}"
            print(row)


def show_steps() -> None:
    """Truncation makes large steps wrong, rounding makes small ones wrong."""
    x = torch.linspace(0.6, 1.4, 8)
    truth = gradient_of_waves(x)
    print("\nThe step of numerical differentiation, for waves of 8 variables:")
    for exponent in range(-1, -14, -2):
        error = (numerical(waves, x, 10.0**exponent) - truth).abs().max().item()
        print(f"  h = 1e{exponent:<+4d} error {error:.0e}")


def show_growth() -> None:
    """The product rule writes both factors down again, at every level."""
    print("\nThe symbols in `nested`, and in one of its derivatives:")
    for n in (2, 4, 8, 16):
        formula = nested([Variable(i) for i in range(n)])
        print(f"  {n:>2} variables: {formula.size():>4}, {formula.derivative(0).size():>4}")


def show_modes() -> None:
    """Forward mode pays for every input, reverse mode for every output."""
    print("\nThe Jacobian of a function of n numbers to m numbers, in passes:")
    for n, m in ((1, 64), (8, 8), (64, 1)):
        weight = torch.sin(torch.arange(1.0, n * m + 1)).reshape(m, n)
        x = torch.linspace(-1.0, 1.0, n)

        def layer(x: Tensor, weight: Tensor = weight) -> Tensor:
            return torch.tanh(weight @ x)

        forward_jacobian = torch.stack(list(forward(layer, x)), dim=1)
        y = layer(inputs := x.clone().requires_grad_())
        rows = [torch.autograd.grad(y, inputs, row, retain_graph=True)[0] for row in torch.eye(m)]
        assert torch.allclose(forward_jacobian, torch.stack(rows))
        print(f"  {n:>2} to {m:>2}: forward mode {n:>2}, reverse mode {m:>2}")


if __name__ == "__main__":
    compare()
    show_steps()
    show_growth()
    show_modes()
