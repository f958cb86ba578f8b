"""Tests that are programs: each is run in PyTorch and in torchlite, and must tell the same story in both.

    @same_story
    def test_hooks_run_in_the_order_they_came(torch, tell):
        x = torch.ones(2, requires_grad=True)
        x.register_hook(lambda grad: tell("first", grad))
        x.register_hook(lambda grad: tell("second", grad))
        x.sum().backward()

What is told may hold tensors, dtypes, nodes, and containers of them. What the program returns, the exception that ends
it and the warnings it gives are part of the story.
"""

from __future__ import annotations

import functools
import gc
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import torchlite

Program = Callable[[Any, Callable[..., None]], Any]

_ADDRESS = re.compile(r"0x[0-9a-f]+")


def same_story(program: Program) -> Callable[[], None]:
    """A test that runs `program(torch, tell)` in both libraries and compares what is told."""

    @functools.wraps(program)
    def test() -> None:
        torch = pytest.importorskip("torch")
        wanted, found = story(program, torch), story(program, torchlite)
        for at, (a, b) in enumerate(zip(wanted, found)):
            assert same(a, b), f"at {at}:\n  torch      {a}\n  torchlite  {b}\nafter {wanted[:at]}"
        assert len(found) == len(wanted), f"torch went on: {wanted[len(found) :]}, or torchlite: {found[len(wanted) :]}"

    # What pytest must not take for fixtures:
    del test.__wrapped__  # type: ignore[attr-defined]
    return test


def tried(tell: Callable[..., None], call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Tell what a call gives, or how it fails."""
    try:
        tell(call(*args, **kwargs))
    except Exception as error:
        tell(type(error).__name__, str(error).split("\n")[0])


def story(program: Program, library: Any) -> list[Any]:
    """All that a program tells when run in one library."""
    told: list[Any] = []

    def tell(*what: Any) -> None:
        told.append(plain(what))

    with warnings.catch_warnings(record=True) as seen, warning_always(library):
        warnings.simplefilter("always")
        try:
            result = program(library, tell)
            if result is not None:
                tell("returned", result)
        except Exception as error:
            told.append(("raised", type(error).__name__, text(error)))
    messages = [(w.category.__name__, _ADDRESS.sub("0x", _without_origin(str(w.message)))) for w in seen]
    return told + [("warned", *message) for message in messages if "use of fork() may lead" not in message[1]]


def _without_origin(said: str) -> str:
    return said.split(" (Triggered internally")[0]


def text(error: BaseException) -> str:
    """What an exception says, without what differs from run to run or tells where PyTorch's C++ raised it."""
    said = str(error).split("\nException raised from")[0]
    return _ADDRESS.sub("0x", said).strip()


def plain(value: Any) -> Any:
    """A value of either library as data that can be compared."""
    kind = type(value).__name__
    if isinstance(value, (tuple, list)):
        return [kind if not hasattr(value, "_fields") else "namedtuple", *(plain(v) for v in value)]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if hasattr(value, "untyped_storage"):
        grad_fn = value.grad_fn
        values = value.detach().resolve_conj().resolve_neg().tolist() if not value.is_meta else None
        about = (tuple(value.shape), str(value.dtype), value.requires_grad, grad_fn and grad_fn.name())
        return ("tensor", *about, values)
    if hasattr(value, "next_functions"):
        return ("node", value.name())
    if isinstance(value, BaseException):
        return ("exception", kind, text(value))
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    return _ADDRESS.sub("0x", str(value))


def same(a: Any, b: Any) -> bool:
    """Whether two plain values agree, numbers within rounding."""
    if isinstance(a, (tuple, list)):
        return isinstance(b, (tuple, list)) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(v, b[k]) for k, v in a.items())
    if isinstance(a, (float, complex)) and isinstance(b, (int, float, complex)):
        return a == pytest.approx(b, rel=1e-5, abs=1e-7, nan_ok=True)
    return bool(a == b)


@contextmanager
def warning_always(library: Any) -> Iterator[None]:
    """Inside, what a library warns of once it warns of each time, whatever ran before."""
    before = library.is_warn_always_enabled()
    library.set_warn_always(True)
    try:
        yield
    finally:
        library.set_warn_always(before)


def uncollected(program: Callable[[], Any]) -> list[str]:
    """What of the library's and the program's own `program` leaves to the collector of cycles, once all is warm.

    Objects of others don't count: a thread that happens to end meanwhile drops some of its own.
    """
    program()
    for _ in range(10):  # what is freed may have held, out of the collector's sight, what another round finds
        if not gc.collect():
            break
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        program()
        gc.collect()
        left = [getattr(o, "__qualname__", type(o).__qualname__) for o in gc.garbage if _is_ours(o)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    return left


def _is_ours(found: Any) -> bool:
    module = getattr(found, "__module__", None) or type(found).__module__
    # What is public names PyTorch's modules.
    return isinstance(module, str) and module.partition(".")[0] in {"torch", "torchlite", "compat_tests"}
