"""What a check does with one operator on one set of inputs. The same code runs in either library.

A probe returns what it saw as a dict by aspect, or ``None`` if the sample is nothing for it. What it raises counts too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .library import Library, Missing, Unsupported, differentiable
from .neutral import Deferred, Input, Name, Raised, inputs_in, is_inexact, numpy_dtype
from .operation import Case, Operation

_SEED = 1234


@dataclass
class Trial:
    """One operator and one case in one library."""

    library: Library
    operation: Operation
    case: Case

    def __post_init__(self) -> None:
        self.specs = list(inputs_in(self.case.arguments, self.case.keywords))
        self.random = np.random.default_rng(self.case.index)

    def tensors(self, requires_grad: bool | None = False) -> list[Any]:
        """Fresh input tensors; with ``requires_grad=None`` they require what the sample asks for."""
        return [self.library.tensor(spec, requires_grad) for spec in self.specs]

    def call(self, callee: Name | Deferred, tensors: list[Any], **extra: Any) -> Any:
        """Calls with ``tensors`` as the input tensors, from the same random state every time."""
        return self.bind(callee)(tensors, **extra)

    def bind(self, callee: Name | Deferred) -> Callable[..., Any]:
        function = self.library.build(callee)

        def bound(tensors: list[Any], **extra: Any) -> Any:
            made = {id(spec): tensor for spec, tensor in zip(self.specs, tensors)}
            arguments = self.library.build(self.case.arguments, made)
            keywords = self.library.build(self.case.keywords, made)
            self.library.seed(_SEED)
            if self.specs:
                return function(*arguments, **keywords, **extra)
            with self.library.default_device():
                return function(*arguments, **keywords, **extra)

        return bound

    def attempt_call(self, callee: Name | Deferred) -> Any:
        """What a call with fresh tensors gives or raises."""
        return attempt(lambda: self.call(callee, self.tensors()))

    def function(self, tensors: list[Any], **extra: Any) -> Any:
        return self.call(self.operation.main.function, tensors, **extra)

    def differentiated(self, result: Any) -> list[Any]:
        """The tensors of a result that can be differentiated meaningfully."""
        if self.case.differentiated is not None:
            result = self.library.build(self.case.differentiated)(result)
        return self.library.tensors_in(result)

    def gradients(self, result: Any, sources: list[Any]) -> dict[str, Any]:
        """Gradients of ``result`` for random cotangents."""
        tensors = self.differentiated(result)
        outputs = differentiable(tensors)
        wanted = [source for source in sources if source.requires_grad]
        seen: dict[str, Any] = {"requires_grad": [tensor.requires_grad for tensor in tensors]}
        if outputs and wanted:
            cotangents = [self.library.random_like(output, self.random) for output in outputs]
            grad = self.library.get("torch.autograd.grad")
            seen["gradients"] = list(grad(outputs, wanted, cotangents, allow_unused=True))
        return seen

    def transform(self, path: str) -> Any:
        """A transform, without which the check says nothing about operators."""
        try:
            return self.library.get(path)
        except Missing as error:
            raise Unsupported(str(error)) from None

    @property
    def starts_with_tensor(self) -> bool:
        return isinstance(self.case.arguments.items[0], Input)


def attempt(call: Callable[[], Any]) -> Any:
    """What a call gives, or what it raises."""
    try:
        return call()
    except Unsupported:
        raise
    except Exception as error:
        return Raised.of(error)


def observe(check: Check, library: Library, operation: Operation, case: Case) -> Any:
    """What a check saw in one library, as neutral data."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seen = attempt(lambda: check.probe(Trial(library, operation, case)))
    if seen is None or isinstance(seen, Raised):
        return seen
    numeric = sorted({str(warning.message) for warning in caught if issubclass(warning.category, RuntimeWarning)})
    seen["NumPy's warnings"] = numeric
    return library.describe(seen) if library.native else attempt(lambda: library.describe(seen))


# -- probes ------------------------------------------------------------------------------------------------------------


