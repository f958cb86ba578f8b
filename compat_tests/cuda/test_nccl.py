"""Groups of NCCL, between processes with a stand-in for a device each, tell what PyTorch's of gloo tell."""

import os
import re
from datetime import timedelta

import pytest

import torchlite as torch

from ..distributed.ranks import in_pytorch, mpiexec, run, start
from ..distributed.test_collectives import DTYPES, SHAPES, all_collectives

pytestmark = pytest.mark.usefixtures("stand_in")


def started(torch):
    """PyTorch's group of gloo; torchlite's of NCCL, with all tensors on the device."""
    if torch.__name__ == "torch":
        return start(torch)
    torch.set_default_device("cuda")
    return start(torch, backend="nccl")


def same(function, ranks=2):
    pytest.importorskip("torch", reason="live comparisons need real PyTorch")
    ours = run("torchlite", function, ranks, through="torchlite.testing.cuda_on_host")
    for rank, (mine, model) in enumerate(zip(ours, in_pytorch(function, ranks), strict=True)):
        for number, (here, there) in enumerate(zip(mine, model)):
            assert here == there, f"rank {rank}, told as number {number}, after {mine[max(number - 2, 0) : number]}"
        assert len(mine) == len(model)


def matrix(torch, tell):
    dist = started(torch)
    groups = [dist.group.WORLD, dist.new_group([1, 0])]
    for number, dtype in enumerate(DTYPES):
        for shape in (SHAPES[number % len(SHAPES)], (3, 2)):
            for group in groups[: 1 + (dtype == "float32")]:
                if group != dist.GroupMember.NON_GROUP_MEMBER:
                    ops = ["SUM", "AVG", "PRODUCT", "MIN", "MAX"]
                    all_collectives(torch, dist, tell, group, shape, dtype, "rows", bool(number % 2), ops)
    dist.barrier()
    dist.destroy_process_group()


@pytest.mark.parametrize("ranks", [2, 4])
def test_collectives_and_dtypes(ranks):
    same(matrix, ranks)


def both(torch, tell):
    """The CPU's tensors and the device's, in one group."""
    dist = start(torch, backend=os.environ["PAIRS"])
    rank, size = dist.get_rank(), dist.get_world_size()
    here, there = torch.full((3,), rank + 1.0), torch.full((3,), rank + 1.0, device="cuda")
    works = [dist.all_reduce(tensor, async_op=True) for tensor in (there, here)]
    for work in works:
        work.wait()
    tell(here.tolist(), there.tolist(), there.device.type, dist.get_backend_config())
    for tensor in (here, there):
        if rank == 0:
            dist.send(tensor * 2, 1)
        elif rank == 1:
            tell(dist.recv(tensor, 0), tensor.tolist())
    found = [None] * size
    dist.all_gather_object(found, rank)
    pair = dist.new_group([0, 1])
    if rank < 2:
        dist.all_reduce(there, group=pair)
        tell(found, there.tolist(), dist.get_backend(pair))
    for device in ("cpu", "cuda"):
        replica = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, device=device))
        replica(torch.ones(1, 2, device=device) * rank).sum().backward()
        tell(replica.module.weight.grad.tolist())


@pytest.mark.parametrize("named", ["cpu:gloo,cuda:nccl", "cpu:mpi,cuda:nccl"])
def test_a_backend_for_each_device(named):
    launcher = mpiexec(2) if "mpi" in named else ()
    first, second = run("torchlite", both, 2, launcher, "torchlite.testing.cuda_on_host", PAIRS=named)
    assert first == ["[3.0, 3.0, 3.0]", "[3.0, 3.0, 3.0]", "cuda", named, "[0, 1]", "[9.0, 9.0, 9.0]", named] + 2 * [
        "[[0.5, 0.5]]"
    ]
    assert second[:8] == [*first[:4], "0", "[6.0, 6.0, 6.0]", "0", "[6.0, 6.0, 6.0]"] and second[8:] == first[4:]


