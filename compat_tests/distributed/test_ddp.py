"""DistributedDataParallel in two processes, beside PyTorch's with gloo."""



from .stories import attempt, same_numbers, tell_all


def data(torch, rank, step, rows=4, columns=3):
    """Inputs and targets that differ between ranks and steps."""
    base = torch.arange(rows * columns, dtype=torch.float64).reshape(rows, columns)
    x = torch.sin(base * (rank + 1) + step)
    return x, torch.cos(x.sum(1, keepdim=True) * 2)


def model(torch, rank, width=5):
    """A model that begins different in each process."""
    nn = torch.nn
    made = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.BatchNorm1d(width), nn.Linear(width, 1))
    with torch.no_grad():
        for number, param in enumerate(made.parameters()):
            param.copy_(torch.sin(torch.arange(param.numel()) + number + rank).reshape(param.shape) / 2)
    return made


def trained(torch, dist, tell, steps=4, register=None, **options):
    ddp = torch.nn.parallel.DistributedDataParallel(model(torch, dist.get_rank()), **options)
    if register:
        register(ddp)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    for step in range(steps):
        x, y = data(torch, dist.get_rank(), step)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(ddp(x), y)
        loss.backward()
        optimizer.step()
        tell(loss.item())
    tell(dict(ddp.state_dict()), [param.grad for param in ddp.parameters()])
    return ddp


def training(torch, dist, tell):
    ddp = trained(torch, dist, tell)
    tell(repr(ddp), list(ddp.state_dict()))


def many_buckets(torch, dist, tell):
    trained(torch, dist, tell, bucket_cap_mb=0.00001)


def views_of_buckets(torch, dist, tell):
    ddp = trained(torch, dist, tell, gradient_as_bucket_view=True)
    storages = {param.grad.untyped_storage().data_ptr() for param in ddp.parameters()}
    tell(len(storages))


def buffers_of_ones_own(torch, dist, tell):
    trained(torch, dist, tell, broadcast_buffers=False)


def forward_twice(torch, dist, tell):
    """Buffers are brought in line between, which backward does not mind."""
    rank = dist.get_rank()
    made = torch.nn.Sequential(model(torch, rank), torch.nn.BatchNorm1d(1))
    ddp = torch.nn.parallel.DistributedDataParallel(made)
    outs = [ddp(data(torch, rank, step)[0]) for step in range(2)]
    (outs[0] * outs[1]).sum().backward()
    tell([param.grad for param in ddp.parameters()], list(ddp.buffers()))
    tell(ddp.device_type, ddp.is_multi_device_module)


def static(torch, dist, tell):
    trained(torch, dist, tell, static_graph=True)


def unused_looked_for_in_vain(torch, dist, tell):
    trained(torch, dist, tell, find_unused_parameters=True)


def without_syncing(torch, dist, tell):
    ddp = torch.nn.parallel.DistributedDataParallel(model(torch, dist.get_rank()))
    with ddp.no_sync():
        ddp(data(torch, dist.get_rank(), 0)[0]).square().sum().backward()
    tell([param.grad for param in ddp.parameters()])
    ddp(data(torch, dist.get_rank(), 1)[0]).square().sum().backward()
    tell([param.grad for param in ddp.parameters()])


def branches(torch, rank):
    class Branches(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = torch.nn.ModuleList([torch.nn.Linear(3, 1) for _ in range(3)])

        def forward(self, x, which):
            return {"out": self.parts[which](x), "none": None}

    return Branches()


def unused_parameters(torch, dist, tell):
    rank = dist.get_rank()
    ddp = torch.nn.parallel.DistributedDataParallel(branches(torch, rank), find_unused_parameters=True)
    for step in range(3):
        ddp(data(torch, rank, step)[0], (rank * step) % 2)["out"].square().sum().backward()
        tell([param.grad for param in ddp.parameters()])
    ddp = torch.nn.parallel.DistributedDataParallel(branches(torch, rank))
    ddp(data(torch, rank, 0)[0], 0)["out"].square().sum().backward()
    tell(attempt(lambda: ddp(data(torch, rank, 1)[0], 0)))


def static_with_unused(torch, dist, tell):
    rank = dist.get_rank()
    ddp = torch.nn.parallel.DistributedDataParallel(branches(torch, rank), static_graph=True)
    for step in range(3):
        ddp.zero_grad()
        ddp(data(torch, rank, step)[0], 1)["out"].square().sum().backward()
        tell([param.grad for param in ddp.parameters()])


def outputs_without_use(torch, dist, tell):
    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)

        def forward(self, x):
            return self.a(x), [self.b(x)]

    ddp = torch.nn.parallel.DistributedDataParallel(Two(), find_unused_parameters=True)
    for step in range(2):
        ddp(data(torch, dist.get_rank(), step)[0])[0].square().sum().backward()
    tell([param.grad for param in ddp.parameters()])


