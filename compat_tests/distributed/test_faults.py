"""What the others see of a process that dies, is late, or does something else; and what is left behind: nothing."""

import datetime
import os
import re
import signal
import threading
import time

import pytest

from .ranks import ended, mpiexec, run, start

MOMENTS = [
    "before anything", "in a collective", "between collectives", "in its own computation", "while receiving",
    "while sending", "in a subgroup", "in a thread's collective", "by an exception", "in a large collective",
    "while DDP is made", "in DDP's backward",
]  # fmt: skip

def dying(torch, tell):
    """Rank 1 dies at a moment that is named; the others are in calls that wait for it, and tell what they saw."""
    dist, moment = start(torch), os.environ["MOMENT"]
    group = dist.new_group()
    x = torch.ones(5_000_000 if "large" in moment else 1000)
    dist.all_reduce(x)
    if dist.get_rank() == 1:
        die(torch, dist, moment, x)
    began = time.monotonic()
    with pytest.raises(dist.DistBackendError, match=r"rank 1 \(process"):
        while True:
            wait_for_it(torch, dist, moment, x, group)
    tell(time.monotonic() - began < 100)
    with pytest.raises(dist.DistBackendError):  # at the second call, too
        dist.all_reduce(x, group=group if moment == "in a subgroup" else None)


def die(torch, dist, moment, x):
    def now(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    if moment in ("in a collective", "in a large collective"):
        threading.Timer(0.2, now).start()
        while True:
            dist.all_reduce(x)
    elif moment == "by an exception":
        raise SystemExit("on its own")
    elif moment == "in its own computation":
        time.sleep(0.3)
    elif moment == "while sending":
        dist.isend(torch.ones(3_000_000), 0)
    elif moment == "in DDP's backward":
        step(torch, x, now)
    now()


def wait_for_it(torch, dist, moment, x, group):
    if moment == "while receiving":
        dist.recv(x, 1)
    elif moment == "while sending":
        dist.recv(torch.zeros(3_000_000), 1)
    elif moment == "in a subgroup":
        dist.barrier(group)
    elif "DDP" in moment:
        step(torch, x)
    elif moment == "in a thread's collective":
        dist.all_reduce(x, async_op=True).wait()
    else:
        dist.all_reduce(x)


def step(torch, x, hook=None):
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1000, 1))
    if hook is not None:
        model.module.weight.register_hook(hook)
    model(x).sum().backward()


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("size", [2, 3])
def test_a_process_that_dies_is_named_by_the_others(moment, size):
    codes, told = ended("torchlite", dying, size, MOMENT=moment)
    assert {rank: report.get("error", report["told"]) for rank, report in told.items() if rank != 1} == {
        rank: ["True"] for rank in range(size) if rank != 1
    }
    assert codes == [0, 1 if moment == "by an exception" else -signal.SIGKILL, 0][:size]


@pytest.mark.parametrize("moment", ["in a collective", "while receiving", "by an exception", "in a large collective"])
def test_a_process_that_dies_under_mpiexec_is_named_by_the_others(moment, capfd):
    codes, told = ended("torchlite", dying, 3, mpiexec(3), "torchlite", MOMENT=moment)
    assert codes != [0]
    said = capfd.readouterr().err
    for rank in (0, 2):
        if rank in told:
            assert told[rank] == {"told": ["True"]}
        else:  # MPI does not return from what it was in
            assert re.search(r"^DistBackendError: rank 1 \(process \d+\) is gone: .*, in all_reduce$", said, re.M)
    if moment != "by an exception":
        assert re.search(r"^rank 1 \(process \d+\) was ended by SIGKILL$", said, re.M)


def late(torch, tell):
    limit = datetime.timedelta(seconds=1)
    dist = start(torch, timeout=datetime.timedelta(seconds=60))
    group, other, third = (dist.new_group() for _ in range(3))  # to be connected takes a busy machine long
    for hasty in (group, other):
        hasty.set_timeout(limit)
    store = dist.group.WORLD.get_group_store()
    if dist.get_rank():
        store.wait(["rank 0 has seen enough"], datetime.timedelta(seconds=200))
        return
    for call in (
        lambda: dist.all_reduce(torch.ones(2), group=group),
        lambda: dist.recv(torch.ones(2), 1, group=other),
        lambda: dist.all_reduce(torch.ones(2), group=third, async_op=True).wait(limit),
        lambda: dist.monitored_barrier(timeout=limit),
    ):
        began = time.monotonic()
        with pytest.raises(RuntimeError) as raised:
            call()
        tell(str(raised.value).partition("\n")[0], 0.9 < time.monotonic() - began < 100)
    store.set("rank 0 has seen enough", "")


