"""What is asked for by the names of cuDNN, MIOpen and oneDNN, by old names of sparse tensors, and of profilers."""

from __future__ import annotations

import pytest

import torchlite

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


def image(lib):
    return lib.arange(96, dtype=lib.float32).reshape(2, 3, 4, 4) / 50 - 1


def kernel(lib):
    return lib.arange(135, dtype=lib.float32).reshape(5, 3, 3, 3) / 70 - 1


SLIDING = ([0, 0], [1, 1], [1, 1], 1)
CALLS = {
    "cudnn_convolution": lambda lib: lib.cudnn_convolution(image(lib), kernel(lib), *SLIDING, False, False, True),
    "cudnn_is_acceptable": lambda lib: lib.cudnn_is_acceptable(image(lib)),
    "cudnn_grid_sampler": lambda lib: lib.cudnn_grid_sampler(image(lib), lib.zeros(2, 4, 4, 2)),
    "miopen_convolution": lambda lib: lib.miopen_convolution(image(lib), kernel(lib), None, *SLIDING, False, False),
    "mkldnn_convolution": lambda lib: lib.mkldnn_convolution(
        image(lib), kernel(lib), None, *SLIDING
    ).round(decimals=2).tolist(),
    "batch_norm_stats": lambda lib: lib.batch_norm_stats(image(lib), 1e-5),
    "values_copy": lambda lib: lib.values_copy(lib.eye(2).to_sparse_csr()).tolist(),
    "values_copy of coordinates": lambda lib: lib.values_copy(lib.eye(2).to_sparse()),
    "indices_copy": lambda lib: lib.indices_copy(lib.eye(2)),
    "crow_indices_copy": lambda lib: lib.crow_indices_copy(lib.eye(3).to_sparse_csr()).tolist(),
    "row_indices_copy": lambda lib: lib.row_indices_copy(lib.eye(2).to_sparse_csr()),
    "native_norm": lambda lib: lib.native_norm(lib.eye(3).to_sparse()).item(),
    "native_norm of what is dense": lambda lib: lib.native_norm(lib.eye(3)),
    "resize_as_sparse_": lambda lib: lib.resize_as_sparse_(
        lib.eye(2).to_sparse(), lib.zeros(4, 5).to_sparse()
    ).to_dense().tolist(),
    "resize_as_sparse_ to less": lambda lib: lib.resize_as_sparse_(
        lib.eye(3).to_sparse(), lib.zeros(2, 2).to_sparse()
    ),
    "reinforce": lambda lib: lib.ones(2).reinforce(1),
    "to_padded_tensor": lambda lib: lib.ones(2).to_padded_tensor(0.0),
    "slice_inverse": lambda lib: image(lib)[:1].slice_inverse(image(lib), 0, 0, 1, 1).tolist(),
}  # fmt: skip


def outcome(lib, call):
    try:
        return call(lib)
    except Exception as error:
        return type(error).__name__, str(error).partition("This could be")[0]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls_by_these_names_come_to_what_they_come_to_in_pytorch(call):
    assert outcome(torchlite, call) == outcome(torch, call)


def test_running_statistics_follow():
    found = []
    for lib in (torch, torchlite):
        running = lib.zeros(3), lib.ones(3)
        found.append([t.tolist() for t in (*lib.batch_norm_update_stats(image(lib), *running, 0.1), *running)])
    for real, mine in zip(*found, strict=True):
        assert mine == pytest.approx(real, rel=1e-5)


@pytest.mark.parametrize("lib", [torch, torchlite], ids=["torch", "torchlite"])
def test_profilers_count(lib):
    profiler = lib.autograd.profiler
    once, steps = profiler.EnforceUnique(), profiler.KinetoStepTracker
    once.see(1)
    with pytest.raises(RuntimeError, match=r"duplicate key: \(1,\)"):
        once.see(1)
    before = steps.current_step()
    steps.init_step_count("a")
    assert steps.increment_step("a") == before + 1 == steps.current_step()
    assert steps.erase_step_count("a") and not steps.erase_step_count("a")


@pytest.mark.parametrize("lib", [torch, torchlite], ids=["torch", "torchlite"])
def test_kernels_of_operators_are_called_by_hand(lib):
    kernel = lib.library.get_kernel("aten::sin", "CPU")
    assert kernel.call_boxed(lib._C.DispatchKeySet(lib._C.DispatchKey.CPU), lib.zeros(2)).tolist() == [0, 0]
    assert lib.library.get_kernel(lib.ops.aten.add.Tensor, "CPU") is not None
    for op, key, error in (
        ("aten::sin", "NoSuchKey", ValueError), ("aten::nothing", "CPU", RuntimeError), ("sin", "CPU", RuntimeError),
    ):  # fmt: skip
        with pytest.raises(error, match=r"Invalid dispatch key: NoSuchKey|operator (aten::nothing|sin) does not exist"):
            lib.library.get_kernel(op, key)


def test_schemas_are_read():
    text = "aten::add(Tensor a, int b=1) -> Tensor"
    assert str(torchlite.parse_schema(text)) == str(torch.parse_schema(text))


@pytest.mark.parametrize("lib", [torch, torchlite], ids=["torch", "torchlite"])
def test_annotations_of_modules_mean_something_anywhere(lib):
    class Net(lib.nn.Module):
        def forward(self, x):
            return x

    assert all(not isinstance(kind, str) for kind in Net().__annotations__.values())
