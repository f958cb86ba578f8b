"""Losses over embeddings, miners of triplets, a memory of past batches, and retrieval accuracy."""

import torch
from pytorch_metric_learning import distances, losses, miners, reducers, regularizers

torch.manual_seed(0)
embeddings = torch.randn(24, 8, requires_grad=True)
labels = torch.arange(24) % 4
for loss in (
    losses.TripletMarginLoss(margin=0.2), losses.ContrastiveLoss(), losses.NTXentLoss(), losses.CircleLoss(),
    losses.MultiSimilarityLoss(), losses.SupConLoss(), losses.LiftedStructureLoss(), losses.AngularLoss(),
    losses.NPairsLoss(), losses.ArcFaceLoss(4, 8), losses.ProxyAnchorLoss(4, 8), losses.SoftTripleLoss(4, 8),
    losses.TripletMarginLoss(
        distance=distances.CosineSimilarity(), reducer=reducers.ThresholdReducer(low=0),
        embedding_regularizer=regularizers.LpRegularizer(),
    ),
):  # fmt: skip
    value = loss(embeddings, labels)
    (gradient,) = torch.autograd.grad(value, embeddings)
    print(type(loss).__name__, value.item(), gradient.norm().item())
for miner in (miners.MultiSimilarityMiner(), miners.TripletMarginMiner(type_of_triplets="semihard"),
              miners.BatchHardMiner()):  # fmt: skip
    print(type(miner).__name__, [len(part) for part in miner(embeddings, labels)])
memory = losses.CrossBatchMemory(losses.NTXentLoss(), embedding_size=8, memory_size=32)
print([memory(embeddings, labels).item() for _ in range(2)])
