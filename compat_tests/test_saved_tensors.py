"""Saved tensors: what nodes show, hooks that pack and unpack, writing to what was saved."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import weakref

import pytest

import torchlite

from .side_by_side import same_story

# ---- attributes of nodes


@same_story
def test_an_input_is_the_tensor_itself(torch, tell):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.pow(2)
    tell(y.grad_fn._saved_self is x, y.grad_fn._saved_exponent)
    y = x * x
    tell(y.grad_fn._saved_self is x, y.grad_fn._saved_other is x)
    index = x.sort(descending=True)[1]
    tell(x[index].grad_fn._saved_indices[0] is index)


@same_story
def test_a_result_is_another_tensor_with_the_same_memory_and_history(torch, tell):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    saved = y.grad_fn._saved_result
    tell(saved is y, saved.data_ptr() == y.data_ptr(), saved.grad_fn is y.grad_fn, saved.is_leaf, saved._version)
    with torch.no_grad():
        tell(y.grad_fn._saved_result)
    tell(y.grad_fn._raw_saved_result.data)
    indices = x.sort()[1]
    tell(x.sort()[0].grad_fn._saved_indices, indices.requires_grad)


@same_story
def test_numbers(torch, tell):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for number in (2, 2.5, True):
        other = (x * number).grad_fn._saved_other
        tell(other, other.dtype)
    tell((x * 2).grad_fn._saved_self, (x**3).grad_fn._saved_exponent, (x - 1).grad_fn._saved_alpha)
    tell(x.clamp(min=1.5).grad_fn._saved_min, x.clamp(min=1.5).grad_fn._saved_max)


@same_story
def test_arguments_and_shapes(torch, tell):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    for y in (
        x.sum(), x.sum(-1), x.mean(1, keepdim=True), x.mean(), x.amax(0), x.max(1)[0], x.view(3, 2), x[0], x[:, 1:],
        x.transpose(0, 1), x.softmax(-1), x.cumsum(0), x.permute(1, 0), x.squeeze(0), x.unsqueeze(-1),
        x.expand(4, 2, 3), torch.cat([x, x], -1), torch.stack([x, x], 1), x.flip(-1),
        x.gather(0, torch.zeros(1, 3, dtype=torch.int64)), x.div(2.0, rounding_mode="floor"),
        x.masked_fill(x > 2, 0.0), x.norm(dim=1), x.logsumexp(0), x.std(1),
    ):  # fmt: skip
        node = y.grad_fn
        tell(node.name(), {n: getattr(node, n) for n in sorted(dir(node)) if n.startswith("_saved_")})
        tell([n for n in sorted(dir(node)) if n.startswith("_raw_saved_")])


def _told(node):
    """What a node keeps, of which PyTorch's product of three shows sizes of its inner steps besides."""
    inner = ("_saved_expand1", "_saved_expand2", "_saved_expand3", "_saved_sumdim")
    return {n: getattr(node, n) for n in sorted(dir(node)) if n.startswith("_saved_") and n not in inner}


@same_story
def test_what_is_kept_depends_on_what_requires_grad(torch, tell):
    """Of several operands with derivatives, one that only others' formulas name is spared where these are not asked."""
    wave = torch.arange(30, dtype=torch.float64).mul(0.7).sin()
    factors, pivots = torch.linalg.lu_factor(wave[:9].reshape(3, 3) + torch.eye(3))
    where, rows = torch.tensor([1, 3]), torch.tensor([0, 2, 1, 2])
    calls = (
        (torch.nn.functional.bilinear, wave[:12].reshape(4, 3), wave[:8].reshape(4, 2), wave.reshape(5, 3, 2)),
        (lambda a, b: torch.linalg.lu_solve(a, pivots, b), factors, wave[:6].reshape(3, 2)),
        (torch.cholesky_solve, wave[:6].reshape(3, 2), factors.tril()),
        (lambda b, a: torch.triangular_solve(b, a)[1] * 2.0, wave[:6].reshape(3, 2), factors.triu()),
        (lambda a: torch.linalg.qr(a)[1] * 2.0, wave[:8].reshape(2, 4)),
        (lambda a: torch.qr(a, some=False)[0] * 2.0, wave[:8].reshape(2, 4)),
        (lambda a, s: a.put(where, s), wave[:4].reshape(2, 2), wave[4:6]),
        (lambda w, s: torch.nn.functional.embedding_bag(rows, w, where[:1] - 1, per_sample_weights=s, mode="sum"),
         wave[:6].reshape(3, 2), wave[:4]),
        (torch.lerp, wave[:3], wave[3:6], wave[6:9]),
    )  # fmt: skip
    for call, *operands in calls:
        for asked in range(1, 1 << len(operands)):
            given = [t.clone().requires_grad_(bool(asked >> nr & 1)) for nr, t in enumerate(operands)]
            result = call(*given)
            node = result.grad_fn
            node = node if node.name() != "MulBackward0" else node.next_functions[0][0]
            tell(node.name(), _told(node))
            tell(torch.autograd.grad((result * result).sum(), [t for t in given if t.requires_grad], allow_unused=True))


