"""Word vectors by skip-gram with negative sampling: words that keep the same company end up near each other."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import torch
from corpus import Vocabulary, sentences
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

WINDOW, NEGATIVES = 2, 5


class SkipGram(nn.Module):
    def __init__(self, tokens: int, width: int = 16) -> None:
        super().__init__()
        self.centre = nn.Embedding(tokens, width)
        self.context = nn.Embedding(tokens, width)
        nn.init.uniform_(self.centre.weight, -0.5 / width, 0.5 / width)
        nn.init.zeros_(self.context.weight)

    def forward(self, word: Tensor, neighbour: Tensor, others: Tensor) -> Tensor:
        """Neighbours should be told from words drawn at random."""
        centre = self.centre(word)
        right = (centre * self.context(neighbour)).sum(dim=1)
        wrong = torch.bmm(self.context(others), centre.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(right) + F.logsigmoid(-wrong).sum(dim=1)).mean()


def pairs(text: list[list[int]]) -> list[Tensor]:
    """All words, with each of their neighbours."""
    found = []
    for sentence in text:
        for at, word in enumerate(sentence):
            near = range(max(0, at - WINDOW), min(len(sentence), at + WINDOW + 1))
            found += [(word, sentence[n]) for n in near if n != at]
    return [torch.tensor(column) for column in zip(*found)]


def endless(loader: DataLoader[Any]) -> Iterator[list[Tensor]]:
    """Batch after batch, epoch after epoch."""
    while True:
        yield from loader


def main(steps: int) -> None:
    torch.manual_seed(0)
    text = [sentence.split() for sentence in sentences(2000)]
    vocabulary = Vocabulary(word for sentence in text for word in sentence)
    numbers = [vocabulary.encode(sentence) for sentence in text]
    frequency = torch.bincount(torch.tensor([number for sentence in numbers for number in sentence])) ** 0.75
    loader = DataLoader(TensorDataset(*pairs(numbers)), batch_size=512, shuffle=True)
    model = SkipGram(len(vocabulary))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

    for step, (word, neighbour) in zip(range(steps), endless(loader)):
        others = torch.multinomial(frequency, len(word) * NEGATIVES, replacement=True).view(len(word), NEGATIVES)
        loss = model(word, neighbour, others)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < 5 or step % 50 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")

    vectors = F.normalize(model.centre.weight.detach(), dim=1)
    for name in ("cat", "moon", "sees", "morning"):
        near = (vectors @ vectors[vocabulary.numbers[name]]).topk(4).indices[1:]
        print(f"near {name}: {', '.join(vocabulary.decode(near.tolist()))}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Word vectors")
    parser.add_argument("--steps", type=int, default=300)
    main(parser.parse_args().steps)
