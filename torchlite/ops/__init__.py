"""The operations, one file per family. Importing this package declares them all."""

from . import copy, create, matmul, pointwise, reduce, shape

__all__ = ["copy", "create", "matmul", "pointwise", "reduce", "shape"]
