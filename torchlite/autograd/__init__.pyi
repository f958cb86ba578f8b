# Written by `python -m torchlite.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"
from typing import Any as _Any
from typing import NoReturn as _NoReturn
from builtins import bool as _bool

from torchlite.autograd.profiler_util import DeviceType as DeviceType
from torchlite.autograd.function import Function as Function
from torchlite.autograd.function import NestedIOFunction as NestedIOFunction
from torchlite.core.machine.saved import SavedTensor as SavedTensor
from torchlite.autograd.variable import Variable as Variable
from torchlite.autograd import accumulation as accumulation
from torchlite.autograd import anomaly_mode as anomaly_mode
from torchlite.autograd.backward import backward as backward
from torchlite.autograd import current_pass as current_pass
from torchlite.autograd import custom as custom
from torchlite.autograd import derivative_check as derivative_check
from torchlite.autograd.anomaly_mode import detect_anomaly as detect_anomaly
from torchlite.autograd import differentiable as differentiable
from torchlite.autograd.grad_mode import enable_grad as enable_grad
from torchlite.autograd.inert_switches import enforce_grad_layout_policy as enforce_grad_layout_policy
from torchlite.autograd import engine as engine
from torchlite.autograd import forward as forward
from torchlite.autograd import forward_ad as forward_ad
from torchlite.autograd import function as function
from torchlite.autograd import function_tangents as function_tangents
from torchlite.autograd import functional as functional
from torchlite.autograd.backward import grad as grad
from torchlite.autograd import grad_mode as grad_mode
from torchlite.autograd.gradcheck import gradcheck as gradcheck
from torchlite.autograd.gradcheck import gradgradcheck as gradgradcheck
from torchlite.autograd import graph as graph
from torchlite.autograd import inert_switches as inert_switches
from torchlite.autograd.grad_mode import inference_mode as inference_mode
from torchlite.autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from torchlite.autograd.grad_mode import is_multithreading_enabled as is_multithreading_enabled
from torchlite.autograd import jacobians as jacobians
from torchlite.autograd.profiler import kineto_available as kineto_available
from torchlite.core.values.pickling import live_here as live_here
from torchlite.autograd import nested_io as nested_io
from torchlite.autograd.grad_mode import no_grad as no_grad
from torchlite.autograd import profiler as profiler
from torchlite.autograd import profiler_flops as profiler_flops
from torchlite.autograd import profiler_memory as profiler_memory
from torchlite.autograd import profiler_modules as profiler_modules
from torchlite.autograd import profiler_records as profiler_records
from torchlite.autograd import profiler_trace as profiler_trace
from torchlite.autograd import profiler_util as profiler_util
from torchlite.autograd import queue_of_leaves as queue_of_leaves
from torchlite.autograd import saved_hooks as saved_hooks
from torchlite.autograd.anomaly_mode import set_detect_anomaly as set_detect_anomaly
from torchlite.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from torchlite.autograd.grad_mode import set_multithreading_enabled as set_multithreading_enabled
from torchlite.autograd import tensor_hooks as tensor_hooks

def is_grad_enabled() -> _bool: ...
profiler_legacy: _Any
def variable(*_: _Any, **__: _Any) -> _NoReturn: ...
