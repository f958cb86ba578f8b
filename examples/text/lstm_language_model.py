"""A language model with an LSTM: which word comes next, learned from a long text by truncated backpropagation.

The text is cut into columns, read in parallel. The state goes on from one stretch to the next, but gradients do not
(`detach`), and their norm is clipped.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import torch
from corpus import Vocabulary, words
from torch import Tensor, nn

COLUMNS, STRETCH = 16, 20


class LanguageModel(nn.Module):
    def __init__(self, tokens: int, width: int = 48, layers: int = 2, dropout: float = 0.1) -> None:
        super().__init__()
        self.encoder = nn.Embedding(tokens, width)
        self.rnn = nn.LSTM(width, width, layers, dropout=dropout)
        self.dropout = nn.Dropout(dropout)
        self.decoder = nn.Linear(width, tokens)
        self.decoder.weight = self.encoder.weight  # one matrix for words read and words said
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(
        self, tokens: Tensor, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor] | None]:
        output, state = self.rnn(self.dropout(self.encoder(tokens)), state)
        return self.decoder(self.dropout(output)), state


def columns(text: Tensor, count: int) -> Tensor:
    """A text as `count` columns to be read downwards."""
    length = len(text) // count
    return text[: length * count].view(count, length).t().contiguous()


@torch.no_grad()
def continued(model: LanguageModel, vocabulary: Any, word: str, length: int) -> str:
    """Words drawn one by one, each from what the model expects after those before."""
    model.eval()
    token, state, said = torch.tensor([[vocabulary.numbers[word]]]), None, []
    for _ in range(length):
        logits, state = model(token, state)
        token = torch.multinomial(logits[0].softmax(dim=1), 1)
        said.append(token.item())
    return " ".join(vocabulary.decode(said))


def main(steps: int) -> None:
    torch.manual_seed(0)
    text = words(1200)
    vocabulary = Vocabulary(text)
    data = columns(torch.tensor(vocabulary.encode(text)), COLUMNS)
    model = LanguageModel(len(vocabulary))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)

    state, at = None, 0
    for step in range(steps):
        if at + STRETCH >= len(data):
            state, at = None, 0
        if state is not None:
            state = tuple(part.detach() for part in state)
        inputs, targets = data[at : at + STRETCH], data[at + 1 : at + STRETCH + 1]
        at += STRETCH

        logits, state = model(inputs, state)
        loss = criterion(logits.view(-1, len(vocabulary)), targets.reshape(-1))
        model.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        if step < 5 or step % 25 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}  perplexity {math.exp(loss.item()):.2f}")

    print(continued(model, vocabulary, ".", 30))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Language model with an LSTM")
    parser.add_argument("--steps", type=int, default=150)
    main(parser.parse_args().steps)
