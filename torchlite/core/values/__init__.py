"""What tensors are described by: dtypes, devices, sizes, layouts; and the words of errors."""

from . import dtype as dt
from . import sources as sources
from .arrays import Array, Backend, DeviceLike, Namespace, or_own
from .device import CPU, get_backend, get_default_device, set_default_device
from .dtype import (
    FLOAT,
    HALVES,
    bfloat16,
    bool_,
    complex128,
    default_complex,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    int64,
)
from .errors import (
    Told,
    broadcast_shapes,
    cannot_cast,
    forward_not_implemented,
    freed,
    leaving,
    missing_kernel,
    missing_kernel_of,
    no_room,
    not_implemented_for,
    out_of_memory,
    tell_of_half_complex,
    too_long,
    type_name,
    type_text,
    warn,
    warn_once,
    within,
    wrap_dim,
    wrap_dims,
)
from .layout import (
    channels_last_strides,
    contiguous_format,
    contiguous_strides,
    dense_strides,
    is_dense,
    jagged,
    memory_format,
    preserve_format,
    reshaped_strides,
    result_strides,
    sparse_bsr,
    sparse_coo,
    sparse_csr,
    strided,
)
from .pickling import Shown, bear_name, means_this, reduce_ex, shown_in, spelled
from .return_types import made, return_type
from .schemes import qscheme
from .size import Size
