"""What type checkers say of torchlite: the stubs are what the ops declare, and programs that use them pass."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from torchlite.stubs import ROOT, torch_stubs, write

pytestmark = pytest.mark.any_build

REPOSITORY = ROOT.parent
PAGE = REPOSITORY / "compat_tests" / "typed" / "page.py"

needs_mypy = pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
needs_pyright = pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")


def test_stubs_are_what_is_declared() -> None:
    """`python -m torchlite.stubs` writes them anew; asked of a new process, since programs load and declare more."""
    ask = "import json; from torchlite.stubs import written; print(json.dumps(written()))"
    told = subprocess.run([sys.executable, "-c", ask], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    files = json.loads(told.stdout)
    stale = [place for place, text in files.items() if (ROOT / place).read_text() != text]
    assert not stale
    assert {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.pyi")} == set(files)


@pytest.fixture(scope="session")
def of_torch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the stubs of `torch`."""
    folder = tmp_path_factory.mktemp("stubs")
    write(torch_stubs(), folder / "torch")
    return folder


def mypy(of_torch: Path, *arguments: object) -> str:
    """What mypy finds in files of a program. Errors in the library itself are not the program's."""
    search = os.pathsep.join([str(of_torch), str(REPOSITORY)])
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(of_torch / "cache"), *map(str, arguments)],
        env={**os.environ, "MYPYPATH": search}, cwd=of_torch, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode in (0, 1), run.stderr
    outside = os.path.relpath(ROOT, of_torch)
    return "\n".join([line for line in run.stdout.splitlines() if ": error:" in line and not line.startswith(outside)])


@needs_mypy
def test_mypy_reads_the_types(of_torch: Path) -> None:
    assert mypy(of_torch, "--strict", PAGE) == ""


@needs_mypy
def test_mypy_tells_of_mistakes(of_torch: Path) -> None:
    program = of_torch / "mistakes.py"
    program.write_text(
        "import torch\nfrom torch import nn\n\ntorch.randon(3)\ntorch.ones(2).foo()\nnn.Linear('a', 3)\n"
        "torch.softmax(torch.ones(2), dim='x')\nn: int = torch.ones(2)\n"
    )
    found = mypy(of_torch, "--strict", program).splitlines()
    assert [line.split(":")[1] for line in found] == ["4", "5", "6", "7", "8"]
    assert "randn" in found[0]


@needs_mypy
def test_mypy_knows_every_public_name(of_torch: Path) -> None:
    """What `from torch.… import …` finds when a program runs, checkers find too."""
    pytest.importorskip("torch")
    from .test_help import _NAMESPACES, named

    lines = []
    for space in _NAMESPACES:
        names = [name for name, _, _ in named(space) if not name.startswith("_")]
        lines += [f"import {space}"] if space != "torch.Tensor" else []
        lines += [f"{space}.{name}" for name in names]
        lines += [f"from {space} import {name} as _{name}" for name in names if space != "torch.Tensor"]
    program = of_torch / "names.py"
    program.write_text("\n".join(lines))
    assert len(lines) > 4_000
    assert mypy(of_torch, "--disable-error-code", "no-redef", "--disable-error-code", "assignment", program) == ""


@needs_mypy
def test_the_library_passes(tmp_path: Path) -> None:
    """With the options of `pyproject.toml`, which says what is left out and why."""
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)]
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@needs_mypy
def test_the_examples_pass(of_torch: Path) -> None:
    assert mypy(of_torch, "--strict", "--ignore-missing-imports", REPOSITORY / "examples") == ""


@needs_pyright
def test_pyright_reads_the_types(of_torch: Path) -> None:
    """On the page, and on the examples."""
    folder = of_torch / "pyright"
    shutil.copytree(REPOSITORY / "examples", folder / "examples")
    shutil.copy(PAGE, folder)
    options = {
        "extraPaths": [str(of_torch), str(REPOSITORY)], "typeCheckingMode": "standard",
        "reportMissingImports": False,  # of packages that an example may do without
    }  # fmt: skip
    (folder / "pyrightconfig.json").write_text(json.dumps(options))
    run = subprocess.run(["pyright", "-p", folder, folder], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


def test_the_page_runs() -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    subprocess.run([sys.executable, "-m", "torchlite", PAGE], check=True, env=environment)
