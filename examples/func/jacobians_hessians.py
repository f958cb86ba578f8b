"""Jacobians and Hessians, forwards and in reverse, of one point and of a batch, and products with them.

Run with PyTorch, or with `python -m torchlite examples/func/jacobians_hessians.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap


def predict(weight: Tensor, bias: Tensor, x: Tensor) -> Tensor:
    return torch.tanh(x @ weight.t() + bias)


def rosenbrock(x: Tensor) -> Tensor:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def main() -> None:
    torch.manual_seed(2)
    weight, bias, x = torch.randn(6, 4), torch.randn(6), torch.randn(4)

    rows = jacrev(predict, argnums=2)(weight, bias, x)
    columns = jacfwd(predict, argnums=2)(weight, bias, x)
    print("Jacobian:", tuple(rows.shape), "forwards and in reverse:", torch.allclose(rows, columns, atol=1e-6))
    by_weight, by_bias = jacrev(predict, argnums=(0, 1))(weight, bias, x)
    print("by the parameters:", tuple(by_weight.shape), tuple(by_bias.shape))
    chunks = jacrev(predict, argnums=2, chunk_size=2)(weight, bias, x)
    print("in chunks:", torch.equal(rows, chunks))

    batch = torch.randn(5, 4)
    jacobians = vmap(jacrev(predict, argnums=2), in_dims=(None, None, 0))(weight, bias, batch)
    print("of a batch:", tuple(jacobians.shape))
    second = vmap(hessian(predict, argnums=2), in_dims=(None, None, 0))(weight, bias, batch)
    print("second derivatives:", tuple(second.shape), f"{second.square().sum().sqrt():.4f}")
    agree = [torch.allclose(second, vmap(outer(inner(predict, argnums=2), argnums=2), in_dims=(None, None, 0))(
        weight, bias, batch), atol=1e-5) for outer in (jacfwd, jacrev) for inner in (jacfwd, jacrev)]  # fmt: skip
    print("by every way:", agree)

    direction = torch.randn(4)
    _, moved = jvp(lambda x: predict(weight, bias, x), (x,), (direction,))
    print("product with a vector:", torch.allclose(moved, rows @ direction, atol=1e-5))
    _, pull = vjp(lambda x: predict(weight, bias, x), x)
    print("with its transpose:", torch.allclose(pull(moved)[0], rows.t() @ moved, atol=1e-5))
    _, push = linearize(lambda x: predict(weight, bias, x), x)
    print("of a linearized function:", torch.allclose(push(direction), moved, atol=1e-5))
    point = torch.tensor([-1.0, 0.5, 0.3])
    _, product = jvp(grad(rosenbrock), (point,), (torch.ones(3),))
    print("Hessian times a vector:", torch.allclose(product, hessian(rosenbrock)(point) @ torch.ones(3), atol=1e-2))

    point = torch.tensor([-1.0, 0.5, 0.3], dtype=torch.float64)
    for step in range(14):
        point = newton(point)
        if step % 2:
            print(f"Newton step {step}: {rosenbrock(point):.6f}")


def newton(point: Tensor) -> Tensor:
    """One step, by conjugate gradients on products with the Hessian."""
    gradient, product = vjp(grad(rosenbrock), point)
    step, residual = torch.zeros_like(point), -gradient
    direction = residual
    for _ in range(2 * len(point)):
        (turned,) = product(direction)
        size = residual @ residual
        if size < 1e-20:
            break
        length = size / (direction @ turned)
        step, residual = step + length * direction, residual - length * turned
        direction = residual + (residual @ residual) / size * direction
    return point + step


if __name__ == "__main__":
    main()
