"""Small programs, each of which changes some state of the thread or the process and comes back from it."""

from __future__ import annotations

import contextlib
import io
import threading
import warnings
from collections.abc import Callable
from typing import Any

import torchlite as torch
from torchlite.autograd import forward_ad, graph
from torchlite.nn.utils import parametrize, stateless
from torchlite.utils import checkpoint as ckpt

func = torch.func
PROGRAMS: dict[str, Callable[[Scene], Any]] = {}


class Scene:
    """What the programs work on, made anew for each."""

    def __init__(self) -> None:
        self.x = torch.arange(6.0).reshape(2, 3)
        self.w = torch.linspace(0.5, 1.5, 6).reshape(2, 3).requires_grad_()
        self.model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
        for p in self.model.parameters():
            with torch.no_grad():
                p.copy_(torch.linspace(-1, 1, p.numel()).reshape(p.shape))
        self.sgd = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)


def program(f: Callable[[Scene], Any]) -> Callable[[Scene], Any]:
    PROGRAMS[f.__name__] = f
    return f


def loss(s: Scene) -> torch.Tensor:
    return (s.x * s.w).sin().sum()


# ---- switches of recording


@program
def grad_modes(s: Scene) -> None:
    with torch.no_grad(), torch.enable_grad(), torch.inference_mode(False):
        loss(s)
    with torch.inference_mode(), torch.no_grad():
        loss(s)


@program
def set_at_once(s: Scene) -> None:
    with torch.set_grad_enabled(False):
        loss(s)
    with torch.autograd.grad_mode.set_multithreading_enabled(False), torch.autograd.set_detect_anomaly(True, False):
        loss(s).backward()
    with forward_ad._set_fwd_grad_enabled(False):
        loss(s)
    torch.set_grad_enabled(True)(loss)(s)


# Programs that may leave what they change, and why: so they do in PyTorch.
EXPLAINED = {
    "set_at_once": "`set_grad_enabled(…)` and its kin set as they are called, as statements do that are to last; "
    "an exception between that and the beginning of the `with` cannot be told from such a statement",
}


@program
def grad_mode_decorators(s: Scene) -> None:
    @torch.no_grad
    def plain() -> Any:
        return loss(s)

    @torch.enable_grad()
    def inner() -> Any:
        return plain() + loss(s)

    @torch.inference_mode()
    def inference() -> Any:
        return inner() + 1

    @torch.no_grad()
    def steps() -> Any:
        for i in range(3):
            yield loss(s) + i

    inference()
    list(steps())
    next(steps())


@program
def one_switch_many_times(s: Scene) -> None:
    off = torch.no_grad()
    with off, torch.enable_grad(), off:
        loss(s)
    with contextlib.ExitStack() as stack:
        stack.callback(loss, s)
    with off:
        with off:
            loss(s)
        loss(s)


@program
def version_counters(s: Scene) -> None:
    with torch.autograd._unsafe_preserve_version_counter(s.x):
        s.x.mul_(1)


# ---- autocast, devices, dtypes


@program
def autocast(s: Scene) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        s.model(s.x)
        with torch.autocast("cpu", enabled=False):
            s.model(s.x)
        with torch.no_grad():
            s.model(s.x)
    torch.autocast("cpu")(s.model.forward)(s.x)


@program
def devices(s: Scene) -> None:
    with torch.device("meta"):
        torch.ones(3) + 1
        with torch.device("cpu"):
            torch.zeros(2).sum()
    with torch.utils._device.DeviceContext("meta"):
        torch.ones(2)
    here = torch.device("cpu")
    with here, here, torch.device("meta"), here:
        torch.ones(1)


@program
def skip_init(s: Scene) -> None:
    torch.nn.utils.skip_init(torch.nn.Linear, 3, 2)


# ---- what is saved, and hooks


@program
def saved_tensors_hooks(s: Scene) -> None:
    with graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2):
        y = loss(s)
        with graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
            y = y + loss(s)
    y.backward()


@program
def saved_on_cpu(s: Scene) -> None:
    with graph.save_on_cpu():
        y = loss(s)
    y.backward()


@program
def hooks_refused(s: Scene) -> None:
    with graph.disable_saved_tensors_hooks("not here"), contextlib.suppress(RuntimeError), graph.save_on_cpu():
        loss(s)


@program
def mutation_allowed(s: Scene) -> None:
    with graph.allow_mutation_on_saved_tensors():
        y = s.w.clone()
        z = y.sin()
        y.mul_(2)
        z.sum().backward()


@program
def tensor_hooks(s: Scene) -> None:
    y = s.w * 2
    y.register_hook(lambda g: g * (g.sum() * 0 + 2))
    s.w.clone().register_hook(lambda g: None)
    with graph.register_multi_grad_hook((y,), lambda grads: None):
        y.sum().backward()


@program
def module_hooks(s: Scene) -> None:
    model = Scene().model
    handle = model.register_forward_hook(lambda m, a, out: out + 1)
    model[0].register_full_backward_hook(lambda m, gi, go: None)
    model[2].register_forward_pre_hook(lambda m, a: None)
    model(s.x).sum().backward()
    handle.remove()


