"""The declaration of an op: its signature, its derivatives, and what follows from the names that these use.

A derivative names what it needs: `g` is the gradient of the (first) result and `grads` those of all, an argument's name
is that argument, `result` (or a result's name) the result, and `self_shape`, `self_dtype`, `self_stride`, … are
attributes of a tensor that need not be kept. It may be an op, too (`By`), or the op `ITSELF`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..machine import NOT_IMPLEMENTED, Plans, know_formulas, plan_op, requires_grad
from ..machine.registry import registry
from ..state import local
from ..values import return_type
from .op_node import OpNode
from .schema import Signature

if TYPE_CHECKING:
    from .op import Op

# What a call is made of. A family has these as methods; a declaration may give functions of its own, called with the op
# first. Where either does of those that plans have, it says itself whether calls of one form are alike.
_PLANNED = frozenset((
    "apply", "edges", "prepare", "record", "record_on", "recordable", "run", "run_generally", "save", "wrap_results",
))  # fmt: skip
STEPS = _PLANNED | {
    "apply_in_place", "arranged", "check_memory", "check_written_back", "compute_dtype", "fit", "given_out", "into",
    "overwrite", "overwrite_inside", "ready", "run_lazily",
}  # fmt: skip


class By:
    """A derivative that is an op: of the gradient, in place of the operand `at`, and of what its other parameters name.

    Some go by another name, if they are `renamed`; others are `fixed`.
    """

    __slots__ = ("fixed", "fn", "names", "op", "renamed")

    def __init__(self, op: Declaration, renamed: Mapping[str, str] | None = None, at: int = 0, **fixed: Any) -> None:
        self.op, self.renamed, self.fixed = op, renamed or {}, fixed
        params = [p.name for p in op.signature.params]
        given = [k for k, name in enumerate(params) if name not in fixed]
        self.names = tuple(["g" if k == at else self.renamed.get(params[k], params[k]) for k in given])
        blank = [fixed.get(name) for name in params]

        def fn(*values: Any) -> Any:
            arguments = blank.copy()
            for k, value in zip(given, values):
                arguments[k] = value
            return op.apply(*arguments)

        self.fn = fn if fixed else op.apply


class Formula:
    """A derivative whose parameters are not named where it is written."""

    __slots__ = ("fn", "names")

    def __init__(self, fn: Callable[..., Any], *names: str) -> None:
        self.fn, self.names = fn, names


Derivative: TypeAlias = "Callable[..., Any] | By | Formula | Declaration"
ITSELF: Any = object()  # said of an operand: its derivative is the op again, of the gradient in the operand's place


class Rule:
    """A derivative, and where its arguments come from: `sources` are places in `Node.saved`, then `Node.values`."""

    __slots__ = ("fn", "names", "said", "saved", "sources")

    def __init__(self, said: Callable[..., Any] | By | Formula) -> None:
        self.said = said
        named = said if isinstance(said, (By, Formula)) else Formula(said, *_parameters(said))
        self.fn, self.names = named.fn, named.names
        self.sources: tuple[int, ...] = ()
        self.saved: tuple[int, ...] = ()

    def resolve(self, saved_names: Sequence[str], value_names: Sequence[str]) -> None:
        sources = []
        for n in self.names:
            if n in saved_names:
                sources.append(saved_names.index(n))
            else:
                sources.append(len(saved_names) + value_names.index(n) if n in value_names else _SPECIAL[n])
        self.sources = tuple(sources)
        self.saved = tuple([s for s in sources if 0 <= s < len(saved_names)])


def _parameters(fn: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters; of a plain function at once, since there are hundreds at import."""
    if not inspect.isfunction(fn):
        return tuple(inspect.signature(fn).parameters)
    return fn.__code__.co_varnames[: fn.__code__.co_argcount]


# Arguments of derivatives that every node has: the first gradient, all of them, and which edges want one.
_SPECIAL = {"g": -1, "grads": -2, "needs": -3}


class _Declared(type):
    """The class of families: an op is not changed once it is declared."""

    def __call__(cls, *args: Any, **words: Any) -> Any:
        op = super().__call__(*args, **words)
        op.declared = True
        return op


