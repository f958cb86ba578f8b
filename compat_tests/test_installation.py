"""What `pip install` writes, beside PyTorch too; and a recipe for conda, which says what `pyproject.toml` does."""

import base64
import hashlib
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.any_build

ROOT = Path(__file__).parent.parent
PROJECT: Any = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def normal(requirements: list[Any]) -> set[str]:
    """Requirements as pip and conda both may write them."""
    return {re.sub(r"[ _]", lambda m: "" if m[0] == " " else "-", r) for r in requirements if isinstance(r, str)}


def test_the_conda_recipe_says_what_the_project_says() -> None:
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8"))
    project, python = PROJECT["project"], f"python{PROJECT['project']['requires-python']}"
    assert recipe["context"]["version"] == project["version"]
    assert recipe["package"] == {"name": project["name"], "version": "${{ version }}"}
    assert (ROOT / "packaging" / "conda" / recipe["source"]["path"]).resolve() == ROOT
    needs = recipe["requirements"]
    assert normal(needs["run"]) == normal([python, *project["dependencies"]])
    assert normal(needs["host"]) == normal([python, "pip", *PROJECT["build-system"]["requires"]])
    assert recipe["about"]["summary"] == project["description"]
    assert [recipe["about"]["license_file"]] == project["license-files"]
    assert recipe["about"]["license"] == project["license"]
    assert "python" not in recipe["build"] and "scripts" not in project  # entry points: neither has any


def test_versions_agree() -> None:
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited is not None and cited[1].strip('"') == PROJECT["project"]["version"]
    assert importlib.metadata.version("torchlite-numpy") == PROJECT["project"]["version"]


def test_pytorch_beside_is_as_it_was_installed() -> None:
    """No file of its, and no command, was written anew; and those that check themselves are whole."""
    pytest.importorskip("torch")
    theirs, ours = importlib.metadata.distribution("torch"), importlib.metadata.distribution("torchlite-numpy")
    written = {Path(str(file)).parts[0] for file in ours.files or []}
    assert not written & {Path(str(file)).parts[0] for file in theirs.files or []}
    assert ".." not in written and not ours.entry_points  # no commands: `torchrun` would be PyTorch's, too
    changed = []
    for file in theirs.files or []:
        if file.hash is not None and file.name.endswith((".py", ".pyi", "torchrun")):
            found = hashlib.new(file.hash.mode, file.read_binary()).digest()
            changed += [file] if base64.urlsafe_b64encode(found).decode().rstrip("=") != file.hash.value else []
    assert not changed


@pytest.mark.parametrize("first", ["", "import torchlite; "])
def test_torch_beside_is_pytorch(first: str, tmp_path: Path) -> None:
    """Of the same interpreter, without the alias: whoever imports it, and torchlite, has both."""
    pytest.importorskip("torch")
    program = f"{first}import sys, torch; print(torch.__file__, torch.__version__, 'torchlite' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True)
    file, version, known = run.stdout.split()
    distribution = importlib.metadata.distribution("torch")
    assert Path(file) == Path(str(distribution.locate_file("torch/__init__.py")))
    assert version.partition("+")[0] == distribution.version.partition("+")[0] and known == str(bool(first))
