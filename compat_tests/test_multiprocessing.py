"""Tensors in memory that processes share, and `torch.multiprocessing`."""

import copy
import gc
import glob
import multiprocessing as standard
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import torchlite
import torchlite.multiprocessing as mp
from torchlite.multiprocessing import reductions

from .side_by_side import same_story

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="memory is shared on POSIX systems only")

FORK = mp.get_context("fork")
EXAMPLE = Path(__file__).parent.parent / "examples" / "hogwild.py"


@pytest.fixture(params=["file_descriptor", "file_system"])
def strategy(request):
    """Each way in which memory is sent; neither leaves files behind."""
    before = mp.get_sharing_strategy()
    ours = f"/dev/shm/{reductions._family()}*"  # another run of the tests has its own
    files = set(glob.glob(ours))
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(before)
    gc.collect()
    until = time.monotonic() + 120
    while not set(glob.glob(ours)) <= files and time.monotonic() < until:
        time.sleep(0.1)  # a process that ends has its last file yet
    assert set(glob.glob(ours)) <= files


# ---- storages


@same_story
def test_memory_is_shared_for_all_who_show_it(torch, tell):
    base = torch.arange(6.0).reshape(2, 3)
    views = [base[1], base.t(), base.detach(), base.data, base.view(-1)[1:5:2], base.view(torch.int32)]
    storage = base.untyped_storage()
    tell(base.is_shared(), storage.is_shared(), base.share_memory_() is base)
    tell(base.is_shared(), storage.is_shared(), [view.is_shared() for view in views], base._version)
    base[1, 0] = 70
    tell(views, [(view.storage_offset(), view.stride()) for view in views])
    views[1][0, 0] = 5
    tell(base, storage.tolist()[:4], all(v.untyped_storage().data_ptr() == base.data_ptr() for v in views))
    tell(base.clone().is_shared(), copy.deepcopy(base).is_shared(), (base + 1).is_shared())
    views[0].share_memory_()
    tell(views[0].data_ptr() == base.data_ptr() + 12)


@same_story
def test_what_can_be_shared(torch, tell):
    for make in (
        lambda: torch.zeros(0),
        lambda: torch.tensor(3.0),
        lambda: torch.ones(1).expand(4),
        lambda: torch.ones(3, dtype=torch.bfloat16),
        lambda: torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last),
        lambda: torch.ones(2, dtype=torch.complex64).conj(),
        lambda: torch.ones(2, requires_grad=True),
        lambda: torch.ones(2, requires_grad=True) * 2,
        lambda: torch.nn.Parameter(torch.ones(2)),
        lambda: torch.from_numpy(np.arange(4).reshape(2, 2).T),
        lambda: torch.zeros(3, device="meta"),
    ):
        t = make()
        try:
            tell(t.share_memory_(), t.is_shared(), t.stride(), t.untyped_storage().nbytes())
        except RuntimeError as error:
            tell(str(error))


@same_story
def test_storages_are_shared_with_their_tensors(torch, tell):
    t = torch.arange(4.0)
    tell(t.untyped_storage().share_memory_().is_shared(), t.is_shared())
    tell(torch.UntypedStorage._new_shared(4).is_shared(), torch.UntypedStorage._new_shared(3).tolist())
    tell(torch.UntypedStorage(3).share_memory_().is_shared(), torch.UntypedStorage(3).is_shared())


@same_story
def test_modules_and_their_graphs(torch, tell):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).double()
    x = torch.randn(5, 3, dtype=torch.float64)
    loss = model(x).pow(3).sum()
    tell(model.share_memory() is model, [t.is_shared() for t in model.state_dict().values()])
    tell([type(p).__name__ for p in model.parameters()], [p.is_leaf for p in model.parameters()])
    loss.backward()  # what it saved is as it was
    tell([p.grad for p in model.parameters()])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    optimizer.step()
    tell(model.state_dict(), [t.is_shared() for t in model.state_dict().values()])


def test_a_tensor_alone_is_moved_without_a_search(monkeypatch):
    monkeypatch.setattr(gc, "get_objects", lambda: pytest.fail("searched"))
    t = torchlite.ones(3).share_memory_()
    assert t.is_shared()
    assert torchlite.nn.Linear(2, 2).share_memory().weight.is_shared()


def test_shared_memory_goes_with_its_last_tensor():
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    gc.collect()  # what others left would go meanwhile
    before = descriptors()
    tensors = [torchlite.ones(10).share_memory_() for _ in range(20)]
    assert descriptors() > before
    del tensors
    assert descriptors() == before


