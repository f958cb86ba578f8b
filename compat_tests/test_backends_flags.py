"""`torch.backends` and the settings of the whole process."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import torchlite

from .side_by_side import same_story


@pytest.fixture(autouse=True)
def settings_as_before() -> Iterator[None]:
    libraries = [torchlite, importlib.import_module("torch")] if importlib.util.find_spec("torch") else [torchlite]
    threads = [library.get_num_threads() for library in libraries]
    yield
    for library, number in zip(libraries, threads):
        library.set_num_threads(number)
        library.set_float32_matmul_precision("highest")
        library.use_deterministic_algorithms(False)


def tried(call: Any, *values: Any) -> Any:
    try:
        return call(*values)
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.usefixtures("without_cuda")
@same_story
def test_switches(torch, tell):
    backends = torch.backends
    tell(backends.cudnn.enabled, backends.cudnn.benchmark, backends.cudnn.deterministic, backends.cudnn.allow_tf32)
    tell(backends.cudnn.is_available(), backends.cudnn.version(), backends.cudnn.is_acceptable(torch.ones(1)))
    tell(backends.cuda.is_built(), backends.cuda.matmul.allow_tf32, backends.cuda.flash_sdp_enabled())
    tell(backends.mps.is_available(), backends.mps.is_built(), backends.mha.get_fastpath_enabled())
    tell(backends.cusparselt.is_available(), backends.kleidiai.is_available())
    tell(backends.cuda.matmul.nothing)


@same_story
def test_switches_for_a_while(torch, tell):
    cudnn, cuda = torch.backends.cudnn, torch.backends.cuda
    cudnn.set_flags(_benchmark=True)
    with cudnn.flags(enabled=False, deterministic=True):
        tell(cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32)
    tell(cudnn.enabled, cudnn.benchmark, cudnn.deterministic)
    before = cudnn.set_flags(_benchmark=False)
    tell(before[:2], cudnn.benchmark)
    cuda.enable_flash_sdp(False)
    tell(cuda.flash_sdp_enabled(), cuda.math_sdp_enabled())
    cuda.enable_flash_sdp(True)


@same_story
def test_precision_of_products(torch, tell):
    matmul = torch.backends.cuda.matmul
    for precision in ("high", "medium", "highest"):
        torch.set_float32_matmul_precision(precision)
        tell(torch.get_float32_matmul_precision(), matmul.allow_tf32)
    matmul.allow_tf32 = True
    tell(torch.get_float32_matmul_precision())
    matmul.allow_tf32 = False
    torch.set_float32_matmul_precision(3)


@same_story
def test_threads(torch, tell):
    torch.set_num_threads(1)
    tell(torch.get_num_threads())
    for wrong in (0, -1, 2.5, True, "a"):
        tell(tried(torch.set_num_threads, wrong), tried(torch.set_num_interop_threads, wrong))


def test_threads_are_those_of_the_linear_algebra() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    torchlite.set_num_threads(1)
    assert {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"} == {1}


@same_story
def test_determinism(torch, tell):
    def now() -> Any:
        return (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.get_deterministic_debug_mode(),
        )

    tell(now())
    torch.use_deterministic_algorithms(True)
    tell(now())
    torch.use_deterministic_algorithms(True, warn_only=True)
    tell(now())
    for mode in ("default", "warn", "error", 1, "odd", 5, 1.5):
        tell(tried(torch.set_deterministic_debug_mode, mode), now())
    torch.use_deterministic_algorithms(3)


@same_story
def test_warnings_each_time(torch, tell):
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    tell(torch.is_warn_always_enabled())
    torch.set_warn_always(before)


@pytest.mark.usefixtures("without_cuda")
@same_story
def test_without_cuda(torch, tell):
    cuda = torch.cuda
    for name in (
        "current_stream", "default_stream", "get_device_properties", "get_rng_state", "get_sync_debug_mode",
        "initial_seed", "ipc_collect", "cudart", "synchronize", "current_device", "Stream", "Event", "CUDAGraph",
        "is_tf32_supported", "get_arch_list", "memory_stats", "memory_stats_as_nested_dict", "max_memory_allocated",
        "max_memory_reserved", "get_rng_state_all", "seed", "seed_all", "empty_cache", "host_memory_stats",
        "memory_allocated", "device_count", "get_gencode_flags", "list_gpu_processes",
    ):  # fmt: skip
        tell(name, tried(getattr(cuda, name)))
    tell(tried(cuda.nvtx.range_push, "a"), cuda.has_half, issubclass(cuda.OutOfMemoryError, RuntimeError))
    with cuda.stream(None):
        tell(torch.Stream().query(), repr(torch.Stream()), torch.Event().query())


@pytest.mark.usefixtures("without_cuda")
@same_story
def test_without_accelerator(torch, tell):
    accelerator = torch.accelerator
    tell(accelerator.is_available(), accelerator.device_count(), accelerator.current_accelerator())
    for name in ("current_device_index", "synchronize", "memory_allocated", "current_stream", "empty_cache"):
        tell(name, tried(getattr(accelerator, name)))


@same_story
def test_the_cpu_as_a_device(torch, tell):
    cpu = torch.cpu
    tell(cpu.is_available(), cpu.device_count(), cpu.current_device(), cpu.synchronize(), cpu.is_initialized())
    stream = cpu.Stream()
    with cpu.stream(stream):
        tell(cpu.current_stream() is stream)
    tell(cpu.current_stream() is stream, cpu.Event().query(), cpu.get_capabilities()["architecture"])
    tell(torch.get_device_module("cpu") is cpu, torch.get_device_module() is cpu)


@same_story
def test_older_functions_for_autocast(torch, tell):
    torch.set_autocast_cpu_dtype(torch.bfloat16)
    tell(torch.is_autocast_cpu_enabled(), torch.get_autocast_cpu_dtype(), torch.get_autocast_gpu_dtype())
    torch.set_autocast_cpu_enabled(True)
    tell(torch.is_autocast_cpu_enabled(), torch.mm(torch.ones(1, 1), torch.ones(1, 1)).dtype)
    torch.set_autocast_cpu_enabled(False)
    tell(torch.is_autocast_xla_enabled(), torch.get_autocast_xla_dtype())
    torch.set_autocast_cache_enabled(False)
    tell(torch.is_autocast_cache_enabled())
    torch.set_autocast_cache_enabled(True)
    tell(torch.is_autocast_cache_enabled(), torch.autocast_increment_nesting() - torch.autocast_decrement_nesting())


def test_these_modules_load_when_first_used() -> None:
    names = ("settings", "hub", "jit", "compiler", "futures", "backends.cudnn", "cpu", "accelerator", "utils.benchmark")
    code = f"import sys, torchlite; print([n for n in {names} if 'torchlite.' + n in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
