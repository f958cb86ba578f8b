"""`torch.autograd.Function`: programs that tell the same story in PyTorch and in torchlite."""

from __future__ import annotations

import copy
import pickle

import pytest

import torchlite
from compat_tests.functions import attempt, cube, define, leaf, square, through
from compat_tests.side_by_side import same_story

# ---- the documented examples


@same_story
def test_linear(torch, tell):
    class LinearFunction(torch.autograd.Function):
        @staticmethod
        def forward(input, weight, bias):
            output = input.mm(weight.t())
            if bias is not None:
                output += bias.unsqueeze(0).expand_as(output)
            return output

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad_output):
            input, weight, bias = ctx.saved_tensors
            grad_input = grad_weight = grad_bias = None
            tell(ctx.needs_input_grad)
            if ctx.needs_input_grad[0]:
                grad_input = grad_output.mm(weight)
            if ctx.needs_input_grad[1]:
                grad_weight = grad_output.t().mm(input)
            if bias is not None and ctx.needs_input_grad[2]:
                grad_bias = grad_output.sum(0)
            return grad_input, grad_weight, grad_bias

    x = torch.arange(6.0).reshape(2, 3)
    weight = torch.arange(12.0).reshape(4, 3).requires_grad_()
    bias = torch.ones(4, requires_grad=True)
    for operands in ((x, weight, bias), (x, weight, None), (x.clone().requires_grad_(), weight.detach(), bias)):
        y = LinearFunction.apply(*operands)
        tell(y, y.grad_fn.next_functions)
        (y * y).sum().backward()
        tell([t.grad if t is not None else None for t in operands])


@same_story
def test_a_number_is_no_tensor(torch, tell):
    class MulConstant(torch.autograd.Function):
        @staticmethod
        def forward(ctx, tensor, constant):
            ctx.set_materialize_grads(False)
            ctx.constant = constant
            return tensor * constant

        @staticmethod
        def backward(ctx, grad_output):
            return None if grad_output is None else grad_output * ctx.constant, None

    x = leaf(torch)
    y = MulConstant.apply(x, 5)
    tell(y, y.grad_fn.constant)
    y.sum().backward()
    tell(x.grad)


@same_story
def test_gradcheck(torch, tell):
    x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    tell(torch.autograd.gradcheck(square(torch).apply, (x,)))
    tell(torch.autograd.gradgradcheck(square(torch).apply, (x,)))
    wrong = define(torch, lambda ctx, x: x * x, lambda ctx, g: g)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(wrong.apply, (x,))


@same_story
def test_relu(torch, tell):
    class MyReLU(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input):
            ctx.save_for_backward(input)
            return input.clamp(min=0)

        @staticmethod
        def backward(ctx, grad_output):
            (input,) = ctx.saved_tensors
            grad_input = grad_output.clone()
            grad_input[input < 0] = 0
            return grad_input

    x = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    y = MyReLU.apply(x)
    y.pow(2).sum().backward()
    tell(y, x.grad)


# ---- the node


@same_story
def test_the_node_is_the_context(torch, tell):
    seen = []

    def forward(ctx, x, n):
        seen.append(ctx)
        ctx.save_for_backward(x)
        ctx.n = n
        tell(ctx.saved_tensors, ctx.needs_input_grad, ctx.next_functions, torch.is_grad_enabled())
        return x * n

    def backward(ctx, g):
        tell(ctx is seen[0], ctx.n, torch.is_grad_enabled())
        return g * ctx.n, None

    fn = define(torch, forward, backward, "Times")
    x = leaf(torch)
    y = fn.apply(x, 3)
    node = y.grad_fn
    tell(node is seen[0], type(node).__name__, type(node).__module__, node.name(), node.n, node.__dict__.get("n"))
    tell(
        str(node).split(" at ")[0],
        node._forward_cls is fn,
        fn._backward_cls is type(node),
        node.requires_grad,
        node.metadata,
    )
    tell(node.saved_tensors, node.saved_tensors[0] is x, node.next_functions, y.output_nr, repr(y))
    tell([node.to_save, node.dirty_tensors, node.non_differentiable, node.saved_for_forward])
    tell(isinstance(node, torch.autograd.function.BackwardCFunction))
    node.later = 4
    y.sum().backward()
    tell(x.grad, y.grad_fn.later)
    attempt(tell, "no such", lambda: node.nothing)


