"""What may stand in the holes of the table's rows: for each kind of hole, a rule that draws its text.

A rule sees the scene: the live tensors (real ones, as the program so far has made them), the operands already chosen
for the row, and a source of random choices. Where nothing fits it raises `NoFit`, and another row is drawn. A careless
scene lets operands and numbers through that do not fit, so that errors are compared too.
"""

from collections.abc import Callable
from math import prod
from typing import Any

from .scene import HOLES, NoFit, Scene, Tensor, hole

# -- What a tensor is like ---------------------------------------------------------------------------------------------


def is_real(tensor: Tensor) -> bool:
    return tensor.is_floating_point()


def is_inexact(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def is_discrete(tensor: Tensor) -> bool:
    return not is_inexact(tensor)


def is_exact(tensor: Tensor) -> bool:
    """Real, with values whose every bit is certain: small multiples of 1/64, as exact arithmetic gives."""
    if tensor.is_complex():
        return False
    scaled = tensor.detach() * 64
    return bool(((scaled == scaled.round()) & (scaled.abs() < 2**16)).all())


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


def is_bool(tensor: Tensor) -> bool:
    return str(tensor.dtype) == "torch.bool"


def broadcasts(one: list[int], other: list[int]) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(one), reversed(other)))


def expands(shape: list[int], into: list[int]) -> bool:
    return len(shape) <= len(into) and all(a in (b, 1) for a, b in zip(reversed(shape), reversed(into)))


def apart(one: Tensor, other: Tensor) -> bool:
    """Whether writing one while reading the other has a defined result: no shared memory, or an error for sure."""
    if one.untyped_storage().data_ptr() != other.untyped_storage().data_ptr():
        return True
    return one is other or (one.is_contiguous() and other.is_contiguous())


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
operand_hole("discrete", is_discrete)
operand_hole("integer", lambda t: is_discrete(t) and not is_bool(t))
operand_hole("mask", is_bool)
operand_hole("array", lambda t: t.dim() >= 1)
operand_hole("plane", lambda t: t.dim() >= 2)
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
        lambda t: expands(t.shape, part.shape) and castable(t.dtype, part.dtype), lambda t: apart(scene.first, t)
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


# -- Numbers and other plain arguments ---------------------------------------------------------------------------------


@hole
def int_(scene: Scene) -> str:
    return str(scene.rng.choice([1, 2, 0, -1, 3]))


@hole
def float_(scene: Scene) -> str:
    return str(scene.rng.choice([0.5, 1.5, -0.5, 0.25, -1.25, 2.0]))


@hole
def number(scene: Scene) -> str:
    draw = scene.rng.choices([float_, int_, lambda _: "True", lambda _: "(0.5+1j)"], weights=[10, 8, 1, 1])[0]
    return draw(scene)


@hole
def flag(scene: Scene) -> str:
    return scene.rng.choice(["True", "False"])


@hole
def dtype(scene: Scene) -> str:
    names = ["float64", "float32", "int64", "bool", "complex64"]
    return "torch." + scene.rng.choices(names, weights=[6, 4, 3, 2, 1])[0]


@hole
def count(scene: Scene) -> str:
    return str(scene.rng.choice([*scene.extents, *scene.extents, 5, 0]))


@hole
def parts(scene: Scene) -> str:
    return str(scene.rng.choice([2, 1, 3]))


@hole
def shift(scene: Scene) -> str:
    return str(scene.rng.randrange(4))


@hole
def dim(scene: Scene) -> str:
    return str(scene.dim())


@hole
def dims(scene: Scene) -> str:
    return str(tuple(scene.dims()))


@hole
def newdim(scene: Scene) -> str:
    rank = scene.first.dim() + 1 + scene.careless
    return str(scene.rng.randrange(-rank, rank))


@hole
def order(scene: Scene) -> str:
    return str(scene.rng.sample(range(scene.first.dim()), scene.first.dim()))


# -- Shapes ------------------------------------------------------------------------------------------------------------


@hole
def size(scene: Scene) -> str:
    return str(tuple(scene.shape()))


