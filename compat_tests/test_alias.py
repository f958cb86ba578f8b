"""`import torch` means torchlite: what programs see of it, each in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

pytestmark = pytest.mark.any_build

ROOT = Path(__file__).parent.parent


def python(*arguments: Any, fails: bool = False, **environment: str) -> str:
    """Everything that a Python process prints."""
    paths = [environment.pop("PYTHONPATH", ""), str(ROOT), os.environ.get("PYTHONPATH", "")]
    run = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
    assert (run.returncode != 0) == fails, run.stdout + run.stderr
    return run.stdout + run.stderr


@pytest.fixture
def program(tmp_path: Path) -> Any:
    def write(text: str, name: str = "program.py") -> Path:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(dedent(text))
        return file

    return write


def test_a_script(program: Any) -> None:
    script = program("""
        import importlib, importlib.metadata, importlib.util, inspect, multiprocessing, os, pickle, sys, typing
        import torch
        import torch.nn.functional as F
        from torch import nn
        from torch.nn.modules.linear import Linear

        class Net(nn.Module):
            pass

        def child(n):
            import torch
            return torch.__version__, torch.ones(n).sum().item()

        if __name__ == "__main__":
            assert torch.__version__ == importlib.metadata.version("torch") == "2.13.0+torchlite"
            assert importlib.metadata.distribution("torch").metadata["Name"] == "torch"
            assert set(importlib.metadata.packages_distributions()["torch"]) == {"torch"}
            assert sys.argv == [os.path.relpath(__file__), "a", "--lr"] and sys.path[0] == os.path.dirname(__file__)
            assert sys.modules["__main__"].__file__ == __file__ and __spec__ is None

            import torchlite
            assert torch is torchlite and F is torchlite.nn.functional and Linear is nn.Linear
            assert importlib.import_module("torch.optim.adam").Adam is torchlite.optim.Adam
            assert importlib.util.find_spec("torch.nn").origin == nn.__file__
            assert importlib.util.find_spec("torch.never") is None
            assert "class Linear(Module)" in inspect.getsource(Linear) and inspect.getmodule(Linear).Linear is Linear

            assert typing.get_type_hints(Linear)["weight"] is torch.Tensor and typing.get_type_hints(torch.optim.SGD)
            assert torch.distributed.is_available() and not torch._dynamo.is_compiling()
            assert torch.fx.wrap(child) is child and not hasattr(torch.distributed, "never")

            for module, name in (
                ("torch.nn.modules.linear", "Linear"), ("torch._utils", "_rebuild_tensor_v2"), ("torch", "Size"),
                ("torch.storage", "_load_from_bytes"), ("torch._C", "Generator"), ("torch.optim.sgd", "SGD"),
            ):
                assert pickle.loads(f"c{module}\\n{name}\\n.".encode()).__name__ == name
            assert isinstance(pickle.loads(pickle.dumps(Net())), Net)

            for method in multiprocessing.get_all_start_methods():
                with multiprocessing.get_context(method).Pool(1) as pool:
                    assert pool.apply(child, (3,)) == ("2.13.0+torchlite", 3.0), method
            print("fine")
    """)
    assert python("-m", "torchlite", os.path.relpath(script), "a", "--lr") == "fine\n"


def test_what_is_missing(program: Any) -> None:
    program(
        """
        import sys
        from torchlite import alias

        def refusal(code):
            try:
                exec(code)
            except (AttributeError, ImportError) as error:
                return type(error).__name__, str(error)

        def answers():
            hint = "yet (docs/coverage.md lists what there is)"
            none, random = f"torchlite has no torch.never {hint}", f"torchlite has no torch.random.never {hint}"
            assert refusal("import torch; torch.never") == ("AttributeError", none)
            assert refusal("import torch; torch.nn.functional.never(1)") == (
                "AttributeError", "torchlite has no torch.nn.functional.never " + hint)
            assert refusal("from torch import never") == (
                "ImportError", "cannot import name 'never' from 'torch': " + none)
            assert refusal("from torch.random import never") == (
                "ImportError", "cannot import name 'never' from 'torch.random': " + random)
            assert refusal("import torch.never.more") == (
                "ModuleNotFoundError", "No module named 'torch.never': " + none)
            assert refusal("import torch; assert not hasattr(torch, 'never')") is None

        with alias.enable():
            answers()
            with alias.enable(lazy=True):
                import abc, torch, torch.never.more as more
                from torch.never import Base
                from torch.nn import Never

                class Derived(abc.ABC, Base): pass
                class Mixed(torch.nn.Module, torch.far.Away): pass
                def annotated(x: Base | None, y: torch.far.Away[int]) -> Never: pass

                assert not hasattr(torch, "nothing") and getattr(torch, "nothing", 5) == 5
                assert not isinstance(1, Base)
                for call, name in (
                    (Derived, "never.Base"), (Mixed, "far.Away"), (Never, "nn.Never"), (more.x.y, "never.more.x.y"),
                ):
                    try:
                        call()
                    except NotImplementedError as error:
                        assert str(error).startswith(f"torchlite has no torch.{name} yet"), error
                    else:
                        raise AssertionError(call)
            answers()
        import torchlite
        assert "torch" not in sys.modules and "never" not in vars(torchlite)
        print("fine")
    """,
        "missing.py",
    )
    assert python(program("import missing")) == "fine\n"


LOOK = '''
    import importlib, importlib.util, importlib.metadata

    def version():
        import torch
        return torch.__version__

    def look():
        """What this package sees: the version in every way, or the one error."""
        try:
            from torch import __version__ as imported
            found = {imported, version(), importlib.import_module("torch").__version__}
            found.add(importlib.metadata.version("torch"))
            assert importlib.util.find_spec("torch") is not None
        except ModuleNotFoundError as error:
            assert importlib.util.find_spec("torch") is None
            return type(error)
        return found.pop() if len(found) == 1 else found
'''


def test_scopes_and_what_they_leave_behind(program: Any) -> None:
    program(LOOK, "inner/__init__.py")
    program(LOOK, "outer/__init__.py")
    program(
        """
        __version__ = "9.9"  # stands for the real torch
        def later():
            import torch.part
            return torch.part.__name__
    """,
        "torch/__init__.py",
    )
    program("", "torch/part.py")
    program("Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n", "torch-9.9.dist-info/METADATA")
    script = program("""
        import builtins, importlib, importlib.util, os, sys
        import inner, outer
        from torchlite import alias

        def state():
            return (
                {name: id(module) for name, module in sys.modules.items() if name.split(".")[0] == "torch"},
                [*sys.path], [*sys.meta_path], dict(os.environ),
                builtins.__import__, importlib.import_module, importlib.util.find_spec,
            )

        LITE, REAL, NONE = "2.13.0+torchlite", "9.9", ModuleNotFoundError
        at_first = state()

        with alias.enable(blocked=["outer"]):
            assert (inner.look(), outer.look()) == (LITE, NONE) and alias.enabled()
            between = state()
            with alias.enable():
                import torch.optim
                assert (inner.look(), outer.look()) == (LITE, NONE)
            assert state() == between
        assert state() == at_first and not alias.enabled()

        with alias.enable(scope="inner"):
            assert (inner.look(), outer.look()) == (LITE, REAL)
            import torch
            assert torch.later() == "torch.part"

        beside = state()
        try:
            alias.enable()
        except RuntimeError as error:
            assert "already imported" in str(error)
        assert state() == beside and not alias.enabled()

        with alias.enable(coexist=True):
            assert (inner.look(), outer.look()) == (LITE, LITE)
            del sys.modules["torch.part"]
            assert torch.later() == "torch.part" and sys.modules["torch"].__version__ == REAL
            with alias.enable(coexist=True, blocked=["outer"]):
                assert (inner.look(), outer.look()) == (LITE, NONE)
        assert (inner.look(), outer.look()) == (REAL, REAL)
        assert state()[1:] == beside[1:]
        print("fine")
    """)
    assert python(script) == "fine\n"


def test_enable_and_disable() -> None:
    python("-c", dedent('''
        import sys
        from torchlite import alias
        first = alias.enable()
        alias.enable(lazy=True)
        alias.disable()
        assert alias.enabled()
        alias.enable()
        alias.disable(first)
        assert not alias.enabled() and "torch" not in sys.modules
        alias.disable()
        with alias.enable():
            alias.disable()
        assert not alias.enabled()
    '''))  # fmt: skip


def test_modules_code_and_options(program: Any, tmp_path: Path) -> None:
    program("import torch, sys\nprint(__name__, __spec__.name, sys.argv[1:], torch.ones(2).device)", "pack/__main__.py")
    program("", "pack/__init__.py")
    printed = python("-m", "torchlite", "--device", "meta", "-m", "pack", "x", "-y", PYTHONPATH=str(tmp_path))
    assert printed == "__main__ pack.__main__ ['x', '-y'] meta\n"
    assert python("-m", "torchlite", "-c", "import torch, sys; print(torch.ones(1), sys.argv)", "x") == (
        "tensor([1.]) ['-c', 'x']\n"
    )
    assert "can't open file" in python("-m", "torchlite", tmp_path / "nowhere.py", fails=True)


def test_strict_names(program: Any) -> None:
    script = program("""
        import torch, torch.nn as nn
        from torch.nn import functional as F, Linear, never
        print("running")
        def later():
            return F.relu, nn.Linear, torch.nn.functional.never(1), torch.Tensor.add, torch.cuda.is_available
    """)
    hint = "yet (docs/coverage.md lists what there is)\n"
    assert python("-m", "torchlite", "--strict-names", script, fails=True) == (
        f"{script}:3: torchlite has no torch.nn.never {hint}"
        f"{script}:6: torchlite has no torch.nn.functional.never {hint}"
    )


def test_check(program: Any, tmp_path: Path) -> None:
    program("import torch.nn as nn, torch.nowhere\ntorch.ones(2), nn.Linear, nn.never, nn.never", "pack/__init__.py")
    program(
        """
        import torch
        from typing import TYPE_CHECKING
        from .torch import mine
        if TYPE_CHECKING:
            from torch.never import Shape
        try:
            from torch.never import fast
        except (ImportError, RuntimeError):
            fast = torch.also_never
        if hasattr(torch, "maybe"):
            torch.maybe(fast)
        raise SystemExit("nothing is run")
        """,
        "pack/more.py",
    )
    program("print 'hello'", "pack/old.py")
    found = python("-m", "torchlite", "--check", tmp_path / "pack", fails=True).splitlines()
    assert found[0] == f"{tmp_path / 'pack'}: 10 names of torch used, 5 of them missing in torchlite"
    assert found[1:6] == [
        "  missing: torch.also_never  (pack/more.py:10)",
        "  missing: torch.nn.never  (pack/__init__.py:2, pack/__init__.py:2)",
        "  missing: torch.nowhere  (pack/__init__.py:1)",
        "  missing where the code expects it: torch.maybe  (pack/more.py:12)",
        "  missing where the code expects it: torch.never  (pack/more.py:6, pack/more.py:8)",
    ]
    assert found[6].startswith("  not read: pack/old.py:")
    named = python("-m", "torchlite", "--check", "pack", PYTHONPATH=str(tmp_path), fails=True)
    assert named.splitlines()[1:] == found[1:]
    fine = program("from torch import nn\nlayer = nn.Linear(2, 2)", "fine.py")
    said = python("-m", "torchlite", "--check", fine)
    assert said == f"{fine}: 2 names of torch used, 0 of them missing in torchlite\n"
    assert "no package" in python("-m", "torchlite", "--check", "never.heard_of", fails=True)


def test_modules_bear_torchs_names_and_no_name_is_taken_for_a_module(program: Any) -> None:
    script = program("""
        import warnings
        import torch, torch.nn.functional, torch.optim.lr_scheduler
        for name in ("torch.nn", "torch.nn.functional", "torch.optim.lr_scheduler", "torch.utils.data"):
            assert __import__(name, fromlist=["x"]).__name__ == name
        from torch import nothing_of_this_name
        assert isinstance(nothing_of_this_name, type)  # a placeholder, and no module
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.nn.functional.softmax(torch.ones(2))
        assert caught[0].filename == __file__
    """)
    python("-m", "torchlite", "--lazy", script)


def test_names_that_modules_have_because_they_import_them(program: Any) -> None:
    """Packages take them from there; each is the one of the module that it is from."""
    script = program("""
        from torch.distributed.fsdp.fully_sharded_data_parallel import FullOptimStateDictConfig
        from torch.distributions.categorical import probs_to_logits
        from torch.nn.modules.batchnorm import Parameter
        from torch.optim.sgd import Optimizer
        from torch import distributed, distributions, nn, optim
        assert FullOptimStateDictConfig is distributed.fsdp.FullOptimStateDictConfig
        assert probs_to_logits is distributions.utils.probs_to_logits
        assert Parameter is nn.Parameter and Optimizer is optim.Optimizer
        assert not hasattr(nn.modules.batchnorm, "Optimizer")
    """)
    python("-m", "torchlite", script)
    assert ", 0 of them missing" in python("-m", "torchlite", "--check", script)
    if importlib.util.find_spec("torch") is not None:
        python(script)


def test_a_report(program: Any) -> None:
    script = program("""
        import torch
        from torch import nn
        x = torch.ones(3, requires_grad=True)
        for _ in range(5):
            (x * 2).sum().backward()
        getattr(torch, "asked_only", None)
        try:
            nn.Missing
        except AttributeError:
            pass
    """)
    report = python("-m", "torchlite", "--report", script)
    used, rest = report.split("torchlite: 1 names missing\n")
    assert used == "torchlite: 1 names used\n  torch.ones\n"
    assert rest.startswith("  torch.nn.Missing (1×)\n")
    (row,) = (line for line in rest.splitlines() if line.split()[:1] == ["aten::mul"])
    assert row.split()[-1] == "10"  # five forward, five backward


def test_an_exception_is_shown_as_python_shows_it(program: Any) -> None:
    script = program("def f():\n    raise KeyError('here')\nf()")
    assert python("-m", "torchlite", script, fails=True) == python(script, fails=True)
    broken = program("x = (", "broken.py")
    assert python("-m", "torchlite", broken, fails=True) == python(broken, fails=True)


def test_information() -> None:
    facts = dict(line.split(":", 1) for line in python("-m", "torchlite", "--info").splitlines())
    assert facts["backend cpu"].strip() == "available"
    assert {"torchlite", "Python", "numpy", "ml_dtypes", "BLAS", "processors", "OMP_NUM_THREADS"} <= facts.keys()


@pytest.mark.parametrize("asked", (["--info"], ["--check", "numpy"], []))
def test_a_reader_may_have_read_enough(asked: list[str]) -> None:
    """As of `python -m torchlite --info | head -1`, which ends without a word."""
    gone, pipe = os.pipe()
    os.close(gone)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "torchlite", *asked]
    ended = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, env=environment)
    os.close(pipe)
    assert ended.stderr == ""


def test_anomalies_are_traced_to_the_program(program: Any) -> None:
    pytest.importorskip("torch")
    script = program("""
        import torch
        with torch.autograd.set_detect_anomaly(True):
            y = (-torch.ones(2, requires_grad=True)).sqrt().sum()
            y.backward()
    """)

    def warning(said: str) -> list[str]:
        lines = [line.strip() for line in said[: said.index("\nTraceback (most recent")].splitlines()]
        return [line for line in lines if line.startswith("File") or line.startswith("y =")]

    found = warning(python("-m", "torchlite", script, fails=True))
    assert found == warning(python(script, fails=True)) == [f'File "{script}", line 4, in <module>', found[1]]


def test_pytest_plugin(program: Any, tmp_path: Path) -> None:
    program("import torch", "conftest.py")
    program("import torch\ndef test_it(): assert torch.__version__.endswith('+torchlite')", "test_it.py")
    assert "1 passed" in python("-m", "pytest", "-q", "-p", "torchlite.alias", "-p", "no:cacheprovider", tmp_path)


def test_processes_that_one_does_not_start(program: Any, tmp_path: Path) -> None:
    """By what a shell evaluates, and by a start-up file that the user asked for."""
    show = (
        "import importlib.metadata as m; v = m.version('torch'); import torch.nn, torch;"
        "assert torch.nn.Linear; print(torch.__version__, v)"
    )
    command = f'eval "$({sys.executable} -m torchlite --shell)"; {sys.executable} -c "{show}"'
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=environment)
    assert printed.stdout == "2.13.0+torchlite 2.13.0+torchlite\n", printed.stderr
    command = f'eval "$({sys.executable} -m torchlite --shell)"; torchrun --help'
    printed = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=environment)
    assert "--nproc-per-node" in printed.stdout, printed.stderr

    python("-c", dedent(f'''
        import os, site, sys, sysconfig
        from torchlite.alias import setup
        sysconfig.get_path = lambda name: {str(tmp_path)!r}
        assert "torchlite-alias.pth" in setup.install()
        before = [*sys.path]
        site.addsitedir({str(tmp_path)!r})
        assert sys.path == [*before, {str(tmp_path)!r}]
        os.environ["TORCHLITE_ALIAS"] = "1"
        site.addsitedir({str(tmp_path)!r})
        import torch.nn
        assert torch.__version__ == "2.13.0+torchlite"
        setup.uninstall()
        assert not os.listdir({str(tmp_path)!r})
    '''))  # fmt: skip
