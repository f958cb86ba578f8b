"""`torch.package`: what is put into a file, what is refused, and what is loaded from it, by either library."""

from __future__ import annotations

import importlib
import io
import zipfile

import pytest

import torchlite

torch = pytest.importorskip("torch")
LIBRARIES = {"torch": torch, "torchlite": torchlite}
BOTH = pytest.mark.parametrize("lib", LIBRARIES.values(), ids=LIBRARIES)
PAIRS = pytest.mark.parametrize(
    ("writer", "reader"), [(a, b) for a in LIBRARIES.values() for b in LIBRARIES.values()], ids=lambda lib: lib.__name__
)


def package_of(lib):
    return importlib.import_module(f"{lib.__name__}.package")


def written(lib, *steps, **options):
    file = io.BytesIO()
    with package_of(lib).PackageExporter(file, **options) as exporter:
        for step in steps:
            step(exporter)
    file.seek(0)
    return file


def _modules(exporter):
    exporter.mock("pytest.**")
    exporter.save_source_string("model", "import math, pytest\nhalf = lambda x: x / 2\nclass Kept:\n    n = math.e\n")
    exporter.save_source_string("parts", "from . import inner\nfrom .inner import five", is_package=True)
    exporter.save_source_string("parts.inner", "from model import half\nfive = half(10)")
    exporter.save_text("files", "note.txt", "é")
    exporter.save_binary("files", "bytes", b"\0\1")


def _tensors(lib):
    x = lib.arange(4.0)

    def step(exporter):
        exporter.save_pickle("files", "state.pkl", {"x": x, "view": x[1:], "flags": lib.tensor([True, False]), "n": 3})

    return step


@PAIRS
def test_a_package_is_read_by_either(writer, reader):
    file = written(writer, _modules, _tensors(writer))
    package = package_of(reader)
    importer = package.PackageImporter(file)
    model, parts = importer.import_module("model"), importer.import_module("parts")
    assert (model.half(3), model.Kept.n, parts.five, parts.inner.five) == (1.5, pytest.approx(2.718281828), 5.0, 5.0)
    assert importer.import_module("parts.inner") is parts.inner
    assert model.__name__ == f"{importer.id()}.model"
    assert package.is_from_package(model)
    assert package.is_from_package(model.Kept())
    assert not package.is_from_package(io)
    assert importer.load_text("files", "note.txt") == "é"
    assert importer.load_binary("files", "bytes") == b"\0\1"
    state = importer.load_pickle("files", "state.pkl")
    assert state["x"].tolist() == [0, 1, 2, 3]
    assert state["flags"].tolist() == [True, False]
    state["x"][1] = 7
    assert state["view"][0] == 7
    with pytest.raises(NotImplementedError, match="was mocked out during packaging but it is being used in __call__"):
        model.pytest.skip()
    with pytest.raises(ModuleNotFoundError, match='No module named "absent" in self-contained archive'):
        importer.import_module("absent")


@BOTH
def test_objects_travel_from_package_to_package(lib):
    package = package_of(lib)
    first = package.PackageImporter(written(lib, _modules))
    kept = first.import_module("model").Kept()
    kept.value = lib.ones(2)

    def save(exporter):
        exporter.intern("model")
        exporter.mock("pytest.**")
        exporter.save_pickle("files", "kept.pkl", kept)

    second = package.PackageImporter(written(lib, save, importer=(first, package.sys_importer)))
    again = second.load_pickle("files", "kept.pkl")
    assert again.value.tolist() == [1, 1]
    assert type(again) is second.import_module("model").Kept
    assert type(again) is not type(kept)
    with pytest.raises(Exception, match="not found as"):
        written(lib, save)


@BOTH
def test_files_and_what_was_done_with_modules(lib):
    package = package_of(lib)
    told = []
    with package.PackageExporter(io.BytesIO()) as exporter:
        exporter.register_extern_hook(lambda exporter, name: told.append(name))
        exporter.extern("pytest")
        exporter.save_source_string("a", "import pytest, collections")
        exporter.save_source_string("b", "import a")
    assert exporter.externed_modules() == sorted(told) == ["collections", "pytest"]
    assert sorted(exporter.interned_modules()) == ["a", "b"]
    assert exporter.get_rdeps("pytest") == ["a"]
    assert (exporter.get_unique_id(), exporter.get_unique_id()) == ("0", "1")
    file = written(lib, _modules)
    names = {name.partition("/")[2] for name in zipfile.ZipFile(file).namelist()}
    assert {"model.py", "parts/__init__.py", "parts/inner.py", "pytest/__init__.py", "files/note.txt"} <= names
    file.seek(0)
    structure = package.PackageImporter(file).file_structure(include="**/*.py", exclude="model.py")
    assert [structure.has_file(f) for f in ("parts/inner.py", "model.py", "files/note.txt", "parts")] == [
        True, False, False, True,
    ]  # fmt: skip
    assert str(structure).splitlines()[0] == "─── <binary>"


def _refused(lib, *steps):
    with pytest.raises(Exception) as caught:
        written(lib, *steps)
    return type(caught.value).__name__, str(caught.value)


REFUSALS = {
    "unmatched": [lambda e: e.save_source_string("m", "import pytest\n")],
    "denied": [lambda e: e.deny("pytest.**"), lambda e: e.save_source_string("m", "import pytest\n")],
    "nothing matched": [lambda e: e.extern("absent.*", allow_empty=False)],
    "no name": [lambda e: e.save_module(3)],
    "a pattern": [lambda e: e.intern("a**")],
}


@pytest.mark.parametrize("steps", REFUSALS.values(), ids=REFUSALS)
def test_refusals_are_those_of_pytorch(steps):
    assert _refused(torchlite, *steps) == _refused(torch, *steps)


def test_patterns_match_as_they_do_in_pytorch():
    names = ["torch", "torch.nn", "torch.nn.x", "a.x.b", "a.b", "ab", "a.xy.b.c", ""]
    for include, exclude in ((["torch.**", "a.*.b"], ["torch.nn"]), ("**", ()), ("a*", ()), ("a.*b", ())):
        ours, theirs = [package_of(lib).GlobGroup(include, exclude=exclude) for lib in (torchlite, torch)]
        assert [ours.matches(n) for n in names] == [theirs.matches(n) for n in names]
        assert (str(ours), repr(ours)) == (str(theirs), repr(theirs))


@BOTH
def test_where_objects_are_found(lib):
    package = package_of(lib)
    assert package.sys_importer.get_name(importlib.import_module) == ("importlib", "import_module")
    ordered = package.OrderedImporter(package.PackageImporter(written(lib, _modules)), package.sys_importer)
    assert ordered.import_module("zipfile") is zipfile
    assert ordered.import_module("model").half(2) == 1
    with pytest.raises(package.ObjNotFoundError):
        package.sys_importer.get_name(lambda: 1)


@BOTH
def test_a_filter_may_disallow_modules(lib):
    file = written(lib, _modules)
    with pytest.raises(ImportError, match="needs the external module 'math' but that module has been disallowed"):
        package_of(lib).PackageImporter(file, module_allowed=lambda name: name != "math")