@same_story
def test_nodes_without_derivatives_lead_to_what_requires_grad_alone(torch, tell):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    index = torch.zeros(1, dtype=torch.int64)
    for result in (
        torch.heaviside(x, y), torch.heaviside(y, x), torch.heaviside(x, x), torch.floor_divide(x, y),
        torch.floor_divide(y, x.exp()), torch.scatter(y, 0, index, x, reduce="add"),
        torch.autograd.grad(torch.nn.functional.hardsigmoid(x), x, y, create_graph=True)[0],
    ):  # fmt: skip
        node = result.grad_fn
        tell(node.name(), [(None if to is None else to.name(), nr) for to, nr in node.next_functions])


@same_story
def test_a_mask_that_is_expanded_may_be_written_to_before_backward(torch, tell):
    x, mask = torch.ones(2, 3, requires_grad=True), torch.tensor([True, False, True])
    total = torch.masked.sum(x, mask=mask)
    mask.fill_(False)
    tell(torch.autograd.grad(total, x))
    whole = torch.ones(2, 3, dtype=torch.bool)
    total = torch.masked.sum(x, mask=whole)
    whole.fill_(False)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(total, x)


@same_story
def test_attributes_that_are_not_there(torch, tell):
    y = torch.ones(2, requires_grad=True).sum()
    for name in ("_saved_self", "_raw_saved_self", "_saved_nothing"):
        try:
            getattr(y.grad_fn, name)
        except AttributeError as error:
            tell(error)


@same_story
def test_after_freeing(torch, tell):
    x = torch.ones(2, requires_grad=True)
    y = x.pow(2)
    raw = y.grad_fn._raw_saved_self
    z = y[torch.tensor([0])]
    z.sum().backward()
    tell(y.grad_fn._saved_exponent, raw.data)
    for ask in (
        lambda: y.grad_fn._saved_self,
        lambda: z.grad_fn._saved_indices,
        lambda: z.grad_fn._raw_saved_indices,
        lambda: raw.register_hooks(lambda t: t, lambda t: t),
        lambda: y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t),
    ):
        try:
            ask()
        except RuntimeError as error:
            tell(error)


@same_story
def test_a_stale_tensor_is_refused(torch, tell):
    x = torch.ones(2, requires_grad=True)
    a = x.clone()
    y = a.exp()
    node = y.grad_fn
    z = a * a
    y.mul_(2)
    a.add_(1)
    for ask in (lambda: node._saved_result, lambda: z.grad_fn._saved_self, lambda: z.sum().backward()):
        try:
            ask()
        except RuntimeError as error:
            tell(error)
    tell(node._raw_saved_result.data, z.grad_fn._raw_saved_self.data)


# ---- hooks on one tensor


