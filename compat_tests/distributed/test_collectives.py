"""Collectives, between processes of this host, told as PyTorch's with gloo tell them."""

import itertools
from functools import partial

import pytest

from ..side_by_side import same_story
from .ranks import mpiexec, run, same, start

DTYPES = [
    "bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
OPS = ["SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"]
SHAPES = ((), (0,), (1,), (3, 2), (5, 700))


def story(call):
    try:
        return call()
    except (RuntimeError, ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def numbers(torch, rank, shape, dtype, layout="rows"):
    """Numbers that differ between ranks, some of them alike, whose sums are exact in every dtype."""
    count = 1
    for size in shape:
        count *= size
    flat = (torch.arange(count) * (rank + 3)) % 7 - (0 if dtype.startswith(("u", "b")) else 3)
    made = flat.reshape(shape).to(getattr(torch, dtype))
    if dtype.startswith("complex"):
        made = made * (1 + rank * 1j)
    return made.t().contiguous().t() if layout == "columns" and len(shape) == 2 else made


def all_collectives(torch, dist, tell, group, shape, dtype, layout, async_op, ops=OPS):
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    root = dist.get_global_rank(group, size - 1)

    def mine(seed=0):
        return numbers(torch, rank + seed, shape, dtype, layout)

    def blank():
        return torch.zeros_like(mine())

    def told(work, *results):
        if async_op:
            work.wait()
            assert torch.__name__ == "torch" or (work.is_completed() and work.is_success())
        else:
            assert work is None
        tell(*[each.tolist() for each in results])

    def reduced(op):
        x = mine()
        told(dist.all_reduce(x, getattr(dist.ReduceOp, op), group, async_op), x)

    for op in ops:
        tell(op, story(partial(reduced, op)))
    x = mine()
    told(dist.broadcast(x, root, group, async_op), x)
    x = mine()
    work = dist.reduce(x, root, group=group, async_op=async_op)
    told(work, *[x] * (rank == size - 1))
    outs = [blank() for _ in range(size)]
    told(dist.all_gather(outs, mine(), group, async_op), *outs)
    if not dtype.startswith("complex"):  # which gloo does not gather
        outs = [blank() for _ in range(size)] if rank == size - 1 else None
        told(dist.gather(mine(), outs, root, group, async_op), *outs or ())
    x = blank()
    told(dist.scatter(x, [mine(n) for n in range(size)] if rank == size - 1 else None, root, group, async_op), x)
    x = blank()
    told(dist.reduce_scatter(x, [mine(n) for n in range(size)], group=group, async_op=async_op), x)
    outs = [blank() for _ in range(size)]
    told(dist.all_to_all(outs, [mine(n) for n in range(size)], group, async_op), *outs)
    if shape:
        whole = torch.cat([blank()] * size)
        told(dist.all_gather_into_tensor(whole, mine(), group, async_op), whole)
        x, several = blank(), torch.cat([mine(n) for n in range(size)])
        told(dist.reduce_scatter_tensor(x, several, group=group, async_op=async_op), x)
        whole = torch.zeros_like(several)
        told(dist.all_to_all_single(whole, several, group=group, async_op=async_op), whole)


def rounded(torch, dist, tell):
    """Sums of floating point, whose roundings tell in what order they were added up."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for dtype, count in itertools.product(("float16", "bfloat16", "float32"), (1, 7, 64, 1000, 5001)):
        several = torch.randn(count * size, generator=torch.Generator().manual_seed(rank)).to(getattr(torch, dtype))
        x, y, z = several[:count].clone(), several[:count].clone(), several[:count].clone()
        dist.all_reduce(x)
        dist.reduce(y, size - 1)
        dist.reduce_scatter_single(z, several)
        tell(*[each.tolist() for each in ((x, y, z) if rank == size - 1 else (x, z))])
    x = torch.randn(2_500_001, generator=torch.Generator().manual_seed(rank))  # of which gloo makes several messages
    dist.all_reduce(x)
    tell(x.view(torch.int32).sum().item())


def matrix(torch, tell):
    """Every collective with every dtype, in every group, sync and async; with float32, in every shape."""
    dist = start(torch)
    groups = [dist.group.WORLD, dist.new_group([0]), dist.new_group([1, 0] if dist.get_world_size() == 2 else [2, 0])]
    for group in groups:
        if group == dist.GroupMember.NON_GROUP_MEMBER:
            continue
        for number, (dtype, async_op) in enumerate(itertools.product(DTYPES, (False, True))):
            for shape in SHAPES if dtype == "float32" else [SHAPES[number % len(SHAPES)], (4, 3)]:
                all_collectives(torch, dist, tell, group, shape, dtype, "rows", async_op)
    rounded(torch, dist, tell)
    dist.destroy_process_group()


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_collectives_dtypes_groups_and_shapes(ranks):
    same(matrix, ranks)


def test_collectives_over_mpi():
    same(matrix, launcher=mpiexec(2))


def layouts(torch, tell):
    """What gloo makes of tensors whose elements are not in a row depends on the version: torchlite's are right."""
    dist = start(torch)
    rank = dist.get_rank()
    for make in (
        lambda t: t.t(), lambda t: t[:, 1], lambda t: t[1:, ::2], lambda t: t.to(torch.complex64).conj(),
        lambda t: t.flip(0)[::2],
    ):  # fmt: skip
        base = torch.arange(12.0).reshape(3, 4)
        x = make(base.clone() * (rank + 1))
        dist.all_reduce(x)
        tell(bool((x == make(base) * 3).all()), x.stride() == make(base).stride())
        x = make(base * (rank + 1))
        outs = [torch.zeros_like(x) for _ in range(2)]
        dist.all_gather(outs, x, async_op=True).wait()
        tell(*[bool((out == make(base) * (n + 1)).all()) for n, out in enumerate(outs)])
        tell(dist.broadcast(x, 1), bool((x == make(base) * 2).all()))
        if rank:
            dist.send(x, 0)
        else:
            y = make(torch.zeros(3, 4))
            tell(dist.recv(y), bool((y == x).all()))
    base = torch.zeros(2, 3)
    dist.broadcast(base[:, 0], 0)
    tell(base._version, base.tolist())


def test_tensors_whose_elements_are_not_in_a_row():
    for told in run("torchlite", layouts):
        assert set(told) <= {"True", "None", "1", "0", "[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]"}
        assert "False" not in told


def every_rank_gets_the_same(torch, tell):
    dist = start(torch)
    torch.manual_seed(dist.get_rank())
    for dtype in (torch.float32, torch.bfloat16):
        for count in (5, 3000, 700_001):
            x = torch.randn(count).to(dtype)
            dist.all_reduce(x)
            tell(x.view(torch.uint8).long().sum().item())


@pytest.mark.parametrize("launched", ["apart", "by mpiexec"])
def test_results_are_the_same_everywhere_bit_for_bit(launched):
    told = run("torchlite", every_rank_gets_the_same, 3, launcher=mpiexec(3) if launched == "by mpiexec" else ())
    assert told[0] == told[1] == told[2]


def premultiplied(torch, tell):
    dist = start(torch)
    x = torch.tensor([1.0, 2.0]) * (dist.get_rank() + 1)
    own = x.clone()
    out = torch.zeros(1)
    dist.reduce_scatter_tensor(out, x, dist._make_nccl_premul_sum(0.5))
    tell(out.tolist(), x.tolist() == own.tolist())
    dist.all_reduce(x, dist.ReduceOp.PREMUL_SUM(torch.tensor([2.0])))
    tell(x.tolist())


@same_story
def test_reductions_as_objects(torch, tell):
    kind = torch.distributed.ReduceOp
    scaled = kind.PREMUL_SUM(3)
    tell(str(scaled.op), scaled.factor, scaled == kind.PREMUL_SUM, isinstance(scaled, kind), isinstance(kind.MAX, kind))
    tell(str(kind(kind.MIN).op), list(kind.RedOpType.__members__), kind.__module__, repr(kind.SUM), int(kind.BXOR))
    for refused in (lambda: kind.SUM(2.0), lambda: kind(kind.SUM).factor, lambda: kind("sum"), lambda: kind(1)):
        with pytest.raises((RuntimeError, TypeError)) as refusal:
            refused()
        tell(refusal.type.__name__, str(refusal.value))


def test_a_factor_before_the_sum():
    assert run("torchlite", premultiplied) == [["[1.5]", "True", "[6.0, 12.0]"], ["[3.0]", "True", "[6.0, 12.0]"]]