@hole
def shape(scene: Scene) -> str:
    """A shape for a reshape of the first operand: its extents merged or turned round, sometimes with a -1."""
    rng, total = scene.rng, scene.first.numel()
    choices = [[total], [1, total], list(reversed(scene.first.shape)), [*scene.first.shape, 1]]
    choices += [[n, total // n] for n in (2, 3, 4) if total % n == 0]
    if scene.first.dim() > 1:
        choices.append([prod(scene.first.shape[:2]), *scene.first.shape[2:]])
    drawn = rng.choice(choices)
    if total and drawn and rng.random() < 0.3:
        drawn[rng.randrange(len(drawn))] = -1
    if scene.careless:
        drawn.append(2)
    return str(tuple(drawn))


@hole
def wider(scene: Scene) -> str:
    """A shape that the first operand expands to."""
    grown = [scene.rng.choice(scene.extents) if n == 1 else scene.rng.choice([n, n, -1]) for n in scene.first.shape]
    lead = [scene.rng.choice(scene.extents)] if scene.rng.random() < 0.5 or scene.careless else []
    return str(tuple(lead + grown))


@hole
def repeats(scene: Scene) -> str:
    return str(tuple(scene.rng.choice([1, 2, 1, 0]) for _ in range(scene.first.dim() + scene.rng.randrange(2))))


@hole
def narrow(scene: Scene) -> str:
    """dim, start, length"""
    which, extent = scene.axis()
    start = scene.rng.randint(0, extent)
    return f"{which}, {start}, {scene.rng.randint(0, extent - start) + scene.careless}"


@hole
def element(scene: Scene) -> str:
    """dim, index"""
    which, extent = scene.axis()
    if extent + scene.careless == 0:
        raise NoFit
    return f"{which}, {scene.rng.randrange(-extent, extent + scene.careless)}"


@hole
def window(scene: Scene) -> str:
    """dim, size, step"""
    which, extent = scene.axis()
    return f"{which}, {scene.rng.randint(0, extent) + scene.careless}, {scene.rng.choice([1, 2])}"


@hole
def tiles(scene: Scene) -> str:
    """dim, size, step of windows that do not overlap, so that they can be written to"""
    which, extent = scene.axis()
    size = scene.rng.randint(0, extent) + scene.careless
    return f"{which}, {size}, {max(size, 1)}"


@hole
def strided(scene: Scene) -> str:
    """size, stride and perhaps offset of a view that stays within the first operand's storage."""
    rng = scene.rng
    room = scene.first.untyped_storage().nbytes() // scene.first.element_size()
    offset = rng.choice([None, None, 0, 1])
    room -= scene.first.storage_offset() if offset is None else offset
    sizes = [rng.choice([*scene.extents, 1]) for _ in range(rng.choice([1, 2, 2]))]
    steps = [rng.choice([1, 2, 3, 0]) for _ in sizes]
    if sum((n - 1) * step for n, step in zip(sizes, steps)) >= room + 2 * scene.careless:
        raise NoFit
    return f"{tuple(sizes)}, {tuple(steps)}" + (f", {offset}" if offset is not None else "")


@hole
def sections(scene: Scene) -> str:
    """A list of lengths that make up a dimension, and the dimension."""
    which, extent = scene.axis()
    cut = scene.rng.randint(0, extent)
    return f"{[cut, extent - cut + scene.careless]}, {which}"


@hole
def unflat(scene: Scene) -> str:
    """A dimension, and the sizes that it falls into."""
    which, extent = scene.axis()
    return f"{which}, {scene.rng.choice([(extent, 1), (1, -1), (-1, extent or 1), (1, extent)])}"


@hole
def overlap(scene: Scene) -> str:
    """How many dimensions `tensordot` of two tensors of one shape may sum over."""
    fitting = [n for n in range(3) if n <= scene.first.dim() and scene.first.shape[:n] == scene.first.shape[-n or 9 :]]
    return str(scene.rng.choice(fitting))


# -- Indices -----------------------------------------------------------------------------------------------------------


def item_text(scene: Scene, extent: int, fancy: bool) -> str:
    """One entry of an index, for a dimension of that extent."""
    rng = scene.rng
    kind = rng.choices(["slice", "int", "list", "mask"], weights=[5, 5 * bool(extent), 6 * fancy, 2 * fancy])[0]
    if kind == "slice":
        return rng.choice(["1:", ":1", "::2", ":-1", ":", f"1:{extent}", "-2:", "2:1"])
    if kind == "int":
        return str(rng.randrange(-extent, extent + scene.careless))
    if kind == "mask":
        return f"torch.tensor({[rng.random() < 0.6 for _ in range(extent)]}, dtype=torch.bool)"
    places = scene.positions(rng.choice([1, 2, 2]), extent)
    return rng.choice([str(places), f"torch.tensor({places})", f"torch.tensor({[places]})"])


def index_text(scene: Scene, fancy: bool) -> str:
    """An index into the first operand: entries for some of its dimensions, perhaps an ellipsis, perhaps a new one."""
    rng, rank = scene.rng, scene.first.dim()
    used = rng.randint(min(1, rank), rank) + scene.careless
    ellipsis = rng.random() < 0.2
    extents = [*scene.first.shape, 2]
    extents = extents[rank - used : rank] if ellipsis and used <= rank else extents[:used]
    items = [item_text(scene, extent, fancy) for extent in extents]
    if ellipsis:
        items.insert(0, "...")
    if rng.random() < 0.15 or not items:
        items.insert(rng.randint(0, len(items)), rng.choice(["None", "None", "True"]))
    return ", ".join(items)


@hole
def index(scene: Scene) -> str:
    return index_text(scene, fancy=False)


@hole
def fancy(scene: Scene) -> str:
    return index_text(scene, fancy=True)


@hole
def pick(scene: Scene) -> str:
    """A dimension, and distinct positions along it as a tensor; the shape of what is there is noted for `picked`."""
    which, extent = scene.axis()
    places = scene.rng.sample(range(extent), scene.rng.randint(min(1, extent), extent))
    scene.notes["pick"] = list(scene.first.shape)
    scene.notes["pick"][which] = len(places)
    return f"{which}, torch.tensor({places}, dtype=torch.int64)"


@hole
def gather(scene: Scene) -> str:
    """A dimension, and an index tensor for `gather` and `scatter` along it; its shape is noted for `gathered`."""
    if scene.first.dim() != 2 or 0 in scene.first.shape:
        raise NoFit
    which = scene.rng.randrange(2)
    other = scene.first.size(1 - which)
    rows = [scene.positions(other, scene.first.size(which)) for _ in range(scene.rng.choice([1, 2]))]
    if which == 1:
        rows = [list(column) for column in zip(*rows)]
    scene.notes["gather"] = [len(rows), len(rows[0])]
    return f"{which}, torch.tensor({rows})"


@hole
def gathered(scene: Scene) -> str:
    """The shape of the index tensor just drawn."""
    return str(scene.notes["gather"])


@hole
def positions(scene: Scene) -> str:
    """A list of positions in the flattened first operand."""
    return str(scene.positions(scene.rng.choice([1, 2, 3]), scene.first.numel()))


@hole
def rows(scene: Scene) -> str:
    """A list of positions along the first operand's first dimension."""
    return str(scene.positions(scene.rng.choice([1, 2, 3]), scene.first.size(0)))


# -- Literal data ------------------------------------------------------------------------------------------------------


def nested(scene: Scene, draw: Callable[[], object], shape: list[int]) -> Any:
    return [nested(scene, draw, shape[1:]) for _ in range(shape[0])] if shape else draw()


def literal(scene: Scene, draw: Callable[[], object]) -> str:
    """Nested lists of at most a dozen numbers and no empty ones, which have no literal of every shape."""
    shape = [n for n in scene.shape() if n]
    while prod(shape) > 12:
        shape.pop()
    return str(nested(scene, draw, shape))


@hole
def data(scene: Scene) -> str:
    return literal(scene, lambda: scene.rng.randrange(-8, 9) / 4)


@hole
def integers(scene: Scene) -> str:
    return literal(scene, lambda: scene.rng.randrange(-3, 5))


@hole
def booleans(scene: Scene) -> str:
    return literal(scene, lambda: scene.rng.random() < 0.6)
