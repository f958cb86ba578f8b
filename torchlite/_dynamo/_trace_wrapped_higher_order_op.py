"""`torch._dynamo._trace_wrapped_higher_order_op`."""

from __future__ import annotations

from contextlib import AbstractContextManager


class TransformGetItemToIndex(AbstractContextManager[None]):
    """Inside it, `vmap` indexes with tensors of no dimension, as it does here anyway."""

    def __exit__(self, *_: object) -> None:
        pass
