"""Learning without backpropagation: every layer has a goal of its own (forward-forward).

A layer should respond strongly to an image with its right label written into it, and weakly to one with a wrong label.
Nothing flows back from layer to layer. To classify, every label is tried, and the one with the most response wins.
"""

from __future__ import annotations

import argparse

import torch
from digits import digits
from torch import Tensor, nn
from torch.nn import functional as F

THRESHOLD = 2.0


class Layer(nn.Linear):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=5e-3)

    def forward(self, input: Tensor) -> Tensor:
        """Only the direction of the input counts, so that a layer cannot repeat what the one before has found."""
        return F.relu(super().forward(F.rms_norm(input, input.shape[1:])))

    def learn(self, right: Tensor, wrong: Tensor) -> tuple[float, Tensor, Tensor]:
        """One step; returns the loss and what the next layer gets."""
        responses = self(right), self(wrong)
        good, bad = (r.pow(2).mean(dim=1) - THRESHOLD for r in responses)
        loss = F.softplus(torch.cat([-good, bad])).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item(), *(r.detach() for r in responses)


def labelled(images: Tensor, labels: Tensor) -> Tensor:
    """Images as vectors, with labels as ten more pixels."""
    return torch.cat([images.flatten(1), F.one_hot(labels, 10) * 2.0], dim=1)


@torch.no_grad()
def classify(layers: list[Layer], images: Tensor) -> Tensor:
    responses = []
    for digit in range(10):
        x, total = labelled(images, torch.full((len(images),), digit)), torch.zeros(len(images))
        for layer in layers:
            x = layer(x)
            total = total + x.pow(2).mean(dim=1)
        responses.append(total)
    return torch.stack(responses, dim=1).argmax(dim=1)


def main(steps: int) -> None:
    torch.manual_seed(0)
    images, labels = digits()
    layers = [Layer(74, 256), Layer(256, 256)]

    for step in range(steps):
        batch = torch.randint(0, 1500, (256,))
        others = (labels[batch] + torch.randint(1, 10, (256,))) % 10
        right, wrong = labelled(images[batch], labels[batch]), labelled(images[batch], others)
        losses = []
        for layer in layers:
            loss, right, wrong = layer.learn(right, wrong)
            losses.append(loss)
        if step < 5 or step % 50 == 0:
            print(f"step {step:4d}  loss {sum(losses):.6f}")

    found = classify(layers, images[1500:])
    print(f"accuracy on the test set {(found == labels[1500:]).float().mean():.1%}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Forward-forward learning")
    parser.add_argument("--steps", type=int, default=300)
    main(parser.parse_args().steps)
