"""Channels pruned together with all that depends on them, by the norm of their weights, in steps."""

import torch
import torch_pruning as tp
from torchvision.models import resnet18

torch.manual_seed(0)
model = resnet18(num_classes=5).eval().double()
x = torch.randn(1, 3, 64, 64).double()
graph = tp.DependencyGraph().build_dependency(model, example_inputs=x)
group = graph.get_pruning_group(model.conv1, tp.prune_conv_out_channels, idxs=[2, 6, 9])
print(len(group), graph.check_pruning_group(group))
group.prune()
print(tuple(model.conv1.weight.shape), tuple(model(x).shape))
importance = tp.importance.MagnitudeImportance(p=2)
pruner = tp.pruner.MagnitudePruner(
    model, x, importance=importance, iterative_steps=2, pruning_ratio=0.5, ignored_layers=[model.fc]
)
print(tp.utils.count_ops_and_params(model, x))
for _ in range(2):
    pruner.step()
    print(tp.utils.count_ops_and_params(model, x))
model(x).sum().backward()
print(model(x).abs().sum().item(), sum(p.grad.norm().item() for p in model.parameters()))