@same_story
def test_hooks_on_one_saved_tensor(torch, tell):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x.clone()

    def pack(t):
        tell("pack", t, t is x, t._version, torch.is_grad_enabled())
        return (t * 2).tolist()

    def unpack(values):
        tell("unpack", values, torch.is_grad_enabled())
        return torch.tensor(values) / 2

    raw = y.grad_fn._raw_saved_self
    tell(raw.unpack_hook)
    raw.register_hooks(pack, unpack)
    tell(raw.data, raw.unpack_hook is unpack)
    for _ in range(2):
        saved = y.grad_fn._saved_self
        tell(saved, saved.is_leaf, saved is x)
    y.sum().backward(retain_graph=True)
    tell(x.grad)
    y.sum().backward()
    tell(x.grad)


@same_story
def test_what_hooks_are_refused(torch, tell):
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def attempt(raw, *hooks):
        try:
            raw.register_hooks(*hooks)
            tell("taken")
        except (RuntimeError, TypeError) as error:
            tell(type(error).__name__, str(error).split("\n")[0])

    def same(t):
        return t

    y = x * x
    attempt(y.grad_fn._raw_saved_self, 1, 2)
    attempt(y.grad_fn._raw_saved_self, same)
    attempt(y.grad_fn._raw_saved_self, same, same)
    attempt(y.grad_fn._raw_saved_self, same, same)
    z = x * 2
    attempt(z.grad_fn._raw_saved_self, same, same)
    attempt(z.grad_fn._raw_saved_other, same, same)
    w = x.clone() * x
    attempt(w.grad_fn._raw_saved_self, lambda t: t.mul_(2), same)
    type(y.grad_fn._raw_saved_self)()


@same_story
def test_an_unpack_hook_must_give_a_tensor(torch, tell):
    for result in (1, "a", None):
        y = torch.ones(2, requires_grad=True).exp()
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t, result=result: result)
        for ask in (lambda y=y: y.grad_fn._saved_result, lambda y=y: y.sum().backward()):
            try:
                ask()
            except TypeError as error:
                tell(error)


@same_story
def test_gradients_of_gradients_through_hooks(torch, tell):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = (x * x).exp() * x
        (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        tell(first, torch.autograd.grad(first.sum(), x))
        saved = (x * x).grad_fn._saved_self
        tell(saved is x, saved.is_leaf, saved.grad_fn, saved.requires_grad, torch.autograd.grad((saved * 2).sum(), x))


# ---- hooks on all tensors


def logged(torch, tell, run, name=""):
    """`run()` and its backward inside hooks that tell what passes."""

    def pack(t):
        tell(name, "pack", t, t._version)
        return t.detach()

    def unpack(t):
        tell(name, "unpack", tuple(t.shape))
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = run()
    tell("backward")
    y.sum().backward()


@same_story
def test_what_is_packed_and_in_which_order(torch, tell):
    x = torch.tensor([1.5, 2.0], requires_grad=True)
    y = torch.tensor([3.0, 4.0], requires_grad=True)
    m = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    for run in (
        lambda: x * 2, lambda: x * y, lambda: x / y, lambda: x**2, lambda: x**y, lambda: 2 / x, lambda: m @ m,
        lambda: x.exp().sin(), lambda: m.softmax(1), lambda: x[torch.tensor([0])], lambda: x.sort()[0],
        lambda: torch.addcmul(x, x, y), lambda: torch.where(x > 1, x, y), lambda: m.max(1)[0], lambda: m.norm(),
        lambda: m.std(), lambda: m.logsumexp(1), lambda: torch.cat([x, y]), lambda: x.clone().mul_(y),
        lambda: x.clone().exp_(), lambda: m.gather(1, torch.zeros(2, 1, dtype=torch.int64)), lambda: x.prod(),
        lambda: torch.lerp(x, y, x), lambda: x.masked_fill(x > 1.8, 0.0), lambda: x.dot(y), lambda: x.view(1, 2) * 3,
    ):  # fmt: skip
        logged(torch, tell, run)
    tell(x.grad, y.grad, m.grad)


@same_story
def test_the_innermost_hooks_are_asked(torch, tell):
    x = torch.ones(2, requires_grad=True)
    logged(torch, tell, lambda: logged(torch, tell, lambda: x.exp(), "inner") or x.sin(), "outer")
    tell(x.exp().grad_fn._raw_saved_result.unpack_hook)


@same_story
def test_hooks_are_on_in_a_backward_that_makes_a_graph(torch, tell):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()

    def pack(t):
        tell("pack", t.tolist())
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    tell(torch.autograd.grad(g.sum(), x))


@same_story
def test_pack_gets_the_tensor_itself(torch, tell):
    x = torch.nn.Parameter(torch.ones(2))

    def pack(t):
        tell(t is x, type(t).__name__, t.grad_fn and t.grad_fn.name(), t._base is None, torch.is_grad_enabled())
        return t.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        x * x
        x.clone().exp().unsqueeze(0).sin()


@same_story
def test_hooks_end_with_their_context(torch, tell):
    x = torch.ones(2, requires_grad=True)
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: tell("pack") or t, lambda t: t)
    try:
        with hooks:
            raise ValueError("out")
    except ValueError as error:
        tell(error)
    x * x
    with hooks:
        x * x


