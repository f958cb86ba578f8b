"""What `_get_ddp_logging_data` tells of a module, and what happened to it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ...core.machine import Tensor
from ...core.values import shown_in
from ..modules.batchnorm import SyncBatchNorm

_ALWAYS = 10  # iterations of which it is told in any case
_SPANS = {
    "forward_compute_time": ("forward_compute_time_start", "backward_compute_time_start"),
    "backward_compute_time": ("backward_compute_time_start", "backward_compute_time_end"),
    "backward_comm_time": ("backward_comm_time_start", "backward_comm_time_end"),
    "backward_compute_comm_overlap_time": ("backward_comm_time_start", "backward_compute_time_end"),
}


def _size(params: Sequence[Tensor]) -> int:
    return sum(param.numel() * param.element_size() for param in params)


def _env(*names: str) -> dict[str, str]:
    return {name: os.environ.get(name.upper(), "N/A") for name in names}


class Log:
    """What a module is, and what its first iterations were like, and one of so many of those after them."""

    rate = 100

    def __init__(self, ddp: Any, backend: str) -> None:
        params = [param for _, param in ddp._named]
        self.told: dict[str, Any] = {
            "world_size": ddp.process_group.size(), "rank": ddp.process_group.rank(), "iteration": 0,
            "module_name": type(ddp.module).__name__, "backend_name": backend,
            "bucket_sizes": self._sizes(ddp.reducer), "device_ids": ", ".join(map(str, ddp.device_ids or ())),
            "output_device": -1, "is_multi_device_module": int(ddp.is_multi_device_module),
            "dtypes": ", ".join(sorted({param.dtype.legacy.lower() for param in params})),
            "num_parameter_tensors": len(params), "total_parameter_size_bytes": _size(params),
            "bucket_cap_bytes": ddp.bucket_bytes_cap, "broadcast_buffers": int(ddp.broadcast_buffers),
            "find_unused_parameters": int(ddp.find_unused_parameters),
            "gradient_as_bucket_view": int(ddp.gradient_as_bucket_view),
            "has_sync_bn": int(any(isinstance(part, SyncBatchNorm) for part in ddp.module.modules())),
            **_env("master_addr", "master_port", "cuda_visible_devices", "torch_distributed_debug"),
        }  # fmt: skip
        if backend == "gloo":
            self.told |= {**_env("gloo_socket_ifname", "gloo_device_transport"), "gloo_num_threads": 2}
        self._sums = dict.fromkeys(_SPANS, 0)
        self._count = 0

    @staticmethod
    def _sizes(reducer: Any) -> str:
        return ", ".join(str(_size(bucket.params)) for bucket in reducer.buckets)

    def note(self, reducer: Any) -> None:
        """Keep what the iteration that is over was like, if it is one of those of which it is told."""
        if not reducer.iteration or (self._count >= _ALWAYS and reducer.iteration % self.rate):
            return
        self._count += 1
        moments = reducer.moments
        for name, (begin, end) in _SPANS.items():
            spent = max(0, moments[end] - moments[begin]) if {begin, end} <= moments.keys() else 0
            self._sums[name] += spent
            self.told |= {name: spent, f"avg_{name}": self._sums[name] // self._count}
        self.told |= moments | {
            "iteration": reducer.iteration, "num_buckets_reduced": len(reducer.buckets),
            "unused_parameter_size": _size(reducer.missing()), "has_rebuilt_buckets": int(reducer._rebuilt),
        }  # fmt: skip
        if reducer.order:
            self.told["prev_iteration_grad_ready_order_indices"] = ", ".join(map(str, reducer.order))
        if reducer._rebuilt:
            self.told["rebuilt_bucket_sizes"] = self._sizes(reducer)
            indices = [" ".join(map(str, bucket.numbers)) for bucket in reducer.buckets]
            self.told["rebuilt_per_bucket_param_indices"] = ", ".join(indices)

    def fail(self, error: Exception, iteration: int) -> None:
        """Keep that something was refused, and when."""
        kind = "" if isinstance(error, RuntimeError) else f"{type(error)}: "
        self.told |= {"has_error": 1, "error": f"{kind}{error}", "iteration": iteration}


_SAID_BY_ENVIRONMENT = """
    RANK LOCAL_RANK WORLD_SIZE MASTER_PORT MASTER_ADDR CUDA_VISIBLE_DEVICES GLOO_SOCKET_IFNAME GLOO_DEVICE_TRANSPORT
    NCCL_SOCKET_IFNAME TORCH_NCCL_BLOCKING_WAIT NCCL_DEBUG NCCL_DEBUG_SUBSYS NCCL_IB_DISABLE NCCL_P2P_DISABLE
    NCCL_P2P_LEVEL NCCL_SHM_DISABLE NCCL_SOCKET_NTHREADS NCCL_NSOCKS_PERTHREAD NCCL_BUFFSIZE NCCL_NTHREADS NCCL_RINGS
    NCCL_MAX_NCHANNELS NCCL_MIN_NCHANNELS NCCL_CHECKS_DISABLE NCCL_CHECK_POINTERS NCCL_LAUNCH_MODE NCCL_IB_HCA
    NCCL_IB_TIMEOUT NCCL_IB_RETRY_CNT NCCL_IB_GID_INDEX NCCL_IB_SL NCCL_IB_TC NCCL_IB_AR_THRESHOLD
    NCCL_IB_CUDA_SUPPORT NCCL_NET_GDR_LEVEL NCCL_NET_GDR_READ NCCL_SINGLE_RING_THRESHOLD NCCL_LL_THRESHOLD
    NCCL_TREE_THRESHOLD NCCL_ALGO NCCL_PROTO NCCL_IGNORE_CPU_AFFINITY NCCL_DEBUG_FILE NCCL_COLLNET_ENABLE
    NCCL_TOPO_FILE NCCL_TOPO_DUMP_FILE TORCH_NCCL_ASYNC_ERROR_HANDLING
"""


@shown_in("torch.nn.parallel.distributed")
def _dump_DDP_relevant_env_vars() -> None:
    """Print what the environment says to groups of processes."""
    for name in _SAID_BY_ENVIRONMENT.split():
        print(f"env:{name}={os.environ.get(name, 'N/A')}")
    print()
