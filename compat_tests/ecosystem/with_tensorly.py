"""Decompositions of tensors with torch as the backend: CP, Tucker, trains, robust PCA, and gradients through them."""

import tensorly as tl
import torch
from tensorly.decomposition import non_negative_parafac, parafac, tensor_train, tucker
from tensorly.tenalg import khatri_rao, mode_dot, multi_mode_dot, svd_interface

tl.set_backend("pytorch")
torch.manual_seed(0)
x = torch.rand(4, 5, 6, dtype=torch.float64)
weights, factors = parafac(x, rank=3, n_iter_max=20, init="svd", random_state=0)
print(tl.norm(x - tl.cp_to_tensor((weights, factors))).item())
core, factors = tucker(x, rank=[2, 3, 3], n_iter_max=10)
print(tuple(core.shape), tl.norm(x - tl.tucker_to_tensor((core, factors))).item())
train = tensor_train(x, rank=[1, 3, 3, 1])
print([tuple(f.shape) for f in train], tl.norm(x - tl.tt_to_tensor(train)).item())
print(tl.norm(x - tl.cp_to_tensor(non_negative_parafac(x, rank=3, n_iter_max=20, init="svd"))).item())
print(khatri_rao([x[0], x[1]]).sum().item(), mode_dot(x, x[0], 1).shape if x.shape[1] == 6 else tl.unfold(x, 1).shape)
a = torch.rand(3, 4, dtype=torch.float64, requires_grad=True)
multi_mode_dot(x, [a], modes=[0]).square().sum().backward()
print(a.grad.norm().item(), svd_interface(tl.unfold(x, 0), n_eigenvecs=2)[1].tolist())
