"""Bad input raises PyTorch's type of exception, and leaves everything as it was."""

import numpy as np
import pytest

import torchlite

torch = pytest.importorskip("torch")

SETUP = """
f = torch.arange(6.0).reshape(2, 3)
d = torch.arange(6, dtype=torch.float64).reshape(2, 3)
i = torch.arange(6).reshape(2, 3)
b = i > 2
c = torch.complex(f, f)
h = f.to(torch.bfloat16)
v = torch.arange(3.0)
w = torch.ones(2, 3, requires_grad=True)
y = w * 2
e = torch.ones(3, 1).expand(3, 4)
z = torch.zeros(0, 3)
m = torch.ones(2, 3, device="meta")
readonly = np.ones(3); readonly.flags.writeable = False
"""

CASES = """
f + torch.ones(4)                       | f.add_(torch.ones(5, 2, 3))           | f.add(1, 2, 3)
torch.add(f)                            | torch.add(f, "a")                     | f + "a"
f + None                                | f - [1, 2, 3]                         | b - b
-b                                      | i.add_(1.5)                           | f.mul_(1j)
b.add_(i)                               | i.div_(2)                             | f.copy_(torch.ones(4))
f.fill_(torch.ones(2))                  | f.fill_(1j)                           | i // 0
i % 0                                   | i ** -1                               | torch.pow(i, torch.tensor(-1))
f << 1                                  | f & f                                 | ~f
torch.bitwise_and(f, i)                 | torch.maximum(c, c)                   | c < c
torch.sign(c)                           | torch.floor(c)                        | torch.clamp(f)
torch.clamp(c, 0, 1)                    | torch.where(f, f, f)                  | torch.where(b, f, torch.ones(4))
torch.lerp(f, i, 0.5)                   | torch.atan2(c, c)                     | torch.erf(c)
torch.lgamma(c)                         | torch.polygamma(-1, f)                | torch.round(i, decimals=1)
f.sum(5)                                | f.sum(-3)                             | f.sum([0, 0])
f.sum("a")                              | f.sum(0, foo=1)                       | f.mean(dtype=torch.int64)
i.mean()                                | torch.mean(b)                         | f.max(2)
z.max()                                 | z.argmax()                            | z.max(0)
f.median(3)                             | f.var(4)                              | i.var()
f.norm(dim=5)                           | torch.cumsum(f, 3)                    | torch.cumsum(f)
f.cumprod()                             | torch.logsumexp(f, 4)                 | torch.quantile(f, 2.0)
torch.quantile(i, 0.5)
torch.bincount(f)
torch.bincount(torch.tensor([-1]))
torch.histc(i)                          | f.any(dim=3)                          | torch.unique(f, dim=4)
f.softmax(2)                            | torch.prod(f, 0, 1, 2, 3)             | f.kthvalue(9)
f.topk(9)                               | f.topk(2, dim=4)                      | f.sort(3)
torch.searchsorted(f, torch.ones(4, 3)) | torch.bucketize(f, f)                 | torch.argsort(f, 5)
f.view(7)                               | f.view(-1, -1)                        | f.view(2.5)
f.t().view(6)                           | f.reshape(4, -1)                      | f.reshape(-2, 3)
f.expand(3, 3)                          | f.expand(3)                           | f.expand(-1, 2, 3)
f.permute(0)                            | f.permute(0, 0)                       | f.permute(0, 5)
f.transpose(0, 3)                       | torch.ones(2, 2, 2).t()               | f.squeeze(4)
f.unsqueeze(4)                          | f.flatten(1, 0)                       | f.unflatten(0, (3, 3))
f.split(0)                              | f.split([1, 2])                       | f.split(-1)
f.chunk(0)                              | f.chunk(2, 4)                         | f.unbind(3)
f.narrow(0, 1, 5)                       | f.narrow(0, 5, 1)                     | f.select(0, 4)
f.unfold(0, 5, 1)                       | f.unfold(0, 1, 0)                     | f.diagonal(dim1=0, dim2=0)
f.as_strided((9, 9), (9, 1))            | f.as_strided((2,), (1, 1))            | f.as_strided((2,), (-1,))
torch.cat([])                           | torch.cat([f, v])                     | torch.cat([f, torch.ones(2, 4)])
torch.cat([f, 1])                       | torch.cat(f, 5)                       | torch.stack([f, v])
torch.stack([])                         | torch.stack(3)                        | torch.hstack([])
f.roll(1, 5)                            | f.roll((1, 2), 0)                     | f.flip(4)
f.repeat(2)                             | f.repeat(-1, 2)                       | f.repeat_interleave(-1)
f.tile("a")
f.movedim((0, 1), (0, 0))
torch.meshgrid(f, f, indexing="ab")
f.rot90(1, (0, 0))
v.tril()
torch.block_diag(torch.ones(2, 2, 2))
f[5]
f[0, 0, 0]
f[0:2:0]
f[:, ::-1]                              | f[1.5]                                | f[f]
f[torch.tensor([5])]                    | f[torch.tensor([True, False, True])]  | f[[0, 5]]
f[torch.tensor([0, 1]), torch.tensor([0, 1, 2])] | f[None, 5]                   | torch.tensor(1.0)[0]
f.__setitem__(5, 1.0)                   | f.__setitem__(0, torch.ones(5))       | f.__setitem__(b, torch.ones(2))
f.__setitem__(0, "a")
f.__setitem__((0, 0, 0), 1)
f.__setitem__(torch.tensor([7]), 1.0)
f.gather(0, torch.tensor([[9]]))        | f.gather(0, f)                        | f.gather(3, i)
f.gather(0, torch.tensor([0]))          | f.scatter(0, torch.tensor([[9]]), 1.) | f.scatter(0, f, 1.0)
f.scatter_add(0, f, f)                  | f.index_select(0, torch.tensor([9]))  | f.index_select(0, f)
f.index_select(4, torch.tensor([0]))
f.index_add(0, torch.tensor([9]), f[:1])
f.index_add(0, torch.tensor([0]), f)
f.index_copy(0, torch.tensor([9]), f[:1]) | f.index_fill(0, torch.tensor([9]), 1) | f.index_fill(0, f, 1)
f.masked_fill(f, 1)                     | f.masked_fill(torch.ones(4) > 0, 1)   | f.masked_fill(b, torch.ones(2))
f.masked_select(f)                      | f.masked_scatter(b, torch.ones(1))    | f.take(torch.tensor([9]))
f.take(f)
f.put(torch.tensor([9]), torch.ones(1))
f.index_put((torch.tensor([9]),), v)
f.take_along_dim(f, 0)                  | torch.select_scatter(f, v, 0, 5)      | torch.slice_scatter(f, v, 0)
f @ f                                   | torch.mm(f, v)                        | torch.mm(f, f)
torch.mm(f, d.t())                      | torch.bmm(f, f)                       | torch.mv(f, f)
torch.dot(f, f)                         | torch.dot(v, torch.ones(4))           | torch.dot(v, i[0])
torch.matmul(torch.tensor(1.0), f)      | torch.addmm(torch.ones(5), f, f.t())  | torch.addmm(f, f, f)
torch.baddbmm(f, f, f)                  | torch.outer(f, v)                     | torch.einsum("ij,jk", f, f)
torch.einsum("ij", f, f)                | torch.einsum("i->ij", v)              | torch.einsum("ijk", f)
torch.tensordot(f, f, 1)                | torch.trace(v)                        | torch.cross(f, torch.ones(2, 4))
torch.inner(f, torch.ones(2, 4))        | torch.kron(f, "a")                    | torch.addr(f, f, f)
torch.zeros(-1)                         | torch.zeros("a")                      | torch.zeros(2.5)
torch.zeros(2, dtype="float")           | torch.zeros(2, device="nowhere")      | torch.ones(2, layout="strided")
torch.full((2,), "a")                   | torch.full((2,), 300, dtype=torch.uint8) | torch.eye(-1)
torch.arange(1, 5, 0)                   | torch.arange(5, 1)                    | torch.arange(0, float("inf"))
torch.arange()                          | torch.linspace(0, 1)                  | torch.linspace(0, 1, -1)
torch.tensor([[1], [1, 2]])             | torch.tensor("a")                     | torch.tensor(None)
torch.tensor([1, "a"])                  | torch.tensor(1j, dtype=torch.float32) | torch.tensor({1: 2})
torch.tensor([1], dtype=torch.int64, requires_grad=True)
torch.tensor(300, dtype=torch.uint8)
torch.as_tensor(object())
torch.from_numpy([1])
torch.from_numpy(np.array(["a"]))
torch.from_numpy(np.ones(3)[::-1])
torch.frombuffer(b"", dtype=torch.uint8) | torch.frombuffer(b"abc", dtype=torch.int16) | torch.complex(f, d)
torch.complex(i, i)                     | torch.empty_strided((2,), (1, 1))     | torch.tril_indices(-1, 2)
torch.randint(5, 1, (2,))               | torch.rand(-1)                        | torch.randperm(-1)
torch.multinomial(-v, 1)                | torch.bernoulli(f * 5)                | f.normal_(0, -1)
f.uniform_(2, 1)                        | i.uniform_()                          | f.exponential_(-1)
f.geometric_(2)
torch.normal(0.0, -1.0, (2,))
torch.Generator().manual_seed("a")
f.item()                                | bool(f)                               | int(f)
len(torch.tensor(1))                    | list(torch.tensor(1))                 | f.numpy(1)
w.numpy()                               | m.item()                              | m.tolist()
m.numpy()                               | f + m                                 | f.to("nowhere")
f.to([1])                               | f.size(4)                             | f.stride(4)
w.add_(1)                               | w[0].add_(1)                          | e.add_(1)
e.t().mul_(2)
torch.add(f, f, out=torch.ones(2, 3, dtype=torch.int64))
torch.add(w, 1, out=torch.ones(2, 3))
torch.add(f, f, out="a")
torch.exp(f, out=m)
torch.sum(f, 0, out=torch.ones(3, dtype=torch.int64))
y.backward()                            | f.sum().backward()                    | y.backward(torch.ones(3))
y.sum().backward("a")
torch.autograd.grad(y.sum(), f)
torch.autograd.grad(y.sum(), torch.ones(1, requires_grad=True))
i.requires_grad_()                      | y.requires_grad_(False)               | torch.exp(i, out=i)
f.retain_grad()                         | f.register_hook(print)                | setattr(w, "grad", torch.ones(3))
setattr(w, "grad", 1)                   | setattr(w, "data", 1)                 | setattr(f, "shape", (3, 2))
torch.promote_types(torch.float8_e5m2, torch.float32) | torch.finfo(torch.int64) | torch.iinfo(torch.float32)
torch.set_default_dtype(torch.int64)    | torch.device("nowhere")               | torch.Size(["a"])
f.type("torch.NoTensor")                | torch.relu()                          | torch.relu(3)
torch.exp(f, f)                         | torch.exp("a")                        | torch.exp(f, nothing=1)
"""

