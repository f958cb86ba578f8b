"""Every function and layer of einops."""

import torch
from einops import einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce

torch.manual_seed(0)
x = torch.randn(2, 3, 4, 5, requires_grad=True)
packed, shapes = pack([x, x[:, 0]], "b * w")
layers = torch.nn.Sequential(
    EinMix("b c h w -> b h w o", weight_shape="c o", bias_shape="o", c=3, o=6),
    Rearrange("b h w o -> b o h w"),
    Reduce("b o h w -> b o", "mean"),
)
made = [
    rearrange(x, "b c h w -> b (h w) c"),
    rearrange(x, "b c (h p) w -> (b p) c h w", p=2),
    rearrange([x, x], "n b c h w -> b n c h w"),
    *(reduce(x, "b c (h k) w -> b h w", how, k=2) for how in ("mean", "sum", "max", "min", "prod")),
    *(reduce(x > 0, "b c h w -> b", how) for how in ("any", "all")),
    repeat(x, "b c h w -> b c (h k) w 2", k=2),
    einsum(x, x, "b c h w, b d h w -> b c d"),
    packed,
    *unpack(packed, shapes, "b * w"),
    layers(x),
]
sum((t.float() ** 2).mean() for t in made).backward()
for t in (*made, x.grad, *(p.grad for p in layers.parameters())):
    print(tuple(t.shape), t.detach().float().abs().sum().item())
print(parse_shape(x, "a b _ c"), layers)
