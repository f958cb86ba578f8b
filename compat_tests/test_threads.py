"""Backward in many threads at once: on graphs of their own, on a shared one, into shared leaves."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import torchlite as torch
from compat_tests.side_by_side import same_story

THREADS, TIMES = 8, 500


@pytest.fixture(autouse=True)
def switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(work: Callable[[int], Any]) -> list[Any]:
    """What `work(number)` returns in each of the threads, all begun together."""
    ready = threading.Barrier(THREADS)

    def begin(number: int) -> Any:
        ready.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


def test_graphs_of_their_own():
    def work(number: int) -> list[float]:
        x = torch.full((3,), float(number + 1), requires_grad=True)
        for _ in range(TIMES):
            (x * x * 0.5).sum().backward()
        return x.grad.tolist()

    assert in_threads(work) == [[TIMES * (n + 1.0)] * 3 for n in range(THREADS)]


def test_no_update_of_a_shared_leaf_is_lost():
    shared = torch.ones(3, requires_grad=True)
    hooked = torch.ones(3, requires_grad=True)
    calls: list[None] = []
    hooked.register_hook(lambda g: calls.append(None))

    def work(number: int) -> None:
        for _ in range(TIMES):
            (shared * 2 + hooked * 3).sum().backward()

    in_threads(work)
    assert shared.grad.tolist() == [2.0 * THREADS * TIMES] * 3
    assert hooked.grad.tolist() == [3.0 * THREADS * TIMES] * 3
    assert len(calls) == THREADS * TIMES


def test_one_graph_run_by_all():
    x = torch.ones(3, requires_grad=True)
    y = (x.exp() * x * 2).tanh()
    z = (y * y).sum()
    (once,) = torch.autograd.grad(z, x, retain_graph=True)

    def work(number: int) -> bool:
        same = True
        for _ in range(TIMES // 5):
            (g,) = torch.autograd.grad(z, x, retain_graph=True)
            same = same and g.tolist() == once.tolist()
        return same

    assert all(in_threads(work))


def test_branches_of_a_shared_trunk():
    x = torch.ones(3, requires_grad=True)
    trunk = x * 2

    def work(number: int) -> None:
        for _ in range(TIMES):
            (trunk * (number + 1)).sum().backward(retain_graph=True)

    in_threads(work)
    assert x.grad.tolist() == [2.0 * TIMES * sum(range(1, THREADS + 1))] * 3


def test_a_graph_that_another_thread_has_freed():
    x = torch.ones(3, requires_grad=True)
    z = (x.exp() * x).sum()

    def work(number: int) -> str:
        try:
            z.backward()
        except RuntimeError as error:
            return str(error)
        return ""

    told = in_threads(work)
    assert "" in told
    assert all(said == "" or "Trying to backward through the graph a second time" in said for said in told)
    assert sum(said != "" for said in told) >= 1


def test_workers_train_shared_weights():
    torch.manual_seed(0)
    weights = torch.zeros(4, requires_grad=True)
    wanted = torch.tensor([1.0, -2.0, 3.0, 0.5])
    batches = [torch.randn(16, 4) for _ in range(THREADS)]

    def work(number: int) -> None:
        own = weights.detach().requires_grad_()  # shares memory, has a gradient of its own
        for _ in range(TIMES):
            loss = ((batches[number] @ own - batches[number] @ wanted) ** 2).mean()
            (g,) = torch.autograd.grad(loss, own)
            with torch.no_grad():
                own.sub_(g, alpha=0.01)

    in_threads(work)
    assert weights.tolist() == pytest.approx(wanted.tolist(), abs=1e-2)


def test_an_accumulator_is_one_for_all_threads():
    leaves = [torch.ones(2, requires_grad=True) for _ in range(200)]

    def work(number: int) -> list[Any]:
        return [(x * 2).grad_fn.next_functions[0][0] for x in leaves]

    made = in_threads(work)
    assert all(a is b for other in made[1:] for a, b in zip(made[0], other))


@same_story
def test_modes_belong_to_their_thread(torch, tell):
    said = []

    def look():
        said.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled()))
        with torch.inference_mode():
            said.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled()))

    with torch.no_grad():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        said.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled()))
    tell(said)
