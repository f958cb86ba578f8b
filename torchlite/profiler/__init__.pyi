# Written by `python -m torchlite.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"
from typing import Any as _Any
from collections.abc import Callable as _Callable
from torchlite.core.state.context import Context as _Context
from torchlite.autograd.profiler_util import EventList as _EventList
from collections.abc import Iterable as _Iterable
_ProfilerAction = ProfilerAction
_ProfilerActivity = ProfilerActivity
from torchlite.core.state.mode import State as _State
from torchlite.autograd.profiler import profile as _autograd_profile
from builtins import bool as _bool
from builtins import dict as _dict
import enum as _enum
from builtins import int as _int
from builtins import list as _list
import os as _os
_profile = profile
from builtins import set as _set
from builtins import str as _str
from builtins import type as _type

from torchlite.core.state.context import Context as Context
from torchlite.autograd.profiler_util import DeviceType as DeviceType
from torchlite.core.state.mode import State as State
from torchlite.autograd.profiler import kineto_available as kineto_available
from torchlite.faces import later as later
from torchlite.autograd.profiler import record_function as record_function
from torchlite.core.values.errors import warn as warn

class ExecutionTraceObserver():
    def __init__(self) -> None: ...
class ProfilerAction(_enum.Enum):
    NONE: _ProfilerAction
    RECORD: _ProfilerAction
    RECORD_AND_SAVE: _ProfilerAction
    WARMUP: _ProfilerAction
    def __new__(cls, value: _Any) -> _Any: ...
    def _generate_next_value_(name: _Any, start: _Any, count: _Any, last_values: _Any) -> _Any: ...
    _member_map_: _dict
    _member_names_: _list
    _member_type_: _type
    _new_member_: _Any
    _unhashable_values_: _list
    _use_args_: _bool
    _value2member_map_: _dict
    _value_repr_: None
class ProfilerActivity(_enum.Enum):
    CPU: _ProfilerActivity
    CUDA: _ProfilerActivity
    HPU: _ProfilerActivity
    MTIA: _ProfilerActivity
    PrivateUse1: _ProfilerActivity
    XPU: _ProfilerActivity
    def __new__(cls, value: _Any) -> _Any: ...
    def _generate_next_value_(name: _Any, start: _Any, count: _Any, last_values: _Any) -> _Any: ...
    _member_map_: _dict
    _member_names_: _list
    _member_type_: _type
    _new_member_: _Any
    _unhashable_values_: _list
    _use_args_: _bool
    _value2member_map_: _dict
    _value_repr_: None
class profile(_Context):
    def __init__(self, *, activities: _Iterable[_ProfilerActivity] | None = None, schedule: _Callable[[_int], _ProfilerAction] | None = None, on_trace_ready: _Callable[[_profile], _Any] | None = None, record_shapes: _bool = False, profile_memory: _bool = False, with_stack: _bool = False, with_flops: _bool = False, with_modules: _bool = False, experimental_config: _Any = None, execution_trace_observer: _Any = None, acc_events: _bool = False, use_cuda: _bool | None = None, custom_trace_id_callback: _Any = None) -> None: ...
    def _begin_step(self) -> None: ...
    def _end_step(self) -> None: ...
    def _put(self, state: _State, kept: None) -> None: ...
    def _recorded(self) -> _autograd_profile: ...
    def _repr_html_(self) -> _str | None: ...
    def _save(self) -> None: ...
    def _set(self, state: _State, kept: None) -> _profile: ...
    def _take(self, state: _State) -> None: ...
    def add_metadata(self, key: _str, value: _str) -> None: ...
    def add_metadata_json(self, key: _str, value: _str) -> None: ...
    def events(self) -> _EventList: ...
    def export_chrome_trace(self, path: _str | _os.PathLike[_str]) -> None: ...
    def export_stacks(self, path: _str | _os.PathLike[_str], metric: _str = 'self_cpu_time_total') -> None: ...
    def key_averages(self, group_by_input_shape: _bool = False, group_by_stack_n: _int = 0, group_by_overload_name: _bool = False) -> _EventList: ...
    def start(self) -> None: ...
    def step(self) -> None: ...
    def stop(self) -> None: ...
profiler: _Any
def schedule(*, wait: _int, warmup: _int, active: _int, repeat: _int = 0, skip_first: _int = 0, skip_first_wait: _int = 0) -> _Callable[[_int], _ProfilerAction]: ...
def supported_activities() -> _set[_ProfilerActivity]: ...
def tensorboard_trace_handler(dir_name: _str, worker_name: _str | None = None, use_gzip: _bool = False, use_python_export: _bool = False) -> _Callable[[_profile], None]: ...
