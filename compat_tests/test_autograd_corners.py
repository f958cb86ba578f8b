"""Corners of autograd that programs lean on: what the engine says of itself, hooks, modes, and nodes as objects."""

from __future__ import annotations

import copy
import itertools
import threading
from importlib import import_module

import pytest

import torchlite

from .side_by_side import same_story, tried

# ---- the pass under way


@same_story
def test_hooks_may_ask_which_node_runs_and_which_will(torch, tell):
    engine = import_module(f"{torch.__name__}._C")
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    z = y.exp()
    unused = (x * 3).grad_fn

    def ask(grad):
        tell(engine._current_graph_task_id() >= 0, engine._current_autograd_node().name())
        tell([engine._will_engine_execute_node(node) for node in (y.grad_fn, unused)])

    tell(engine._current_graph_task_id(), engine._current_autograd_node())
    for asked in (engine._current_graph_task_execution_order, lambda: engine._will_engine_execute_node(y.grad_fn)):
        tried(tell, asked)
    z.register_hook(ask)
    total = z.sum()
    total.register_hook(lambda grad: tell([n.name() for n in engine._current_graph_task_execution_order()]))
    with torch.autograd.set_multithreading_enabled(False):
        total.backward(retain_graph=True)
        torch.autograd.grad(total, y)
    tried(tell, z.sum().backward)


@same_story
def test_hooks_of_a_pass_for_some_leaves_may_ask_the_same(torch, tell):
    engine = import_module(f"{torch.__name__}._C")
    x, w = (torch.tensor([v, 2.0], requires_grad=True) for v in (0.5, 1.5))
    y = x * w
    z = (y * w).exp() + (w * 3).sin()
    nodes = [t.grad_fn for t in (y, z, (w * 3).sin())]

    def ask(grad):
        tell(engine._current_autograd_node().name(), grad, grad.requires_grad)
        tell([engine._will_engine_execute_node(node) for node in nodes])

    for t in (y, z):
        t.register_hook(ask)
    with torch.autograd.set_multithreading_enabled(False):
        for create in (False, True):
            for goals in ([x], [w, x], [w]):
                found = torch.autograd.grad(z.sum(), goals, retain_graph=True, create_graph=create)
                tell(found, [g.grad_fn.name() if create else g.grad_fn for g in found])
                if create:
                    tell(torch.autograd.grad(sum(g.square().sum() for g in found), [w, x], create_graph=True))
        loss = z.sum()
        with torch.no_grad():
            tell(torch.autograd.grad(loss, x, create_graph=True)[0].requires_grad)


@same_story
def test_passes_may_be_nested_as_deep_as_a_program_likes(torch, tell):
    class Again(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, grad):
            if ctx.x > 0:
                with torch.enable_grad():
                    Again.apply(ctx.x).backward()
            elif fails:
                raise ValueError("at the bottom")
            return grad

    for fails in (False, True):  # noqa: B007
        x = torch.tensor(300.0, requires_grad=True)
        tried(tell, Again.apply(x).backward)
        tell(x.grad, torch.is_grad_enabled())


@same_story
def test_a_node_whose_gradient_was_only_asked_for_keeps_what_it_saved(torch, tell):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    edge = torch.autograd.graph.GradientEdge(y.grad_fn, 0)
    tell(torch.autograd.grad(y.sum(), edge), edge._fields)
    tell(torch.autograd.grad(edge, x, torch.ones(2)))
    tried(tell, torch.autograd.grad, edge, x, torch.ones(2))


@same_story
def test_a_gradient_from_another_device_is_refused(torch, tell):
    class Elsewhere(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad.to("meta")

    tried(tell, Elsewhere.apply(torch.ones(2, requires_grad=True)).sum().backward)


# ---- hooks


@same_story
def test_hooks_after_accumulation_return_nothing(torch, tell):
    for result in (3, torch.ones(3), torch.ones(2, dtype=torch.float64), torch.ones(2), None):
        x = torch.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda leaf, result=result: result)
        x.register_post_accumulate_grad_hook(lambda leaf: tell(leaf.grad))
        tried(tell, (x * 2).sum().backward)


