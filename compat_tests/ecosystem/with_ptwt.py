"""Wavelet transforms of one and two dimensions, continuous ones, packets, and gradients."""

import ptwt
import pywt
import torch

torch.manual_seed(0)
x = torch.randn(2, 32, dtype=torch.float64, requires_grad=True)
for name in ("haar", "db3", "sym4"):
    parts = ptwt.wavedec(x, pywt.Wavelet(name), mode="zero", level=2)
    print(name, [tuple(p.shape) for p in parts], [p.sum().item() for p in parts])
    back = ptwt.waverec(parts, pywt.Wavelet(name))
    print((back[..., :32] - x).abs().max().item() < 1e-8)
    print(torch.autograd.grad(sum((p**2).sum() for p in parts), x)[0].norm().item())
image = torch.randn(1, 16, 16, dtype=torch.float64)
coefficients = ptwt.wavedec2(image, "db2", level=2, mode="reflect")
print(coefficients[0].sum().item(), [d.sum().item() for level in coefficients[1:] for d in level])
print(ptwt.waverec2(coefficients, "db2").shape)
packets = ptwt.WaveletPacket(x.detach(), "haar", mode="reflect", maxlevel=2)
print({key: packets[key].sum().item() for key in ("aa", "ad", "da", "dd")})
transformed, frequencies = ptwt.cwt(x.detach(), torch.arange(1.0, 5.0).double(), "mexh")
print(transformed.shape, transformed.abs().sum().item(), list(frequencies))
