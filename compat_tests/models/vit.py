"""A transformer on patches of images, as ViT, of torch.nn's own layers."""

from __future__ import annotations

from typing import Any


def build(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn

    class ViT(nn.Module):
        def __init__(self, size: int, patch: int, width: int, heads: int, depth: int, classes: int) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, width, kernel_size=patch, stride=patch)
            self.token = nn.Parameter(torch.zeros(1, 1, width))
            self.places = nn.Parameter(torch.empty(1, (size // patch) ** 2 + 1, width).normal_(std=0.02))
            layer = nn.TransformerEncoderLayer(
                width, heads, width * 2, dropout=0.1, activation="gelu", batch_first=True, norm_first=True
            )
            self.encoder = nn.TransformerEncoder(layer, depth, norm=nn.LayerNorm(width), enable_nested_tensor=False)
            self.head = nn.Linear(width, classes)

        def forward(self, images: Any) -> Any:
            x = self.patches(images).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.places
            return self.head(self.encoder(x)[:, 0])

    model = ViT(16, 4, 16, 4, 2, 6)

    def loss() -> Any:
        images, labels = torch.randn(4, 3, 16, 16), torch.randint(6, (4,))
        return nn.CrossEntropyLoss(label_smoothing=0.1)(model(images), labels)

    return model, loss
