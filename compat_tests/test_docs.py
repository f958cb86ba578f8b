"""The documentation: every block of code in its chapters runs, and it is built strictly."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.any_build

DOCS = Path(__file__).parent.parent / "docs"
CHAPTERS = [  # backends.md is in test_backends.py
    "architecture", "autograd", "extending", "files", "index", "moving", "notebooks", "numerics", "scale", "tour",
    "zh/autograd", "zh/tour",
]  # fmt: skip
# What a chapter takes for granted.
BEFORE = {
    "architecture": """
from torchlite.core.declare import Op, publish
from torchlite.core.machine.registry import registry

del registry["mm"]  # which is there already
""",
    "scale": """
import multiprocessing, sys
from types import ModuleType, SimpleNamespace

class Remote:
    def __init__(self, function):
        self.function = function
    def options(self, placement_group):
        return self
    def remote(self, *arguments):
        answers = multiprocessing.SimpleQueue()
        process = multiprocessing.get_context("fork").Process(target=lambda: answers.put(self.function(*arguments)))
        process.start()
        return answers

def main():
    import torch
    t = torch.ones(2)
    torch.distributed.all_reduce(t)
    assert t.tolist() == [4, 4]

place = SimpleNamespace(ready=list)
group = SimpleNamespace(placement_group=lambda *_, **__: place, get_node_ip_address=lambda: "127.0.0.1")
ray, train = ModuleType("ray"), ModuleType("train")
ray.util, ray.remote, train.main = group, lambda **_: Remote, main
ray.get = lambda queues: [queue.get() for queue in queues]
sys.modules |= {"ray": ray, "train": train}
""",
}


def blocks(chapter: str) -> list[str]:
    """The code of a chapter."""
    text = (DOCS / f"{chapter}.md").read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert found
    return found


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_code_of_a_chapter_runs(chapter: str, tmp_path: Path) -> None:
    """All blocks of a chapter, one after the other, as a reader would."""
    program = "\n".join([BEFORE.get(chapter, ""), *blocks(chapter)])
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, cwd=tmp_path,
        env={"PYTHONPATH": str(DOCS.parent)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("chapter", ["autograd", "tour"])
def test_the_chinese_edition_is_in_step(chapter: str) -> None:
    """The same sections and the same code, but for comments."""

    def told(name: str) -> tuple[list[str], list[str]]:
        text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        return re.findall("^#+(?= )", text, re.M), [re.sub("  # .*", "", block) for block in blocks(name)]

    assert told(f"zh/{chapter}") == told(chapter)


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=lambda path: path.relative_to(DOCS).as_posix())
def test_code_fits_the_page(path: Path) -> None:
    """A longer line would have to be scrolled to be read."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)
    assert not [line for block in blocks for line in block.splitlines() if len(line) > 82]


def test_every_block_of_code_is_in_a_chapter_that_runs() -> None:
    pages = [path for path in DOCS.rglob("*.md") if "```python" in path.read_text(encoding="utf-8")]
    with_code = {path.relative_to(DOCS).with_suffix("").as_posix() for path in pages}
    assert with_code == {*CHAPTERS, "backends"}


@pytest.mark.skipif(importlib.util.find_spec("material") is None, reason="MkDocs-Material is not installed")
def test_the_documentation_is_built_strictly(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path / "site"],
        capture_output=True, text=True, cwd=DOCS.parent,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "softmax" in (tmp_path / "site" / "reference" / "torch" / "index.html").read_text(encoding="utf-8")


@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("nbclient", "ipykernel"))), reason="nbclient is not installed"
)
def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    import nbclient
    import nbformat

    monkeypatch.setenv("PYTHONPATH", str(DOCS.parent))
    notebook = nbformat.read(DOCS.parent / "examples" / "tour.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, kernel_name="python3").execute()
    shown = [data for cell in notebook.cells for output in cell.get("outputs", []) for data in output.get("data", {})]
    assert "image/svg+xml" in shown and "text/html" in shown