# ---- backward


@program
def backward(s: Scene) -> None:
    loss(s).backward()
    torch.autograd.grad(loss(s), s.w, create_graph=True)[0].sum().backward()


class _Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2 * (x.sum() * 0 + 1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        with torch.enable_grad():  # a pass within the pass
            y = x.detach().requires_grad_()
            (y * 2).sum().backward()
        return g * y.grad


class _Separate(torch.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x.sin()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0].cos()

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return t * ctx.saved_tensors[0].cos()

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        return _Separate.apply(x), in_dims[0]


@program
def functions(s: Scene) -> None:
    _Twice.apply(s.w).sum().backward()
    func.grad(lambda x: _Separate.apply(x).sum())(s.x)
    func.vmap(_Separate.apply)(s.x)
    func.jvp(_Separate.apply, (s.x,), (torch.ones_like(s.x),))


@program
def once_differentiable(s: Scene) -> None:
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 3

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3

    Once.apply(s.w).sum().backward()


@program
def anomaly(s: Scene) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            loss(s).backward()


@program
def checkpoints(s: Scene) -> None:
    for reentrant in (False, True):
        ckpt.checkpoint(s.model, s.x + s.w, use_reentrant=reentrant).sum().backward()
    with ckpt.set_checkpoint_early_stop(False), ckpt.set_checkpoint_debug_enabled(False):
        y = ckpt.checkpoint(lambda x: s.model(x).sin(), s.w, use_reentrant=False)
    y.sum().backward()


@program
def selective_checkpoint(s: Scene) -> None:
    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        return ckpt.CheckpointPolicy.MUST_SAVE if "tanh" in str(op) else ckpt.CheckpointPolicy.PREFER_RECOMPUTE

    contexts = lambda: ckpt.create_selective_checkpoint_contexts(policy)
    ckpt.checkpoint(s.model, s.w, use_reentrant=False, context_fn=contexts).sum().backward()


@program
def views_written_to(s: Scene) -> None:
    y = s.w * 1
    v = y[0]
    y.mul_(2)
    v.add_(1)
    (y * v).sum().backward()


@program
def conjugates(s: Scene) -> None:
    z = torch.complex(s.w, s.w).conj()
    y = z * 2
    y.imag.sum().backward()
    with torch.no_grad():
        z.clone().conj().mul_(2)


# ---- transforms


@program
def func_grad(s: Scene) -> None:
    f = lambda x: (x * s.x).sin().sum()
    func.grad(f)(s.w)
    func.grad(func.grad(lambda x: x.sin() * x))(torch.tensor(0.5))
    func.grad_and_value(f)(s.x)
    _, pullback = func.vjp(torch.sin, s.x)
    pullback(torch.ones_like(s.x))


@program
def func_jvp(s: Scene) -> None:
    func.jvp(lambda x: x.sin() @ x.T, (s.x,), (torch.ones_like(s.x),))
    func.jvp(func.grad(lambda x: x.sin().sum()), (s.x,), (torch.ones_like(s.x),))
    _, run = func.linearize(torch.sin, s.x)
    run(s.x)


@program
def func_jacobians(s: Scene) -> None:
    x = s.x[0]
    func.jacrev(torch.sin)(x)
    func.jacfwd(torch.cos)(x)
    func.hessian(lambda x: x.sin().sum())(x)


@program
def func_vmap(s: Scene) -> None:
    func.vmap(lambda x: x.sin().sum())(s.x)
    func.vmap(func.vmap(torch.mul), in_dims=(0, None))(s.x, s.x[0])
    func.vmap(lambda x: x + torch.rand(3), randomness="different")(s.x)
    func.vmap(lambda x: torch.dropout(x, 0.5, True), randomness="same")(s.x)
    func.vmap(func.grad(lambda x: x.sin().sum()))(s.x)


@program
def func_adopts(s: Scene) -> None:
    written = []

    def write(x: Any) -> Any:
        y = torch.zeros(3)
        v = y[:2]
        written.append(y)
        y.add_(x)
        v.mul_(2)
        return y.sum() * v.sum()

    func.grad(write)(s.x[0])
    func.jvp(write, (s.x[0],), (s.x[1],))


@program
def func_modules(s: Scene) -> None:
    parameters = dict(s.model.named_parameters())
    func.functional_call(s.model, parameters, (s.x,))
    func.grad(lambda p: func.functional_call(s.model, p, (s.x,)).sum())(parameters)
    stateless.functional_call(s.model, parameters, (s.x,))
    models, _ = func.stack_module_state([torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)])
    base = torch.nn.Linear(3, 2)
    func.vmap(lambda p: func.functional_call(base, p, (s.x,)))(models)


@program
def func_functionalize(s: Scene) -> None:
    func.functionalize(lambda x: x.clone().add_(1))(s.x)