@same_story
def test_errors_in_hooks(torch, tell):
    graph = torch.autograd.graph
    x = torch.ones(2, requires_grad=True)

    def fail(_):
        raise ValueError("from the hook")

    def packs_in_place():
        with graph.saved_tensors_hooks(lambda t: t.detach().mul_(2), lambda t: t):
            return x.clone() * 3 * x

    def packing():
        with graph.saved_tensors_hooks(fail, lambda t: t):
            return x * x

    def unpacking():
        with graph.saved_tensors_hooks(lambda t: t, fail):
            y = x * x
        y.sum().backward()

    def no_hooks():
        with graph.saved_tensors_hooks(1, 2):
            pass

    for attempt in (packs_in_place, packing, unpacking, no_hooks):
        try:
            attempt()
        except (RuntimeError, ValueError, TypeError) as error:
            tell(type(error).__name__, error)
    tell(x.exp())


@same_story
def test_hooks_can_be_disabled(torch, tell):
    graph = torch.autograd.graph

    def same(t):
        return t

    def inside():
        with graph.disable_saved_tensors_hooks("not here"), graph.saved_tensors_hooks(same, same):
            tell("never")

    def around():
        with graph.saved_tensors_hooks(same, same), graph.disable_saved_tensors_hooks("not here"):
            tell("never")

    def nested():
        with graph.disable_saved_tensors_hooks("outer"):
            try:
                with graph.disable_saved_tensors_hooks("inner"), graph.save_on_cpu():
                    tell("never")
            except RuntimeError as error:
                tell(error)
            with graph.saved_tensors_hooks(same, same):
                tell("never")

    for attempt in (inside, around, nested):
        try:
            attempt()
        except RuntimeError as error:
            tell(error)
    with graph.saved_tensors_hooks(same, same):
        tell("allowed again")


@same_story
def test_hooks_of_one_thread_are_not_those_of_another(torch, tell):
    x = torch.ones(2, requires_grad=True)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        other = threading.Thread(target=lambda: x * x)
        other.start()
        other.join()
        tell(len(packed))
        x * x
    tell(len(packed))


@same_story
def test_save_on_cpu(torch, tell):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.save_on_cpu() as entered:
        y = (x * x).exp()
    tell(entered)
    packed = y.grad_fn._raw_saved_result.data
    tell(packed[0], packed[1])
    y.sum().backward()
    tell(x.grad)


