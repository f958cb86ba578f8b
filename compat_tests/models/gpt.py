"""A transformer that continues text, as GPT, its attention written out."""

from __future__ import annotations

import math
from typing import Any


def build(torch: Any) -> tuple[Any, Any]:
    nn, F = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self, width: int, heads: int, length: int, fused: bool) -> None:
            super().__init__()
            self.heads, self.fused = heads, fused
            self.project, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
            self.drop = nn.Dropout(0.1)
            self.register_buffer("seen", torch.tril(torch.ones(length, length, dtype=torch.bool)), persistent=False)

        def forward(self, x: Any) -> Any:
            batch, length, width = x.size()
            q, k, v = (
                t.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                for t in self.project(x).split(width, dim=2)
            )
            if self.fused:
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
                scores = scores.masked_fill(~self.seen[:length, :length], float("-inf"))
                y = self.drop(F.softmax(scores, dim=-1)) @ v
            return self.out(y.transpose(1, 2).contiguous().view(batch, length, width))

    class Block(nn.Module):
        def __init__(self, width: int, heads: int, length: int, fused: bool) -> None:
            super().__init__()
            self.ln1, self.attention = nn.LayerNorm(width), Attention(width, heads, length, fused)
            self.ln2 = nn.LayerNorm(width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width), nn.Dropout(0.1)
            )

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.ln1(x))
            return x + self.mlp(self.ln2(x))

    class GPT(nn.Module):
        def __init__(self, words: int, length: int, width: int, heads: int) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList([Block(width, heads, length, fused) for fused in (False, True)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
            self.apply(self.begin)
            self.words.weight = self.head.weight

        @staticmethod
        def begin(module: Any) -> None:
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

        def forward(self, text: Any, wanted: Any) -> Any:
            x = self.words(text) + self.places(torch.arange(text.size(1), device=text.device))
            for block in self.blocks:
                x = block(x)
            scores = self.head(self.norm(x))
            return F.cross_entropy(scores.view(-1, scores.size(-1)), wanted.view(-1), ignore_index=-1)

    model = GPT(13, 12, 16, 2)

    def loss() -> Any:
        text = (torch.randint(13, (4, 1)) + 3 * torch.arange(13)) % 13
        wanted = text[:, 1:].clone()
        wanted[:, 0] = -1
        return model(text[:, :-1], wanted)

    return model, loss
