# Written by `python -m torchlite.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"
from typing import Any as _Any
from torchlite.core.values.arrays import DeviceLike as _DeviceLike
from builtins import Exception as _Exception
from collections.abc import Iterator as _Iterator
from torchlite.cuda.pools import MemPool as _MemPool
from typing import NoReturn as _NoReturn
from torchlite.cuda.storages import _OnCuda as _OnCuda
from builtins import RuntimeError as _RuntimeError
from torchlite.core.values.errors import Told as _Told
from builtins import bool as _bool
_device = device
from builtins import int as _int
from builtins import list as _list
from builtins import object as _object
from builtins import str as _str
from builtins import tuple as _tuple
from builtins import type as _type

from torchlite.cuda.graphs import CUDAGraph as CUDAGraph
from torchlite.cuda.streams import Event as Event
from torchlite.cuda.streams import ExternalStream as ExternalStream
from torchlite.cuda.pools import MemPool as MemPool
from torchlite.cuda.streams import Stream as Stream
from torchlite.cuda.streams import StreamContext as StreamContext
from torchlite.core.values.errors import Told as Told
from torchlite.cuda import amp as amp
from torchlite.cuda.memory import caching_allocator_enable as caching_allocator_enable
from torchlite.cuda import comm as comm
from torchlite.cuda.streams import current_stream as current_stream
from torchlite.cuda.streams import default_stream as default_stream
from torchlite.cuda import gds as gds
from torchlite.cuda.memory import get_allocator_backend as get_allocator_backend
from torchlite.cuda.memory import get_per_process_memory_fraction as get_per_process_memory_fraction
from torchlite.cuda.random import get_rng_state as get_rng_state
from torchlite.cuda.random import get_rng_state_all as get_rng_state_all
from torchlite.cuda.streams import get_stream_from_external as get_stream_from_external
from torchlite.cuda.graphs import graph as graph
from torchlite.cuda.graphs import graph_pool_handle as graph_pool_handle
from torchlite.cuda import graphs as graphs
from torchlite.cuda import green_contexts as green_contexts
from torchlite.cuda.memory import host_memory_stats as host_memory_stats
from torchlite.cuda.memory import host_memory_stats_as_nested_dict as host_memory_stats_as_nested_dict
from torchlite.cuda.random import initial_seed as initial_seed
from torchlite.cuda.unsupported import ipc_collect as ipc_collect
from torchlite.cuda.graphs import is_current_stream_capturing as is_current_stream_capturing
from torchlite.cuda import jiterator as jiterator
from torchlite.cuda import lazy as lazy
from torchlite.cuda.memory import list_gpu_processes as list_gpu_processes
from torchlite.cuda.graphs import make_graphed_callables as make_graphed_callables
from torchlite.cuda.random import manual_seed as manual_seed
from torchlite.cuda.random import manual_seed_all as manual_seed_all
from torchlite.cuda.memory import max_memory_allocated as max_memory_allocated
from torchlite.cuda.memory import max_memory_cached as max_memory_cached
from torchlite.cuda.memory import max_memory_reserved as max_memory_reserved
from torchlite.cuda import memory as memory
from torchlite.cuda.memory import memory_cached as memory_cached
from torchlite.cuda.memory import memory_stats as memory_stats
from torchlite.cuda.memory import memory_stats_as_nested_dict as memory_stats_as_nested_dict
from torchlite.cuda.memory import memory_summary as memory_summary
from torchlite.cuda import nccl as nccl
from torchlite.core.values.device import no_cuda as no_cuda
from torchlite.cuda import nvtx as nvtx
from torchlite.cuda import pools as pools
from torchlite.cuda import profiler as profiler
from torchlite.cuda import random as random
from torchlite.cuda.memory import reset_accumulated_memory_stats as reset_accumulated_memory_stats
from torchlite.cuda.memory import reset_max_memory_allocated as reset_max_memory_allocated
from torchlite.cuda.memory import reset_max_memory_cached as reset_max_memory_cached
from torchlite.cuda.memory import reset_peak_host_memory_stats as reset_peak_host_memory_stats
from torchlite.cuda.memory import reset_peak_memory_stats as reset_peak_memory_stats
from torchlite.cuda.random import seed as seed
from torchlite.cuda.random import seed_all as seed_all
from torchlite.cuda.memory import set_per_process_memory_fraction as set_per_process_memory_fraction
from torchlite.cuda.random import set_rng_state as set_rng_state
from torchlite.cuda.random import set_rng_state_all as set_rng_state_all
from torchlite.cuda.streams import set_stream as set_stream
from torchlite.cuda import sparse as sparse
from torchlite.cuda import storages as storages
from torchlite.cuda.streams import stream as stream
from torchlite.cuda import streams as streams
from torchlite.cuda import tunable as tunable
from torchlite.cuda import unsupported as unsupported

