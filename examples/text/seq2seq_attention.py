"""Translate with attention: dates as people write them ("3 march 1999") into dates as machines do ("1999-03-03").

An encoder reads the characters in both directions; a decoder writes one character at a time and looks, each time, at
those places of the input that it now needs. While learning, it is told the right character before.
"""

from __future__ import annotations

import argparse
import random
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

MONTHS = [
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
]  # fmt: skip
CHARACTERS = "_^0123456789- abcdefghijklmnopqrstuvwxyz"  # the first pads, the second begins an answer
WIDTH = 48


def dates(count: int, choose: Any) -> tuple[Tensor, Tensor]:
    """Padded questions and answers of ten characters, as tensors of numbers of characters."""
    questions, answers = [], []
    for _ in range(count):
        year, month, day = choose.randint(1950, 2049), choose.randint(1, 12), choose.randint(1, 28)
        name = choose.choice([MONTHS[month - 1], MONTHS[month - 1][:3]])
        questions.append(choose.choice([f"{day} {name} {year}", f"{name} {day} {year}"]))
        answers.append(f"{year}-{month:02d}-{day:02d}")
    return padded(questions), padded(answers)


def padded(texts: list[str]) -> Tensor:
    numbers = [torch.tensor([CHARACTERS.index(c) for c in text]) for text in texts]
    return nn.utils.rnn.pad_sequence(numbers, batch_first=True)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(CHARACTERS), WIDTH, padding_idx=0)
        self.rnn = nn.GRU(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True)

    def forward(self, questions: Tensor) -> tuple[Tensor, Tensor]:
        found, state = self.rnn(self.embedding(questions))
        return found, torch.cat([state[0], state[1]], dim=1)


class Attention(nn.Module):
    """Additive attention: how well each place fits what the decoder is looking for."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH, bias=False)
        self.score = nn.Linear(WIDTH, 1, bias=False)

    def forward(self, state: Tensor, places: Tensor, absent: Tensor) -> tuple[Tensor, Tensor]:
        scores = self.score(torch.tanh(self.query(state).unsqueeze(1) + self.key(places))).squeeze(2)
        weights = F.softmax(scores.masked_fill(absent, float("-inf")), dim=1)
        return torch.bmm(weights.unsqueeze(1), places).squeeze(1), weights


class Translator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.attention = Encoder(), Attention()
        self.embedding = nn.Embedding(len(CHARACTERS), WIDTH)
        self.cell = nn.GRUCell(2 * WIDTH, WIDTH)
        self.output = nn.Linear(2 * WIDTH, len(CHARACTERS))

    def forward(self, questions: Tensor, answers: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The logits of each character, and where the decoder looked; guided by the answers where they are given."""
        places, state = self.encoder(questions)
        token = torch.full((len(questions),), 1)
        logits, looks = [], []
        for n in range(10):
            context, look = self.attention(state, places, questions == 0)
            state = self.cell(torch.cat([self.embedding(token), context], dim=1), state)
            logits.append(self.output(torch.cat([state, context], dim=1)))
            looks.append(look)
            token = logits[-1].argmax(dim=1) if answers is None else answers[:, n]
        return torch.stack(logits, dim=1), torch.stack(looks, dim=1)


def main(steps: int) -> None:
    torch.manual_seed(0)
    choose = random.Random(0)
    model = Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)

    for step in range(steps):
        questions, answers = dates(64, choose)
        logits, _ = model(questions, answers)
        loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step < 5 or step % 25 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")

    with torch.no_grad():
        questions, answers = dates(200, choose)
        logits, looks = model(questions)
    found = logits.argmax(dim=2)
    print(f"right {(found == answers).all(dim=1).float().mean():.1%}")
    question = "".join(CHARACTERS[c] for c in questions[0].tolist() if c)
    for c, place in zip(found[0].tolist(), looks[0].argmax(dim=1).tolist()):
        print(f"  {CHARACTERS[c]}  {question[:place]}[{question[place]}]{question[place + 1 :]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Sequence to sequence with attention")
    parser.add_argument("--steps", type=int, default=200)
    main(parser.parse_args().steps)
