"""Single operations on small tensors."""

from .timing import workloads

SETUP = """
x, y = torch.full((4, 4), 1.25), torch.full((4, 4), 0.75)
w = torch.full((4, 4), 1.1, requires_grad=True)
def power(w):
    z = w
    for _ in range(20):
        z = z * w
    return z
"""

SNIPPETS = {
    "add": "x + y",
    "mul": "x * y",
    "add, one operand with grad": "w + y",
    "add a number": "x + 1.0",
    "add in place": "x.add_(y)",
    "matmul": "x @ y",
    "relu": "torch.relu(x)",
    "sum": "x.sum()",
    "getitem": "x[0]",
    "reshape": "x.reshape(2, 8)",
    "20 mul forward": "power(w)",
    "20 mul, sum, backward": "power(w).sum().backward()",
}

WORKLOADS = workloads(SETUP, SNIPPETS)
