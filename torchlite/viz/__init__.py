"""Pictures: `graph` draws what autograd recorded, `summary` tells the layers of a model."""

from __future__ import annotations

from .drawing import Drawing
from .graph import graph
from .summary import Summary, summary

__all__ = ["Drawing", "Summary", "graph", "summary"]
