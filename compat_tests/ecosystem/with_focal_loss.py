"""Focal losses of several strengths, with weights of classes and an index that is ignored, and their gradients"""

import torch
from focal_loss.focal_loss import FocalLoss

torch.manual_seed(0)
scores = torch.randn(6, 4, requires_grad=True)
target = torch.tensor([0, 1, 2, 3, 1, -100])
for loss in (
    FocalLoss(gamma=0.7, ignore_index=-100),
    FocalLoss(gamma=2.0, weights=torch.tensor([1.0, 2.0, 0.5, 1.0]), ignore_index=-100, reduction="sum"),
    FocalLoss(gamma=1.0, ignore_index=-100, reduction="none"),
):
    value = loss(torch.softmax(scores, -1), target)
    (grad,) = torch.autograd.grad(value.sum(), scores)
    print(value.tolist(), grad.tolist())
binary = torch.rand(5, requires_grad=True)
value = FocalLoss(gamma=1.5)(binary, torch.tensor([0, 1, 1, 0, 1]))
value.backward()
print(value.item(), binary.grad.tolist())
