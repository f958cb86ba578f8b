"""Every kernel of torchlite's is compiled for GPUs, where there is NVRTC: for one architecture a day, or for all.

Raw kernels are compiled for all types that they are for, and CuPy's as they are launched: that none was left out is
part of the test.

`TORCHLITE_CUDA_SHARE=all` takes them all.
"""

import gc
import os
import re

import pytest

import torchlite as torch
from compat_tests.conftest import SEED
from torchlite.testing.cuda_on_host import gpus, kernels

from .test_budgets import BUDGETS, inputs_of
from .test_optim import CASES, trained
from .test_random import DRAWS
from .test_recurrent import KINDS
from .test_reductions import REDUCTIONS

cupy = pytest.importorskip("cupy")
F = torch.nn.functional
IN_OTHERS = {"torchlite_widened", "torchlite_narrowed_bits"}  # parts of what CuPy makes one kernel of
pytestmark = pytest.mark.usefixtures("stand_in")


@pytest.fixture(scope="module")
def architectures():
    found = gpus.architectures()
    if not found:
        pytest.skip("no NVRTC (nvidia-cuda-nvrtc-cu12)")
    every = os.environ.get("TORCHLITE_CUDA_SHARE") == "all"
    return found if every else (found[sum(SEED.encode()) % len(found)],)


def launch_everything():
    """What makes CuPy write down kernels, which are compiled for the types that they are called with."""
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        for budget in BUDGETS.values():
            made = budget.call(*inputs_of(budget, dtype))
            made.backward(torch.ones_like(made))
        for name, options in CASES:
            trained(name, options, "cuda", dtype, [(3,)], 1)
        x = torch.randn(3, 5, 4, device="cuda", dtype=dtype)
        for reduce in (*REDUCTIONS.values(), lambda x: torch.linalg.vector_norm(x, 0), torch.prod):
            reduce(x)
        for module, more in KINDS.values():
            module(4, 3, **more).to("cuda", dtype)(x)[0].sum().backward()
        for call in (F.leaky_relu, torch.erf, torch.erfc, lambda x: x % 2, lambda x: x // 2, lambda x: x.nextafter(-x)):
            call(x)
        q = x.clone().requires_grad_()
        torch.autograd.grad(F.scaled_dot_product_attention(q, q, q, None, 0.5).sum(), q, create_graph=True)
        p = torch.nn.Parameter(x)
        p.grad = x
        torch.nn.utils.clip_grad_norm_(p, 1.0)
    for dtype in (torch.complex64, torch.complex128):
        z = torch.ones(3, device="cuda", dtype=dtype)
        z / z, z.reciprocal(), z.log2()
    torch.arange(3, device="cuda").fmod(2), torch.arange(3.0, device="cuda")
    for draw in DRAWS.values():
        draw(4)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.rand(3, device="cuda")
    graph.replay()


@pytest.mark.timeout(900)  # of hundreds of kernels, on a machine that may be busy
def test_kernels_compile(architectures):
    from torchlite.backends.cupy_kernels.raw import Templates

    launch_everything()
    made = gc.get_objects()
    for templates in [t for t in made if isinstance(t, Templates)]:
        for dtype in templates.types:
            templates.module(dtype).compile()
    kernels_of_cupy = (cupy.ElementwiseKernel, cupy.ReductionKernel, cupy.ufunc)
    named = {k.name for k in made if isinstance(k, kernels_of_cupy) and k.name.startswith(("torchlite", "floored"))}
    ours = [source for source in kernels.compiled if not gpus.is_cupys(source)]
    missed = [name for name in named - IN_OTHERS if not any(re.search(rf"{name}\w*\(", s.text) for s in ours)]
    assert not missed, sorted(missed)
    refused = set()
    for source in ours:
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
