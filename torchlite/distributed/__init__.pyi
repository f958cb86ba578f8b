# Written by `python -m torchlite.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"
from typing import Any as _Any
from torchlite.futures import Future as _Future
from torchlite.distributed.process_group import Group as _Group
from torchlite.absent import Missing as _Missing
from collections.abc import Sequence as _Sequence
from torchlite.core.machine.tensor import Tensor as _Tensor
from torchlite.distributed.work import Work as _Work
from builtins import bool as _bool
from torchlite.distributed.reduction import _reduce_op as _reduce_op
from builtins import type as _type

from torchlite.distributed.backend import Backend as Backend
from torchlite.distributed.backend import BackendConfig as BackendConfig
from torchlite.distributed.buckets import BuiltinCommHookType as BuiltinCommHookType
from torchlite.distributed.options import DebugLevel as DebugLevel
from torchlite.distributed.device_mesh import DeviceMesh as DeviceMesh
from torchlite.distributed.errors import DistBackendError as DistBackendError
from torchlite.distributed.errors import DistError as DistError
from torchlite.distributed.errors import DistNetworkError as DistNetworkError
from torchlite.distributed.errors import DistStoreError as DistStoreError
from torchlite.distributed.stores.file import FileStore as FileStore
from torchlite.distributed.buckets import GradBucket as GradBucket
from torchlite.distributed.world import GroupMember as GroupMember
from torchlite.distributed.stores.base import HashStore as HashStore
from torchlite.distributed.messages import P2POp as P2POp
from torchlite.distributed.stores.base import PrefixStore as PrefixStore
from torchlite.distributed.process_group import ProcessGroup as ProcessGroup
from torchlite.distributed.errors import QueueEmptyError as QueueEmptyError
from torchlite.distributed.reduction import ReduceOp as ReduceOp
from torchlite.distributed.stores.base import Store as Store
from torchlite.distributed.stores.tcp import TCPStore as TCPStore
from torchlite.distributed.work import Work as Work
from torchlite.distributed import agent as agent
from torchlite.distributed import algorithms as algorithms
from torchlite.distributed.collectives import all_gather as all_gather
from torchlite.distributed.objects import all_gather_object as all_gather_object
from torchlite.distributed.collectives import all_gather_single as all_gather_single
from torchlite.distributed.collectives import all_reduce as all_reduce
from torchlite.distributed.collectives import all_to_all as all_to_all
from torchlite.distributed.collectives import all_to_all_single as all_to_all_single
from torchlite.distributed import backend as backend
from torchlite.distributed.collectives import barrier as barrier
from torchlite.distributed.messages import batch_isend_irecv as batch_isend_irecv
from torchlite.distributed import batch_norm as batch_norm
from torchlite.distributed.debugging import breakpoint as breakpoint
from torchlite.distributed.collectives import broadcast as broadcast
from torchlite.distributed.objects import broadcast_object_list as broadcast_object_list
from torchlite.distributed import buckets as buckets
from torchlite.distributed import call as call
from torchlite.distributed import checkpoint as checkpoint
from torchlite.distributed import checks as checks
from torchlite.distributed import coalescing as coalescing
from torchlite.distributed import collectives as collectives
from torchlite.distributed import debugging as debugging
from torchlite.distributed.world import destroy_process_group as destroy_process_group
from torchlite.distributed import detail as detail
from torchlite.distributed import device_mesh as device_mesh
from torchlite.distributed import engines as engines
from torchlite.distributed import errors as errors
from torchlite.distributed import fake as fake
from torchlite.distributed import fsdp as fsdp
from torchlite.distributed.collectives import gather as gather
from torchlite.distributed.objects import gather_object as gather_object
from torchlite.distributed.world import get_backend as get_backend
from torchlite.distributed.world import get_backend_config as get_backend_config
from torchlite.distributed.options import get_debug_level as get_debug_level
from torchlite.distributed.world import get_default_backend_for_device as get_default_backend_for_device
from torchlite.distributed.world import get_global_rank as get_global_rank
from torchlite.distributed.world import get_group_rank as get_group_rank
from torchlite.distributed.world import get_node_local_rank as get_node_local_rank
from torchlite.distributed.world import get_pg_count as get_pg_count
from torchlite.distributed.world import get_process_group_ranks as get_process_group_ranks
from torchlite.distributed.world import get_rank as get_rank
from torchlite.distributed.world import get_world_size as get_world_size
from torchlite.distributed.world import group as group
from torchlite.distributed import group_methods as group_methods
from torchlite.distributed import guard as guard
from torchlite.distributed.device_mesh import init_device_mesh as init_device_mesh
from torchlite.distributed.world import init_process_group as init_process_group
from torchlite.distributed.messages import irecv as irecv
from torchlite.distributed.world import is_available as is_available
from torchlite.distributed.world import is_backend_available as is_backend_available
from torchlite.distributed.world import is_gloo_available as is_gloo_available
from torchlite.distributed.world import is_initialized as is_initialized
from torchlite.distributed.world import is_mpi_available as is_mpi_available
from torchlite.distributed.world import is_nccl_available as is_nccl_available
from torchlite.distributed.world import is_torchelastic_launched as is_torchelastic_launched
from torchlite.distributed.world import is_ucc_available as is_ucc_available
from torchlite.distributed.world import is_xccl_available as is_xccl_available
from torchlite.distributed.messages import isend as isend
from torchlite.faces import later as later
from torchlite.distributed import launch as launch
from torchlite.distributed import launching as launching
from torchlite.distributed import messages as messages
from torchlite.distributed.messages import monitored_barrier as monitored_barrier
from torchlite.distributed.world import new_group as new_group
from torchlite.distributed.world import new_subgroups as new_subgroups
from torchlite.distributed.world import new_subgroups_by_enumeration as new_subgroups_by_enumeration
from torchlite.distributed import nn as nn
from torchlite.distributed import objects as objects
from torchlite.distributed import optim as optim
from torchlite.distributed import options as options
from torchlite.distributed import process_group as process_group
from torchlite.distributed.recording import record_comm as record_comm
from torchlite.distributed import recording as recording
from torchlite.distributed.messages import recv as recv
from torchlite.distributed.objects import recv_object_list as recv_object_list
from torchlite.distributed.collectives import reduce as reduce
from torchlite.distributed.collectives import reduce_scatter as reduce_scatter
from torchlite.distributed.collectives import reduce_scatter_single as reduce_scatter_single
from torchlite.distributed import reducer as reducer
from torchlite.distributed import reducer_errors as reducer_errors
from torchlite.distributed import reduction as reduction
from torchlite.distributed.rendezvous import register_rendezvous_handler as register_rendezvous_handler
from torchlite.distributed import registered as registered
from torchlite.distributed.rendezvous import rendezvous as rendezvous
from torchlite.distributed import run as run
from torchlite.distributed.collectives import scatter as scatter
from torchlite.distributed.objects import scatter_object_list as scatter_object_list
from torchlite.distributed.messages import send as send
from torchlite.distributed.objects import send_object_list as send_object_list
from torchlite.distributed.options import set_debug_level as set_debug_level
from torchlite.distributed.options import set_debug_level_from_env as set_debug_level_from_env
from torchlite.distributed.shrinking import shrink_group as shrink_group
from torchlite.distributed import shrinking as shrinking
from torchlite.distributed import sparse_reduction as sparse_reduction
from torchlite.distributed.world import split_group as split_group
from torchlite.distributed import stores as stores
from torchlite.distributed.reduction import supports_complex as supports_complex
from torchlite.distributed import tensor as tensor
from torchlite.distributed import utils as utils
from torchlite.distributed import work as work
from torchlite.distributed import world as world