BFloat16Storage: _OnCuda
BoolStorage: _OnCuda
ByteStorage: _OnCuda
CUDAPluggableAllocator: _type
CharStorage: _OnCuda
ComplexDoubleStorage: _OnCuda
ComplexFloatStorage: _OnCuda
class CudaError(_RuntimeError):
    def __init__(self, code: _int) -> None: ...
class DeferredCudaCallError(_Told, _Exception):
    ...
DeviceLike: _Any
DoubleStorage: _OnCuda
FloatStorage: _OnCuda
GreenContext: _type
HalfStorage: _OnCuda
IntStorage: _OnCuda
LongStorage: _OnCuda
ShortStorage: _OnCuda
def _index(device: _DeviceLike) -> _int: ...
def _needed() -> _Any: ...
def _runtime() -> _Any: ...
def caching_allocator_alloc(*_: _Any, **__: _Any) -> _NoReturn: ...
def caching_allocator_delete(*_: _Any, **__: _Any) -> _NoReturn: ...
def caching_allocator_disabled() -> _Iterator[None]: ...
def can_device_access_peer(device: _DeviceLike, peer_device: _Any) -> _bool: ...
def change_current_allocator(*_: _Any, **__: _Any) -> _NoReturn: ...
def check_error(res: _int) -> None: ...
def clock_rate(*_: _Any, **__: _Any) -> _NoReturn: ...
class cudaStatus():
    ERROR_NOT_READY: _int
    SUCCESS: _int
def cudart() -> _Any: ...
def current_blas_handle(*_: _Any, **__: _Any) -> _NoReturn: ...
def current_device() -> _int: ...
def current_solver_handle(*_: _Any, **__: _Any) -> _NoReturn: ...
default_generators: _tuple
class device():
    def __enter__(self) -> None: ...
    def __exit__(self, *_: _object) -> None: ...
    def __init__(self, device: _DeviceLike) -> None: ...
def device_count() -> _int: ...
def device_memory_used(*_: _Any, **__: _Any) -> _NoReturn: ...
class device_of(_device):
    def __init__(self, obj: _Any) -> None: ...
def empty_cache() -> None: ...
def get_arch_list() -> _list[_str]: ...
def get_device_capability(device: _DeviceLike = None) -> _tuple[_int, _int]: ...
def get_device_name(device: _DeviceLike = None) -> _str: ...
def get_device_properties(device: _DeviceLike = None) -> _Any: ...
def get_gencode_flags() -> _str: ...
def get_sync_debug_mode() -> _int: ...
has_half: _bool
has_magma: _bool
def init() -> None: ...
def is_available() -> _bool: ...
def is_bf16_supported(including_emulation: _bool = True) -> _bool: ...
def is_initialized() -> _bool: ...
def is_tf32_supported() -> _bool: ...
def mem_get_info(device: _DeviceLike = None) -> _tuple[_int, _int]: ...
def memory_allocated(device: _DeviceLike = None) -> _int: ...
def memory_reserved(device: _DeviceLike = None) -> _int: ...
def memory_snapshot(*_: _Any, **__: _Any) -> _NoReturn: ...
def memory_usage(*_: _Any, **__: _Any) -> _NoReturn: ...
def power_draw(*_: _Any, **__: _Any) -> _NoReturn: ...
def reset_accumulated_host_memory_stats() -> None: ...
def set_device(device: _DeviceLike) -> None: ...
def set_sync_debug_mode(debug_mode: _int | _str) -> None: ...
def synchronize(device: _DeviceLike = None) -> None: ...
def temperature(*_: _Any, **__: _Any) -> _NoReturn: ...
def use_mem_pool(pool: _MemPool, device: _DeviceLike = None) -> _Iterator[None]: ...
def utilization(*_: _Any, **__: _Any) -> _NoReturn: ...
