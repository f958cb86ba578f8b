"""Programs that train with sparse tensors: embeddings with sparse gradients, their optimizers, and graph networks."""

from __future__ import annotations

from typing import Any

import pytest

import torchlite

from .side_by_side import same, story


def same_story(program: Any) -> Any:
    """A test that runs a program in both libraries and compares what is told, but for warnings given only once."""

    def test() -> None:
        torch = pytest.importorskip("torch")
        wanted, found = ([s for s in story(program, library) if s[0] != "warned"] for library in (torch, torchlite))
        for at, (a, b) in enumerate(zip(wanted, found, strict=True)):
            assert same(a, b), f"at {at}:\n  torch      {a}\n  torchlite  {b}"

    return test


OPTIMIZERS = {
    "SparseAdam": {}, "SparseAdam maximize": {"maximize": True}, "SGD": {}, "SGD momentum": {"momentum": 0.4},
    "SGD nesterov": {"momentum": 0.9, "nesterov": True}, "SGD decay": {"weight_decay": 0.1},
    "SGD maximize": {"maximize": True}, "Adagrad": {}, "Adagrad decay": {"weight_decay": 0.1},
    "Adagrad accumulated": {"lr_decay": 0.5, "initial_accumulator_value": 0.1}, "Adam": {}, "AdamW": {}, "RMSprop": {},
    "Adadelta": {}, "Adamax": {}, "NAdam": {}, "RAdam": {}, "Rprop": {}, "ASGD": {},
    "Adafactor": {},
}  # fmt: skip


def _dense(t: Any) -> Any:
    """A tensor of any layout, and which it is."""
    return (str(t.layout), t.to_dense().detach()) if hasattr(t, "layout") else t


def _steps(torch: Any, tell: Any, kind: str) -> None:
    torch.manual_seed(0)
    table = torch.nn.Embedding(6, 3, sparse=True)
    optimizer = getattr(torch.optim, kind.split()[0])(table.parameters(), lr=0.1, **OPTIMIZERS[kind])
    for at in range(3):
        optimizer.zero_grad(set_to_none=at != 1)
        table(torch.tensor([[1, 2], [1, 4]])).pow(2).sum().backward()
        optimizer.step()
        tell(_dense(table.weight.grad), table.weight.detach())
    tell({name: _dense(value) for name, value in optimizer.state[table.weight].items()})


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_optimizers_on_sparse_gradients(kind: str) -> None:
    same_story(lambda torch, tell: _steps(torch, tell, kind))()


@pytest.mark.parametrize("kind", ["Adafactor", "Muon"])
def test_optimizers_of_whole_matrices_refuse_sparse_gradients(kind: str) -> None:
    @same_story
    def program(torch, tell):
        p = torch.nn.Parameter(torch.ones(2, 2))
        p.grad = torch.ones(2, 2).to_sparse()
        getattr(torch.optim, kind)([p]).step()

    program()


@same_story
def test_sparse_adam_refuses(torch, tell):
    p = torch.nn.Parameter(torch.ones(2, 2))
    p.sum().backward()
    for call in (torch.optim.SparseAdam([p]).step, lambda: torch.optim.SparseAdam([torch.ones(2, 2).to_sparse()])):
        try:
            call()
        except (RuntimeError, ValueError) as error:
            tell(error)


@pytest.mark.parametrize("options", [{}, {"padding_idx": 1}, {"max_norm": 1.0}, {"scale_grad_by_freq": True}])
def test_embeddings(options: dict[str, Any]) -> None:
    def program(torch: Any, tell: Any) -> None:
        torch.manual_seed(0)
        table = torch.nn.Embedding(5, 3, sparse=True, **options)
        table(torch.tensor([[1, 2], [1, 4]])).sum().backward()
        table(torch.tensor([[0, 2]])).pow(2).sum().backward()
        tell(_dense(table.weight.grad), table.weight.grad.is_coalesced())

    same_story(program)()


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode: str) -> None:
    def program(torch: Any, tell: Any) -> None:
        torch.manual_seed(0)
        bags = torch.nn.EmbeddingBag(5, 3, sparse=True, mode=mode)
        bags(torch.tensor([1, 2, 1, 4]), torch.tensor([0, 1])).pow(2).sum().backward()
        tell(_dense(bags.weight.grad))

    same_story(program)()