def test_a_process_that_is_late():
    told, _ = run("torchlite", late)
    assert told[0].startswith("[Rank 0] Timed out waiting 1000ms for rank 1 (process ")
    assert told[0].endswith(" to take part in all_reduce")
    assert told[2] == "Timed out waiting 1000ms for recv operation to complete"
    assert told[4] == "Timed out waiting 1000ms for all_reduce operation to complete"
    assert told[6] == "[Rank 0]: Rank 1 failed to pass monitoredBarrier in 1000 ms"
    assert told[1::2] == ["True"] * 4


def otherwise(torch, tell):
    dist = start(torch)
    rank, groups = dist.get_rank(), [dist.new_group() for _ in range(3)]
    for group, call in zip(
        groups,
        (
            lambda g: dist.all_reduce(torch.ones(2 + rank), group=g),
            lambda g: dist.broadcast(torch.ones(2), 0, g) if rank else dist.all_reduce(torch.ones(2), group=g),
            lambda g: dist.all_reduce(torch.ones(2, dtype=torch.int32 if rank else torch.float32), group=g),
        ),
        strict=True,
    ):
        try:
            call(group)
            tell("no error")
        except RuntimeError as error:
            tell(error)


def test_processes_that_do_not_call_the_same():
    for rank, told in enumerate(run("torchlite", otherwise)):
        assert "all must call the same" in told[0] and "all must call the same" in told[1], rank


def mismatched(torch, tell):
    """Collectives that differ among ranks, each in a group of its own."""
    dist = start(torch)
    rank, size, one = dist.get_rank(), dist.get_world_size(), torch.ones
    for first, others in (
        (lambda g: dist.all_reduce(one(2), group=g), lambda g: dist.all_reduce(one(3), group=g)),
        (lambda g: dist.all_reduce(one(2, 1), group=g), lambda g: dist.all_reduce(one(2, 2).double(), group=g)),
        (lambda g: dist.all_reduce(one(2), group=g), lambda g: dist.broadcast(one(2), 0, g)),
        (lambda g: dist.all_gather([one(2)] * size, one(2), g), lambda g: dist.reduce(one(3), 0, group=g)),
        (lambda g: dist.all_gather_into_tensor(one(2 * size), one(2), g),
         lambda g: dist.reduce_scatter(one(2), [one(2)] * size, group=g)),
        (lambda g: dist.gather(one(2), [one(2)] * size, group=g), lambda g: dist.gather(one(3), group=g)),
        (lambda g: dist.scatter(one(2), None, 1, g), lambda g: dist.gather(one(2), group=g)),
        (lambda g: dist.all_reduce(one(2), group=g, async_op=True).wait(), lambda g: dist.all_reduce(one(1), group=g)),
    ):  # fmt: skip
        group = dist.new_group()
        dist.all_reduce(one(1), group=group)
        dist.barrier(group)
        with pytest.raises(RuntimeError) as raised:
            (others if rank else first)(group)
        tell(raised.value)
    dist.barrier()


def test_what_is_said_of_collectives_that_differ_is_pytorchs():
    pytest.importorskip("torch", reason="live comparisons need real PyTorch")
    ours, theirs = (run(lib, mismatched, TORCH_DISTRIBUTED_DEBUG="DETAIL") for lib in ("torchlite", "torch"))
    assert ours == theirs


def forked(torch, tell):
    """A process that was forked from one that dies does not keep its connections open."""
    dist = start(torch)
    dist.barrier()
    if dist.get_rank():
        meeting = os.path.dirname(os.environ["INIT"].removeprefix("file://"))
        if os.fork() == 0:
            while os.path.exists(meeting):  # until both ranks have ended
                time.sleep(0.1)
            os._exit(0)
        tell("gone")
        return
    with pytest.raises(RuntimeError, match="rank 1"):
        dist.barrier()
    tell("named")


def test_children_of_a_process_that_ended_do_not_matter():
    assert run("torchlite", forked)[0] == ["named"]
