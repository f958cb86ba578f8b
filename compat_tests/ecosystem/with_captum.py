"""Attributions of a small network: integrated gradients, saliency, DeepLift, layers, occlusion."""

import torch
from captum.attr import DeepLift, FeatureAblation, IntegratedGradients, LayerConductance, Saliency, ShapleyValueSampling

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).eval()
x, baseline = torch.randn(4, 5), torch.zeros(4, 5)
for attribute in (IntegratedGradients(model), Saliency(model), DeepLift(model), FeatureAblation(model)):
    more = {} if isinstance(attribute, Saliency) else {"baselines": baseline}
    print(type(attribute).__name__, attribute.attribute(x.clone(), target=1, **more).flatten().tolist())
print(LayerConductance(model, model[0]).attribute(x, target=2).sum(1).tolist())
torch.manual_seed(1)
print(ShapleyValueSampling(model).attribute(x, target=0, n_samples=3).sum().item())
