"""Layers with low-rank updates: only these are trained, merged for evaluation, and saved."""

import loralib as lora
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(
    lora.Embedding(20, 8, r=2), lora.Linear(8, 12, r=2, lora_alpha=4), torch.nn.ReLU(),
    lora.MergedLinear(12, 12, r=2, enable_lora=[True, False, True]), lora.Linear(12, 5, r=1),
)  # fmt: skip
lora.mark_only_lora_as_trainable(model)
print([name for name, p in model.named_parameters() if p.requires_grad])
ids, target = torch.randint(0, 20, (16,)), torch.randint(0, 5, (16,))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-2)
for _ in range(5):
    loss = torch.nn.functional.cross_entropy(model(ids), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
model.eval()
print(model(ids).norm().item(), sorted(lora.lora_state_dict(model)))
