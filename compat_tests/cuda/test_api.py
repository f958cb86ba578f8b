"""`torch.cuda` itself: seeds, memory, streams, graphs, and arrays of other libraries."""

import gc

import numpy as np
import pytest

import torchlite as torch
from torchlite.testing import cuda_on_host

cuda = torch.cuda
F = torch.nn.functional


def draw():
    return torch.randn(4, device="cuda")


def test_seeds_steer_what_is_drawn():
    for seed in (lambda: cuda.manual_seed(5), lambda: cuda.manual_seed_all(5), lambda: torch.manual_seed(5)):
        seed()
        first = draw()
        seed()
        assert torch.equal(first, draw())
        assert cuda.initial_seed() == 5
    assert cuda.default_generators[0].initial_seed() == 5
    cuda.seed()
    assert cuda.initial_seed() != 5


def test_states_of_streams():
    state = cuda.get_rng_state()
    assert (state.device.type, state.dtype) == ("cpu", torch.uint8)
    first = draw()
    cuda.set_rng_state(state)
    assert torch.equal(first, draw())
    cuda.set_rng_state_all([state])
    assert torch.equal(first, draw())
    on_cpu = torch.get_rng_state()
    draw()
    assert torch.equal(on_cpu, torch.get_rng_state())
    with torch.random.fork_rng():
        inside = draw()
    assert torch.equal(inside, draw())


def test_out_of_memory_is_pytorchs_error_and_passes():
    said = r"^CUDA out of memory\. Tried to allocate \d+\.\d\d GiB\. GPU 0 has"
    with pytest.raises(cuda.OutOfMemoryError, match=said):
        torch.empty(10**13, device="cuda")
    assert cuda.OutOfMemoryError is torch.OutOfMemoryError
    x = torch.ones(3, device="cuda", requires_grad=True)
    with pytest.raises(torch.OutOfMemoryError):
        x.expand(10**12, 3) + 1
    (x + 1).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_what_only_a_cycle_holds_is_collected_before_memory_is_said_to_be_out(stand_in):
    cuda.empty_cache()
    gc.collect()
    size = int(cuda.mem_get_info()[0] * 0.7)
    gc.disable()
    try:
        cycle = [torch.empty(size, dtype=torch.uint8, device="cuda")]
        cycle.append(cycle)
        del cycle
        assert torch.empty(size, dtype=torch.uint8, device="cuda").numel() == size
    finally:
        gc.enable()
        cuda.empty_cache()


def test_peaks_of_memory():
    cuda.reset_peak_memory_stats()
    before = cuda.memory_allocated()
    large = torch.empty(1 << 18, device="cuda")
    del large
    assert cuda.max_memory_allocated() - before == 1 << 20
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_allocated() == before
    stats = cuda.memory_stats()
    assert stats["allocated_bytes.all.current"] == cuda.memory_allocated()
    assert stats["allocation.all.allocated"] >= stats["allocation.all.freed"] > 0


def test_figures_of_memory():
    cuda.reset_peak_memory_stats()
    cuda.reset_accumulated_memory_stats()
    before = cuda.memory_stats()
    small, large = torch.empty(3, device="cuda"), torch.empty(1 << 19, device="cuda")
    del small
    stats = cuda.memory_stats()
    changes = {name: stats[name] - before[name] for name in stats}
    for name, change in {
        "allocation.all.allocated": 2, "allocation.all.current": 1, "active.small_pool.freed": 1,
        "active_bytes.large_pool.current": 1 << 21, "requested_bytes.all.allocated": (1 << 21) + 12,
        "allocated_bytes.all.peak": (1 << 21) + 512, "num_ooms": 0, "num_alloc_retries": 0,
    }.items():  # fmt: skip
        assert changes[name] == change, name
    assert stats["reserved_bytes.all.current"] == cuda.memory_reserved()
    del large
    cuda.empty_cache()
    after = cuda.memory_stats()
    assert after["reserved_bytes.all.current"] == cuda.memory_reserved()
    assert after["num_device_free"] > stats["num_device_free"] and list(after) == sorted(after)
    assert len(after) == 9 * 3 * 4 + 2 * 4 + 7
    assert cuda.memory_stats_as_nested_dict()["segment"]["all"]["freed"] == after["num_device_free"]