def forward(trial: Trial) -> dict[str, Any]:
    """The result, what became of the inputs, and which results share memory with which inputs."""
    tensors = trial.tensors()
    result = trial.function(tensors)
    return {"result": result, "inputs afterwards": tensors, "sharing": trial.library.sharing(result, tensors)}


def bookkeeping(trial: Trial) -> dict[str, Any]:
    """What programs print of a result beside its values: layout, storage, version, bits, and the node it comes from."""
    tensors = trial.tensors(requires_grad=None)
    results = trial.library.tensors_in(trial.function(tensors))
    seen = {f"result {i}": _printed(t) for i, t in enumerate(results) if str(t.layout).endswith("strided")}
    return seen | {"versions of inputs": [t._version for t in tensors]}


def _printed(t: Any) -> dict[str, Any]:
    node = t.grad_fn
    return {
        "strides": tuple(t.stride()), "offset": t.storage_offset(), "bytes": t.untyped_storage().nbytes(),
        "version": t._version, "view": t._is_view(), "leaf": t.is_leaf, "requires grad": t.requires_grad,
        "bits": (t.is_conj(), t.is_neg(), t.is_inference()), "output": t.output_nr, "node": node and node.name(),
        "edges": node and [(n and n.name(), number) for n, number in node.next_functions],
    }  # fmt: skip


def errors(trial: Trial) -> dict[str, Any]:
    """What bad input raises."""
    return {"result": trial.function(trial.tensors(requires_grad=None))}


def grad(trial: Trial) -> dict[str, Any] | None:
    """First derivatives."""
    tensors = trial.tensors(requires_grad=None)
    if not any(tensor.requires_grad for tensor in tensors):
        return None
    return trial.gradients(trial.function(tensors), tensors)


def sparse(trial: Trial) -> dict[str, Any]:
    """Results for sparse inputs, and gradients; those of sparse results by the dense ones that they stand for."""
    tensors = trial.tensors(requires_grad=None)
    result = trial.function(tensors)
    seen = {"result": result}
    if any(tensor.requires_grad for tensor in tensors):
        dense = [made.to_dense() for made in trial.differentiated(result)]
        seen["derivative"] = attempt(lambda: trial.gradients(dense, tensors))
    return seen


def gradgrad(trial: Trial) -> dict[str, Any] | None:
    """Derivatives of first derivatives, with respect to inputs and cotangents; an absent one counts as zero."""
    library, tensors = trial.library, trial.tensors(requires_grad=None)
    wanted = [tensor for tensor in tensors if tensor.requires_grad]
    if not wanted:
        return None
    outputs = differentiable(trial.differentiated(trial.function(tensors)))
    if not outputs:
        return {}
    derive = library.get("torch.autograd.grad")
    cotangents = [library.random_like(output, trial.random, requires_grad=True) for output in outputs]
    first = derive(outputs, wanted, cotangents, create_graph=True, allow_unused=True)
    differentiated = [gradient for gradient in first if gradient is not None and gradient.requires_grad]
    if not differentiated:
        return {}
    weights = [library.random_like(gradient, trial.random) for gradient in differentiated]
    sources = wanted + cotangents
    second = derive(differentiated, sources, weights, allow_unused=True)
    return {"second": [np.zeros(tuple(s.shape)) if g is None else library.to_numpy(g) for s, g in zip(sources, second)]}


def out(trial: Trial) -> dict[str, Any] | None:
    """The ``out=`` form with results that fit, that are empty, of another shape, of another dtype and strided."""
    library = trial.library
    if "out" in trial.case.keywords:
        return None
    result = trial.function(trial.tensors())
    expected = library.tensors_in(result)
    if not expected or not (library.is_tensor(result) or len(result) == len(expected)):
        return None
    layouts: dict[str, Callable[[Any], Any]] = {
        "fitting": lambda like: _ones(library, like, tuple(like.shape)),
        "empty": lambda like: _ones(library, like, (0,)),
        "of another shape": lambda like: _ones(library, like, (*like.shape, 2)),
        "of another dtype": lambda like: _ones(library, like, tuple(like.shape), other_dtype=True),
    }
    if trial.operation.supports_strided_out:
        layouts["strided"] = lambda like: _reversed_strides(library, like)

    def given(make: Callable[[Any], Any]) -> dict[str, Any]:
        targets = [make(like) for like in expected]
        target = targets[0] if library.is_tensor(result) else targets if isinstance(result, list) else tuple(targets)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            returned = trial.function(trial.tensors(), out=target)
        return {
            "written": targets,
            "returned": [one is other for one, other in zip(library.tensors_in(returned), targets)],
            "warned of resizing": any("resized" in str(warning.message) for warning in caught),
        }

    return {name: attempt(lambda make=make: given(make)) for name, make in layouts.items()}


