"""Einsums of a traced function, fused and put in a better order by rewriting its graph."""

import torch
from opt_einsum_fx import fuse_einsums, jitable, optimize_einsums_full


def program(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    first = torch.einsum("zi,ij->zj", x, w)
    return 3 * torch.einsum("zj,jk->zk", first, w) + torch.tensordot(x, w, dims=([1], [0]))


torch.manual_seed(0)
x, w = torch.randn(5, 4), torch.randn(4, 4)
graph = torch.fx.symbolic_trace(program)
fused = fuse_einsums(graph.graph)
fused.lint()
better = optimize_einsums_full(model=graph, example_inputs=(x, w))
for nodes in (graph.graph.nodes, fused.nodes, better.graph.nodes):  # the letters of equations are drawn by chance
    print([(node.op, node.name, list(map(str, node.users))) for node in nodes])
print(torch.allclose(better(x, w), program(x, w), atol=1e-4), better(x, w).norm().item(), jitable is not None)