def test_arrays_of_cupy_become_tensors():
    cupy = pytest.importorskip("cupy")
    array = cupy.arange(6, dtype="f4").reshape(2, 3).T
    shared = torch.as_tensor(array)
    assert shared.device == torch.device("cuda", 0) and shared.stride() == (1, 3)
    array[0, 0] = 7
    assert shared[0, 0] == 7
    copied = torch.tensor(array)
    array[0, 0] = 8
    assert copied[0, 0] == 7
    assert torch.as_tensor(array, device="cpu").tolist() == array.get().tolist()
    assert torch.tensor(cupy.arange(3), dtype=torch.float64).dtype is torch.float64


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8, torch.bool, torch.complex64, torch.float16])
def test_tensors_become_arrays_of_others(dtype):
    cupy = pytest.importorskip("cupy")
    t = torch.tensor([[0, 1, 1], [1, 0, 1]], device="cuda").to(dtype)
    array = cupy.asarray(t)
    assert array.data.ptr == t.data_ptr() and array.dtype == t.cpu().numpy().dtype
    np.testing.assert_array_equal(cupy.asarray(t.t()).get(), t.t().cpu().numpy())
    assert t.__cuda_array_interface__["strides"] is None


def test_who_has_no_cuda_array_interface():
    with pytest.raises(AttributeError, match="Can't get __cuda_array_interface__ on non-CUDA tensor type"):
        torch.ones(2).__cuda_array_interface__  # noqa: B018
    with pytest.raises(RuntimeError, match="requires grad"):
        torch.ones(2, device="cuda", requires_grad=True).__cuda_array_interface__  # noqa: B018


def test_pinned_memory():
    x = torch.arange(6.0).reshape(2, 3)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and not x.is_pinned() and torch.equal(pinned, x)
    assert pinned.pin_memory() is pinned and pinned[1:].is_pinned()
    assert torch.equal(pinned.to("cuda", non_blocking=True).cpu(), x)
    assert torch.empty(3, pin_memory=True).is_pinned() and torch.tensor([1, 2], pin_memory=True).is_pinned()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        x.cuda().pin_memory()
    data = torch.utils.data.TensorDataset(x, torch.arange(2))
    for batch, number in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True):
        assert batch.is_pinned() and number.is_pinned()


def test_waits_are_told_of():
    x = torch.ones(2, device="cuda")
    try:
        cuda.set_sync_debug_mode("error")
        mask = x > 0
        for wait in (
            lambda: x.sum().item(), mask.nonzero, lambda: x[mask], lambda: x.masked_select(mask), x.unique,
            lambda: x.repeat_interleave(mask.long()),
        ):  # fmt: skip
            with pytest.raises(RuntimeError, match="called a synchronizing CUDA operation"):
                wait()
        x[mask] = 1.0
        x[torch.zeros(3, dtype=torch.long, device="cuda")]
        cuda.set_sync_debug_mode(1)
        assert cuda.get_sync_debug_mode() == 1
        with pytest.warns(UserWarning, match="called a synchronizing CUDA operation"):
            x.cpu()
    finally:
        cuda.set_sync_debug_mode("default")


def test_tf32_is_less_precise_and_asked_for():
    a = (torch.rand(8, 8) + 1).cuda()
    exact = a.double() @ a.double()

    def error():
        return ((a @ a).double() - exact).abs().max().item()

    assert error() < 1e-5
    try:
        torch.backends.cuda.matmul.allow_tf32 = True
        assert error() > 1e-5
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
    assert error() < 1e-5


