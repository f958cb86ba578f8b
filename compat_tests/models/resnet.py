"""A residual network for images, as ResNet-18: four stages of two blocks."""

from __future__ import annotations

from typing import Any


def build(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn

    def conv3(inward: int, outward: int, stride: int = 1) -> Any:
        return nn.Conv2d(inward, outward, kernel_size=3, stride=stride, padding=1, bias=False)

    class Block(nn.Module):
        def __init__(self, inward: int, outward: int, stride: int = 1) -> None:
            super().__init__()
            self.conv1, self.bn1 = conv3(inward, outward, stride), nn.BatchNorm2d(outward)
            self.conv2, self.bn2 = conv3(outward, outward), nn.BatchNorm2d(outward)
            self.relu = nn.ReLU(inplace=True)
            self.shortcut = None
            if stride != 1 or inward != outward:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(inward, outward, kernel_size=1, stride=stride, bias=False), nn.BatchNorm2d(outward)
                )

        def forward(self, x: Any) -> Any:
            kept = x if self.shortcut is None else self.shortcut(x)
            y = self.relu(self.bn1(self.conv1(x)))
            y = self.bn2(self.conv2(y))
            y += kept
            return self.relu(y)

    class ResNet(nn.Module):
        def __init__(self, widths: tuple[int, ...], classes: int) -> None:
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(3, widths[0], kernel_size=7, stride=2, padding=3, bias=False),
                nn.BatchNorm2d(widths[0]),
                nn.ReLU(inplace=True),
                nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
            )
            stages = []
            for i, (inward, outward) in enumerate(zip(widths[:1] + widths, widths)):
                stages.append(nn.Sequential(Block(inward, outward, 1 if i == 0 else 2), Block(outward, outward)))
            self.stages = nn.Sequential(*stages)
            self.pool = nn.AdaptiveAvgPool2d((1, 1))
            self.head = nn.Linear(widths[-1], classes)
            for m in self.modules():
                if isinstance(m, nn.Conv2d):
                    nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
                elif isinstance(m, nn.BatchNorm2d):
                    nn.init.constant_(m.weight, 1)
                    nn.init.constant_(m.bias, 0)

        def forward(self, x: Any) -> Any:
            return self.head(torch.flatten(self.pool(self.stages(self.stem(x))), 1))

    model = ResNet((4, 8, 12, 16), 5)

    def loss() -> Any:
        images, labels = torch.randn(8, 3, 48, 48), torch.randint(0, 5, (8,))
        return nn.functional.cross_entropy(model(images), labels)

    return model, loss
