"""The Fisher information of a network, dense, of the diagonal, in blocks and as products of Kronecker."""

import torch
from nngeometry.metrics import FIM
from nngeometry.object import PMatBlockDiag, PMatDense, PMatDiag, PMatEKFAC, PMatKFAC
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
loader = DataLoader(TensorDataset(torch.randn(20, 4), torch.randint(0, 3, (20,))), batch_size=10)
for form in (PMatDense, PMatDiag, PMatBlockDiag, PMatKFAC, PMatEKFAC):
    fisher = FIM(model=model, loader=loader, representation=form, variant="classif_logits")
    print(form.__name__, f"{fisher.trace().item():.4f} {fisher.frobenius_norm().item():.4f}")
