"""Where several things are wrong in a call, or in a pass, PyTorch says one of them first; and what it warns of."""

from __future__ import annotations

import warnings

import pytest

import torchlite

from .side_by_side import warning_always

torch = pytest.importorskip("torch")


def outcome(library, program):
    """How a program fails, and the first lines of what it warns of."""
    error = None
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            with warning_always(library):
                exec(program, {"torch": library, "F": library.nn.functional, **PRELUDE[library]})
        except Exception as raised:
            error = f"{type(raised).__name__}: {str(raised).splitlines()[0]}"
    return error, [str(warning.message).partition("\n")[0].partition(" (Triggered")[0] for warning in seen]


def prelude(library):
    """A tensor that requires grad, one made in inference mode, and a view that may not be asked for its history."""
    x = library.ones(4, 4, requires_grad=True)
    with library.inference_mode():
        unsaved = library.ones(4)
    base = x.clone()
    lost = base.unbind(0)[0]
    base.mul_(2)

    def fails(*_):
        raise ValueError("on purpose")

    return {"x": x, "unsaved": unsaved, "lost": lost, "fails": fails}


PRELUDE = {library: prelude(library) for library in (torch, torchlite)}

HISTORIES = """
lost.movedim(1, 0)
lost.repeat_interleave(1, 1)
lost.view_as(torch.ones(3))
lost.conj().imag
lost.all(3)
lost[0].chunk(2, 0)
torch.diff(lost[0])
F.adaptive_max_pool1d(lost[None, 1:1], 2)
F.bilinear(lost, torch.ones(3, 4), torch.ones(2, 4, 4))
F.soft_margin_loss(torch.ones(3), lost)
F.soft_margin_loss(torch.ones(3), x)
torch.mm(x, lost)
torch.mm(x, unsaved)
torch.dot(x, unsaved)
torch.addmv(torch.ones(3), x.double(), unsaved)
torch.atan2(x * 1j, unsaved)
x * unsaved[:3]
x.masked_select(unsaved)
x[unsaved]
x.masked_fill(torch.ones(3) > 0, unsaved > 0)
"""

WORDS = """
torch.zeros(4, 1).copy_(torch.ones(4))
torch.zeros(0, 1, 1).copy_(torch.ones(4))
torch.zeros(2).copy_(torch.ones(2, 1))
torch.zeros(2, 3, 4)._neg_view().t_()
torch.where(torch.ones(3) > 0, torch.ones(2), torch.ones(1, 2))
torch.addcdiv(torch.ones(3), torch.ones(9), torch.ones(1, 2))
torch.einsum("...i,...i->...", torch.ones(2, 3), torch.ones(4, 3))
torch.einsum("a...i,b...i->...", torch.ones(2, 5, 2, 3), torch.ones(2, 5, 4, 3))
F.embedding(torch.zeros(2, dtype=torch.bool), torch.zeros(5, 2))
F.embedding(torch.zeros(2, dtype=torch.float16), torch.zeros(5, 2))
F.unfold(torch.zeros(3), 2)
F.unfold(torch.zeros(3, requires_grad=True), 2)
F.unfold(torch.zeros(2, 0), 2)
torch.bitwise_not(torch.tensor([True]), out=torch.ones(1))
y = torch.ones(2, dtype=torch.bfloat16, requires_grad=True); y.register_hook(torch.Tensor.double); y.sum().backward()
"""

PLACES = """
torch.ones(3, 3)[torch.tensor([0, 5]), torch.tensor([9, 1])]
torch.ones(3, 3)[torch.tensor([[0], [5]]), torch.tensor([0, 9])]
torch.ones(3, 3)[torch.tensor([0, -5], dtype=torch.int32), torch.tensor([9, 1])]
torch.ones(3, 3, 4)[torch.tensor([0, 5]), :, torch.tensor([9, 0])] += 1
torch.ones(3).index_put_((torch.tensor([7]),), torch.ones(1, dtype=torch.float64))
torch.ones(3).index_put_((torch.tensor([7]),), torch.ones(4, dtype=torch.float64))
v = torch.ones(4).expand(4, 4); v[v] = 1
v = torch.ones(4).expand(4, 4); v.masked_fill_(torch.ones(4), 2)
torch.ones(4).masked_scatter(torch.ones(4, dtype=torch.uint8), torch.ones(2))
torch.searchsorted(torch.ones(2), torch.ones(0, 2, dtype=torch.complex64))
"""

OUTS = """
torch.lt(torch.ones(4), torch.ones(4), out=torch.ones(3))
torch.lt(torch.ones(4), torch.ones(4), out=torch.ones(3) > 0)
torch.lt(torch.ones(4), torch.ones(4), out=torch.ones(3, dtype=torch.float64))
torch.eq(torch.ones(4) * 1j, torch.ones(4), out=torch.ones(3))
torch.eq(torch.ones(4) * 1j, torch.ones(4), out=torch.ones(4))
torch.logical_not(torch.ones(4), out=torch.ones(3))
torch.logical_or(torch.ones(4), torch.ones(4), out=torch.ones(3, dtype=torch.int64))
torch.floor_divide(torch.ones(4), torch.ones(4), out=torch.ones(3, dtype=torch.float64))
torch.add(torch.ones(4), torch.ones(4), out=torch.ones(3, dtype=torch.float64))
torch.angle(torch.ones(4), out=torch.ones(3, dtype=torch.float64))
torch.abs(torch.ones(4) * 1j, out=torch.ones(3, dtype=torch.complex64))
"""

