"""What DistributedDataParallel is used with: communication hooks, uneven inputs, batch norm over all processes."""

import importlib

import pytest

from .ranks import run, start
from .stories import attempt, same_numbers, tell_all
from .test_ddp import data, model, trained


def hooks(torch):
    home = f"{torch.__name__}.distributed.algorithms.ddp_comm_hooks"
    names = ("default_hooks", "powerSGD_hook", "post_localSGD_hook")
    return [importlib.import_module(f"{home}.{name}") for name in names]


def compressed(torch, dist, tell):
    default, _, _ = hooks(torch)
    for hook in (default.allreduce_hook, default.fp16_compress_hook):
        for options in ({}, {"gradient_as_bucket_view": True}):
            trained(torch, dist, tell, 3, lambda ddp, hook=hook: ddp.register_comm_hook(None, hook), **options)
    for kind in torch.distributed.BuiltinCommHookType.__members__.values():
        tell(str(kind), repr(kind), int(kind))
        trained(torch, dist, tell, 2, lambda ddp, kind=kind: ddp._register_builtin_comm_hook(kind))
    wrapped = default.fp16_compress_wrapper(default.allreduce_hook)
    tell(wrapped.__name__, default.bf16_compress_wrapper(wrapped).__name__)
    trained(torch, dist, tell, 2, lambda ddp: ddp.register_comm_hook(None, wrapped))


def in_bytes(torch, dist, tell):
    """PyTorch's hooks of this kind run on GPUs alone: beside what travels whole, within some steps of the bytes."""
    home = importlib.import_module(f"{torch.__name__}.distributed.algorithms.ddp_comm_hooks")
    means = []
    for hook in (None, home.quantization.quantization_pertensor_hook, home.quantization.quantization_perchannel_hook):
        torch.manual_seed(0)
        made = torch.nn.Linear(40, 30)
        ddp = torch.nn.parallel.DistributedDataParallel(made)
        if hook is not None:
            ddp.register_comm_hook(None, hook)
        torch.manual_seed(dist.get_rank())
        ddp(torch.randn(5, 40)).square().sum().backward()
        means.append(torch.cat([param.grad.view(-1) for param in made.parameters()]))
    whole, *others = means
    tell(*[0 < (other - whole).abs().max().item() < (whole.max() - whole.min()).item() / 20 for other in others])


def test_gradients_that_travel_as_bytes():
    assert run("torchlite", in_bytes_alone) == [["True"] * 2] * 2


def in_bytes_alone(torch, tell):
    in_bytes(torch, start(torch), tell)


def test_scales_and_zeros_of_bytes():
    torch = pytest.importorskip("torch", reason="the observer is PyTorch's")
    from torch.ao.quantization import PerChannelMinMaxObserver

    import torchlite
    from torchlite.distributed.algorithms.ddp_comm_hooks.quantization_hooks import _quantized

    rows = [[0.3, -2, 5], [0, 0, 0], [1, 2, 3], [-1, -2, -7.7]]
    observer = PerChannelMinMaxObserver()
    observer(torch.tensor(rows))
    scales, zeros = observer.calculate_qparams()
    laws, levels = _quantized(torchlite.tensor(rows))
    assert laws.tolist() == torch.stack([scales, zeros.float()], 1).tolist()
    quantized = torch.quantize_per_channel(torch.tensor(rows), scales, zeros, 0, torch.quint8)
    assert levels.tolist() == quantized.int_repr().tolist()


def wide(torch, dist, tell, register):
    nn = torch.nn
    made = nn.Sequential(nn.Linear(3, 20), nn.Tanh(), nn.Linear(20, 16), nn.Tanh(), nn.Linear(16, 1))
    with torch.no_grad():
        for number, param in enumerate(made.parameters()):
            param.copy_(torch.sin(torch.arange(param.numel()) + number).reshape(param.shape) / 2)
    ddp = nn.parallel.DistributedDataParallel(made)
    register(ddp)
    for step in range(6):
        x, y = data(torch, dist.get_rank(), step)
        ddp.zero_grad()
        loss = nn.functional.mse_loss(ddp(x), y)
        loss.backward()
        with torch.no_grad():
            for param in ddp.parameters():
                param -= 0.1 * param.grad
        tell(loss.item())


