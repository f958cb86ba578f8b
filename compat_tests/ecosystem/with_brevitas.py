"""A network trained with weights and activations of four bits, and tensors that know their scales."""

import brevitas.nn as qnn
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(
    qnn.QuantConv2d(1, 4, 3, weight_bit_width=4),
    qnn.QuantReLU(bit_width=4),
    torch.nn.Flatten(),
    qnn.QuantLinear(144, 3, bias=True, weight_bit_width=4),
)
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
images, classes = torch.randn(8, 1, 8, 8), torch.randint(0, 3, (8,))
for _ in range(5):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(images), classes)
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")

weight = model[0].quant_weight()
print("distinct weights", weight.value.unique().numel(), f"{weight.scale.item():.5f}")
quantized = qnn.QuantIdentity(return_quant_tensor=True)(images)
print(type(quantized).__name__, f"{quantized.scale.item():.5f}", quantized.bit_width.item())
print("sum", f"{(quantized + quantized).value.sum().item():.4f}", *sorted(model.state_dict()))
