"""A Model of poutyne: fitted on arrays with metrics of batches and epochs, evaluated, and its weights in a file."""

import os
import tempfile

import numpy as np
import torch
from poutyne import Model

torch.manual_seed(0)
np.random.seed(0)
network = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
x, y = torch.randn(64, 5).numpy(), torch.randint(0, 3, (64,)).numpy()
model = Model(network, "adam", "cross_entropy", batch_metrics=["accuracy"], epoch_metrics=["f1"])
for epoch in model.fit(x, y, epochs=3, batch_size=16, verbose=False, validation_data=(x, y)):
    print(*[f"{name} {value:.4f}" for name, value in epoch.items() if name != "time"])
loss, (accuracy, f1) = model.evaluate(x, y, verbose=False)
print(f"{loss:.4f} {accuracy:.4f} {f1:.4f} {model.predict(x, verbose=False).sum():.4f}")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "weights.pt")
    model.save_weights(path)
    print(model.load_weights(path))
