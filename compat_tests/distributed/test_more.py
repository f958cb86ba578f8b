"""Messages, objects, groups, gradients through collectives, and grids of processes, told as PyTorch's with gloo."""

import importlib
import warnings

import pytest

from .ranks import mpiexec, run, same, start


def story(call, *args, **kwargs):
    try:
        return call(*args, **kwargs)
    except (RuntimeError, ValueError, TypeError, IndexError, AssertionError) as error:
        return f"{type(error).__name__}: {error}"


# ---- messages


def messages(torch, tell):
    dist = start(torch)
    rank = dist.get_rank()
    other = 1 - rank
    for count in (3, 400_000):
        x = torch.arange(float(count)) + rank
        y = torch.zeros(count)
        if rank:
            dist.send(x, other)
            tell(dist.recv(y, other), y.double().sum().item())
        else:
            tell(dist.recv(y), y.double().sum().item())
            dist.send(x, other)
    # By tags, in another order than they were sent.
    if rank:
        works = [dist.isend(torch.full((2,), float(tag)), 0, tag=tag) for tag in (1, 2, 3)]
        [work.wait() for work in works]
    else:
        for tag in (3, 1, 2):
            y = torch.zeros(2)
            tell(dist.recv(y, 1, tag=tag), y.tolist())
    # Both ways at once, more than the system holds for them.
    x, y = torch.full((1_000_000,), float(rank)), torch.zeros(1_000_000)
    ops = [dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, y, other)]
    tell([work.wait() for work in dist.batch_isend_irecv(ops)], y.double().sum().item())
    tell(repr(ops[0]), repr(ops[1]))
    elsewhere = dist.P2POp(dist.irecv, y, other, dist.new_group())
    # A message may be shorter than there is room for.
    if rank:
        dist.send(torch.ones(2), 0)
    else:
        y = torch.zeros(4)
        work = dist.irecv(y, 1)
        tell(work.wait(), y.tolist())
    # A work has a future as often as it is asked for one.
    work = dist.all_reduce(x, async_op=True)
    futures = [work.get_future(), work.get_future()]
    work.wait()
    tell([future.wait()[0].sum().item() for future in (*futures, work.get_future())])
    for call in (
        lambda: dist.send(torch.ones(1), rank), lambda: dist.P2POp(dist.broadcast, x, 0),
        lambda: dist.batch_isend_irecv([]), lambda: dist.batch_isend_irecv([*ops, elsewhere]),
        lambda: dist.send(3, other),
        lambda: dist.broadcast(torch.ones(2)), lambda: dist.all_gather([torch.ones(3)] * 2, torch.ones(2)),
        lambda: dist.all_gather([torch.ones(2)], torch.ones(2)), lambda: dist.broadcast(torch.ones(2), 7),
        lambda: dist.all_gather([torch.ones(2).double()] * 2, torch.ones(2)), lambda: dist.broadcast(3, 0),
        lambda: dist.init_process_group("gloo"), lambda: dist.new_group([5]),
    ):  # fmt: skip
        tell(story(call))
    dist.monitored_barrier()
    dist.barrier()



def pipeline(torch, tell):
    """Parts of a model in three processes: activations go down the line, gradients come back."""
    dist = start(torch)
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    torch.manual_seed(rank)
    layer = torch.nn.Linear(4, 4).double()
    for step in range(3):
        if rank:
            x = torch.zeros(2, 4, dtype=torch.float64)
            dist.recv(x, rank - 1)
            x.requires_grad_()
        else:
            x = torch.full((2, 4), float(step), dtype=torch.float64)
        y = torch.tanh(layer(x))
        if rank < last:
            dist.send(y.detach(), rank + 1)
            grad = torch.zeros_like(y)
            dist.recv(grad, rank + 1)
            y.backward(grad)
        else:
            loss = y.square().mean()
            loss.backward()
            tell(round(loss.item(), 10))
        if rank:
            dist.send(x.grad, rank - 1)
    tell(layer.weight.grad.sum().item().__round__(10))



# ---- objects and groups


def objects(torch, tell):
    dist = start(torch)
    rank, size = dist.get_rank(), dist.get_world_size()
    mine = {"rank": rank, "text": "x" * (rank * 1000), "tensor": torch.ones(rank + 1).tolist()}
    everyones = [None] * size
    dist.all_gather_object(everyones, mine)
    tell(everyones)
    gathered = [None] * size if rank == 1 else None
    dist.gather_object(mine, gathered, dst=1)
    tell(gathered)
    things = [mine, 3, None] if rank == 1 else [None] * 3
    dist.broadcast_object_list(things, src=1)
    tell(things)
    got = [None]
    dist.scatter_object_list(got, [f"for {n}" for n in range(size)] if rank == 0 else None, src=0)
    tell(got)
    if rank == 0:
        dist.send_object_list([mine, "and more"], dst=1)
    elif rank == 1:
        things = [None, None]
        tell(dist.recv_object_list(things, src=0), things)



