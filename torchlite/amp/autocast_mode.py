"""`torch.autocast`: inside, ops choose the precision they compute in.

Products of matrices and convolutions take float32 operands in a lower precision, losses and other sensitive ops take
lower ones in float32, and ops that join tensors take the widest dtype among them. All other ops are as outside.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import cuda
from ..core.declare import Signature, taking
from ..core.machine import LEAF, Tensor, TensorBase, tensors_in
from ..core.state import Mode, Switch, local
from ..core.values import dt, shown_in, type_name, warn
from ..core.values.device import device as Device


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What ops compute in on each type of device, by name: a lower precision, float32, or the widest among the operands.
_LOWER = _names("""
    convolution conv_tbc bmm mm baddbmm addmm addbmm matmul _linear linalg_vecdot _prelu_kernel
    _scaled_dot_product_attention scaled_dot_product_attention
""")
_FULL = {
    "cpu": _names("""
        avg_pool3d binary_cross_entropy grid_sampler_2d grid_sampler_3d polar prod quantile
        nanquantile stft cdist _cdist_forward trace view_as_complex cholesky cholesky_inverse
        cholesky_solve inverse pinverse _lu_with_info lu_solve ormqr orgqr geqrf qr svd triangular_solve linalg_cholesky
        linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_householder_product
        linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank linalg_qr linalg_solve linalg_svd linalg_svdvals
        linalg_tensorinv linalg_tensorsolve max_pool3d max_unpool2d max_unpool3d
        adaptive_avg_pool3d adaptive_max_pool3d reflection_pad1d reflection_pad2d replication_pad1d
        replication_pad2d replication_pad3d mse_loss cosine_embedding_loss nll_loss_forward
        nll_loss2d_forward hinge_embedding_loss poisson_nll_loss smooth_l1_loss cross_entropy_loss
        l1_loss huber_loss margin_ranking_loss soft_margin_loss triplet_margin_loss multi_margin_loss
        _ctc_loss kl_div multilabel_margin_loss_forward binary_cross_entropy_with_logits
        fractional_max_pool2d fractional_max_pool3d fft_fft fft_ifft fft_rfft fft_irfft fft_hfft
        fft_ihfft fft_fft2 fft_ifft2 fft_rfft2 fft_irfft2 fft_fftn fft_ifftn fft_rfftn fft_irfftn
    """),
    "cuda": _names("""
        acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus
        layer_norm native_layer_norm group_norm norm nuclear_norm cosine_similarity poisson_nll_loss
        cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss
        huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss
        triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm
        logsumexp softmax log_softmax cumprod cumsum prod sum
    """),
}
_WIDEST = {
    "cpu": _names("stack cat index_copy"),
    "cuda": _names("""
        addcdiv addcmul atan2 bilinear cross dot grid_sampler_2d grid_sampler_3d index_put scatter_add
        stack cat tensordot vdot
    """),
}
_DTYPES = {  # what is lower, where nobody says
    **dict.fromkeys(("cpu", "maia", "xla", "hpu"), dt.bfloat16),
    **dict.fromkeys(("cuda", "mtia", "xpu", "ipu", "mps", "hip", "privateuseone"), dt.float16),
}
_TYPES = frozenset(_DTYPES) - {"hip"}  # that autocast is for, whether there are such devices or not


class Casts:
    """The casts that are on in a thread: the lower dtype by type of device, and weights that were cast already."""

    __slots__ = ("cached", "dtypes", "weights")

    def __init__(self, dtypes: dict[str, dt.dtype], weights: dict[int, tuple[Tensor, Tensor]], cached: bool) -> None:
        self.dtypes = dtypes
        self.weights = weights
        self.cached = cached

    def anew(self) -> Casts:
        """The same casts, of no weights yet."""
        return Casts(self.dtypes, {}, self.cached)

    def cast(self, name: str, values: Sequence[Any]) -> Sequence[Any]:
        """The operands of an op as it is to have them; the last is converted first, which of a layer is the bias."""
        kind = next((_place(t) for v in values for t in tensors_in(v)), "")
        lower = self.dtypes.get(kind)
        if lower is None:
            return values
        wanted = None
        if name in _LOWER:
            wanted = lower
        elif name in _FULL[kind]:
            wanted = dt.float32
        elif name in _WIDEST[kind]:
            wanted = _widest(lower, [t.dtype for v in values for t in tensors_in(v)])
        if wanted is None:
            return values
        order = (0, 2, 1) if name == "_linear" and len(values) == 3 else range(len(values))[::-1]
        made = {i: self.one(values[i], wanted, kind) for i in order}
        return [made[i] for i in range(len(values))]

    def one(self, value: Any, wanted: dt.dtype, kind: str) -> Any:
        if value.__class__ is tuple or value.__class__ is list:
            return type(value)([self.one(v, wanted, kind) for v in value])
        if not isinstance(value, TensorBase) or _place(value) != kind or value.dtype is wanted:
            return value
        if not value.dtype.is_floating_point or value.dtype is dt.float64:
            return value
        if not (self.cached and wanted is not dt.float32 and value.dtype is dt.float32 and value._edge is LEAF):
            return value.to(wanted)
        found = self.weights.get(id(value))
        if found is None:
            found = self.weights[id(value)] = (value, value.to(wanted))
        return found[1]


def _widest(lower: dt.dtype, dtypes: Sequence[dt.dtype]) -> dt.dtype:
    """float32 if it is among the dtypes, and the lower precision if there is none but that."""
    found = lower
    for d in dtypes:
        if not d.is_floating_point or d is dt.float64 or found is dt.float32:
            continue
        if d not in (lower, dt.float32):
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
        found = d
    return found


def _place(t: Tensor) -> str:
    return t._backend.device.type


@shown_in("torch.amp.autocast_mode")
class autocast(Switch):
    """Inside (a `with`, or a function this decorates), ops on a type of device choose their precision."""

    switches = ("autocast",)

    def __init__(
        self, device_type: str, dtype: dt.dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        if device_type == "privateuseone":
            raise AssertionError(
                "Tried to use AMP with the `privateuseone` backend, but the backend has not registered a module or  "
                "the module miss some necessary funcs. The backend should register a module by "
                "`torch._register_device_module`, and the module must have these funcs: \n"
                "`get_amp_supported_dtype() -> List[torch.dtype]`. \n"
            )
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._enabled = enabled if not enabled or self._usable() else False

    def _usable(self) -> bool:
        """Whether the device and the dtype can be had; a warning where they cannot."""
        kind = Device(self.device).type
        if kind == "cuda" and not cuda.is_available():
            warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
            return False
        lower = (dt.float16, dt.bfloat16) if kind == "cuda" else (dt.bfloat16, dt.float16)
        if self.fast_dtype not in lower:
            name = kind.upper()
            warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} Autocast only "
                f"supports dtypes of {', '.join(map(repr, lower))} currently.",
            )
            return False
        return True

    def _inside(self, mode: Mode) -> Mode:
        _enabling.bind((self.device, self._enabled), {})
        if not isinstance(self._cache_enabled, bool):
            raise TypeError(f"enabled must be a bool (got {type_name(self._cache_enabled)})")
        casts = mode.autocast
        dtypes = {} if casts is None else dict(casts.dtypes)
        kind = _known(self.device)
        dtypes.pop(kind, None)
        if self._enabled:
            dtypes[kind] = self.fast_dtype
        weights = {} if casts is None else casts.weights  # which the outermost region lets go of
        return mode.but(autocast=Casts(dtypes, weights, self._cache_enabled))

    def __enter__(self) -> autocast:
        super().__enter__()
        return self

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return self._call(func, args, kwargs)

        return wrapper


# ---- questions and settings


@taking("is_autocast_available(str device_type)")
def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` knows such a device."""
    return Device(device_type).type in _TYPES


