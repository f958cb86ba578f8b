"""Operations: one declaration each, and what happens when they are called.

A declaration says the signature, the kernel over an array namespace, and the derivatives. Everything else
(broadcasting, promotion, recording, the in-place and `out=` forms, methods) comes from the class of the op:

- `Op`           any signature; the kernel's results are taken as they are
- `Elementwise` (elementwise.py)  operands are promoted and broadcast together; gradients are reduced to each operand's
                 shape and dtype; `Unary` and `Binary` have a fast path for plain tensors of one dtype on one device
- `ViewOp` (view_op.py)  the result shares the operand's memory

The kernel gets arrays and plain arguments in the order of the signature. A derivative names what it needs: `g` is the
gradient of the (first) result and `grads` those of all, an argument's name is that argument, `result` (or a result's
name) the result, and `self_shape`, `self_dtype`, `self_stride`, … are
attributes of a tensor that need not be kept.
"""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any

from . import dtype as dt
from .errors import out_of_memory
from .mode import local, silent
from .node import FIRST, NOT_IMPLEMENTED, UNVERSIONED
from .op_node import OpNode, unpacked
from .operands import (
    NO_TENSOR,
    NOWHERE,
    alike,
    array_of,
    common_backend,
    converted,
    described,
    edge_of,
    form_of,
    result_type,
    tensors_in,
)
from .out_forms import refuse_out
from .out_history import refuse_history
from .overrides import PLAIN, dispatch, needs_dispatch, public
from .plan import UNKNOWN, Plans, form_of_call, plan_of, plan_op, planned
from .return_types import return_type
from .saved import Hooked, announce_write, check_keepable, keep, keep_output
from .schema import Signature
from .shown import SHOWN
from .tangent import FOLLOW, FOLLOW_IN_PLACE, hold
from .tensor import Tensor, TensorBase, wrap, wrap_shown
from .view import check_writable, follow_bases, requires_grad, resolve, set_history
from .write import check_apart, check_fits, check_no_overlap, check_own, into, write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# Every op by its full name ("sum.dim"), and the public functions and methods by theirs.
registry: dict[str, Op] = {}
functions: dict[str, Callable[..., Any]] = {}


# What a call is made of: a class that does one of them otherwise says whether calls of one form are alike.
_STEPS = frozenset((
    "apply", "edges", "prepare", "record", "record_on", "recordable", "run", "run_generally", "save", "wrap_results",
))  # fmt: skip


class Rule:
    """A derivative, and where its arguments come from: `sources` are places in `Node.saved`, then `Node.values`."""

    __slots__ = ("fn", "names", "saved", "sources")

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.names = _parameters(fn)
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