def test_comm():
    x = torch.arange(6.0, device="cuda")
    assert [t.tolist() for t in cuda.comm.broadcast(x, [0, 0])] == [x.tolist()] * 2
    assert cuda.comm.reduce_add([x, x, x], 0).tolist() == (x * 3).tolist()
    assert [t.numel() for t in cuda.comm.scatter(x, [0, 0], [2, 4])] == [2, 4]
    assert torch.equal(cuda.comm.gather(cuda.comm.scatter(x, [0, 0]), destination="cpu"), x.cpu())


def test_nccls_functions():
    def numbers():
        return [torch.tensor(row, device="cuda") for row in ([1.0, 2.0], [3.0, 5.0])]

    sums = numbers()
    cuda.nccl.all_reduce(sums)
    assert [t.tolist() for t in sums] == [[4, 7], [4, 7]]
    largest = torch.zeros(2, device="cuda")
    cuda.nccl.reduce(numbers(), largest, op=2)
    assert largest.tolist() == [3, 5]
    alike = numbers()
    cuda.nccl.broadcast(alike, root=1)
    assert [t.tolist() for t in alike] == [[3, 5], [3, 5]]
    every = [torch.zeros(2, 2, device="cuda")]
    cuda.nccl.all_gather(numbers(), every)
    assert every[0].tolist() == [[1, 2], [3, 5]]
    parts = list(torch.zeros(2, 1, device="cuda"))
    cuda.nccl.reduce_scatter(numbers(), parts, op=4)
    assert [t.item() for t in parts] == [2, 3.5]
    with pytest.raises(TypeError, match="Inputs should be a collection of tensors"):
        cuda.nccl.all_reduce(sums[0])
    with pytest.raises(NotImplementedError, match=r"torch\.distributed"):
        cuda.nccl.unique_id()


def test_pools_of_memory():
    pool = cuda.MemPool()
    before = cuda.memory_allocated()
    with cuda.use_mem_pool(pool):
        x = torch.ones(1000, device="cuda")
        assert pool.use_count() == 2
    assert pool.use_count() == 1 and cuda.memory_allocated() == before and pool.id.used_bytes() >= x.nbytes
    graph = cuda.CUDAGraph()
    with cuda.graph(graph, pool=pool.id):
        y = x * 2
    graph.replay()
    assert graph.pool() is pool.id and y.sum().item() == 2000
    with pytest.raises(NotImplementedError, match="CuPy's pools"):
        pool.snapshot()


def test_graphs_are_shown_to_who_asks_beforehand(tmp_path):
    x = torch.ones(3, device="cuda")
    graph, closed = cuda.CUDAGraph(keep_graph=True), cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="comes after a capture"):
        graph.raw_cuda_graph()
    for one in (graph, closed):
        with cuda.graph(one):
            x + 1
    graph.instantiate()
    assert graph.raw_cuda_graph() != graph.raw_cuda_graph_exec()
    with pytest.raises(RuntimeError, match="keep_graph=True"):
        closed.raw_cuda_graph()
    if cuda_on_host.is_enabled():
        with pytest.raises(NotImplementedError, match="graphDebugDotPrint"):
            graph.debug_dump(str(tmp_path / "graph.dot"))


def test_what_cupy_does_not_do_is_refused_by_name():
    assert not cuda.tunable.is_enabled() and cuda.tunable.enable(False) is None and cuda.tunable.get_results() == ()
    for call, said in (
        (cuda.tunable.enable, "cuBLAS chooses"), (lambda: cuda.tunable.set_filename("a.csv"), "cuBLAS chooses"),
        (lambda: cuda.gds.GdsFile("a", 0), "kvikio"), (cuda.green_contexts.GreenContext.create, "CuPy has none"),
        (lambda: cuda.Event.from_ipc_handle(0, b""), "another process"),
        (lambda: cuda.memory.change_current_allocator(None), "memory is CuPy's"),
        (cuda.CUDAGraph().get_graph_data, "a graph's nodes"), (cuda.utilization, "nvidia-smi"),
        (lambda: cuda.gds.GdsFile.load_storage(None), "kvikio"), (cuda.nccl.unique_id, "torch.distributed"),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match=said):
            call()


