"""A language model with a Transformer: which word comes next, judged from all words before it at once.

`nn.TransformerEncoder` with a mask that hides the future, and sines and cosines that say where a word stands.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import torch
from corpus import Vocabulary, words
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

LENGTH = 24


class Windows(Dataset[Any]):
    """Every stretch of so many tokens, and the same moved on by one."""

    def __init__(self, tokens: Tensor, length: int) -> None:
        self.tokens, self.length = tokens, length

    def __len__(self) -> int:
        return len(self.tokens) - self.length

    def __getitem__(self, at: int) -> tuple[Tensor, Tensor]:
        return self.tokens[at : at + self.length], self.tokens[at + 1 : at + self.length + 1]


class PositionalEncoding(nn.Module):
    def __init__(self, width: int, longest: int = 200) -> None:
        super().__init__()
        position = torch.arange(longest).unsqueeze(1)
        rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(longest, width)
        table[:, 0::2] = torch.sin(position * rates)
        table[:, 1::2] = torch.cos(position * rates)
        self.register_buffer("table", table)

    def forward(self, x: Tensor) -> Any:
        return x + self.table[: x.shape[1]]


class LanguageModel(nn.Module):
    def __init__(self, tokens: int, width: int = 32, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.width = width
        self.embedding = nn.Embedding(tokens, width)
        self.position = PositionalEncoding(width)
        layer = nn.TransformerEncoderLayer(width, heads, dim_feedforward=2 * width, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.decoder = nn.Linear(width, tokens)

    def forward(self, tokens: Tensor) -> Any:
        x = self.position(self.embedding(tokens) * math.sqrt(self.width))
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.decoder(self.encoder(x, mask=mask, is_causal=True))


@torch.no_grad()
def likeliest(model: LanguageModel, vocabulary: Any, start: str, length: int) -> str:
    """How the model goes on, always by its first guess."""
    model.eval()
    tokens = torch.tensor([vocabulary.encode(start.split())])
    for _ in range(length):
        tokens = torch.cat([tokens, model(tokens[:, -LENGTH:])[:, -1:].argmax(dim=-1)], dim=1)
    return " ".join(vocabulary.decode(tokens[0].tolist()))


def main(steps: int) -> None:
    torch.manual_seed(0)
    text = words(600)
    vocabulary = Vocabulary(text)
    windows = Windows(torch.tensor(vocabulary.encode(text)), LENGTH)
    loader = DataLoader(windows, batch_size=16, shuffle=True)
    model = LanguageModel(len(vocabulary))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 20))

    for step, (inputs, targets) in zip(range(steps), loader):
        model.train()
        loss = nn.functional.cross_entropy(model(inputs).transpose(1, 2), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warmup.step()
        if step < 5 or step % 20 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}  perplexity {math.exp(loss.item()):.2f}")

    print(likeliest(model, vocabulary, ". my sister", 20))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Language model with a Transformer")
    parser.add_argument("--steps", type=int, default=150)
    main(parser.parse_args().steps)
