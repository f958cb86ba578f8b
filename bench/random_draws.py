"""What random draws cost in torchlite and in PyTorch, measured side by side in one process on one thread.

    python -m bench.random_draws [--quick] [--json] [--baseline FILE]

The measures are those of `bench.overhead`: CPU time, the two libraries taking turns, the median of the ratios of all
rounds. Both libraries draw the same numbers.
"""

from bench.overhead import main

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

if __name__ == "__main__":
    main("bench.random_draws", __doc__, SNIPPETS, SETUP)