def test_addresses_for_other_libraries():
    stream = cuda.Stream()
    assert stream._as_parameter_.value and cuda.Event()._as_parameter_.value
    assert stream.__cuda_stream__() == (0, stream.cuda_stream)
    number = cuda.nvtx.range_start("a stretch")
    cuda.nvtx.range_end(number)
    assert cuda.AcceleratorError is torch.AcceleratorError
    t = torch.eye(2, device="cuda").to_sparse()
    assert isinstance(t, cuda.sparse.FloatTensor) and not isinstance(t.cpu(), cuda.sparse.FloatTensor)


def test_a_captured_step_is_replayed_with_new_values():
    x, w = torch.ones(4, 3, device="cuda"), torch.randn(3, device="cuda")

    def step():
        return torch.softmax(x * w, -1) * 2

    with cuda.stream(cuda.Stream()):
        step()
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        assert cuda.is_current_stream_capturing()
        y = step()
    assert not cuda.is_current_stream_capturing()
    for value in (2.0, -1.0):
        x.fill_(value)
        graph.replay()
        torch.testing.assert_close(y, step())
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        cuda.CUDAGraph().replay()
    with pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        cuda.CUDAGraph().capture_begin()


def test_a_graph_is_one_launch(stand_in):
    x, graph = torch.ones(3, device="cuda"), cuda.CUDAGraph()
    (x * 2 + 1).exp()
    with cuda.graph(graph):
        y = (x * 2 + 1).exp()
    with cuda_on_host.counted() as tally:
        graph.replay()
    assert tally.counts.kernels == 1 and y.isfinite().all()


def test_graphed_callables_learn_as_modules_do():
    plain = torch.nn.Sequential(torch.nn.LayerNorm(3), torch.nn.GELU(), torch.nn.LayerNorm(3)).cuda()
    graphed = torch.nn.Sequential(torch.nn.LayerNorm(3), torch.nn.GELU(), torch.nn.LayerNorm(3)).cuda()
    graphed = cuda.make_graphed_callables(graphed, (torch.randn(5, 3, device="cuda"),))
    for seed in (1, 2):
        x = torch.randn(5, 3, generator=torch.Generator().manual_seed(seed)).cuda()
        for module in (plain, graphed):
            module.zero_grad()
            module(x).pow(2).sum().backward()
        for one, other in zip(plain.parameters(), graphed.parameters()):
            torch.testing.assert_close(one.grad, other.grad)