def messages(torch, tell):
    """Sends and receives of more than any buffer holds, in the ways in which programs pair them."""
    dist = started(torch)
    rank, size = dist.get_rank(), dist.get_world_size()
    after, before = (rank + 1) % size, (rank - 1) % size
    x, y = torch.full((1 << 20,), float(rank + 1)), torch.zeros(1 << 20)

    work = dist.isend(x, after)
    dist.recv(y, before)
    work.wait()
    tell(work.is_completed(), y.sum().item())

    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, x * 2, after), dist.P2POp(dist.irecv, y, before)])
    for work in works:
        work.wait()
    tell(y.sum().item())

    if rank == 0:
        work = dist.isend(x, 1)
        dist.all_reduce(y)
        work.wait()
    else:
        dist.all_reduce(y)
        if rank == 1:
            tell(dist.recv(x, 0), x[-1].item())
    tell(y[0].item())

    columns = torch.zeros(4, 3)
    if rank == 0:
        dist.send(torch.arange(12.0).reshape(4, 3), 1, tag=5)
    elif rank == 1:
        tell(dist.recv(columns, 0, tag=5), columns.tolist())
    dist.barrier()


@pytest.mark.parametrize("ranks", [2, 4])
def test_messages(ranks):
    same(messages, ranks)


def begun(torch, tell):
    """What is begun only goes on beside what this process does meanwhile, on a stream of its own."""
    dist = started(torch)
    rank, store = dist.get_rank(), dist.group.WORLD.get_group_store()
    x, engine = torch.ones(3), dist.group.WORLD._engine("cuda")
    dist.all_reduce(x)
    group, streams = engine._all._made, []
    engine._all._made = type("Spy", (), {
        "allReduce": lambda self, *args: (streams.append(args[-1]), group.allReduce(*args)), "destroy": group.destroy,
    })()  # fmt: skip
    if rank:
        store.wait(["rank 0 went on"], timedelta(seconds=200))
    other = torch.cuda.Stream()
    with torch.cuda.stream(other):
        x *= 2
        work = dist.all_reduce(x, dist.ReduceOp.AVG, async_op=True)
    if rank == 0:
        tell(work.is_completed(), (x.new_ones(2) + 1).tolist())
        store.set("rank 0 went on", "")
    else:
        tell(False, [2.0, 2.0])
    tell(work.wait(), work.is_completed(), x.tolist(), work.get_future().wait()[0] is x)
    with torch.cuda.stream(other):
        dist.all_reduce(x)
        dist.all_reduce(x, async_op=True).wait()
    first, second, third = streams
    tell(first == third != second, second == other.cuda_stream, first != torch.cuda.current_stream().cuda_stream)
    dist.destroy_process_group()


def test_what_is_begun_goes_on_beside():
    for told in run("torchlite", begun, through="torchlite.testing.cuda_on_host"):
        assert told == ["False", "[2.0, 2.0]", "True", "True", "[4.0, 4.0, 4.0]", "True", "True", "True", "True"]


def objects(torch, tell):
    dist = started(torch)
    rank, size = dist.get_rank(), dist.get_world_size()
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank, "words": "ab" * rank})
    tell(found)
    given = [["one", 2], (3.0,)] if rank == 0 else [None, None]
    dist.broadcast_object_list(given, 0)
    tell(given)
    out = [None]
    dist.scatter_object_list(out, ["a", "bb"] if rank == 0 else None, 0)
    tell(out)
    dist.gather_object(out[0], found if rank == 1 else None, 1)
    tell(found)


def test_objects():
    same(objects)


