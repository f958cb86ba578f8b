"""What docs/architecture.md says of files and imports holds."""

import ast
import graphlib
import re
from pathlib import Path

import pytest

import torchlite

pytestmark = pytest.mark.any_build

ROOT = Path(torchlite.__file__).parent
TREES = {
    ".".join(("torchlite", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): (
        path, ast.parse(path.read_text())
    )
    for path in ROOT.rglob("*.py")
}  # fmt: skip


def for_types_only(tree):
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    return {inner for block in blocks for statement in block.body for inner in ast.walk(statement)}


def imported(module):
    """The files of the library that one imports, lazily or not."""
    path, tree = TREES[module]
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    passed_over = for_types_only(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in passed_over:
            home = package[: len(package) - node.level + 1] if node.level else []
            target = ".".join([*home, node.module] if node.module else home)
            for alias in node.names:
                inner = f"{target}.{alias.name}"
                yield inner if inner in TREES else target


def test_no_file_imports_one_that_imports_it_back():
    graph = {module: {to for to in imported(module) if to in TREES and to != module} for module in TREES}
    graphlib.TopologicalSorter(graph).prepare()  # which names a circle


def test_files_and_functions_can_be_read_at_a_sitting():
    for module, (path, tree) in TREES.items():
        assert len(path.read_text().splitlines()) <= 500, module
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert node.end_lineno - node.lineno < 60, (module, node.name)


def test_files_that_are_named_are_there():
    house = ROOT.parent
    there = [f"/{path.relative_to(house).as_posix()}" for path in house.glob("[!.]*/**/*.py")]
    folders = {path.rpartition("/")[0] + "/" for path in there}
    for named in re.findall(r"`([\w/]+(?:/|\.py))`", (house / "docs" / "architecture.md").read_text()):
        assert any(path.endswith(f"/{named}") for path in (folders if named.endswith("/") else there)), named


def test_the_tests_are_collected_where_there_is_no_pytorch():
    for path in Path(__file__).parent.rglob("test_*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, (ast.Expr, ast.Assign)) and "importorskip" in ast.unparse(node):
                break
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            named += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert not any(name and name.partition(".")[0] == "torch" for name in named), path