NAMES = ("edges", "hooks", "metadata_", "more", "name", "outputs", "saved", "seq", "values")


@same_story
def test_every_name_is_free_for_the_user(torch, tell):
    def forward(ctx, x):
        for name in NAMES:
            setattr(ctx, name, f"my {name}")
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        tell([getattr(ctx, name) for name in NAMES], ctx.saved_tensors)
        return g * 2

    x = leaf(torch)
    y = define(torch, forward, backward).apply(x)
    y.grad_fn.register_hook(lambda inputs, outputs: tell(inputs, outputs))
    y.sum().backward()
    tell(x.grad, [getattr(y.grad_fn, name) for name in NAMES])


@same_story
def test_numbers_from_elsewhere(torch, tell):
    np = pytest.importorskip("numpy")

    def forward(ctx, x):
        y = torch.from_numpy(np.exp(x.numpy()))
        ctx.save_for_backward(y)
        return y

    fn = define(torch, forward, lambda ctx, g: g * torch.from_numpy(ctx.saved_tensors[0].detach().numpy()))
    x = leaf(torch)
    y = fn.apply(x)
    y.sum().backward()
    tell(y, x.grad)
    attempt(tell, "recording", x.numpy)


@same_story
def test_classes(torch, tell):
    function = torch.autograd.function
    tell(sorted(function.__all__), torch.autograd.Function is function.Function)
    tell([c.__name__ for c in square(torch).__mro__ if "Base" not in c.__name__])
    tell(issubclass(square(torch), function._SingleLevelFunction), isinstance(square(torch), function.FunctionMeta))
    tell(function._is_setup_context_defined(square(torch).setup_context))
    tell(function._is_setup_context_defined(cube(torch).setup_context))
    ctx = function.FunctionCtx()
    ctx.save_for_backward(1, 2)
    ctx.mark_dirty(3)
    ctx.mark_non_differentiable(4)
    ctx.set_materialize_grads(False)
    tell(vars(ctx))
    attempt(tell, "forward", lambda: ctx.save_for_forward(1))
    ctx.mark_shared_storage((1, 2))


@same_story
def test_instances_are_of_the_past(torch, tell):
    class Old(torch.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, g):
            return g * 2

    attempt(tell, "called", lambda: Old()(torch.ones(2)))
    x = leaf(torch)
    y = Old.apply(x)
    y.sum().backward()
    tell(y, x.grad)
    tell(torch.autograd.function.InplaceFunction(True).inplace)


@same_story
def test_what_was_not_written(torch, tell):
    x = leaf(torch)
    fn = torch.autograd.Function
    for name in ("forward", "setup_context", "backward", "vjp", "jvp", "vmap"):
        attempt(tell, name, lambda name=name: getattr(fn, name)(1, 2, 3))
    attempt(tell, "forward", lambda: fn.apply(x))
    attempt(tell, "backward", lambda: define(torch, lambda ctx, x: x * 1).apply(x).sum().backward())
    both = define(torch, lambda ctx, x: x * 1, through, vjp=through)
    attempt(tell, "both", lambda: both.apply(x).sum().backward())
    define(torch, lambda ctx, x: x * 1, vjp=lambda ctx, g: g * 7).apply(x).sum().backward()
    tell(x.grad)


Pickled = define(torchlite, lambda ctx, x: x, through, "Pickled")
Pickled.__module__ = __name__


def test_function_classes_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(Pickled)) is Pickled
    assert copy.deepcopy(Pickled) is Pickled


# ---- arguments


