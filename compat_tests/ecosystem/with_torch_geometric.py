"""A graph convolution network and attention, trained."""

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, global_mean_pool

torch.manual_seed(0)
edges = torch.tensor([[0, 1, 1, 2, 3, 0], [1, 0, 2, 1, 0, 3]])
data = Data(x=torch.randn(4, 5), edge_index=edges, y=torch.tensor([0, 1, 0, 1]))
for kind in (GCNConv, GATConv, SAGEConv):
    torch.manual_seed(1)
    first, second = kind(5, 8), kind(8, 2)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], 1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(second(first(data.x, edges).relu(), edges), data.y)
        loss.backward()
        optimizer.step()
    print(kind.__name__, loss.item())
batch = Batch.from_data_list([data, data])
print(batch.num_nodes, global_mean_pool(batch.x, batch.batch).sum().item())