def thin_matrices(torch, dist, tell):
    _, power, _ = hooks(torch)
    rank = {"matrix_approximation_rank": 2}
    eager = rank | {"min_compression_rate": 0.5}  # with which vectors are compressed, too
    for options in ({}, rank | {"orthogonalization_epsilon": 1e-8}, {"warm_start": False}, eager):
        state = power.PowerSGDState(None, start_powerSGD_iter=2, **options)
        wide(torch, dist, tell, lambda ddp, state=state: ddp.register_comm_hook(state, power.powerSGD_hook))
        tell(state.compression_stats(), state.iter)
    tell(attempt(lambda: power.PowerSGDState(None, start_powerSGD_iter=1)))


def one_square_matrix(torch, dist, tell):
    if torch.__name__ == "torchlite":  # PyTorch 2.13 fails at an assertion of its own
        _, power, _ = hooks(torch)
        state, losses = power.PowerSGDState(None, start_powerSGD_iter=2), []
        wide(torch, dist, losses.append, lambda ddp: ddp.register_comm_hook(state, power.batched_powerSGD_hook))
        assert losses[-1] < losses[0]


def local_steps(torch, dist, tell):
    _, _, local = hooks(torch)
    alone = [dist.new_group([rank]) for rank in range(dist.get_world_size())][dist.get_rank()]
    state = local.PostLocalSGDState(None, alone, 3)
    wide(torch, dist, tell, lambda ddp: ddp.register_comm_hook(state, local.post_localSGD_hook))


def uneven(torch, dist, tell):
    rank = dist.get_rank()
    for options in ({}, {"divide_by_initial_world_size": False}, {"enable": True}):
        for count in (2 + rank, 3 - rank):
            ddp = torch.nn.parallel.DistributedDataParallel(model(torch, rank), bucket_cap_mb=0.00001)
            optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
            with ddp.join(**options):
                for step in range(count * 2):
                    optimizer.zero_grad()
                    ddp(data(torch, rank, step)[0]).square().sum().backward()
                    optimizer.step()
            tell(ddp.state_dict())


def early_end(torch, dist, tell):
    rank = dist.get_rank()
    ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))

    def loop():
        with ddp.join(throw_on_early_termination=True):
            for step in range(1 + rank):
                ddp(data(torch, rank, step)[0]).sum().backward()

    tell(attempt(loop))


def joined_collective(torch, dist, tell):
    join = importlib.import_module(f"{torch.__name__}.distributed.algorithms.join")

    class Hook(join.JoinHook):
        def main_hook(self):
            dist.all_reduce(torch.zeros(1))

        def post_hook(self, is_last_joiner):
            tell("last" if is_last_joiner else "not last")

    class Counter(join.Joinable):
        def __init__(self):
            super().__init__()

        def __call__(self):
            join.Join.notify_join_context(self)
            one = torch.ones(1)
            dist.all_reduce(one)
            return one.item()

        def join_hook(self, **kwargs):
            return Hook()

        @property
        def join_device(self):
            return torch.device("cpu")

        @property
        def join_process_group(self):
            return dist.group.WORLD

    counter = Counter()
    with join.Join([counter]):
        tell([counter() for _ in range(1 + 2 * dist.get_rank())])
    tell(attempt(lambda: join.Join([])))


def normalized(torch, tell):
    dist = start(torch)
    rank, sizes = dist.get_rank(), (3, 5)
    torch.set_default_dtype(torch.float64)
    alone = model(torch, 0)
    ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.SyncBatchNorm.convert_sync_batchnorm(model(torch, rank)))
    assert [type(part).__name__ for part in ddp.module][2] == "SyncBatchNorm"
    for step in range(3):
        pieces = [data(torch, other, step, rows)[0] for other, rows in enumerate(sizes)]
        x, whole = pieces[rank].clone().requires_grad_(), torch.cat(pieces).requires_grad_()
        ddp.zero_grad()
        alone.zero_grad()
        out, wanted = ddp(x), alone(whole)
        (out * torch.cos(out)).sum().backward()
        (wanted * torch.cos(wanted)).sum().backward()
        torch.testing.assert_close(out, wanted.split(sizes)[rank])
        torch.testing.assert_close(x.grad, whole.grad.split(sizes)[rank])
        for param, model_of in zip(ddp.parameters(), alone.parameters()):
            torch.testing.assert_close(param.grad, model_of.grad / 2)
        for buffer, model_of in zip(ddp.buffers(), alone.buffers()):
            torch.testing.assert_close(buffer, model_of)
    torch.testing.assert_close(ddp.eval()(x), alone.eval()(x))
    dist.destroy_process_group()


