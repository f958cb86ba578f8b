"""Every kernel of torchlite's is compiled for GPUs, where there is NVRTC: for one architecture a day, or for all.

`TORCHLITE_CUDA_SHARE=all` takes them all.
"""

import os

import pytest

import torchlite as torch
from compat_tests.conftest import SEED
from torchlite.testing.cuda_on_host import gpus, kernels

from .test_budgets import BUDGETS
from .test_optim import CASES, trained

pytestmark = pytest.mark.usefixtures("stand_in")


@pytest.fixture(scope="module")
def architectures():
    found = gpus.architectures()
    if not found:
        pytest.skip("no NVRTC (nvidia-cuda-nvrtc-cu12)")
    every = os.environ.get("TORCHLITE_CUDA_SHARE") == "all"
    return found if every else (found[sum(SEED.encode()) % len(found)],)


def test_kernels_compile(architectures):
    for budget in BUDGETS.values():
        made = budget.call(*budget.on())
        made.backward(torch.ones_like(made))
    for name, options in CASES:
        trained(name, options, "cuda", torch.float32, [(3,)], 1)
    refused = set()
    for source in [s for s in kernels.compiled if not gpus.is_cupys(s)]:
        for architecture in architectures:
            try:
                assert gpus.binary(source, architecture)
            except Exception as error:  # whatever it says belongs to the failure
                refused.add(f"sm_{architecture}: {error}")
    assert not refused, "\n".join(sorted(refused))


def test_what_gpus_have_no_room_for_is_refused(architectures):
    from cupy.cuda.compiler import CompileException

    text = 'extern "C" __global__ void f(double* x) { __shared__ double all[%d]; all[threadIdx.x] = 1; x[0] = all[7]; }'
    for size, fits in ((6144, True), (6145, False)):
        source = kernels.Source(text % size, ("-std=c++17",), ())
        if fits:
            assert gpus.binary(source, architectures[0])
        else:
            with pytest.raises(CompileException):
                gpus.binary(source, architectures[0])
