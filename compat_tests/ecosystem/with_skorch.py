"""skorch: training, a grid search by scikit-learn, saving, pickling."""

import os
import pickle
import tempfile

import numpy as np
import torch
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EarlyStopping, LRScheduler

os.chdir(tempfile.mkdtemp())
torch.manual_seed(0)
X, y = make_classification(120, 20, n_informative=10, random_state=0)
X, y = X.astype(np.float32), y.astype(np.int64)


class Net(torch.nn.Module):
    def __init__(self, width: int = 10) -> None:
        super().__init__()
        self.a, self.drop, self.b = torch.nn.Linear(20, width), torch.nn.Dropout(0.2), torch.nn.Linear(width, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.b(self.drop(torch.relu(self.a(x)))), -1)


callbacks = [EarlyStopping(), LRScheduler("StepLR", step_size=3)]
net = NeuralNetClassifier(Net, max_epochs=5, lr=0.1, verbose=0, iterator_train__shuffle=True, callbacks=callbacks)
net.fit(X, y)
print(*net.history[:, "train_loss"], *net.history[:, "valid_acc"], net.score(X, y))
print(*net.predict_proba(X[:3]).ravel())

search = GridSearchCV(clone(net), {"lr": [0.1, 0.01], "module__width": [4, 8]}, cv=2, scoring="accuracy")
search.fit(X, y)
print(search.best_params_, search.best_score_)

net.save_params(f_params="params", f_optimizer="optimizer", f_history="history")
again = NeuralNetClassifier(Net).initialize()
again.load_params(f_params="params", f_optimizer="optimizer", f_history="history")
for copy in (again, pickle.loads(pickle.dumps(net))):
    assert np.array_equal(copy.predict_proba(X), net.predict_proba(X))

line = NeuralNetRegressor(torch.nn.Linear(20, 1), max_epochs=3, verbose=0).fit(X, y[:, None].astype(np.float32))
print(*line.history[:, "valid_loss"])