def groups(torch, tell):
    dist = start(torch)
    rank = dist.get_rank()
    tell(dist.get_backend(), dist.get_backend_config(), dist.get_pg_count(), dist.group.WORLD.name())
    tell(dist.group.WORLD.group_name, dist.group.WORLD.group_desc, dist.get_default_backend_for_device("cpu"))
    group = dist.new_group([0, 2])
    if rank == 1:
        tell(group, dist.get_rank(group), dist.get_world_size(group), dist.all_reduce(torch.ones(1), group=group))
    else:
        tell(dist.get_rank(group), dist.get_world_size(group), dist.get_process_group_ranks(group), group.group_desc)
        tell(dist.get_group_rank(group, 2), dist.get_global_rank(group, 1), story(dist.get_group_rank, group, 1)[:30])
        x = torch.full((2,), float(rank))
        dist.broadcast(x, 2, group)
        tell(x.tolist())
        dist.broadcast(x, group=group, group_src=0)
    own, every = dist.new_subgroups(1)
    tell(own.size(), own.rank(), len(every))
    own, every = dist.new_subgroups_by_enumeration([[0, 1], [2]])
    x = torch.ones(1)
    dist.all_reduce(x, group=own)
    tell(x.item(), own.size())
    tell(story(dist.new_subgroups, 2), story(dist.new_subgroups_by_enumeration, [[0, 1], [1]]))
    locally = dist.new_group([0, 1], use_local_synchronization=True) if rank < 2 else None
    if locally is not None:
        works = [dist.all_reduce(torch.ones(1), group=g, async_op=True) for g in (locally, None, locally)[::2]]
        tell([work.wait() for work in works])
    future = dist.all_reduce(torch.ones(2), async_op=True).get_future()
    tell(future.then(lambda done: done.value()[0] * 2).wait().tolist())
    several = [torch.ones(1), torch.ones(2)]
    dist.all_reduce_coalesced(several)
    tell([each.tolist() for each in several])
    work = dist.group.WORLD.allreduce(torch.ones(2))
    tell(work.wait(), [each.tolist() for each in work.result()])
    dist.destroy_process_group()
    tell(dist.is_initialized(), story(dist.get_rank), story(dist.destroy_process_group))