@same_story
def test_to_disk_and_back(torch, tell):
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:

        def pack(t):
            if t.numel() < 3:
                return t.detach()
            name = os.path.join(folder, f"{len(os.listdir(folder))}.pickle")
            with open(name, "wb") as file:
                pickle.dump(t.detach().numpy(), file)
            return name

        def unpack(kept):
            if not isinstance(kept, str):
                return kept
            with open(kept, "rb") as file:
                return torch.from_numpy(pickle.load(file))

        x = torch.arange(4.0, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = (x * x).sin()[1:3].exp()
        tell(len(os.listdir(folder)))
        y.sum().backward()
        tell(x.grad)


# ---- writing to what was saved


@same_story
def test_saved_tensors_may_be_written_to(torch, tell):
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        a = x.clone()
        y = (a**2).sum()
        a.sin_()
        tell(a, len(context.original), len(context.cloned))
        y.backward()
        tell(x.grad, len(context.cloned))
        b = x.clone()
        z = (b * b).sum()
        b.view(1, 2).mul_(3)
        b.mul_(5)
        z.backward()
        tell(x.grad, b)
        torch.mul(x.detach(), 2, out=b.detach())


@same_story
def test_where_mutation_ends(torch, tell):
    graph = torch.autograd.graph
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def attempt(run):
        try:
            run()
            tell("done")
        except (AssertionError, RuntimeError) as error:
            tell(type(error).__name__, error)

    def nested():
        with graph.allow_mutation_on_saved_tensors():
            pass

    with graph.allow_mutation_on_saved_tensors() as context:
        y = (x.clone() ** 2).sum()
        y.backward(retain_graph=True)
        context.clear()
        attempt(y.backward)
        z = (x.clone() ** 2).sum()
    attempt(z.backward)
    with graph.allow_mutation_on_saved_tensors():
        attempt(z.backward)
        attempt(nested)
    with graph.allow_mutation_on_saved_tensors():
        tell("on again")


def test_writing_through_another_view_keeps_what_was_saved():
    """PyTorch only notices writes at the very address and version of what was saved."""
    a, w = torchlite.ones(4), torchlite.ones(4, requires_grad=True)
    with torchlite.autograd.graph.allow_mutation_on_saved_tensors():
        y = (a[:2] * w[:2]).sum()
        a[3] = 5.0
        a[0] = 7.0
        y.backward()
    assert w.grad.tolist() == [1.0, 1.0, 0.0, 0.0]


# ---- memory


@pytest.fixture
def no_collector():
    gc.disable()
    yield
    gc.enable()


def test_nothing_outlives_its_graph(no_collector):
    x = torchlite.ones(2, requires_grad=True)
    with torchlite.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        y = (x * x).exp().sin()
    node, tensor = weakref.ref(y.grad_fn), weakref.ref(y)
    del y
    assert node() is None and tensor() is None


def test_a_result_is_freed_with_its_node(no_collector):
    x = torchlite.ones(2, requires_grad=True)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_backward_frees_what_was_packed(no_collector):
    x = torchlite.ones(2, requires_grad=True)
    packed = []

    class Parcel:
        def __init__(self, t):
            self.t = t.detach()
            packed.append(weakref.ref(self))

    with torchlite.autograd.graph.saved_tensors_hooks(Parcel, lambda p: p.t):
        y = (x * x).exp()
    assert all(p() is not None for p in packed) and len(packed) == 3
    y.sum().backward()
    assert all(p() is None for p in packed)


def test_an_input_kept_plainly_costs_a_pair():
    x = torchlite.ones(2, requires_grad=True)
    y = x * x
    assert all(type(entry) is tuple for entry in y.grad_fn.saved_entries)
    assert sys.getsizeof(y.grad_fn.saved_entries[0]) <= 64


@same_story
def test_operands_written_to_are_packed_before(torch, tell):
    writes = (
        lambda a, b: a.mul_(b),
        lambda a, b: a.mul_(a),
        lambda a, b: a.div_(a),
        lambda a, b: a.addcmul_(a, b),
        lambda a, b: a.sin_(),
    )
    for write in writes:
        for of_view in (True, False):
            x = torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64, requires_grad=True)
            y = x.sin()
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
                write(*(y.unsqueeze(1), x.unsqueeze(1)) if of_view else (y, x))
            y.sum().backward()
            tell(x.grad)


# ---- numbers that composites multiply by are no saved tensors: such a graph is gone through again


@same_story
def test_passes_over_numbers_alone_need_no_retained_graph(torch, tell):
    x = torch.tensor([[1.0, 4.0, 9.0], [2.0, 3.0, 5.0]], requires_grad=True)
    for y in torch.cumulative_trapezoid(x), torch.trapezoid(x, dx=0.3), torch.gradient(x)[0]:
        for _ in range(2):
            y.sum().backward()
        tell(x.grad, y.grad_fn.name())
