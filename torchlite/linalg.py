"""torch.linalg: linear algebra."""

from .absent import lacking as _lacking
from .operations.linalg import LinAlgError as LinAlgError
from .operations.linalg import linalg as _linalg

globals().update(_linalg)

__getattr__ = _lacking(__name__)