def checkpointed(torch, dist, tell):
    from_checkpoint = torch.utils.checkpoint.checkpoint
    shared = torch.nn.Linear(3, 3)

    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.shared, self.last = shared, torch.nn.Linear(3, 1)

        def forward(self, x):
            x = from_checkpoint(self.shared, from_checkpoint(self.shared, x, use_reentrant=True), use_reentrant=True)
            return self.last(x)

    ddp = torch.nn.parallel.DistributedDataParallel(Twice(), static_graph=True)
    for step in range(3):
        ddp.zero_grad()
        ddp(data(torch, dist.get_rank(), step)[0].requires_grad_()).square().sum().backward()
        tell([param.grad for param in ddp.parameters()])


def sparse_gradients(torch, dist, tell):
    made = torch.nn.Sequential(torch.nn.Embedding(6, 3, sparse=True), torch.nn.Linear(3, 1))
    ddp = torch.nn.parallel.DistributedDataParallel(made)
    for step in range(3):
        ddp.zero_grad()
        ddp(torch.tensor([dist.get_rank() + step, 2, 2])).square().sum().backward()
        tell([param.grad for param in ddp.parameters()], ddp.module[0].weight.grad.is_sparse)


def refusals(torch, dist, tell):
    nn = torch.nn
    made = torch.nn.parallel.DistributedDataParallel
    tell(attempt(lambda: made(nn.ReLU())), attempt(lambda: made(nn.LazyLinear(2))))
    tell(attempt(lambda: made(nn.Linear(2, 2), device_ids=[0])))
    ddp = made(nn.Linear(2, 2))
    tell(attempt(lambda: ddp.register_comm_hook(None, 3)))

    def annotated(state, bucket: int):
        pass

    tell(attempt(lambda: ddp.register_comm_hook(None, annotated)))
    ddp.register_comm_hook(None, lambda state, bucket: 3)
    tell(attempt(lambda: ddp.register_comm_hook(None, lambda state, bucket: 3)))
    tell(str(attempt(lambda: ddp(torch.ones(1, 2)).square().sum().backward())).rpartition("DDP communication")[2])


def seen_buckets(torch, dist, tell):
    def hook(state, bucket):
        tell(bucket.index(), bucket.is_last(), [list(grad.shape) for grad in bucket.gradients()])
        tell([list(param.shape) for param in bucket.parameters()], list(bucket.buffer().shape))
        future = torch.futures.Future()
        future.set_result(bucket.buffer() * 2)
        return future

    nn = torch.nn
    made = nn.Sequential(*[nn.Linear(20, 20) for _ in range(4)])
    ddp = nn.parallel.DistributedDataParallel(made, bucket_cap_mb=0.004)
    ddp.register_comm_hook(None, hook)
    for _ in range(2):
        ddp(torch.ones(1, 20)).square().sum().backward()


PARTS = [
    training, many_buckets, views_of_buckets, buffers_of_ones_own, forward_twice, static, unused_looked_for_in_vain,
    without_syncing, unused_parameters, static_with_unused, outputs_without_use, checkpointed, sparse_gradients,
    refusals, seen_buckets,
]  # fmt: skip


def stories(torch, tell):
    tell_all(PARTS, torch, tell)


def test_modules_are_trained_as_pytorchs_are():
    same_numbers(stories)