def test_sync_batch_norm_is_that_of_the_whole_batch():
    """On CPUs, PyTorch's refuses: it is compared with one process that has the inputs of all."""
    run("torchlite", normalized)


def whole_batches(torch, tell):
    """The losses of two processes are those of one that has the samples of both; and buckets leave early."""
    dist = start(torch)
    nn = torch.nn

    def made():
        torch.manual_seed(1)
        return nn.Sequential(nn.Linear(16, 300), nn.Tanh(), nn.Linear(300, 300), nn.Tanh(), nn.Linear(300, 4))

    torch.manual_seed(0)
    rows = torch.utils.data.TensorDataset(torch.randn(64, 16), torch.randint(4, (64,)))
    sampler = torch.utils.data.DistributedSampler(rows)
    alone, ddp = made(), nn.parallel.DistributedDataParallel(made(), bucket_cap_mb=0.1)
    optimizers = [torch.optim.SGD(each.parameters(), lr=0.1, momentum=0.9) for each in (alone, ddp)]
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in torch.utils.data.DataLoader(rows, batch_size=8, sampler=sampler, num_workers=1 - epoch):
            several = [[torch.empty_like(each) for _ in range(2)] for each in (x, y)]
            for outs, each in zip(several, (x, y)):
                dist.all_gather(outs, each)
            losses = []
            for net, optimizer, inputs in zip((alone, ddp), optimizers, (map(torch.cat, several), (x, y))):
                given, wanted = inputs
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(net(given), wanted)
                loss.backward()
                optimizer.step()
                losses.append(loss.detach())
            dist.all_reduce(losses[1])
            assert abs(losses[0] - losses[1] / 2) < 1e-6
    events = []
    ddp.register_comm_hook(None, lambda _, bucket: sent(torch, dist, events, bucket))
    for number, param in enumerate(ddp.parameters()):
        param.register_post_accumulate_grad_hook(lambda _, number=number: events.append(number))
    ddp(x).sum().backward()
    assert events.index("bucket 0 leaves") < events.index(0), events  # whose gradient is the last
    dist.destroy_process_group()


def sent(torch, dist, events, bucket):
    events.append(f"bucket {bucket.index()} leaves")
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda future: future.value()[0])


def test_losses_are_those_of_the_whole_batch_and_buckets_leave_before_backward_ends():
    run("torchlite", whole_batches)


PARTS = [compressed, thin_matrices, one_square_matrix, local_steps, uneven, early_end, joined_collective]


def stories(torch, tell):
    tell_all(PARTS, torch, tell)


@pytest.mark.parametrize("ranks", [2, 4])
def test_hooks_and_uneven_inputs(ranks):
    same_numbers(stories, ranks)


def net(torch):
    made = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    with torch.no_grad():
        for number, param in enumerate(made.parameters()):
            param.copy_(torch.sin(torch.arange(param.numel()) + number).reshape(param.shape) / 2)
    return made


def inputs(torch, dist, step=0):
    return torch.sin(torch.arange(12.0).reshape(4, 3) + step + 7 * dist.get_rank())


def over_meshes(torch, dist, tell):
    wrap, world = torch.nn.parallel.DistributedDataParallel, dist.group.WORLD
    size, made_of = dist.get_world_size(), dist.init_device_mesh
    mesh, grid = made_of("cpu", (size,)), made_of("cpu", (1, size), mesh_dim_names=("a", "b"))
    made, plain = wrap(net(torch), device_mesh=mesh), net(torch)
    made(inputs(torch, dist)).square().sum().backward()
    tell([param.grad for param in made.parameters()])
    weight = plain[0].weight
    tell(*[str(attempt(call)).split(", but")[0] for call in (
        lambda: wrap(plain, device_mesh=mesh, process_group=world), lambda: wrap(plain, device_mesh=grid),
        lambda: wrap(plain, delay_all_reduce_named_params=[("0.weight", weight)]),
        lambda: wrap(plain, param_to_hook_all_reduce=weight),
    )])  # fmt: skip


