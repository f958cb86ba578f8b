"""Einstein summation, chains and powers of matrices."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from typing import Any

from ...core.declare import function, published
from ...core.machine import Tensor, TensorBase, dispatch, functions, needs_dispatch, overridable
from ...core.state import is_watched
from ...core.values import contiguous_format, type_name, warn_once
from ..making.factories import eye
from ..pointwise.arithmetic import mul
from ..shapes.orders import permute
from ..shapes.shape import reshape, several, spread, unsqueeze, view
from .matmul import bmm, into_exactly, matmul

# What is wrong with dots: that they are no ellipsis, and that there was one.
_DOTS = {
    "operand": ("operand {} that is not part of any ellipsis", "operand {} for which an ellipsis was already found"),
    "output": ("output that is not part of any ellipsis (...)", "output but an ellipsis (...) was already found"),
}

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@function("einsum")
def einsum(*args: Any) -> Tensor:
    """Sum products of the operands' elements over the subscripts that the result leaves out."""
    if args and isinstance(args[0], str):
        args = (args[0], *spread(args[1:]))
    if needs_dispatch(args, {}):
        return dispatch(functions["einsum"], args, {})
    equation, operands = _spoken(args)
    for at, t in enumerate(operands):
        if not isinstance(t, TensorBase):
            raise TypeError(f"expected Tensor as element {at} in argument 1, but got {type(t).__name__}")
    terms, output, labels = _parsed(equation, tuple([len(t._array.shape) for t in operands]))
    _check_sizes(terms, operands)
    (result, term), *rest = [_undoubled(t, term) for t, term in zip(operands, terms)]
    if not rest:
        result = result.permute([term.index(x) for x in labels])
        return result if len(labels) == len(output) else result.sum([*range(len(output), len(labels))])
    whole = is_watched()  # in PyTorch's steps, in which all operands have all labels
    if whole:
        (result, term), *rest = [(_broadcastable(t, term, labels), labels) for t, term in [(result, term), *rest]]
    for i, (other, other_term) in enumerate(rest, 1):
        wanted = {*output, *[x for later in terms[i + 1 :] for x in later]}
        order = labels if whole else [x for x in labels if x in term or x in other_term]
        result, term = _product(result, term, other, other_term, order, wanted)
    if len(labels) == len(output):
        return result
    return view.apply(result, tuple([result._array.shape[term.index(x)] for x in output]))


@functools.lru_cache
def _parsed(equation: str, ranks: tuple[int, ...]) -> tuple[list[list[Any]], list[Any], list[Any]]:
    """The labels of each operand's dimensions, those of the result's, and all, the result's first."""
    left, arrow, right = equation.partition("->")
    terms = [_letters(term, i) for i, term in enumerate(left.split(","))]
    if len(terms) > len(ranks):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(terms) < len(ranks):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    dots = max([rank - len(term) + 1 for term, rank in zip(terms, ranks) if "..." in term], default=0)
    spelled = [_spell(term, rank, dots, i) for i, (term, rank) in enumerate(zip(terms, ranks))]
    output = _output(right if arrow else None, len(left) + 2, terms, dots)
    return spelled, output, [*output, *sorted({x for term in spelled for x in term} - set(output), key=str)]


