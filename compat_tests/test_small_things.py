"""What scripts use around the model: compile, jit, hub, futures, benchmark, versions, TensorBoard."""

from __future__ import annotations

import copy
import functools
import hashlib
import importlib
import inspect
import pickle
import subprocess
import sys
import tempfile
import typing
import warnings
from pathlib import Path
from typing import Any

import pytest

import torchlite

from .side_by_side import same_story


def part(torch: Any, name: str) -> Any:
    return importlib.import_module(f"{torch.__name__}.{name}")


def tried(call: Any, *values: Any, **named: Any) -> Any:
    try:
        return call(*values, **named)
    except Exception as error:
        return type(error).__name__, str(error)


# ---- what passes functions and modules through


def double(x: Any) -> Any:
    return x * 2


def test_compile_gives_functions_back() -> None:
    torch = torchlite
    assert torch.compile(double, mode="max-autotune") is double
    assert torch.compile()(double) is double and torch.compile(fullgraph=True, dynamic=True)(double) is double
    assert torch.compiler.disable(double) is double and torch.compiler.disable(recursive=False)(double) is double
    assert torch.compiler.allow_in_graph(double) is double and torch.compiler.assume_constant_result(double) is double
    with torch.compiler.set_stance("force_eager"):
        assert not torch.compiler.is_compiling()
    assert torch.compiler.wrap_numpy(lambda a: a + 1)(torch.ones(2)).tolist() == [2.0, 2.0]


@same_story
def test_compile_takes_a_mode_or_options(torch, tell):
    tell(tried(torch.compile, double, mode="fastest"), tried(torch.compile, 3, backend="eager"))
    torch.compile(double, mode="default", options={"a": 1})


@same_story
def test_a_compiled_module_stands_for_its_own(torch, tell):
    warnings.simplefilter("ignore")  # PyTorch's tell of global hooks, which other tests leave there
    inner = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(0.5))
    inner.kind = "plain"
    made = torch.compile(inner, backend="eager")
    tell(str(made), list(made.state_dict()), [name for name, _ in made.named_parameters()], len(made))
    tell(made._orig_mod is inner, made.kind, type(made).__name__, isinstance(made, torch.nn.Sequential))
    tell(torch.compile(disable=True)(inner) is inner, torch.compile(backend="eager")(inner)._orig_mod is inner)
    tell(made.eval() is made, inner.training, made.train().training, inner.training)
    made.kind, made.new = "other", 1
    del made.new
    tell(inner.kind, hasattr(inner, "new"), "kind" in dir(made), "_orig_mod" in dir(made))
    tell(tried(getattr, made, "none"), tried(made.load_state_dict, inner.state_dict()))
    copied = copy.deepcopy(made)
    tell(copied._orig_mod is inner, copied.kind, pickle.loads(pickle.dumps(made)).kind)
    tell(tried(bool, torch.compile(inner[0], backend="eager")))
    hooks = [each.register_forward_hook(lambda m, *_: tell(type(m).__name__)) for each in (inner, made)]
    tell(made.eval()(torch.ones(3, 2)).shape)
    for hook in hooks:
        hook.remove()


@same_story
def test_compiler_questions(torch, tell):
    warnings.simplefilter("ignore")
    compiler = part(torch, "compiler")
    tell(compiler.is_compiling(), compiler.is_exporting(), compiler.is_dynamo_compiling())
    tell(compiler.get_default_backend(), compiler.save_cache_artifacts(), compiler.cudagraph_mark_step_begin())


@same_story
def test_jit_decorators(torch, tell):
    warnings.simplefilter("ignore")  # PyTorch's say that all of it is deprecated
    jit = torch.jit
    tell(jit.ignore(double) is double, jit.ignore()(double) is double, jit.ignore(drop=True)(double) is double)
    tell(jit.unused(double) is double, jit.export(double) is double, jit.is_scripting(), jit.is_tracing())
    tell(jit.annotate(int, 3), jit.isinstance(3, int), jit.wait(jit.fork(double, torch.ones(1))))
    tell(tried(jit.script, 3), jit.set_fusion_strategy([("STATIC", 2)])[0])


