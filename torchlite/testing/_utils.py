"""`torch.testing._utils`: tests that leave the random numbers of others alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from .. import cuda, random


def wrapper_set_seed(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a call gives that draws from a fixed seed."""
    with freeze_rng_state():
        random.manual_seed(42)
        return op(*args, **kwargs)


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """After the `with`, generators go on as if nothing had been drawn inside."""
    with random.fork_rng(devices=range(cuda.device_count())):
        yield
