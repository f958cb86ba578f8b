"""The documentation: every block of code in its chapters runs, and it is built strictly."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
CHAPTERS = ["autograd", "extending", "moving", "numerics", "tour", "zh/autograd", "zh/tour"]


def blocks(chapter: str) -> list[str]:
    """The code of a chapter."""
    text = (DOCS / f"{chapter}.md").read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert found
    return found


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_code_of_a_chapter_runs(chapter: str, tmp_path: Path) -> None:
    """All blocks of a chapter, one after the other, as a reader would."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks(chapter))], capture_output=True, text=True, cwd=tmp_path,
        env={"PYTHONPATH": str(DOCS.parent)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr


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