def learn(optimizer, seed, captured):
    """What a network that drops in attention, too, comes to after four steps, each told anew or all by one graph."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(
        torch.nn.Linear(5, 8), torch.nn.GELU(), torch.nn.Dropout(0.5),
        torch.nn.TransformerEncoderLayer(8, 2, 4, 0.3), torch.nn.Linear(8, 3),
    ).cuda()  # fmt: skip
    optimizer = optimizer(model.parameters())
    x, y = torch.randn(4, 5, device="cuda"), torch.tensor([0, 2, 1, 1], device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=False)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    with cuda.stream(cuda.Stream()):
        step()
    repeat = step
    if captured:
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            step()
        repeat = graph.replay
    cuda.manual_seed(seed + 1)
    for _ in range(3):
        x.copy_(torch.randn(4, 5, device="cuda"))
        repeat()
    return [p.detach().clone() for p in model.parameters()]


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: torch.optim.Adam(p, lr=0.1, capturable=True),
        lambda p: torch.optim.AdamW(p, lr=0.1, capturable=True, amsgrad=True),
        lambda p: torch.optim.NAdam(p, lr=0.1, capturable=True),
        lambda p: torch.optim.Adamax(p, lr=0.1, capturable=True),
    ],
)
def test_a_captured_training_step_learns_as_it_does_without(optimizer):
    for one, other in zip(learn(optimizer, 3, captured=True), learn(optimizer, 3, captured=False)):
        torch.testing.assert_close(one, other)


def test_a_step_that_counts_on_the_host_is_not_captured():
    p = torch.ones(3, device="cuda", requires_grad=True)
    p.grad = torch.ones_like(p)
    optimizer = torch.optim.Adam([p])
    optimizer.step()
    said = "Attempting CUDA graph capture of step\\(\\) for an instance of Adam but param_groups' capturable is False"
    with cuda.graph(cuda.CUDAGraph()), pytest.raises(RuntimeError, match=said):
        optimizer.step()


def test_a_graph_draws_the_generators_next_numbers():
    own, graph = torch.Generator("cuda"), cuda.CUDAGraph()

    def numbers():
        return torch.rand(5, device="cuda"), torch.randn(3, device="cuda", generator=own)

    def seeded(draw):
        cuda.manual_seed(3)
        own.manual_seed(4)
        return [[t.tolist() for t in draw()] for _ in range(2)]

    graph.register_generator_state(own)
    with cuda.graph(graph):
        made = numbers()
    assert seeded(lambda: graph.replay() or made) == seeded(numbers)


def test_what_a_graph_does_not_draw():
    x, own = torch.ones(3, device="cuda"), torch.Generator("cuda")
    with cuda.graph(cuda.CUDAGraph()):
        with pytest.raises(RuntimeError, match="Attempt to increase offset for a CUDA generator not in capture mode"):
            torch.rand(5, device="cuda", generator=own)
        with pytest.raises(RuntimeError, match="poisson numbers on the host, which a CUDA graph does not capture"):
            torch.poisson(x)
    assert torch.rand(2, device="cuda", generator=own).shape == (2,)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64])
def test_products_are_captured(dtype):
    a, b = [torch.randn(2, 3, 3, device="cuda").to(dtype) for _ in range(2)]
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        made = a @ b, a[0] @ b[1], torch.baddbmm(a, b, a), a[0] @ b[0, 0], F.linear(a, b[0])
    a.mul_(-2)
    graph.replay()
    for one, other in zip(made, (a @ b, a[0] @ b[1], torch.baddbmm(a, b, a), a[0] @ b[0, 0], F.linear(a, b[0]))):
        assert torch.equal(one, other)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0, 2), (2, 1, 0)])
def test_what_lies_in_one_piece_keeps_its_strides_on_its_way(order):
    x = torch.randn(2, 3, 4).permute(order)
    there = x.cuda()
    assert there.stride() == x.stride()
    assert there.cpu().stride() == x.stride()
    assert torch.equal(there.cpu(), x)
    assert torch.randn(4, 6)[:, ::2].cuda().is_contiguous()


def test_functions_written_in_cuda() -> None:
    from torchlite.cuda import jiterator

    scaled = jiterator._create_jit_fn("template <typename T> T scaled(T x, T y, T k) { return x * k + y; }", k=2.0)
    x, y = torch.arange(6.0, device="cuda").reshape(2, 3), torch.ones(3, device="cuda", dtype=torch.float64)
    assert torch.equal(scaled(x, y), x * 2.0 + y) and torch.equal(scaled(x, y, k=3.0), x * 3.0 + y)
    both = jiterator._create_multi_output_jit_fn(
        "template <typename T> void both(T x, T& low, T& high) { low = x - 1; high = x + 1; }", 2
    )
    low, high = both(x)
    assert torch.equal(low, x - 1) and torch.equal(high, x + 1)
    with pytest.raises(KeyError, match="factor is not declared in function definition"):
        scaled(x, y, factor=1.0)
