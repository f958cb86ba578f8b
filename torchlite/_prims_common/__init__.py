"""`torch._prims_common`: what decompositions and testers ask about dtypes, sizes and strides."""

import enum

from .. import symbolic
from ..core.machine import Tensor
from ..core.values import Size
from ..core.values.device import device
from .dtypes import *
from .sizes import *

Number = (bool, int, float, complex, symbolic.SymInt, symbolic.SymFloat, symbolic.SymBool)
IntLike, FloatLike, BoolLike = (int, symbolic.SymInt), (float, symbolic.SymFloat), (bool, symbolic.SymBool)
IntWithoutSymInt, FloatWithoutSymFloat, Dim = int, float, int
NumberType = bool | int | float | complex
RealNumberType = bool | int | float
NumberTypeType = type[bool] | type[int] | type[float] | type[complex]
DimsSequenceType = StrideType = list[int] | tuple[int, ...]
DimsType = int | list[int] | tuple[int, ...]
ShapeType = Size | list[int] | tuple[int, ...]
TensorLike = TensorLikeType = Tensor
TensorOrNumberLikeType = Tensor | bool | int | float | complex
TensorSequenceType = list[Tensor] | tuple[Tensor, ...]
DeviceLikeType = str | device | int
CustomOutParamAnnotation = "__custom_out_param__"


class RETURN_TYPE(enum.Enum):
    """How the result of a primitive relates to its operands: new, a view, or one of them."""

    NEW = (0,)
    VIEW = (1,)
    INPLACE = (2,)
    NONE = (3,)