DTYPES = """
torch.dot(torch.ones(2, 2), torch.ones(3), out=torch.ones((), dtype=torch.float64))
torch.maximum(torch.ones(2) * 1j, torch.ones(3), out=torch.ones(2, dtype=torch.float64))
torch.lerp(torch.ones(2), torch.ones(3, dtype=torch.int64), 0.5, out=torch.ones(2, dtype=torch.float64))
torch.ones(3, dtype=torch.complex64).scatter_reduce(0, torch.tensor([0]), torch.ones(1, dtype=torch.complex64), "amax")
torch.ones(3, dtype=torch.complex64).index_reduce(0, torch.tensor([0]), torch.ones(1, dtype=torch.complex64), "mean")
F.silu(x * 1j)
torch.median(x[:0] * 1j)
torch.select_scatter(x * 1j, x[0] * 1j, 0, 0)
torch.slice_scatter(x * 1j, x * 1j)
torch.kthvalue(x * 1j, 1)
torch.cummax(torch.ones(0, requires_grad=True), 3)[0].sum().backward()
y = x ** torch.tensor(True); y.mul_(2); y.sum().backward()
"""

ANOMALIES = """
y = torch.ones(2, requires_grad=True); y.register_post_accumulate_grad_hook(lambda t: 1); y.sum().backward()
y = torch.ones(2, requires_grad=True); y.register_hook(fails); y.exp().sum().backward()
y = torch.ones(2, requires_grad=True).exp(); y.register_hook(fails); y.sum().backward()
y = torch.ones(2, requires_grad=True).exp(); y.grad_fn.register_hook(fails); y.sum().backward()
y = torch.ones(2, requires_grad=True).exp(); y.grad_fn.register_prehook(fails); y.sum().backward()
y = torch.ones(2, requires_grad=True).exp(); z = y.sum(); y.mul_(2); z.backward()
y = torch.ones(2, requires_grad=True).exp().sum(); y.backward(); y.backward()
"""


@pytest.mark.parametrize("program", (HISTORIES + WORDS + PLACES + OUTS + DTYPES).strip().splitlines())
def test_what_is_said_first(program):
    assert outcome(torchlite, program) == outcome(torch, program)


@pytest.mark.parametrize("program", ANOMALIES.strip().splitlines())
def test_anomaly_mode_tells_where_a_pass_failed(program):
    """In a node's formula, and in its hooks; of a leaf, where the first node was made that leads to it."""
    for watched in (
        "with torch.autograd.detect_anomaly(): {0}; {1}",
        "{0}\nwith torch.autograd.detect_anomaly(): {1}",
    ):
        steps = program.split("; ")
        text = watched.format("; ".join(steps[:-1]), steps[-1])
        assert outcome(torchlite, text) == outcome(torch, text)


def test_hooks_see_what_would_be_kept_of_a_call_that_is_refused():
    """PyTorch keeps operands before it computes."""
    for call in ("y * torch.ones(3)", "torch.mv(torch.ones(2, 2), y.double())", "torch.maximum(y * 1j, y)"):
        seen = {torch: [], torchlite: []}
        for library, shapes in seen.items():
            pack = lambda t, shapes=shapes: shapes.append((tuple(t.shape), str(t.dtype).partition(".")[2])) or t
            y = library.ones(2, requires_grad=True)
            with (
                library.autograd.graph.saved_tensors_hooks(pack, lambda t: t),
                pytest.raises((RuntimeError, NotImplementedError)),
            ):
                eval(call, {"torch": library, "y": y})
        assert seen[torchlite] == seen[torch]


def test_anomaly_mode_tells_of_passes_within_passes():
    program = """
class Outer(torch.autograd.Function):
    forward = staticmethod(lambda ctx, x: x.clone())
    @staticmethod
    def backward(ctx, g):
        with torch.enable_grad():
            y = torch.ones(2, requires_grad=True).exp()
            y.register_hook(fails)
            y.sum().backward()
with torch.autograd.detect_anomaly(): Outer.apply(x).sum().backward()
"""
    assert outcome(torchlite, program) == outcome(torch, program)


@pytest.mark.parametrize("call", ["y.index_add(0, i, s)", "y.scatter_add(0, i, s)", "torch.addcmul(y, o, o)", "o * y"])
def test_what_keeps_nothing_runs_twice(call):
    """Under hooks for saved tensors too, which are given nothing there."""
    program = f"""
y, o, i, s = torch.ones(3, requires_grad=True).clone(), torch.ones(3), torch.tensor([0]), torch.ones(1)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): z = {call}
z.sum().backward(inputs=[y]); z.backward(o, inputs=[y])
"""
    assert outcome(torchlite, program) == outcome(torch, program)


def test_negative_views_can_be_checkpointed():
    program = """
y = torch.tensor([1.25, -1.75], requires_grad=True)
z = torch.utils.checkpoint.checkpoint(lambda x: x.atan() * x, (y + y)._neg_view(), use_reentrant=False)
z.sum().backward(retain_graph=True); z.sum().backward()
raise ValueError(y.grad.tolist())
"""
    assert outcome(torchlite, program) == outcome(torch, program)
