"""Shapes and dtypes of tensors in annotations, checked when functions are called."""

import torch
from beartype import beartype
from jaxtyping import Bool, Float, Int, TypeCheckError, jaxtyped

Queries, Keys = Float[torch.Tensor, "b t d"], Float[torch.Tensor, "b s d"]
Mask, Weights = Bool[torch.Tensor, "t s"], Float[torch.Tensor, "b t s"]


@jaxtyped(typechecker=beartype)
def attend(q: Queries, k: Keys, mask: Mask) -> Weights:
    return (q @ k.mT).masked_fill(~mask, -1e9).softmax(-1)


torch.manual_seed(0)
q, k = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
print(attend(q, k, torch.ones(3, 5, dtype=torch.bool)).square().sum().item())
for bad in ((q, torch.randn(2, 5, 6), torch.ones(3, 5, dtype=torch.bool)), (q, k, torch.ones(3, 5)), (q.long(), k, k)):
    try:
        attend(*bad)
    except TypeCheckError as error:
        print(type(error).__name__)
for kind, t in ((Float, q), (Int, q), (Int, q.long()), (Float, q.double()), (Float, q.bfloat16())):
    print(isinstance(t, kind[torch.Tensor, "2 3 4"]), isinstance(t, kind[torch.Tensor, "... 4"]))
