"""Random draws; both libraries draw the same numbers."""

from .timing import workloads

SIZES = {"10": 10, "1e3": 10**3, "1e5": 10**5, "1e6": 10**6}

SETUP = "x = {n: torch.full((n,), 0.3) for n in (10, 10**3, 10**5, 10**6)}"

DRAWS = {
    "rand": "torch.rand({n})",
    "randn": "torch.randn({n})",
    "normal_": "x[{n}].normal_(2.0, 3.0)",
    "uniform_": "x[{n}].uniform_(-0.5, 0.5)",
    "randint": "torch.randint(100, ({n},))",
    "randperm": "torch.randperm({n})",
    "bernoulli": "torch.bernoulli(x[{n}])",
    "bernoulli_(p)": "x[{n}].bernoulli_(0.3)",
    "exponential_": "x[{n}].exponential_()",
    "multinomial": "torch.multinomial(x[{n}], 10)",
    "multinomial, replacement": "torch.multinomial(x[{n}], {n}, True)",
    "dropout": "torch.nn.functional.dropout(x[{n}], 0.2)",
}

SNIPPETS = {f"{name} {size}": draw.format(n=n) for name, draw in DRAWS.items() for size, n in SIZES.items()}

WORKLOADS = workloads(SETUP, SNIPPETS)
