"""The conformance suite in every dtype: a share of the ops that is another each day, or all of them.

`TORCHLITE_CUDA_SHARE=all` takes them all, as `python -m torchlite.testing.backend cuda` does in fewer dtypes.
"""

from __future__ import annotations

import os

import pytest

from compat_tests.conftest import SEED
from torchlite.backends.base import get_backend
from torchlite.core.machine.registry import registry
from torchlite.core.values import dt
from torchlite.testing.backend import run_op

SHARES = 1 if os.environ.get("TORCHLITE_CUDA_SHARE") == "all" else 40
DTYPES = (dt.float32, dt.float64, dt.float16, dt.bfloat16, dt.int64, dt.uint8, dt.bool_, dt.complex64)
# Products of reflections, which nobody reaches in bfloat16: the functions refuse it.
LACKING: dict[str, tuple[dt.dtype, ...]] = dict.fromkeys(("_householder", "_ormqr"), (dt.bfloat16,))
# It keeps something else for its gradient than on the CPU: other tests compare what comes out.
LACKING["_scaled_dot_product_attention"] = (dt.float32, dt.float64, dt.float16, dt.bfloat16)


@pytest.mark.parametrize("name", list(registry)[sum(SEED.encode()) % SHARES :: SHARES])
def test_an_op_computes_what_the_cpu_does(name: str) -> None:
    dtypes = [d for d in DTYPES if d not in LACKING.get(name, ())]
    assert not run_op(get_backend("cuda"), registry[name], dtypes).failures
