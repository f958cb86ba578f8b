"""Ensembles within one network, for tables: numbers and kinds, trained together"""

import torch
from rtdl_num_embeddings import LinearReLUEmbeddings
from tabm import TabM

numbers, kinds = torch.linspace(-1, 1, 60).reshape(20, 3), torch.arange(20).reshape(20, 1) % 4
y = numbers.sum(1)
for arch in ("tabm", "tabm-mini", "tabm-packed"):
    torch.manual_seed(0)
    model = TabM(
        n_num_features=3, cat_cardinalities=[4], d_out=1, num_embeddings=LinearReLUEmbeddings(3, 4), n_blocks=2,
        d_block=8, dropout=0.0, arch_type=arch, k=4,
        start_scaling_init=None if arch == "tabm-packed" else "random-signs",
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(5):
        made = model(numbers, kinds).squeeze(-1)
        loss = torch.nn.functional.mse_loss(made, y[:, None].expand(-1, 4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(arch, loss.item(), tuple(made.shape), sum(p.norm().item() for p in model.parameters()))
