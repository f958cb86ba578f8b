"""A GPT of characters, made from its parts: attention to what came before, a perceptron, and sums around both."""

from __future__ import annotations

import argparse
import math
from typing import Any

import torch
from corpus import Vocabulary, sentences
from torch import Tensor, nn
from torch.nn import functional as F

CONTEXT, WIDTH, HEADS, LAYERS = 32, 48, 4, 2


class CausalSelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.project = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Any:
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in self.qkv(x).split(WIDTH, dim=2))
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.project(found.transpose(1, 2).reshape(batch, length, WIDTH))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = CausalSelfAttention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(approximate="tanh"), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Tensor) -> Any:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.token = nn.Embedding(tokens, WIDTH)
        self.position = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, tokens, bias=False)
        self.token.weight = self.head.weight
        self.apply(self.initialise)

    @staticmethod
    def initialise(module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
            if getattr(module, "bias", None) is not None:
                nn.init.zeros_(module.bias)

    def forward(self, tokens: Tensor) -> Any:
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    @torch.no_grad()
    def generate(self, tokens: Tensor, count: int, temperature: float = 0.8, top: int = 8) -> Tensor:
        """Goes on by so many tokens, each drawn from the `top` likeliest."""
        for _ in range(count):
            logits = self(tokens[:, -CONTEXT:])[:, -1] / temperature
            least = logits.topk(top).values[:, -1:]
            probabilities = F.softmax(logits.masked_fill(logits < least, -torch.inf), dim=-1)
            tokens = torch.cat([tokens, torch.multinomial(probabilities, 1)], dim=1)
        return tokens


def weight_groups(model: GPT) -> list[dict[str, Any]]:
    """Matrices decay, biases and norms do not."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    return [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]


def main(steps: int) -> None:
    torch.manual_seed(1337)
    text = "\n".join(sentences(400))
    vocabulary = Vocabulary(text)
    data = torch.tensor(vocabulary.encode(text))
    model = GPT(len(vocabulary))
    optimizer = torch.optim.AdamW(weight_groups(model), lr=4e-3, betas=(0.9, 0.95))

    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 4e-3 * 0.5 * (1 + math.cos(math.pi * step / steps))
        at = torch.randint(len(data) - CONTEXT, (16,))
        windows = torch.stack([data[i : i + CONTEXT + 1] for i in at])
        logits = model(windows[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), windows[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step < 5 or step % 25 == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")

    start = torch.tensor([vocabulary.encode("\n")])
    print("".join(vocabulary.decode(model.generate(start, 120)[0].tolist())).strip())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Character-level GPT")
    parser.add_argument("--steps", type=int, default=300)
    main(parser.parse_args().steps)
