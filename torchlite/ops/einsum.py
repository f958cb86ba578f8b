"""Einstein summation, chains and powers of matrices."""

from __future__ import annotations

import itertools
import math
from typing import Any

from ..core.overrides import overridable
from ..core.publish import function, publish_python
from ..core.tensor import Tensor, TensorBase
from .arithmetic import mul
from .create import eye
from .matmul import bmm, matmul
from .shape import inverse, spread, view
from .writing import warn_once

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@function("einsum")
@overridable
def einsum(*args: Any) -> Tensor:
    """Sum products of the operands' elements over the subscripts that the result leaves out."""
    equation, operands = _spoken(args)
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    left, arrow, right = equation.partition("->")
    terms = [_letters(term, i) for i, term in enumerate(left.split(","))]
    if len(terms) > len(operands):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(terms) < len(operands):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    dots = _ellipsis_rank(terms, operands)
    spelled = [_spell(term, t, dots, i) for i, (term, t) in enumerate(zip(terms, operands))]
    output = _output(right if arrow else None, terms, dots)
    _check_sizes(spelled, operands)
    labels = [*output, *sorted({x for term in spelled for x in term} - set(output), key=str)]
    laid = [_lay(t, term, labels) for t, term in zip(operands, spelled)]
    result = laid[0]
    kept = len(output)
    for i, other in enumerate(laid[1:], 1):
        done = [
            d for d in range(kept, len(labels))
            if all(rest.array.shape[d] == 1 for rest in laid[i + 1 :])
            and not (result.array.shape[d] == 1 and other.array.shape[d] == 1)
        ]  # fmt: skip
        result = _pair(result, other, done)
    if len(labels) == kept:
        return result
    return result.sum([*range(kept, len(labels))]) if len(laid) == 1 else view.apply(result, result.array.shape[:kept])


def _spoken(args: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    """The equation and operands, from any of the ways to call `einsum`."""
    if not args:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], str):
        return args[0], list(spread(args[1:]))

    def letters(subscripts: Any) -> str:
        out = []
        for s in subscripts:
            if s is Ellipsis:
                out.append("...")
            elif not 0 <= s < len(_LETTERS):
                raise ValueError(
                    f"einsum(): subscript in subscript list is not within the valid range [0, {len(_LETTERS)})"
                )
            else:
                out.append(_LETTERS[s])
        return "".join(out)

    pairs = len(args) // 2
    equation = ",".join(letters(args[2 * i + 1]) for i in range(pairs))
    if len(args) % 2:
        equation += "->" + letters(args[-1])
    return equation, [args[2 * i] for i in range(pairs)]


def _letters(term: str, operand: int) -> list[str]:
    """The subscripts of one term; an ellipsis is one of them."""
    found: list[str] = []
    at = 0
    while at < len(term):
        c = term[at]
        if c == ".":
            if term[at : at + 3] != "..." or "..." in found:
                where = "more than once" if "..." in found else "that is not part of any ellipsis"
                raise RuntimeError(f"einsum(): found '.' for operand {operand} {where}")
            found.append("...")
            at += 3
            continue
        if c != " ":
            if not (c.isascii() and c.isalpha()):
                raise RuntimeError(
                    f"einsum(): invalid subscript given at index {at} in the equation string, subscripts must be in "
                    "[a-zA-Z]"
                )
            found.append(c)
        at += 1
    return found


def _ellipsis_rank(terms: list[list[str]], operands: list[Tensor]) -> int:
    return max([t.dim() - len(term) + 1 for term, t in zip(terms, operands) if "..." in term], default=0)


def _spell(term: list[str], t: Tensor, dots: int, at: int) -> list[Any]:
    """A label for each dimension: letters, and numbers for what an ellipsis covers."""
    if not isinstance(t, TensorBase):
        raise TypeError(f"expected Tensor as element {at} in argument 1, but got {type(t).__name__}")
    named = len(term) - ("..." in term)
    if t.dim() < named or (t.dim() > named and "..." not in term):
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) "
            f"{'is more than' if t.dim() < named else 'does not match'} the number of dimensions ({t.dim()}) for "
            f"operand {at}{'' if t.dim() < named else ' and no ellipsis was given'}"
        )
    covered = t.dim() - named
    labels: list[Any] = []
    for x in term:
        labels.extend(range(dots - covered, dots) if x == "..." else [x])
    return labels


def _output(right: str | None, terms: list[list[str]], dots: int) -> list[Any]:
    """The labels of the result: those given, else those that occur once, in alphabetical order."""
    seen = [x for term in terms for x in term if x != "..."]
    if right is None:
        return [*range(dots), *sorted(x for x in set(seen) if seen.count(x) == 1)]
    output: list[Any] = []
    for x in _letters(right, len(terms)):
        if x == "...":
            output.extend(range(dots))
        elif x in output:
            raise RuntimeError(f"einsum(): output subscript {x} appears more than once in the output")
        elif x not in seen:
            raise RuntimeError(f"einsum(): output subscript {x} does not appear in the equation for any input operand")
        else:
            output.append(x)
    return output


