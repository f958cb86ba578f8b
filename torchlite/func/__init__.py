"""`torch.func`: transforms of functions."""

from .dual import jvp
from .functionalization import debug_unwrap, functionalize
from .jacobians import hessian, jacfwd, jacrev, linearize
from .mapping import vmap
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .rearrange import rearrange
from .reverse import grad, grad_and_value, vjp

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "linearize", "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip
