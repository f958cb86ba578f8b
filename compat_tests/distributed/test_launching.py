"""Processes started by `torchrun` and by mpiexec, and what becomes of those that fail."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from .nursery import ROOT
from .ranks import LIMIT, mpiexec, port_kept

LOCAL = ("--standalone", "--launcher", "local")


@pytest.fixture
def script(tmp_path):
    def write(text):
        file = tmp_path / "script.py"
        file.write_text(textwrap.dedent(text))
        return str(file)

    return write


def started(*command, fails=False, **environment):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment}
    done = subprocess.run([*command], capture_output=True, text=True, env=env, timeout=LIMIT)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def torchrun(*arguments, **how):
    return started(sys.executable, "-m", "torchlite.distributed.run", *arguments, **how)


SUM = """
    import os, sys, torch, torch.distributed as dist
    dist.init_process_group("gloo")
    x = torch.ones(2) * dist.get_rank()
    dist.all_reduce(x)
    assert dist.get_backend() == "gloo" and dist.get_node_local_rank() == dist.get_rank()
    dist.new_group()
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {x.tolist()} {sys.argv[1:]}\\n", end="")
    dist.destroy_process_group()
"""


LOGGED = """
    import logging
    logging.basicConfig(level=logging.DEBUG)
"""


def test_a_program_in_several_processes(script):
    told = torchrun(*LOCAL, "--nproc-per-node", "2", script(SUM), "--lr", "1")
    assert sorted(told.split("\n")) == ["", *(f"rank {n} of 2: [1.0, 1.0] ['--lr', '1']" for n in range(2))]


def test_a_program_under_mpiexec(script):
    command = mpiexec(2)
    told = started(*command, sys.executable, "-m", "torchlite", script(LOGGED + SUM))
    assert told.count("started by mpiexec: gloo means MPI") == 2
    assert told.count("of 2: [1.0, 1.0] []") == 2
    told = torchrun("--standalone", "--nproc-per-node", "2", script(SUM))
    assert {f"rank {n} of 2: [1.0, 1.0] []" for n in range(2)} <= set(told.split("\n"))


KILLED = """
    import os, signal, torchlite.distributed as dist
    dist.init_process_group("gloo")
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()
"""


def test_the_log_says_which_rank_is_the_process_that_mpiexec_names(script):
    """The one that was killed, mostly: where all have ended when MPICH looks, it may name another."""
    told = started(*mpiexec(2), sys.executable, script(LOGGED + KILLED), fails=True)
    logged = re.findall(r"rank ([01]) \(process (\d+)\) was started by mpiexec", told)
    assert sorted(rank for rank, _ in logged) == ["0", "1"]
    assert re.search(r"\bPID (\d+)\b", told)[1] in {number for _, number in logged}


def test_what_processes_find_in_their_environment(script):
    words = [
        "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK",
        "ROLE_NAME", "ROLE_WORLD_SIZE", "MASTER_ADDR", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS",
        "TORCHELASTIC_USE_AGENT_STORE", "OMP_NUM_THREADS",
    ]  # fmt: skip
    file = script(f"""
        import os, sys
        sys.stdout.write(str([os.environ.get(word) for word in {words}]) + "\\n")
    """)
    options = ("--standalone", "--nproc_per_node=2", "--max-restarts", "1", "--role", "r", file)
    ours = torchrun("--launcher", "local", *options)
    pytest.importorskip("torch", reason="live comparisons need real PyTorch")
    theirs = started(sys.executable, "-m", "torch.distributed.run", *options)
    find = re.compile(r"^\[.*\]$", re.M)
    assert sorted(find.findall(ours)) == sorted(find.findall(theirs)) != []


def test_each_process_may_see_its_own_device_alone(script):
    file = script("""
        import os
        names = ("RANK", "LOCAL_RANK", "CUDA_VISIBLE_DEVICES", "TORCHELASTIC_SIGNALS_TO_HANDLE")
        print(" ".join(map(os.environ.get, names)) + ";", end="")
    """)
    options = (*LOCAL, "--nproc-per-node", "2", "--virtual-local-rank", "--signals-to-handle", "SIGTERM", file)
    for visible, devices in (("", "01"), ("4,6", "46")):
        told = torchrun(*options, CUDA_VISIBLE_DEVICES=visible)
        assert sorted(told.split(";")[:2]) == [f"{rank} 0 {device} SIGTERM" for rank, device in enumerate(devices)]


def by(launcher):
    """What torchrun is told to start processes by a launcher; where that is not there, the test is skipped."""
    if launcher == "mpi":
        mpiexec(2)
    return "--standalone", "--launcher", launcher


@pytest.mark.parametrize("launcher", ["local", "mpi"])
def test_all_are_started_again_when_one_fails(script, tmp_path, launcher):
    file = script("""
        import os, sys, time, torch.distributed as dist
        dist.init_process_group("gloo")
        attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
        open(f"{sys.argv[1]}/{attempt}-{dist.get_rank()}", "w").close()
        dist.barrier()
        if attempt < 2:
            if dist.get_rank() == 1:
                sys.exit(7)
            time.sleep(600)
    """)
    told = torchrun(*by(launcher), "--nproc-per-node", "2", "--max-restarts", "2", file, str(tmp_path))
    assert "rank 1 failed; starting all again (2/2)" in told
    assert {f"{a}-{r}" for a in range(3) for r in range(2)} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize("found", ["by numbers", "as they come"])
def test_launchers_that_meet(script, found):
    """Two of them stand for two hosts: ranks go on from one to the other, and when one fails, all are started again."""
    words = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE"]
    file = script(f"""
        import os, sys, torch, torch.distributed as dist
        dist.init_process_group("gloo")
        x = torch.tensor([dist.get_rank()])
        dist.all_reduce(x)
        if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and dist.get_rank() == 1:
            sys.exit(3)
        dist.barrier()
        sys.stdout.write(str([int(os.environ[word]) for word in {words}] + [x.item()]) + "\\n")
    """)
    with port_kept() as port:
        how = [["--node-rank", str(n), "--master-port", str(port), "--nproc-per-node", str(n + 1)] for n in range(2)]
        if found == "as they come":
            how = [["--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{port}", "--nproc-per-node", "2"]] * 2
        with ThreadPoolExecutor() as pool:
            told = "".join(pool.map(lambda each: torchrun("--nnodes", "2", "--max-restarts", "1", *each, file), how))
    assert sorted(re.findall(r"^\[\d.*\]$", told, re.M)) == [str(row) for row in (
        [[0, 0, 3, 1, 0, 2, 3], [1, 0, 3, 2, 1, 2, 3], [2, 1, 3, 2, 1, 2, 3]] if found == "by numbers" else
        [[0, 0, 4, 2, 0, 2, 6], [1, 1, 4, 2, 0, 2, 6], [2, 0, 4, 2, 1, 2, 6], [3, 1, 4, 2, 1, 2, 6]]
    )]  # fmt: skip


@pytest.mark.parametrize("launcher", ["local", "mpi"])
def test_who_failed_is_told_and_nobody_is_left_behind(script, tmp_path, launcher):
    file = script("""
        import os, sys, time, torch.distributed as dist
        from torch.distributed.elastic.multiprocessing.errors import record

        @record
        def main():
            dist.init_process_group("gloo")
            open(f"{sys.argv[1]}/{dist.get_rank()}.pid", "w").write(str(os.getpid()))
            dist.barrier()
            if dist.get_rank() == 1:
                raise ArithmeticError("no such number")
            time.sleep(600)

        main()
    """)
    told = torchrun(*by(launcher), "--nproc-per-node", "2", file, str(tmp_path), fails=True)
    assert "rank      : 1 (local_rank: 1)" in told and "ArithmeticError: no such number" in told
    assert_gone(int(path.read_text()) for path in tmp_path.glob("*.pid"))


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_processes_end_with_their_launcher(script, tmp_path, how):
    if how == signal.SIGKILL and sys.platform != "linux":
        pytest.skip("the system tells processes of their parent's death on Linux only")
    file = script("""
        import os, sys, time
        open(f"{sys.argv[1]}/{os.environ['RANK']}.pid", "w").write(str(os.getpid()))
        time.sleep(600)
    """)
    command = [sys.executable, "-m", "torchlite.distributed.run", *LOCAL, "--nproc-per-node", "2", file, str(tmp_path)]
    launcher = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL)
    limit = time.monotonic() + LIMIT
    while len(pids := [text for path in tmp_path.glob("*.pid") if (text := path.read_text())]) < 2:
        assert time.monotonic() < limit
        time.sleep(0.05)
    launcher.send_signal(how)
    launcher.wait(LIMIT)
    assert_gone(map(int, pids))


def assert_gone(pids):
    """That processes have ended, which may take the system a moment."""
    limit = time.monotonic() + 30
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            while os.kill(pid, 0) is None:
                assert time.monotonic() < limit, "a process outlived its launcher"
                time.sleep(0.05)


def test_output_goes_where_it_is_told(script, tmp_path):
    file = script("""
        import os, sys
        sys.stdout.write(f"out {os.environ['RANK']}\\n")
        sys.stderr.write(f"err {os.environ['RANK']}\\n")
    """)
    meet = ("--rdzv-backend", "c10d", "--rdzv-id", "run", "--launcher", "local")  # at any free port
    logs = (*meet, "--log-dir", str(tmp_path), "--nproc-per-node", "2")
    assert "out" not in torchrun(*logs, "--redirects", "3", file)
    read = lambda rank, name: (tmp_path / "run" / "attempt_0" / str(rank) / f"{name}.log").read_text()
    assert [read(rank, name) for rank in (0, 1) for name in ("stdout", "stderr")] == [
        "out 0\n", "err 0\n", "out 1\n", "err 1\n",
    ]  # fmt: skip
    assert sorted(torchrun(*logs, "--tee", "1:1", "--local-ranks-filter", "1", file).split("\n")) == [
        "", "[default1]:out 1", "err 1",
    ]  # fmt: skip


def test_lines_with_some_words_are_kept(script, tmp_path):
    file = script("""
        import os, sys
        sys.stdout.write(f"apple {os.environ['RANK']}\\npear, {os.environ['RANK']}\\npear\\n")
        sys.stderr.write(f"cherry\\nplum {os.environ['RANK']}\\n")
    """)
    meet = ("--rdzv-backend", "c10d", "--rdzv-id", "run", "--launcher", "local", "--log-dir", str(tmp_path))
    filters = ("--duplicate-stdout-filters", "apple,pear,,", "--duplicate_stderr_filters=plum")
    for tee, ranks in (("3", "01"), ("1:3", "1")):
        torchrun(*meet, "--nproc-per-node", "2", "--tee", tee, *filters, file)
        read = lambda name: (tmp_path / "run" / "attempt_0" / f"filtered_{name}.log").read_text().splitlines()
        assert sorted(read("stdout")) == [f"[default{n}]:{word} {n}" for n in ranks for word in ("apple", "pear,")]
        assert sorted(read("stderr")) == [f"[default{n}]:plum {n}" for n in ranks]


ELASTIC = """
    import os, sys, torch.distributed as dist
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, record
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    def work(much, fails):
        dist.init_process_group("gloo")
        told = [None] * dist.get_world_size()
        dist.all_gather_object(told, much * dist.get_rank())
        rank = dist.get_rank()
        dist.destroy_process_group()
        if fails and rank == 1:
            raise ArithmeticError("no such number")
        return told, os.environ["LOCAL_RANK"], os.environ["TORCHELASTIC_RUN_ID"]

    if __name__ == "__main__":
        config = LaunchConfig(
            min_nodes=1, max_nodes=1, nproc_per_node=2, run_id="a run", max_restarts=0, rdzv_backend="c10d",
            rdzv_endpoint="localhost:0",
        )
        sys.stdout.write(f"{sorted(elastic_launch(config, work)(10, False).items())}\\n")
        try:
            elastic_launch(config, work)(10, True)
        except ChildFailedError as error:
            rank, first = error.get_first_failure()
            sys.stdout.write(f"{error.name} failed: {rank} {first.local_rank}\\nended by {first.exitcode}\\n")
"""


def test_functions_launched_by_a_program(script):
    ours = started(sys.executable, "-m", "torchlite", script(ELASTIC))
    assert "ended by 1\n" in ours and "no such number" in ours
    pytest.importorskip("torch", reason="live comparisons need real PyTorch")
    theirs = started(sys.executable, script(ELASTIC))
    lines = re.compile(r"^(?:\[\(0|work failed).*$", re.M)
    # How a rank ends is ours alone: gloo's threads may abort PyTorch's on its way out of the exception.
    assert lines.findall(ours) == lines.findall(theirs)
    assert len(lines.findall(ours)) == 2


def test_the_launcher_before_torchrun(script):
    file = script("""
        import os, sys
        sys.stdout.write(f"rank {os.environ['RANK']} {sys.argv[1:]}\\n")
    """)
    command = [sys.executable, "-m", "torchlite.distributed.launch", "--launcher", "local", "--nproc-per-node=2"]
    told = started(*command, "--master-port", "0", file, "--lr", "1")
    assert "torch.distributed.launch is deprecated" in told
    for rank in range(2):
        assert f"rank {rank} ['--local-rank={rank}', '--lr', '1']" in told
    assert "rank 0 []" in started(*command, "--standalone", "--use-env", file)