@program
def levels_by_hand(s: Scene) -> None:
    from torchlite._functorch.eager_transforms import enable_inplace_requires_grad, grad_increment_nesting
    from torchlite._functorch.pyfunctorch import temporarily_clear_interpreter_stack
    from torchlite._functorch.vmap import vmap_increment_nesting

    with grad_increment_nesting(), vmap_increment_nesting(2, "error"), temporarily_clear_interpreter_stack():
        s.x.sin()
    with enable_inplace_requires_grad(True):
        func.grad(lambda x: x.detach().requires_grad_().sum() + x.sum())(s.x)


@program
def dual_levels(s: Scene) -> None:
    with forward_ad.dual_level():
        d = forward_ad.make_dual(s.x, torch.ones_like(s.x))
        y = s.model(d.sin() * s.w)
        y.mul_(2)
        forward_ad.unpack_dual(y)


@program
def gradgrad_of_duals(s: Scene) -> None:
    torch.autograd.functional.hvp(lambda x: x.sin().sum(), s.x, s.x)
    torch.autograd.functional.jacobian(torch.sin, s.x[0], strategy="forward-mode", vectorize=True)
    torch.autograd.functional.vjp(torch.sin, s.x, s.x)


# ---- who is told of calls


class _Counting(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, f: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return f(*args, **(kwargs or {}))


class _Own(torch.Tensor):
    pass


@program
def function_modes(s: Scene) -> None:
    with _Counting(), _Counting():
        loss(s).backward()
    with torch._C.DisableTorchFunctionSubclass():
        s.x.as_subclass(_Own) + 1
    with torch._C.DisableTorchFunction():
        s.x.as_subclass(_Own) + 1
    s.x.as_subclass(_Own).sin().add_(1)


@program
def profilers(s: Scene) -> None:
    with torch.autograd.profiler.profile(record_shapes=True) as p, torch.profiler.record_function("part"):
        loss(s).backward()
    p.key_averages().table()
    schedule = torch.profiler.schedule(wait=1, warmup=0, active=1)
    with torch.profiler.profile(schedule=schedule, on_trace_ready=lambda p: None) as q:
        for _ in range(3):
            with torch.no_grad():
                loss(s)
            q.step()


# ---- random streams, switches of the process


@program
def forked_streams(s: Scene) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        torch.rand(3)
        torch.randn(2)


@program
def flags(s: Scene) -> None:
    with torch.backends.cudnn.flags(enabled=False), torch.backends.mkldnn.flags(enabled=False):
        loss(s)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        q = s.x.reshape(1, 1, 2, 3)
        torch.nn.functional.scaled_dot_product_attention(q, q, q)
    with torch.sparse.check_sparse_tensor_invariants():
        loss(s)


@program
def printing(s: Scene) -> None:
    with torch._tensor_str.printoptions(precision=2):
        repr(s.w)
    repr(func.vmap(lambda x: (repr(x), x)[1])(s.x))


@program
def saving(s: Scene) -> None:
    file = io.BytesIO()
    torch.save(s.model.state_dict(), file)
    file.seek(0)
    torch.load(file)
    with torch.serialization.skip_data():
        torch.save(s.x, io.BytesIO())


# ---- modules, optimizers, data


@program
def parametrized(s: Scene) -> None:
    layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 3))
    with parametrize.cached():
        layer(s.x)
        with parametrize.cached():
            layer(s.x).sum().backward()
    torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(3, 3))(s.x)


@program
def training_step(s: Scene) -> None:
    s.sgd.zero_grad()
    torch.nn.functional.mse_loss(s.model(s.x), torch.ones(2, 2)).backward()
    s.sgd.step()


@program
def optimizers(s: Scene) -> None:
    for make in (torch.optim.Adam, torch.optim.LBFGS, torch.optim.Adagrad):
        model = torch.nn.Linear(3, 1)
        optimizer = make(model.parameters())

        def closure(model: Any = model, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            value = model(s.x).sum()
            value.backward()
            return value

        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        optimizer.register_step_post_hook(lambda *a: None)
        optimizer.step(closure)
        scheduler.step()


@program
def swapped(s: Scene) -> None:
    a, b = torch.ones(2), torch.zeros(3)
    torch.utils.swap_tensors(a, b)
    torch.nn.Linear(2, 2).to(torch.float64)


@program
def loaders(s: Scene) -> None:
    data = torch.utils.data.TensorDataset(torch.arange(8.0).reshape(4, 2))
    for (row,) in torch.utils.data.DataLoader(data, batch_size=2, generator=torch.Generator().manual_seed(1)):
        row.sum()


@program
def nested_backward_on_fresh_stacks(s: Scene) -> None:
    class Deep(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int) -> Any:
            ctx.depth = depth
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if ctx.depth:
                with torch.enable_grad():
                    Deep.apply(torch.ones(1, requires_grad=True), ctx.depth - 1).sum().backward()
            return g, None

    Deep.apply(s.w, 17).sum().backward()


@program
def threads(s: Scene) -> None:
    def work() -> None:
        with torch.no_grad(), torch.autocast("cpu"):
            s.model(s.x)
        (torch.ones(2, requires_grad=True) * 2).sum().backward()

    others = [threading.Thread(target=work) for _ in range(2)]
    for t in others:
        t.start()
    loss(s).backward()
    for t in others:
        t.join()
