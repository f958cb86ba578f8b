"""Who waits for a command sees how far it has come; nobody else is told."""

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

import torchlite
from torchlite.testing.progress import progress

pytestmark = pytest.mark.any_build


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(progress(["a", "b", "c", "d"], name=str)) == ["a", "b", "c", "d"]
    told = sys.stderr.getvalue()
    assert re.search(r"\[#{10} {10}\] 2/4, \d+ s left c", told) and told.endswith("\r\x1b[K")


def test_files_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert list(progress(iter(range(3)), 3)) == [0, 1, 2]
    assert sys.stderr.getvalue() == ""


SAVING = """
import signal, sys
import torchlite as torch

signal.signal(signal.SIGINT, signal.default_int_handler)  # which the shell ignores in what runs behind it
state = {f"layer {i}": torch.full((40, 1000), float(sys.argv[2])) for i in range(20)}
while True:
    torch.save(state, sys.argv[1])
    print("saved", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_interrupts_leave_whole_checkpoints(tmp_path: Path) -> None:
    """Who is stopped while saving finds the checkpoint before, or the new one."""
    path, random = tmp_path / "state.pt", Random(0)
    for at in range(8):
        command = [sys.executable, "-c", SAVING, path, str(at)]
        environment = {**os.environ, "PYTHONPATH": str(Path(torchlite.__file__).parent.parent)}
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, cwd=tmp_path
        )
        child.stdout.readline()
        time.sleep(random.random() / 20)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=200)
        values = {tensor.unique().item() for tensor in torchlite.load(path).values()}
        assert values == {float(at)}
        assert [p.name for p in tmp_path.iterdir()] == ["state.pt"]
