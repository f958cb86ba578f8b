"""Operations on small tensors, of every kind, as programs write them."""

import math

from .timing import workloads

SETUP = """
func = torch.func
x, y = torch.full((4, 4), 1.25), torch.full((4, 4), 0.75)
w, v = torch.full((4, 4), 1.1, requires_grad=True), torch.full((4, 4), 0.9, requires_grad=True)
row, bias = torch.ones(4), torch.zeros(4)
count, ints = torch.tensor(3), torch.tensor([0, 1, 2, 3])
mask, target = x > y, torch.tensor([0, 1, 2, 3])
many = torch.full((64,), 0.5)

def power(w):
    z = w
    for _ in range(20):
        z = z * w
    return z

def chain(w):
    return torch.tanh(w * w + 1).sum()

deep = torch.full((4, 4), 1.0, requires_grad=True)
def thousand():
    z = deep
    for _ in range(1000):
        z = z + 1.0
    z.sum().backward()

def twice():
    g, = torch.autograd.grad((w ** 3).sum(), w, create_graph=True)
    return torch.autograd.grad((g * g).sum(), w)

def scaled():
    with torch.no_grad():
        return w * 2.0

def hooked():
    z = w * y
    z.register_hook(lambda g: g * 2)
    z.sum().backward()

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2

linear, relu = nn.Linear(4, 4), nn.ReLU()
watched = nn.Linear(4, 4)
watched.register_forward_hook(lambda module, args, output: None)
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
images, labels = torch.ones(32, 64), torch.zeros(32, dtype=torch.int64)

def stepper(kind, **options):
    parameters = [torch.ones(4, 4, requires_grad=True) for _ in range(10)]
    for p in parameters:
        p.grad = torch.full((4, 4), 0.1)
    return getattr(torch.optim, kind)(parameters, lr=1e-5, **options).step

sgd, momentum, adam, adamw = stepper("SGD"), stepper("SGD", momentum=0.9), stepper("Adam"), stepper("AdamW")
training = torch.optim.Adam(net.parameters())

def step():
    training.zero_grad()
    F.cross_entropy(net(images), labels).backward()
    training.step()
"""

# The plainest: what the whole of a small model's step is made of.
PLAIN = {
    "add": "x + y",
    "mul": "x * y",
    "add, one operand with grad": "w + y",
    "add a number": "x + 1.0",
    "add in place": "x.add_(y)",
    "matmul": "x @ y",
    "relu": "torch.relu(x)",
    "sum": "x.sum()",
    "getitem": "x[0]",
    "reshape": "x.reshape(2, 8)",
    "20 mul forward": "power(w)",
    "20 mul, sum, backward": "power(w).sum().backward()",
}

ELEMENTWISE = {
    "exp": "x.exp()",
    "tanh, with grad": "torch.tanh(w)",
    "sigmoid": "torch.sigmoid(x)",
    "neg": "-x",
    "pow": "x ** 2",
    "pow, with grad": "w ** 2",
    "sqrt": "x.sqrt()",
    "clamp": "x.clamp(0, 1)",
    "gelu": "F.gelu(x)",
    "dropout, in evaluation": "F.dropout(x, 0.5, False)",
    "number minus": "1.0 - x",
    "number divided by": "1.0 / x",
    "add a row": "x + row",
    "div": "x / y",
    "div, with grad": "w / v",
    "maximum": "torch.maximum(x, y)",
    "compare": "x > y",
    "compare with a number": "ints == 2",
    "where": "torch.where(mask, x, y)",
    "where, with grad": "torch.where(mask, w, y)",
    "lerp": "torch.lerp(x, y, 0.5)",
    "to float64": "x.to(torch.float64)",
    "to int64": "x.long()",
    "clone": "x.clone()",
    "clone, with grad": "w.clone()",
    "mul in place": "y.mul_(1.0)",
    "zero in place": "many.zero_()",
    "fill in place": "many.fill_(0.5)",
    "copy in place": "many.copy_(many)",
    "masked_fill": "x.masked_fill(mask, 0.0)",
}

REDUCTIONS = {
    "sum along": "x.sum(1)",
    "mean": "x.mean()",
    "mean along, with grad": "w.mean(0)",
    "max": "x.max()",
    "argmax along": "x.argmax(1)",
    "max along": "x.max(1)",
    "var": "x.var()",
    "norm": "x.norm()",
    "cumsum": "x.cumsum(0)",
    "softmax": "torch.softmax(x, 1)",
    "softmax, with grad": "torch.softmax(w, 1)",
    "log_softmax": "F.log_softmax(x, 1)",
    "all": "mask.all()",
}

