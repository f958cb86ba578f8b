"""Quantized tensors, what observes which scale they need, and layers with integer weights: beside PyTorch."""

from __future__ import annotations

import copy
import io
import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest

import torchlite

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

SMALL = [[0.1, -1.2, 3.3], [2.0, 0.5, -0.7]]


def one(lib):
    return lib.quantize_per_tensor(lib.tensor(SMALL), 0.1, 10, lib.quint8)


def many(lib):
    return lib.quantize_per_channel(lib.tensor(SMALL), lib.tensor([0.1, 0.2]), lib.tensor([0, 3]), 0, lib.qint8)


CALLS = {
    "text": lambda lib, q, c: (repr(q), repr(c)),
    "parts": lambda lib, q, c: (q.q_scale(), q.q_zero_point(), q.int_repr(), q.dequantize()),
    "parts of channels": lambda lib, q, c: (c.int_repr(), c.dequantize()),
    "channels": lambda lib, q, c: (c.q_per_channel_scales(), c.q_per_channel_zero_points(), c.q_per_channel_axis()),
    "kind": lambda lib, q, c: (str(q.dtype), str(q.layout), q.is_quantized, str(q.qscheme()), str(c.qscheme())),
    "wrong kind": lambda lib, q, c: c.q_scale(),
    "wrong kind of channels": lambda lib, q, c: q.q_per_channel_scales(),
    "not quantized": lambda lib, q, c: lib.ones(2).int_repr(),
    "views": lambda lib, q, c: (repr(q.view(3, 2)), repr(q.t()), repr(q[0]), repr(q[:, 1:]), repr(q.unsqueeze(0))),
    "views of channels": lambda lib, q, c: (repr(c[0]), repr(c[:, 1:]), repr(c.unsqueeze(0)), repr(c.clone())),
    "a view that channels have not": lambda lib, q, c: c.t(),
    "comparisons": lambda lib, q, c: (q > 1, q == q, lib.equal(q, q)),
    "maps": lambda lib, q, c: [repr(f(q)) for f in (lib.relu, lib.sigmoid, lib.tanh, lambda v: v.clamp(0, 1))],
    "order": lambda lib, q, c: (repr(q.sort()[0]), q.topk(2)[1], repr(q.max()), q.min(1)[1]),
    "joining": lambda lib, q, c: repr(lib.cat([q, lib.quantize_per_tensor(lib.tensor(SMALL), 0.2, 1, lib.quint8)])),
    "windows": lambda lib, q, c: [
        repr(m) for m in (lib.quantized_max_pool2d(q[None], [2, 2]), lib.quantized_max_pool1d(q, [2]))
    ],
    "writing": lambda lib, q, c: (repr(q.clone().fill_(1.0)), repr(q.clone().copy_(lib.ones(2, 3)))),
    "what has no kernel": lambda lib, q, c: lib.isnan(q),
    "casts": lambda lib, q, c: q.float(),
    "a wrong dtype": lambda lib, q, c: lib.quantize_per_tensor(lib.ones(2), 0.1, 1, lib.float32),
    "doubles": lambda lib, q, c: lib.quantize_per_tensor(lib.ones(2).double(), 0.1, 1, lib.quint8),
    "zero points": lambda lib, q, c: lib.quantize_per_tensor(lib.ones(2), 0.1, 300, lib.quint8),
    "too few channels": lambda lib, q, c: lib.quantize_per_channel(
        lib.ones(2, 3), lib.ones(1), lib.zeros(1).long(), 0, lib.quint8
    ),
    "numbers": lambda lib, q, c: (q[0, 0].item(), float(q[1, 0])),
    "lists": lambda lib, q, c: [t for t in lib.dequantize([q, q])],
}  # fmt: skip


def plain(lib, made):
    if isinstance(made, tuple | list):
        return [plain(lib, m) for m in made]
    return made.tolist() if isinstance(made, lib.Tensor) else made


def outcome(lib, call):
    try:
        return plain(lib, call(lib, one(lib), many(lib)))
    except Exception as error:
        return type(error).__name__, str(error).partition("This could be")[0].replace("torchlite", "torch")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_quantized_tensors_are_pytorchs(call):
    assert outcome(torchlite, call) == outcome(torch, call)


