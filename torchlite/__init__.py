"""PyTorch's Python surface over NumPy, CuPy, and whatever backend is registered."""

from __future__ import annotations

import importlib as _importlib
import sys as _sys
from typing import Any as _Any

from . import autograd, faces, operations, overrides, random, return_types, sparse
from .autograd import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from .backends import register_backend
from .constants import *
from .core.machine import Generator, Tensor, set_printoptions
from .core.machine.registry import functions as _functions
from .core.memory import TypedStorage, UntypedStorage
from .core.memory.typed_storage import STORAGES as _STORAGES
from .core.values import Size, qscheme
from .core.values import dtype as _dtype
from .core.values import layout as _layout
from .core.values.device import device, get_default_device, set_default_device
from .core.values.dtype import dtype, finfo, get_default_dtype, iinfo, set_default_dtype
from .core.values.layout import layout, memory_format
from .core.values.pickling import live_here as _live_here
from .core.values.schemes import SCHEMES as _SCHEMES
from .queries import *
from .queries import __all__ as _queries
from .random import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from .torch_version import __version__

faces.install()
globals().update(_layout.NAMES, **_SCHEMES)
globals().update(_functions)
globals().update(_STORAGES, Storage=_STORAGES["FloatStorage"], _storage_classes={*_STORAGES.values(), UntypedStorage})
globals().update(_dtype.NAMES, bool=_dtype.bool_)

_live_here(
    globals(), *_queries, "get_default_device", "get_default_dtype", "is_grad_enabled", "is_inference_mode_enabled",
    "set_default_device", "set_default_dtype",
)  # fmt: skip

