"""A network that segments images, as U-Net: down, up again, and across."""

from __future__ import annotations

from typing import Any


def build(torch: Any) -> tuple[Any, Any]:
    nn, F = torch.nn, torch.nn.functional

    class Twice(nn.Sequential):
        def __init__(self, inward: int, outward: int) -> None:
            super().__init__(
                nn.Conv2d(inward, outward, 3, padding=1),
                nn.GroupNorm(2, outward),
                nn.LeakyReLU(0.1),
                nn.Conv2d(outward, outward, 3, padding="same", padding_mode="reflect", bias=False),
                nn.InstanceNorm2d(outward, affine=True),
                nn.SiLU(),
            )

    class UNet(nn.Module):
        def __init__(self, width: int, classes: int) -> None:
            super().__init__()
            self.into = Twice(1, width)
            self.down = nn.ModuleList([Twice(width * 2**i, width * 2 ** (i + 1)) for i in range(2)])
            self.pool = nn.MaxPool2d(2)
            self.raise_ = nn.ConvTranspose2d(width * 4, width * 2, kernel_size=2, stride=2)
            self.up = nn.ModuleDict({"low": Twice(width * 4, width * 2), "high": Twice(width * 3, width)})
            self.drop = nn.Dropout2d(0.1)
            self.out = nn.Conv2d(width, classes, 1)

        def forward(self, x: Any) -> Any:
            high = self.into(x)
            middle = self.down[0](self.pool(high))
            low = self.drop(self.down[1](self.pool(middle)))
            y = self.up["low"](torch.cat([self.raise_(low), middle], dim=1))
            y = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
            return self.out(self.up["high"](torch.cat([y, high], dim=1)))

    model = UNet(4, 3)

    def loss() -> Any:
        images = torch.randn(2, 1, 20, 20)
        masks = (images[:, 0] > 0.5).long() + (images[:, 0] > -0.5).long()
        scores = model(images)
        shares = F.softmax(scores, dim=1)
        wanted = F.one_hot(masks, 3).permute(0, 3, 1, 2).to(shares.dtype)
        overlap = 2 * (shares * wanted).sum((0, 2, 3)) / (shares + wanted).sum((0, 2, 3))
        return F.cross_entropy(scores, masks, weight=torch.tensor([0.5, 1.0, 2.0])) + 1 - overlap.mean()

    return model, loss