def test_shared_memory_cannot_be_resized_beyond_itself():
    t = torchlite.arange(4.0).share_memory_()
    assert t.resize_(2).tolist() == [0, 1]
    assert t.is_shared()


# ---- messages


@same_story
def test_what_travels(torch, tell):
    class Marked(torch.Tensor):
        pass

    globals()["Marked"] = Marked
    Marked.__qualname__ = "Marked"
    queue = torch.multiprocessing.get_context("fork").SimpleQueue()
    x = torch.arange(6.0)
    for sent in (
        [x, x[1:3], x[::2], x.view(2, 3).t()],
        torch.ones(2, requires_grad=True),
        torch.nn.Parameter(torch.ones(2)),
        torch.nn.Parameter(torch.ones(2), requires_grad=False),
        {"a": (torch.tensor(True), torch.tensor(2), torch.ones(2, dtype=torch.bfloat16), torch.tensor([1j]))},
        torch.zeros(0, 3),
        torch.zeros(2, device="meta"),
        x.untyped_storage(),
        [torch.float16, torch.device("cpu"), torch.Size([1, 2]), torch.strided],
        Marked([1.0, 2.0]),
        torch.nn.Linear(2, 1).requires_grad_(False).state_dict().keys(),
        torch.ones(1, requires_grad=True) * 2,
    ):
        sent = list(sent) if type(sent).__name__ == "odict_keys" else sent
        queue.put(sent)
        got = queue.get()
        tell(type(got).__name__, got)
    tell("not reached")


@same_story
def test_views_stay_views_of_one_storage(torch, tell):
    queue = torch.multiprocessing.get_context("fork").SimpleQueue()
    x = torch.arange(6.0)
    queue.put([x, x[2:]])
    first, second = queue.get()
    tell(x.is_shared(), first.is_shared(), second.storage_offset(), first.data_ptr() == x.data_ptr())
    second[0] = 20
    tell(x, first)
    queue.put(x.detach())
    tell(queue.get().data_ptr() == x.data_ptr())


def _add_and_return(inbox, outbox, event):
    tensors = inbox.get()
    for t in tensors:
        t += 1
    outbox.put(tensors[0].new_full((3,), 7.0))
    event.wait(120)  # memory is fetched from its sender


@pytest.mark.parametrize("queue", ["SimpleQueue", "Queue", "JoinableQueue"])
def test_both_sides_see_what_is_written(strategy, queue):
    inbox, outbox, event = getattr(FORK, queue)(), getattr(FORK, queue)(), FORK.Event()
    child = FORK.Process(target=_add_and_return, args=(inbox, outbox, event))
    child.start()
    x = torchlite.zeros(4)
    inbox.put([x[:2], x[2:]])
    got = outbox.get()
    event.set()
    child.join(120)
    assert child.exitcode == 0
    assert got.tolist() == [7, 7, 7] and got.is_shared()
    assert x.tolist() == [1] * 4
    assert x.is_shared()


def _through_pipe(connection):
    connection.send(connection.recv().mul_(2))
    connection.recv()


def test_pipes(strategy):
    here, there = FORK.Pipe()
    child = FORK.Process(target=_through_pipe, args=(there,))
    child.start()
    x = torchlite.ones(2, 2)
    here.send(x)
    back = here.recv()
    here.send(None)
    child.join(120)
    assert x.tolist() == back.tolist() == [[2, 2], [2, 2]]
    assert back.data_ptr() == x.data_ptr()  # memory that this process has already


def _squares(t):
    return t * t


def test_pools():
    with FORK.Pool(2) as pool:
        results = pool.map(_squares, [torchlite.full((2,), float(i)) for i in range(5)])
    assert [r.tolist() for r in results] == [[i * i] * 2 for i in range(5)]


def _fill(shared, model, values, generator):
    assert generator.initial_seed() == 4
    shared.fill_(values.sum().item())
    with torchlite.no_grad():
        model.weight.zero_()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_arguments_of_processes(method):
    shared, model = torchlite.zeros(3).share_memory_(), torchlite.nn.Linear(2, 2).share_memory()
    values = torchlite.ones(4)
    generator = torchlite.Generator().manual_seed(4)  # whose state is a tensor that is made to be sent
    child = mp.get_context(method).Process(target=_fill, args=(shared, model, values, generator))
    child.start()
    child.join(120)
    assert child.exitcode == 0
    assert shared.tolist() == [4, 4, 4]
    assert model.weight.tolist() == [[0, 0], [0, 0]]


