"""A graph to learn from: people in groups, who mostly know others of their group, with a few words about each."""

from __future__ import annotations

import torch
from torch import Tensor

GROUPS, PEOPLE, WORDS = 4, 160, 24


def communities() -> tuple[Tensor, Tensor, Tensor]:
    """Features (people, words), a dense adjacency matrix with ones on its diagonal, and everybody's group."""
    group = torch.arange(PEOPLE) % GROUPS
    same = group.unsqueeze(0) == group.unsqueeze(1)
    upper = torch.bernoulli(torch.where(same, 0.15, 0.01)).triu(diagonal=1)
    adjacency = upper + upper.T + torch.eye(PEOPLE)
    favourite = torch.arange(WORDS) % GROUPS == group.unsqueeze(1)
    features = torch.bernoulli(torch.where(favourite, 0.25, 0.15))
    return features, adjacency, group
