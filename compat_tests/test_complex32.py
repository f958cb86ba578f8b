"""complex32, of which PyTorch's CPU kernels are few: what they give, and what everything else is refused with."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import ml_dtypes
import pytest

import torchlite

pytestmark = pytest.mark.skipif(not hasattr(ml_dtypes, "complex32"), reason="an older ml_dtypes")

# Each is done to `h` and `k` of three elements, `m` of two by two and `z`, a complex64; thrice, since later calls of a
# form go another way than the first.
EXPRESSIONS = """
h; h[0].item(); h.tolist(); h.element_size(); h.numpy(); len(h); bool(h[2]); h.type()
h.real; h.imag; h.conj(); h.conj() * k; h.conj().resolve_conj(); h.conj_physical(); h.imag.neg()
torch.view_as_real(h); torch.view_as_complex(torch.view_as_real(h)); torch.view_as_complex(torch.ones(2, 2).half())
torch.complex(torch.ones(2).half(), torch.ones(2).half()); torch.polar(torch.ones(2).half(), torch.ones(2).half())
torch.tensor([1 + 2j], dtype=torch.complex32); torch.zeros(2, dtype=torch.chalf); torch.ones(2, dtype=torch.complex32)
torch.full((2,), 1j, dtype=torch.complex32); torch.eye(2, dtype=torch.complex32); torch.zeros_like(h); h.new_zeros(2)
torch.arange(3, dtype=torch.complex32); torch.linspace(0, 1, 3, dtype=torch.complex32)
z.chalf(); torch.ones(2).chalf(); torch.arange(3).to(torch.complex32); h.cfloat(); h.to(torch.complex128); h.bool()
h.type('torch.ComplexHalfTensor'); h.as_strided((2,), (1,)); h.unfold(0, 2, 1); m.t(); m.mH; m.reshape(4); m.diagonal()
h + k; h - k; h * k; h / k; h + 1; h * 2.5; 2 * h; h + 1j; 1 / h; -h; h.abs(); h.sgn(); h.sign(); h.angle()
h.add(k, alpha=2)
h == k; h != k; h < k; h.isnan(); h.isfinite(); h.isreal(); torch.isclose(h, h); torch.allclose(h, h); torch.equal(h, k)
h + z; z + h; h + torch.ones(3); h + torch.ones(3).half(); h * torch.ones(3).bfloat16(); h + torch.arange(3)
h + torch.tensor(1 + 1j, dtype=torch.complex128); torch.result_type(h, z); torch.can_cast(torch.complex32, torch.half)
h.exp(); h.log(); h.sqrt(); h.sin(); h.tanh(); h.sinh(); h.sigmoid(); h.reciprocal(); h.rsqrt(); h.pow(2); h ** k
2 ** h; h.square(); h.exp2(); h.floor(); h.round(); h.relu(); h.clamp(0, 1); h.maximum(k); h.fmod(k); h // k; h % k
h.sum(); m.sum(0); h.mean(); h.prod(); h.cumsum(0); h.cumprod(0); h.all(); h.any(); h.max(); h.argmax(); h.sort()
h.norm(); h.std(); h.var(); h.count_nonzero(); h.nonzero(); h.unique(); h.bincount(); h.nansum()
m @ m; m @ h[:2]; h.dot(k); torch.vdot(h, k); torch.outer(h, k); torch.bmm(m[None], m[None]); torch.addmm(m, m, m)
m.trace(); m.tril(); h.flip(0); h.roll(1); torch.cat([h, k]); torch.cat([h, z]); torch.stack([h, k]); h.repeat(2)
h[torch.tensor([0, 2])]; h[h.abs() > 1]; h.index_select(0, torch.tensor([1])); h.gather(0, torch.tensor([1]))
h.index_add(0, torch.tensor([1]), k[:1]); h.masked_fill(h.abs() > 1, 0); torch.where(h.abs() > 1, h, k)
h.take(torch.tensor([0])); h.take(torch.tensor([], dtype=torch.int64))
h.put(torch.tensor([], dtype=torch.int64), h[:0])
h.gather(0, torch.tensor([], dtype=torch.int64)); h[0].cumsum(0); h[0].cumprod(0); m.flip(0); m.flip(1); h[:1].flip(0)
h[0].flip(0); h.flip(()); h.dist(k); h.dist(k, 1); m.dist(h[:2], float('inf'))
torch.logspace(0, 1, 1, dtype=torch.chalf)
torch.linspace(0, 1, 1, dtype=torch.complex32); torch.linspace(0, 1, 0, dtype=torch.complex32)
h.clone().fill_(1 + 1j); h.clone().copy_(z); z.clone().copy_(h); h.clone().add_(k); h.clone().mul_(2); h.addcmul(h, k)
h.clone().index_add_(0, torch.tensor([1]), k[:1]); h.clone().index_add_(0, torch.tensor([0, 0]), k[:2], alpha=2)
torch.rot90(m); torch.rot90(m, 2); torch.rot90(m, 3); torch.rot90(h); torch.rot90(h[None]); torch.rot90(m, 1, (0,))
torch.rot90(m, 1, (0, 5)); torch.rot90(h[None], -1); torch.matrix_exp(m); torch.matrix_exp(m[:0, :0])
nn.functional.pairwise_distance(h, k); nn.functional.rms_norm(h, (3,)); nn.functional.triplet_margin_loss(h, k, h)
torch.linalg.matrix_norm(m, 2); torch.linalg.matrix_norm(m, 'nuc'); torch.linalg.vander(h); h.norm(1, 0); m.norm(2, 1)
h.addcdiv(h, k); h.lerp(k, 0.5); torch.fft.fft(h); torch.linalg.inv(m); torch.linalg.svd(m); h.diff(); torch.kron(h, k)
nn.functional.conv1d(h[None, None], k[None, None]); nn.functional.pad(h, (1, 1)); nn.functional.linear(m, m)
nn.functional.softmax(h, 0); h.is_complex(); h.storage().dtype; h.untyped_storage().nbytes()
torch.finfo(torch.complex32)
torch.logsumexp(z, 0).chalf(); torch.from_dlpack(torch.ones(2).chalf())
""".replace("\n", ";").split(";")
GRADIENTS = (
    "(x * x.conj()).real.sum()", "torch.view_as_real(x).sum()", "x.real.sum()", "(x * k).imag.sum()", "x.abs().sum()",
    "(x + k).to(torch.complex64).abs().sum()", "x.sum()", "(x * x).real.sum()",
)  # fmt: skip


def names(torch: Any) -> dict[str, Any]:
    z = torch.tensor([1 + 2j, -0.5 + 0.25j, 3j])
    h, k = z.to(torch.complex32), (z * 2).to(torch.complex32)
    m = torch.tensor([[1 + 2j, 2], [3j, 1]]).to(torch.complex32)
    return {"torch": torch, "nn": torch.nn, "z": z, "h": h, "k": k, "m": m}


def told(value: Any) -> Any:
    if type(value).__name__ == "Tensor":
        half = str(value.dtype) == "torch.complex32"
        return str((value.cfloat() if half else value).tolist()), str(value.dtype), tuple(value.shape), repr(value)
    if isinstance(value, (tuple, list)):
        return [told(v) for v in value]
    return repr(value)


def results(torch: Any, expression: str) -> list[Any]:
    made = []
    for _ in range(3):
        try:
            made.append(told(eval(expression, names(torch))))
        except Exception as error:
            made.append((type(error).__name__, str(error)))
    return made


@pytest.fixture
def real() -> Any:
    warnings.simplefilter("ignore")
    return pytest.importorskip("torch")


@pytest.mark.parametrize("expression", [e.strip() for e in EXPRESSIONS if e.strip()])
@pytest.mark.filterwarnings("ignore")
def test_what_is_done_to_complex32(real: Any, expression: str) -> None:
    assert results(torchlite, expression) == results(real, expression)


@pytest.mark.parametrize("loss", GRADIENTS)
@pytest.mark.filterwarnings("ignore")
def test_gradients_are_complex32(real: Any, loss: str) -> None:
    def grad(torch: Any) -> Any:
        x = names(torch)["h"].requires_grad_()
        try:
            eval(loss, names(torch) | {"x": x}).backward()
        except Exception as error:
            return type(error).__name__, str(error)
        return told(x.grad)

    assert grad(torchlite) == grad(real)


@pytest.mark.filterwarnings("ignore")
def test_files_of_complex32_travel_both_ways(real: Any, tmp_path: Any) -> None:
    path = tmp_path / "chalf.pt"
    for writer, reader in ((torchlite, real), (real, torchlite)):
        writer.save({"h": names(writer)["h"]}, path)
        assert told(reader.load(path)["h"]) == told(names(reader)["h"])


@pytest.mark.filterwarnings("ignore")
def test_random_numbers_are_those_of_pairs_of_halves(real: Any) -> None:
    for torch in (torchlite, real):
        torch.manual_seed(0)
    draws = [m.rand(4, dtype=m.complex32) for m in (torchlite, real)]
    assert told(draws[0]) == told(draws[1])


def test_a_module_keeps_complex32() -> None:
    layer = torchlite.nn.Linear(2, 2).to(torchlite.complex32)
    assert {p.dtype for p in layer.parameters()} == {torchlite.complex32}
    assert importlib.import_module("torchlite").chalf is torchlite.complex32


MAKING = (
    "torch.zeros(2, dtype=torch.chalf)", "torch.empty_like(z, dtype=torch.chalf)", "z.chalf()", "z.to(torch.complex32)",
    "torch.tensor([1j], dtype=torch.complex32)", "torch.complex(torch.ones(2).half(), torch.ones(2).half())",
    "torch.rand(2, dtype=torch.complex32)", "torch.ones(2).half()", "torch.view_as_complex(torch.ones(2, 2).half())",
)  # fmt: skip


@pytest.mark.parametrize("making", MAKING)
def test_it_is_told_that_few_functions_take_it(real: Any, making: str) -> None:
    def told_of(torch: Any) -> list[str]:
        before = torch.is_warn_always_enabled()
        torch.set_warn_always(True)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                eval(making, {"torch": torch, "z": torch.ones(2, dtype=torch.complex64)})
        finally:
            torch.set_warn_always(before)
        return [str(w.message).partition(" (Triggered")[0] for w in caught]

    assert told_of(torchlite) == told_of(real)