def _spoken(args: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    """The equation and operands, from any of the ways to call `einsum`."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if not isinstance(args[0], (str, TensorBase)):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type_name(args[0])}")
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


def _letters(term: str, operand: int | None, start: int = 0) -> list[str]:
    """The subscripts of one term, that of the result or of an operand; an ellipsis is one of them."""
    found: list[str] = []
    at = 0
    while at < len(term):
        c = term[at]
        if c == ".":
            if term[at : at + 3] != "..." or "..." in found:
                stray, twice = _DOTS["output" if operand is None else "operand"]
                fault = (twice if "..." in found else stray).format(operand)
                raise RuntimeError(f"einsum(): found '.' for {fault}")
            found.append("...")
            at += 3
            continue
        if c != " ":
            if not (c.isascii() and c.isalpha()):
                raise RuntimeError(
                    f"einsum(): invalid subscript given at index {start + at} in the equation string, subscripts must "
                    "be in [a-zA-Z]"
                )
            found.append(c)
        at += 1
    return found


def _spell(term: list[str], rank: int, dots: int, at: int) -> list[Any]:
    """A label for each dimension: letters, and numbers for what an ellipsis covers."""
    named = len(term) - ("..." in term)
    if rank < named or (rank > named and "..." not in term):
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) "
            f"{'is more than' if '...' in term else 'does not match'} the number of dimensions ({rank}) for "
            f"operand {at}{'' if '...' in term else ' and no ellipsis was given'}"
        )
    covered = rank - named
    labels: list[Any] = []
    for x in term:
        labels.extend(range(dots - covered, dots) if x == "..." else [x])
    return labels


def _output(right: str | None, start: int, terms: list[list[str]], dots: int) -> list[Any]:
    """The labels of the result: those given from `start`, else those that occur once, in alphabetical order."""
    seen = [x for term in terms for x in term if x != "..."]
    if right is None:
        return [*range(dots), *sorted(x for x in set(seen) if seen.count(x) == 1)]
    output: list[Any] = []
    for x in _letters(right, None, start):
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
        for at, (x, n) in enumerate(zip(term, t._array.shape)):
            if own.setdefault(x, n) != n:
                raise RuntimeError(
                    f"einsum(): subscript {x} is repeated for operand {i} but the sizes don't match, {n} != {own[x]}"
                )
            have = sizes.setdefault(x, n)
            if have != n and 1 not in (have, n):
                raise _differing_sizes(x, at, i, n, have)
            sizes[x] = n if have == 1 else have


def _differing_sizes(label: Any, at: int, operand: int, n: int, have: int) -> RuntimeError:
    """The error for a dimension of an operand that does not broadcast with those before; numbers label ellipses."""
    if isinstance(label, int):
        return RuntimeError(
            f"einsum(): dimension {at} covered by ellipsis in operand {operand}has size {n} which does not broadcast "
            f"with previously seen ellipsis with size {have} for the respective dimension"
        )
    return RuntimeError(
        f"einsum(): subscript {label} has size {n} for operand {operand} which does not broadcast with previously seen "
        f"size {have}"
    )


def _undoubled(t: Tensor, term: list[Any]) -> tuple[Tensor, list[Any]]:
    """The diagonal over every label that occurs twice."""
    if len(set(term)) == len(term):
        return t, term
    term = list(term)
    for x in dict.fromkeys(term):
        while term.count(x) > 1:
            first = term.index(x)
            second = term.index(x, first + 1)
            t = t.diagonal(0, first, second).movedim(-1, first)
            del term[second]
    return t, term


def _product(
    a: Tensor, of_a: list[Any], b: Tensor, of_b: list[Any], order: list[Any], wanted: set[Any]
) -> tuple[Tensor, list[Any]]:
    """The product of two operands, summed over the labels that nobody wants, and its labels.

    Those that both have are in `order`. One that is missing, or of size 1, is broadcast. Where both operands have all
    of them, so has the product.
    """
    whole = of_a is order is of_b
    sizes, others = dict(zip(of_a, a._array.shape)), dict(zip(of_b, b._array.shape))
    a, of_a = _summed(a, of_a, [x for x, n in sizes.items() if n != 1 == others.get(x, 1) and x not in wanted], order)
    b, of_b = _summed(b, of_b, [x for x, n in others.items() if n != 1 == sizes.get(x, 1) and x not in wanted], order)
    sizes, others = dict(zip(of_a, a._array.shape)), dict(zip(of_b, b._array.shape))
    in_a, in_b = [x for x in order if sizes.get(x, 1) != 1], [x for x in order if others.get(x, 1) != 1]
    summed = [x for x in in_a if x in in_b and x not in wanted]
    if not summed:
        return mul.apply(_broadcastable(a, of_a, order), _broadcastable(b, of_b, order)), order
    both = [x for x in in_a if x in in_b and x in wanted]
    left, right = [x for x in in_a if x not in in_b], [x for x in in_b if x not in in_a]
    sizes = {x: others.get(x, 1) if sizes.get(x, 1) == 1 else sizes[x] for x in order}
    if left and right and order.index(right[-1]) < order.index(left[0]):
        a, of_a, left, b, of_b, right = b, of_b, right, a, of_a, left
    batch, rows, inner, columns = [math.prod([sizes[x] for x in part]) for part in (both, left, summed, right)]
    if whole:
        right = [x for x in order if x not in both and x not in left and x not in summed]
    made = bmm.apply(
        reshape(_permuted(a, of_a, both + left + summed, whole), (batch, rows, inner)),
        reshape(_permuted(b, of_b, both + summed + right, whole), (batch, inner, columns)),
    )
    if whole:
        found, kept = both + left + summed + right, order
    else:
        rest = [x for x in order if x in wanted and x not in both and x not in left and x not in right]
        found, kept = both + left + right + rest, [x for x in order if x in wanted]
    made = view.apply(made, tuple([1 if x in summed else sizes[x] for x in found]))
    return permute.apply(made, tuple([found.index(x) for x in kept])), kept


def _summed(t: Tensor, term: list[Any], over: list[Any], order: list[Any]) -> tuple[Tensor, list[Any]]:
    """The sum over labels that only one operand has, which stay with size 1."""
    if not over:
        return t, term
    return _broadcastable(t, term, order).sum([order.index(x) for x in over], True), order


def _permuted(t: Tensor, term: list[Any], order: list[Any], always: bool) -> Tensor:
    """The dimensions in this order, which may leave out some of size 1."""
    ordered = order + [x for x in term if x not in order]
    return t if ordered == term and not always else permute.apply(t, tuple([term.index(x) for x in ordered]))


def _broadcastable(t: Tensor, term: list[Any], order: list[Any]) -> Tensor:
    """A dimension for each of these labels, of size 1 where the operand has none."""
    if term is order:
        return t
    term = list(term)
    for x in order:
        if x not in term:
            t = unsqueeze.apply(t, len(term))
            term.append(x)
    return permute.apply(t, tuple([term.index(x) for x in order]))


@function("chain_matmul")
@overridable
def chain_matmul(*matrices: Any, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, bracketed so that it costs least."""
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters."
    )
    items = list(several(matrices))
    if not items:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for m in items:
        if m.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {m.dim()}, expected 2 instead.")
    return _chained(*items) if out is None else into_exactly(out, _chained, items, "linalg_multi_dot")