def _reversed_strides(library: Library, like: Any) -> Any:
    return _ones(library, like, tuple(like.shape)[::-1]).permute(*range(like.dim())[::-1])


def _ones(library: Library, like: Any, shape: tuple[int, ...], other_dtype: bool = False) -> Any:
    dtype = library.dtype_name(like)
    if other_dtype:
        dtype = "int64" if is_inexact(dtype) else "float32"
    return library.tensor(Input.of(np.ones(shape, numpy_dtype(dtype)), dtype))


def inplace(trial: Trial) -> dict[str, Any] | None:
    """The in-place method: on a plain tensor, on a leaf (an error), and gradients through it."""
    if not trial.starts_with_tensor:
        return None
    callee, tensors = trial.operation.main.inplace, trial.tensors()
    version = tensors[0]._version
    returned = trial.call(callee, tensors)
    seen = {"written": tensors, "returns self": returned is tensors[0], "counts": tensors[0]._version > version}
    leaves = trial.tensors(requires_grad=None)
    if leaves[0].requires_grad:
        seen["on a leaf"] = attempt(lambda: trial.call(callee, leaves))
    if trial.operation.supports_inplace_grad and any(leaf.requires_grad for leaf in leaves):
        leaves = trial.tensors(requires_grad=None)
        changed = [leaves[0].clone(), *leaves[1:]]
        seen["derivative"] = attempt(lambda: trial.gradients(trial.call(callee, changed), leaves))
    return seen


def method(trial: Trial) -> dict[str, Any] | None:
    """The method and the operators."""
    if not trial.starts_with_tensor:
        return None
    callees = {"method": trial.operation.main.method} if trial.operation.main.method else {}
    if not trial.case.keywords:
        callees |= {callee.label: callee for callee in trial.operation.operators}
    return {name: trial.attempt_call(callee) for name, callee in callees.items()}


def alias(trial: Trial) -> dict[str, Any]:
    """The other names: their functions, methods and in-place methods."""
    seen = {}
    for variants in trial.operation.aliases:
        forms = {"function": variants.function}
        if trial.starts_with_tensor:
            forms |= {"method": variants.method, "in-place method": variants.inplace}
        for form, callee in forms.items():
            if callee is not None:
                seen[f"{form} {variants.name}"] = trial.attempt_call(callee)
    return seen


def vmap(trial: Trial) -> dict[str, Any] | None:
    """Batches of two: all inputs along their first dimension; the first input alone along its last."""
    transform = trial.transform("torch.func.vmap")
    if not trial.specs:
        return None
    function = trial.bind(trial.operation.main.function)
    count = len(trial.specs)
    seen = {}
    for name, dims in {"all": (0,) * count, "first": (-1, *(None,) * (count - 1))}.items():
        batched = [
            trial.library.tensor(spec if dim is None else _batch(spec, dim), requires_grad=False)
            for spec, dim in zip(trial.specs, dims)
        ]
        mapped = transform(lambda *tensors: function(list(tensors)), in_dims=dims, randomness="same")
        seen[name] = attempt(lambda mapped=mapped, batched=batched: mapped(*batched))
    return seen


def _batch(spec: Input, dim: int) -> Input:
    """The tensor and its elements in another order, side by side."""
    other = np.roll(spec.values.reshape(-1), 1).reshape(spec.shape)
    return Input.of(np.stack([spec.values, other], axis=dim), spec.dtype)


