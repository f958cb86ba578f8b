"""What is said when a backward pass did not bring the gradients that were expected."""

from __future__ import annotations

from collections.abc import Sequence

from .options import DebugLevel, get_debug_level

_BEGINNING = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that "
    "your "
)
_UNUSED = "module has parameters that were not used in producing loss. "
_CHANGED = (
    "training graph has changed in this iteration, e.g., one parameter is used in first iteration, but then got unused "
    "in the second iteration. this is not compatible with static_graph set to True."
)
_MAY_ENABLE = (
    "You can enable unused parameter detection by passing the keyword argument `find_unused_parameters=True` to "
    "`torch.nn.parallel.DistributedDataParallel`, and by \n"
)
_SINCE_ENABLED = (
    "Since `find_unused_parameters=True` is enabled, this likely means that not all `forward` outputs participate in "
    "computing loss. You can fix this by "
)
_ALL_OUTPUTS = (
    "making sure all `forward` function outputs participate in calculating loss. \nIf you already have done the above, "
    "then the distributed data parallel module wasn't able to locate the output tensors in the return value of your "
    "module's `forward` function. Please include the loss function and the structure of the return value of `forward` "
    "of your module when reporting this issue (e.g. list, dict, iterable)."
)
_MAY_ASK = (
    "\n In addition, you can set the environment variable TORCH_DISTRIBUTED_DEBUG to either INFO or DETAIL to print "
    "out information about which particular parameters did not receive gradient on this rank as part of this error"
)


def unfinished(missing: Sequence[int], names: Sequence[str], rank: int, find_unused: bool, static: bool) -> str:
    """That gradients of some parameters are missing, and which."""
    why = _CHANGED if static else _UNUSED + (_SINCE_ENABLED if find_unused else _MAY_ENABLE) + _ALL_OUTPUTS
    told, more = "", _MAY_ASK
    if get_debug_level() is not DebugLevel.OFF:
        told = f"\nParameters which did not receive grad for rank {rank}: {', '.join(names[at] for at in missing)}"
        more = ""
    numbers = " ".join(map(str, missing))
    return f"{_BEGINNING}{why}{told}\nParameter indices which did not receive grad for rank {rank}: {numbers}{more}"


def twice(number: int, name: str) -> str:
    """That the gradient of a parameter came again."""
    return (
        "Expected to mark a variable ready only once. This happens when a parameter is used outside of `forward`, or "
        "by several reentrant backward passes, as of `checkpoint`. If the graph is the same in every iteration, "
        f"static_graph=True helps. Parameter at index {number} with name {name} has been marked as ready twice."
    )
