"""Stores, told as PyTorch's tell them; and ways for processes to meet."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from datetime import timedelta

import pytest

import torchlite
import torchlite.distributed
from torchlite.distributed.engines.shared import SharedMemory

from ..side_by_side import same_story
from .ranks import LIMIT, port_kept, run

SHORT = timedelta(milliseconds=50)


def story(call, *args):
    try:
        return call(*args)
    except Exception as error:
        return "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__


def made(torch, kind, folder):
    dist = torch.distributed
    if kind == "FileStore":
        return dist.FileStore(f"{folder}/{torch.__name__}", 1)
    if kind == "TCPStore":
        return dist.TCPStore("localhost", 0, 1, True)
    return dist.PrefixStore("a", dist.PrefixStore("b", dist.HashStore())) if kind == "PrefixStore" else dist.HashStore()


@pytest.mark.parametrize("kind", ["HashStore", "FileStore", "TCPStore", "PrefixStore"])
def test_what_is_set_is_found(kind):
    with tempfile.TemporaryDirectory() as folder:

        @same_story
        def compared(torch, tell):
            store = made(torch, kind, folder)
            tell(store.set("x", "1"), store.get("x"), store.set("y", b"\x00\xff"), store.get("y"))
            tell([store.add("n", amount) for amount in (3, -5, 0)], store.get("n"))
            tell(store.compare_set("x", "1", "2"), store.compare_set("x", "1", "3"), store.get("x"))
            tell(store.compare_set("new", "", "made"), store.check(["x", "n"]), store.check(["x", "nowhere"]))
            store.set_timeout(SHORT)
            tell(store.timeout, story(store.get, "nowhere"))
            tell(story(store.wait, ["x", "nowhere"]), story(store.wait, ["z"], SHORT))
            store.set_timeout(timedelta(minutes=5))
            tell(story(store.add, "x", "3"), story(store.set, "x", 3))
            if kind != "FileStore":
                tell(store.delete_key("x"), store.delete_key("x"), store.check(["x"]))
                tell(store.append("n", "7"), store.multi_get(["n", "y"]), store.has_extended_api())
                tell(store.multi_set(["p", "q"], ["1", b"2"]), store.get("q"))
            if kind == "HashStore":
                tell(store.queue_push("l", "1"), store.queue_push("l", "2"), store.queue_len("l"), store.queue_pop("l"))
                tell(store.queue_pop("l"), store.queue_len("l"), story(store.queue_pop, "l", False))

        compared()


MISFITS = [
    ("set", "k", 1), ("set", 1, "k"), ("add", "k", 1.5), ("add", "k", "1"), ("add", "word", 1), ("check", "k"),
    ("check", [1]), ("wait", ["k"], 1), ("wait", ["k"], None), ("set_timeout", 1), ("num_keys", 1), ("queue_pop", 1),
    ("get", "nowhere"), ("wait", ["k", "nowhere"]), ("barrier", "b", 2, 1), ("barrier", "b", 2, SHORT),
    ("multi_get", ["k", "nowhere"]),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["HashStore", "FileStore", "TCPStore", "PrefixStore"])
def test_refusals_and_timeouts_are_told_in_pytorchs_words(kind, tmp_path):
    @same_story
    def compared(torch, tell):
        store = made(torch, kind, tmp_path)
        store.set_timeout(SHORT)
        tell(store.multi_set(["k", "word"], ["12b", "b"]), store.add("k", 1), store.num_keys() - (kind == "FileStore"))
        for name, *args in MISFITS:
            if (kind, name, args[0]) in (("TCPStore", "add", "word"), ("FileStore", "multi_get", ["k", "nowhere"])):
                continue  # which ends PyTorch's server; of which FileStore names the first that is lacking
            with pytest.raises((TypeError, ValueError, RuntimeError)) as refusal:
                getattr(store, name)(*args)
            tell(name, type(refusal.value).__name__, str(refusal.value).partition("Invoked with")[0])
        for name, kwargs in (("get", {"key": "k"}), ("wait", {"keys": ["k"]}), ("compare_set", {"key": "k"})):
            with pytest.raises(TypeError) as refusal:
                getattr(store, name)(**kwargs)
            tell(str(refusal.value).partition("Invoked with")[0], str(refusal.value).rpartition(";")[2])
        tell(store.barrier(key="all", world_size=1), store.has_extended_api())
        if kind in ("HashStore", "PrefixStore"):
            tell(sorted(store.list_keys()))

    compared()


def test_a_store_wakes_who_waits():
    dist = torchlite.distributed
    server = dist.TCPStore("localhost", 0, 2, True, wait_for_workers=False)
    client = dist.TCPStore("localhost", server.port, 2, False)
    for one, other in ((client, server), (server, client), (dist.HashStore(),) * 2):
        timer = threading.Timer(0.1, other.set, ("late", "v"))
        timer.start()
        assert one.get("late") == b"v" and one.delete_key("late")
        timer.join()


FORKING = """
import os, sys
from torchlite.distributed import TCPStore
store = TCPStore("localhost", 0, is_master=True)
if os.fork() == 0:
    sys.exit()
