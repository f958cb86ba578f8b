"""Functions minimised by methods of second order, in the manner of SciPy."""

import torch
from torchmin import least_squares, minimize

start = torch.tensor([1.2, 0.8, -0.5], dtype=torch.float64)


def rosen(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


for method in ("bfgs", "l-bfgs", "cg", "newton-cg", "newton-exact", "trust-ncg", "trust-exact"):
    found = minimize(rosen, start, method=method, max_iter=60)
    print(method, bool(found.success), round(found.fun.item(), 4))
found = least_squares(lambda x: torch.stack([x[0] - 1, x[1] * 2 - 1, x[2] + x[0]]), start)
print([round(v, 4) for v in found.x.tolist()])