@same_story
def test_hooks_after_accumulation_are_told_when_there_was_no_gradient(torch, tell):
    class First(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            return x.clone(), y.clone()

        @staticmethod
        def backward(ctx, *grads):
            return grads

    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    y.register_post_accumulate_grad_hook(lambda leaf: tell("y", leaf.grad))
    First.apply(x, y)[0].sum().backward()
    tell(x.grad, y.grad)


@same_story
def test_dictionaries_of_hooks_can_be_set(torch, tell):
    x = torch.ones(2, requires_grad=True)
    x._post_accumulate_grad_hooks = {0: lambda leaf: tell(leaf.grad)}
    (x * 1).sum().backward()


@same_story
def test_a_kept_gradient_has_memory_of_its_own(torch, tell):
    y = torch.ones(3, requires_grad=True).clone()
    y.retain_grad()
    given = torch.tensor([1.0, 2.0, 3.0])
    y.backward(given)
    given.zero_()
    tell(y.grad, y.grad.stride())
    y = torch.ones(3, requires_grad=True).clone()
    y.retain_grad()
    y.sum().backward()
    tell(y.grad.stride())


@same_story
def test_the_function_variable_is_no_more(torch, tell):
    import_module(f"{torch.__name__}.autograd.variable")
    torch.autograd.variable(torch.ones(2), requires_grad=True)


@same_story
def test_hooks_on_several_tensors_want_all_to_require_grad(torch, tell):
    tensors = [torch.ones(2, requires_grad=True), torch.ones(2)]
    tried(tell, torch.autograd.graph.register_multi_grad_hook, tensors, print)


@same_story
def test_default_hooks_for_saved_tensors_are_a_stack(torch, tell):
    words = import_module(f"{torch.__name__}._C")._autograd
    tell(words._saved_tensors_hooks_is_enabled(), words._top_saved_tensors_default_hooks(False))
    x = torch.ones(2, requires_grad=True)
    words._push_saved_tensors_default_hooks(lambda t: t * 3, lambda t: t)
    y = x * x
    words._pop_saved_tensors_default_hooks()
    y.sum().backward()
    tell(x.grad)
    with torch.autograd.graph.disable_saved_tensors_hooks("not now"):
        tell(words._saved_tensors_hooks_is_enabled(), words._saved_tensors_hooks_get_disabled_error_message())
    tried(tell, torch.autograd.SavedTensor)


# ---- modes


@same_story
def test_switches_take_truth_values_alone(torch, tell):
    for switch in (torch.set_grad_enabled, torch.autograd.set_multithreading_enabled):
        for value in (1, None, "yes"):
            tried(tell, switch, value)
    x = torch.ones(2)
    for value in (1, None):
        tried(tell, setattr, x, "requires_grad", value)
    tell(x.requires_grad, torch.is_grad_enabled())
    tell(repr(torch.set_grad_enabled(True)), str(torch.set_grad_enabled(True)))


@same_story
def test_switches_can_be_cloned_and_classes_should_not_be_decorated(torch, tell):
    with torch.no_grad().clone():
        tell(torch.is_grad_enabled())
    with torch.set_grad_enabled(True).clone():
        tell(torch.is_grad_enabled())

    @torch.no_grad()
    class Decorated:
        def __init__(self):
            tell(torch.is_grad_enabled())

    Decorated()


@same_story
def test_nothing_is_recorded_in_inference_mode(torch, tell):
    with torch.inference_mode(), torch.enable_grad():
        x = torch.ones(2, requires_grad=True)
        tell((x * 2).requires_grad)
    with torch.no_grad(), torch.inference_mode(False):
        tell(torch.is_grad_enabled())
    with torch.inference_mode():
        x = torch.ones(2)
    p = torch.nn.Parameter(x)
    tell(p.is_inference(), p.requires_grad, p.data_ptr() == x.data_ptr())
    torch.autograd.graph.increment_version(x)


@same_story
def test_multithreading_is_a_matter_of_the_thread(torch, tell):
    is_enabled = import_module(f"{torch.__name__}._C")._is_multithreading_enabled
    with torch.autograd.set_multithreading_enabled(False):
        tell(is_enabled())
        thread = threading.Thread(target=lambda: tell(is_enabled()))
        thread.start()
        thread.join()
    tell(is_enabled())


@same_story
def test_an_induced_failure_is_warned_of_step_by_step(torch, tell):
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise RuntimeError("no")

    class Outer(Inner):
        @staticmethod
        def backward(ctx, grad):
            return Inner.apply(grad)

    warnings = import_module("warnings")
    for modes in itertools.product((False, True), repeat=3):
        x = torch.ones(2, requires_grad=True)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            with torch.autograd.set_detect_anomaly(modes[0]):
                y = Outer.apply(x).sum()
            with torch.autograd.set_detect_anomaly(modes[1]):
                (grad,) = torch.autograd.grad(y, x, create_graph=True)
            with torch.autograd.set_detect_anomaly(modes[2]):
                tried(tell, grad.sum().backward)
        tell(modes, [str(w.message).split(". ")[:2][0 if "No forward" in str(w.message) else -1][:60] for w in seen])


# ---- nodes and leaves


@same_story
def test_nodes_say_what_they_saved_of_shapes(torch, tell):
    F = torch.nn.functional
    image, square = torch.ones(1, 1, 3, 3, requires_grad=True), torch.ones(3, 3, requires_grad=True)
    node = F.conv2d(image, torch.ones(1, 1, 2, 2), torch.ones(1, requires_grad=True)).grad_fn
    tell(node._saved_bias_sym_sizes_opt, node._saved_stride)
    tell(F.conv2d(image, torch.ones(1, 1, 2, 2)).grad_fn._saved_bias_sym_sizes_opt)
    node = F.unfold(image, 2).grad_fn
    tell(node._saved_self_sym_argsize_minus_1, node._saved_self_sym_argsize_minus_2, node._saved_kernel_size)
    node = F.embedding(torch.tensor([0]), square).grad_fn
    tell(node._saved_weight_sym_argsize_0, node._saved_sparse)
    node = torch.addbmm(square, image[0].expand(2, 3, 3), image[0].expand(2, 3, 3)).grad_fn
    tell(node._saved_batch1_sym_argsize_0, node._saved_batch1_sym_argsize_1)
    tell(F.layer_norm(square, (3,)).grad_fn._saved_normalized_shape)
    tell("_saved_normalized_shape" in dir(F.layer_norm(square, (3,)).grad_fn))


@same_story
def test_nodes_are_neither_pickled_nor_called_with_too_little(torch, tell):
    node = (torch.ones(2, requires_grad=True) * 2).grad_fn
    tried(tell, copy.deepcopy, node)
    tried(tell, node)
    tried(tell, node, torch.ones(2), torch.ones(2))
    tell(type(node).__module__, type(node.next_functions[0][0]).__module__)


@same_story
def test_what_a_leaf_refuses(torch, tell):
    x = torch.ones(3, requires_grad=True)
    tried(tell, delattr, x, "data")
    tried(tell, setattr, x, "data", torch.ones(3, device="meta"))
    for make in (
        lambda: torch.tensor([1], requires_grad=True),
        lambda: torch.ones(2, dtype=torch.int64).requires_grad_(),
        lambda: setattr(torch.ones(2, dtype=torch.int64), "requires_grad", True),
    ):
        tried(tell, make)
    tried(tell, torch.autograd.graph.increment_version, 3)
    tried(tell, torch.autograd.grad, (x * 2).sum(), x, [None, None])
    tried(tell, torch.autograd.Variable, 3)


@same_story
def test_a_checkpoint_that_reenters_refuses_inputs(torch, tell):
    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    x = torch.ones(3, requires_grad=True)
    y = checkpoint(torch.exp, x, use_reentrant=True).sum()
    tried(tell, y.backward, inputs=[x])


# ---- the profiler's events


@same_story
def test_events_made_by_hand_find_their_parents(torch, tell):
    util = import_module(f"{torch.__name__}.autograd.profiler_util")
    spans = [(0, 0, 10), (0, 2, 5), (0, 3, 4), (1, 2, 5), (0, 12, 15), (0, 11, 20)]
    events = util.EventList(
        [util.FunctionEvent(id=i, name="f", thread=t, start_us=a, end_us=b) for i, (t, a, b) in enumerate(spans)]
    )
    events._populate_cpu_children()
    tell([[child.id for child in event.cpu_children] for event in events])
    tell([event.self_cpu_time_total for event in events], events[1].cpu_parent.id)
    total = util.FunctionEventAvg()
    total.add(events[0])
    total += events[5]
    total.add(total)
    tell(total.key, total.count, total.cpu_time, total.device_time_total)
    tell([util._format_time(t) for t in (0, 3.25, 4100, 2.5e6)])


@same_story
def test_events_name_composite_operations_and_the_nodes_they_made(torch, tell):
    F = torch.nn.functional
    module = import_module(f"{torch.__name__}.autograd.profiler")
    x, target = torch.ones(2, 3, requires_grad=True), torch.tensor([0, 1])
    with module.profile(record_shapes=True) as p:
        y = F.linear(x, torch.ones(4, 3), torch.ones(4))
        F.cross_entropy(y, target)
        z = (y + y).sum()
        z.backward()
    events = p.function_events
    tell([e.name for e in events if e.cpu_parent is None and "AccumulateGrad" not in e.name and "ones" not in e.name])
    tell([e.input_shapes for e in events if e.name == "aten::linear"])
    numbers = {e.name: e.sequence_nr for e in reversed(events)}  # of the first of each name
    tell(numbers["aten::add"] == numbers["AddBackward0"] >= 0)
    tell(repr(module.profile()))


@same_story
def test_outputs_without_gradient_may_be_left_as_none(torch, tell):
    class Some(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            first, second, third = x * 2, x * 3, x > 0
            ctx.mark_non_differentiable(second, third)
            ctx._materialize_non_diff_grads = False
            return first, second, third, x * 4

        @staticmethod
        def backward(ctx, *grads):
            tell(grads)
            return grads[0] + grads[3]

    Some.apply(torch.ones(2, requires_grad=True))[0].sum().backward()


@same_story
def test_the_node_that_a_gradient_goes_to(torch, tell):
    graph = import_module(f"{torch.__name__}.autograd.graph")
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    for place in (y, x, graph.get_gradient_edge(y)):
        tell(graph._get_grad_fn_or_grad_acc(place).name())
    tried(tell, graph._get_grad_fn_or_grad_acc, torch.ones(2))
    z = torch.ops.aten.alias(y)
    tell(z._is_view(), z.grad_fn.name())


@same_story
def test_nodes_compute_only_the_gradients_that_are_asked_for(torch, tell):
    layer = torch.nn.Linear(3, 4)
    a, b = torch.ones(5, 3, requires_grad=True), torch.ones(5, 3, requires_grad=True)

    def watched(made):
        made.grad_fn.register_hook(lambda to, of: tell([g is None for g in to]))
        return made

    for graph in (False, True):
        for make in (lambda: layer(a), lambda: a * b, lambda: torch.cat([a, b]), lambda: torch.where(a > 0, b, a)):
            torch.autograd.grad(watched(make()).sum(), a, create_graph=graph)
            watched(make()).sum().backward(inputs=[a], create_graph=graph)
            watched(make()).sum().backward(create_graph=graph)


@same_story
def test_numbers_may_be_squeezed_along_a_dimension(torch, tell):
    for dim in (0, -1, (0,), (-1,), ()):
        x = torch.tensor(3.0, requires_grad=True)
        (x * 2).squeeze(dim).backward()
        tell(dim, x.grad.item())


@same_story
def test_what_was_not_chosen_has_no_part_in_what_is_no_number(torch, tell):
    for reduce in ("max()", "min()", "median()", "nanmedian()", "amax()", "max(0)[0]", "amin(0)", "aminmax()[1]"):
        for upstream in (float("nan"), float("inf")):
            x = torch.tensor([[1.0, 2.0], [3.0, 3.0]], requires_grad=True)
            y = eval(f"x.{reduce}", {"x": x})
            for create_graph in (False, True):
                tell(reduce, torch.autograd.grad(y, x, torch.full_like(y, upstream), True, create_graph)[0].detach())


@same_story
def test_sums_with_a_gradient_lie_as_pytorchs_do(torch, tell):
    leaf, rows = torch.ones(3, 3).t().requires_grad_(), torch.ones(3, 3)
    (leaf * 2 + leaf * 3).sin().sum().backward()
    tell(leaf.grad.stride(), (leaf.grad + rows).stride(), (rows + leaf.grad).stride(), (leaf.grad * rows).stride())


@pytest.mark.parametrize(
    "formula", ["x.exp()", "x * y", "x.tanh()", "x * 2", "x.relu()", "x / y", "x ** 2", "x.exp() - y * x"]
)
def test_gradients_that_lie_by_columns_show_it(formula):
    @same_story
    def program(torch, tell):
        rows = torch.ones(3, 3)
        for _ in range(3):  # the second call of a form is planned
            x, y = [torch.full((3, 3), 0.5).t().requires_grad_() for _ in "xy"]
            (gradient,) = torch.autograd.grad(eval(formula, {"x": x, "y": y}).sum(), x)
            eval(formula, {"x": x, "y": y}).sum().backward()
            for g in (gradient, x.grad):
                tell(g.stride(), (g + rows).stride(), (rows + g).stride())

    program()


# ---- what is refused


@same_story
def test_flags_of_a_pass_are_numbers(torch, tell):
    x = torch.ones(3, requires_grad=True)
    for flag in ("a", 1.5, [], None, 2, True):
        for name in ("retain_graph", "create_graph"):
            tried(tell, (x * x).sum().backward, **{name: flag})
        for name in ("retain_graph", "allow_unused", "materialize_grads"):
            tried(tell, torch.autograd.grad, (x * x).sum(), x, **{name: flag})


@same_story
def test_inputs_of_a_pass_and_arguments_of_nodes_are_tensors(torch, tell):
    x = torch.ones(3, requires_grad=True)
    for inputs in ([3], "a", [None]):
        tried(tell, (x * 2).backward, torch.ones(3), inputs=inputs)
    for node in ((x * 2).grad_fn, x.exp().grad_fn, x.view(3).grad_fn.next_functions[0][0]):
        for given in (1, "a", [torch.ones(3)]):
            tried(tell, node, given)


@same_story
def test_what_was_computed_does_not_become_a_leaf(torch, tell):
    x = torch.ones(3, requires_grad=True)
    for y in (x * 2, x.view(3), torch.ones(3).view(3), (x * 2).detach()):
        tried(tell, setattr, y, "requires_grad", True)
        tell(y.requires_grad, y.is_leaf)


def test_a_batch_of_gradients_is_given():
    """One gradient of ones, which is what stands for none, is no batch."""
    x = torchlite.ones(3, requires_grad=True)
    with pytest.raises(ValueError, match="dimensionality 0"):
        torchlite.autograd.grad(x.sum(), x, is_grads_batched=True)
