"""What is said of names and devices that there are not: what was meant, or what would be needed."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import torchlite

pytestmark = pytest.mark.any_build

ROOT = Path(torchlite.__file__).parent.parent


def refusal(path: str) -> AttributeError:
    *rooms, last = path.split(".")
    at = torchlite
    for room in rooms:
        at = getattr(at, room)
    assert not hasattr(at, last)
    with pytest.raises(AttributeError) as caught:
        getattr(at, last)
    assert type(caught.value) is AttributeError
    return caught.value


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("randon", "torch.randn"),
        ("nn.Liner", "torch.nn.Linear"),
        ("nn.functional.rely", "torch.nn.functional.relu"),
        ("linalg.nrm", "torch.linalg.norm"),
        ("optim.Adm", "torch.optim.Adam"),
        ("optim.lr_scheduler.StepsLR", "torch.optim.lr_scheduler.StepLR"),
        ("utils.data.Dataloader", "torch.utils.data.DataLoader"),
        ("autograd.functional.jacobien", "torch.autograd.functional.jacobian"),
        ("func.vmpa", "torch.func.vmap"),
        # in other letters, or begun
        ("nn.Relu", "torch.nn.ReLU"),
        ("nn.functional.Relu", "torch.nn.functional.relu"),
        ("optim.ADAM", "torch.optim.Adam"),
        ("optim.Sgd", "torch.optim.SGD"),
        ("nn.functional.mse", "torch.nn.functional.mse_loss"),
        # with its letters in another order, or joined otherwise
        ("optim.Adma", "torch.optim.Adam"),
        ("optim.adam_", "torch.optim.Adam"),
        ("optim.SDG", "torch.optim.SGD"),
        ("nn.functional.crossentropy", "torch.nn.functional.cross_entropy"),
        # of that name, elsewhere
        ("Linear", "torch.nn.Linear"),
        ("cross_entropy", "torch.nn.functional.cross_entropy"),
        ("Adam", "torch.optim.Adam"),
        ("svdvals", "torch.linalg.svdvals"),
        ("nn.DataLoader", "torch.utils.data.DataLoader"),
        ("requires_grad_", "the method torch.Tensor.requires_grad_"),
    ],
)
def test_a_missing_name_says_what_was_meant(name: str, meant: str) -> None:
    error = refusal(name)
    assert str(error) == f"torchlite has no torch.{name}: did you mean {meant}?"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("parse_ir", "TorchScript"),
        ("mkldnn_max_pool2d", "torch.nn.functional computes the same"),
        ("xyzzyq", "docs/coverage.md"),
    ],
)
def test_or_why_it_is_missing(name: str, why: str) -> None:
    assert why in str(refusal(name))


def test_who_only_asks_for_a_name_waits_for_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def why(name: str) -> str:
        raise AssertionError("somebody read the message")

    monkeypatch.setattr("torchlite.absent.why", why)
    assert not hasattr(torchlite, "randon") and not hasattr(torchlite.nn.functional, "rely")
    assert getattr(torchlite.linalg, "nrm", 5) == 5


@pytest.mark.skipif(torchlite.cuda.is_available(), reason="there is a device")
@pytest.mark.parametrize(
    "call", [lambda: torchlite.ones(2, device="cuda"), lambda: torchlite.ones(2).cuda(), torchlite.cuda.synchronize]
)
def test_without_cuda_a_note_says_what_to_install(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(AssertionError) as caught:
        call()
    assert str(caught.value) == "Torch not compiled with CUDA enabled"
    assert any("CuPy" in note for note in caught.value.__notes__)


def test_packages_compiled_against_pytorch_are_told_apart() -> None:
    program = "raise ImportError('libtorch_cpu.so: cannot open shared object file', name='torch_scatter')"
    run = subprocess.run(
        [sys.executable, "-m", "torchlite", "-c", program], capture_output=True, text=True, cwd=ROOT
    )  # fmt: skip
    assert "torch_scatter is compiled against PyTorch's own C++ library, which torchlite has not" in run.stderr


@pytest.mark.parametrize("start", [[], ["-m", "torchlite"]], ids=["by its name", "as torch"])
@pytest.mark.parametrize("name", ["randon", "nn.Liner", "optim.Adm", "amp.GradScaller", "utils.chekpoint"])
def test_what_was_meant_is_told_once(name: str, start: list[str]) -> None:
    """Python would add a guess of its own where it knows the module."""
    package = "torch" if start else "torchlite"
    program = f"import {package}, {package}.amp; {package}.{name}"
    run = subprocess.run([sys.executable, *start, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert run.stderr.lower().count("did you mean") == 1, run.stderr