AllToAllOptions: _type
AllgatherOptions: _type
AllreduceCoalescedOptions: _type
AllreduceOptions: _type
BarrierOptions: _type
BroadcastOptions: _type
GatherOptions: _type
GroupName: _Any
ProcessGroupGloo: _Missing
ReduceOptions: _type
ReduceScatterOptions: _type
ScatterOptions: _type
def all_gather_coalesced(output_tensor_lists: _Sequence[_Sequence[_Tensor]], input_tensor_list: _Sequence[_Tensor], group: _Group = None, async_op: _bool = False) -> _Future | None: ...
def all_gather_into_tensor(output_tensor: _Tensor, input_tensor: _Tensor, group: _Group = None, async_op: _bool = False) -> _Work | None: ...
def all_reduce_coalesced(tensors: _Sequence[_Tensor], op: _Any = ..., group: _Group = None, async_op: _bool = False) -> _Future | None: ...
autograd: _Any
checkpoint._consolidate_hf_safetensors: _Any
checkpoint.hf_storage: _Any
checkpoint.optimizer: _Any
constants: _Any
default_pg_timeout: _Any
distributed_c10d: _Any
elastic: _Any
elastic.agent: _Any
elastic.agent.server: _Any
elastic.agent.server.api: _Any
elastic.multiprocessing: _Any
elastic.multiprocessing.errors: _Any
elastic.rendezvous: _Any
fsdp._common_utils: _Any
fsdp._fully_shard: _Any
fsdp._fully_shard._fsdp_param_group: _Any
fsdp._init_utils: _Any
launcher: _Any
launcher.api: _Any
pipelining: _Any
reduce_op: _reduce_op
def reduce_scatter_tensor(output: _Tensor, input: _Tensor, op: _Any = ..., group: _Group = None, async_op: _bool = False) -> _Work | None: ...
rpc: _Any
rpc.api: _Any
tensor._utils: _Any
tensor.device_mesh: _Any
tensor.experimental: _Any
tensor.experimental._attention: _Any
