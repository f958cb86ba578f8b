"""The backward pass: what may be asked of it, what it refuses, and the graph it walks."""

from __future__ import annotations

import pytest

from compat_tests.side_by_side import same_story

# Each is asked of x (a leaf), y = x * 2, z = (y * 3).sum(), n without a history, c (complex).
CALLS = {
    "not a scalar": lambda t, x, y, z, n, c: y.backward(),
    "no history": lambda t, x, y, z, n, c: n.sum().backward(),
    "no history, not a scalar": lambda t, x, y, z, n, c: n.backward(),
    "one without history": lambda t, x, y, z, n, c: t.autograd.backward([z, n.sum()]),
    "no tensor": lambda t, x, y, z, n, c: t.autograd.backward([None]),
    "a number": lambda t, x, y, z, n, c: t.autograd.backward(3),
    "a string": lambda t, x, y, z, n, c: t.autograd.backward("a"),
    "nothing": lambda t, x, y, z, n, c: t.autograd.backward([]),
    "another shape": lambda t, x, y, z, n, c: y.backward(t.ones(3)),
    "a gradient of no history's": lambda t, x, y, z, n, c: t.autograd.backward(n, t.ones(3)),
    "another dtype": lambda t, x, y, z, n, c: y.backward(t.ones(2).double()),
    "integers": lambda t, x, y, z, n, c: y.backward(t.ones(2).long()),
    "complex for real": lambda t, x, y, z, n, c: y.backward(t.ones(2).to(t.complex64)),
    "real for complex": lambda t, x, y, z, n, c: (c * 2).backward(t.ones(1)),
    "complex scalar": lambda t, x, y, z, n, c: (c * 2).backward(),
    "another device": lambda t, x, y, z, n, c: t.autograd.grad(y, x, t.ones(2, device="meta")),
    "a gradient that is a number": lambda t, x, y, z, n, c: t.autograd.backward(y, [3]),
    "a gradient in a list": lambda t, x, y, z, n, c: y.backward([t.ones(2)]),
    "too few gradients": lambda t, x, y, z, n, c: t.autograd.grad([y, y], [x], [t.ones(2)]),
    "gradients for two": lambda t, x, y, z, n, c: t.autograd.grad([y, z], [x], [t.ones(2), None]),
    "one element": lambda t, x, y, z, n, c: (x[:1] * 3).reshape(1, 1).backward(),
    "no elements": lambda t, x, y, z, n, c: x[:0].backward(),
    "inputs empty": lambda t, x, y, z, n, c: z.backward(inputs=[]),
    "inputs twice": lambda t, x, y, z, n, c: z.backward(inputs=[x, x]),
    "inputs: a tensor": lambda t, x, y, z, n, c: z.backward(inputs=x),
    "inputs without history": lambda t, x, y, z, n, c: z.backward(inputs=[x, n]),
    "inputs: a number": lambda t, x, y, z, n, c: z.backward(inputs=3),
    "inputs in the middle": lambda t, x, y, z, n, c: (z.backward(inputs=[y]), y.grad, y.retains_grad)[1:],
    "inputs: the root": lambda t, x, y, z, n, c: (z.backward(inputs=[z]), z.grad)[1:],
    "grad of no input": lambda t, x, y, z, n, c: t.autograd.grad(z, []),
    "grad of None": lambda t, x, y, z, n, c: t.autograd.grad(z, [None]),
    "grad of a number": lambda t, x, y, z, n, c: t.autograd.grad(z, 3),
    "grad of one without history": lambda t, x, y, z, n, c: t.autograd.grad(z, n),
    "grad of one not used": lambda t, x, y, z, n, c: t.autograd.grad(x.sum(), [x, c]),
    "unused allowed": lambda t, x, y, z, n, c: t.autograd.grad(x.sum(), [x, c], allow_unused=True),
    "unused made zeros": lambda t, x, y, z, n, c: t.autograd.grad(x.sum(), [x, c], materialize_grads=True),
    "unused both": lambda t, x, y, z, n, c: t.autograd.grad(z, x, materialize_grads=True, allow_unused=False),
    "the same twice": lambda t, x, y, z, n, c: t.autograd.grad(z, [x, y, x]),
    "an output is an input": lambda t, x, y, z, n, c: t.autograd.grad([z, y], [y], [None, t.ones(2)]),
    "a leaf as output": lambda t, x, y, z, n, c: t.autograd.grad(x, x, t.ones(2)),
    "two outputs that depend": lambda t, x, y, z, n, c: t.autograd.grad([z, y.sum()], [x, y]),
    "only_inputs": lambda t, x, y, z, n, c: t.autograd.grad(z, x, only_inputs=False),
    "grad_variables": lambda t, x, y, z, n, c: t.autograd.backward((y,), grad_variables=(t.ones(2),)),
    "both names": lambda t, x, y, z, n, c: t.autograd.backward((y,), (t.ones(2),), grad_variables=(t.ones(2),)),
    "a graph of gradients": lambda t, x, y, z, n, c: t.autograd.grad((x**3).sum(), x, create_graph=True),
    "a weight with a history": lambda t, x, y, z, n, c: t.autograd.grad(y, x, x * 1),
    "and with a graph": lambda t, x, y, z, n, c: t.autograd.grad(y, x, x * 1, create_graph=True),
    "twice": lambda t, x, y, z, n, c: ((x * x).sum().backward(), z.backward(), z.backward()),
    "squares twice": lambda t, x, y, z, n, c: [f.backward() for f in [(x * x).sum()] * 2],
    "kept": lambda t, x, y, z, n, c: (z.backward(retain_graph=True), z.backward()),
    "without recording": lambda t, x, y, z, n, c: t.no_grad()(z.backward)(),
    "made without recording": lambda t, x, y, z, n, c: t.no_grad()(lambda: (x * 2).sum().backward())(),
}


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    @same_story
    def program(torch, tell):
        x = torch.ones(2, requires_grad=True)
        c = torch.ones(1, dtype=torch.complex64, requires_grad=True)
        y = x * 2
        z = (y * 3).sum()
        try:
            tell(CALLS[call](torch, x, y, z, torch.ones(2), c))
        except Exception as error:
            tell(error)
        tell(x.grad, c.grad)

    program()


