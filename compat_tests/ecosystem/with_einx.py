"""Operations in einx's notation: rearranging, reductions, products, indexing and vmap."""

import einx
import torch

torch.manual_seed(0)
x, y = torch.randn(2, 3, 4), torch.randn(4, 5)
print(tuple(einx.rearrange("a b c -> (a c) b", x).shape), einx.sum("a [b] c", x).norm().item())
print(einx.dot("a b [c], [c] d -> a b d", x, y).norm().item(), einx.mean("a [b c]", x).tolist())
print(einx.add("a b c, b", x, torch.arange(3.0)).sum().item(), einx.max("[a] b c", x).sum().item())
print(einx.get_at("[n] d, a -> a d", torch.arange(20.0).reshape(5, 4), torch.tensor([0, 3])).tolist())
print(einx.softmax("a b [c]", x).square().sum().item(), einx.where("a b, a b, a b", x[0] > 0, x[0], x[1]).sum().item())
