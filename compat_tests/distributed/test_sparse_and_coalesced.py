"""Sums of sparse tensors, and collectives that are done as one."""

import importlib

import pytest

from .ranks import mpiexec, same, start


def attempt(call):
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).partition(' This could be because')[0]}"


def shown(tensor):
    return tensor.is_coalesced(), tensor._nnz(), tensor.to_dense().tolist(), tensor.dtype


def summed(dist, tensor, **how):
    dist.all_reduce(tensor, **how)
    return shown(tensor)


def sparse(torch, dist, tell):
    rank, made = dist.get_rank(), torch.sparse_coo_tensor
    for dtype in (torch.float32, torch.float64, torch.int64):
        values = torch.ones(2, dtype=dtype) * (rank + 1)
        tell(summed(dist, made([[0, rank + 1]], values, (4,))))
        tell(summed(dist, made([[0, rank + 1], [1, 0]], values, (4, 4))))
        tell(summed(dist, made([[0, rank + 1]], values.view(2, 1).repeat(1, 3), (4, 3))))
    tell(summed(dist, made([[1, 1]], [1.0, 2.0], (4,))), summed(dist, made(size=(4, 3))))
    tell(summed(dist, made(size=(4,)) if rank else made([[1]], [2.0], (4,))))
    lent = made([[rank]], [1.0], (2,))
    work = dist.all_reduce(lent, async_op=True)
    work.wait()
    tell(shown(lent), work.result()[0] is lent)
    tell(attempt(lambda: summed(dist, made([[0]], [1.0], (4 + rank,)))))
    x = torch.eye(2).to_sparse()
    for call in (
        lambda: dist.all_reduce(x, dist.ReduceOp.MAX), lambda: dist.broadcast(x, 0), lambda: dist.reduce(x, 0),
        lambda: dist.all_gather([x, x], x), lambda: dist.all_reduce(torch.eye(2).to_sparse_csr()),
    ):  # fmt: skip
        tell(attempt(call))


def coalesced(torch, dist, tell):
    at_once = importlib.import_module(f"{torch.__name__}.distributed.distributed_c10d")._coalescing_manager
    rank, size = dist.get_rank(), dist.get_world_size()
    for later in (False, True):
        x, y = torch.ones(3) * (rank + 1), torch.ones(2) * rank
        with at_once(async_ops=later) as manager:
            begun = dist.all_reduce(x, async_op=True)
            dist.all_reduce(y)
            tell(x.tolist(), attempt(lambda begun=begun: begun.wait()))
        manager.wait()
        tell(x.tolist(), y.tolist(), len(manager.works) if later else None)
        outs = torch.zeros(2 * size), torch.zeros(3 * size)
        with at_once(async_ops=later) as manager:
            for count, out in zip((2, 3), outs):
                dist.all_gather_into_tensor(out, torch.ones(count) * rank)
        manager.wait()
        tell([out.tolist() for out in outs])
        outs = torch.zeros(2), torch.zeros(3)
        with at_once(async_ops=later) as manager:
            for count, out in zip((2, 3), outs):
                dist.reduce_scatter_tensor(out, torch.arange(float(count * size)) * rank)
        manager.wait()
        tell([out.tolist() for out in outs])

    outs = [torch.zeros(3) for _ in range(size)]
    for begin in (
        lambda: dist.all_reduce_coalesced([x, y], async_op=True),
        lambda: dist.all_gather_coalesced([[out] for out in outs], [x], async_op=True),
    ):
        future = begin()
        future.wait()
        tell(type(future).__name__, x.tolist(), y.tolist(), [out.tolist() for out in outs])

    def mixed():
        with at_once():
            dist.all_reduce(x)
            dist.all_gather_into_tensor(torch.zeros(3 * size), x)

    def on_a_device():
        with at_once(device=torch.device("cpu")):
            dist.all_reduce(x)

    tell(attempt(mixed).partition("{")[0])
    tell(attempt(on_a_device))


def both(torch, tell):
    dist = start(torch)
    sparse(torch, dist, tell)
    coalesced(torch, dist, tell)
    dist.barrier()


@pytest.mark.parametrize("launched", ["apart", "by mpiexec"])
def test_what_pytorch_does(launched):
    same(both, launcher=mpiexec(2) if launched == "by mpiexec" else ())