@same_story
def test_the_graph_can_be_looked_at(torch, tell):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = torch.stack([y, y]).sum()
    node = z.grad_fn
    while True:
        tell(node.name(), type(node).__name__, node.requires_grad, node.metadata, len(node._input_metadata))
        tell([(m.shape, m.dtype, m.device, m.is_nested_tensor) for m in node._input_metadata])
        tell(isinstance(node, torch.autograd.graph.Node), [(f, nr) for f, nr in node.next_functions])
        if not node.next_functions:
            break
        node = node.next_functions[0][0]
    tell(node.variable is x, y.grad_fn.next_functions[0][0] is node, y.output_nr, y.is_leaf, x.is_leaf, y.name)
    tell(node._sequence_nr(), z.grad_fn._sequence_nr() > y.grad_fn._sequence_nr())
    y.grad_fn._set_sequence_nr(5)
    y.grad_fn.metadata["mine"] = 1
    tell(y.grad_fn._sequence_nr(), y.grad_fn.metadata)


@same_story
def test_nodes_can_be_called(torch, tell):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    tell(y.grad_fn(torch.ones(2)), y.sum().grad_fn(torch.tensor(3.0)))
    tell(y.grad_fn.next_functions[0][0](torch.ones(2)), x.grad)
    u = x * x
    u.sum().backward()
    u.grad_fn(torch.ones(2))


@same_story
def test_gradient_edges_stand_for_tensors(torch, tell):
    edge_of = torch.autograd.graph.get_gradient_edge
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = (y * 3).sum()
    of_x, of_y, of_z = edge_of(x), edge_of(y), edge_of(z)
    tell(type(of_x).__name__, of_x._fields, of_x.node, of_x.output_nr, of_y.node is y.grad_fn)
    tell(torch.autograd.grad(z, of_y, retain_graph=True), torch.autograd.grad(z, [of_x, of_y], retain_graph=True))
    torch.autograd.backward(of_y, torch.ones(2), retain_graph=True)
    tell(x.grad)
    torch.autograd.backward((of_y,), (torch.ones(2),), inputs=(of_x,), retain_graph=True)
    tell(x.grad)
    torch.autograd.backward(of_z, retain_graph=True)
    tell(x.grad)
    for refused in (
        lambda: torch.autograd.backward(of_y),
        lambda: edge_of(torch.ones(2)),
        lambda: torch.autograd.grad(x.sum(), [of_y]),
        lambda: torch.autograd.grad(x.sum(), [of_y], materialize_grads=True),
    ):
        try:
            refused()
        except Exception as error:
            tell(error)


