"""Ensembles of networks: by votes, bagging, boosting, snapshots and others, trained and asked."""

import torch
import torchensemble
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
points = torch.randn(60, 4)
loader = DataLoader(TensorDataset(points, (points.sum(1) > 0).long()), batch_size=20, shuffle=True)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


for kind in ("Voting", "Bagging", "GradientBoosting", "Fusion", "SnapshotEnsemble", "FastGeometric"):
    torch.manual_seed(0)
    model = getattr(torchensemble, f"{kind}Classifier")(estimator=Net, n_estimators=2, cuda=False)
    model.set_criterion(torch.nn.CrossEntropyLoss())
    model.set_optimizer("Adam", lr=1e-2)
    model.fit(loader, epochs=2, save_model=False)
    said = model.predict(points[:3]).flatten().tolist()
    print(kind, f"{model.evaluate(loader):.2f}", *[f"{value:.4f}" for value in said])
