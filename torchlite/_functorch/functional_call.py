"""`torch._functorch.functional_call`: modules as functions of their state."""

from ..func.modules import _stacked as construct_stacked_leaf
from ..func.modules import functional_call, stack_module_state

__all__ = ["construct_stacked_leaf", "functional_call", "stack_module_state"]