def jvp(trial: Trial) -> dict[str, Any] | None:
    """Forward derivatives along random tangents."""
    transform = trial.transform("torch.func.jvp")
    tensors = trial.tensors()
    moving = [i for i, spec in enumerate(trial.specs) if is_inexact(spec.dtype) and spec.requires_grad]
    if not moving:
        return None
    function = trial.bind(trial.operation.main.function)

    def along(*primals: Any) -> tuple[Any, ...]:
        every = list(tensors)
        for position, primal in zip(moving, primals):
            every[position] = primal
        results = trial.differentiated(function(every))
        return tuple(result for result in results if is_inexact(trial.library.dtype_name(result)))

    primals = tuple(tensors[i] for i in moving)
    tangents = tuple(trial.library.random_like(primal, trial.random) for primal in primals)
    outputs, derivatives = transform(along, primals, tangents)
    return {"outputs": outputs, "tangents": derivatives}


def gradcheck(trial: Trial) -> dict[str, Any] | None:
    """Whether the library's own gradcheck is content with its gradients."""
    return _own_check(trial, "gradcheck")


def gradgradcheck(trial: Trial) -> dict[str, Any] | None:
    """Whether the library's own gradcheck is content with its second derivatives."""
    return _own_check(trial, "gradgradcheck")


def _own_check(trial: Trial, name: str) -> dict[str, Any] | None:
    tensors = trial.tensors(requires_grad=None)
    if not any(tensor.requires_grad for tensor in tensors):
        return None

    def outputs(*tensors: Any) -> tuple[Any, ...]:
        return tuple(trial.differentiated(trial.function(list(tensors))))

    check = trial.transform(f"torch.autograd.{name}")
    return {"content": check(outputs, tuple(tensors), fast_mode=True, check_grad_dtypes=True)}


# -- the table of checks -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """A probe, the inputs that it is given, and the operators that it says something about."""

    about: str
    probe: Callable[[Trial], dict[str, Any] | None]
    applies: Callable[[Operation], bool] = lambda operation: True
    source: str = "samples"
    dtype: str | None = None  # the only dtype it runs in
    floating: bool = False  # only for dtypes that have derivatives
    double: bool = False  # only for those of double precision
    random_only: bool = False  # compares the values of random operators, and runs for them alone

    @property
    def plain_call(self) -> bool:
        """Whether it is just a call of the function."""
        return self.probe in (forward, errors)


CHECKS: dict[str, Check] = {
    "forward": Check("results", forward),
    "noncontiguous": Check("results for inputs with gaps between elements", forward, source="noncontiguous"),
    "reference": Check("results for PyTorch's larger set of inputs", forward, source="reference"),
    "bookkeeping": Check("strides, storages, versions, bits and nodes of results", bookkeeping),
    "seeded": Check("values of random operators from the same seed", forward, random_only=True),
    "grad": Check("gradients", grad, lambda operation: operation.supports_grad, floating=True),
    "gradgrad": Check(
        "second derivatives, in float64", gradgrad, lambda operation: operation.supports_gradgrad, dtype="float64"
    ),
    "gradcheck": Check(
        "gradients by finite differences", gradcheck, lambda operation: operation.supports_grad, double=True
    ),
    "gradgradcheck": Check(
        "second derivatives by finite differences",
        gradgradcheck,
        lambda operation: operation.supports_gradgrad,
        double=True,
    ),
    "out": Check("the out= form", out, lambda operation: operation.supports_out),
    "inplace": Check("the in-place method", inplace, lambda operation: operation.main.inplace is not None),
    "method": Check("the method and the operators", method, lambda operation: operation.has_methods),
    "alias": Check("the other names", alias, lambda operation: bool(operation.aliases)),
    "vmap": Check("func.vmap", vmap),
    "jvp": Check("func.jvp, in float64", jvp, lambda operation: operation.supports_forward_ad, dtype="float64"),
    "sparse": Check(
        "results and gradients for sparse inputs", sparse, lambda op: bool(op.sparse_layouts), source="sparse"
    ),
    "errors": Check("types of exceptions", errors, source="errors", dtype="none"),
}
