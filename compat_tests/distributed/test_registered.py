"""Groups of a backend that a program registered, which tells its own methods what to do."""

import importlib
import json
import os
import warnings
from datetime import timedelta

import pytest

from .ranks import same


def classes(torch, tell):
    """A backend in Python, by a store, that tells what its methods are called with."""
    dist = torch.distributed

    class Done(dist._Work):
        def __init__(self, result, source=-1):
            super().__init__()
            self.result_of, self.source = result, source

        def wait(self, timeout=None):
            return True

        def is_completed(self):
            return True

        def _source_rank(self):
            return self.source

        def get_future(self):
            future = torch.futures.Future()
            future.set_result(self.result_of)
            return future

    class Group(dist.ProcessGroup):
        def __init__(self, store, rank, size):
            super().__init__(rank, size)
            self.store, self.mine, self.calls = store, rank, 0

        def getBackendName(self):
            return "Dummy"

        def everyones(self, tensor):
            self.calls += 1
            self.store.set(f"{self.calls}/{self.mine}", json.dumps(tensor.tolist()))
            found = [json.loads(self.store.get(f"{self.calls}/{rank}")) for rank in range(self.size())]
            return [torch.tensor(each, dtype=tensor.dtype) for each in found]

        def allreduce(self, tensors, opts=None):
            tell("allreduce", len(tensors), opts.reduceOp == dist.ReduceOp.SUM, opts.timeout, opts.asyncOp)
            for tensor in tensors:
                pieces = torch.stack(self.everyones(tensor))
                tensor.copy_(pieces.sum(0) if opts.reduceOp == dist.ReduceOp.SUM else pieces.amax(0))
            return Done(tensors)

        def allreduce_coalesced(self, tensors, opts=None):
            tell("allreduce_coalesced", type(opts).__name__)
            return self.allreduce(tensors, opts)

        def broadcast(self, tensors, opts=None):
            tell("broadcast", opts.rootRank, opts.rootTensor, opts.asyncOp)
            for tensor in tensors:
                tensor.copy_(self.everyones(tensor)[opts.rootRank])
            return Done(tensors)

        def allgather(self, output_tensors, input_tensors, opts=None):
            tell("allgather", len(output_tensors), type(opts).__name__)
            for outs, tensor in zip(output_tensors, input_tensors):
                for out, piece in zip(outs, self.everyones(tensor)):
                    out.copy_(piece)
            return Done(output_tensors)

        def all_gather_single(self, output, input, opts=None):
            tell("all_gather_single", tuple(output.shape), type(opts).__name__)
            output.copy_(torch.cat(self.everyones(input)))
            return Done([output])

        def reduce_scatter(self, output_tensors, input_tensors, opts=None):
            (output,), (pieces,) = output_tensors, input_tensors
            output.copy_(sum(self.everyones(torch.stack(list(pieces))))[self.mine])
            return Done([output])

        def gather(self, output_tensors, input_tensors, opts=None):
            tell("gather", len(output_tensors), opts.rootRank)
            pieces = self.everyones(input_tensors[0])
            for out, piece in zip(output_tensors[0] if output_tensors else [], pieces):
                out.copy_(piece)
            return Done(output_tensors)

        def barrier(self, opts=None):
            tell("barrier", opts.device_ids, opts.device, opts.timeout)
            self.everyones(torch.zeros(1))
            return Done([])

        def send(self, tensors, dstRank, tag=0):
            tell("send", len(tensors), dstRank, tag)
            self.store.set(f"to/{dstRank}/{tag}", json.dumps(tensors[0].tolist()))
            return Done(tensors)

        def recv(self, tensors, srcRank, tag=0):
            tell("recv", srcRank, tag)
            tensors[0].copy_(torch.tensor(json.loads(self.store.get(f"to/{self.mine}/{tag}"))))
            return Done(tensors, 1 - self.mine)

        def recv_anysource(self, tensors, tag=0):
            tell("recv_anysource", tag)
            return self.recv(tensors, 1 - self.mine, tag)

        def shutdown(self):
            tell("shutdown")

    return Group


