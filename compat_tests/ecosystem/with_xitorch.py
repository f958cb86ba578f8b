"""Functionals with gradients: eigenvalues, solving, roots, equilibria, minima, integrals and interpolation."""

import torch
import xitorch
import xitorch.integrate
import xitorch.interpolate
import xitorch.linalg
import xitorch.optimize

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


def show(name: str, *tensors: torch.Tensor) -> None:
    print(name, *[f"{value:.4f}" for t in tensors for value in t.flatten().tolist()])


matrix = torch.randn(4, 4)
matrix = (matrix @ matrix.T + 4 * torch.eye(4)).requires_grad_()
operator = xitorch.LinearOperator.m(matrix, is_hermitian=True)
values, _ = xitorch.linalg.symeig(operator, neig=2)
values.sum().backward()
show("eigenvalues", values, matrix.grad)
solved = xitorch.linalg.solve(operator, torch.randn(4, 2))
matrix.grad = None
solved.sum().backward()
show("solved", solved, matrix.grad)

a = torch.tensor([1.5, 2.0], requires_grad=True)
root = xitorch.optimize.rootfinder(lambda y, a: y**2 - a, torch.ones(2), params=(a,), method="broyden1")
root.sum().backward()
show("root", root, a.grad)
show("equilibrium", xitorch.optimize.equilibrium(lambda y, a: 0.3 * a * y.cos(), torch.zeros(2), params=(a,)))
steps = {"method": "gd", "step": 0.1, "maxiter": 300}
show("minimum", xitorch.optimize.minimize(lambda y, a: ((y - a) ** 2).sum(), torch.zeros(2), params=(a,), **steps))
times = torch.linspace(0, 1, 5)
show("path", xitorch.integrate.solve_ivp(lambda t, y, a: -a * y, times, torch.ones(2), params=(a,), method="rk45"))
show("integral", xitorch.integrate.quad(lambda t, a: (a * t).sin(), torch.zeros(()), torch.ones(()), params=(a,)))
spline = xitorch.interpolate.Interp1D(times, times.sin(), method="cspline")
show("spline", spline(torch.tensor([0.1, 0.55])))
