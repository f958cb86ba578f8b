"""What other systems lack is taken away from this one: macOS has no /dev/shm, Windows no fork. The rest goes on."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from torchlite import Tensor
from torchlite.core.declare.publishing import method
from torchlite.core.values.pickling import bear_name

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it pretends to be another system")

# Imported by every process, as the first module that looks for it is: what a system lacks is gone from there on.
MACOS = """
import builtins, multiprocessing, os, sys

for name in ("memfd_create", "posix_fallocate", "sched_getaffinity", "sched_setaffinity"):
    delattr(os, name)
opened, isdir, stat, link = builtins.open, os.path.isdir, os.stat, os.link

def there(path):
    if str(path).startswith(("/proc", "/dev/shm")):
        raise FileNotFoundError(path)
    return path

def linked(source, target, **how):
    assert not how, "a link of a descriptor"
    return link(there(source), target)

builtins.open = lambda path, *rest, **how: opened(there(path), *rest, **how)
os.path.isdir = lambda path: not str(path).startswith("/dev/shm") and isdir(path)
os.stat = lambda path, *rest, **how: stat(there(path), *rest, **how)
os.link = linked
sys.platform = "darwin"
multiprocessing.set_start_method("spawn", force=True)
"""

WINDOWS = """
import multiprocessing.connection, os, pathlib, signal, socket, subprocess, sys, tempfile

for name in ("fcntl", "resource", "termios", "pwd", "grp", "_posixshmem"):
    sys.modules[name] = None
for name in (
    "fork", "register_at_fork", "memfd_create", "posix_fallocate", "sched_getaffinity", "getuid", "killpg", "setsid",
):
    delattr(os, name)
for name in ("SIGKILL", "SIGALRM", "SIGHUP", "alarm"):
    delattr(signal, name)
del socket.AF_UNIX
sys.platform = "win32"
"""

# Functions with some arguments given are methods of the classes that have them, and processes come from a server.
PYTHON_3_14 = """
import functools, multiprocessing, types

class partial(functools.partial):
    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

functools.partial = partial
multiprocessing.set_start_method("forkserver", force=True)
"""

PARALLEL = """
import multiprocessing

import torch, torch.multiprocessing as mp
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): return torch.full((2,), float(i * i))

def add(t, answers):
    t += 1
    answers.put(t * 2)
    answers.get()  # until that was looked at

def work(rank, address):
    torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    t = torch.ones(3) * rank
    torch.distributed.all_reduce(t)
    assert t.tolist() == [1, 1, 1]
    torch.distributed.destroy_process_group()

if __name__ == "__main__":
    import tempfile
    shared, answers = torch.zeros(4).share_memory_(), mp.Queue()
    child = mp.Process(target=add, args=(shared, answers))
    child.start()
    print(answers.get().tolist(), shared.tolist())
    answers.put(None)
    child.join()
    print([batch[:, 0].tolist() for batch in DataLoader(Squares(), 4, num_workers=2)])
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(work, (f"file://{folder}/store",), nprocs=2)
    print("done", child.exitcode)
"""

ALONE = """
import os, tempfile
import torch
from torch.utils.data import DataLoader

model = torch.nn.Linear(3, 2)
optimizer = torch.optim.Adam(model.parameters())
for batch in DataLoader(torch.randn(8, 3), 4):
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.pt")
    torch.save(model.state_dict(), path)
    torch.save(model.state_dict(), path)
    assert torch.equal(torch.load(path, mmap=True)["weight"], model.weight)
    del path
assert not torch.distributed.is_available()
try:
    torch.zeros(2).share_memory_()
except RuntimeError as error:
    print(error)
with torch.profiler.profile(profile_memory=True) as p:
    torch.ones(2) + 1
assert torch.get_num_threads() >= 1 and p.key_averages()
print("done")
"""


def run(system: str, program: str, folder: Path, native: str) -> str:
    """What a program prints where every process of it begins with `system`."""
    (folder / "sitecustomize.py").write_text(system)
    (folder / "program.py").write_text("from torchlite import alias\nalias.enable()\n" + program)
    done = subprocess.run(
        [sys.executable, "program.py"], capture_output=True, text=True, cwd=folder, timeout=250,
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "TORCHLITE_NATIVE": native},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


PRINTED = [
    "[2.0, 2.0, 2.0, 2.0] [1.0, 1.0, 1.0, 1.0]", "[[0.0, 1.0, 4.0, 9.0], [16.0, 25.0, 36.0, 49.0]]", "done 0",
]  # fmt: skip


def test_processes_share_memory_where_there_is_no_dev_shm(tmp_path: Path) -> None:
    assert run(MACOS, PARALLEL, tmp_path, "").splitlines() == PRINTED


def test_processes_and_partial_functions_are_those_of_python_3_14(tmp_path: Path) -> None:
    hooks = """
    from torch.distributed.algorithms.ddp_comm_hooks import DDPCommHookType
    print([hook.name for hook in DDPCommHookType])
"""
    *printed, names = run(PYTHON_3_14, PARALLEL + hooks, tmp_path, "").splitlines()
    assert printed == PRINTED
    assert names.count("POWER_SGD") == 4 and "FP16_COMPRESS" in names


@pytest.mark.parametrize("native", ["", "0"])
def test_one_process_does_without_what_windows_lacks(native: str, tmp_path: Path) -> None:
    said, done = run(WINDOWS, ALONE, tmp_path, native).splitlines()
    assert "POSIX" in said and done == "done"


def test_methods_that_are_properties_have_names_in_python_3_13() -> None:
    class Property(property):  # as properties are there: they have a name, and no module that could be said anew
        __name__ = __module__ = property("asked".__str__)  # type: ignore[assignment]

    asked = Property(lambda self: self)
    try:
        assert method("asked")(asked) is asked is vars(Tensor)["asked"]
    finally:
        del Tensor.asked


def test_names_leave_sources_where_python_3_13_has_them() -> None:
    """A class is told there in which line it begins, and forgets it where it is told of another module."""

    class Forgetful(type):
        def __setattr__(cls, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if name == "__module__" and "__firstlineno__" in vars(cls):
                del cls.__firstlineno__

    class Shown(metaclass=Forgetful):
        __module__ = "torchlite.somewhere"
        __firstlineno__ = 7

    bear_name(Shown, "torch.elsewhere")
    assert (Shown.__module__, Shown.__firstlineno__) == ("torch.elsewhere", 7)
    files = (ROOT / "torchlite").rglob("*.py")
    told = re.compile(r"^ *(?:[A-Z]\w*|_cls|_class)\.__module__ = ", re.MULTILINE)  # and not by `bear_name`
    assert [str(file) for file in files if told.search(file.read_text("utf-8"))] == []


@pytest.mark.parametrize(("alias", "root"), [([], "torchlite"), (["-m", "torchlite"], "torch")])
def test_the_source_of_distributions_is_found_by_this_python(alias: list[str], root: str) -> None:
    """Classes that share a file, or that PyTorch has in one file and that stand in several here."""
    program = f"""
import inspect, {root}
from {root}.fx.immutable_collections import immutable_dict

d = {root}.distributions
classes = [cls for cls in vars(d).values() if inspect.isclass(cls)]
assert len(classes) > 60
assert all(cls.__module__.startswith("{root}.") for cls in classes)
hidden = d.transforms._InverseTransform, d.relaxed_bernoulli.LogitRelaxedBernoulli, immutable_dict
for cls in [*classes, *hidden]:
    assert f"class {{cls.__name__}}" in inspect.getsource(cls)[:200], cls
"""
    run = subprocess.run(
        [sys.executable, *alias, "-c", program], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