def registered(torch, tell):
    dist, rank, size = torch.distributed, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    Group = classes(torch, tell)

    def extended(told, options):
        tell(told.group_rank, told.group_size, told.timeout, told.group_id, told.global_ranks_in_group, options)
        return Group(told.store, told.group_rank, told.group_size)

    def plain(store, rank, size, timeout):
        tell(rank, size, timeout)
        return Group(store, rank, size)

    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        dist.Backend.register_backend("dummy", extended, extended_api=True, devices="cpu")
        dist.Backend.register_backend("plain", plain)
    tell(*(each.message for each in given), dist.Backend.DUMMY, dist.is_backend_available("dummy"))
    store = dist.FileStore(os.environ["INIT"].removeprefix("file://"), size)
    dist.init_process_group("dummy", rank=rank, world_size=size, store=store, timeout=timedelta(seconds=99))
    group = dist.group.WORLD
    tell(type(group) is Group, group.name(), dist.get_backend(), dist.get_backend_config(), group.rank(), group.size())
    return dist, group


def outcome(call):
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def collectives(torch, tell):
    dist, group = registered(torch, tell)
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.arange(3.0) + rank
    dist.all_reduce(x)
    work = dist.all_reduce(x, dist.ReduceOp.MAX, async_op=True)
    tell(work.is_completed(), work.wait(), x.tolist())
    z = torch.tensor([1 + 2j, 3j]) * (rank + 1)
    dist.all_reduce(z)
    tell(z.tolist())
    dist.broadcast(y := torch.full((2,), float(rank)), size - 1)
    outs = [torch.zeros(2) for _ in range(size)]
    dist.all_gather(outs, y + rank)
    dist.all_gather_single(whole := torch.zeros(2 * size), y + rank)
    dist.reduce_scatter(part := torch.zeros(2), [y + rank] * size)
    dist.gather(y + rank, outs if rank == 0 else None)
    tell(y.tolist(), [out.tolist() for out in outs], whole.tolist(), part.tolist())
    dist.barrier()
    dist.barrier(timeout=timedelta(seconds=3))
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank})
    tell(found == [{"rank": each} for each in range(size)])
    with dist._coalescing_manager():
        dist.all_reduce(x)
        dist.all_reduce(y)
    tell(x.tolist(), y.tolist())
    for call in (
        lambda: dist.reduce(x, 0), lambda: dist.scatter(x, [x] * size if rank == 0 else None), dist.monitored_barrier,
        lambda: dist.all_to_all([x] * size, [x] * size), lambda: dist.all_reduce(z, dist.ReduceOp.MAX),
        lambda: dist.all_reduce(3), lambda: dist.all_gather(outs, x.int()), lambda: dist.send(x, rank),
        lambda: dist.new_group([rank], backend="unknown"),
    ):  # fmt: skip
        tell(outcome(call))
    own = dist.new_group(backend="plain", timeout=timedelta(seconds=9))
    tell(dist.get_backend(own), dist.get_process_group_ranks(own), own is group)
    dist.all_reduce(x, group=own)
    alone = dist.new_group([0], backend="dummy", pg_options="said")
    tell(x.tolist(), dist.get_rank(alone))
    dist.destroy_process_group()
    tell(dist.is_initialized())


@pytest.mark.parametrize("ranks", [1, 2])
def test_its_methods_are_told_what_pytorchs_are(ranks):
    same(collectives, ranks)


def messages_and_networks(torch, tell):
    dist, _ = registered(torch, tell)
    rank, other = dist.get_rank(), 1 - dist.get_rank()
    x = torch.zeros(2)
    if rank == 0:
        dist.send(torch.ones(2), other)
        dist.isend(torch.ones(2) * 2, other, tag=4).wait()
    else:
        tell(dist.recv(x, other), x.tolist(), dist.recv(x, tag=4), x.tolist())
    dist.barrier()
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    with torch.no_grad():
        model.weight.fill_(rank + 1.0)
        model.bias.fill_(0)
    group = dist.group.WORLD
    for parameter in model.parameters():
        dist.broadcast(parameter.detach(), 0)
    model(torch.ones(1, 3) * (rank + 1)).sum().backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=group)
        tell(parameter.tolist(), parameter.grad.tolist())


