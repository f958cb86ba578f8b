"""Random programs of nested transforms, run alike on PyTorch and torchlite.

    python -m compat_tests.transforms --count 1000 --seed 1

A program is Python source: functions of vectors made of random statements, each under a random transform, one in the
other up to four deep. What is inside may use whatever is around it: tensors of outer levels, and plain ones that
require grad. Values and the gradients of the plain tensors are compared, or else the errors.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import itertools
import math
import re
import warnings
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from torchlite.testing.progress import progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# `a`, `b` and `c` stand for vectors of three numbers in scope, `t` for the one that is made.
VALUES = """
t = a.sin() * b
t = a.exp().clamp(max=3.0) - b
t = a / (1 + b * b)
t = torch.where(a > b, a**2, b * c)
t = torch.maximum(a, b) + torch.sigmoid(c)
t = a.tanh().lerp(b, 0.25)
t = torch.addcmul(a, b, c, value=0.5)
t = torch.atan2(a, b.abs() + 1)
t = a.abs().sqrt() * b.sign()
t = a.masked_fill(b > 0, 0.5) * c
t = a.double() * 2.5 - 1
t = a.pow(3).float().double()
t = a.detach() * b
t = a.clone().contiguous()
t = a.sum() * b
t = a.prod() + b.mean() * c
t = a.var(0) * b
t = a.logsumexp(0) - b
t = a.amax(0, keepdim=True) * b
t = a.softmax(0) * b.log_softmax(0)
t = a.cumsum(0) * b.flip(0)
t = a.cumprod(0) + b.roll(1)
t = a.sort().values - b.topk(3).values
t = torch.dot(a, b) * c
t = torch.outer(a, b) @ c
t = a @ torch.outer(b, c)
t = torch.outer(a, b).mm(torch.outer(b, c)).diagonal()
t = torch.outer(a, b).triu().sum(0)
t = torch.stack([a, b]).mean(0)
t = torch.stack([a, b, c], 1).unbind(1)[1] * a
t = torch.cat([a[1:], b[:1]])
t = torch.bmm(a.view(1, 3, 1), b.view(1, 1, 3)).squeeze(0).sum(-1)
t = torch.einsum("i,j,j->i", a, b, c)
t = a.unsqueeze(0).expand(2, 3).sum(0) * b
t = a.view(1, 3).t().reshape(-1) * b
t = a.repeat(2)[1:4]
t = a[torch.tensor([2, 0, 1])] * b
t = a.gather(0, torch.tensor([1, 1, 0])) + b
t = a.index_select(0, torch.tensor([0, 2, 2]))
t = torch.zeros_like(a).scatter(0, torch.tensor([2, 0, 1]), b)
t = a.index_add(0, torch.tensor([0, 0, 2]), b)
t = a.diag().sum(0) * b
t = a.unfold(0, 2, 1).sum() * b
t = a.narrow(0, 0, 2).sum() * b
t = a.split(2)[0].sum() + a.chunk(3)[2] * b
t = a[None, ..., :2].movedim(0, 1).sum() * b
t = a.square().mean().rsqrt() * b
t = torch.nn.functional.relu(a) + torch.nn.functional.softplus(b)
t = torch.nn.functional.gelu(a) * torch.nn.functional.silu(b)
t = torch.nn.functional.linear(a, torch.outer(b, c))
""".strip().splitlines()

WRITES = """
t = a * 1.0; t.mul_(b)
t = a.clone(); t[1:] += b[:2]
t = a + 0; t[0] = b[1]
t = a * b; t[1:].sin_()
t = a.exp(); p = t[:2]; p.mul_(2); t = t * p.sum()
t = a * 2; t.copy_(b)
t = a * 2; t.view(3, 1).add_(1)
t = a * 2; t[torch.tensor([0, 2])] = b[:2]
t = a * 2; t.unsqueeze(0)[0, 1] = c[0]
t = torch.zeros_like(a); t[:] = b
t = torch.zeros(3, dtype=torch.float64); t += a
t = torch.zeros(3, dtype=torch.float64); t[0] = a[0]; p = t[1:]; p.add_(b[1:])
t = a.sin(); t.add_(b).mul_(c)
t = a * 1; t.clamp_(min=0.1)
t = a * 1; t.masked_fill_(b > 0, 0.0)
t = a * 1; t.index_add_(0, torch.tensor([1, 1]), b[:2])
t = a * 1; t.t_(); t.unsqueeze_(0); t.squeeze_(0)
t = a * 1; t.fill_(2.0)
t = a * 1; t.zero_(); t.add_(b, alpha=2)
t = torch.empty_like(a).copy_(b) * c
""".strip().splitlines()

MODES = """
with torch.no_grad(): t = a * b
with torch.no_grad(): t = torch.func.grad(lambda p: (p * b).prod())(a)
with torch.enable_grad(): t = a * b
with torch.no_grad(): t = a.clone(); t.mul_(b)
""".strip().splitlines()

DRAWS = """
t = a * torch.rand(3, dtype=torch.float64)
t = a + torch.randn_like(b)
t = torch.nn.functional.dropout(a, 0.5)
t = torch.bernoulli(a.sigmoid()) * b
t = a * torch.randint(0, 5, (3,))
""".strip().splitlines()

# `f` is a function of two vectors, `a`, `b` and `c` are arguments for it; `rand` says how vmap draws.
TRANSFORMS = """
t = func.grad(lambda p: f(p, a).sum())(b)
t = func.grad(lambda p, q: f(p, q).prod(), argnums=1)(a, b)
p, q = func.grad(lambda p, q: (f(p, q) * c).sum(), argnums=(0, 1))(a, b); t = p + q * 2
p, (q, r) = func.grad_and_value(lambda p: (f(p, b).sum(), {"x": p * 2, "y": [b]}), has_aux=True)(a); t = p * q + r["x"]
p = func.grad(lambda d: f(d["p"], d["q"][0]).sum())({"p": a, "q": (b, c)}); t = p["p"] + p["q"][0] - p["q"][1]
p, q = func.vjp(f, a, b); t = q(p * c)[0] + q(c)[1]
p, q, r = func.vjp(lambda d: ((f(d["a"], b), d["a"]), b * 2), {"a": a}, has_aux=True); t = q((c, p[0]))[0]["a"] + r
p, q = func.jvp(f, (a, b), (b, c)); t = p * 0.5 + q
p, q, r = func.jvp(lambda p: (f(p, b), p * b), (a,), (c,), has_aux=True); t = q + r
p, q = func.jvp(lambda d: {"out": f(d["p"], a)}, ({"p": b},), ({"p": c},)); t = q["out"] - p["out"]
t = func.jacrev(lambda p: f(p, a))(b) @ c
t = func.jacrev(f, argnums=1, chunk_size=2)(a, b).sum(0)
p, q = func.jacrev(lambda p: (f(p, a), p), has_aux=True)(b); t = p.diagonal() * q
t = func.jacfwd(lambda p: f(p, a), randomness=rand)(b) @ c
p = func.jacfwd(lambda d: f(d["p"], d["q"]), randomness=rand)({"p": a, "q": b}); t = p["p"].sum(1) + p["q"].sum(0)
t = func.hessian(lambda p: f(p, a).sum())(b) @ c
t = func.vmap(f, in_dims=(0, None), randomness=rand)(torch.outer(a, b), c).sum(0)
t = func.vmap(f, (1, 0), -1, randomness=rand)(torch.stack([a, b], 1), torch.stack([b, c])).mean(1)
p = func.vmap(lambda d: f(d["p"], d["q"]), ({"p": 0, "q": None},), randomness=rand); t = p({"p": a.outer(c), "q": b})[1]
t = func.vmap(f, randomness=rand, chunk_size=2)(torch.outer(a, b), torch.outer(b, c)).sum(0)
t = func.vmap(func.grad(lambda p, q: f(p, q).sum()), (None, 0), randomness=rand)(a, torch.outer(b, c)).sum(0)
""".strip().splitlines()


class Writer:
    """Draws a program and writes it down."""

    def __init__(self, draw: Random) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.names = (f"t{n}" for n in itertools.count())

    def program(self) -> str:
        draw = self.draw
        self.lines = ["def program(torch, x, w, k, rand):", "    func = torch.func"]
        depth = draw.choices((1, 2, 3, 4), (4, 4, 3, 2))[0]
        if draw.random() < 0.1:
            self.lines.append("    with torch.no_grad():")
            result = self.level(["x", "w", "k"], depth, " " * 8)
        else:
            result = self.level(["x", "w", "k"], depth, " " * 4)
        self.lines.append(f"    return {result}")
        return "\n".join(self.lines)

    def level(self, scope: list[str], depth: int, indent: str) -> str:
        """A function, and a transform of it applied to what is in scope; the name of the result."""
        f = next(self.names).replace("t", "f")
        self.lines.append(f"{indent}def {f}(p, q):")
        inner = indent + "    "
        first, second = next(self.names), next(self.names)
        self.lines.append(f"{inner}{first}, {second} = p, q")
        here = [*scope, first, second, first, second]
        self.statements(here, self.draw.randint(0, 2), inner)
        if depth > 1:
            here += [self.level(here, depth - 1, inner)] * 3
        self.statements(here, self.draw.randint(1, 2), inner)
        self.lines.append(f"{inner}return {here[-1]}")
        return self.statement(self.draw.choice(TRANSFORMS), scope, indent, f)

    def statements(self, scope: list[str], count: int, indent: str) -> None:
        for _ in range(count):
            kind = self.draw.choices((VALUES, WRITES, MODES, DRAWS), (12, 4, 1, 1))[0]
            scope += [self.statement(self.draw.choice(kind), scope, indent)] * 2

    def statement(self, text: str, scope: Sequence[str], indent: str, f: str = "") -> str:
        """A statement on tensors in scope, most often on late ones; the name of the result."""
        made = next(self.names)
        names = {n: self.draw.choice(scope[-6:] if self.draw.random() < 0.8 else scope) for n in "abc"}
        names |= {"t": made, "f": f}
        self.lines.append(indent + _VARIABLE.sub(lambda found: names.get(found[0], found[0]), text))
        return made


# What a statement calls a, b, c, t and f, but for what stands in quotes.
_VARIABLE = re.compile(r'"[^"]*"|(?<![.\w])[abctf]\b')


# ---- running


@dataclass(frozen=True)
class Outcome:
    """What a program comes to: numbers, or an error."""

    values: list[Any]
    error: str = ""


def run(source: str, torch: Any, kind: str) -> Outcome:
    """Run a program in one library; `kind` says how `vmap` draws random numbers."""
    torch.manual_seed(0)
    names: dict[str, Any] = {}
    exec(source, names)
    x = torch.tensor([0.3, -0.7, 0.9], dtype=torch.float64, requires_grad=True)
    w = torch.tensor([-0.4, 0.8, 0.5], dtype=torch.float64, requires_grad=True)
    k = torch.tensor([0.6, 0.2, -0.1], dtype=torch.float64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = names["program"](torch, x * 1, w, k, kind)
            values = [out]
            if torch.is_grad_enabled() and out.requires_grad:
                values += torch.autograd.grad(out.tanh().sum(), (x, w), materialize_grads=True)
            return Outcome([t.tolist() for t in values])
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
        return Outcome([], f"{type(error).__name__}: {error}".partition("\n")[0][:100])


# What PyTorch says where it is at its limits, which need not be torchlite's.
LIMITS = (
    "ZeroTensors are immutable", "Nested forward mode AD", "INTERNAL ASSERT", "Batching rule not implemented",
    "enforce fail", "unallocated storage", "forward AD with aten::silu_backward",
)  # fmt: skip


def verdict(wanted: Outcome, found: Outcome) -> str:
    """How two outcomes differ: nothing where they agree, "skipped" where there is nothing to compare."""
    if wanted.error or found.error:
        if any(limit in wanted.error for limit in LIMITS):
            return "skipped"
        kinds = [outcome.error.partition(":")[0] for outcome in (wanted, found)]
        return "" if kinds[0] == kinds[1] else f"error {wanted.error!r} is {found.error!r}"
    for mine, theirs in zip(found.values, wanted.values):
        if not all(map(math.isfinite, theirs)) or max(map(abs, theirs)) > 1e8:
            return "skipped"
        if any([abs(a - b) > 1e-7 * max(1, *map(abs, theirs)) for a, b in zip(mine, theirs, strict=True)]):
            return f"values {theirs} are {mine}"
    # PyTorch may have zeros with a history in place of what does not depend on anything.
    longer = max(wanted.values, found.values, key=len)[len(min(wanted.values, found.values, key=len)) :]
    return "gradients that only one library has" if any([g for t in longer for g in t]) else ""


def differences(seed: Any, count: int, torch: Any, module: Any) -> Iterator[tuple[str, str]]:
    """Programs, until so many could be compared, with what the verdict on each was."""
    done = 0
    for number in itertools.count():
        if done == count:
            return
        draw = Random(f"{seed}:{number}")
        source, kind = Writer(draw).program(), draw.choice(("error", "same", "different", "different"))
        said = verdict(run(source, torch, kind), run(source, module, kind))
        done += said != "skipped"
        yield f"# {seed}:{number}, {kind}\n{source}", said


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m compat_tests.transforms", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="how many programs to compare (default: %(default)s)")
    parser.add_argument("--seed", default="1", help="which ones (default: %(default)s)")
    parser.add_argument("--show", type=int, default=5, help="how many that differ to show (default: %(default)s)")
    options = parser.parse_args()
    torch, torchlite = importlib.import_module("torch"), importlib.import_module("torchlite")
    found = list(progress(differences(options.seed, options.count, torch, torchlite), options.count))
    different = [(source, said) for source, said in found if said not in ("", "skipped")]
    for source, said in different[: options.show]:
        print(f"{source}\n# {said}\n")
    for said, times in collections.Counter([said[:100] for _, said in different]).most_common():
        print(f"{times:5} {said}")
    print(f"{options.count - len(different)} of {options.count} programs agree ({len(found) - options.count} skipped)")


if __name__ == "__main__":
    main()
