"""What profilers show of collectives: gradients leave while backward runs."""

import importlib
import json
import os
import tempfile

import pytest

from .ranks import run, same, start


def traced(torch, tell):
    """The order in which a step's collectives and backward's nodes begin, as the exported trace has it."""
    dist = start(torch)
    profiler = importlib.import_module(f"{torch.__name__}.profiler")
    torch.manual_seed(0)
    layers = [torch.nn.Linear(128, 128) for _ in range(6)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=0.1)
    x = torch.randn(4, 128)
    for _ in range(2):  # buckets follow the order of the first step
        model(x).sum().backward()
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU]) as profile:
        model(x).sum().backward()
        dist.broadcast(x, 0)
        dist.all_gather([torch.zeros_like(x) for _ in range(2)], x, async_op=True).wait()
        dist.barrier()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path) as file:
            events = sorted(json.load(file)["traceEvents"], key=lambda event: event.get("ts", 0))
    wanted = ("c10d::", "autograd::engine::evaluate_function: AddmmBackward0")
    tell(*[event["name"] for event in events if event.get("ph") == "X" and event["name"].startswith(wanted)])
    done = sorted(event["name"] for event in events if event["name"].startswith("gloo:"))
    main = {event["tid"] for event in events if event["name"] == "c10d::allreduce_"}
    tell(len(done) >= 3, len(main), all(e["tid"] not in main for e in events if e["name"] == "gloo:all_reduce"))


def told_of_each(torch, tell):
    """What profilers say that a backend does: its name for it, and the shapes of what it begins with."""
    dist, rank = start(torch), int(os.environ["RANK"])
    x, z = torch.zeros(3), torch.zeros
    rooms = [z(3), z(3)] if rank == 0 else None
    with torch.autograd.profiler.profile(record_shapes=True) as profile:
        dist.all_reduce(x)
        dist.all_reduce(x, async_op=True).wait()
        dist.all_reduce(z(2, dtype=torch.complex64))
        dist.all_reduce(torch.sparse_coo_tensor([[0]], [1.0], (3,), check_invariants=False))
        dist.all_reduce_coalesced([x, z(2)])
        dist.all_gather([z(3), z(3)], x)
        dist.all_gather_single(z(6), x)
        dist.all_gather_coalesced([[z(3), z(2)], [z(3), z(2)]], [x, z(2)])
        dist.reduce(x, 0)
        dist.broadcast(x, 0)
        dist.barrier()
        dist.gather(x, rooms, 0)
        dist.scatter(x, rooms, 0)
        dist.all_to_all([z(1), z(1)], [z(1), z(1)])
        dist.all_to_all_single(z(2), z(2))
        dist.reduce_scatter_single(z(1), z(2))
        with dist.record_comm("ours"):
            dist.barrier()
            with dist.record_comm("inner"):
                dist.all_reduce(x, async_op=True).wait()
            dist.broadcast(x, 0)
        for work in (dist.isend(x, 1), dist.irecv(x, 1)) if rank == 0 else (dist.irecv(x), dist.isend(x, 0)):
            work.wait()
    events = profile.function_events
    tell(*[(event.name, event.is_async) for event in events if event.name.startswith("c10d::")])
    tell(*sorted(
        (event.name, event.is_async, event.is_user_annotation, event.count, event.input_shapes)
        for event in events if event.name.startswith("gloo:")
    ))  # fmt: skip


def test_what_is_asked_for_and_what_is_done():
    same(told_of_each)


def test_gradients_leave_while_backward_runs():
    for told in run("torchlite", traced):
        *names, some, threads, beside = told
        last = max(at for at, name in enumerate(names) if "Addmm" in name)
        assert names.index("c10d::allreduce_") < last
        assert names[-3:] == ["c10d::broadcast_", "c10d::allgather_", "c10d::barrier"]
        assert (some, threads, beside) == ("True", "1", "True")
    pytest.importorskip("torch", reason="live comparisons need real PyTorch")
    theirs = run("torch", traced)[0]
    assert sorted(names) == sorted(theirs[:-3])
