"""A graph convolutional network: the groups of a few people are given, the others' follow from whom they know."""

from __future__ import annotations

import argparse
from typing import Any

import torch
from communities import GROUPS, WORDS, communities
from torch import Tensor, nn
from torch.nn import functional as F


class GraphConv(nn.Module):
    """The mean over neighbours, in the symmetric sense, of a linear map of their features."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        return adjacency @ (x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, hidden: int = 16) -> None:
        super().__init__()
        self.first = GraphConv(WORDS, hidden)
        self.second = GraphConv(hidden, GROUPS)

    def forward(self, x: Tensor, adjacency: Tensor) -> Any:
        x = F.dropout(F.relu(self.first(x, adjacency)), 0.5, self.training)
        return self.second(x, adjacency)


def normalized(adjacency: Tensor) -> Tensor:
    """Each edge divided by the root of the degrees of its ends."""
    scale = adjacency.sum(dim=1).rsqrt()
    return scale.unsqueeze(1) * adjacency * scale


def main(steps: int) -> None:
    torch.manual_seed(0)
    features, adjacency, groups = communities()
    adjacency = normalized(adjacency)
    known = torch.zeros(len(groups), dtype=torch.bool)
    known[torch.randperm(len(groups))[:24]] = True

    model = GCN()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for step in range(steps):
        model.train()
        loss = F.cross_entropy(model(features, adjacency)[known], groups[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < 5 or step % 40 == 0:
            with torch.no_grad():
                right = model.eval()(features, adjacency).argmax(dim=1) == groups
            print(f"step {step:4d}  loss {loss.item():.6f}  right about the others {right[~known].float().mean():.1%}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Graph convolutional network")
    parser.add_argument("--steps", type=int, default=201)
    main(parser.parse_args().steps)