@pytest.mark.parametrize(
    "asked",
    """
    [], List[int]; ["a"], List[int]; [1, "a"], List[int]; [[1]], List[List[int]]; [1], list[int]; [1.0], list[int]
    {}, Dict[str, int]; {"a": "b"}, Dict[str, int]; {"a": [1]}, Dict[str, List[int]]; (1, "a"), Tuple[int, str]
    (1, 2, 3), Tuple[int, str]; (1,), Tuple[int, ...]; (), Tuple[int]; None, Optional[int]; "a", Optional[int]
    "a", Union[int, str]; [3], int | list[int]; ["a"], Optional[List[int]]; {1}, Set[int]; [1], list; {}, Dict
    (), Tuple; None, Optional; 3, (int, List); 3, (str, List); 3, [int]; 3, 3; 3, Any; [True], List[int]
    """.strip().replace("\n", ";").split(";"),
)  # fmt: skip
def test_what_containers_hold_is_asked_for(asked):
    same_story(lambda torch, tell: eval(f"torch.jit.isinstance({asked.strip()})", {"torch": torch, **vars(typing)}))()


@same_story
def test_scripted_and_traced_give_the_same(torch, tell):
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    layer, x = torch.nn.Linear(2, 2), torch.ones(2)
    tell(torch.jit.script(layer)(x), torch.jit.trace(layer, x)(x), torch.jit.trace(double, (x,))(x))


def test_jit_refuses_what_needs_a_program(tmp_path: Path) -> None:
    for call in (lambda: torchlite.jit.save(double, tmp_path / "m.pt"), lambda: torchlite.jit.load(tmp_path / "m.pt")):
        with pytest.raises(NotImplementedError, match="torchlite has no TorchScript"):
            call()


@same_story
def test_numbers_that_could_be_symbolic(torch, tell):
    tell(torch.sym_int(3.7), torch.sym_float(3), torch.sym_not(True), torch.sym_max(3, 4.0), torch.sym_min(3, 4))
    tell(torch.sym_ite(True, 1, 2), torch.sym_sum([1, 2, 3]), torch.cond(True, double, abs, (torch.ones(2),)))


# ---- futures


@same_story
def test_futures(torch, tell):
    futures = part(torch, "futures")
    future = futures.Future()
    doubled = future.then(lambda f: f.value() * 2)
    future.add_done_callback(lambda f: tell("done", f.value()))
    tell(future.done(), doubled.done())
    future.set_result(3)
    tell(future.done(), future.wait(), doubled.wait())
    failed = future.then(lambda f: {}["no"])
    tell(type(tried(failed.wait)).__name__)
    both = futures.collect_all([future, doubled])
    tell([f.value() for f in both.wait()], futures.wait_all([future, doubled]))
    other = futures.Future()
    other.set_exception(ValueError("wrong"))
    tell(tried(other.wait), tried(other.value))


# ---- versions, types and questions


@same_story
def test_versions(torch, tell):
    version = part(torch, "torch_version").TorchVersion("2.13.0+x")
    for other in ("2.0", "2.13", "2.14", "2.13.0a0", (2, 13), (2, 14, 1), "10"):
        tell(other, version > other, version >= other, version < other)
    tell(torch.__version__ >= "2.4", torch.__version__ > (2, 9), torch.__version__ < "3", torch.__version__[:6])
    tell(torch.version.hip, torch.version.debug)


@same_story
def test_names_of_types(torch, tell):
    types = part(torch, "types")
    tell(str(types.Number), [int, float] == list(types.Number.__args__)[:2])
    tell(issubclass(torch.OutOfMemoryError, RuntimeError), torch.GradScaler is torch.amp.GradScaler)
    tell(torch.has_lapack, torch.is_distributed(torch.ones(1)), torch.is_vulkan_available())
    torch.set_anomaly_enabled(True)
    tell(torch.is_anomaly_enabled())
    torch.set_anomaly_enabled(False)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("_cslt_compress", "semi-structured"),
        ("parse_ir", "TorchScript"),
    ],
)
def test_what_is_absent_says_why(name: str, why: str) -> None:
    with pytest.raises(AttributeError, match=f"torchlite has no torch.{name}.*{why}"):
        functools.reduce(getattr, name.split("."), torchlite)