class Op:
    """An operation of any signature."""

    exact_out = False  # whether `out=` must have the result's dtype
    of_numbers = False  # whether numbers may stand for all operands

    repeats = False  # whether the in-place form may write to the same memory several times
    exclusive = False  # whether its operands may not even be the very memory it writes to
    on_backend = False  # whether the kernel's first argument is the backend, not its array namespace
    reinterprets = False  # whether the result's memory stands for other values than the operand's does
    still = False  # whether a view does not move with what it shows
    lays = False  # whether the strides of a result without elements are meant
    lifts = False  # whether a number in a tensor's place is made one
    moves = False  # whether other operands may lie on another device than the first
    # Whether the results are linear in the operands that have derivatives: in all together, or in "each" by itself.
    linear: bool | str = False
    batch: Any = None  # how it runs on a batch, see batching.py
    node_base: type[OpNode] = OpNode  # what the classes of its nodes derive from
    planner: Any = staticmethod(plan_op)  # what makes plans of its calls, see plan.py
    by_form = True  # whether calls of one form are alike, so that they can be planned
    promoted: Sequence[int] | None = None  # the operands that are promoted with the default dtype, where they are
    follows_edges = False  # whether the shape of a gradient is that of what the edge leads to

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        if "by_form" not in cls.__dict__ and not _STEPS.isdisjoint(cls.__dict__):
            cls.by_form = False  # which a class that has its own way says itself

    def __init__(
        self,
        schema: str,
        kernel: str | Callable[..., Any] | None = None,
        vjp: Mapping[str, Callable[..., Any] | None] | Callable[..., Any] | None = None,
        *,
        check: Callable[..., None] | None = None,
        check_form: Callable[..., None] | None = None,
        promote: Sequence[str] = (),
        node: str | None = None,
        number_nodes: Mapping[str, str] | None = None,
        linear: bool | str | None = None,
        batch: Any = None,
        constant: Sequence[str] = (),
        differentiable: int | None = None,
    ) -> None:
        self.signature = Signature(schema)
        self.name = self.signature.name + ("." + self.signature.overload if self.signature.overload else "")
        self.kernel = kernel
        self.kernels: dict[Any, Callable[..., Any]] = {}
        self.check = check or check_form
        self.checks_form = check is None  # whether calls of one form pass the check alike
        self.promote = tuple([self.signature.by_name[n] for n in promote])
        names = self.signature.returns
        self.returns = return_type(self.signature.name, names) if names and names[0] != "result0" else None
        params = self.signature.params
        self.operands = tuple([i for i, p in enumerate(params) if p.is_tensor])
        self._declare_derivatives(vjp)
        self.constant = constant  # operands that the one derivative for all of them has none for
        self._declare_nodes(node, number_nodes or {})
        self.recorded = bool(self.rules)  # whether results get a history
        self.differentiable = differentiable  # through how many results, the first ones, gradients go; None: all
        self.plans = Plans()
        if linear is not None:
            self.linear = linear
        if batch is not None:
            self.batch = batch
        if self.name in registry:
            raise ValueError(f"op '{self.name}' is declared twice")
        registry[self.name] = self

    # ---- the declaration

    def _declare_derivatives(self, vjp: Any) -> None:
        """Work out from the formulas' parameter names what is saved, and check that nothing was forgotten."""
        params = self.signature.params
        self.joint: Rule | None = Rule(vjp) if callable(vjp) else None
        given: Mapping[str, Any] = {} if vjp is None or callable(vjp) else vjp
        tensors = {params[i].name for i in self.operands}
        unknown = set(given) - tensors
        silent = tensors - set(given) if given else set()
        if unknown or silent:
            raise ValueError(
                f"op '{self.name}': derivatives for unknown {sorted(unknown)}, none said for {sorted(silent)}"
            )
        self.rules: tuple[tuple[int, Rule | None], ...]
        if self.joint is not None:
            self.rules = tuple([(i, self.joint) for i in self.operands])
        else:
            self.rules = tuple([(i, Rule(given[params[i].name])) for i in self.operands if given.get(params[i].name)])
        outputs = self.signature.returns or ("result",)
        used: dict[str, None] = {}
        for _, rule in self.rules:
            used.update(dict.fromkeys(rule.names))
        self.saved_names: tuple[str, ...] = (
            *sorted([n for n in used if n in tensors]), *[n for n in outputs if n in used]
        )  # fmt: skip
        self.output_names = outputs
        plain = [n for n in used if n not in self.saved_names and n not in _SPECIAL]
        for n in plain:
            if n not in self.signature.by_name and not any(n.startswith(f"{t}_") for t in (*tensors, *outputs)):
                raise ValueError(f"op '{self.name}': a derivative names '{n}', which is no argument or result")
        shown = SHOWN.get(self.name)
        if shown is None:
            arguments = [n for n in plain if n in self.signature.by_name]
            shapes = [f"{n[:-6]}_sym_sizes" for n in plain if n.endswith("_shape") and n not in arguments]
            shown = (*arguments, *self.shown_besides(), *shapes)
        self.shown_names: tuple[str, ...] = tuple(dict.fromkeys(shown)) if used else ()
        noted = [n for n in self.shown_names if n in self.signature.by_name]
        self.value_names: tuple[str, ...] = tuple(dict.fromkeys([*plain, *noted]))
        for _, rule in self.rules:
            rule.resolve(self.saved_names, self.value_names)
        by_name = self.signature.by_name
        keeps_all = "backward" in self.name  # PyTorch spares nothing where it differentiates a gradient again
        # For each saved name: is it a result, its place, and which derivatives use it.
        self._to_save = tuple([
            (n not in tensors, outputs.index(n) if n not in tensors else by_name[n],
             () if keeps_all else tuple([k for k, (_, rule) in enumerate(self.rules) if n in rule.names]))
            for n in self.saved_names
        ])  # fmt: skip
        self._to_note = tuple([self._noted(n) for n in self.value_names])

    def shown_besides(self) -> Sequence[str]:
        """Arguments that nodes show although no derivative names them."""
        return ()

    def _declare_nodes(self, node: str | None, number_nodes: Mapping[str, str]) -> None:
        """Make the class of the op's nodes, and those that it has where an operand is a number."""

        params = self.signature.params

        def failing(node: OpNode, grads: list[Any]) -> Sequence[Any]:
            raise RuntimeError(f"derivative for aten::{self.signature.name} is not implemented")

        def made(title: str, base: type[OpNode], **more: Any) -> type[OpNode]:
            silent = (*self.constant, *more.get("numbers", ()))
            unshown = frozenset([k for k, (i, _) in enumerate(self.rules) if params[i].name in silent])
            if title == NOT_IMPLEMENTED:
                more |= {"apply": failing, "fails": True}
            return base.named(title, unshown=unshown, **more)

        title = node or "".join(w.capitalize() for w in self.signature.name.strip("_").split("_")) + "Backward0"
        self.node_class: type[OpNode] = made(title, self.node_base, op=self, apply=self.backward_function())
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

    # ---- running

    @property
    def flat(self) -> Callable[..., Any]:
        """`apply`, with a fast path for plain tensors where there is one (fast.py)."""
        return self.apply

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool = False) -> list[Any]:
        return self.signature.bind(args, kwargs, method)

    def find_kernel(self, backend: Any) -> Callable[..., Any]:
        kernel = self.kernels[backend] = backend.kernel(self)
        return kernel

    def apply(self, *values: Any) -> Any:
        """Run on bound arguments, by a plan where there is one for calls of this form."""
        state = local.state
        mode = state.mode
        if mode.plain and self.by_form:
            tensors: list[Tensor] = []
            form = form_of_call(values, tensors)
            if form is not None and tensors:
                plan = self.plans.get(form, UNKNOWN)
                if plan and plan is not UNKNOWN:
                    return plan(state, mode, tensors)
                results = self.run_generally(state, mode, values)
                if plan is not False:
                    self.plans.met(form, tensors, lambda: plan_of(self, values, results), plan)
                return results
        return self.run_generally(state, mode, values)

    def run_generally(self, state: Any, mode: Any, values: Sequence[Any]) -> Any:
        """Check, lift, compute, wrap, record."""
        if mode.autocast is not None:
            values = mode.autocast.cast(self.signature.name, values)
        if state.adopted:
            follow_bases([t for value in values for t in tensors_in(value)])
        try:
            if self.check is not None:
                self.check(*values)
            backend = common_backend(self, values)
            if backend.level:
                results = backend.run(self, values)
            else:
                arguments, out_dtype = self.prepare(values, backend)
                kernel = self.kernels.get(backend) or self.find_kernel(backend)
                if mode.kernels is None:
                    results = self.wrap_results(self.run(state, kernel, arguments, values), out_dtype, backend)
                else:
                    results = self.asked(state, kernel, arguments, values, out_dtype, backend)
        except MemoryError as error:
            raise out_of_memory(error) from None
        except Exception:
            if self.recorded and mode.grad:
                self.edges(values)  # PyTorch asks for histories first, and some may not be asked for
            raise
        if not backend.level and self.recorded and mode.records:
            listed = results if results.__class__ is tuple or results.__class__ is list else (results,)
            if mode.grad:
                self.record(values, listed)
            if mode.moving:
                FOLLOW[0](self, values, listed)
        if self.returns is not None:
            return self.returns(results)
        return results

    def asked(self, state: Any, kernel: Any, arguments: Any, values: Any, out_dtype: Any, backend: Any) -> Any:
        """The results from what the mode asks to run kernels, which may have them already."""

        def compute() -> Any:
            return self.wrap_results(self.run(state, kernel, arguments, values), out_dtype, backend)

        return state.mode.kernels(self, values, compute)

    def run(self, state: Any, kernel: Callable[..., Any], arguments: Sequence[Any], values: Sequence[Any]) -> Any:
        return state.quiet(kernel, *arguments)

    def prepare(self, values: Sequence[Any], backend: Any) -> tuple[list[Any], dt.dtype | None]:
        """The kernel's arguments, and the result dtype when it is known beforehand."""
        if self.promote and not alike([values[i] for i in self.promote], backend):
            common = result_type(*[v for i in self.promote for v in tensors_in(values[i])])
            values = list(values)
            for i in self.promote:
                values[i] = converted(values[i], common, backend)
        return [array_of(v) for v in values], None

    def wrap_results(self, outputs: Any, out_dtype: dt.dtype | None, backend: Any) -> Any:
        if outputs.__class__ is tuple or outputs.__class__ is list:
            return tuple([self.wrap_results(o, out_dtype, backend) for o in outputs])
        if outputs.__class__ is not backend.Array:
            if outputs is None:
                return None
            outputs = backend.asarray(outputs)
        made = wrap
        if backend.strided and outputs.base is not None:
            made = wrap_shown
            if not (outputs.size or self.lays or any(outputs.strides)):  # shows fresh memory, of which NumPy says none
                outputs = backend.empty(outputs.shape, outputs.dtype)
        return made(outputs, out_dtype or dt.of_numpy(outputs.dtype), backend)

    # ---- recording

    def remember(self, values: Sequence[Any], results: Sequence[Any]) -> None:
        """Give `results` the history and the tangents that the mode asks for."""
        mode = local.state.mode
        if mode.grad:
            self.record(values, results)
        if mode.moving:
            FOLLOW[0](self, values, results)

    def record(self, values: Sequence[Any], results: Sequence[Any]) -> OpNode | None:
        """Give `results` a node, when some operand that has a derivative requires grad."""
        edges = self.edges(values)
        return None if edges is None else self.record_on(edges, values, results)

    def edges(self, values: Sequence[Any]) -> list[Any] | None:
        """Where the gradients of the operands go; None when no operand that has a derivative requires grad."""
        for i, _ in self.rules:
            value = values[i]
            kind = value.__class__
            if kind is tuple:
                if [t for t in value if t.__class__ not in PLAIN or t.edge is not None]:
                    break
            elif kind not in NO_TENSOR and (kind not in PLAIN or value.edge is not None):
                break
        else:
            return None
        edges: list[Any] = []
        for i, _ in self.rules:
            value = values[i]
            if value.__class__ is tuple or value.__class__ is list:
                edges.extend([edge_of(item) for item in value])
            else:
                edges.append(None if value.__class__ in PLAIN and value.edge is None else edge_of(value))
        for edge in edges:
            if edge is not None:
                return self.recordable(edges, values)
        return None

    def recordable(self, edges: list[Any], values: Sequence[Any]) -> list[Any] | None:
        """The edges to record; None where all tensors were made in inference mode, which autograd then passes over."""
        first = values[self.operands[0]]
        if first.__class__ not in PLAIN or first.counter is UNVERSIONED:
            operands = [values[i] for i in self.operands]
            tensors = [t for value in operands for t in tensors_in(value)]
            if len(tensors) >= len(operands) and all([t.counter is UNVERSIONED for t in tensors]):
                return None
        return [None if e is NOWHERE else e for e in edges]

    def node_class_for(self, values: Sequence[Any]) -> type[OpNode]:
        node_class = self.node_class
        for at, named in self.number_nodes:
            if values[at] is not None and not isinstance(values[at], TensorBase):
                node_class = named
        return node_class

    def record_on(self, edges: Sequence[Any], values: Sequence[Any], results: Sequence[Any]) -> OpNode:
        node_class = self.node_class_for(values)
        node = node_class(tuple(edges), tuple([form_of(r) for r in results]))
        node.operand_forms = self.operand_forms(values, results, edges)
        if node_class.fails:
            node.sequence_nr = FIRST
        for nr, r in enumerate(results[: self.differentiable]):
            if r is not None and r.dtype.category >= dt.FLOAT:
                r.edge = (node, nr)
        self.save(node, values, results)
        return node

    def save(self, node: OpNode, values: Sequence[Any], results: Sequence[Any]) -> None:
        """Keep what the derivatives name: all of it, as PyTorch does, but for an input that only one names in vain."""
        edges = node.next_edges
        selective = len(self.rules) == len(edges)
        stack = local.state.mode.saved_hooks
        saved: list[Any] = []
        for is_result, at, users in self._to_save:
            if is_result:
                saved.append(keep_output(results[at], at, stack))
            elif selective and self.spared(users, edges):
                saved.append(None)
            else:
                saved.append(keep(values[at], stack))
        # What is lazy is computed when it is read, so the ways that take arrays as they are must not see it either.
        lazy = [entry for entry in saved if entry.__class__ is tuple and entry[0].backend.lazy]
        node.saved_entries = Hooked(saved) if stack or lazy else tuple(saved)
        if self._to_note:
            node.plain_values = self.noted(values, results)

    def noted(self, values: Sequence[Any], results: Sequence[Any]) -> tuple[Any, ...]:
        """The plain values that the derivatives name."""
        return tuple([
            described((results if of_result else values)[at], what) if what else values[at]
            for of_result, at, what in self._to_note
        ])  # fmt: skip

    def operand_forms(self, values: Sequence[Any], results: Sequence[Any], edges: Sequence[Any]) -> Any:
        """What a node must know of the operands to fit their gradients to them."""
        return None

    def spared(self, users: tuple[int, ...], edges: Sequence[Any]) -> bool:
        """Whether an input that these derivatives name need not be kept."""
        return len(users) == 1 < len(self.rules) and edges[users[0]] is None

    def backward_function(self) -> Callable[[OpNode, list[Any]], Sequence[Any]]:
        """The node's `apply`: gradients for its edges from those of its results."""
        op = self
        rules = tuple([(rule.fn, rule.sources, rule.saved) for _, rule in self.rules])
        lists = [self.signature.params[i].sequence for i, _ in self.rules]
        together = self.joint is not None or any(lists)  # one formula gives several edges' gradients

        def apply(node: OpNode, grads: list[Any]) -> Sequence[Any]:
            saved = node.saved_entries
            if saved.__class__ is not tuple:
                saved = unpacked(node)
            g = grads[0]
            if g is None and all(other is None for other in grads):
                return [None] * len(node.next_edges)
            count = len(saved)
            results: list[Any] = []
            edges = (next((e for e in node.next_edges if e is not None), None),) if together else node.next_edges
            for (fn, sources, kept), edge in zip(rules, edges):
                if edge is None:
                    for s in kept:  # what was kept must not be stale, needed or not
                        node.read(saved[s])
                    results.append(None)
                    continue
                arguments = []
                for s in sources:
                    if s == -1:
                        arguments.append(g)
                    elif s >= count:
                        arguments.append(node.plain_values[s - count])
                    elif s >= 0:
                        entry = saved[s]
                        if entry.__class__ is tuple:
                            tensor, version = entry
                            counter = tensor.counter
                            if counter is None or counter.n == version:
                                arguments.append(tensor)
                                continue
                        arguments.append(node.read(entry))
                    else:
                        arguments.append(grads if s == -2 else tuple([e is not None for e in node.next_edges]))
                results.append(fn(*arguments))
            if together:
                results = [None] * len(node.next_edges) if edges[0] is None else results[0]
            return op.fit(node, results)

        return apply

    def evaluate(self, rule: Rule, g: Tensor, values: Sequence[Any], results: Sequence[Any]) -> Any:
        """A derivative of a call with these arguments and results, for an only gradient, when nothing was saved."""
        count, arguments = len(self.saved_names), []
        for s in rule.sources:
            if s >= count:
                of_result, at, what = self._to_note[s - count]
                value = (results if of_result else values)[at]
                arguments.append(described(value, what) if what else value)
            elif s >= 0:
                of_result, at, _ = self._to_save[s]
                arguments.append((results if of_result else values)[at])
            else:
                arguments.append((g, [g], tuple([r is rule for _, r in self.rules]))[~s])
        return rule.fn(*arguments)

    def fit(self, node: OpNode, grads: Sequence[Any]) -> Sequence[Any]:
        """Gradients as the operands need them."""
        return grads

    # ---- calling

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], method: bool) -> Any:
        """A call as the user wrote it."""
        if needs_dispatch(args, kwargs):
            return dispatch(function, args, kwargs)
        if "out" in kwargs and "out" not in self.signature.by_name:
            refuse_out(self.signature.name, method)
            out = kwargs.pop("out")
            if out is not None:
                return self.given_out(out, self.bind(args, kwargs, method))
        return self.apply(*self.bind(args, kwargs, method))

    def given_out(self, out: Any, values: Sequence[Any]) -> Any:
        """The `out=` form. What has no derivative may write into whatever there is."""
        if self.recorded:
            refuse_history(self.signature.name, out, values)
        return self.into(out, values)

    def into(self, out: Any, values: Sequence[Any]) -> Any:
        """Compute, and write the results to where they are wanted."""
        return into(out, self.apply, values, self.signature.name, self.exact_out)

    def function(self, method: bool = False) -> Callable[..., Any]:
        """The public function, or a method that is called just like it."""
        op, at_once = self, self.signature.at_once

        def call(*args: Any, **kwargs: Any) -> Any:
            if local.state.mode.direct:
                values = at_once(args, kwargs)
                if values is not None:
                    return op.apply(*values)
            return op.call(call, args, kwargs, method)

        return self.named(self.by_plan(call, method))

    def by_plan(self, general: Callable[..., Any], method: bool) -> Callable[..., Any]:
        """`general`, or a way around it where calls can be planned."""
        if not self.by_form:
            return general
        op = self
        call = planned(lambda args, kwargs: (op, op.bind(args, kwargs, method)), general)
        public[general] = call
        return call

    def plan(self, values: Sequence[Any], tensors: list[Tensor], results: Any) -> Any:
        """What calls of the form of this one come to (core/plan.py); None where that is found out each time."""
        listed = (results,) if isinstance(results, Tensor) else tuple(results)
        if not self.by_form or not listed or not all([r is None or isinstance(r, Tensor) for r in listed]):
            return None
        return self.planner(self, values, tensors, results if listed[0] is results else listed)

    def orders_results(self, values: Sequence[Any]) -> bool:
        """Whether what the kernel gives may be wrapped as it lies in memory."""
        return True

    def lays_results(self, result: Tensor) -> bool:
        """Whether a result may have to be laid out otherwise than the kernel did."""
        return False

    def method(self) -> Callable[..., Any]:
        """The method: as the function, but a lone list of ints may be spread over its arguments."""
        if not self.signature.variadic:
            return self.function(True)
        op = self

        def call(*args: Any, **kwargs: Any) -> Any:
            return op.call(call, args, kwargs, True)

        return self.named(self.by_plan(call, True))

    def operator(self, name: str = "") -> Callable[..., Any]:
        """The method as an operator calls it: operands that do not fit are left to the other one's reflected method."""
        twin = copy.copy(self)

        def call_or_leave(function: Callable[..., Any], args: tuple[Any, ...], *more: Any) -> Any:
            if name and not isinstance(args[0], Tensor):
                kind = type(args[0]).__name__
                raise TypeError(
                    f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a '{kind}' object"
                )
            try:
                return self.call(function, args, *more)
            except TypeError:
                return NotImplemented

        twin.call = call_or_leave  # type: ignore[method-assign]
        return twin.function()

    def inplace(self) -> Callable[..., Any]:
        """The in-place method."""
        op, at_once = self, self.signature.at_once
        signature = self.signature.called(self.signature.name + "_")

        def call(*args: Any, **kwargs: Any) -> Any:
            if local.state.mode.direct:
                values = at_once(args, kwargs)
                if values is not None:
                    return op.apply_in_place(values)
            if needs_dispatch(args, kwargs):
                return dispatch(call, args, kwargs)
            return op.apply_in_place(signature.bind(args, kwargs, True))

        return self.named(call, "_")

    def named(self, call: Callable[..., Any], suffix: str = "") -> Callable[..., Any]:
        call.__name__ = call.__qualname__ = self.signature.name + suffix
        return call

    def apply_in_place(self, values: list[Any]) -> Tensor:
        """Compute the result, write it into the first operand, and make the op the last step of its history."""
        state = local.state
        self_: Tensor = values[0]
        if state.adopted:
            follow_bases([t for value in values for t in tensors_in(value)])
        if state.mode.marks and state.levels:
            check_own(self, self_)
        backend = self_.backend
        recording = False
        for value in values[1:]:
            for t in tensors_in(value):
                recording = recording or (state.mode.grad and requires_grad(t))
                if t.backend.level > backend.level:
                    backend = t.backend
        if backend is not self_.backend:
            backend.adopt(self_)
        grad = state.mode.grad and bool(self.rules)
        if grad:
            check_writable(self_, recording)
        before = self_.alias()
        edges = None
        if grad and self_.dtype.category >= dt.FLOAT and (recording or requires_grad(self_)):
            before.edge = resolve(self_)
            edges = self.edges((before, *values[1:]))  # PyTorch asks for histories first, and some may not be asked for
        self.check_memory(self_, values[1:])
        if state.mode.saved_hooks:
            announce_write(self_, state.mode.saved_hooks)
        moving = state.mode.moving
        if moving:
            hold(before, values)
        if edges is not None:
            for is_result, at, users in self._to_save:  # before anything is written
                if not is_result and at and not self.spared(users, edges):
                    check_keepable(values[at])
            name = self.signature.params[self.rules[0][0]].name
            if any(name in rule.names and requires_grad(t) for i, rule in self.rules for t in tensors_in(values[i])):
                before.array = self_.backend.real.copy(self_.array)
                before.counter = None
        if backend.level:
            backend.overwrite(self, self_, before, values)
        else:
            state.within(silent(state.mode), self.overwrite, self_, before, values)
        node = None if edges is None else self.record_in_place(edges, self_, before, values)
        if moving:
            FOLLOW_IN_PLACE[0](self, self_, before, values, node)
        return self_

    def check_memory(self, target: Tensor, values: Sequence[Any]) -> None:
        """Refuse to write to one place several times, or to what is still to be read."""
        if not self.repeats or target.backend.lazy:
            check_no_overlap(target)
        for value in values:
            for other in tensors_in(value):
                check_apart(target, other, self.exclusive)

    def overwrite(self, self_: Tensor, before: Tensor, values: list[Any]) -> None:
        """Put the result into `self_`; `before` is what it was."""
        result = self.apply(before, *values[1:])
        check_fits(self_, result)
        write(self_, result)

    def overwrite_inside(self, self_: Tensor, before: Tensor, values: list[Any]) -> None:
        """The same where `self_` is made of other tensors."""
        Op.overwrite(self, self_, before, values)

    def record_in_place(self, edges: Sequence[Any], self_: Tensor, before: Tensor, values: list[Any]) -> OpNode:
        node = self.record_on(edges, (before, *values[1:]), (self_.alias(),))
        counter = self_.counter
        node.saved_entries = type(node.saved_entries)([
            (entry[0], entry[1] - 1) if entry.__class__ is tuple and entry[0].counter is counter else entry
            for entry in node.saved_entries  # operands over the memory just written to were read before that
        ])  # fmt: skip
        set_history(self_, node)
        return node