@same_story
def test_arguments(torch, tell):
    x, w = leaf(torch), leaf(torch, 4.0)
    plain = define(torch, lambda ctx, a, b=2: (tell(ctx.needs_input_grad), a * b)[1], through)
    tell(plain.apply(x), plain.apply(x, b=w), plain.apply(a=x, b=3))
    attempt(tell, "gradients", lambda: plain.apply(x, b=w).sum().backward())

    def setup_context(ctx, inputs, output):
        tell("inputs", inputs, torch.is_grad_enabled())

    bound = define(torch, lambda a, b=2: a * b, lambda ctx, g: (g, None), setup_context=setup_context)
    for call in (
        lambda: bound.apply(x),
        lambda: bound.apply(x, b=5),
        lambda: bound.apply(b=5, a=x),
        lambda: bound.apply(x, 5, c=5),
        lambda: bound.apply(),
        lambda: define(torch, lambda a, *, k=3: a * k, through, setup_context=setup_context).apply(x, k=5),
        lambda: define(torch, lambda a, *, k=3: a * k, through, setup_context=setup_context).apply(x),
        lambda: define(torch, lambda a, *k: a * k[0], through, setup_context=setup_context).apply(x, 4, 5),
    ):
        attempt(tell, "call", call)


@same_story
def test_containers_are_opaque(torch, tell):
    x = leaf(torch)
    fn = define(torch, lambda ctx, xs, d: (tell(ctx.needs_input_grad), xs[0] * d["k"])[1], through)
    tell(fn.apply([x], {"k": 2}))
    attempt(tell, "list", lambda: define(torch, lambda ctx, x: [x * 1, x * 2], through).apply(x))
    attempt(tell, "dict", lambda: define(torch, lambda ctx, x: {"a": x}, through).apply(x)["a"] is x)


@same_story
def test_results_of_every_kind(torch, tell):
    def backward(ctx, *gradients):
        tell("gradients", gradients)
        return gradients[0]

    x = leaf(torch)
    for forward in (
        lambda ctx, x: None,
        lambda ctx, x: (),
        lambda ctx, x: (x * 1,),
        lambda ctx, x: (x * 1, 3, None, "s"),
        lambda ctx, x: (x * 1, x * 2, x.long()),
        lambda ctx, x: 5,
    ):
        result = define(torch, forward, backward).apply(x)
        tell(result)
        if isinstance(result, tuple) and result:
            result[0].sum().backward()
            tell(x.grad)
    twice = define(torch, lambda ctx, x: (lambda y: (y, y))(x * 2), lambda ctx, g, h: g + 10 * h).apply(x)
    tell(twice[0] is twice[1], twice[0].output_nr)


@same_story
def test_modes(torch, tell):
    x = leaf(torch)

    def forward(ctx, a, b):
        tell(ctx.needs_input_grad, ctx.next_functions, torch.is_grad_enabled(), torch.is_inference_mode_enabled())
        ctx.save_for_backward(a)
        return a * b

    fn, same = define(torch, forward, through), define(torch, lambda ctx, x: x, through)
    with torch.no_grad():
        tell(fn.apply(x, 2))
        y = same.apply(x)
        tell(y, y._is_view(), y is x)
    with torch.inference_mode():
        y = fn.apply(x, 2)
        tell(y, y.is_inference())
        y = same.apply(x)
        tell(y, y.is_inference(), y is x)
        made = torch.ones(3)
    saving = define(torch, lambda ctx, a, b: (ctx.save_for_backward(b), a * b)[1], through)
    attempt(tell, "inference", lambda: saving.apply(x, made))

    def enabled(ctx, x):
        with torch.enable_grad():
            return x * 2

    tell(define(torch, enabled, through).apply(x), define(torch, enabled, through).apply(x.detach()))

    def failing(ctx, x):
        raise ValueError("no")

    attempt(tell, "failed", lambda: define(torch, failing).apply(x))
    tell(torch.is_grad_enabled())


@same_story
def test_modes_of_backward(torch, tell):
    fn = define(torch, lambda ctx, x: x * 1, lambda ctx, g: (tell(torch.is_grad_enabled()), g)[1])
    x = leaf(torch)
    y = fn.apply(x).sum()
    y.backward(retain_graph=True)
    with torch.no_grad():
        torch.autograd.grad(y, x, create_graph=True)


# ---- gradients