def test_layouts_that_a_function_does_not_know_are_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"not implemented for the layout torch\.sparse_coo"):
        torchlite.arange(2, layout=torchlite.sparse_coo)


def test_environment() -> None:
    said = subprocess.check_output([sys.executable, "-m", "torchlite.utils.collect_env"], text=True)
    assert "torchlite version: 2.13.0" in said and "numpy==" in said


@same_story
def test_dlpack_devices(torch, tell):
    dlpack = part(torch, "utils.dlpack")
    tell(int(dlpack.DLDeviceType.kDLCUDA), dlpack.from_dlpack(torch.ones(2)))


# ---- hub


HUBCONF = """
dependencies = ["math"]
def small(n, times=1):
    "A small one."
    return [n] * times
def _hidden(): ...
"""


@pytest.fixture
def repository(tmp_path: Path) -> str:
    (tmp_path / "hubconf.py").write_text(HUBCONF)
    return str(tmp_path)


def test_local_models(repository: str) -> None:
    torch = pytest.importorskip("torch")
    for library in (torch, torchlite):
        hub = part(library, "hub")
        assert hub.load(repository, "small", 2, source="local", times=3) == [2, 2, 2]
    for name, source in (("nothing", "local"), (3, "local"), ("small", "elsewhere")):
        wanted, found = (tried(part(lib, "hub").load, repository, name, source=source) for lib in (torch, torchlite))
        assert found == wanted
    assert torchlite.hub.list(repository, source="local") == ["small"]
    assert torchlite.hub.help(repository, "small", source="local") == "A small one."
    with pytest.raises(NotImplementedError, match="does not use the network"):
        torchlite.hub.load("pytorch/vision", "resnet18")


def test_weights_from_a_file(tmp_path: Path, capsys: Any) -> None:
    torchlite.save({"a": torchlite.ones(2)}, tmp_path / "weights.pth")
    digest = hashlib.sha256((tmp_path / "weights.pth").read_bytes()).hexdigest()
    hashed = tmp_path / f"weights-{digest[:8]}.pth"
    (tmp_path / "weights.pth").rename(hashed)
    cache = tmp_path / "cache"
    for _ in range(2):  # the second time from the cache
        state = torchlite.hub.load_state_dict_from_url(hashed.as_uri(), str(cache), check_hash=True)
        assert state["a"].tolist() == [1.0, 1.0]
    assert capsys.readouterr().err.count("Downloading") == 1
    assert [p.name for p in cache.iterdir()] == [hashed.name]
    with pytest.raises(RuntimeError, match='expected "abc"'):
        torchlite.hub.download_url_to_file(hashed.as_uri(), str(tmp_path / "other"), hash_prefix="abc")
    with pytest.raises(NotImplementedError, match="does not use the network"):
        torchlite.hub.load_state_dict_from_url("https://example.com/weights.pth", str(cache))


# ---- benchmark


def task(torch: Any, times: list[float], name: str, column: str, threads: int = 1) -> Any:
    benchmark = part(torch, "utils.benchmark")
    spec = benchmark.TaskSpec("x", "", label="L", sub_label=name, description=column, num_threads=threads)
    return benchmark.Measurement(1, times, spec)


@same_story
def test_measurements(torch, tell):
    for times in ([1.0], [1.0, 1.1], [1.1e-3, 1.2e-3, 1.15e-3, 1e-3, 1.3e-3], [1e-5 * (1 + i) for i in range(20)]):
        measurement = task(torch, times, "n", "d", 2)
        tell(measurement.mean, measurement.median, measurement.iqr, measurement.significant_figures)
        tell(measurement.has_warnings, repr(measurement).split("\n")[1:])
        tell(type(measurement).__module__.removeprefix(torch.__name__))
    merged = part(torch, "utils.benchmark").Measurement.merge([measurement, measurement])
    tell(len(merged), len(merged[0].times), merged[0].title, merged[0].as_row_name)


@same_story
def test_comparisons(torch, tell):
    rows = [("a", "one", 1e-6), ("bb", "one", 123e-6), ("a", "a longer one", 3.4e-6), ("bb", "a longer one", 0.0999)]
    compare = part(torch, "utils.benchmark").Compare([task(torch, [t], name, column) for name, column, t in rows])
    tell(str(compare))
    compare.extend_results([task(torch, [2e-6, 3e-6, 8e-6], "a", "one", 4)])
    compare.highlight_warnings()
    tell(str(compare))
    compare.trim_significant_figures()
    compare.colorize()
    tell(str(compare))
    compare.colorize(rowwise=True)
    tell(str(compare))


