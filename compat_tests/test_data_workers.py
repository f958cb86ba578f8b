"""DataLoaders with workers, beside PyTorch's: order, seeds, errors, and what is left behind."""

import gc
import glob
import multiprocessing
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import torchlite
from torchlite.multiprocessing import reductions
from torchlite.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

from .side_by_side import same_story
from .test_data import SHUFFLES, epochs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork")


@pytest.fixture(autouse=True)
def nothing_is_left():
    """No process and no file in shared memory outlives a test, in which workers are forked."""
    before = _files()
    method = multiprocessing.get_start_method()  # since Python 3.14 a server forks, to which lambdas cannot be sent
    multiprocessing.set_start_method("fork", force=True)
    yield
    multiprocessing.set_start_method(method, force=True)
    gc.collect()
    assert not multiprocessing.active_children()
    assert _files() <= before


def _files():
    return set(glob.glob(f"/dev/shm/{reductions._family()}*"))  # other programs have their own


class Calls(Dataset):
    """Samples are what a function makes of their index."""

    def __init__(self, function, n=8):
        self.function = function
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return self.function(index)


def double(index):
    return torchlite.tensor([index, index * 2])


# ---- order and seeds


CONFIGURATIONS = [
    *[(named, 1 if named == "batches" else 4, False, False, {}) for named in SHUFFLES],
    *[(named, 5, True, True, {}) for named in ("in order", "shuffled", "weighted", "many")],
    ("shuffled", None, False, True, {}),
    ("shuffled", 3, False, True, {"prefetch_factor": 1}),
    ("shuffled", 3, False, False, {"persistent_workers": True}),
    ("shuffled", 3, False, True, {"persistent_workers": True, "prefetch_factor": 3}),
]


@pytest.mark.parametrize(("named", "size", "drop", "own", "options"), CONFIGURATIONS)
def test_order_and_random_streams(named, size, drop, own, options):
    @same_story
    def story(torch, tell):
        epochs(torch, tell, named, size, drop, own, num_workers=2, **options)

    story()


@same_story
def test_seeds_of_workers(torch, tell):
    def drawn(index):
        info = torch.utils.data.get_worker_info()
        numbers = [random.random(), float(np.random.rand()), float(torch.rand(())), torch.get_num_threads()]
        return [torch.initial_seed(), info.seed, info.id, info.num_workers, len(info.dataset), *numbers]

    class Draws(torch.utils.data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, index):
            return drawn(index)

    torch.manual_seed(11)
    for options in ({}, {"persistent_workers": True}, {"generator": torch.Generator().manual_seed(5)}):
        loader = torch.utils.data.DataLoader(Draws(), 1, num_workers=2, collate_fn=lambda batch: batch[0], **options)
        for _ in range(2):
            tell(list(loader))
    tell(torch.initial_seed(), torch.rand(1))


@same_story
def test_iterable_datasets_share_their_samples_out(torch, tell):
    class Stream(torch.utils.data.IterableDataset):
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            info = torch.utils.data.get_worker_info()
            return iter(range(info.id, self.n, info.num_workers))

    for n in (7, 1):
        for options in ({"batch_size": 2}, {"batch_size": 3, "drop_last": True}, {"batch_size": None}):
            tell(list(torch.utils.data.DataLoader(Stream(n), num_workers=2, **options)))
    again = torch.utils.data.DataLoader(Stream(5), num_workers=2, persistent_workers=True)
    tell(list(again), list(again))


@same_story
def test_datasets_from_which_each_worker_takes_its_part(torch, tell):
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(self.rows)

    def take_part(worker_id):
        torch.utils.data.get_worker_info().dataset.rows = [worker_id] * (worker_id + 2)

    tell(list(torch.utils.data.DataLoader(Stream(), num_workers=2, worker_init_fn=take_part)))


def test_batches_out_of_order_are_all_there():
    one_is_here = multiprocessing.get_context("fork").Event()

    def slow_first(index):
        if index == 0:
            one_is_here.wait(120)
        return index

    batches = iter(DataLoader(Calls(slow_first), 1, num_workers=2, in_order=False))
    first = next(batches).item()
    one_is_here.set()
    assert first != 0
    assert sorted([first, *[batch.item() for batch in batches]]) == list(range(8))