EXPRESSIONS = [case.strip() for line in CASES.strip().splitlines() for case in line.split("|")]


def scene(module):
    names = {"torch": module, "np": np}
    exec(SETUP, names)
    return names


def state(names):
    """All that a failed call might have changed."""
    kept = {}
    for name, value in names.items():
        if hasattr(value, "_version") and value.device.type == "cpu":
            kept[name] = (
                str(value.detach().tolist()), str(value.dtype), value.stride(), value._version, value.requires_grad,
                value.grad if value.is_leaf else None,
            )  # fmt: skip
    return kept


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_bad_input(expression):
    raised = []
    for module in (torch, torchlite):
        names = scene(module)
        before = state(names)
        module.manual_seed(0)
        try:
            eval(expression, names)
            raised.append(None)
        except Exception as error:
            raised.append(type(error).__name__)
            if module is torchlite:
                assert state(names) == before
                assert module.is_grad_enabled()
                assert error.__suppress_context__ or error.__context__ is None  # a traceback shows it alone
    assert raised[1] == raised[0]


def test_cases_are_bad():
    """Most expressions must be bad in PyTorch itself, or this file tests nothing."""
    names = scene(torch)
    bad = 0
    for expression in EXPRESSIONS:
        try:
            eval(expression, dict(names))
        except Exception:
            bad += 1
    assert bad > 0.9 * len(EXPRESSIONS)