VIEWS = {
    "getitem, slice": "x[1:3]",
    "getitem, with grad": "w[0]",
    "getitem, mask": "x[mask]",
    "getitem, integers": "x[ints]",
    "setitem": "many.__setitem__(0, 0.5)",
    "reshape, with grad": "w.reshape(2, 8)",
    "view": "x.view(-1)",
    "transpose": "x.transpose(0, 1)",
    "transpose, with grad": "w.transpose(0, 1)",
    "T": "x.T",
    "unsqueeze": "x.unsqueeze(0)",
    "expand": "row.expand(4, 4)",
    "permute": "x.permute(1, 0)",
    "flatten": "x.flatten()",
    "chunk": "x.chunk(2)",
    "detach": "w.detach()",
}

JOINS_AND_FACTORIES = {
    "cat": "torch.cat([x, y])",
    "cat, with grad": "torch.cat([w, y])",
    "stack": "torch.stack([x, y])",
    "gather": "x.gather(1, ints[:, None])",
    "zeros": "torch.zeros(4, 4)",
    "ones": "torch.ones(4, 4)",
    "empty": "torch.empty(4, 4)",
    "full": "torch.full((4, 4), 2.0)",
    "arange": "torch.arange(4)",
    "zeros_like": "torch.zeros_like(x)",
    "ones_like": "torch.ones_like(x)",
    "tensor": "torch.tensor([1.0, 2.0])",
    "rand": "torch.rand(4, 4)",
    "randn": "torch.randn(4, 4)",
}

LAYERS = {
    "linear": "F.linear(x, y, bias)",
    "linear, with grad": "F.linear(w, y, bias)",
    "linear, backward": "F.linear(w, v, bias).sum().backward()",
    "embedding": "F.embedding(ints, x)",
    "layer_norm": "F.layer_norm(x, (4,), row, bias)",
    "layer_norm, with grad": "F.layer_norm(w, (4,), row, bias)",
    "cross_entropy": "F.cross_entropy(x, target)",
    "cross_entropy, with grad": "F.cross_entropy(w, target)",
    "cross_entropy, backward": "F.cross_entropy(w, target).backward()",
    "mse_loss": "F.mse_loss(x, y)",
    "nn.Linear": "linear(x)",
    "nn.ReLU": "relu(x)",
    "nn.Linear with a hook": "watched(x)",
    "nn.Sequential": "model(x)",
    "parameters": "list(model.parameters())",
}

GRADIENTS = {
    "sum, backward": "w.sum().backward()",
    "1000 add, backward": "thousand()",
    "autograd.grad": "torch.autograd.grad(chain(w), w)",
    "backward, keeping the graph": "chain(w).backward(retain_graph=True)",
    "double backward": "twice()",
    "under no_grad": "scaled()",
    "tensor hook, backward": "hooked()",
    "custom Function": "Double.apply(w)",
    "custom Function, backward": "Double.apply(w).sum().backward()",
    "func.grad": "func.grad(chain)(x)",
    "func.vjp": "func.vjp(torch.tanh, x)[1](y)",
    "func.jvp": "func.jvp(torch.tanh, (x,), (y,))",
    "func.vmap": "func.vmap(torch.dot)(x, y)",
    "func.jacrev": "func.jacrev(torch.tanh)(row)",
}

AROUND = {
    "shape": "x.shape",
    "item": "count.item()",
    "tolist": "x.tolist()",
    "numpy": "x.numpy()",
    "SGD, 10 tensors": "sgd()",
    "SGD with momentum, 10 tensors": "momentum()",
    "Adam, 10 tensors": "adam()",
    "AdamW, 10 tensors": "adamw()",
    "MLP 64-64-10, Adam step": "step()",
}

GROUPS = (PLAIN, ELEMENTWISE, REDUCTIONS, VIEWS, JOINS_AND_FACTORIES, LAYERS, GRADIENTS, AROUND)
SNIPPETS = {name: statement for group in GROUPS for name, statement in group.items()}
EMPTY = {"empty": SNIPPETS.pop("empty")}

WORKLOADS = [*workloads(SETUP, SNIPPETS), *workloads(SETUP, EMPTY, math.inf)]
