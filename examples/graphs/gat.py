"""A graph attention network: everybody decides how much to listen to each of their neighbours.

Several heads of attention run at once, on a dense adjacency matrix; whom one does not know gets no attention.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from communities import GROUPS, WORDS, communities
from torch import Tensor, nn
from torch.nn import functional as F


class GraphAttention(nn.Module):
    def __init__(self, inputs: int, outputs: int, heads: int, dropout: float = 0.3) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(heads, inputs, outputs))
        self.source = nn.Parameter(torch.empty(heads, outputs, 1))
        self.target = nn.Parameter(torch.empty(heads, outputs, 1))
        self.dropout = nn.Dropout(dropout)
        for parameter in self.parameters():
            nn.init.xavier_normal_(parameter, gain=1.4)

    def forward(self, x: Tensor, adjacency: Tensor) -> Any:
        """What each head makes of x: (heads, people, outputs)."""
        features = torch.einsum("pi,hio->hpo", self.dropout(x), self.weight)
        scores = F.leaky_relu(features @ self.source + (features @ self.target).mT, 0.2)
        attention = scores.masked_fill(adjacency == 0, float("-inf")).softmax(dim=-1)
        return self.dropout(attention) @ features


class GAT(nn.Module):
    def __init__(self, hidden: int = 8, heads: int = 4) -> None:
        super().__init__()
        self.first = GraphAttention(WORDS, hidden, heads)
        self.second = GraphAttention(heads * hidden, GROUPS, heads)

    def forward(self, x: Tensor, adjacency: Tensor) -> Any:
        hidden = self.first(x, adjacency).permute(1, 0, 2).flatten(1)
        return self.second(F.elu(hidden), adjacency).mean(dim=0)


def main(steps: int) -> None:
    torch.manual_seed(0)
    features, adjacency, groups = communities()
    known = torch.zeros(len(groups), dtype=torch.bool)
    known[torch.randperm(len(groups))[:24]] = True

    model = GAT()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=10)
    for step in range(steps):
        model.train()
        loss = F.cross_entropy(model(features, adjacency)[known], groups[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step(loss)
        if step < 5 or step % 20 == 0:
            with torch.no_grad():
                right = model.eval()(features, adjacency).argmax(dim=1) == groups
            print(f"step {step:4d}  loss {loss.item():.6f}  right about the others {right[~known].float().mean():.1%}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Graph attention network")
    parser.add_argument("--steps", type=int, default=101)
    main(parser.parse_args().steps)
