"""Detection operators, a classifier's training, transforms of images and of boxes."""

import torch
from torchvision import models, ops, transforms, tv_tensors
from torchvision.transforms import v2

g = torch.Generator().manual_seed(0)
boxes = torch.rand(60, 4, generator=g) * 50
boxes[:, 2:] += boxes[:, :2]
scores = torch.rand(60, generator=g)
print(ops.nms(boxes, scores, 0.3).tolist(), ops.batched_nms(boxes, scores, torch.arange(60) % 3, 0.3).tolist())
print(ops.box_iou(boxes[:5], boxes[5:9]).sum().item(), ops.generalized_box_iou(boxes[:5], boxes[5:9]).sum().item())
x = torch.randn(2, 8, 20, 24, generator=g, requires_grad=True)
rois = torch.cat([torch.tensor([0.0, 1, 1, 0, 1])[:, None], boxes[:5] / 2.5], 1)
for pool, options in (
    (ops.roi_align, {"output_size": (3, 4), "spatial_scale": 0.5}),
    (ops.roi_align, {"output_size": 3, "sampling_ratio": 2, "aligned": True}),
    (ops.roi_pool, {"output_size": (3, 4), "spatial_scale": 0.5}),
    (ops.ps_roi_align, {"output_size": 2, "spatial_scale": 0.5}),
    (ops.ps_roi_pool, {"output_size": 2, "spatial_scale": 0.5}),
):
    y = pool(x, rois, **options)
    (grad,) = torch.autograd.grad((y**2).sum(), x)
    print(pool.__name__, tuple(y.shape), y.sum().item(), grad.abs().sum().item())
w = torch.randn(6, 4, 3, 3, generator=g)
offset, mask = torch.randn(2, 36, 18, 22, generator=g).requires_grad_(), torch.rand(2, 18, 18, 22, generator=g)
y = ops.deform_conv2d(x, offset, w, mask=mask)
print(y.sum().item(), torch.autograd.grad((y**2).mean(), offset)[0].norm().item())

torch.manual_seed(0)
model = models.resnet18(num_classes=4)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
images, target = torch.randn(4, 3, 32, 32, generator=g), torch.tensor([0, 1, 2, 3])
for _ in range(2):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(images), target)
    loss.backward()
    optimizer.step()
    print(loss.item())
print(models.vgg11_bn(num_classes=3, init_weights=False).classifier[-1], models.get_model("mobilenet_v3_small"))

image = (torch.rand(3, 12, 16, generator=g) * 255).to(torch.uint8)
print(transforms.Compose([transforms.Resize(8), transforms.CenterCrop(6)])(image).sum().item())
print(transforms.ToTensor()(transforms.ToPILImage()(image)).sum().item())
box = tv_tensors.BoundingBoxes([[1, 2, 8, 9]], format="XYXY", canvas_size=(12, 16))
flipped, moved = v2.Compose([v2.RandomHorizontalFlip(1.0), v2.Resize((24, 32))])(image, box)
print(flipped.shape, type(moved).__name__, moved.tolist(), moved.canvas_size)