@same_story
def test_gradients_that_do_not_fit(torch, tell):
    x = leaf(torch)
    one = (
        lambda ctx, g: 3,
        lambda ctx, g: "a",
        lambda ctx, g: [g],
        lambda ctx, g: (g, None, None),
        lambda ctx, g: (g, g),
        lambda ctx, g: (),
        lambda ctx, g: None,
        lambda ctx, g: torch.ones(4),
        lambda ctx, g: torch.ones(2, 3),
        lambda ctx, g: torch.ones(()),
        lambda ctx, g: g.double(),
        lambda ctx, g: g.long(),
    )
    for at, backward in enumerate(one):
        x.grad = None
        fn = define(torch, lambda ctx, x: x * 1, backward)
        attempt(tell, at, lambda fn=fn: fn.apply(x).sum().backward())
        tell(x.grad)
    two = (lambda ctx, g: g, lambda ctx, g: (g, g, g), lambda ctx, g: [g, g], lambda ctx, g: (g, "a"))
    for at, backward in enumerate(two):
        fn = define(torch, lambda ctx, a, b: a * 1, backward)
        attempt(tell, at, lambda fn=fn: fn.apply(x, leaf(torch)).sum().backward())
    fn = define(torch, lambda ctx, a, b: a * 1, lambda ctx, g: (g, g))
    attempt(tell, "number", lambda: fn.apply(x, 2).sum().backward())


@same_story
def test_gradients_nobody_gave(torch, tell):
    for materialize in (True, False, 3):
        x = leaf(torch)

        def forward(ctx, x, materialize=materialize):
            ctx.set_materialize_grads(materialize)
            return x * 1, x[:2].double(), x * 3

        def backward(ctx, *gradients):
            tell(gradients)
            return gradients[0]

        fn = define(torch, forward, backward)
        attempt(tell, "called", lambda fn=fn, x=x: fn.apply(x)[0].sum().backward())
        tell(x.grad)


@same_story
def test_none_stops_nothing(torch, tell):
    stop = define(torch, lambda ctx, x: x * 1, lambda ctx, g: None)
    shown = define(torch, lambda ctx, x: x * 1, lambda ctx, g: (tell("gradient", g), g)[1])
    x = leaf(torch)
    shown.apply(stop.apply(shown.apply(x))).sum().backward()
    tell(x.grad)


@same_story
def test_double_backward(torch, tell):
    x = leaf(torch)
    fn = square(torch)
    (first,) = torch.autograd.grad(fn.apply(x).pow(2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)
    tell(first, second, third)


@same_story
def test_once_differentiable(torch, tell):
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        return x * x

    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        tell(torch.is_grad_enabled())
        return g * 2 * ctx.saved_tensors[0], None

    @torch.autograd.function.once_differentiable
    def alone(ctx, g):
        return g * 2

    x, weight = leaf(torch), leaf(torch)
    y = define(torch, forward, backward).apply(x, 3)
    tell(torch.autograd.grad(y.sum(), x, retain_graph=True), torch.is_grad_enabled())
    tell(torch.autograd.grad(y.sum(), x, retain_graph=True, create_graph=True))
    for result in (y, define(torch, lambda ctx, x: x * 2, alone).apply(x)):
        (g,) = torch.autograd.grad(result, x, weight, create_graph=True)
        tell(g, g.grad_fn.name(), g.grad_fn.next_functions)
        attempt(tell, "again", lambda g=g: g.sum().backward())


@same_story
def test_hooks(torch, tell):
    x = leaf(torch)
    y = define(torch, lambda ctx, a, n, b: a * b * n, lambda ctx, g: (g, None, g * 2)).apply(x, 2, leaf(torch))
    y.grad_fn.register_hook(lambda inputs, outputs: tell("post", inputs, outputs))
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 10,))
    y.register_hook(lambda g: tell("tensor", g))
    y.sum().backward()
    tell(x.grad)


@same_story
def test_boxed_gradients(torch, tell):
    def backward(ctx, gradients):
        tell(type(gradients), len(gradients))
        return gradients.pop()

    fn = define(torch, lambda ctx, x: (x * 1, x * 2), backward, boxed_grads_call=True)
    x = leaf(torch)
    sum(fn.apply(x)).sum().backward()
    tell(x.grad)


# ---- subclasses and modes of functions


@same_story
def test_subclasses(torch, tell):
    class Named(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Named).requires_grad_()
    tell(type(square(torch).apply(x)).__name__, type(define(torch, lambda ctx, x: x, through).apply(x)).__name__)
    square(torch).apply(x).sum().backward()
    tell(x.grad.tolist())
