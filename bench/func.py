"""Transforms of functions, which are small, as in a notebook, so that most of the time is the transforms' own."""

from .timing import workloads

SETUP = """
func = torch.func
grad, vjp, jacrev = func.grad, func.vjp, func.jacrev
jvp, jacfwd, hessian, vmap = func.jvp, func.jacfwd, func.hessian, func.vmap

torch.manual_seed(0)
x, v = torch.randn(20), torch.randn(20)
points = torch.randn(64, 20)
layers = {"first": (torch.randn(32, 16) / 4, torch.zeros(32)), "second": (torch.randn(10, 32) / 5, torch.zeros(10))}
samples, targets = torch.randn(64, 16), torch.randn(64, 10)
mix = torch.randn(20, 20) / 5

def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

def network(x):
    return torch.tanh(mix @ torch.tanh(mix @ x))

def energy(x):
    return (network(x) ** 2).sum()

def loss(layers, sample, target):
    (w, b), (v, c) = layers["first"], layers["second"]
    hidden = torch.tanh(w @ sample + b)
    return ((v @ hidden + c - target) ** 2).mean()

slope = lambda x: (grad(rosenbrock)(x) * v).sum()
per_sample = vmap(grad(loss), in_dims=(None, 0, 0))
"""

SNIPPETS = {
    "gradients of 64 samples": "per_sample(layers, samples, targets)",
    "gradient of a network": "grad(loss)(layers, samples[0], targets[0])",
    "hessian, Rosenbrock": "hessian(rosenbrock)(x)",
    "hessian, a network": "hessian(energy)(x)",
    "grad": "grad(rosenbrock)(x)",
    "grad of grad": "grad(slope)(x)",
    "vjp": "vjp(network, x)[1](v)",
    "jvp": "jvp(network, (x,), (v,))",
    "jvp of grad": "jvp(grad(energy), (x,), (v,))",
    "jacrev": "jacrev(network)(x)",
    "jacfwd": "jacfwd(network)(x)",
    "vmap": "vmap(rosenbrock)(points)",
    "vmap of grad": "vmap(grad(rosenbrock))(points)",
    "vmap of vmap": "vmap(vmap(torch.mul, (0, None)), (None, 0))(x, v)",
}

WORKLOADS = workloads(SETUP, SNIPPETS)
