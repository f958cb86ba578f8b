"""What distributions are written with: the functions of torch, under their public names."""

from types import SimpleNamespace

from ..core.machine import functions
from ..operations.linalg import linalg
from ..operations.pointwise.special_functions import special

torch = SimpleNamespace(**functions, linalg=SimpleNamespace(**linalg), special=SimpleNamespace(**special))