def local(torch, tell):
    """Groups that their members alone make, a few of them more often than others."""
    dist = start(torch)
    rank = dist.get_rank()
    mine = [rank // 2 * 2, rank // 2 * 2 + 1]

    def told(group):
        x = torch.full((2,), rank + 1.0)
        dist.all_reduce(x, group=group)
        tell(dist.get_rank(group), dist.get_process_group_ranks(group), group.group_desc, x.tolist())

    first, again, turned = (
        dist.new_group(ranks, use_local_synchronization=True) for ranks in (mine, mine, mine[::-1])
    )
    for group in (first, again, turned):
        told(group)
    tell(first is again, first.group_name == again.group_name)
    tell(dist.new_group([(rank + 1) % 4], use_local_synchronization=True))
    told(dist.new_group([rank], use_local_synchronization=True))
    if rank in (1, 2):
        told(dist.new_group([1, 2], use_local_synchronization=True))
    tell(dist.get_pg_count())
    dist.barrier()


def unequal(torch, tell):
    """What goes from each to each is of another size."""
    dist = start(torch)
    rank, size = dist.get_rank(), dist.get_world_size()
    sizes = [rank + other for other in range(size)]
    pieces = [torch.full((rank + other, 2), 10 * rank + other) for other in range(size)]
    out = torch.zeros(sum(sizes), 2, dtype=torch.int64)
    tell(dist.all_to_all_single(out, torch.cat(pieces), sizes, sizes), out.tolist())
    everyones = [None] * size
    dist.all_gather_object(everyones, "x" * (1000 * rank))
    tell([len(each) for each in everyones])
    group = dist.new_group([2, 0])
    if rank in (0, 2):
        mine, got = "rank" * rank, [None]
        parts = [None] * 2 if rank == 0 else None
        dist.gather_object(mine, parts, 0, group)
        dist.scatter_object_list(got, ["a", "b" * 2000] if rank == 0 else None, 0, group)
        tell(dist.get_rank(group), parts, len(got[0]))


def split(torch, tell):
    dist = start(torch)
    rank = dist.get_rank()
    part = dist.split_group(split_ranks=[[0, 1], [2]])
    x = torch.full((1,), float(rank))
    dist.all_reduce(x, group=part)
    tell(x.item(), part.size(), dist.get_process_group_ranks(part))


def test_a_group_is_split():
    assert run("torchlite", split, 3) == [["1.0", "2", "[0, 1]"], ["1.0", "2", "[0, 1]"], ["2.0", "1", "[2]"]]


# ---- gradients


def gradients(torch, tell):
    dist = start(torch)
    f = importlib.import_module(f"{torch.__name__}.distributed.nn.functional")
    rank, size = dist.get_rank(), dist.get_world_size()

    def leaf(n=0):
        return (torch.arange(4.0) + rank + n).requires_grad_()

    def told(result, *leaves):
        results = result if isinstance(result, (tuple, list)) else [result]
        sum((each * (torch.arange(each.numel()) + 1 + rank + n)).sum() for n, each in enumerate(results)).backward()
        tell([each.tolist() for each in results], [each.grad.tolist() for each in leaves])

    x = leaf()
    told(f.all_reduce(x), x)
    x = leaf()
    told(f.broadcast(x, 1), x)
    x = leaf()
    result = f.reduce(x, 1)
    (result * (rank + 2)).sum().backward()
    tell(result.tolist() if rank == 1 else None, x.grad.tolist())
    x = leaf()
    told(f.all_gather(x), x)
    x = leaf()
    told(f.gather(x, 1), x)
    xs = [leaf(n) for n in range(size)]
    result = f.scatter(xs, 1)
    (result * (rank + 1)).sum().backward()
    tell(result.tolist(), [x.grad.tolist() for x in xs] if rank == 1 else None)
    xs = [leaf(n) for n in range(size)]
    told(f.reduce_scatter(torch.zeros(4), xs), *xs)
    xs = [leaf(n) for n in range(size)]
    told(f.all_to_all([torch.zeros(4) for _ in range(size)], xs), *xs)
    x = leaf()
    told(f.all_to_all_single(torch.zeros(4), x), x)



def functional(torch, tell):
    dist = start(torch)
    c = importlib.import_module(f"{torch.__name__}.distributed._functional_collectives")
    rank, world = dist.get_rank(), dist.group.WORLD
    x = torch.arange(4.0).reshape(2, 2) + rank
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for result in (
            c.all_reduce(x, "sum", world), c.all_reduce(x, "avg", world), c.broadcast(x, 1, world),
            c.all_gather_tensor(x, 0, world), c.all_gather_tensor(x, 1, world),
            c.reduce_scatter_tensor(x, "sum", 0, world), c.reduce_scatter_tensor(x, "sum", 1, world),
            c.all_to_all_single(x, None, None, world), c.permute_tensor(x[0], [1, 0], world),
            c.all_reduce(x, "max", [0, 1]),
        ):  # fmt: skip
            tell(c.wait_tensor(result).tolist())
    tell([each for each in said if "distributed.nn.functional" in str(each.message)])
    tell(x.tolist())



# ---- grids


def mesh(torch, tell):
    start(torch)
    m = importlib.import_module(f"{torch.__name__}.distributed.device_mesh")
    grid = m.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    tell(grid, grid.mesh.tolist(), tuple(grid.shape), grid.ndim, grid.size(), grid.size(0), list(grid.get_coordinate()))
    tell(grid.get_local_rank("tp"), grid.get_local_rank(0), grid.get_rank(), len(grid.get_all_groups()))
    for name in ("dp", "tp"):
        x = torch.full((1,), float(grid.get_rank()))
        torch.distributed.all_reduce(x, group=grid[name].get_group())
        tell(x.item(), grid[name].mesh.tolist(), grid[name].mesh_dim_names)
    flat = grid._flatten("all")
    tell(flat.mesh.tolist(), flat.size(), grid["all"].get_local_rank())
    tell(story(grid.get_group), story(m.init_device_mesh, "cpu", (3, 3)), story(grid.get_local_rank))
    tell(grid == m.DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("dp", "tp")))
    tell(m.DeviceMesh.from_group(torch.distributed.group.WORLD, "cpu").mesh.tolist())


# ---- several of these in the same processes, which take long to start


def of_two(torch, tell):
    for some in (messages, gradients, functional):
        tell(some.__name__)
        some(torch, tell)


def of_three(torch, tell):
    for some in (pipeline, objects, groups):
        tell(some.__name__)
        some(torch, tell)


def of_four(torch, tell):
    for some in (mesh, unequal):
        tell(some.__name__)
        some(torch, tell)


@pytest.mark.parametrize("launched", ["apart", "by mpiexec"])
def test_two_processes(launched):
    same(of_two, launcher=mpiexec(2) if launched == "by mpiexec" else ())


def test_three_processes():
    same(of_three, 3)


@pytest.mark.parametrize("some", [of_four, local])
def test_four_processes(some):
    same(some, 4)