@same_story
def test_batches_of_gradients(torch, tell):
    x = torch.arange(3.0, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    y = x**2
    tell(torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True, retain_graph=True))
    tell(torch.autograd.grad(y, [x, w], torch.eye(3), is_grads_batched=True, allow_unused=True, retain_graph=True))
    tell(torch.autograd.grad(y, x, torch.ones(2, 4), is_grads_batched=True))


@same_story
def test_the_dtype_of_gradients_can_be_chosen(torch, tell):
    x = torch.ones(2, requires_grad=True)
    tell(x.grad_dtype, torch.ones(2).long().grad_dtype)
    x.grad_dtype = torch.float64
    x.grad = torch.ones(2).double()
    (x * 2).sum().backward()
    tell(x.grad)
    w = torch.ones(2, requires_grad=True)
    w.grad_dtype = torch.float64
    (w * 2).sum().backward()
    tell(w.grad, w.grad_dtype)
    for refused in (
        lambda: setattr(x, "grad_dtype", torch.float16),
        lambda: setattr(x, "grad_dtype", 3),
        lambda: setattr(x, "grad", torch.ones(2)),
        lambda: (x * 2).grad_dtype,
    ):
        try:
            refused()
        except Exception as error:
            tell(error)


@same_story
def test_gradients_that_are_assigned(torch, tell):
    x = torch.ones(2, requires_grad=True)
    for refused in (3, torch.ones(3), torch.ones(2).double(), x, torch.ones(2, device="meta")):
        try:
            x.grad = refused
        except Exception as error:
            tell(error)
    x.grad = torch.ones(2)
    x.sum().backward()
    tell(x.grad)
    del x.grad
    tell(x.grad)


@same_story
def test_versions_can_be_counted_and_kept(torch, tell):
    a = torch.ones(2)
    torch.autograd.graph.increment_version(a)
    torch.autograd.graph.increment_version([a, a])
    tell(a._version)
    with torch.autograd._unsafe_preserve_version_counter(a):
        a.mul_(3)
        tell(a._version)
    tell(a._version)


# ---- anomalies


@same_story
def test_anomaly_detection_can_be_switched(torch, tell):
    tell(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
    with torch.autograd.detect_anomaly(check_nan=False):
        tell(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
        with torch.autograd.set_detect_anomaly(False):
            tell(torch.is_anomaly_enabled())
    tell(torch.is_anomaly_enabled())
    torch.autograd.set_detect_anomaly(True)
    tell(torch.is_anomaly_enabled())
    torch.autograd.set_detect_anomaly(False)


def test_a_nan_is_traced_to_its_line():
    torch = pytest.importorskip("torch")
    import torchlite

    for library in (torch, torchlite):
        refused = pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan")
        with pytest.warns(UserWarning) as warned, refused, library.autograd.detect_anomaly():
            x = library.tensor([-1.0], requires_grad=True)
            root = library.sqrt(x)  # the guilty line
            root.sum().backward()
        said = [str(w.message) for w in warned if "Error detected in SqrtBackward0" in str(w.message)]
        assert said and "the guilty line" in said[0]


# ---- size


def test_a_long_chain_and_a_wide_fan():
    """No recursion on the way back, nor when the graph is freed."""
    import torchlite as torch

    x = torch.ones(1, requires_grad=True, dtype=torch.float64)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    y.sum().backward()
    assert x.grad.item() == 1
    del y
    total = torch.stack([x * i for i in range(10_000)]).sum()
    x.grad = None
    total.backward()
    assert x.grad.item() == sum(range(10_000))
    del total
    y = x
    for _ in range(100_000):
        y = y * 1.0
    del y


@same_story
def test_steps_by_a_number_keep_nothing(torch, tell):
    x, y = torch.ones(3, requires_grad=True), torch.arange(3.0)
    for weight in (0.3, torch.tensor(0.3)):
        z = torch.lerp(x, y, weight)
        tell(z.grad_fn.name())
        for _ in range(2):
            try:
                z.sum().backward()
            except RuntimeError as error:
                tell(str(error)[:60])
    tell(x.grad)
