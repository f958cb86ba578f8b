"""What surrounds the ops in a small training step."""

from .timing import workloads

SETUP = """
import numpy as np
x = torch.full((4, 4), 1.25)
w = torch.full((4, 4), 1.1, requires_grad=True)
z = w * x
w.grad = x.clone()
one, count = torch.tensor(1.5), torch.tensor(3)
array = np.ones((4, 4), np.float32)
class Empty(nn.Module):
    def forward(self, x):
        return x
empty, relu, linear = Empty(), nn.ReLU(), nn.Linear(4, 4)
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
def nothing():
    with torch.no_grad():
        pass
def again():
    with torch.enable_grad():
        pass
def either():
    with torch.set_grad_enabled(False):
        pass
def inference():
    with torch.inference_mode():
        pass
decorated = torch.no_grad()(lambda: None)
def forget():
    w.grad = None
"""

SNIPPETS = {
    **{
        name: name
        for name in (
            "x.shape", "x.size()", "x.size(0)", "x.dim()", "x.ndim", "x.numel()", "x.stride()", "x.dtype", "x.device",
            "x.requires_grad", "w.requires_grad", "w.is_leaf", "z.is_leaf", "z.grad_fn", "w.grad", "x.data_ptr()",
            "x._version", "len(x)", "x.is_contiguous()", "x.is_floating_point()", "x.is_cuda", "x.data", "x.detach()",
            "z.detach()", "one.item()", "count.item()", "float(one)", "bool(one)", "int(count)", "x.tolist()",
            "x.numpy()", "torch.from_numpy(array)", "torch.is_tensor(x)", "torch.is_grad_enabled()", "empty(x)",
            "relu(x)", "linear(x)", "model(x)", "linear.weight", "model[0]", "model.zero_grad()",
            "torch.Size((4, 4))", "x.shape[0]", "x.shape == (4, 4)", "x.shape.numel()",
        )
    },
    "grad = None": "forget()",
    "no_grad": "nothing()",
    "enable_grad": "again()",
    "set_grad_enabled": "either()",
    "inference_mode": "inference()",
    "no_grad, decorated": "decorated()",
}  # fmt: skip

WORKLOADS = workloads(SETUP, SNIPPETS)
