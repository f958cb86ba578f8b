"""Products of sparse matrices with dense ones, and training steps of embeddings whose gradients are sparse."""

from __future__ import annotations

from collections.abc import Iterator

from .timing import Workload

GRAPHS = {"100 nodes": (100, 400), "2708 nodes": (2708, 10556), "20000 nodes": (20000, 200000)}
GRAPH = """
edges = torch.randint({nodes}, (2, {edges}))
coo = torch.sparse_coo_tensor(edges, torch.randn({edges}), ({nodes}, {nodes})).coalesce()
csr = coo.to_sparse_csr()
x = torch.randn({nodes}, {width})
"""
OF_INT32 = "csr = torch.sparse_csr_tensor(csr.crow_indices().int(), csr.col_indices().int(), csr.values(), csr.shape)"
PRODUCTS = {"coo @ x": "coo @ x", "csr @ x": "csr @ x", "sparse.mm": "torch.sparse.mm(coo, x)"}
GRADIENTS = {
    "coo @ x": ("made = coo @ x.requires_grad_()", "x"),
    "csr @ x": ("made = csr @ x.requires_grad_()", "x"),
    "sparse.mm": ("made = torch.sparse.mm(coo.requires_grad_(), x.requires_grad_())", "coo, x"),
}
EMBEDDING = """
layer = nn.{kind}({rows}, {width}, sparse=True{more})
optimizer = torch.optim.{optimizer}
places = torch.randint({rows}, (32, 16))
def step():
    optimizer.zero_grad()
    layer(places).sum().backward()
    optimizer.step()
"""
OPTIMIZERS = {
    "SGD": "SGD(layer.parameters(), 0.1)",
    "Adagrad": "Adagrad(layer.parameters(), 0.1)",
    "SparseAdam": "SparseAdam(list(layer.parameters()), 0.1)",
}


def products() -> Iterator[Workload]:
    for size, (nodes, edges) in GRAPHS.items():
        for width in (16, 128):
            before = GRAPH.format(nodes=nodes, edges=edges, width=width)
            for name, call in PRODUCTS.items():
                yield Workload(f"{name}, {size}, {width}", call, before)
            for name, (made, leaf) in GRADIENTS.items():
                back = f"torch.autograd.grad(made, ({leaf},), g, retain_graph=True)[-1]"
                setup = f"{before}{made}\ng = torch.randn(made.shape)"
                yield Workload(f"{name}, {size}, {width}, backward", back, setup)
        before = GRAPH.format(nodes=nodes, edges=edges, width=1) + "v = x[:, 0]"
        yield Workload(f"csr @ vector, {size}", "csr @ v", before)
        yield Workload(f"csr of int32 @ vector, {size}", "csr @ v", f"{before}\n{OF_INT32}")


def embeddings() -> Iterator[Workload]:
    for kind, more in (("Embedding", ""), ("EmbeddingBag", ", mode='sum'")):
        for rows, width in ((1000, 16), (20000, 64)):
            for name, optimizer in OPTIMIZERS.items():
                before = EMBEDDING.format(kind=kind, rows=rows, width=width, more=more, optimizer=optimizer)
                yield Workload(f"{kind}, {name}, {rows}x{width}", "step()", before)


WORKLOADS = [*products(), *embeddings()]
