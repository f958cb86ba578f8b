"""Training with an Accelerator: prepared parts, accumulation, clipping, gathered results, a checkpoint."""

import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

set_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
data = torch.utils.data.TensorDataset(torch.randn(32, 6), torch.randint(0, 2, (32,)))
loader = torch.utils.data.DataLoader(data, 8, shuffle=True)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
for _ in range(3):
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    print(accelerator.gather_for_metrics(loss.detach()).mean().item(), scheduler.get_last_lr())
with tempfile.TemporaryDirectory() as folder:
    accelerator.save_state(folder)
    before = [p.detach().clone() for p in model.parameters()]
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    accelerator.load_state(folder)
    print(all(map(torch.equal, before, model.parameters())))