def test_plain_pickles_hold_copies():
    x = torchlite.arange(3).share_memory_()
    again = pickle.loads(pickle.dumps(x))
    again[0] = 9
    assert not again.is_shared()
    assert x.tolist() == [0, 1, 2]


def _write_to_file(path):
    torchlite.from_file(path, shared=True, size=4, dtype=torchlite.int32)[2] = 5


def test_mapped_files_count_as_shared(tmp_path):
    path = str(tmp_path / "numbers")
    t = torchlite.from_file(path, shared=True, size=4, dtype=torchlite.int32)
    assert t.is_shared() and t.untyped_storage().filename == path
    child = FORK.Process(target=_write_to_file, args=(path,))
    child.start()
    child.join(120)
    assert t.tolist() == [0, 0, 5, 0]
    queue = FORK.SimpleQueue()
    queue.put(t)
    assert queue.get().data_ptr() == t.data_ptr()


def test_pages_that_never_arrive_are_swept_away_at_exit():
    program = (
        "import torchlite, torchlite.multiprocessing as mp, glob\n"
        "from torchlite.multiprocessing.reductions import _family\n"
        "mp.set_sharing_strategy('file_system')\n"
        "queue = mp.get_context('fork').SimpleQueue()\n"
        "queue.put(torchlite.ones(3))\n"
        "print(*glob.glob(f'/dev/shm/{_family()}*'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() and not done.stderr
    assert not set(done.stdout.split()) & set(glob.glob("/dev/shm/torch_*"))


# ---- the module


def test_all_of_multiprocessing_is_there():
    assert all(getattr(mp, name) is getattr(standard, name) for name in standard.__all__ if name != "context")
    assert mp.Process is standard.Process and set(standard.__all__) < set(mp.__all__)


@same_story
def test_names_and_strategies(torch, tell):
    mp = torch.multiprocessing
    tell(sorted(mp.__all__), sorted(mp.get_all_sharing_strategies()), mp.get_sharing_strategy())
    mp.set_sharing_strategy("file_system")
    tell(mp.get_sharing_strategy())
    mp.set_sharing_strategy("file_descriptor")
    tell([c.__mro__ for c in (mp.ProcessRaisedException, mp.ProcessExitedException, mp.SpawnContext)])
    try:
        mp.set_sharing_strategy("carrier pigeon")
    except AssertionError as error:
        tell(str(error).split(", expected")[0])


# ---- processes started together


def _raise(index):
    if index == 1:
        raise ValueError("no")
    time.sleep(20)


def _exit(index):
    sys.exit(3)


def _kill(index):
    os.kill(os.getpid(), signal.SIGKILL)


def _count(index, counts):
    counts[index] += index + 1


@pytest.mark.parametrize("function", [_raise, _exit, _kill])
def test_failures_of_processes(function):
    @same_story
    def story(torch, tell):
        count = 2 if function is _raise else 1
        try:
            torch.multiprocessing.start_processes(function, nprocs=count, start_method="fork")
        except Exception as error:
            said = re.sub(r'  File ".*_wrap|  File ".*_run| *~*\^+\n', "  File", str(error))
            tell(type(error).__name__, said.replace("index, *args", "i, *args"))
            tell([getattr(error, name, None) for name in ("error_index", "exit_code", "signal_name")])
            again = pickle.loads(pickle.dumps(error))
            tell(type(again).__name__, str(again) == str(error), again.error_index, again.error_pid > 0)

    story()


@same_story
def test_processes_started_together(torch, tell):
    mp = torch.multiprocessing
    counts = torch.zeros(3).share_memory_()
    tell(mp.start_processes(_count, (counts,), 3, start_method="fork"), counts)
    context = mp.start_processes(_count, (counts,), 3, join=False, daemon=True, start_method="fork")
    tell(type(context).__name__, len(context.pids()), [process.daemon for process in context.processes])
    while not context.join(20):
        pass
    tell(context.join(), counts, mp.start_processes(_count, nprocs=0))
    slow = mp.start_processes(time.sleep, nprocs=1, args=(), join=False, start_method="fork")
    tell(slow.join(timeout=0) in (True, False))
    slow.processes[0].join()
    mp.spawn(_exit, nprocs=0, start_method="fork")
    mp.start_processes(_exit, start_method="knife")


def test_hogwild_trains_as_pytorch_does():
    """In fresh processes, which find torchlite under the name of torch."""
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLE.parent.parent), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "torchlite", str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert not done.stderr
    before, after = [float(share) for share in re.findall(r"([\d.]+)%", done.stdout)]
    assert before < 70 < 85 < after
    assert "[378, 378] steps" in done.stdout
