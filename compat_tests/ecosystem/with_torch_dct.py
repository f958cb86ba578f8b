"""Discrete cosine transforms of one, two and three dimensions, their inverses, and gradients."""

import torch
import torch_dct as dct

torch.manual_seed(0)
for dims in (1, 2, 3):
    x = torch.randn(2, *([4, 5, 6][:dims]), requires_grad=True)
    forth, back = (dct.dct, dct.idct) if dims == 1 else [getattr(dct, f"{i}dct_{dims}d") for i in ("", "i")]
    for norm in (None, "ortho"):
        made = forth(x, norm=norm)
        print(dims, norm, made.flatten()[:4].tolist(), (back(made, norm=norm) - x).abs().max().item() < 1e-4)
        print(torch.autograd.grad(made.square().sum(), x)[0].norm().item())
print(dct.dct1(torch.arange(5.0)).tolist(), dct.idct1(dct.dct1(torch.arange(5.0))).tolist())
layer = dct.LinearDCT(6, "dct", norm="ortho")
print(layer(torch.arange(6.0)).tolist())
