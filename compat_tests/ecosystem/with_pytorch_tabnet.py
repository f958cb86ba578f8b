"""TabNet on a table of numbers: a classifier and a regressor, fitted, asked, and its attention explained."""

import warnings

import numpy as np
import torch
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
x = rng.normal(size=(128, 6)).astype(np.float32)
y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).astype(int)
options = {"n_d": 4, "n_a": 4, "n_steps": 2, "seed": 0, "verbose": 0, "device_name": "cpu"}
classifier = TabNetClassifier(**options, optimizer_fn=torch.optim.Adam, optimizer_params={"lr": 2e-2})
classifier.fit(x[:96], y[:96], eval_set=[(x[96:], y[96:])], max_epochs=4, batch_size=32, virtual_batch_size=16)
print(*classifier.history["loss"], classifier.predict_proba(x[96:]).sum(0))
print(classifier.feature_importances_)
regressor = TabNetRegressor(**options)
regressor.fit(x[:96], y[:96, None].astype(np.float32), max_epochs=3, batch_size=32, virtual_batch_size=16)
print(*regressor.history["loss"], float(regressor.predict(x[96:]).sum()))
explained, masks = regressor.explain(x[96:])
print(explained.sum(), len(masks))
