"""What a call is made of: tensors, nodes, views, what is saved, plans."""

from .array_backward import by_formula, fetch, share_on_arrays, spread_on_arrays
from .asked import ALIASES, asking_attributes, plain
from .batching import BROADCAST, DYNAMIC, FILLING, LEADING, RANDOM, Leading, drawn, refuse_batch
from .fast import PRECISE, accelerated, wrap_unmarked
from .format import set_printoptions
from .formulas import know_formulas
from .function_modes import TorchFunctionMode
from .generator import Generator, _defaults, default_generator
from .hooks import RemovableHandle, register
from .node import (
    FIRST,
    LEAF,
    NOT_IMPLEMENTED,
    UNVERSIONED,
    AccumulateGrad,
    Counter,
    Node,
    accumulator_of,
    dated,
    name_of,
    shared_counter,
    version_of,
)
from .operands import (
    NO_TENSOR,
    array_of,
    computed,
    converted,
    fitting_array,
    form_of,
    get_recorded,
    in_memory,
    result_type,
    tensors_in,
    values_in_inference,
)
from .out_forms import ALONG_DIMS, refuse_out, takes_out
from .out_history import refuse_history
from .overrides import PLAIN, dispatch, needs_dispatch, overridable, public
from .plan import Made, Plan, Plans, form_of_call, kernel_alone, plan_op, planned
from .rare import refuse_rare
from .read_only import read_only
from .registry import functions
from .remembered import MISSED
from .saved import Hooked, SavedList, SavedOutput, SavedTensor, keep, raw, read, shown
from .subclasses import as_class
from .tangent import TangentLevel, moves, set_tangent, tangent_of, untouched
from .tensor import Tensor, wrap, wrap_shown
from .tensor_base import TensorBase
from .view import CopySlices, View, base_of, last_edge, requires_grad, resolve
from .write import bump, check_apart, check_no_overlap, into, write_out
