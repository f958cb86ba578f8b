"""`torch._higher_order_ops`: operations that call functions. They call them as they are, step by step."""

from ..nn.attention.flex_attention import flex_attention
from .associative_scan import associative_scan
from .cond import cond
from .map import map
from .scan import scan
from .while_loop import while_loop

__all__ = ["associative_scan", "cond", "flex_attention", "map", "scan", "while_loop"]