def close(call, tolerance=1e-6):
    mine, real = (call(lib) for lib in (torchlite, torch))
    for a, b in zip(mine, real, strict=True):
        a, b = (np.asarray(v.detach() if hasattr(v, "detach") else v, float) for v in (a, b))
        np.testing.assert_allclose(a, b, tolerance, tolerance)


def _observed(lib, values, symmetric, rows):
    n, low, high = (4 if rows else 1), (-128 if symmetric else 0), (127 if symmetric else 255)
    x = lib.tensor(values).reshape(4, 5).requires_grad_()
    ends = lib.full((n,), float("inf")), lib.full((n,), float("-inf"))
    scale, zero_point = lib.ones(n), lib.zeros(n, dtype=lib.int32)
    for factor in (1, 2):
        made = lib.fused_moving_avg_obs_fake_quant(
            x * factor, lib.tensor(1), lib.tensor(1), *ends, scale, zero_point, 0.01, low, high, 0, rows, symmetric
        )
    made.sum().backward()
    return *ends, scale, zero_point, made, x.grad


@pytest.mark.parametrize("seed", range(12))
def test_scales_are_those_that_pytorch_chooses(seed):
    rng = np.random.default_rng(seed)
    low, high = sorted(rng.normal(size=2) * 10.0 ** rng.integers(-6, 5))
    values = rng.uniform(low, high, 20).astype("f")
    for kind in ("quint8", "qint8"):
        for reduced in (False, True):

            def dynamic(lib, kind=kind, reduced=reduced):
                made = lib.quantize_per_tensor_dynamic(lib.tensor(values), getattr(lib, kind), reduced)
                return made.q_scale(), made.q_zero_point(), made.int_repr()

            close(dynamic)
    for symmetric in (False, True):
        for rows in (False, True):
            close(lambda lib, s=symmetric, r=rows: _observed(lib, values, s, r), 1e-5)
    close(lambda lib: lib.choose_qparams_optimized(lib.tensor(values), 20, 10, 0.3, 4), 1e-4)


def test_fake_quantization_has_pytorchs_gradients_and_refusals():
    def made(lib):
        x = lib.tensor(SMALL, requires_grad=True)
        y = lib.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 15)
        z = lib.fake_quantize_per_channel_affine(x, lib.tensor([0.1, 0.2]), lib.tensor([0, 3]).int(), 0, -8, 7)
        return y, z, *lib.autograd.grad((y + z * 2).sum(), x)

    close(made)
    for wrong in (
        lambda lib, x: lib.fake_quantize_per_tensor_affine(x, 0.1, 300, 0, 15),
        lambda lib, x: lib.fake_quantize_per_tensor_affine(x, 0.1, 0, 5, 1),
        lambda lib, x: lib.fake_quantize_per_channel_affine(x, lib.ones(1), lib.zeros(2).int(), 0, -8, 7),
        lambda lib, x: lib.fake_quantize_per_channel_affine(x, lib.ones(2), lib.zeros(2).long(), 0, -8, 7),
        lambda lib, x: lib.fake_quantize_per_tensor_affine(x.long(), 0.1, 0, 0, 15),
        lambda lib, x: lib.fake_quantize_per_channel_affine(x * 1j, lib.ones(2), lib.zeros(2).int(), 0, -8, 7),
    ):
        texts = []
        for lib in (torch, torchlite):
            with pytest.raises(RuntimeError) as raised:
                wrong(lib, lib.tensor(SMALL))
            texts.append(str(raised.value))
        assert texts[0] == texts[1]


@pytest.mark.parametrize(("kind", "gates"), [("lstm", 4), ("gru", 3), ("rnn_relu", 1), ("rnn_tanh", 1)])
def test_layers_of_eight_bits_compute_what_pytorchs_do(kind, gates):
    rng = np.random.default_rng(gates)
    x, h = rng.normal(size=(2, 5)).astype("f"), rng.normal(size=(2, 4)).astype("f")
    # Two large weights with nothing beside them make codes of the others small enough for pairs of products to fit 16
    # bits: PyTorch lets them saturate where the processor has no instruction for their sums.
    weights = [rng.normal(size=(gates * 4, n)).astype("f") for n in (5, 4)]
    for w in weights:
        w[:2, -2:] = np.outer([1, -1], [0, 2.3 * np.abs(w).max()])
    biases = [rng.normal(size=gates * 4).astype("f") for _ in range(2)]

    def made(lib):
        kept = [lib.fbgemm_linear_quantize_weight(lib.tensor(w)) for w in weights]
        codes, offsets, scales, zero_points = zip(*kept, strict=True)
        packed = [lib.fbgemm_pack_quantized_matrix(c) for c in codes]
        b = [lib.tensor(v) for v in biases]
        state = [lib.tensor(h), lib.tensor(h)] if kind == "lstm" else lib.tensor(h)
        cell = getattr(lib, f"quantized_{kind}_cell")
        result = cell(lib.tensor(x), state, *codes, *b, *packed, *offsets, *scales, *zero_points)
        half = lib.fbgemm_pack_gemm_matrix_fp16(lib.tensor(weights[0]))
        half = lib.fbgemm_linear_fp16_weight(lib.tensor(x), half, b[0])
        return *(result if kind == "lstm" else [result]), half

    close(made, 2e-3)


