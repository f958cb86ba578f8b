"""Operations that call functions: `cond`, `while_loop`, `scan`, `associative_scan` and `map`, beside PyTorch."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import pytest

from .side_by_side import same_story


def part(torch: Any, name: str) -> Any:
    warnings.simplefilter("ignore")  # PyTorch compiles what they call, and warns of that
    return getattr(importlib.import_module(f"{torch.__name__}._higher_order_ops.{name}"), name)


def refused(call: Any, *values: Any, **named: Any) -> Any:
    with pytest.raises(Exception) as error:
        call(*values, **named)
    return error.type.__name__, str(error.value)


def numbers(torch: Any, *shape: int) -> Any:
    return torch.sin(torch.arange(float(torch.Size(shape).numel())) + len(shape)).reshape(shape)


@same_story
def test_loops(torch, tell):
    loop, x = part(torch, "while_loop"), numbers(torch, 3).requires_grad_()
    tell(loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, x.detach())))
    tell(loop(lambda s: s["i"] < 3, lambda s: ({"i": s["i"] + 1},), ({"i": torch.tensor(0)},)))
    tell(loop(lambda i: i < 0, lambda i: (i + 1,), (torch.tensor(0),)))
    _, last = loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * x), (torch.tensor(0), x))
    last.sum().backward()
    tell(last.detach(), x.grad, refused(loop, 3, lambda i: (i + 1,), (torch.tensor(0),)))


@same_story
def test_scans(torch, tell):
    scan, xs = part(torch, "scan"), numbers(torch, 4, 2)
    for dim, start, reverse in ((0, 2, False), (0, 2, True), (1, 4, False), (-1, 4, True)):
        tell(scan(lambda c, x: (c + x, c * x), torch.zeros(start), xs, dim=dim, reverse=reverse))
    tell(scan(lambda c, x: ({"a": c["a"] + x[0]}, (c["a"] - 1, x[1] * 2)), {"a": torch.zeros(2)}, (xs, xs + 1)))
    start, xs = torch.ones(2, requires_grad=True), xs.requires_grad_()
    last, outputs = scan(lambda c, x: (c * x, c + x), start, xs)
    (last.sum() + outputs.sum()).backward()
    tell(last.detach(), outputs.detach(), start.grad, xs.grad, scan(lambda c, x: (c, x), torch.zeros(2), ()))
    add = lambda c, x: (c + x, x + 0)
    tell(refused(scan, add, (), xs), refused(scan, add, start, xs, dim=5), refused(scan, add, start, xs[:0]))


@same_story
def test_associative_scans_add_in_the_same_order(torch, tell):
    scan = part(torch, "associative_scan")
    for count in (1, 2, 3, 4, 7, 12):
        pair = numbers(torch, count, 3), numbers(torch, 3, count).t()
        step = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])
        for reverse in (False, True):
            tell(*[each.tolist() for each in scan(step, pair, 0, reverse=reverse, combine_mode="generic")])
    x = numbers(torch, 3, 4)
    tell(scan(lambda a, b: {"m": torch.maximum(a["m"], b["m"])}, {"m": x}, -1, combine_mode="generic"))
    add = lambda a, b: a + b
    for call in ((add, x, 0), (add, x, 0, False, "other"), (3, x, 0), (add, x, 5, False, "generic")):
        tell(refused(scan, *call))


@same_story
def test_maps(torch, tell):
    each, xs, y = part(torch, "map"), numbers(torch, 3, 2).requires_grad_(), torch.ones(2, requires_grad=True)
    result = each(lambda x, y: x * y * x, xs, y)
    result.sum().backward()
    tell(result.detach(), xs.grad, y.grad, each(lambda x: (x[0] + x[1], x[0] * 2), (xs.detach(), xs.detach().exp())))
    add = lambda x: x[0] + x[1]
    tell(refused(each, add, (xs, xs[:2])), refused(each, add, (xs[:0], xs[:0])))


@same_story
def test_one_of_two(torch, tell):
    x = numbers(torch, 3).requires_grad_()
    for which in (torch.tensor(True), torch.tensor([False]), 1, 0.0):
        result = torch.cond(which, lambda x: x.sin(), lambda x: x * 3, (x,))
        tell(result.detach(), torch.autograd.grad(result.sum(), x))
    tell(torch.cond is part(torch, "cond"), importlib.import_module(f"{torch.__name__}._higher_order_ops").map.__name__)
    tell(refused(torch.cond, torch.ones(2), torch.sin, torch.cos, (x,)))
