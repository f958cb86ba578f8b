"""A UNet for segmentation with the Dice loss, transforms and a metric."""

import warnings

warnings.simplefilter("ignore")
import torch  # noqa: E402
from monai.losses import DiceCELoss  # noqa: E402
from monai.metrics import DiceMetric  # noqa: E402
from monai.networks.nets import UNet  # noqa: E402
from monai.transforms import Compose, Resize, ScaleIntensity  # noqa: E402

torch.manual_seed(0)
model = UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1)
x, y = torch.randn(2, 1, 16, 16), torch.randint(0, 2, (2, 1, 16, 16))
loss_of = DiceCELoss(to_onehot_y=True, softmax=True)
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for _ in range(3):
    optimizer.zero_grad()
    loss = loss_of(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
metric = DiceMetric(include_background=True, num_classes=2)
metric(model(x).argmax(1, keepdim=True), y)
print(metric.aggregate().item())
print(Compose([ScaleIntensity(), Resize((8, 8))])(x[0]).sum().item())