def _check_sizes(spelled: list[list[Any]], operands: list[Tensor]) -> None:
    """Whether the dimensions of one label broadcast together."""
    sizes: dict[Any, int] = {}
    for i, (term, t) in enumerate(zip(spelled, operands)):
        own: dict[Any, int] = {}
        for x, n in zip(term, t.array.shape):
            if own.setdefault(x, n) != n:
                raise RuntimeError(
                    f"einsum(): subscript {x} is repeated for operand {i} but the sizes don't match, {n} != {own[x]}"
                )
            have = sizes.setdefault(x, n)
            if have != n and 1 not in (have, n):
                raise RuntimeError(
                    f"einsum(): subscript {x} has size {n} for operand {i} which does not broadcast with previously "
                    f"seen size {have}"
                )
            sizes[x] = n if have == 1 else have


def _lay(t: Tensor, term: list[Any], labels: list[Any]) -> Tensor:
    """`t` with one dimension for every label, of size 1 where it has none; repeated labels take the diagonal."""
    term = list(term)
    for x in dict.fromkeys(term):
        while term.count(x) > 1:
            first = term.index(x)
            second = term.index(x, first + 1)
            t = t.diagonal(0, first, second).movedim(-1, first)
            del term[second]
    sizes = dict(zip(term, t.array.shape, strict=True))
    laid = t.permute([term.index(x) for x in labels if x in sizes])
    return laid if laid.dim() == len(labels) else laid.reshape([sizes.get(x, 1) for x in labels])


def _pair(a: Tensor, b: Tensor, over: list[int]) -> Tensor:
    """The product of two tensors of one rank, summed over some dimensions, which stay with size 1."""
    for d in over:
        n, m = a.array.shape[d], b.array.shape[d]
        if m == 1 != n:
            a = a.sum(d, True)
        elif n == 1 != m:
            b = b.sum(d, True)
    rank = a.dim()
    shapes = list(zip(a.array.shape, b.array.shape, strict=True))
    full = [d for d in range(rank) if 1 not in shapes[d]]
    summed = [d for d in full if d in over]
    if not summed:
        return mul.apply(a, b)
    both = [d for d in full if d not in over]
    only_a = [d for d in range(rank) if shapes[d][0] != 1 and d not in full]
    only_b = [d for d in range(rank) if shapes[d][1] != 1 and d not in full]
    rest = [d for d in range(rank) if d not in both + only_a + only_b + summed]
    size = lambda t, dims: [t.array.shape[d] for d in dims]
    groups = ((a, both), (a, only_a), (b, only_b), (a, summed))
    batch, left, right, inner = (math.prod(size(t, dims)) for t, dims in groups)
    first = a.permute(both + only_a + summed + only_b + rest).reshape((batch, left, inner))
    second = b.permute(both + summed + only_b + only_a + rest).reshape((batch, inner, right))
    made = bmm.apply(first, second)
    order = both + only_a + only_b + summed + rest
    made = made.reshape(size(a, both) + size(a, only_a) + size(b, only_b) + [1] * (len(summed) + len(rest)))
    return made.permute(inverse(order))


@function("chain_matmul")
@overridable
def chain_matmul(*matrices: Any) -> Tensor:
    """The product of several matrices, bracketed so that it costs least."""
    items = list(spread(matrices))
    if not items:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for m in items:
        if m.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {m.dim()}, expected 2 instead.")
    if len(items) == 1:
        return items[0].clone()
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters."
    )
    return chain(items)


def chain(items: list[Tensor]) -> Tensor:
    """Multiply matrices in the order that takes the fewest multiplications."""
    for i, (m, after) in enumerate(itertools.pairwise(items)):
        if m.array.shape[1] != after.array.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(m.shape)} and {list(after.shape)} cannot be "
                "multiplied"
            )
    sizes = [items[0].array.shape[0], *(m.array.shape[1] for m in items)]
    count = len(items)
    best: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(count)}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            best[i, j] = min(
                (best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def multiply(i: int, j: int) -> Tensor:
        if i == j:
            return items[i]
        k = best[i, j][1]
        return matmul.apply(multiply(i, k), multiply(k + 1, j))

    return multiply(0, count - 1)


def matrix_power(input: Tensor, n: int) -> Tensor:
    """A square matrix, or each of a batch, multiplied `n` times with itself."""
    if input.dim() < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    rows, columns = input.array.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    if n == 0:
        return eye(rows, dtype=input.dtype, device=input.device).expand(input.shape).contiguous()
    result = _power(input.inverse() if n < 0 else input, abs(n))
    return result.clone() if result is input else result


def _power(a: Tensor, n: int) -> Tensor:
    if n == 1:
        return a
    half = _power(a, n // 2)
    return half.matmul(half).matmul(a) if n % 2 else half.matmul(half)


publish_python("matrix_power(Tensor self, int n)", matrix_power)
