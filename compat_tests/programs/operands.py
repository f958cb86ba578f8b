"""The tensors that may stand in the holes of the table's rows: for each kind of hole, a rule that chooses one.

A rule sees the scene: the live tensors (real ones, as the program so far has made them), the operands already chosen
for the row, and a source of random choices. Where nothing fits it raises `NoFit`, and another row is drawn. A careless
scene lets operands through that do not fit, so that errors are compared too.
"""

from collections.abc import Callable

from .arguments import float_, nested
from .scene import HOLES, NoFit, Scene, Tensor, hole

# -- What a tensor is like ---------------------------------------------------------------------------------------------


def is_real(tensor: Tensor) -> bool:
    return tensor.is_floating_point()


def is_inexact(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def is_discrete(tensor: Tensor) -> bool:
    return not is_inexact(tensor)


def is_exact(tensor: Tensor) -> bool:
    """Real, with values whose every bit is certain: small multiples of 1/64, as exact arithmetic gives.

    Of numbers with few digits, all that are not small are such multiples, so they must be smaller and rounder.
    """
    if tensor.is_complex():
        return False
    few = tensor.dtype.itemsize < 4 and is_real(tensor)
    scaled = tensor.detach().double() * (4 if few else 64)
    return bool(((scaled == scaled.round()) & (scaled.abs() < (2**5 if few else 2**16))).all())


def is_small(tensor: Tensor) -> bool:
    """Exact, and such that every dtype has its values: PyTorch leaves to chance what others are converted to."""
    return is_exact(tensor) and bool(((tensor.detach() >= 0) & (tensor.detach() < 100)).all())


def is_distinct(tensor: Tensor) -> bool:
    """Exact, with no two elements alike: which of equals an op picks is left to chance."""
    return is_exact(tensor) and tensor.detach().unique().numel() == tensor.numel()


def is_protected(tensor: Tensor) -> bool:
    """Whether it is a leaf that requires gradients, or a view of one."""
    owner = tensor if tensor._base is None else tensor._base
    return owner.is_leaf and owner.requires_grad


def is_tangled(tensor: Tensor) -> bool:
    """Whether elements overlap in a way that PyTorch does not refuse to write to: what that gives is left to chance."""
    reach = 0
    for step, extent in sorted(zip(tensor.stride(), tensor.shape)):
        if extent > 1 and step:
            if step <= reach:
                return True
            reach += (extent - 1) * step
    return False


def is_within(tensor: Tensor, bound: int) -> bool:
    """Whether all values may be indices below a bound."""
    return bool(((tensor.detach() >= 0) & (tensor.detach() < bound)).all())


def is_bool(tensor: Tensor) -> bool:
    return str(tensor.dtype) == "torch.bool"


def broadcasts(one: list[int], other: list[int]) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(one), reversed(other)))


def expands(shape: list[int], into: list[int]) -> bool:
    return len(shape) <= len(into) and all(a in (b, 1) for a, b in zip(reversed(shape), reversed(into)))