@same_story
def test_sparse_and_dense_gradients_add_up(torch, tell):
    w = torch.arange(15.0).reshape(5, 3).requires_grad_()
    i = torch.tensor([1, 1, 2])

    def looked_up() -> Any:
        return torch.nn.functional.embedding(i, w, sparse=True).sum()

    for losses in ([looked_up() + w.sum()], [w.sum(), looked_up()], [looked_up(), w.sum()], [looked_up(), looked_up()]):
        w.grad = None
        for loss in losses:
            loss.backward()
        tell(_dense(w.grad))
    tell(_dense(torch.autograd.grad(looked_up(), w)[0]))
    w.grad = None
    looked_up().backward()
    w.grad.zero_()
    tell(_dense(w.grad), w.grad._nnz())


def _graph(torch: Any, nodes: int, edges: int) -> Any:
    """A graph's edges, both ways and with loops, without repetition."""
    g = torch.Generator().manual_seed(0)
    pairs = torch.randint(0, nodes, (2, edges), generator=g)
    loops = torch.arange(nodes).repeat(2, 1)
    return torch.unique(torch.cat([pairs, pairs.flip(0), loops], 1), dim=1)


def _trained(torch: Any, tell: Any, model: Any, features: Any, adjacency: Any, labels: Any) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
    for _ in range(6):
        optimizer.zero_grad()
        loss = torch.nn.functional.nll_loss(model(features, adjacency), labels)
        loss.backward()
        optimizer.step()
        tell(loss.item())
    tell(model(features, adjacency).argmax(1))


@pytest.mark.parametrize("layout", ["coo", "csr"])
@pytest.mark.parametrize("product", ["spmm", "@", "sparse.mm"])
def test_graph_convolution(layout: str, product: str) -> None:
    """After pygcn: features are multiplied by a normalised adjacency matrix."""

    def program(torch: Any, tell: Any) -> None:
        times = {"spmm": torch.spmm, "@": lambda a, b: a @ b, "sparse.mm": torch.sparse.mm}[product]

        class Convolution(torch.nn.Module):
            def __init__(self, inside: int, out: int) -> None:
                super().__init__()
                self.weight = torch.nn.Parameter(torch.empty(inside, out).uniform_(-0.3, 0.3))
                self.bias = torch.nn.Parameter(torch.zeros(out))

            def forward(self, x: Any, adjacency: Any) -> Any:
                return times(adjacency, torch.mm(x, self.weight)) + self.bias

        class Network(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first, self.second = Convolution(8, 16), Convolution(16, 3)

            def forward(self, x: Any, adjacency: Any) -> Any:
                return self.second(self.first(x, adjacency).relu(), adjacency).log_softmax(1)

        torch.manual_seed(0)
        edges = _graph(torch, 40, 90)
        adjacency = torch.sparse_coo_tensor(edges, torch.ones(edges.shape[1]), (40, 40))
        rows = torch.sparse.sum(adjacency, 1).to_dense()
        adjacency = torch.sparse_coo_tensor(edges, 1 / rows[edges[0]], (40, 40)).coalesce()
        if layout == "csr":
            adjacency = adjacency.to_sparse_csr()
        features = torch.rand(40, 8)
        _trained(torch, tell, Network(), features, adjacency, torch.randint(0, 3, (40,)))

    same_story(program)()


@same_story
def test_graph_attention(torch, tell):
    """After sparse GAT: attention is a sparse matrix, and its values are computed."""

    class SpecialSpmm(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, indices: Any, values: Any, shape: Any, b: Any) -> Any:
            a = torch.sparse_coo_tensor(indices, values, shape)
            ctx.save_for_backward(a, b)
            ctx.n = shape[0]
            return torch.matmul(a, b)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            dense = g.matmul(b.t())
            places = a._indices()[0] * ctx.n + a._indices()[1]
            return None, dense.view(-1)[places], None, a.t().matmul(g)

    class Attention(torch.nn.Module):
        def __init__(self, inside: int, out: int) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.empty(inside, out).uniform_(-0.5, 0.5))
            self.a = torch.nn.Parameter(torch.empty(1, 2 * out).uniform_(-0.5, 0.5))

        def forward(self, x: Any, adjacency: Any) -> Any:
            n, edge = x.shape[0], adjacency._indices()
            h = x @ self.weight
            pairs = torch.cat((h[edge[0]], h[edge[1]]), 1).t()
            e = torch.exp(-torch.nn.functional.leaky_relu(self.a.mm(pairs).squeeze(), 0.2))
            total = SpecialSpmm.apply(edge, e, torch.Size([n, n]), torch.ones(n, 1))
            return SpecialSpmm.apply(edge, e, torch.Size([n, n]), h).div(total)

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.heads = torch.nn.ModuleList([Attention(8, 6) for _ in range(2)])
            self.last = Attention(12, 3)

        def forward(self, x: Any, adjacency: Any) -> Any:
            x = torch.cat([torch.nn.functional.elu(head(x, adjacency)) for head in self.heads], 1)
            return torch.nn.functional.elu(self.last(x, adjacency)).log_softmax(1)

    torch.manual_seed(0)
    edges = _graph(torch, 30, 60)
    adjacency = torch.sparse_coo_tensor(edges, torch.ones(edges.shape[1]), (30, 30))
    _trained(torch, tell, Network(), torch.rand(30, 8), adjacency, torch.randint(0, 3, (30,)))


