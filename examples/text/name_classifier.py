"""Guess from which language a name comes: sequences of many lengths, packed, through a GRU.

The names are made up of each language's syllables. Those of a batch are packed, so that the network reads no padding.
"""

from __future__ import annotations

import argparse
import random
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

SYLLABLES = {
    "italian": "ro sa ni ti lo ri ca vel li gio van mo bel",
    "japanese": "ka shi ta ro mi yu ki na ha ya ma to sa",
    "german": "berg hein schu mann stein wal ter man fred kur gel ber",
    "finnish": "nen la ki vi ko mä ki sa lo ti mo jär vinen",
}
LANGUAGES = list(SYLLABLES)
LETTERS = sorted(set("".join(SYLLABLES.values())) - {" "})


class Names(Dataset[Any]):
    def __init__(self, count: int, seed: int) -> None:
        choose = random.Random(seed)
        self.items = []
        for _ in range(count):
            language = choose.randrange(len(LANGUAGES))
            syllables = choose.choices(SYLLABLES[LANGUAGES[language]].split(), k=choose.randint(1, 4))
            self.items.append(("".join(syllables), language))

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, n: int) -> tuple[str, int]:
        return self.items[n]


def collate(items: list[tuple[str, int]]) -> tuple[Tensor, Tensor, Tensor]:
    """Names as one padded tensor, with their lengths, and their languages."""
    names, languages = zip(*items)
    letters = [torch.tensor([LETTERS.index(letter) for letter in name]) for name in names]
    lengths = torch.tensor([len(name) for name in names])
    return pad_sequence(letters, batch_first=True), lengths, torch.tensor(languages)


class Classifier(nn.Module):
    """Reads a name both ways, and judges it by the largest value that each feature took anywhere."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS), width)
        self.rnn = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.output = nn.Linear(2 * width, len(LANGUAGES))

    def forward(self, names: Tensor, lengths: Tensor) -> Any:
        packed = pack_padded_sequence(self.embedding(names), lengths, batch_first=True, enforce_sorted=False)
        found, _ = self.rnn(packed)
        found, _ = pad_packed_sequence(found, batch_first=True, padding_value=-1.0)
        return self.output(found.amax(dim=1))


def main(steps: int) -> None:
    torch.manual_seed(0)
    loader = DataLoader(Names(32 * steps, seed=0), batch_size=32, shuffle=True, collate_fn=collate)
    model = Classifier()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CyclicLR(optimizer, 1e-3, 1e-2, step_size_up=20, cycle_momentum=False)

    for step, (names, lengths, languages) in enumerate(loader):
        loss = criterion(model(names, lengths), languages)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step < 5 or step % 25 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")

    names, lengths, languages = collate([Names(500, seed=1)[n] for n in range(500)])
    with torch.no_grad():
        found = model(names, lengths).argmax(dim=1)
    print(f"right {(found == languages).float().mean():.1%}")
    for name in ("rossini", "yamamoto", "hofmann", "lahti"):
        with torch.no_grad():
            likely = model(*collate([(name, 0)])[:2]).softmax(dim=1)[0]
        print(f"{name}: {LANGUAGES[likely.argmax()]} ({likely.max():.0%})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Packed sequences through a GRU")
    parser.add_argument("--steps", type=int, default=150)
    main(parser.parse_args().steps)
