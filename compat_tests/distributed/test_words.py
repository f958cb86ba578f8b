"""Warnings and errors in the words of PyTorch's, of one process alone."""

import datetime
import importlib
import re
import warnings
from functools import partial

from .ranks import same, start
from .stories import attempt


def outcome(call):
    """The warnings of a call, and its error."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        error = None
        try:
            call()
        except Exception as raised:
            error = f"{type(raised).__name__}: {str(raised).partition('.')[0]}"
    return [f"{each.category.__name__}: {each.message}" for each in given], error


def advised_against(torch, tell):
    dist = start(torch)
    f = importlib.import_module(f"{torch.__name__}.distributed.nn.functional")
    x = torch.ones(2)
    for call in (
        lambda: dist.all_gather_into_tensor(torch.zeros(2), x), lambda: dist.all_gather_single(torch.zeros(2), x),
        lambda: dist.reduce_scatter_tensor(torch.zeros(2), x), lambda: dist.reduce_scatter_single(torch.zeros(2), x),
        lambda: dist._all_gather_base(torch.zeros(2), x), lambda: dist._reduce_scatter_base(torch.zeros(2), x),
        lambda: dist.all_reduce_coalesced([x]), lambda: dist.all_gather_coalesced([[x]], [x]),
        lambda: dist.reduce_op.MAX, lambda: dist.all_to_all_single(torch.zeros(2), x),
        lambda: f.all_reduce(x), lambda: f.broadcast(x, 0), lambda: f.all_gather(x), lambda: f.gather(x),
        lambda: f.reduce_scatter(x, [x]), lambda: f.all_to_all_single(x, x), lambda: f._all_gather_base(x, x),
        lambda: f.all_to_all([x], [x]), lambda: f.reduce(x, 0), lambda: f.scatter([x]),
        lambda: dist.all_reduce(x, group=dist.GroupMember.NON_GROUP_MEMBER),
    ):  # fmt: skip
        tell(outcome(call))
    own = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    tell(outcome(lambda: own(x).sum().backward()))


def refused(torch, tell):
    dist = start(torch)
    x, limit = torch.ones(2), "3 seconds"
    for call in (
        lambda: dist.new_group([0, 0]), lambda: dist.new_group([0, 1]), lambda: dist.new_group([1]),
        lambda: dist.new_group([0], backend="foo"), lambda: dist.new_group([0], timeout=limit),
        lambda: dist.split_group(None, []), lambda: dist.init_process_group("gloo"),
        lambda: dist.batch_isend_irecv([3]), lambda: dist.get_group_rank(dist.new_group([0]), 5) and None,
        lambda: dist.all_reduce(torch.ones(2, dtype=torch.int32), dist.ReduceOp.AVG),
        lambda: dist.all_reduce(x, async_op=True).source_rank(), lambda: dist.destroy_process_group(),
        lambda: dist.get_rank(), lambda: dist.all_reduce(x), lambda: dist.destroy_process_group(),
        lambda: dist.shrink_group((0,)), lambda: dist.shrink_group([]), lambda: dist.shrink_group([0], shrink_flags=7),
    ):  # fmt: skip
        told = outcome(call)
        tell(told[0], told[1] and told[1].partition(" part of group ")[0])
    alone = {"rank": 0, "world_size": 1}
    for backend, how in (
        ("foo", alone), ("cpu:gloo,cuda", alone), (3, alone), ("gloo", {}), ("gloo", {"world_size": 1}),
        ("cpu:gloo,cpu:gloo", alone), ("gloo", {"init_method": "tcp://nowhere:1"}),
    ):  # fmt: skip
        told = outcome(partial(dist.init_process_group, backend, store=dist.HashStore(), **how))
        tell(told[0], " ".join(told[1].split()))
    for method, how in (
        ("zzz://somewhere", alone), (None, alone), ("file:///a/b", {}), ("tcp://localhost", alone),
        ("tcp://localhost:1", {"rank": 0}), (3, {}),
    ):  # fmt: skip
        tell(outcome(partial(dist.init_process_group, "gloo", init_method=method, **how)))
    dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    tell(dist.get_backend(), dist.get_world_size(), dist.get_process_group_ranks(None))


def words(torch, tell):
    advised_against(torch, tell)
    refused(torch, tell)


def test_warnings_and_errors():
    same(words, 1)


def sizes_that_do_not_fit(torch, tell):
    dist, zeros = start(torch), torch.zeros
    for call, pairs in (
        (dist.all_gather_into_tensor, [((3,), (2,)), ((5,), (2,)), ((2,), (2,)), ((1,), (2,)), ((2, 3), (3, 2)),
                                       ((0,), (2,)), ((4,), ())]),
        (dist.reduce_scatter_tensor, [((2,), (3,)), ((2,), (5,)), ((3,), (2,)), ((2, 3), (4, 2)), ((2, 2), (4, 3))]),
    ):  # fmt: skip
        for output, input in pairs:
            try:
                call(zeros(output), zeros(input))
            except RuntimeError as error:
                tell(re.sub(r"^\[.*?\] (?=Check)|\n.*", "", str(error), flags=re.DOTALL))  # without when and where


    for outs, ins in (
        ([zeros(1), zeros(2)], [zeros(1), zeros(2)]), ([zeros(2), zeros(2)], [zeros(1), zeros(2)]),
        ([zeros(1), zeros(1)], [zeros(2), zeros(2)]), ([zeros(2, 1), zeros(1, 2)], [zeros(2), zeros(2)]),
        ([zeros(2)], [zeros(2), zeros(2)]), ([zeros(2), zeros(2)], [zeros(2)]),
        ([zeros(4)[::2], zeros(2)], [zeros(2), zeros(2)]),
        ([zeros(2, dtype=torch.complex64), zeros(2, 2)], [zeros(2, 2), zeros(2, 2)]),
    ):  # fmt: skip
        tell(outcome(lambda outs=outs, ins=ins: dist.all_to_all(outs, ins))[1])
    x = zeros(2)
    for lists, given in (
        ([[x]], [x]), ([], [x]), ([[x], [zeros(3)]], [x]), ([[x], [x, x]], [x]), ([[x], [x.int()]], [x]),
        ([[x], x], [x]), ([x, x], [x]), ([[x, x], [x, x]], [x, x.int()]), ([[x], [x.to(torch.complex64)]], [x]),
        ([[zeros(1, 2)], [zeros(1, dtype=torch.complex64)]], [zeros(1, 2)]),
    ):  # fmt: skip
        tell(outcome(lambda lists=lists, given=given: dist.all_gather_coalesced(lists, given))[1])
    pairs, numbers = torch.arange(4.0).view(2, 2), torch.arange(2.0).to(torch.complex64)
    for mixed in (
        lambda: dist.all_reduce_coalesced([pairs, numbers]),
        lambda: dist.all_reduce_coalesced([pairs, pairs.to(torch.complex128)]),
        lambda: dist.all_gather([numbers, torch.zeros(2, 2)], pairs),
        lambda: dist.all_gather([pairs, pairs], torch.zeros(3, dtype=torch.complex64)),
    ):
        tell(outcome(mixed)[1], pairs.tolist(), numbers.tolist())


def late(torch, tell):
    """What the first rank says of those who do not come to a barrier; and what is no timeout."""
    dist = start(torch)
    for excluded, flags in (([1], 0), ([5], 1), ([1], 2), ((1,), 0)):
        tell(attempt(lambda: dist.shrink_group(excluded, shrink_flags=flags)))  # noqa: B023
    groups = [dist.new_group() for _ in range(4)]
    for group, timeout, everyone in zip(groups, (datetime.timedelta(0), 0.2, 0.2), (False, False, True)):
        if dist.get_rank() == 0:
            told = attempt(lambda: dist.monitored_barrier(group, timeout, everyone))  # noqa: B023
            tell(told.partition(chr(10))[0], "timed out in monitoredBarrier after 0 ms" in told)
    tell(attempt(lambda: dist.monitored_barrier(groups[3], 3)))
    tell(dist.distributed_c10d._get_pg_config(dist.new_group([1, 0], group_desc="both")))


def test_who_comes_late_to_a_barrier():
    same(late)


def test_tensors_whose_sizes_do_not_fit_are_refused_in_pytorchs_words():
    same(sizes_that_do_not_fit)
