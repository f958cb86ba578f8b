"""The stand-in itself: CuPy's kernels of every kind give on it what NumPy gives, and what it lacks it says."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from torchlite.testing import cuda_on_host
from torchlite.testing.cuda_on_host import build

pytestmark = pytest.mark.usefixtures("stand_in")


@pytest.fixture(scope="module")
def cp():
    return pytest.importorskip("cupy")


def test_elementwise_kernels_compute(cp):
    x = np.linspace(-3, 3, 12).reshape(3, 4)
    for dtype in ("f2", "f4", "f8", "c8"):
        a = cp.asarray(x.astype(dtype))
        wanted = np.exp(x * 2 - x[::-1])
        np.testing.assert_allclose(cp.exp(a * 2 - a[::-1]).get(), wanted, rtol=2e-2 if dtype == "f2" else 1e-5)


def test_reductions_meet_at_barriers(cp):
    x = np.random.default_rng(0).integers(-9, 9, (7, 300))
    a = cp.asarray(x)
    for axis in (0, 1, None):
        np.testing.assert_array_equal(a.sum(axis).get(), x.sum(axis))
        np.testing.assert_array_equal(a.argmax(axis).get(), x.argmax(axis))


def test_scans_meet_in_warps_within_blocks(cp):
    for size in (5, 160, 3000):
        mask = np.random.default_rng(0).random(size) < 0.2
        np.testing.assert_array_equal(cp.asarray(mask).nonzero()[0].get(), mask.nonzero()[0])
        np.testing.assert_array_equal(cp.asarray(mask).cumsum().get(), mask.cumsum())


def test_a_return_ends_one_element_and_not_the_grid(cp):
    kernel = cp.ElementwiseKernel("T x", "T y", "if (x < 0) { y = 0; return; } y = x * 2;", "host_returning")
    np.testing.assert_array_equal(kernel(cp.asarray([-1.0, 3.0, -2.0, 4.0])).get(), [0, 6, 0, 8])


def test_raw_kernels_shuffle_vote_and_share(cp):
    source = r"""
    template <typename T> __global__ void total(const T* x, T* out) {
        extern __shared__ char raw[];
        T* rows = (T*)raw;
        T sum = x[blockIdx.x * blockDim.x + threadIdx.x];
        for (int by = 16; by; by /= 2) sum += __shfl_down_sync(~0u, sum, by);
        if (threadIdx.x % 32 == 0) rows[threadIdx.x / 32] = sum;
        __syncthreads();
        const bool any = __any_sync(~0u, threadIdx.x == 0);
        if (threadIdx.x == 0) out[blockIdx.x] = any ? rows[0] + rows[1] : -1;
    }
    """
    module = cp.RawModule(code=source, name_expressions=("total<float>", "total<double>"), options=("-std=c++14",))
    for name, dtype in (("total<float>", "f4"), ("total<double>", "f8")):
        x, out = cp.arange(192, dtype=dtype), cp.empty(3, dtype)
        module.get_function(name)((3,), (64,), (x, out), shared_mem=64)
        np.testing.assert_array_equal(out.get(), np.arange(192).reshape(3, 64).sum(1))


def test_fresh_memory_shows(cp):
    fresh = cp.cuda.MemoryPointer(cp.cuda.Memory(5000), 0)
    assert set(cp.ndarray(5000, "u1", fresh).get()) == {0xAB}


def test_products_of_every_type(cp):
    random = np.random.default_rng(1)
    for dtype, tolerance in (("f2", 1e-2), ("f4", 1e-5), ("f8", 1e-12), ("c8", 1e-5), ("c16", 1e-12)):
        a, b = (random.standard_normal(shape).astype(dtype) for shape in ((2, 5, 6), (2, 6, 3)))
        np.testing.assert_allclose((cp.asarray(a) @ cp.asarray(b)).get(), a @ b, rtol=tolerance, atol=tolerance)
        turned = (cp.asarray(b[0]).T @ cp.asarray(a[0]).T).get()
        np.testing.assert_allclose(turned, b[0].T @ a[0].T, rtol=tolerance, atol=tolerance)


def test_what_is_asked_for_is_counted(cp):
    a = cp.ones((8, 8), "f4")
    a + a
    with cuda_on_host.counted() as tally:
        ((a + a) @ a).get()
    assert tally.kernels == ["cupy_add__float32_float32_float32"]
    assert (tally.counts.library_calls, tally.counts.to_host, tally.counts.to_device) == (1, 1, 0)
    assert tally.counts.waits == 1


def test_memory_is_finite_and_comes_back(cp):
    free, total = cp.cuda.runtime.memGetInfo()
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="MemoryAllocation"):
        cp.cuda.runtime.malloc(free + 1)
    held = cp.cuda.Memory(1 << 20)
    assert cp.cuda.runtime.memGetInfo() == (free - (1 << 20), total)
    del held
    assert cp.cuda.runtime.memGetInfo() == (free, total)


def test_graphs_run_again_what_was_captured(cp):
    x, stream = cp.arange(4.0), cp.cuda.Stream(non_blocking=True)
    x * 2, x @ x
    with stream:
        stream.begin_capture()
        y = x * 2
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError):
            stream.synchronize()
        graph = stream.end_capture()
    x[...] = 5
    graph.launch(stream)
    np.testing.assert_array_equal(y.get(), [10, 10, 10, 10])


def test_what_is_lacking_is_refused_by_name(cp):
    with pytest.raises(NotImplementedError, match="memAdvise"):
        cp.cuda.runtime.memAdvise(0, 1, 1, 0)
    with pytest.raises(NotImplementedError, match="attribute 12345"):
        cp.cuda.runtime.deviceGetAttribute(12345, 0)
    with pytest.raises(cp.cuda.compiler.CompileException, match="error"):
        cp.ElementwiseKernel("T x", "T y", "y = no_such_function(x)", "host_broken")(cp.ones(2))
    cublas = pytest.importorskip("cupy.cublas")
    with pytest.raises(Exception, match="NOT_SUPPORTED"):
        cublas.nrm2(cp.ones(3))


def test_it_comes_before_cupy():
    code = "import cupy\nfrom torchlite.testing import cuda_on_host\ncuda_on_host.enable()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "before CuPy is imported" in run.stderr


def test_without_a_device_pytorchs_error_is_raised():
    """Also where there is CuPy."""
    script = "import torchlite\ntry: torchlite.ones(2, device='cuda')\nexcept AssertionError as error: print(error)"
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, env=env)
    assert told.stdout == "Torch not compiled with CUDA enabled\n", told.stderr


def test_what_was_built_is_found_from_another_environment(tmp_path, monkeypatch):
    """Which has the same headers elsewhere; with others, all is built anew."""
    here, headers = build.cache(), build.cuda_headers()
    monkeypatch.setenv("TORCHLITE_CUDA_ON_HOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "cuda_headers", lambda: tmp_path)
    for header in headers.glob("cuda_[fb]*16.h*"):
        shutil.copy(header, tmp_path)
    assert build.cache.__wrapped__().name == here.name
    (tmp_path / "cuda_fp16.h").write_text("// another")
    assert build.cache.__wrapped__().name != here.name


def test_headers_of_a_toolkit_with_its_compilers_beside_them(tmp_path, monkeypatch):
    """Which mark what is for a device as a GPU has it; here, shared memory is what all threads of a process see."""
    for header in build.cuda_headers().iterdir():
        if header.name != "crt":
            (tmp_path / header.name).symlink_to(header)
    (tmp_path / "crt").mkdir()
    (tmp_path / "crt" / "host_defines.h").write_text("#ifndef __HOST_DEFINES_H__\n#error the compiler's own\n#endif")
    monkeypatch.setattr(build, "cuda_headers", lambda: tmp_path)
    arguments = [*build._KERNEL_FLAGS, *build._includes(), "-x", "c++-header", str(build.HERE / "prelude.h")]
    assert build._compile(tmp_path / "prelude.h.gch", arguments).is_file()
