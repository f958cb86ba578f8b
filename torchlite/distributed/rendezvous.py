"""How processes find each other: a store, and who is who, from a URL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .engines import launched
from .options import default_pg_timeout
from .stores import FileStore, PrefixStore, Store, TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]

Found = tuple[Store, int, int]  # the store, the rank, and how many there are

_handlers: dict[str, Callable[..., Iterator[Found]]] = {}


def register_rendezvous_handler(scheme: str, handler: Callable[..., Iterator[Found]]) -> None:
    """Let `handler(url, …)` yield the store, the rank and the world size for URLs that begin with a scheme."""
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[Found]:
    """An iterator over what was found at a URL: a store, a rank and a world size."""
    if not isinstance(url, (str, bytes)):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    scheme = urlsplit(url).scheme
    if scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {scheme}://")
    return _handlers[scheme](url, rank=rank, world_size=world_size, **kwargs)


def _said(url: str, rank: int, world_size: int) -> tuple[int, int]:
    """The rank and the world size that are given, or that the URL says."""
    query = {key: int(values[0]) for key, values in parse_qs(urlsplit(url).query).items() if values[0].isdigit()}
    for word, given in (("rank", rank), ("world_size", world_size)):
        if given != -1 and word in query:
            raise ValueError(f"the url: {url} has node-specific arguments(rank, world_size) already.")
    return query.get("rank", rank), query.get("world_size", world_size)


def _lacking(scheme: str, what: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {what}")


def _from_file(url: str, rank: int, world_size: int, **_: Any) -> Iterator[Found]:
    path = urlsplit(url).path
    if not path:
        raise _lacking("file", "path missing")
    rank, world_size = _said(url, rank, world_size)
    for value, word in ((rank, "rank"), (world_size, "world size")):
        if value == -1:
            raise _lacking("file", f"{word} parameter missing")
    yield FileStore(path, world_size), rank, world_size


def _from_address(url: str, rank: int, world_size: int, timeout: timedelta = default_pg_timeout) -> Iterator[Found]:
    rank, world_size = _said(url, rank, world_size)
    address = urlsplit(url)
    if address.port is None:
        raise _lacking("tcp", "port number missing")
    for value, word in ((rank, "rank"), (world_size, "world_size")):
        if value == -1:
            raise _lacking("tcp", f"{word} parameter missing")
    assert address.hostname is not None
    yield _store(address.hostname, address.port, rank, world_size, timeout), rank, world_size


def _from_environment(url: str, rank: int, world_size: int, timeout: timedelta = default_pg_timeout) -> Iterator[Found]:
    def wanted(word: str) -> str:
        if word not in os.environ:
            raise _lacking("env", f"environment variable {word} expected, but not set")
        return os.environ[word]

    rank, world_size = _said(url, rank, world_size)
    started = launched.by_mpi()
    if started and "MASTER_ADDR" not in os.environ:
        yield launched.store(launched.mpi().COMM_WORLD, timeout), started.rank, started.size
        return
    rank = int(wanted("RANK")) if rank == -1 else rank
    world_size = int(wanted("WORLD_SIZE")) if world_size == -1 else world_size
    yield _store(wanted("MASTER_ADDR"), int(wanted("MASTER_PORT")), rank, world_size, timeout), rank, world_size


def _store(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> Store:
    """The store at an address: that of the launcher, if it keeps one, or else of the first process."""
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        return PrefixStore(f"/worker/attempt_{attempt}", TCPStore(host, port, world_size, False, timeout))
    return TCPStore(host, port, world_size, rank == 0, timeout, multi_tenant=True)


for _scheme, _handler in (("file", _from_file), ("tcp", _from_address), ("env", _from_environment)):
    register_rendezvous_handler(_scheme, _handler)
