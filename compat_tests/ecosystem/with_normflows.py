"""Flows of normflows: couplings, planar layers and splines, trained by the forward and the reverse divergence."""

import normflows as nf
import torch

torch.manual_seed(0)
target = nf.distributions.TwoMoons()
flows = []
for _ in range(3):
    flows += [nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 16, 2], init_zeros=True)), nf.flows.Permute(2, mode="swap")]
model = nf.NormalizingFlow(nf.distributions.DiagGaussian(2, trainable=False), flows, target)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(6):
    loss = model.forward_kld(torch.randn(64, 2)) if step % 2 else model.reverse_kld(64)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
samples, logs = model.sample(32)
print(samples.norm().item(), logs.sum().item(), model.log_prob(samples).sum().item())
spline = nf.NormalizingFlow(
    nf.distributions.DiagGaussian(2), [nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8)]
)
print(spline.log_prob(torch.randn(5, 2)).tolist())
