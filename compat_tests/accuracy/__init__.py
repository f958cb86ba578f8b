"""Whose results are nearer to the truth: torchlite's or PyTorch's, each against what float64 gives.

- ``hostile``: sample inputs of PyTorch's table of operators, made large, small, constant, infinite, …;
- ``long``: sums and their kin over 10^5 and more elements, along each dimension;
- ``measure``: what differs, and whether it matters;
- ``run``: one operator in both libraries, in a process of its own.
"""
