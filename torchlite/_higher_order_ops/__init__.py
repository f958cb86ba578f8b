"""`torch._higher_order_ops`: operations that call functions. They call them as they are, step by step."""

from .associative_scan import associative_scan
from .cond import cond
from .flex_attention import flex_attention
from .invoke_quant import InvokeQuant, invoke_quant_packed
from .map import map
from .scan import scan
from .while_loop import while_loop

__all__ = [
    "InvokeQuant", "associative_scan", "cond", "flex_attention", "invoke_quant_packed", "map", "scan", "while_loop",
]  # fmt: skip
