"""Pictures: `graph` draws what autograd recorded, `summary` tells a model's layers, `show_tensors` shows tensors."""

from .drawing import Drawing
from .graph import graph
from .summary import Summary, summary
from .tensors import show_tensors

__all__ = ["Drawing", "Summary", "graph", "show_tensors", "summary"]