# Loaded when first used.
_LATER = frozenset((
    "_C", "_VF", "__config__", "__future__", "_custom_ops", "_dynamo", "_guards", "_inductor", "_jit_internal",
    "_ops", "_prims", "_prims_common", "_refs", "_tensor", "_tensor_str", "_utils", "accelerator", "amp", "ao",
    "classes", "compiler", "cpu", "cuda", "distributed", "distributions", "export", "fft", "func", "functional",
    "futures", "fx", "hub", "jit", "library", "linalg", "masked", "monitor", "mps", "mtia", "multiprocessing",
    "nested", "nn", "onnx", "ops", "optim", "profiler", "quantization", "quasirandom", "serialization", "signal",
    "sparse", "special", "storage", "testing", "torch_version", "types", "utils", "version", "xpu",
))  # fmt: skip
_NAMES_LATER = {
    "_C": """
        AnyType AwaitType BoolType ClassType ComplexType DeviceObjType DictType DispatchKey DispatchKeySet EnumType
        FileCheck FloatType FutureType InferredType IntType InterfaceType ListType NoneType NumberType OptionalType
        PyObjectType RRefType StreamObjType StringType TensorType TupleType Type UnionType
    """,
    "_library.schema": "parse_schema",
    "_ops": "Tag",
    "amp": "GradScaler",
    "amp.autocast_mode": """
        autocast clear_autocast_cache get_autocast_dtype is_autocast_cache_enabled is_autocast_enabled
        set_autocast_dtype set_autocast_enabled
    """,
    "amp.legacy": """
        autocast_decrement_nesting autocast_increment_nesting get_autocast_cpu_dtype get_autocast_gpu_dtype
        get_autocast_ipu_dtype get_autocast_xla_dtype is_autocast_cpu_enabled is_autocast_ipu_enabled
        is_autocast_xla_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
        set_autocast_gpu_dtype set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype
        set_autocast_xla_enabled
    """,
    "autograd.anomaly_mode": "is_anomaly_check_nan_enabled is_anomaly_enabled set_anomaly_enabled",
    "checks": """
        _assert_async _check _check_index _check_is_size _check_not_implemented _check_tensor_all
        _check_tensor_all_with _check_type _check_value _check_with
    """,
    "compiler": "_disable_dynamo compile",
    "core.machine.overrides": "DisableTorchFunction DisableTorchFunctionSubclass",
    "exceptions": "AcceleratorError FatalError OutOfMemoryError",
    "func": "vmap",
    "futures": "Future",
    "jit": "fork JITException ScriptFunction ScriptModule wait",
    "_quantized": """
        _empty_affine_quantized choose_qparams_optimized empty_quantized fake_quantize_per_channel_affine
        fake_quantize_per_tensor_affine fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation
        fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight
        fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix fused_moving_avg_obs_fake_quant quantize_per_channel
        quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_gru_cell quantized_lstm_cell
        quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell
    """,
    "operations.torch_names.inner_functions": """
        _add_relu _addmm_activation _aminmax _amp_update_scale_ _assert_scalar _assert_tensor_metadata
        _batch_norm_impl_index _compute_linear_combination _conj_copy _conj_physical _convert_indices_from_coo_to_csr
        _convert_indices_from_csr_to_coo _convolution_mode _cummax_helper _cummin_helper _debug_has_internal_overlap
        _dim_arange _efficientzerotensor _fused_rms_norm _grouped_mm _has_compatible_shallow_copy_type _index_put_impl_
        _int_mm _logcumsumexp _masked_softmax _native_batch_norm_legit_no_training
        _neg_view_copy _reshape_from_tensor _saturate_weight_to_fp16 _scaled_dot_product_attention_math
        _shape_as_tensor _stack _test_serialization_subcmul _to_cpu _transform_bias_rescale_qkv _unique _unsafe_index
        _unsafe_index_put _weight_int8pack_mm
    """,
    "_higher_order_ops.cond": "cond",
    "operations.torch_names.libraries": """
        batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats
        batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats cudnn_affine_grid_generator
        cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu
        cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable miopen_batch_norm miopen_convolution
        miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss
        miopen_depthwise_convolution miopen_rnn mkldnn_convolution
    """,
    "random": "thread_safe_generator",
    "serialization": "load save",
    "serialization.file_reader": "PyTorchFileReader",
    "serialization.file_writer": "PyTorchFileWriter",
    "settings": """
        are_deterministic_algorithms_enabled get_deterministic_debug_mode get_float32_matmul_precision
        get_num_interop_threads get_num_threads init_num_threads is_deterministic_algorithms_warn_only_enabled
        is_warn_always_enabled set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal
        set_num_interop_threads set_num_threads set_vital set_warn_always use_deterministic_algorithms
    """,
    "streams": "Event get_device_module Stream",
    "symbolic": """
        sym_constrain_range sym_constrain_range_for_size sym_float sym_fresh_size sym_int sym_ite sym_max sym_min
        sym_not sym_sqrt sym_sum SymBool SymFloat SymInt
    """,
}
_ROOMS = (  # whose functions are shown as torch's own
    "_library.schema", "amp.autocast_mode", "amp.legacy", "autograd.anomaly_mode", "compiler", "jit", "settings",
    "streams", "symbolic",
)  # fmt: skip
_UNLISTED = """
    BFloat16Storage BFloat16Tensor ComplexDoubleStorage ComplexFloatStorage HalfStorage HalfTensor QInt32Storage
    QInt8Storage QUInt8Storage Storage annotations
    broadcast_shapes channels_last channels_last_3d compiled_with_cxx11_abi contiguous_format eig from_dlpack jagged
    legacy_contiguous_format lstsq lu matrix_rank pca_lowrank per_channel_affine per_channel_affine_float_qparams
    per_channel_symmetric per_tensor_affine per_tensor_symmetric preserve_format register_backend segment_reduce
    set_default_dtype set_grad_enabled set_vital solve sparse_bsc sparse_bsr sparse_coo sparse_csc sparse_csr strided
    svd_lowrank symeig to_dlpack unique
"""  # public names that `from torch import *` does not bring, as in PyTorch
_INNER = {
    "absent", "annotations", "compiler_backends", "constants", "core", "faces", "kernels", "operations", "queries",
}  # fmt: skip
_OLD = frozenset(("has_cuda", "has_cudnn", "has_mkldnn", "has_mps"))
_HOME = {_name: _room for _room, _names in _NAMES_LATER.items() for _name in _names.split()}


def _listed() -> list[str]:
    """What `from torch import *` brings: no modules."""
    names = {*globals(), *_HOME}.difference(_UNLISTED.split())
    return sorted([n for n in names if n[0] != "_" and not isinstance(globals().get(n), type(_sys))])


def __getattr__(name: str) -> _Any:
    if name == "__all__":
        return _listed()
    if name in _LATER:
        return _importlib.import_module(f".{name}", __name__)
    if name == "torch":
        return _sys.modules[__name__]
    if name in _HOME:
        room = _importlib.import_module(f".{_HOME[name]}", __name__)
        if _HOME[name] in _ROOMS:
            _live_here({"__name__": __name__, name: vars(room)[name]}, name)
        return _functions[name] if name in _functions else getattr(room, name)
    if name in _OLD:
        return getattr(_importlib.import_module(".constants", __name__), name)
    if name.startswith(("_foreach_", "_amp_foreach_")):
        _importlib.import_module(".operations.torch_names.foreach", __name__)
        if name in _functions:
            return _functions[name]
    from .absent import explanation

    raise AttributeError(explanation(f"torch.{name}"), name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_HOME} - _INNER)
