"""What distributions are written with: the functions of torch, under their public names."""

from __future__ import annotations

from types import SimpleNamespace

from ..core.registry import functions
from ..ops.linalg import linalg
from ..ops.special import special

torch = SimpleNamespace(**functions, linalg=SimpleNamespace(**linalg), special=SimpleNamespace(**special))