def test_a_persistent_loader_left_half_way_begins_anew():
    loader = DataLoader(Calls(double), 1, num_workers=2, persistent_workers=True)
    pids = [worker.process.pid for worker in iter(loader)._workers]
    for _ in range(3):
        assert next(iter(loader)).tolist() == [[0, 0]]
    assert [batch[0, 1].item() for batch in loader] == list(range(0, 16, 2))
    assert [worker.process.pid for worker in iter(loader)._workers] == pids


# ---- memory


def test_tensors_come_as_shared_memory():
    rows = TensorDataset(torchlite.ones(3, 2))
    assert all(batch.is_shared() for (batch,) in DataLoader(rows, 2, num_workers=1))
    big = [torchlite.full((1000, 100), float(i)) for i in range(4)]
    for i, batch in enumerate(DataLoader(big, None, num_workers=2)):
        assert batch.is_shared()
        assert batch.sum() == i * 100_000


def test_batches_of_many_tensors():
    many = Calls(lambda index: [torchlite.full((2,), float(j)) for j in range(450)], 2)
    found = list(DataLoader(many, None, num_workers=1))
    assert [[t[1].item() for t in batch] for batch in found] == [list(range(450))] * 2


def test_indices_may_be_tensors():
    order = [torchlite.tensor([2, 0]), torchlite.tensor([1])]
    rows = TensorDataset(torchlite.arange(3) * 10)
    found = list(DataLoader(rows, None, sampler=order, num_workers=1, multiprocessing_context="fork"))
    assert [batch[0].tolist() for batch in found] == [[20, 0], [10]]


def test_the_strategy_by_name():
    torchlite.multiprocessing.set_sharing_strategy("file_system")
    try:
        before = _files()
        batches = list(DataLoader(Calls(double), 2, num_workers=2))
        assert [batch[:, 0].tolist() for batch in batches] == [[0, 1], [2, 3], [4, 5], [6, 7]]
        assert all(batch.is_shared() for batch in batches)
        assert _files() == before
    finally:
        torchlite.multiprocessing.set_sharing_strategy("file_descriptor")


# ---- failures


def fails(kind, *args):
    def function(index):
        if index == 2:
            raise kind(*args)
        return index

    return function


class Picky(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a}{b}")


@pytest.mark.parametrize("error", [(ValueError, "bad"), (KeyError, "a\nb"), (Picky, 1, 2), (StopIteration,)], ids=str)
def test_errors_of_workers_are_raised_with_their_traceback(error):
    @same_story
    def story(torch, tell):
        class Bad(torch.utils.data.Dataset):
            def __len__(self):
                return 6

            def __getitem__(self, index):
                return fails(*error)(index)

        got = iter(torch.utils.data.DataLoader(Bad(), 1, num_workers=2))
        tell(next(got), next(got))
        try:
            tell(next(got))
        except Exception as raised:
            said = str(raised)
            tell(type(raised).__name__, said.split("\n")[:2], "in function\n    raise kind(*args)" in said)
        tell(next(got))  # the others are there nevertheless

    story()


def test_errors_of_what_prepares_a_worker():
    def fail(worker_id):
        raise ValueError("not ready")

    with pytest.raises(ValueError, match=r"(?s)^Caught ValueError in DataLoader worker process 0\.\nOrig.*not ready"):
        list(DataLoader([1, 2], num_workers=1, worker_init_fn=fail))


def test_batches_that_cannot_be_sent():
    loader = DataLoader(Calls(lambda index: torchlite.ones(1, requires_grad=True) * index), None, num_workers=1)
    with pytest.raises(RuntimeError, match=r"worker process 0(.|\n)*Cowardly refusing to serialize non-leaf tensor"):
        list(loader)
    with pytest.raises(Exception, match="in DataLoader worker process 0"):
        list(DataLoader(Calls(lambda index: lambda: 3), None, num_workers=1))


def die(index):
    if index == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return index


def leave(index):
    sys.exit(3)


