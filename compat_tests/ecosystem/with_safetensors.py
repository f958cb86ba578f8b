"""Files of safetensors, of every dtype, in whole and in part, of tensors and of modules."""

import hashlib
import os
import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

os.chdir(tempfile.mkdtemp())
torch.manual_seed(0)
floats = "float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 complex64"
integers = "int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool"
tensors = {name: torch.randn(3, 4).to(getattr(torch, name)) for name in f"{floats} {integers}".split()}
tensors |= {"scalar": torch.tensor(3.0), "empty": torch.zeros(0, 2)}
save_file(tensors, "file", metadata={"by": "torch"})
print(hashlib.sha256(Path("file").read_bytes()).hexdigest())
for found in (load_file("file"), load(save(tensors))):
    for name, t in tensors.items():
        assert found[name].dtype is t.dtype and found[name].tolist() == t.tolist(), name

with safe_open("file", framework="pt", device="cpu") as file:
    part = file.get_slice("float32")
    print(sorted(file.keys()), file.metadata(), part.get_shape(), part.get_dtype())
    print(part[1:, :2].tolist(), part[0].tolist(), file.get_tensor("bfloat16").dtype)


def model() -> torch.nn.Module:
    made = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    return made.append(made[0])  # shared weights


first, second = model(), model()
save_model(first, "model")
print(load_model(second, "model"))
assert torch.equal(first[2].weight, second[0].weight)

for refused in ({"a": first[0].weight, "b": first[0].weight}, {"a": torch.ones(2, 3).t()}, {"a": 3}):
    try:
        save_file(refused, "never")
    except (RuntimeError, ValueError) as error:
        print(type(error).__name__, str(error).split("\n")[0][:60])