os.wait()
store.set("k", "v")
print(store.clone().get("k"))
"""


def test_a_store_outlives_children_of_its_process():
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING]
    assert subprocess.run(command, capture_output=True, check=True, timeout=LIMIT).stdout == b"b'v'\n"


def test_the_last_process_takes_the_file_away(tmp_path):
    path = tmp_path / "store"
    one, other = (torchlite.distributed.FileStore(str(path), 2) for _ in range(2))
    one.set("x", "1")
    assert other.get("x") == b"1"
    del one
    assert path.exists() and other.get("x") == b"1"
    del other
    assert not path.exists()


def test_a_store_of_the_programs_own():
    class Own(torchlite.distributed.Store):
        def __init__(self):
            super().__init__()
            self.kept = {}

        def set(self, key, value):
            self.kept[key] = value

        def get(self, key):
            return self.kept[key]

    own = Own()
    prefixed = torchlite.distributed.PrefixStore("p", own)
    prefixed.set("k", "v")
    assert own.kept == {"p/k": "v"} and prefixed.get("k") == "v" and prefixed.underlying_store is own
    with pytest.raises(RuntimeError):
        prefixed.add("k", 1)


def meeting(torch, tell):
    dist, way, rank, where = torch.distributed, os.environ["WAY"], int(os.environ["RANK"]), os.environ["WHERE"]
    if way == "env":
        os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=where)
        dist.init_process_group()
    elif way == "tcp":
        dist.init_process_group("gloo", f"tcp://localhost:{where}?rank={rank}", world_size=2)
    elif way == "file":
        dist.init_process_group("cpu:gloo", f"file://{where}", rank=rank, world_size=2)
    else:
        dist.init_process_group("gloo", store=dist.FileStore(where, 2), rank=rank, world_size=2)
    x = torch.ones(1)
    dist.all_reduce(x)
    tell(x.item(), dist.get_rank(), dist.get_world_size())


@pytest.mark.parametrize("way", ["env", "tcp", "file", "store"])
def test_ways_to_meet(way, tmp_path):
    with port_kept() as port:
        where = str(port if way in ("env", "tcp") else tmp_path / "meeting")
        assert run("torchlite", meeting, WAY=way, WHERE=where) == [["2.0", str(rank), "2"] for rank in (0, 1)]


def test_processes_of_several_hosts_are_told_the_command_that_starts_them():
    store = torchlite.distributed.HashStore()
    store.set("1", json.dumps({"host": "another", "name": "there"}))
    said = r"ranks 0 and 1 are on different hosts \(.* and there\).*`mpiexec -n 2 --hosts … python -m torchlite "
    with pytest.raises(torchlite.distributed.DistBackendError, match=said):
        SharedMemory(store, 0, [0, 1], 5.0)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("foo://", "No rendezvous handler for foo://"),
        ("tcp://localhost", "port number missing"),
        ("tcp://localhost:1", "rank parameter missing"),
        ("file://", "path missing"),
    ],
)
def test_urls_that_lead_nowhere(url, said):
    for lib in (torchlite, pytest.importorskip("torch")):
        with pytest.raises((ValueError, RuntimeError), match=said):
            next(iter(lib.distributed.rendezvous(url)))