def test_timers() -> None:
    benchmark = torchlite.utils.benchmark
    timer = benchmark.Timer("f(x)", setup="y = torch.ones(1)", globals={"f": len, "x": [1]})
    assert timer.timeit(20).number_per_run == 20
    measured = timer.blocked_autorange(min_run_time=0.01)
    assert measured.number_per_run > 10 and 0 < measured.median < 1e-4
    assert len(timer.adaptive_autorange(min_run_time=0.005, max_run_time=0.1).times) > 3
    assert pickle.loads(pickle.dumps(measured)).times == measured.times
    with pytest.raises(ValueError, match="Currently only a `str` stmt"):
        benchmark.Timer(3)


# ---- TensorBoard


def logged(torch: Any, directory: Path) -> list[Any]:
    """What a run logs, as messages."""
    tensorboard = part(torch, "utils.tensorboard")
    torch.manual_seed(0)
    with tensorboard.SummaryWriter(directory) as writer:
        for step in range(3):
            writer.add_scalar("loss", torch.tensor(1.0 / (step + 1)), step)
        writer.add_scalar("new", 0.5, 1, new_style=True)
        writer.add_scalars("pair", {"a": 1, "b": 2}, 3)
        writer.add_histogram("normal", torch.randn(100), 1)
        writer.add_histogram("even", torch.arange(20.0), 1, bins=10)
        writer.add_text("text", "hello", 4)
        writer.add_pr_curve("curve", torch.tensor([0, 1, 1, 0]), torch.tensor([0.1, 0.9, 0.4, 0.6]), 2)
        writer.add_custom_scalars({"c": {"l": ["Multiline", ["loss", "new"]]}})
        writer.add_audio("sound", torch.arange(100.0).sin(), 1, 8000)
        writer.add_hparams({"lr": 0.1}, {"accuracy": 0.5}, run_name="run")
    loader = importlib.import_module("tensorboard.backend.event_processing.event_file_loader").LegacyEventFileLoader
    files = sorted(directory.rglob("events*"), key=lambda path: str(path.parent))
    events = [event for file in files for event in loader(str(file)).Load() if not event.file_version]
    return [(event.step, value.tag, str(value)) for event in events for value in event.summary.value]


