"""Clusters of points by their distance or their direction."""

import numpy as np
import torch
from fast_pytorch_kmeans import KMeans

for mode in ("euclidean", "cosine"):
    np.random.seed(0)
    torch.manual_seed(0)
    clusters = KMeans(n_clusters=4, mode=mode, verbose=0)
    print(mode, *clusters.fit_predict(torch.randn(50, 3)).tolist())
    print(*[f"{value:.4f}" for value in clusters.centroids.flatten().tolist()])
    print("new points", *clusters.predict(torch.randn(5, 3)).tolist())