@pytest.mark.parametrize("function", [die, leave])
def test_a_worker_that_is_gone(function):
    before = time.monotonic()
    with pytest.raises(RuntimeError, match=r"^DataLoader worker \(pid\(s\) [\d, ]+\) exited unexpectedly$") as caught:
        list(DataLoader(Calls(function), 1, num_workers=2))
    assert time.monotonic() - before < 60
    cause = str(caught.value.__cause__)
    assert cause == "None" or re.fullmatch(r"DataLoader worker \(pid \d+\) is killed by signal: Killed\. ", cause)


def test_a_worker_killed_while_nobody_waits():
    batches = iter(DataLoader(Calls(double, 50), 1, num_workers=1, prefetch_factor=2))
    next(batches)
    os.kill(batches._workers[0].process.pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(batches)


@same_story
def test_more_workers_than_processors_are_warned_of(torch, tell):
    tell(list(torch.utils.data.DataLoader([1], num_workers=os.cpu_count() + 1)))


def test_timeout():
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 0.2 seconds$"):
        list(DataLoader(Calls(lambda index: time.sleep(1)), 1, num_workers=1, timeout=0.2))


def test_errors_of_the_sampler():
    def order():
        yield 1
        raise ValueError("no order")

    with pytest.raises(ValueError, match="no order"):
        list(DataLoader([1, 2], num_workers=1, sampler=order()))


# ---- other ways to start


class Shares(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        yield os.getppid(), info.id, torchlite.full((2,), float(info.id))


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_started_in_other_ways(method):
    loader = DataLoader(Shares(), None, num_workers=2, multiprocessing_context=method, persistent_workers=True)
    for _ in range(2):
        found = list(loader)
        assert [index for _, index, _ in found] == [0, 1]
        assert all(values.tolist() == [index] * 2 and values.is_shared() for _, index, values in found)


def test_what_cannot_be_sent_to_a_spawned_worker_is_warned_of():
    refused = pytest.raises((AttributeError, pickle.PicklingError))  # the latter since Python 3.14
    with pytest.warns(UserWarning, match="Got pickle error when attempting"), refused:
        list(DataLoader(Calls(lambda index: index), num_workers=1, multiprocessing_context="spawn"))


# ---- endings


END = """
import sys
import torchlite
from torchlite.utils.data import DataLoader
loader = DataLoader(list(range(1000)), 1, num_workers=2, persistent_workers={persistent})
batches = iter(loader)
print(next(batches).item(), *[worker.process.pid for worker in batches._workers], flush=True)
{end}
"""

ENDS = {
    "half way": (False, "", 0),
    "half way, persistent": (True, "", 0),
    "exit": (False, "sys.exit(4)", 4),
    "exception": (True, "raise ValueError", 1),
    "killed": (True, "import os; os.kill(os.getpid(), 9)", -9),
}


@pytest.mark.parametrize("named", ENDS)
def test_a_program_that_ends_leaves_no_workers(named):
    persistent, end, code = ENDS[named]
    program = END.format(persistent=persistent, end=end)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    first, *pids = done.stdout.split()
    assert first == "0"
    assert ("ValueError" in done.stderr) if named == "exception" else not done.stderr
    deadline = time.monotonic() + 60
    while any([os.path.exists(f"/proc/{pid}") for pid in pids]):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_loaders_dropped_half_way_end_at_once():
    for batch in DataLoader(Calls(double, 1000), 2, num_workers=2):
        assert batch[1].tolist() == [1, 2]
        break
    assert not multiprocessing.active_children()


def test_passes_that_are_shut_down():
    loader = DataLoader(Calls(double), 1, num_workers=2, persistent_workers=True)
    iter(loader)._shutdown_workers()
    assert not multiprocessing.active_children()
    assert len(list(loader)) == 8  # by new workers
    with pytest.raises(AssertionError, match=r"^prefetch_factor must be greater than 0 for MultiProcessing"):
        iter(DataLoader([1], num_workers=1, prefetch_factor=0))


def test_loaders_in_threads():
    import threading

    found = []

    def read():
        found.append([batch.item() for batch in DataLoader(list(range(20)), 1, num_workers=1)])

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [list(range(20))] * 3
