"""`functorch.experimental`: what was tried out in functorch, and is in `torch.func` now."""

from ..._functorch.apis import chunk_vmap
from ...func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]