def files_of_each():
    """Quantized tensors and those again that each library reads of what each wrote, in both formats."""
    for new, only_weights in itertools.product((True, False), repeat=2):
        for writer, reader in itertools.product((torch, torchlite), repeat=2):
            file = io.BytesIO()
            writer.save(several(writer), file, _use_new_zipfile_serialization=new)
            file.seek(0)
            yield reader, reader.load(file, weights_only=only_weights)


def several(lib):
    table = lib.arange(6.0).view(2, 3)
    return [
        lib.quantize_per_tensor(table, 0.1, 20, lib.quint8).t(),
        lib.quantize_per_tensor(table, 0.01, 0, lib.qint32)[1:],
        lib.quantize_per_channel(table, lib.tensor([0.1, 0.2]), lib.tensor([0, 1]), 0, lib.qint8),
        lib.quantize_per_channel(table, lib.tensor([0.1, 0.2, 1.0]), lib.tensor([0.0, 1.0, 0.5]), 1, lib.quint8),
    ]  # fmt: skip


def test_quantized_tensors_are_saved_and_read_as_by_pytorch():
    for reader, found in files_of_each():
        for again, t in zip(found, several(reader), strict=True):
            assert repr(again) == repr(t) and again.stride() == t.stride() and again.qscheme() == t.qscheme()
    assert repr(pickle.loads(pickle.dumps(several(torchlite)))) == repr(several(torchlite))


def test_a_quantized_tensor_has_a_storage_of_its_own():
    told = []
    for lib in (torch, torchlite):
        t = several(lib)[0]
        module = lib.nn.Module()
        module.register_buffer("t", t)
        again = copy.deepcopy(module).t
        apart = again.data_ptr() != t.data_ptr()
        told.append((repr(again), again.stride(), apart, t.untyped_storage().nbytes(), str(t.storage().dtype)))
        told[-1] += (t.storage_type().__name__, t.untyped_storage().data_ptr() == t.data_ptr(), len(t.storage()))
    assert told[0] == told[1]


@pytest.mark.parametrize("told", [
    ("per_tensor_affine", 0.1), ("per_channel_affine", [0.1], [0], 0), ("per_channel_affine", [0.1, 0.2], [0, 1], 2),
    ("per_tensor_affine", 0.1, 0, 1), ("per_channel_affine", 0.1, 0, 0),
])  # fmt: skip
def test_quantizers_that_do_not_fit_are_refused(told):
    lib = torchlite
    t = lib.quantize_per_tensor(lib.arange(6.0).view(2, 3), 0.1, 0, lib.qint8)
    make, (storage, offset, size, stride, _, *rest) = t.__reduce_ex__(2)
    scheme, *more = told
    wrong = (getattr(lib, scheme), *[lib.tensor(v) if isinstance(v, list) else v for v in more])

    class Told:
        def __reduce__(self):
            return make, (storage, offset, size, stride, wrong, *rest)

    file = io.BytesIO()
    lib.save(Told(), file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError):
        lib.load(file)


def test_what_a_file_brings_can_be_computed_with_at_once(tmp_path):
    """Also where nothing was quantized in this process."""
    torch.save(one(torch), tmp_path / "one.pt")
    program = "import sys, torchlite; print(torchlite.load(sys.argv[1]).clone().view(3, 2).int_repr().tolist())"
    printed = subprocess.check_output([sys.executable, "-c", program, str(tmp_path / "one.pt")], text=True)
    assert printed.strip() == str(one(torch).view(3, 2).int_repr().tolist())
