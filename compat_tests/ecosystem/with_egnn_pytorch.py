"""Equivariant networks over points: features and coordinates, with neighbours, and with adjacency."""

import torch
from egnn_pytorch import EGNN, EGNN_Network

torch.manual_seed(0)
layer = EGNN(dim=8, edge_dim=2)
features, points, edges = torch.randn(1, 6, 8), torch.randn(1, 6, 3, requires_grad=True), torch.randn(1, 6, 6, 2)
features, moved = layer(features, points, edges)
(features.sum() + moved.square().sum()).backward()
print(round(features.sum().item(), 3), round(points.grad.abs().sum().item(), 3))
net = EGNN_Network(num_tokens=5, num_positions=6, dim=8, depth=2, num_nearest_neighbors=3, coor_weights_clamp_value=2.0)
features, moved = net(torch.randint(0, 5, (1, 6)), torch.randn(1, 6, 3), mask=torch.ones(1, 6).bool())
print(round(features.sum().item(), 3), round(moved.sum().item(), 3))
