"""A sentence transformer of a small BERT: pooling, similarity, a loss's gradient."""

import torch
from sentence_transformers import models, util

torch.manual_seed(0)
pooling = models.Pooling(8, pooling_mode="mean")
tokens, mask = torch.randn(3, 5, 8, requires_grad=True), torch.tensor([[1, 1, 1, 0, 0], [1] * 5, [1, 1, 0, 0, 0]])
found = pooling({"token_embeddings": tokens, "attention_mask": mask})["sentence_embedding"]
dense = models.Dense(8, 4)
vectors = dense({"sentence_embedding": found})["sentence_embedding"]
scores = util.cos_sim(vectors, vectors)
scores.sum().backward()
print(scores.tolist(), tokens.grad.norm().item())
print(util.semantic_search(vectors.detach(), vectors.detach(), top_k=2))
