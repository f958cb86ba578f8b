"""The steps of transforms, one by one, beside real PyTorch: levels by their numbers, and what is in their tensors."""

from __future__ import annotations

import importlib

import pytest

import torchlite

from .side_by_side import same_story

pytestmark = pytest.mark.usefixtures("jvp_was_taken")


def part(torch, name):
    return importlib.import_module(f"{torch.__name__}.{name}")


TRANSFORMS = {
    "vmap": lambda func, f, x: func.vmap(f, in_dims=1)(x),
    "grad": lambda func, f, x: func.grad(f)(x),
    "jvp": lambda func, f, x: func.jvp(f, (x,), (x,)),
    "vmap of grad": lambda func, f, x: func.vmap(func.grad(f))(x),
    "grad of vmap": lambda func, f, x: func.grad(lambda x: func.vmap(f)(x).sum())(x),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_what_a_tensor_is(transform):
    @same_story
    def story(torch, tell):
        levels = torch._C._functorch

        def look(x):
            tell(levels.is_batchedtensor(x), levels.is_gradtrackingtensor(x), levels.is_functorch_wrapped_tensor(x))
            tell(levels.maybe_get_level(x), levels.maybe_get_bdim(x), levels.is_dead_tensor_wrapper(x))

        def f(x):
            look(x)
            tell(repr(levels.get_unwrapped(x)), levels.current_level(), levels.get_dynamic_layer_stack_depth())
            tell([(str(i.key()), i.level()) for i in levels.get_interpreter_stack()])
            seen.append(x)
            return x.sum()

        seen, x = [], torch.ones(2, 3)
        look(x)
        tell(levels.maybe_current_level(), levels.peek_interpreter_stack(), levels.get_interpreter_stack())
        transform(torch.func, f, x)
        look(seen[0])
        tell(repr(levels.get_unwrapped(seen[0])))
        levels.get_unwrapped(x)

    story()


@same_story
def test_a_batch_by_hand(torch, tell):
    steps = part(torch, "_functorch.vmap")
    x = torch.arange(6.0).reshape(2, 3)
    with steps.vmap_increment_nesting(3, "error") as level:
        batch = steps._add_batch_dim(x, 1, level)
        tell(level, batch.shape, repr(batch), steps.is_batchedtensor(batch))
        tell(steps._remove_batch_dim(batch * 2, level, 3, 0), steps._remove_batch_dim(batch * 2, level, 3, 1))
        tell(steps._remove_batch_dim(torch.ones(2), level, 3, 0).shape)
        size, dims, leaves, spec = steps._process_batched_inputs((-1, None), (x, 4), torch.mul)
        tell(size, dims, leaves[1], str(spec), steps._validate_and_get_batch_size(dims, leaves))
        given = steps._create_batched_inputs(dims, leaves, level, spec)
        tell(steps._unwrap_batched((given[0], given[0] * given[1]), (0, 1), level, size, torch.mul))
        tell(steps.unwrap_batched(given, level), repr(steps.wrap_batched((x, 4), (1, None), level)))
        for value, dim in ((batch, None), (4, None), (4, 0)):
            try:
                tell(steps._maybe_remove_batch_dim("f", value, level, 3, dim))
            except ValueError as error:
                tell(error)
    tell(steps.restore_vmap(lambda a, b: (a * b, 1), (0, None), 2, "error")(x, 3))
    tell([steps.get_chunk_sizes(total, 3) for total in (2, 6, 7)])
    torch._C._functorch._vmap_increment_nesting(2, "sometimes")


@same_story
def test_gradients_by_hand(torch, tell):
    steps = part(torch, "_functorch.eager_transforms")
    x = torch.tensor([1.0, 2.0])
    with steps.grad_increment_nesting() as outer:
        a = steps._create_differentiable(steps._wrap_tensor_for_grad(x, outer), outer)
        with steps.grad_increment_nesting() as inner:
            b, _ = steps._wrap_all_tensors((a, 1), inner)
            b = steps._create_differentiable(b, inner)
            (first,) = torch.autograd.grad((b**3).sum(), b, create_graph=True)
            tell(outer, inner, repr(first))
            first = steps._undo_create_differentiable(first, inner)
        (second,) = torch.autograd.grad(first.sum(), a, create_graph=True)
        tell(steps._undo_create_differentiable((second, a), outer))
    tell(steps._vjp_with_argnums(torch.dot, x, x, argnums=1)[1](torch.tensor(1.0)))
    tell(steps._jvp_with_argnums(torch.dot, (x, x), (x,), argnums=1, has_aux=False))


ARGNUMS = (0, 2, -1, (0, 2), (0, -1), (0, 0), (-1, 2), (), (0, (1, 2)), "a", 5, (-4,))


@same_story
def test_chosen_arguments(torch, tell):
    steps = part(torch, "_functorch.eager_transforms")
    for argnums in ARGNUMS:
        try:
            tell(steps._slice_argnums((1, 2, 3), argnums), steps._slice_argnums((1, 2, 3), argnums, as_tuple=False))
        except RuntimeError as error:
            tell(error)


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_running_transforms_as_objects(transform):
    @same_story
    def story(torch, tell):
        running, levels = part(torch, "_functorch.pyfunctorch"), torch._C._functorch

        def f(x):
            found = running.retrieve_all_functorch_interpreters()
            tell([(type(i).__name__, i.get_state()) for i in found])
            tell(running.compare_functorch_state([i.get_state() for i in found]), running.compare_functorch_state([]))
            with running.retrieve_current_functorch_interpreter().lower():
                tell(levels.maybe_current_level())
            with running.temporarily_clear_interpreter_stack():
                tell(levels.maybe_current_level())
            tell(levels.current_level())
            return x.sum()

        transform(torch.func, f, torch.ones(2, 3))
        running.retrieve_current_functorch_interpreter()

    story()


@same_story
def test_dimensions_merged_and_split(torch, tell):
    levels, x = torch._C._functorch, torch.arange(24).reshape(2, 3, 4)
    for source, to in ((0, 0), (0, 1), (2, 1), (-1, -2)):
        tell(levels.reshape_dim_into(source, to, x))
    for source, size in ((0, 2), (2, 2), (-1, 4)):
        tell(levels.reshape_dim_outof(source, size, x))


@same_story
def test_in_parts(torch, tell):
    chunk_vmap = part(torch, "_functorch.apis").chunk_vmap
    x = torch.arange(14.0).reshape(2, 7)
    for chunks in (1, 3, 10):
        tell(chunk_vmap(torch.sin, chunks=chunks, in_dims=1)(x))
    chunk_vmap(torch.sin, chunks=0)(x)


@same_story
def test_first_forms_of_modules_as_functions(torch, tell):
    modules = part(torch, "_functorch.make_functional")
    torch.manual_seed(0)
    weights, f, names = modules.functional_init(torch.nn.Linear)(2, 3)
    tell(weights, names, f(weights, (torch.ones(2),)))
    weights, f, names = modules.functional_init(torch.nn.Linear, (4,))(2, 3)
    tell(weights, names, torch.vmap(f, (0, None))(weights, (torch.ones(2),)))
    weights, buffers, f, *names = modules.functional_init_with_buffers(torch.nn.BatchNorm1d, (2,))(3)
    tell(weights, buffers, names)
    for make in (
        lambda: modules.functional_init(torch.nn.Linear, (2, 2))(2, 3),
        lambda: modules.functional_init(torch.nn.Linear, (0,))(2, 3),
        lambda: modules.functional_init(torch.nn.BatchNorm1d)(3),
    ):
        try:
            make()
        except (ValueError, RuntimeError) as error:
            tell(error)


def test_levels_are_ended_in_order():
    levels = torchlite._C._functorch
    with pytest.raises(RuntimeError, match="no transform is running"):
        levels._vmap_decrement_nesting()
    assert [levels._vmap_increment_nesting(2, "error"), levels._grad_increment_nesting()] == [1, 2]
    with pytest.raises(RuntimeError, match="there is no transform of level 3"):
        levels._add_batch_dim(torchlite.ones(2), 0, 3)
    assert [levels._grad_decrement_nesting(), levels._vmap_decrement_nesting()] == [2, 1]
    assert levels.maybe_current_level() is None