@same_story
def test_attention_by_sparse_softmax(torch, tell):
    """Weights of edges, normalised by rows, multiply features; gradients reach what the weights were made of."""
    torch.manual_seed(0)
    edges = _graph(torch, 12, 20)
    weights, x = torch.randn(edges.shape[1]).requires_grad_(), torch.randn(12, 4).requires_grad_()
    attention = torch.sparse.softmax(torch.sparse_coo_tensor(edges, weights, (12, 12)), 1)
    torch.sparse.mm(attention, x).pow(2).sum().backward()
    tell(weights.grad, x.grad)


def test_buffers_and_parameters_of_modules() -> None:
    class Holder(torchlite.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mask", torchlite.eye(3).to_sparse())
            self.weight = torchlite.nn.Parameter(torchlite.eye(3).to_sparse())

    holder = Holder()
    other = Holder()
    with torchlite.no_grad():
        other.mask.mul_(3)
    assert torchlite.equal(holder.double().mask.to_dense(), torchlite.eye(3, dtype=torchlite.float64))
    holder.float().load_state_dict(other.state_dict())
    assert torchlite.equal(holder.mask.to_dense(), 3 * torchlite.eye(3))


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_masked_reductions(layout: str) -> None:
    def program(torch: Any, tell: Any) -> None:
        x = torch.tensor([[0.0, 2, 0], [3, 0, 4], [0, 0, 0]])
        mask = torch.tensor([[True, True, False], [False, False, True], [False, True, False]])
        x, mask = (getattr(t, f"to_sparse_{layout}")() for t in (x, mask))
        for name in ("sum", "prod", "amax", "amin", "mean"):
            for dim in (None, 0, 1, (0, 1)):
                for keepdim in (False, True):
                    try:
                        tell(_dense(getattr(torch.masked, name)(x, dim, keepdim=keepdim, mask=mask)))
                    except (RuntimeError, ValueError, AssertionError) as error:
                        tell(error)
        tell(_dense(torch.masked.sum(x, 0, keepdim=True)))
        try:
            torch.masked.prod(x, 0, keepdim=True)
        except ValueError as error:
            tell(error)

    same_story(program)()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_products_without_scipy(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    from torchlite.kernels import sparse

    def products() -> list[Any]:
        torchlite.manual_seed(0)
        a = (torchlite.randn(7, 9) * 4).round().relu().to(getattr(torchlite, dtype))
        b = (torchlite.randn(9, 5) * 4).round().to(a.dtype)
        s = a.to_sparse()
        twice = torchlite.sparse_coo_tensor(s.indices().repeat(1, 2), s.values().repeat(2), s.shape)
        made = [s @ b, s.to_sparse_csr() @ b, s.to_sparse_csc() @ b, twice @ b, b.t() @ s.t()]
        return [*made, (s @ b.to_sparse()).to_dense(), (s.to_sparse_csr() @ b.to_sparse_csr()).to_dense()]

    with_scipy = products()
    monkeypatch.setattr(sparse, "library", lambda xp: None)
    for one, other in zip(with_scipy, products(), strict=True):
        assert one.dtype is other.dtype and torchlite.equal(one, other)


@same_story
def test_gradients_of_embeddings_that_are_added_up_leave_what_was_given_alone(torch, tell):
    layer, at, g = torch.nn.Embedding(5, 2, sparse=True), torch.tensor([1, 2]), torch.ones(2, 2)
    made = layer(at)
    made.backward(g, retain_graph=True)
    first = layer.weight.grad
    tell(first._values().data_ptr() == g.data_ptr())
    made.backward(g, retain_graph=True)
    made.backward(g)
    tell((first is layer.weight.grad, g, first.coalesce().values()))


@same_story
def test_sums_in_place_have_values_of_their_own(torch, tell):
    s = torch.sparse_coo_tensor([[0, 2]], torch.ones(2), (3,)).coalesce()
    before = s._values()
    s.add_(s.clone())
    s.sub_(s.clone(), alpha=3)
    tell((before, s._values()))