def _chained(*items: Tensor) -> Tensor:
    if len(items) == 1:
        return items[0].clone()
    return chain(list(items)).view((items[0].shape[0], items[-1].shape[1]))


def chain(items: list[Tensor]) -> Tensor:
    """Multiply matrices in the order that takes the fewest multiplications."""
    for i, (m, after) in enumerate(itertools.pairwise(items)):
        if m._array.shape[1] != after._array.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(m.shape)} and {list(after.shape)} cannot be "
                "multiplied"
            )
    sizes = [items[0]._array.shape[0], *(m._array.shape[1] for m in items)]
    count = len(items)
    best: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(count)}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = [
                (best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            ]
            # Of what costs the same, three matrices are multiplied from the left, more of them from the right.
            best[i, j] = min(costs[::-1] if count == 3 else costs, key=operator.itemgetter(0))

    def multiply(i: int, j: int) -> Tensor:
        if i == j:
            return items[i]
        k = best[i, j][1]
        return matmul.apply(multiply(i, k), multiply(k + 1, j))

    return multiply(0, count - 1)


@published("matrix_power(Tensor self, int n)")
def matrix_power(input: Tensor, n: int) -> Tensor:
    """A square matrix, or each of a batch, multiplied `n` times with itself."""
    if input.dim() < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    rows, columns = input._array.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    if n == 0:
        return input.clone(memory_format=contiguous_format).copy_(eye(rows, dtype=input.dtype, device=input.device))
    result = _power(input.inverse() if n < 0 else input, abs(n))
    return result.clone() if result is input else result


def _power(a: Tensor, n: int) -> Tensor:
    if n == 1:
        return a
    if n == 3:
        return a.matmul(a).matmul(a)
    result: Any = None
    while n:
        if n % 2:
            result = a if result is None else result.matmul(a)
        n //= 2
        a = a.matmul(a) if n else a
    return result
