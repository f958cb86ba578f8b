"""Clusters of many sets of points at once, with hard and with soft membership, and of new points."""

import torch
import torch_kmeans

torch.manual_seed(0)
points = torch.randn(4, 30, 2)
for kind in (torch_kmeans.KMeans, torch_kmeans.SoftKMeans):
    clusters = kind(n_clusters=3, seed=1, verbose=False)
    found = clusters(points)
    clusters.fit(points)
    print(clusters, *found.labels.sum(1).tolist())
    print(*[f"{value:.3f}" for value in found.centers.flatten().tolist()])
    print("inertia", *[f"{value:.3f}" for value in found.inertia.flatten().tolist()])
    print("new points", *clusters.predict(points + 0.1).flatten().tolist())
