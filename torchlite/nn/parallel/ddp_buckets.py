"""How large the buckets are in which gradients travel."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ...core.values import shown_in
from ...distributed.buckets import _DEFAULT_FIRST_BUCKET_BYTES

_DEFAULT_BUCKET_CAP_MB = 25
_MB_TO_BYTES = 1024 * 1024


@shown_in("torch.nn.parallel.distributed")
@dataclass(frozen=True)
class _BucketCapacityConfig:
    """When buckets are full: all at one size, with a small one first unless that was named, or each at its own."""

    bucket_bytes_cap: int
    per_bucket_bytes_caps: tuple[int, ...]
    first_bucket_bytes_cap: int

    @classmethod
    def create(
        cls, bucket_cap_mb: float | None, bucket_cap_mb_list: Sequence[int] | None, use_python_reducer: bool
    ) -> _BucketCapacityConfig:
        """What the arguments of DistributedDataParallel say; a list of sizes comes before a single one."""
        each = tuple([int(cap * _MB_TO_BYTES) for cap in bucket_cap_mb_list or ()])
        if each and use_python_reducer:
            raise AssertionError("python reducer is not supported with bucket_cap_mb_list")
        cap = max(each) if each else int((bucket_cap_mb or _DEFAULT_BUCKET_CAP_MB) * _MB_TO_BYTES)
        named = bool(each) or bucket_cap_mb is not None
        return cls(cap, each, cap if named else _DEFAULT_FIRST_BUCKET_BYTES)

    @property
    def bucket_cap_mb(self) -> int:
        """The size in MiB."""
        return self.bucket_bytes_cap // _MB_TO_BYTES

    @property
    def has_custom_per_bucket_caps(self) -> bool:
        """Whether each bucket has its own size."""
        return bool(self.per_bucket_bytes_caps)

    def compute_bucket_size_limits(
        self, static_graph: bool, find_unused_parameters: bool
    ) -> tuple[list[int], list[int]]:
        """The sizes of the first buckets, and of those made in the order of gradients, if each has one of its own.

        Where that order is found out, there is one bucket until it is known.
        """
        each = list(self.per_bucket_bytes_caps)
        if each:
            return each, each
        if static_graph or not find_unused_parameters:
            return [sys.maxsize], []
        return list(dict.fromkeys([self.first_bucket_bytes_cap, self.bucket_bytes_cap])), []