def losses(torch, wrap, batch, mean):
    """Of some steps of a small network, on a share of the batch or all of it."""
    torch.manual_seed(0)
    torch.set_default_device("cpu")  # with the numbers that are drawn there
    layers = torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 1)
    model = wrap(torch.nn.Sequential(*layers).to(batch.device))
    optimizer, found = torch.optim.SGD(model.parameters(), 0.1), []
    for _ in range(4):
        loss = (model(batch) - batch.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(mean(loss.detach()).item())
    return found


def batch(torch):
    return torch.arange(48.0).reshape(8, 6).sin()


def networks(torch, tell):
    dist = started(torch)
    own = batch(torch).cuda().chunk(dist.get_world_size())[dist.get_rank()]
    synchronized = torch.nn.SyncBatchNorm.convert_sync_batchnorm

    def mean(loss):
        dist.all_reduce(loss, dist.ReduceOp.AVG)
        return loss

    def cut(model):
        dist.fsdp.fully_shard(model[0])
        dist.fsdp.fully_shard(model)
        return model

    for wrap in (
        torch.nn.parallel.DistributedDataParallel,
        dist.fsdp.FullyShardedDataParallel,
        cut,
    ):
        tell(*losses(torch, lambda model, wrap=wrap: wrap(synchronized(model)), own, mean))


@pytest.mark.parametrize("ranks", [2, 4])
def test_networks_learn_as_in_one_process(ranks):
    told = run("torchlite", networks, ranks, through="torchlite.testing.cuda_on_host")
    alone = losses(torch, lambda model: model, batch(torch), lambda loss: loss)
    for each in told:
        assert [float(loss) for loss in each] == pytest.approx(alone * 3, rel=1e-5)


def one_is_late(torch, tell):
    dist = started(torch)
    dist.all_reduce(torch.ones(1))
    dist.group.WORLD.set_timeout(timedelta(seconds=1))
    store = dist.group.WORLD.get_group_store()
    if dist.get_rank():
        store.wait(["rank 0 has seen enough"], timedelta(seconds=200))
        return
    for _ in range(2):
        with pytest.raises(dist.DistBackendError) as refusal:
            dist.all_reduce(torch.ones(1))
        tell(refusal.value)
    store.set("rank 0 has seen enough", "")


def one_does_not_come(torch, tell):
    dist = started(torch)
    dist.group.WORLD.set_timeout(timedelta(seconds=1))
    if dist.get_rank() == 0:
        with pytest.raises(dist.DistBackendError) as refusal:
            dist.barrier()
        tell(refusal.value)


def one_is_gone(torch, tell):
    dist = started(torch)
    dist.all_reduce(torch.ones(1))
    if dist.get_rank() == 0:
        with pytest.raises(dist.DistBackendError) as refusal:
            dist.all_reduce(torch.ones(1))
        tell(refusal.value)


@pytest.mark.parametrize("what, told", [
    (one_is_late, "Watchdog caught collective operation timeout"),
    (one_does_not_come, "rank 1 did not come to NCCL within 1 s"),
    (one_is_gone, "NCCL error"),
])  # fmt: skip
def test_what_others_do_not_do_is_an_error_in_time(what, told):
    (first, *_), _ = run("torchlite", what, through="torchlite.testing.cuda_on_host")
    assert re.search(told, first)


def refused(torch, tell):
    dist = started(torch)
    x = torch.ones(2, dtype=torch.int64)
    for call in (
        lambda: dist.all_reduce(x, dist.ReduceOp.BAND), lambda: dist.all_reduce(x.bool(), dist.ReduceOp.BXOR),
        lambda: dist.recv(x), dist.monitored_barrier, lambda: dist.all_reduce(x.cpu()),
        lambda: dist.all_gather_into_tensor(x, x), lambda: dist.reduce_scatter_tensor(x, x),
    ):  # fmt: skip
        with pytest.raises((ValueError, RuntimeError)) as refusal:
            call()
        tell(refusal.value)


def test_what_nccl_does_not_do_is_refused():
    assert run("torchlite", refused, through="torchlite.testing.cuda_on_host") == 2 * [[
        "Cannot use ReduceOp.BAND with NCCL", "Cannot use ReduceOp.BXOR with NCCL",
        "NCCL receives from a rank that is named", "monitored_barrier is only implemented for GLOO backend.",
        "No backend type associated with device type cpu",
        "output tensor size must be equal to world_size times input tensor size",
        "input tensor must be the same size as output size times world size",
    ]]  # fmt: skip