def test_event_files(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    torch = pytest.importorskip("torch")
    assert logged(torchlite, tmp_path / "lite") == logged(torch, tmp_path / "torch")


def test_what_is_logged_has_pytorchs_arguments() -> None:
    pytest.importorskip("tensorboard")
    ours, theirs = [part(t, "utils.tensorboard").SummaryWriter for t in (torchlite, pytest.importorskip("torch"))]
    names = [
        "graph", "scalar", "tensor", "histogram", "histogram_raw", "pr_curve", "pr_curve_raw", "text", "image",
        "images", "audio",
    ]  # fmt: skip
    for name in names:
        found, wanted = [inspect.signature(getattr(w, f"add_{name}")).parameters.values() for w in (ours, theirs)]
        assert [(p.name, p.default) for p in found] == [(p.name, p.default) for p in wanted], name


def test_pictures_and_points(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    torch, tensorboard = torchlite, torchlite.utils.tensorboard
    with tensorboard.SummaryWriter(tmp_path) as writer:
        writer.add_image("one", torch.rand(3, 4, 5))
        writer.add_images("many", torch.rand(10, 1, 4, 5))
        writer.add_embedding(torch.ones(2, 3), ["a", "b"], global_step=7, tag="points")
    accumulator = importlib.import_module("tensorboard.backend.event_processing.event_accumulator").EventAccumulator
    events = accumulator(str(tmp_path)).Reload()
    assert [(e.height, e.width) for tag in ("one", "many") for e in events.Images(tag)] == [(4, 5), (8, 40)]
    assert events.Images("one")[0].encoded_image_string.startswith(b"\x89PNG")
    assert (tmp_path / "00007" / "points" / "metadata.tsv").read_text() == "a\nb\n"


class Branches(torchlite.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = torchlite.nn.Sequential(torchlite.nn.Linear(4, 4), torchlite.nn.Dropout())

    def forward(self, x: Any) -> Any:
        left, right = self.body(x).split(2, dim=1)
        return left * right.T.mean() + 1, right


def test_graphs_of_models(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    model = Branches()
    model.body[0].eval()
    with torchlite.utils.tensorboard.SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, torchlite.ones(3, 4))
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            writer.add_graph(model, torchlite.ones(3, 5))
    assert [module.training for module in model.modules()] == [True, True, False, True]
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    accumulator = importlib.import_module("tensorboard.backend.event_processing.event_accumulator").EventAccumulator
    nodes = {node.name: node for node in accumulator(str(tmp_path)).Reload().Graph().node}
    inputs = {name: list(node.input) for name, node in nodes.items()}
    box = "Branches/Sequential[body]"
    assert inputs[f"{box}/Linear[0]/linear_0"] == ["input/0", f"{box}/Linear[0]/weight", f"{box}/Linear[0]/bias"]
    assert inputs[f"{box}/Dropout[1]/dropout_1"] == [f"{box}/Linear[0]/linear_0"]
    assert inputs["Branches/split_2"] == [f"{box}/Dropout[1]/dropout_1"]
    assert inputs["Branches/T_3"] == inputs["output/1"] == ["Branches/split_2:1"]
    assert inputs["Branches/mul_5"] == ["Branches/split_2", "Branches/mean_4"]
    assert nodes["Branches/split_2"].op == "aten::split" and b"dim : 1" in nodes["Branches/split_2"].attr["attr"].s
    assert [size.size for size in nodes["Branches/mul_5"].attr["_output_shapes"].list.shape[0].dim] == [3, 2]


def test_tensorboard_must_be_installed(monkeypatch: Any) -> None:
    for name in [name for name in sys.modules if name.startswith(("tensorboard", "torchlite.utils.tensorboard"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ImportError, match="tensorboard"):
        importlib.import_module("torchlite.utils.tensorboard")


@same_story
def test_wrong_things_to_log(torch, tell):
    pytest.importorskip("tensorboard")
    directory = tempfile.TemporaryDirectory()
    writer = part(torch, "utils.tensorboard").SummaryWriter(directory.name)
    for call in (
        lambda: writer.add_scalar("x", torch.ones(2)),
        lambda: writer.add_histogram("x", torch.ones(0)),
        lambda: writer.add_hparams(3, 4),
        lambda: writer.add_hparams({"a": [1]}, {}),
        lambda: writer.add_image("x", torch.ones(3)),
    ):
        tell(tried(call))
    writer.close()
    directory.cleanup()


# ---- older names


@same_story
def test_older_comparison(torch, tell):
    compare = torch.testing.assert_allclose
    for dtype in (torch.float16, torch.float32, torch.float64, torch.int64):
        tell(tried(compare, torch.ones(2).to(dtype), torch.zeros(2).to(dtype)))
    tell(compare([1.0, 2.0], torch.tensor([1.0, 2.00001])), compare(float("nan"), float("nan")))
    compare(torch.ones(1), 1.5, rtol=0, atol=0, msg="so")


@same_story
def test_versions_of_modules(torch, tell):
    class Module:
        __version__ = "1.2.x"

    check = torch.serialization.check_module_version_greater_or_equal
    tell(check(Module, (1, 2)), check(Module, (1, 3)), check(Module, (1, 2, 3), error_if_malformed=False))
    check(Module, (1, 2, 3))


@same_story
def test_functions_that_can_be_taken_over(torch, tell):
    @part(torch, "overrides").wrap_torch_function(lambda a, b: (a,))
    def own(a, b):
        return b

    class Taking(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, args[1]

    tell(own(torch.ones(1), 3), own(torch.ones(1).as_subclass(Taking), 3))


@same_story
def test_switches_without_effect(torch, tell):
    with torch.autograd.enforce_grad_layout_policy(False), torch.autograd.grad_mode.set_multithreading_enabled(False):
        x = torch.ones(2, requires_grad=True)
        (x * 2).sum().backward()
    tell(x.grad)