def shares(one: Tensor, other: Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def apart(one: Tensor, other: Tensor) -> bool:
    """Whether writing one while reading the other has a defined result: no shared memory, or an error for sure."""
    return not shares(one, other) or one is other or (one.is_contiguous() and other.is_contiguous())


# -- Operands ----------------------------------------------------------------------------------------------------------


def anything(tensor: Tensor) -> bool:
    return True


def operand_hole(name: str, fits: Callable[[Tensor], bool], certain: Callable[[Tensor], bool] = anything) -> None:
    HOLES[name] = lambda scene: scene.operand(fits, certain)


operand_hole("a", anything)
operand_hole("real", is_real)
operand_hole("inexact", is_inexact)
operand_hole("complex", lambda t: t.is_complex())
operand_hole("exact", is_exact, lambda t: t.is_complex() or is_exact(t))
operand_hole("small_exact", is_small, is_small)
operand_hole("discrete", is_discrete)
operand_hole("integer", lambda t: is_discrete(t) and not is_bool(t))
operand_hole("mask", is_bool)
operand_hole("plain", anything, lambda t: not t.requires_grad and not is_tangled(t))
# PyTorch itself crashes where views are detached in place, and hooks registered on them later.
operand_hole("whole", anything, lambda t: t._base is None)
operand_hole("array", lambda t: t.dim() >= 1)
operand_hole("plane", lambda t: t.dim() >= 2)
operand_hole("cube", lambda t: t.dim() == 3 and is_real(t))
operand_hole("small", lambda t: is_inexact(t) and t.numel() < 9)
operand_hole("indices", lambda t: str(t.dtype) == "torch.int64" and is_within(t, 5))
# `new_tensor` finds no device for lazy tensors.
operand_hole("resolved", anything, lambda t: not (t.is_conj() or t.is_neg()))
operand_hole("vector", lambda t: t.dim() == 1 and not is_bool(t))
operand_hole("matrix", lambda t: t.dim() == 2 and is_real(t))
operand_hole("tensor", lambda t: t.dim() >= 1 and is_inexact(t))
operand_hole("scalar", lambda t: t.dim() == 0 and is_real(t))
operand_hole("differentiable", lambda t: t.requires_grad and is_real(t))
operand_hole("leaf", lambda t: t.requires_grad and t.is_leaf)
operand_hole("distinct", is_distinct, lambda t: t.is_complex() or is_distinct(t))


def companion_hole(
    name: str, fits: Callable[[Tensor, Tensor], bool], certain: Callable[[Tensor, Tensor], bool] = lambda first, t: True
) -> None:
    """An operand chosen to fit the first one."""
    HOLES[name] = lambda scene: scene.operand(
        lambda t, first=scene.first: fits(first, t), lambda t, first=scene.first: certain(first, t)
    )


companion_hole("b", lambda first, t: broadcasts(first.shape, t.shape))
companion_hole("same", lambda first, t: t.dtype == first.dtype and broadcasts(first.shape, t.shape))
companion_hole(
    "scalar_of",
    lambda first, t: t.dtype == first.dtype and t.dim() == 0,
    lambda first, t: is_inexact(first) or not t.requires_grad,  # PyTorch then lets integers require grad
)
companion_hole(
    "divisor",
    lambda first, t: t.dtype == first.dtype and broadcasts(first.shape, t.shape),
    lambda first, t: is_inexact(t),  # PyTorch's derivative of `addcdiv` cannot divide by integers
)
companion_hole("twin", lambda first, t: t.shape == first.shape and t.dtype == first.dtype)
companion_hole("fellow", lambda first, t: t.dtype == first.dtype and expands(t.shape, first.shape), apart)
companion_hole("wide", lambda first, t: expands(first.shape, t.shape))
companion_hole("reshaped", lambda first, t: t.numel() == first.numel())
companion_hole("row", lambda first, t: t.dtype == first.dtype and t.dim() == 2 and t.shape[-1] == first.shape[-1])
companion_hole("beside", lambda first, t: t.dim() > 0 and t.shape[1:] == first.shape[1:])


@hole
def right(scene: Scene) -> str:
    """A right-hand side for `left @ right`, where the last operand is the left one."""
    left = scene.operands[-1]
    return scene.operand(
        lambda t: t.dtype == left.dtype and t.dim() > 0 and t.shape[-min(2, t.dim())] == left.shape[-1]
    )


@hole
def right_vector(scene: Scene) -> str:
    left = scene.operands[-1]
    return scene.operand(lambda t: t.dtype == left.dtype and t.dim() == 1 and t.shape[0] == left.shape[-1])


@hole
def mask_of(scene: Scene) -> str:
    """A mask for the first operand: a live one, or a literal."""
    goal = scene.first
    if scene.rng.random() < 0.5:
        return scene.operand(
            lambda t: is_bool(t) and t.dim() > 0 and t.shape == goal.shape[: t.dim()], lambda t: apart(goal, t)
        )
    mask = nested(scene, lambda: scene.rng.random() < 0.6, list(goal.shape))
    return f"torch.tensor({mask}, dtype=torch.bool).reshape({list(goal.shape)})"


def out_hole(name: str, fits: Callable[[Tensor, Tensor], bool], apart: Callable[[Tensor, Tensor], bool]) -> None:
    """A live tensor to write results to, which is apart from all operands, so that what comes out is certain."""
    HOLES[name] = lambda scene, fits=fits: scene.operand(
        lambda t, first=scene.first: fits(first, t),
        lambda t, operands=tuple(scene.operands): not is_tangled(t) and all(apart(one, t) for one in operands),
    )


out_hole("same_shape", lambda first, t: t.shape == first.shape, apart)
out_hole("overlapping", shares, apart)
out_hole("elsewhere", lambda first, t: t.dtype == first.dtype, lambda one, t: not shares(one, t))


def target_hole(
    name: str, fits: Callable[[Tensor], bool], certain: Callable[[Scene, Tensor], bool] = lambda scene, t: True
) -> None:
    """A tensor to write to: never a mask, and seldom a leaf that autograd protects or a view of one."""

    def rule(scene: Scene) -> str:
        bold = not scene.recording or scene.rng.random() < 0.05
        return scene.operand(
            lambda t: fits(t) and not is_bool(t) and (bold or not is_protected(t)),
            lambda t: not is_tangled(t) and certain(scene, t),
        )

    HOLES[name] = rule


target_hole("target", anything)
target_hole("real_target", is_real)
target_hole("array_target", lambda t: t.dim() >= 1)
# `tril_` does not refuse to write to one place several times.
target_hole("plane_target", lambda t: t.dim() >= 2, lambda scene, t: 0 not in t.stride())
# `index_put_` neither.
target_hole("apart_target", lambda t: t.dim() >= 1, lambda scene, t: 0 not in t.stride())
# A shape that autograd is not told of: its nodes go on with the old one, for as long as any of them is alive. And where
# a gradient is to be retained, PyTorch itself crashes, or keeps one of the old shape.
target_hole("reshapable", anything, lambda scene, t: not t.retains_grad and (scene.recording or not t.requires_grad))
# `data` and `detach()` of an inference tensor are such tensors too, in PyTorch, and yet they count writes.
target_hole("counted", anything, lambda scene, t: not t.is_inference())


@hole
def into(scene: Scene) -> str:
    """An operand for an in-place op on the first one."""
    goal = scene.first
    can_cast, result_type = scene.torch.can_cast, scene.torch.result_type
    return scene.operand(
        lambda t: expands(t.shape, goal.shape) and can_cast(result_type(goal, t), goal.dtype),
        lambda t: apart(goal, t),
    )


@hole
def value(scene: Scene) -> str:
    """A tensor to assign to the indexed part of the first operand."""
    place = scene.texts["index"] if "index" in scene.texts else scene.texts["fancy"]
    try:
        part = eval(f"{scene.texts['array_target']}[{place}]", scene.namespace)
    except (IndexError, RuntimeError) as error:
        raise NoFit from error
    castable = scene.torch.can_cast
    return scene.operand(
        lambda t: expands(t.shape, part.shape) and castable(t.dtype, part.dtype), lambda t: not shares(scene.first, t)
    )


@hole
def picked(scene: Scene) -> str:
    """A tensor of the shape that `first.index_select` gives for the positions just drawn, as `index_add` wants it."""
    return f"torch.full({scene.notes['pick']}, {float_(scene)}, dtype={scene.first.dtype})"


@hole
def retainable(scene: Scene) -> str:
    """A tensor to retain the gradient of. PyTorch itself crashes if a node's second output does, and is written to."""
    scene.careless = False
    return scene.operand(lambda t: t.requires_grad and t.output_nr == 0)


@hole
def name(scene: Scene) -> str:
    """A plain variable, to be deleted."""
    names = [text for text in scene.live if text.isidentifier()]
    if len(names) < 3:
        raise NoFit
    return scene.rng.choice(names)