def _known(device_type: str) -> str:
    """The type of a device that autocast is for."""
    found = Device(device_type).type
    if found not in _TYPES:
        raise RuntimeError("unknown device type for autocast in get_autocast_dispatch_key_from_device_type")
    return found


@taking("is_autocast_enabled(str device_type='cuda')")
def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether ops on such a device choose their precision in this thread."""
    casts = local.state.mode.autocast
    return _known(device_type) in (() if casts is None else casts.dtypes)


@taking("get_autocast_dtype(str device_type)")
def get_autocast_dtype(device_type: str) -> dt.dtype:
    """The lower precision on such a device."""
    kind, casts = Device(device_type).type, local.state.mode.autocast
    if kind not in _DTYPES:
        raise RuntimeError("unsupported scalarType")
    return (casts.dtypes.get(kind) if casts is not None else None) or _DTYPES[kind]


_enabling = Signature("set_autocast_enabled(str device_type, bool enabled)")


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Turn autocast on or off in this thread."""
    kind: Any = device_type
    if enabled is None:
        kind, enabled = "cuda", kind
    _enabling.bind((kind, enabled), {})
    kind, state = _known(kind), local.state
    casts = state.mode.autocast
    dtypes = {} if casts is None else dict(casts.dtypes)
    dtypes.pop(kind, None)
    if enabled:
        dtypes[kind] = _DTYPES[kind]
    state.mode = state.mode.but(autocast=Casts(dtypes, {}, is_autocast_cache_enabled()) if dtypes else None)


@taking("set_autocast_dtype(str device_type, ScalarType dtype)")
def set_autocast_dtype(device_type: str, dtype: dt.dtype) -> None:
    """Say what the lower precision on such a device is."""
    kind = Device(device_type).type
    if kind in _DTYPES:
        _DTYPES[kind] = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether weights that were cast are kept until the outermost region ends."""
    casts = local.state.mode.autocast
    return True if casts is None else casts.cached


def clear_autocast_cache() -> None:
    """Let go of the weights that were cast."""
    casts = local.state.mode.autocast
    if casts is not None:
        casts.weights.clear()


# ---- custom Functions


def _cast(value: Any, device_type: str, dtype: dt.dtype) -> Any:
    if isinstance(value, TensorBase):
        eligible = value.dtype.is_floating_point and _place(value) == device_type and value.dtype is not dt.float64
        return value.to(dtype) if eligible else value
    if isinstance(value, dict):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_cast(v, device_type, dtype) for v in value])
    return value


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: dt.dtype | None = None) -> Any:
    """For the forward of a custom Function: run it as the call finds autocast, or without, on inputs cast so."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorated


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """For the backward of a custom Function: run it with autocast as it was in forward."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type=device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return decorated
