"""Trees of tensors: flattened, mapped, transposed, put into one vector, and compared."""

import optree
import torch
from optree.integrations.torch import tree_ravel

torch.manual_seed(0)
tree = {"b": [torch.randn(2, 3), torch.zeros(1)], "a": (torch.arange(3.0), None), "c": {"d": torch.eye(2)}}
leaves, spec = optree.tree_flatten(tree)
print(len(leaves), spec, optree.tree_structure(tree, none_is_leaf=True))
print(optree.tree_map(lambda t: tuple(t.shape), tree), optree.tree_reduce(lambda a, t: a + t.sum(), tree, 0.0).item())
flat, back = tree_ravel(tree)
print(tuple(flat.shape), optree.tree_all(optree.tree_map(torch.equal, back(flat), tree)))
print(optree.tree_paths(tree), optree.tree_broadcast_prefix(1, tree))