def test_messages():
    same(messages_and_networks)


def trained(torch, tell):
    dist, _ = registered(torch, lambda *values: None)
    model = torch.nn.Linear(3, 1)
    with torch.no_grad():
        model.weight.fill_(dist.get_rank() + 1.0)
    replica = torch.nn.parallel.DistributedDataParallel(model)
    replica(torch.ones(1, 3) * (dist.get_rank() + 1)).sum().backward()
    tell(model.weight.tolist(), model.weight.grad.tolist())


def test_a_network_in_parallel():
    same(trained)


def base(torch, tell):
    """What a group has that defines no methods."""
    dist = torch.distributed
    Bare = type("Bare", (dist.ProcessGroup,), {})
    for call in (
        lambda: Bare(0, 1).name(), lambda: Bare(rank=1, size=3).rank(), lambda: Bare(0, 2).size(),
        lambda: Bare(0, 1).allreduce([torch.ones(1)]), lambda: Bare(0, 1).barrier(), lambda: Bare(0, 1)._device_types,
        lambda: Bare(0, 1).shutdown(), lambda: Bare(0, 1).abort(), lambda: Bare(0), lambda: Bare(0, 1).group_desc,
    ):  # fmt: skip
        tell(outcome(call))
    dist.Backend.register_backend("wrong", lambda *args: 3, devices=["cpu"])
    told = outcome(lambda: dist.init_process_group("wrong", store=dist.HashStore(), rank=0, world_size=1))
    tell(told.partition(":")[0], dist.is_initialized())


def test_a_group_without_methods():
    same(base, 1)


def alone_among_many(torch, tell):
    """What a process sees of a group whose others are not there."""
    dist, zeros = torch.distributed, torch.zeros
    fake = importlib.import_module(f"{torch.__name__}._C._distributed_c10d").FakeProcessGroup
    dist.Backend.register_backend(
        dist.Backend.FAKE, lambda told, more: fake._create_internal(told.group_rank, told.group_size, more),
        extended_api=True, devices=["cpu", "cuda"],
    )  # fmt: skip
    dist.init_process_group("fake", rank=1, world_size=4, store=dist.HashStore())
    tell(dist.get_backend(), dist.get_backend_config(), dist.get_world_size(), dist.get_rank())
    x, four = torch.arange(3.0), [torch.arange(3.0) + number for number in range(4)]
    rooms, whole, room = [zeros(3) for _ in four], zeros(12), zeros(3)
    for call in (
        lambda: dist.all_reduce(x), lambda: dist.broadcast(x, 0), lambda: dist.reduce(x, 0), lambda: dist.barrier(),
        lambda: dist.all_gather(rooms, x), lambda: dist.all_gather_single(whole, x), lambda: dist.send(x, 0),
        lambda: dist.reduce_scatter_single(room, torch.arange(12.0)), lambda: dist.reduce_scatter(room, four),
        lambda: dist.all_to_all(rooms, four), lambda: dist.all_to_all_single(whole, torch.arange(12.0)),
        lambda: dist.gather(x, rooms, dst=1), lambda: dist.scatter(room, four, src=1), lambda: dist.recv(x, 0),
        lambda: dist.all_gather_coalesced([[each] for each in rooms], [x]), lambda: dist.monitored_barrier(),
        lambda: dist.all_reduce(x, async_op=True).wait(), lambda: dist.new_group([0, 2]),
        lambda: dist.new_group([0, 1]).rank(),
    ):  # fmt: skip
        tell(outcome(call), x.tolist(), room.tolist(), whole.tolist(), [each.tolist() for each in rooms])


def test_a_process_alone_among_many():
    same(alone_among_many, 1)
