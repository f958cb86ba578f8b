"""What packages derive from the DataLoader's parts, and what these say: iterators, wrapped pipes, workers that died."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import pytest

from compat_tests.side_by_side import same_story


def _tried(tell, call, hide=""):
    try:
        tell(call())
    except Exception as error:
        tell(type(error).__name__, str(error).replace(str(hide), "*") if hide else str(error))


@same_story
def test_iterators_can_be_derived_from(torch, tell):
    loading = import_module(f"{torch.__name__}.utils.data.dataloader")

    class Counting(loading._SingleProcessDataLoaderIter):
        def __init__(self, loader):
            super().__init__(loader)
            self.indices = []

        def _next_index(self):
            index = super()._next_index()
            self.indices.append(index)
            return index

        def _reset(self, loader, first_iter=False):
            super()._reset(loader, first_iter)
            self.indices.clear()

    class Loader(torch.utils.data.DataLoader):
        def _get_iterator(self):
            return Counting(self)

    torch.manual_seed(3)
    loader = Loader(range(7), batch_size=3, shuffle=True)
    batches = iter(loader)
    tell([batch for batch in batches], batches.indices)
    batches._reset(loader)
    tell(batches.indices, next(batches), batches._num_yielded)
    for name in ("_world_size", "_rank", "_drop_last", "_auto_collation", "_dataset_kind", "_timeout", "_pin_memory"):
        tell(getattr(batches, name))


@same_story
def test_pipes_are_wrapped(torch, tell):
    pipes = import_module(f"{torch.__name__}.utils.data.datapipes.datapipe")
    iterable = import_module(f"{torch.__name__}.utils.data.datapipes.iter").IterableWrapper
    listed = import_module(f"{torch.__name__}.utils.data.datapipes.map").SequenceWrapper
    wrapped = pipes._IterDataPipeSerializationWrapper(iterable([1, 2, 3]))
    tell(list(wrapped), list(wrapped), len(wrapped), str(wrapped))
    wrapped = pipes._MapDataPipeSerializationWrapper(listed([1, 2]))
    tell(wrapped[1], len(wrapped), str(wrapped))
    _tried(tell, lambda: len(pipes._IterDataPipeSerializationWrapper(iterable(iter([1])))))
    _tried(tell, lambda: next(pipes._IterDataPipeSerializationWrapper(iterable([1]))))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@same_story
def test_what_is_said_of_workers_that_died(torch, tell):
    handling = import_module(f"{torch.__name__}.utils.data._utils.signal_handling")
    for end in (lambda: os._exit(0), lambda: os._exit(3), lambda: os.kill(os.getpid(), 9)):
        pid = os.fork()
        if not pid:
            end()
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        handling._set_worker_pids(7, (pid,))
        for _ in range(2):
            _tried(tell, handling._error_if_any_worker_fails, pid)
        _tried(tell, lambda pid=pid: handling._set_worker_pids(7, (pid,)))
        handling._remove_worker_pids(7)
        os.waitpid(pid, 0)
    _tried(tell, lambda: handling._set_worker_pids(8, [1]))
    _tried(tell, lambda: handling._set_worker_pids(8, ("a",)))
    _tried(tell, lambda: handling._remove_worker_pids(8))
    tell(import_module(f"{torch.__name__}.utils.data._utils.worker").ManagerWatchdog().is_alive())


def test_what_a_star_brings():
    torch = pytest.importorskip("torch", reason="PyTorch says what it brings")
    import torchlite

    names: dict[str, object] = {}
    exec("from torchlite import *", names)
    wanted = {name for name in torch.__all__ if hasattr(torchlite, name)} - {"export"}  # a module
    assert wanted <= set(names)
    assert {name for name in torchlite.__all__ if not name.endswith("_")} <= set(torch.__all__)
    assert all(names[name] is getattr(torchlite, name) for name in wanted)
    assert "sys" not in names and sys.modules["torchlite"] is torchlite
