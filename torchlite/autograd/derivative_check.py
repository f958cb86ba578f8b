"""What `gradcheck` looks at: a function at a point, and its derivatives there by every way there is to get them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..core.machine import Generator, Node, Tensor, form_of, resolve
from ..core.machine.registry import functions as F
from ..core.values import warn
from .backward import grad
from .differentiable import GradcheckError, differentiable, requiring_grad, tensors_of
from .jacobians import basis, matrix, numerical, pulled, pushed, slopes, wirtinger


@dataclass
class Check:
    """A function at a point, and how closely its derivatives are looked at."""

    func: Callable[..., Any]
    inputs: tuple[Any, ...]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    dtypes: bool
    fast: bool
    part: str = ""  # which part of complex inputs or outputs is considered

    @cached_property
    def varied(self) -> list[int]:
        return requiring_grad(self.inputs)

    @cached_property
    def xs(self) -> list[Tensor]:
        return [self.inputs[at] for at in self.varied]

    @cached_property
    def outputs(self) -> tuple[Tensor, ...]:
        return self.at(*self.inputs)

    def at(self, *inputs: Any) -> tuple[Tensor, ...]:
        return differentiable(self.func(*inputs))

    def here(self) -> tuple[Tensor, ...]:
        return self.at(*self.inputs)

    # ---- complex functions, part by part

    def by_output_parts(self) -> Iterator[Check]:
        """A backward pass starts from real numbers: complex outputs are taken as two real ones."""
        if not any(y.is_complex() for y in self.outputs):
            yield self
            return
        for name, part in ("imaginary", F["imag"]), ("real", F["real"]):

            def func(*inputs: Any, part: Any = part) -> tuple[Any, ...]:
                return tuple([part(y) if y.is_complex() else y for y in self.at(*inputs)])

            yield replace(self, func=func, part=f"While considering the {name} part of complex outputs only, ")

    def by_input_parts(self) -> Iterator[Check]:
        """A forward pass moves along real numbers: complex inputs are taken as two real ones."""
        complex_ = [at for at in self.varied if self.inputs[at].is_complex()]
        if not complex_:
            yield self
            return
        for name, moving, still in ("imaginary", F["imag"], F["real"]), ("real", F["real"], F["imag"]):

            def func(*inputs: Any, moving: Any = moving, still: Any = still) -> Any:
                whole = list(inputs)
                for at in complex_:
                    rest = still(self.inputs[at]).detach()
                    pair = (inputs[at], rest) if moving is F["real"] else (rest, inputs[at])
                    whole[at] = F["complex"](*pair)
                return self.func(*whole)

            parts = [
                moving(x).detach().clone().requires_grad_() if at in complex_ else x for at, x in enumerate(self.inputs)
            ]
            said = f"While considering the {name} part of complex inputs only, "
            yield replace(self, func=func, inputs=tuple(parts), part=said)

    # ---- Jacobians

    def flat(self) -> None:
        """A function without differentiable outputs does not change with its inputs, but for integers that jump."""

        def every() -> tuple[Tensor, ...]:
            return tensors_of(self.func(*self.inputs))

        def floating() -> list[Tensor]:
            return [y for y in every() if y.is_floating_point() or y.is_complex()]

        for x in self.xs:
            if self.fast:
                found = slopes(every, x.data, _direction(Generator(), x), self.eps)
            else:
                found = numerical(floating, x, floating(), self.eps)
            if any(slope.any() for slope in found):
                raise GradcheckError("Numerical gradient for function expected to be zero")

    def numerical(self, j: int) -> list[Tensor]:
        return numerical(self.here, self.xs[j], self.outputs, self.eps)

    def backward_jacobians(self) -> None:
        if self.fast:
            self.backward_projections()
            return
        wanted = [self.numerical(j) for j in range(len(self.xs))]
        for i, y in enumerate(self.outputs):
            for j, found in enumerate(self.backward_of(y)):
                self.compare(i, j, wanted[j][i], found)

    def backward_of(self, y: Tensor) -> list[Tensor]:
        """The Jacobians of `y`, from two backward passes for each of its elements."""
        once, again = ([pulled(y, self.xs, e) for e in basis(y)] for _ in range(2))
        found = []
        for j, x in enumerate(self.xs):
            first, second = ([gradients[j] for gradients in rows] for rows in (once, again))
            self.check_gradients(x, first)
            jacobian = matrix(first, x, y, 1)
            self.check_repeats(jacobian, matrix(second, x, y, 1))
            found.append(jacobian)
        return found

    def check_gradients(self, x: Tensor, gradients: Sequence[Tensor | None]) -> None:
        present = [g for g in gradients if g is not None]
        if self.dtypes and any(g.dtype != x.dtype for g in present):
            raise GradcheckError("Gradient has dtype mismatch")
        if any(g.shape != x.shape for g in present):
            raise GradcheckError("Analytical gradient has incorrect size")

    def check_repeats(self, once: Tensor, again: Tensor) -> None:
        if once.numel() and (once - again).abs().max() > self.nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                "gives different values, although analytical gradient matches numerical gradient."
                f"The tolerance for nondeterminism was {self.nondet_tol}.\n\nNOTE: a function that is known to be "
                "nondeterministic passes with `nondet_tol=<tol>`."
            )

    def forward_jacobians(self) -> None:
        if self.fast:
            self.forward_projections()
            return
        for j in range(len(self.xs)):
            for i, (wanted, found) in enumerate(zip(self.numerical(j), self.forward_of(j))):
                self.compare(i, j, wanted, found, forward=True)

    def forward_of(self, j: int) -> list[Tensor]:
        """The Jacobians of all outputs with respect to one input, from a forward pass for each of its elements."""
        x = self.xs[j]
        rows = [self.pushed(j, e) for e in basis(x)]
        return [matrix([row[i] for row in rows], x, y, 0) for i, y in enumerate(self.outputs)]

    def pushed(self, j: int, tangent: Tensor) -> list[Tensor | None]:
        found = pushed(self.at, self.inputs, {self.varied[j]: tangent})
        if self.dtypes and any(t is not None and t.dtype != y.dtype for t, y in zip(found, self.outputs)):
            raise GradcheckError("Forward AD gradient has dtype mismatch.")
        return found

    # ---- projections of Jacobians

    def backward_projections(self) -> None:
        """Compare vᵀJu for random u and v; with a complex input, v's image along u's real and its imaginary part."""
        random = Generator()
        us = [_direction(random, x) for x in self.xs]
        vs = [_direction(random, y) for y in self.outputs]
        wanted = [self.slopes_along(x, u) for x, u in zip(self.xs, us)]
        found = [self.gradients_along(y, us, v) for y, v in zip(self.outputs, vs)]
        for j, u in enumerate(us):
            for i, v in enumerate(vs):
                slope = (v * wanted[j][i]).sum()
                scale = (u.real + u.imag if u.is_complex() else u).sum() * v.sum()
                self.compare(i, j, slope, found[i][j], scale)

    def slopes_along(self, x: Tensor, u: Tensor) -> list[Tensor]:
        if not x.is_complex():
            return slopes(self.here, x.data, u, self.eps)
        along = [slopes(self.here, x.data, d, self.eps) for d in (u.real, 1j * u.imag)]
        return [wirtinger(re, im) for re, im in zip(*along)]

    def gradients_along(self, y: Tensor, us: Sequence[Tensor], v: Tensor) -> list[Tensor]:
        once, again = pulled(y, self.xs, v), pulled(y, self.xs, v)
        found = []
        for x, u, g, h in zip(self.xs, us, once, again):
            self.check_gradients(x, [g])
            if g is None or h is None:
                found.append(x.new_zeros(()))
                continue
            self.check_repeats(g, h)
            along = (g.real * u.real).sum()
            found.append(F["complex"](along, (g.imag * u.imag).sum()) if u.is_complex() else along)
        return found

    def forward_projections(self) -> None:
        """Compare Ju for random u."""
        random = Generator()
        for j, x in enumerate(self.xs):
            u = _direction(random, x)
            wanted = slopes(self.here, x.data, u, self.eps)
            for i, (slope, t) in enumerate(zip(wanted, self.pushed(j, u))):
                found = F["zeros_like"](slope) if t is None else t.to(slope.dtype)
                self.compare(i, j, slope.reshape(-1), found.reshape(-1), u.sum(), forward=True)

    def compare(self, i: int, j: int, wanted: Tensor, found: Tensor, scale: Any = 1, forward: bool = False) -> None:
        """Refuse a Jacobian, or a projection of one, whose errors of `atol` an element add up to `atol * scale`."""
        compared = found if self.fast and not found.is_complex() else found.to(wanted.dtype)
        if F["allclose"](compared, wanted, self.rtol, float(self.atol * scale)):
            return
        mode = "computed with forward mode " if forward else ""
        text = (
            f"{self.part}Jacobian {mode}mismatch for output {i} with respect to input {j},\nnumerical:{wanted}\n"
            f"analytical:{found}\n"
        )
        raise GradcheckError(text + (self.in_full(i, j, forward) if self.fast else ""))

    def in_full(self, i: int, j: int, forward: bool) -> str:
        """The Jacobians whose projections disagree."""
        wanted = self.numerical(j)[i]
        found = self.forward_of(j)[i] if forward else self.backward_of(self.outputs[i])[j]
        text = (
            "\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast mode. See: "
            "https://github.com/pytorch/pytorch/issues/53876 for more background \nabout fast mode. Below, we "
            f"recompute numerical and analytical jacobians in slow mode:\n\nNumerical:\n {wanted}\nAnalytical:\n{found}"
            f"\n\nThe max per-element difference (slow mode) is: {(wanted - found).abs().max()}.\n"
        )
        if F["allclose"](found.to(wanted.dtype), wanted, self.rtol, self.atol):
            text += (
                "\nFast gradcheck failed but element-wise differences are small. This means that the\ntest might've "
                "passed in slow_mode!\n"
            )
        return text

    # ---- gradients of zero, of nothing, and of batches

    def gradients(self, weights: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
        return grad(self.here(), self.xs, weights, allow_unused=True)

    def multiplied(self) -> None:
        """The gradients of an output that nobody cares for are zero."""
        zeros = [F["zeros_like"](y) for y in self.outputs]
        for x, g in zip(self.xs, self.gradients(zeros)):
            if g is None:
                continue
            if g.any():
                raise GradcheckError("backward not multiplied by grad_output")
            for what, one, other in (
                ("type", g.dtype, x.dtype),
                ("device", g.device, x.device),
                ("size", g.shape, x.shape),
            ):
                if one != other:
                    raise GradcheckError(f"grad is incorrect {what}")

    def undefined_gradients(self) -> None:
        """Backward copes with outputs that get no gradient: all of them, and each by itself."""
        ys = range(len(self.outputs))
        for missing in [set(ys), *({i} for i in ys)] if len(ys) > 1 else [set(ys)]:
            outputs = self.here()
            gated = [_Undefined.of(y) if i in missing else y for i, y in enumerate(outputs)]
            zeros = [F["zeros_like"](y) for y in outputs]
            try:
                found = grad(gated, self.xs, zeros, allow_unused=True)
            except RuntimeError as error:
                raise _undefined("Expected backward function to handle undefined output grads.") from error
            if any(g is not None and g.any() for g in found):
                raise _undefined(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
                )

    def undefined_tangents(self) -> None:
        """An input that has no tangent counts as one that does not move."""
        random = Generator()
        for check in self.by_input_parts():
            tangents = {at: _direction(random, x) for at, x in zip(check.varied, check.xs)}
            for at, x in zip(check.varied, check.xs):
                without = {other: t for other, t in tangents.items() if other != at}
                still = without | {at: F["zeros_like"](x)}
                pairs = zip(*(pushed(check.at, check.inputs, moving) for moving in (without, still)))
                for i, (found, wanted) in enumerate(pairs):
                    zeros = F["zeros_like"](check.outputs[i])
                    found, wanted = (zeros if t is None else t for t in (found, wanted))
                    if not F["allclose"](found, wanted):
                        raise GradcheckError(
                            f"Mismatch in tangent values for output with index: {i} when input: {x} has an undefined "
                            f"tangent value.  Got: {found} but expected: {wanted}"
                        )

    def batched_gradients(self) -> None:
        """Gradients of two weights at once are those of each."""
        for i, y in enumerate(self.outputs):
            weights = [F["randn_like"](y) for _ in range(2)]
            try:
                together = grad(
                    y, self.xs, F["stack"](weights), retain_graph=True, allow_unused=True, is_grads_batched=True
                )
            except RuntimeError as error:
                raise _unbatched(error) from error
            self.compare_batches(i, together, [pulled(y, self.xs, weight) for weight in weights])

    def batched_tangents(self) -> None:
        """Tangents along two directions at once are those along each."""
        from ..func import vmap

        for j, x in enumerate(self.xs):
            directions = [F["randn_like"](x) for _ in range(2)]

            def along(tangent: Tensor, j: int = j) -> tuple[Tensor, ...]:
                return tuple([t for t in self.pushed(j, tangent) if t is not None])

            try:
                together = vmap(along)(F["stack"](directions))
            except RuntimeError as error:
                raise _unbatched(error) from error
            for i, (found, *one_by_one) in enumerate(zip(together, *map(along, directions))):
                self.compare_batch(i, j, found, F["stack"](one_by_one))

    def compare_batches(self, i: int, together: Sequence[Any], one_by_one: Sequence[Sequence[Any]]) -> None:
        for j, (found, *single) in enumerate(zip(together, *one_by_one)):
            if found is not None:
                self.compare_batch(i, j, found, F["stack"](single))

    def compare_batch(self, i: int, j: int, found: Tensor, wanted: Tensor) -> None:
        if not F["allclose"](found, wanted):
            text = f"\nFor output {i} and input {j}:\n\n{_BATCHED}\n\nGot:\n{found}\n\nExpected:\n{wanted}\n"
            raise GradcheckError(text)


_BATCHED = "\ngradcheck or gradgradcheck failed while testing batched gradient computation.\n"


def _unbatched(error: RuntimeError) -> GradcheckError:
    return GradcheckError(f"While computing batched gradients, got: {error}\n\n{_BATCHED}")


def _undefined(text: str) -> GradcheckError:
    warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may "
        "break existing callers of this function. If this is true for you, you can call this function with "
        '"check_undefined_grad=False" to disable the feature',
    )
    return GradcheckError(
        text + ' Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
    )


def _direction(random: Generator, x: Tensor) -> Tensor:
    """A random direction in the space of `x`: the real part, and the imaginary part if there is one, of length one."""

    def unit() -> Tensor:
        drawn = F["rand"](x.numel(), generator=random).to(x.dtype.to_real())
        return (drawn / drawn.norm()).reshape(x.shape).to(x.device)

    return F["complex"](unit(), unit()) if x.is_complex() else unit()


class _Undefined(Node):
    """The step that keeps a gradient from those before it."""

    __slots__ = ()

    @classmethod
    def of(cls, y: Tensor) -> Tensor:
        closed = y._alias()
        closed._edge = (cls((resolve(y),), (form_of(y),)), 0)
        return closed

    def name(self) -> str:
        return "UndefinedGrad"

    def apply(self, grads: list[Any]) -> Sequence[None]:
        return (None,)