def reduced_later(torch, dist, tell):
    plain = net(torch)
    later = [("2.weight", plain[2].weight), ("2.bias", plain[2].bias)]
    made = torch.nn.parallel.DistributedDataParallel(
        plain, delay_all_reduce_named_params=later, param_to_hook_all_reduce=plain[0].weight
    )
    for step in range(2):
        made(inputs(torch, dist, step)).square().sum().backward()
        tell([param.grad for param in plain[0].parameters()])
        if torch.__name__ == "torchlite":  # PyTorch does not wait for what it reduces later
            alone = net(torch)
            alone(inputs(torch, dist, step)).square().sum().backward()
            for (_, param), mine in zip(later, alone[2].parameters()):
                wanted = mine.grad / dist.get_world_size()
                dist.all_reduce(wanted)
                assert torch.allclose(param.grad, wanted)
        made.zero_grad()


def told_of(torch, dist, tell):
    made = torch.nn.parallel.DistributedDataParallel(net(torch))
    for step in range(15):
        if step == 11:
            made._set_ddp_runtime_logging_sample_rate(3)
        tell_logged(made, tell)
        made(inputs(torch, dist)).sum().backward()
    tell(attempt(made._set_static_graph))
    tell_logged(made, tell)
    tell(attempt(lambda: made._set_ddp_runtime_logging_sample_rate(0)))
    made.register_comm_hook(None, hooks(torch)[0].allreduce_hook)
    tell_logged(made, tell)
    made = torch.nn.parallel.DistributedDataParallel(net(torch), find_unused_parameters=True, bucket_cap_mb_list=[1, 2])
    made.module[0].requires_grad_(False)
    made(inputs(torch, dist)).sum().backward()
    made(inputs(torch, dist)).sum().backward()
    tell_logged(made, tell)


def tell_logged(made, tell):
    """The logging data; of times, whether they are there and of one order."""
    known = made._get_ddp_logging_data()
    times = {name: known.pop(name) for name in sorted(known) if "_time" in name}
    del known["master_port"]
    tell(sorted(known.items(), key=str), list(times))
    starts = [times[f"{name}_start"] for name in (
        "forward_compute_time", "backward_compute_time", "backward_comm_time"
    ) if times]  # fmt: skip
    tell(starts == sorted(starts), all(time >= 0 for time in times.values()))


def unused_left_out(torch, dist, tell):
    """Buckets of unused parameters are not reduced; and gradients are laid into buckets when all are there."""
    profiler = importlib.import_module(f"{torch.__name__}.profiler")
    for options in ({}, {"skip_all_reduce_unused_params": True}, {"batched_grad_copy": True},
                    {"batched_grad_copy": True, "gradient_as_bucket_view": True}):  # fmt: skip
        made = net(torch)
        made[0].unused = torch.nn.Linear(3, 3)
        ddp = torch.nn.parallel.DistributedDataParallel(
            made, bucket_cap_mb=1e-6, find_unused_parameters=True, **options
        )
        for step in range(3):
            made.zero_grad()
            with profiler.profile() as seen:
                ddp(inputs(torch, dist, step)).square().sum().backward()
            tell(sum(event.name == "c10d::allreduce_" for event in seen.events()))
            tell([param.grad for param in made.parameters()])


def newer_stories(torch, tell):
    tell_all([over_meshes, reduced_later, unused_left_out, told_of], torch, tell)


@pytest.mark.filterwarnings("ignore")
def test_meshes_delayed_gradients_and_what_is_told_are_pytorchs():
    same_numbers(newer_stories)


def low_precision(torch, tell):
    """Computation in bfloat16: gradients are the means of those of processes that compute so by themselves."""
    dist = start(torch)
    parallel = importlib.import_module(f"{torch.__name__}.nn.parallel.distributed")
    precision = parallel._MixedPrecision(torch.bfloat16, torch.float32, torch.float32)
    plain = net(torch).bfloat16()
    made = parallel.DistributedDataParallel(net(torch), mixed_precision=precision)
    x = inputs(torch, dist)
    out = made(x)
    out.sum().backward()
    plain(x.bfloat16()).sum().backward()
    assert out.dtype is torch.bfloat16
    for mine, alone in zip(made.parameters(), plain.parameters()):
        assert mine.dtype is mine.grad.dtype is torch.float32
        wanted = alone.grad.float() / 2
        dist.all_reduce(wanted)
        assert torch.allclose(mine.grad, wanted, rtol=1e-6)
    dist.destroy_process_group()


def test_parameters_are_computed_with_in_few_bits_and_kept_in_all():
    run("torchlite", low_precision)
