"""What PyTorch's own helpers for tests of several processes import, and one of them at work on torchlite."""

import datetime
import os
import subprocess
import sys
import threading

import pytest
from torchlite._C._distributed_c10d import _create_work_from_future

import torchlite
from torchlite.distributed import distributed_c10d as c10d

from .ranks import LIMIT, ROOT

SCRIPT = """
import torch, torch.distributed as dist
import torch.testing._internal.common_fsdp
from torch.testing._internal.common_distributed import MultiProcessTestCase, requires_gloo, skip_if_lt_x_gpu
from torch.testing._internal.common_utils import run_tests

class Together(MultiProcessTestCase):
    world_size = 2

    def setUp(self):
        super().setUp()
        self._spawn_processes()

    @requires_gloo()
    def test_a_sum(self):
        store = dist.FileStore(self.file_name, self.world_size)
        dist.init_process_group("gloo", store=store, rank=self.rank, world_size=self.world_size)
        x = torch.ones(2) * (self.rank + 1)
        dist.all_reduce(x)
        self.assertEqual(x, torch.full((2,), 3.0))
        dist.barrier()
        dist.destroy_process_group()

    @skip_if_lt_x_gpu(2)
    def test_on_gpus(self):
        pass

    def test_of_one_that_fails(self):
        if self.rank == 1:
            self.assertEqual(1, 2)

if __name__ == "__main__":
    run_tests()
"""

# Ranks are forked, as importing the suite takes seconds; those of the tests that show most.
SUITE = """
import os, sys
import torch
from torch.testing._internal.common_utils import run_tests
from torch.testing._internal.distributed.distributed_test import (
    DistributedTest, TestBucketCapacityConfig, TestBucketCapacityConfigComputeLimits, TestDistBackend
)

for folder in ("barrier", "test_dir", "init_dir"):
    os.makedirs(os.path.join(os.environ["TEMP_DIR"], folder))

class Suite(TestDistBackend, DistributedTest._DistTestBase):
    def setUp(self):
        super().setUp()
        self._start_processes(torch.multiprocessing.get_context("fork").Process)

if __name__ == "__main__":
    run_tests()
"""
OF_THE_SUITE = (
    "DistributedDataParallelCPU", "Backend_enum_class", "accumulate_gradients_no_sync", "all_gather_coalesced_complex",
    "all_gather_complex", "all_reduce_coalesced_full_group_sum", "all_reduce_sum_async", "barrier_timeout_full_group",
    "broadcast_object_list", "ddp_logging_data_cpu", "dump_DDP_relevant_env_vars",
    "grads_same_across_ranks_with_no_sync", "isend_autograd_profiler", "monitored_barrier_gloo_rank_0_timeout",
    "monitored_barrier_gloo_subgroup", "new_subgroups_world_size_not_divisible_by_group_size",
    "send_recv_any_source_torch_profiler", "sparse_all_reduce_sum", "static_graph_api_cpu",
)


def run_script(folder, text, *arguments, **environment):
    script = folder / "together.py"
    script.write_text(text)
    surroundings = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment}
    command = [sys.executable, "-W", "ignore", "-m", "torchlite", str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=surroundings, timeout=LIMIT)


def test_tests_of_pytorchs_suite_of_process_groups(tmp_path):
    pytest.importorskip("torch", reason="the suite is PyTorch's")
    names = [f"Suite.test_{name}" for name in OF_THE_SUITE]
    names += ["TestBucketCapacityConfig", "TestBucketCapacityConfigComputeLimits"]
    done = run_script(tmp_path, SUITE, *names, BACKEND="gloo", WORLD_SIZE="2", TEMP_DIR=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.rstrip().endswith("OK"), done.stderr


def test_a_case_of_several_processes(tmp_path):
    pytest.importorskip("torch", reason="the helpers are PyTorch's")
    done = run_script(tmp_path, SCRIPT)
    assert "Ran 3 tests" in done.stderr and "FAILED (errors=1, skipped=1)" in done.stderr, done.stdout + done.stderr
    assert "Process 1 exited with error code 10" in done.stderr


def test_a_work_of_a_future():
    future = torchlite.futures.Future()
    work = _create_work_from_future(future)
    assert not work.is_completed()
    future.set_result([torchlite.ones(1)])
    assert work.wait() and work.is_success() and work.result()[0].item() == 1
    failed = torchlite.futures.Future()
    work = _create_work_from_future(failed)
    failed.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        work.wait()


def test_a_barrier_of_a_store_alone():
    store = torchlite.distributed.HashStore()
    limits = datetime.timedelta(seconds=LIMIT), datetime.timedelta(seconds=1)
    others = [threading.Thread(target=c10d._store_based_barrier, args=(r, store, "g", 3, *limits)) for r in (1, 2)]
    for other in others:
        other.start()
    c10d._store_based_barrier(0, store, "g", 3, *limits)
    for other in others:
        other.join(LIMIT)
        assert not other.is_alive()
    with pytest.raises(torchlite.distributed.DistStoreError, match="num_workers_joined=1, "):
        c10d._store_based_barrier(0, store, "h", 2, datetime.timedelta(milliseconds=50))


def test_a_backend_of_a_program_is_known_by_its_name(monkeypatch):
    backend = torchlite.distributed.Backend
    for name in ("backend_list", "backend_capability", "_plugins"):
        monkeypatch.setattr(backend, name, getattr(backend, name).copy())
    backend.register_backend("own_words", print, devices=["cpu"])
    assert backend.OWN_WORDS == "own_words" and "own_words" in backend.backend_list
    assert repr(torchlite.distributed.BackendConfig("own_words")) == "cpu:own_words"
    assert torchlite.distributed.is_backend_available("own_words")
    del backend.OWN_WORDS