class Declaration(metaclass=_Declared):
    """The words of an op's declaration, each with its default; a family may set one for all of its ops."""

    declared = False

    def __setattr__(self, name: str, value: Any) -> None:
        if self.declared:
            raise AttributeError(f"op '{self.name}' is declared: '{name}' is said there")
        super().__setattr__(name, value)

    elementwise: bool = False  # whether the result's layout is kept where `out=` is resized
    asks: bool = True  # whether PyTorch asks operands for their histories before it computes
    complex_gradients: bool = True  # whether calls with complex operands are recorded, or refused
    frugal: bool = False  # whether an operand is spared too where each of several derivatives names it in vain
    exact_out: bool = False  # whether `out=` must have the result's dtype
    of_numbers: bool = False  # whether numbers may stand for all operands
    repeats: bool = False  # whether the in-place form may write to the same memory several times
    # Whether its operands may not even be the very memory it writes to; for a function, of these arguments.
    exclusive: bool | Callable[..., bool] = False
    of_arrays: bool = True  # whether the kernel gets arrays, so that it is one for backends to run
    halves: str = "own"  # how an elementwise op computes float16 and bfloat16, see `Elementwise`
    on_backend: bool = False  # whether the kernel's first argument is the backend, not its array namespace
    reinterprets: bool = False  # whether the result's memory stands for other values than the operand's does
    still: bool = False  # whether a view does not move with what it shows
    lays: bool = False  # whether the strides of a result without elements are meant
    lifts: bool = False  # whether a number in a tensor's place is made one
    check_in_place: Callable[..., None] | None = None  # what forms of operands it is refused for in place
    reads: Callable[..., Sequence[Any]] | None = None  # which operands are still read while it writes; None: all
    warns: Callable[..., dict[str, str]] | None = None  # functions to warn of, and as what indexing calls them, when
    # they write to the same memory several times
    check_out: Callable[[Any, Sequence[Any]], None] | None = None  # what `out=` is refused for, beside its dtype
    finish: Callable[[Any, Sequence[Any]], Any] | None = None  # what is made of results at last, given the operands
    fast: Callable[..., Any] | None = None  # what makes the public function, with a way of its own (fast.py)
    fast_in_place: Callable[..., Any] | None = None  # and the in-place method
    operand_from: Callable[[Any], Any] | None = None  # what an operator takes an operand of another kind for
    moves: bool = False  # whether other operands may lie on another device than the first
    # The title of nodes where a test of the bound arguments says so, and that test.
    node_where: tuple[str, Callable[[Sequence[Any]], bool]] | None = None
    linear: bool | str = False  # whether results are linear in the operands with derivatives: in all, or in "each"
    batch: Any = None  # how it runs on a batch, see batching.py
    # What dispatch modes see instead of the op: another name, and the arguments in the order of its schema, or by
    # position and by name; or what a function runs that it gives, None where they see the op.
    seen_as: Callable[..., tuple[Any, ...]] | None = None
    made_of: Callable[..., Callable[[], Any] | None] | None = None
    by_form: bool = True  # whether calls of one form are alike, so that they can be planned
    levels: Collection[int] = ()  # above the devices, of tensors whose calls have plans too
    promoted: Sequence[int] | None = None  # the operands that are promoted with the default dtype, where they are
    follows_edges: bool = False  # whether the shape of a gradient is that of what the edge leads to
    updates: bool = False  # whether the kernel writes to operands, as to running statistics
    differentiable: int | None = None  # through how many results, the first ones, gradients go; None: all
    constant: Sequence[str] = ()  # operands that the one derivative for all of them has none for
    non_differentiable: Sequence[str] = ()  # operands that may not require grad
    by_value: Sequence[str] = ()  # operands that are numbers, of which a node keeps the value, as of other arguments
    # Which plain values its nodes show as `_saved_*`; None: the arguments that derivatives name, and `self_sym_sizes`
    # where they name `self_shape`.
    shows: str | None = None
    planner: Any = staticmethod(plan_op)  # what makes plans of its calls, see plan.py
    node_base: type[OpNode] = OpNode  # what the classes of its nodes derive from

    direct: Any = None  # the result's dtype by the operands', for the dtypes that the fast path takes as they are
    # What nodes do where no graph is asked for: given the op, a function from arrays to arrays (array_backward.py); and
    # by the operands' names the formulas of it that the native build takes as data (formulas.py).
    on_arrays: Callable[[Any], Callable[..., Any]] | None = None
    formulas: Mapping[str, Callable[..., Any]] | bool = False  # True: the derivatives themselves
    # Of a loss or its gradient, for backends that make kernels of formulas: from the kernel's arguments the formula for
    # one element, its operands, how it is reduced, and what the gradient is multiplied by.
    by_pair: Callable[..., tuple[Callable[..., Any], Sequence[Any], int | None, Sequence[Any]]] | None = None
    fits_one: bool = False  # whether the `operand_forms` of nodes speak of one operand
    named: bool = True  # whether several results whose names are said come by these
    node_class: type[OpNode]
    words: frozenset[str] = frozenset()  # that may be given; of a family, those annotated like these

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        cls.words = STEPS.union(*[vars(family).get("__annotations__", ()) for family in cls.__mro__])
        if "by_form" not in cls.__dict__ and not _PLANNED.isdisjoint(cls.__dict__):
            cls.by_form = False

    def __init__(
        self, schema: str, kernel: str | Callable[..., Any] | None = None,
        vjp: Mapping[str, Derivative | None] | Derivative | None = None, *,
        check: Callable[..., None] | None = None, check_form: Callable[..., None] | None = None,
        promote: Sequence[str] = (), node: str | type[OpNode] | None = None,
        number_nodes: Mapping[str, str] | None = None, **words: Any,
    ) -> None:  # fmt: skip
        for word, value in words.items():
            if word not in self.words:
                raise TypeError(f"op '{schema}': there is no word '{word}'")
            if value is not None:
                setattr(self, word, functools.partial(value, self) if word in STEPS else value)
        if "by_form" not in words and not _PLANNED.isdisjoint(words):
            self.by_form = False
        self.signature = Signature(schema)
        self.name = self.signature.name + ("." + self.signature.overload if self.signature.overload else "")
        self.kernel = kernel
        self.kernels: dict[Any, Callable[..., Any]] = {}
        check_all = check or check_form
        self.check = self._refusing_histories(check_all) if self.non_differentiable else check_all
        self.checks_form = check is None  # whether calls of one form pass the check alike
        self.promote = tuple([self.signature.by_name[n] for n in promote])
        names = self.signature.returns
        shown = self.named and names and names[0] != "result0"
        self.returns = return_type(self.signature.name, names) if shown else None
        params = self.signature.params
        self.operands = tuple([i for i, p in enumerate(params) if p.is_tensor])
        self._declare_derivatives(vjp)
        self._declare_nodes(node, number_nodes or {})
        if self.formulas is not False:
            own = {params[i].name: rule.fn for i, rule in self.rules}
            know_formulas(self, own if self.formulas is True else self.formulas)
        self.recorded = bool(self.rules)  # whether results get a history
        self.plans = Plans(self.levels)
        if self.name in registry:
            raise ValueError(f"op '{self.name}' is declared twice")
        registry[self.name] = self  # type: ignore[assignment]  # of which each is an Op

    def _declare_derivatives(self, vjp: Any) -> None:
        """Work out from the formulas' parameter names what is saved, and check that nothing was forgotten."""
        params = self.signature.params
        self.joint: Rule | None = None if vjp is None or isinstance(vjp, Mapping) else self._rule(vjp)
        given: Mapping[str, Any] = vjp if isinstance(vjp, Mapping) else {}
        tensors = {params[i].name for i in self.operands}
        unknown = set(given) - tensors
        silent = tensors - set(given) if given else set()
        if unknown or silent:
            raise ValueError(
                f"op '{self.name}': derivatives for unknown {sorted(unknown)}, none said for {sorted(silent)}"
            )
        self.rules: tuple[tuple[int, Rule], ...]
        joint = self.joint
        if joint is not None:
            self.rules = tuple([(i, joint) for i in self.operands])
        else:
            said = [(i, given.get(params[i].name)) for i in self.operands]
            self.rules = tuple([(i, self._rule(each, i)) for i, each in said if each])
        outputs = self.signature.returns or ("result",)
        used: dict[str, None] = {}
        for _, rule in self.rules:
            used.update(dict.fromkeys(rule.names))
        self.saved_names: tuple[str, ...] = (
            *sorted([n for n in used if n in tensors and n not in self.by_value]),
            *sorted([n for n in outputs if n in used]),
        )  # fmt: skip
        self.output_names = outputs
        plain = [n for n in used if n not in self.saved_names and n not in _SPECIAL]
        for n in plain:
            if n not in self.signature.by_name and not any(n.startswith(f"{t}_") for t in (*tensors, *outputs)):
                raise ValueError(f"op '{self.name}': a derivative names '{n}', which is no argument or result")
        if self.shows is None:
            arguments = [n for n in plain if n in self.signature.by_name]
            shapes = [f"{n[:-6]}_sym_sizes" for n in plain if n.endswith("_shape") and n not in arguments]
            shown = (*arguments, *self.shown_besides(), *shapes)
        else:
            shown = tuple(self.shows.split())
        self.shown_names: tuple[str, ...] = tuple(dict.fromkeys(shown)) if used else ()
        noted = [n for n in self.shown_names if n in self.signature.by_name]
        self.value_names: tuple[str, ...] = tuple(dict.fromkeys([*plain, *noted]))
        for _, rule in self.rules:
            rule.resolve(self.saved_names, self.value_names)
        by_name = self.signature.by_name
        spares = "backward" not in self.name  # PyTorch spares nothing where it differentiates a gradient again
        optional = {p.name for p in params if p.optional}  # and nothing that may be left out anyway
        # For each saved name: is it a result, its place, and which derivatives use it.
        self._to_save = tuple([
            (n not in tensors, outputs.index(n) if n not in tensors else by_name[n],
             tuple([k for k, (_, rule) in enumerate(self.rules) if spares and n in rule.names and n not in optional]))
            for n in self.saved_names
        ])  # fmt: skip
        self._to_note = tuple([self._noted(n) for n in self.value_names])

    def _rule(self, said: Any, at: int = 0) -> Rule:
        """The derivative by the operand `at`."""
        if isinstance(said, Declaration):
            return Rule(By(said))
        return Rule(By(self, at=at) if said is ITSELF else said)

    if TYPE_CHECKING:  # what the classes that derive from this one make of it

        def apply(self, *values: Any) -> Any: ...
        def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool = False) -> list[Any]: ...
        def comes_to(self, *values: Any) -> tuple[Op, Sequence[Any]]: ...
        def backward_function(self) -> Callable[[OpNode, list[Any]], Sequence[Any]]: ...

    def _refusing_histories(self, check: Callable[..., None] | None) -> Callable[..., None]:
        """A check that refuses histories of what may have none, before it does what it does."""
        at = [(self.signature.by_name[name], name) for name in self.non_differentiable]

        def checked(*values: Any) -> None:
            for i, name in at if local.state.mode.grad else ():
                if values[i] is not None and requires_grad(values[i]):
                    raise RuntimeError(
                        f"The function '{self.signature.name.removeprefix('_')}' is not differentiable with respect to "
                        f"argument '{name}'. This input cannot have requires_grad True."
                    )
            if check is not None:
                check(*values)

        return checked

    def check_of_each(self, values: Sequence[Any]) -> Callable[..., None] | None:
        """The check for each call of a form, of which one has these arguments; None where the first call is enough."""
        by_name = self.signature.by_name
        asks = any([values[by_name[name]] is not None for name in self.non_differentiable])
        return self.check if asks or not self.checks_form else None

    def shown_besides(self) -> Sequence[str]:
        """Arguments that nodes show although no derivative names them."""
        return ()

    def _declare_nodes(self, node: str | type[OpNode] | None, number_nodes: Mapping[str, str]) -> None:
        """Make the class of the op's nodes, and those that it has where an operand is a number."""

        params = self.signature.params

        def failing(node: OpNode, grads: list[Any]) -> Sequence[Any]:
            name = self.signature.name  # PyTorch has those of linalg that are hidden here under their own names
            known = name.removeprefix("_") if name.startswith("_linalg") else name
            raise RuntimeError(f"derivative for aten::{known} is not implemented")

        def made(title: str, base: type[OpNode], **more: Any) -> type[OpNode]:
            silent = (*self.constant, *more.get("numbers", ()))
            unshown = frozenset([k for k, (i, _) in enumerate(self.rules) if params[i].name in silent])
            if title == NOT_IMPLEMENTED:
                more |= {"apply": failing, "fails": True}
            return base.named(title, unshown=unshown, **more)

        self.other_node: type[OpNode] | None
        self.number_nodes: tuple[tuple[int, type[OpNode]], ...]
        if isinstance(node, type):
            self.node_class, self.other_node, self.number_nodes = node, None, ()
            return
        title = node or "".join(w.capitalize() for w in self.signature.name.strip("_").split("_")) + "Backward0"
        on_arrays = {} if self.on_arrays is None else {"on_arrays": self.on_arrays(self)}
        self.node_class = made(title, self.node_base, op=self, apply=self.backward_function(), **on_arrays)
        self.other_node = None if self.node_where is None else made(self.node_where[0], self.node_class)
        alike: dict[str, list[str]] = {}
        for operand, title in number_nodes.items():
            alike.setdefault(title, []).append(operand)
        self.number_nodes = tuple([
            (self.signature.by_name[operand], made(title, self.node_class, numbers=frozenset(alike[title])))
            for operand, title in number_nodes.items()
        ])  # fmt: skip

    def _noted(self, name: str) -> tuple[bool, int, str]:
        """For a plain value that a derivative names: is it of a result, its place, and which attribute of it."""
        by_name = self.signature.by_name
        if name in by_name:
            return False, by_name[name], ""
        base = max((n for n in (*by_name, *self.output_names) if name.startswith(f"{n}_")), key=len)
        what = name.removeprefix(f"{base}_")
        return (False, by_name[base], what) if base in by_name else (True, self.output_names.index(base), what)
