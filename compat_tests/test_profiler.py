"""The profiler counts what PyTorch's does, by the same names, and lays it out in the same tables."""

from __future__ import annotations

import gzip
import json
import re
import threading
import time
from importlib import import_module
from typing import Any

import pytest

import torchlite
import torchlite.profiler
from torchlite.autograd import profiler

from .side_by_side import same_story

# What PyTorch's operations are made of, which torchlite computes at once.
INNER = {
    "aten::as_strided", "aten::empty", "aten::empty_like", "aten::empty_strided", "aten::fill_", "aten::copy_",
    "aten::to", "aten::_to_copy", "aten::clamp_min", "aten::transpose", "aten::resolve_conj", "detach", "aten::detach",
    "aten::ones_like",
}  # fmt: skip


def step(torch: Any, x: Any) -> None:
    y = torch.relu(x * x + 2 * x).sum()
    y.backward()


def counts(averages: Any) -> dict[str, int]:
    """How often each operation and each node was run."""
    return {
        event.key: event.count
        for event in averages
        if event.key not in INNER and "AccumulateGrad" not in event.key and not event.key.startswith("aten::add_")
    }


@same_story
def test_operations_and_nodes_are_counted(torch, tell):
    x = torch.ones(3, 3, requires_grad=True)
    module = import_module(f"{torch.__name__}.autograd.profiler")
    with module.profile() as p:
        with torch.no_grad():
            torch.mm(x, x)
            torch.cat([x, x])
            (x - 1).exp_().view(9).tanh()
        loss = (x.sin() * x.exp()).sum()
    tell(counts(p.key_averages()))
    with module.profile() as p:
        loss.backward()
    found = counts(p.key_averages())
    tell({name: n for name, n in found.items() if "Backward" in name})


@same_story
def test_stretches_have_names(torch, tell):
    module = import_module(f"{torch.__name__}.autograd.profiler")
    x = torch.ones(3)

    @module.record_function("decorated")
    def double(x):
        return x * 2

    with module.record_function("nobody listens"):
        x * x
    with module.profile() as p:
        with module.record_function("outer"):
            double(x)
            with module.record_function("inner"):
                x.exp()
        double(x)
    tell(counts(p.key_averages()))
    tell([(e.name, [child.name for child in e.cpu_children]) for e in p.function_events if e.name[:4] != "aten"])
    tell([e.cpu_parent and e.cpu_parent.name for e in p.function_events if e.name not in INNER])


@same_story
def test_times_add_up(torch, tell):
    module = import_module(f"{torch.__name__}.autograd.profiler")
    with module.profile() as p, module.record_function("sleep"):
        time.sleep(0.01)
        torch.ones(3).exp()
    whole = next(e for e in p.key_averages() if e.key == "sleep")
    total = p.total_average()
    tell(whole.cpu_time_total >= 10_000, whole.cpu_time == whole.cpu_time_total, whole.count)
    tell(0 < whole.self_cpu_time_total < whole.cpu_time_total)
    tell(p.self_cpu_time_total == pytest.approx(whole.cpu_time_total), total.key)
    tell(total.self_cpu_time_total == pytest.approx(p.self_cpu_time_total))
    tell(bool(re.fullmatch(r"\d+\.\d{3}ms", whole.cpu_time_total_str)))


@same_story
def test_shapes_are_kept_if_asked_for(torch, tell):
    module = import_module(f"{torch.__name__}.autograd.profiler")
    a, b = torch.ones(2, 3), torch.ones(3, 4)
    for record in (False, True):
        with module.profile(record_shapes=record) as p:
            a.mm(b)
            a.mm(torch.ones(3, 2))
            a * a[0]
        tell(
            [
                (e.key, e.count, e.input_shapes)
                for e in p.key_averages(group_by_input_shape=True)
                if e.key == "aten::mul"
            ]
        )
        tell(sum(e.count for e in p.key_averages() if e.key == "aten::mm"))


def table(torch: Any, **options: Any) -> list[str]:
    """A table with digits blotted out."""
    module = import_module(f"{torch.__name__}.autograd.profiler")
    x = torch.ones(3)
    with module.profile() as p, module.record_function("a stretch with a name that is longer than the column is wide"):
        time.sleep(0.002)
        x * x
        x * x
        x.exp()
    text = re.sub("(total:).*", r"\1", p.key_averages().table(**options))
    return re.sub(r" +\d+\.\d+(us|ms|s|%)", lambda m: " " * (len(m[0]) - 1) + "#", text).split("\n")


@same_story
def test_tables(torch, tell):
    tell(table(torch))
    tell(table(torch, sort_by="count")[3:4])
    tell(table(torch, sort_by="cpu_time_total", row_limit=1))
    tell(table(torch, max_name_column_width=20, header="What took long"))
    tell(table(torch, top_level_events_only=True))
    tell(table(torch, time_unit="ms"))
    with pytest.raises(AttributeError) as told:
        table(torch, sort_by="beauty")
    tell(str(told.value))


@same_story
def test_a_profile_is_used_once(torch, tell):
    module = import_module(f"{torch.__name__}.autograd.profiler")
    p = module.profile()
    tell(p.key_averages())
    with p:
        torch.ones(2).exp()
    with pytest.raises(RuntimeError) as again:
        p.__enter__()
    tell(str(again.value))
    with module.profile(enabled=False) as off:
        torch.ones(2).exp()
    tell(off)


@same_story
def test_schedules(torch, tell):
    schedule = import_module(f"{torch.__name__}.profiler").schedule
    for options in (
        {"wait": 1, "warmup": 1, "active": 2, "repeat": 1, "skip_first": 1},
        {"wait": 1, "warmup": 0, "active": 1},
        {"wait": 0, "warmup": 0, "active": 3, "repeat": 2},
        {"wait": 3, "warmup": 1, "active": 1, "skip_first": 2, "skip_first_wait": 1},
    ):
        actions = schedule(**options)
        tell([actions(i).name for i in range(14)])
    for options in ({"wait": -1, "warmup": 0, "active": 1}, {"wait": 0, "warmup": 0, "active": 0}):
        with pytest.raises(AssertionError) as told:
            schedule(**options)
        tell(str(told.value))


@same_story
def test_a_training_loop_is_profiled_step_by_step(torch, tell):
    module = import_module(f"{torch.__name__}.profiler")
    x = torch.ones(3)

    def ready(p: Any) -> None:
        tell(p.step_num, {event.key: event.count for event in p.key_averages()})

    for schedule in (
        module.schedule(wait=1, warmup=1, active=2, repeat=2),
        module.schedule(wait=0, warmup=1, active=3),
    ):
        with module.profile(activities=[module.ProfilerActivity.CPU], schedule=schedule, on_trace_ready=ready) as p:
            for _ in range(10):
                x * x
                p.step()
    with module.profile(on_trace_ready=ready) as p:
        x * x
    tell([event.name for event in p.events()], module.supported_activities() == {module.ProfilerActivity.CPU})


def test_traces_are_written(tmp_path) -> None:
    x = torchlite.ones(3)
    with profiler.profile(record_shapes=True) as p, profiler.record_function("part"):
        x * x
    p.export_chrome_trace(tmp_path / "trace.json")
    events = slices(json.loads((tmp_path / "trace.json").read_text()))
    assert [(e["name"], e["cat"]) for e in events] == [("part", "user_annotation"), ("aten::mul", "cpu_op")]
    assert events[0]["ts"] <= events[1]["ts"]
    assert events[0]["dur"] >= events[1]["dur"]
    for packed in (False, True):
        handler = torchlite.profiler.tensorboard_trace_handler(str(tmp_path / "log"), "worker", use_gzip=packed)
        with torchlite.profiler.profile(on_trace_ready=handler):
            x * x
    plain, zipped = sorted((tmp_path / "log").iterdir(), key=lambda path: len(path.name))
    assert re.fullmatch(r"worker\.\d+\.pt\.trace\.json", plain.name)
    assert slices(json.loads(plain.read_text()))[0]["name"] == "aten::mul"
    with gzip.open(zipped) as file:
        assert slices(json.load(file))[0]["name"] == "aten::mul"


def check_trace_format(trace: dict[str, Any]) -> None:
    """What Chrome's description of trace events asks of each, and Perfetto of slices: that they lie in one another."""
    needed = {
        "M": {"name", "pid", "args"}, "X": {"name", "cat", "pid", "tid", "ts", "dur"},
        "C": {"name", "pid", "ts", "args"}, "i": {"name", "pid", "tid", "ts", "s"},
        "s": {"name", "cat", "id", "pid", "tid", "ts"}, "f": {"name", "cat", "id", "pid", "tid", "ts", "bp"},
    }  # fmt: skip
    assert trace["displayTimeUnit"] in ("ms", "ns")
    around: dict[int, list[float]] = {}
    flows: dict[str, dict[int, Any]] = {"s": {}, "f": {}}
    for e in sorted(trace["traceEvents"], key=lambda e: (e.get("ts", -1), -e.get("dur", 0))):
        assert needed[e["ph"]] <= e.keys()
        for field in ("pid", "tid"):
            assert isinstance(e.get(field, 0), int) and 0 <= e.get(field, 0) < 2**32  # what Perfetto holds them in
        if e["ph"] == "X":
            assert e["ts"] >= 0 and e["dur"] >= 0
            ends = around.setdefault(e["tid"], [])
            while ends and ends[-1] <= e["ts"]:
                ends.pop()
            assert not ends or e["ts"] + e["dur"] <= ends[-1] + 1e-3
            ends.append(e["ts"] + e["dur"])
        if e["ph"] in flows:
            assert e["id"] not in flows[e["ph"]] and around[e["tid"]][-1] >= e["ts"]  # it is tied to a slice
            flows[e["ph"]][e["id"]] = e
        assert all(isinstance(n, (int, float)) for n in e["args"].values()) if e["ph"] == "C" else True
    assert flows["s"].keys() == flows["f"].keys()
    assert all(e["ts"] <= flows["f"][key]["ts"] for key, e in flows["s"].items())
    for counter in {e["name"] for e in trace["traceEvents"] if e["ph"] == "C"}:
        times = [e["ts"] for e in trace["traceEvents"] if e["ph"] == "C" and e["name"] == counter]
        assert times == sorted(times)
    named = {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["ph"] == "M"}
    assert {e["pid"] for e in trace["traceEvents"]} <= {pid for pid, _ in named}


def slices(trace: dict[str, Any]) -> list[Any]:
    check_trace_format(trace)
    return [e for e in trace["traceEvents"] if e["ph"] == "X"]


def test_traces_keep_to_their_format(tmp_path) -> None:
    """With all there is in them; forward and backward are tied together, as in PyTorch's."""
    net = torchlite.nn.Sequential(torchlite.nn.Linear(2, 3), torchlite.nn.Sequential(torchlite.nn.Linear(3, 1)))
    told = dict(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True, with_modules=True)
    with torchlite.profiler.profile(**told) as p, profiler.record_function("part"):
        net(torchlite.ones(4, 2)).relu().sum().backward()
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    seen = slices(trace)
    tied = [{e["ts"] for e in trace["traceEvents"] if e["ph"] == ph} for ph in "sf"]
    assert {"aten::linear", "aten::sum"} <= {e["name"] for e in seen if e["ts"] in tied[0]}
    assert any("SumBackward0" in e["name"] for e in seen if e["ts"] in tied[1])
    modules = [e["name"] for e in seen if e["cat"] == "python_function"]
    assert modules == [f"nn.Module: {name}" for name in ("Sequential_0", "Linear_0", "Sequential_1", "Linear_1")]
    changes = [(e["ts"], e["args"]["Total Allocated"]) for e in trace["traceEvents"] if e["name"] == "[memory]"]
    assert changes == [(e["ts"], e["args"]["bytes"]) for e in trace["traceEvents"] if e["ph"] == "C"]


@same_story
def test_traces_are_made_of_the_same_kinds_of_events(torch, tell, tmp_path):
    """Each kind that PyTorch writes of a program, with the fields that it gives them, by which viewers know them."""
    module = import_module(f"{torch.__name__}.profiler")
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    told = dict(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True, with_modules=True)
    with module.profile(**told) as p, module.record_function("part"):
        net(torch.ones(4, 2)).sum().backward()
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    own = [e for e in trace["traceEvents"] if isinstance(e["pid"], int)]  # but for what the profiler says of itself
    for kind in ("cpu_op", "python_function", "user_annotation", "fwdbwd", "cpu_instant_event"):
        of_kind = [e for e in own if e.get("cat") == kind]
        tell(kind, [(ph, sorted({*e} - {"args"})) for ph in "Xsfi" for e in [e for e in of_kind if e["ph"] == ph][:1]])
    tell({e["name"] for e in own if e["ph"] == "M"} >= {"process_name", "thread_name"}, trace["schemaVersion"])
    tell({e["tid"] for e in own if e["ph"] == "X"} <= {e["tid"] for e in own if e["name"] == "thread_name"})


@same_story
def test_floating_point_operations_are_counted(torch, tell):
    """Of what both call the same; what PyTorch counts as `addmm` is `linear` here."""
    module = import_module(f"{torch.__name__}.profiler")
    F, ones = torch.nn.functional, torch.ones
    a, b = ones(3, 4), ones(2, 3, 4)
    for call in (
        lambda: a + a[0], lambda: a[0] * a, lambda: a - a, lambda: a.mul_(2), lambda: a @ a.t(), lambda: b @ a.t(),
        lambda: a @ a[0], lambda: torch.bmm(b, b.mT), lambda: torch.addmm(ones(3), a, a.t()),
        lambda: torch.baddbmm(ones(2, 3, 3), b, b.mT), lambda: F.linear(b, a, ones(3)),
        lambda: F.linear(input=a, weight=a), lambda: F.linear(ones(2, 4), a.clone().requires_grad_()).sum().backward(),
        lambda: F.conv2d(ones(2, 4, 9, 9), ones(6, 2, 3, 3), stride=2, padding=1, dilation=2, groups=2),
        lambda: F.conv2d(ones(4, 9, 9), ones(6, 4, 3, 3)), lambda: F.conv1d(ones(2, 4, 9), ones(6, 4, 3)),
    ):  # fmt: skip
        with module.profile(with_flops=True) as p:
            call()
        tell(p.key_averages().total_average().flops)
    with module.profile(with_flops=True) as p:
        torch.bmm(ones(2, 100, 100), ones(2, 100, 100))
        a.relu()
    table = [line.split() for line in p.key_averages().table().split("\n") if "aten::bmm" in line or "FLOPs" in line]
    tell(table[0][-2:], table[1][-1])
    with module.profile() as p:
        torch.mm(a, a.t())
    tell([e.flops for e in p.events() if e.name == "aten::mm"], "FLOPs" in p.key_averages().table())


def test_modules_are_stretches() -> None:
    """Also those that fail; not those that another thread calls, nor any when the profile has ended."""
    net = torchlite.nn.Linear(2, 3)
    with profiler.profile(with_modules=True) as p:
        net(torchlite.ones(1, 2))
        with pytest.raises(RuntimeError):
            net(torchlite.ones(1, 5))
        other = threading.Thread(target=net, args=(torchlite.ones(1, 2),))
        other.start()
        other.join()
        torchlite.nn.Linear(2, 2)(torchlite.ones(1, 2))
    net(torchlite.ones(1, 2))
    calls = [e for e in p.function_events if e.name.startswith("nn.Module")]
    assert [e.name for e in calls] == ["nn.Module: Linear_0"] * 2 + ["nn.Module: Linear_1"]
    assert all(e.cpu_parent is None and e.cpu_children[0].name == "aten::linear" for e in calls)


@same_story
def test_memory_is_that_of_tensors(torch, tell):
    """Operations have what they make, and what goes between them stands alone."""
    module = import_module(f"{torch.__name__}.profiler")
    net, x = torch.nn.Linear(3, 4), torch.ones(5, 3)
    with module.profile(profile_memory=True) as p:
        y = net(x)
        z = y.relu().sum()
        del y
        z.backward()
        a = torch.zeros(1000)
        b = a + a
        c = b.view(10, 100).t()
        del a, b
        c.mul_(2)
        del c
    used = {e.key: e.cpu_memory_usage for e in p.key_averages()}
    tell({name: used[f"aten::{name}"] for name in ("linear", "relu", "zeros", "add", "mm", "view", "t", "mul_")})
    tell([e.cpu_memory_usage for e in p.events() if e.name == "[memory]" and abs(e.cpu_memory_usage) > 100])
    table = p.key_averages().table(sort_by="self_cpu_memory_usage")
    tell(table.split("\n")[1].split("  ")[-8:], re.findall(r"aten::add .*(3\.91 KB +3\.91 KB) +1 ", table))


@same_story
def test_memory_in_traces(torch, tell, tmp_path):
    module = import_module(f"{torch.__name__}.profiler")
    with module.profile(profile_memory=True) as p:
        a = torch.zeros(1000)
        b = torch.zeros(3, 100)
        del a, b
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    seen = [e for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if e["name"] == "[memory]"]
    tell([(e["ph"], e["cat"], e["s"], e["args"]["Bytes"], e["args"]["Total Allocated"]) for e in seen])
    tell(*[seen[i]["args"]["Addr"] == seen[j]["args"]["Addr"] for i, j in ((0, 2), (1, 3), (0, 1))])


@same_story
def test_memory_over_time_is_written_by_what_it_is_for(torch, tell, tmp_path):
    module = import_module(f"{torch.__name__}.profiler")
    net, x = torch.nn.Linear(30, 40), torch.ones(50, 30)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    options = {"record_shapes": True, "with_stack": True}
    with module.profile(profile_memory=True, **options) as p:
        loss = net(x).relu().sum()
        loss.backward()
        optimizer.step()
    with pytest.warns(FutureWarning, match="export_memory_timeline") as told:
        p.export_memory_timeline(str(tmp_path / "sizes.json"), device="cpu")
        p.export_memory_timeline(str(tmp_path / "sizes.json.gz"), device="cpu")
        p.export_memory_timeline(str(tmp_path / "all.raw.json.gz"), device="cpu")
    tell(str(told[0].message))
    times, sizes = json.loads((tmp_path / "sizes.json").read_text())
    assert json.loads(gzip.decompress((tmp_path / "sizes.json.gz").read_bytes())) == [times, sizes]
    tell(len(times) == len(sizes), times == sorted(times), len(sizes[0]))
    parameters, inputs, gradients = 1, 3, 6
    tell(sizes[0][parameters], sizes[0][inputs], sizes[-1][gradients])
    changes = json.loads(gzip.decompress((tmp_path / "all.raw.json.gz").read_bytes()))
    tell(sorted(c for c in changes if c[1] == 1))
    with module.profile(profile_memory=True) as p, pytest.raises(ValueError) as refused, pytest.warns(FutureWarning):
        p.export_memory_timeline(str(tmp_path / "no.json"), device="cpu")
    tell(str(refused.value))


def test_memory_over_time_is_drawn(tmp_path) -> None:
    net = torchlite.nn.Linear(30, 40)
    optimizer = torchlite.optim.Adam(net.parameters())
    with torchlite.profiler.profile(profile_memory=True, record_shapes=True, with_stack=True) as p:
        net(torchlite.ones(5, 30)).sum().backward()
        optimizer.step()
    with pytest.warns(FutureWarning):
        p.export_memory_timeline(str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert {"parameter", "optimizer_state", "gradient"} <= set(re.findall(r"&#9632; (\w+)", page))
    state = [r.nbytes for r in p.events().memory if r.allocation.category.name == "OPTIMIZER_STATE" and r.time >= 0]
    assert sum(n for n in state if n > 0) >= 2 * 4 * (30 * 40 + 40)
    assert "own memory" in p._repr_html_()


def test_memory_of_transforms_and_sparse_tensors_is_seen() -> None:
    with torchlite.profiler.profile(profile_memory=True) as p:
        torchlite.func.vmap(torchlite.sin)(torchlite.ones(1000))
        torchlite.ones(1000).to_sparse()
    assert sum(r.nbytes for r in p.events().memory) == 0
    assert {r.nbytes for r in p.events().memory} >= {4000, 8000}


@same_story
def test_one_may_be_asked_for_and_turned_off(torch, tell):
    enabled = torch.autograd._profiler_enabled
    tell(enabled(), torch.profiler.profiler._default_schedule_fn(3))
    with torch.profiler.profile():
        torch.ones(2).sin()
        tell(enabled())
    with torch.autograd.profiler.profile(use_kineto=False):
        torch.autograd._disable_profiler()
        tell(enabled())
    tell(enabled())


def test_errors_leave_nothing_on() -> None:
    x = torchlite.ones(3)
    with pytest.raises(RuntimeError), profiler.profile() as p, profiler.record_function("fails"):
        x @ torchlite.ones(2, 2) @ x
    assert all(event.time_range.end >= event.time_range.start for event in p.function_events)
    before = len(p.function_events)
    x * x
    assert len(p.function_events) == before


def test_stacks_show_who_called() -> None:
    with profiler.profile(with_stack=True) as p:
        torchlite.ones(3).exp()
    assert any("test_stacks_show_who_called" in line for line in p.function_events[-1].stack)


def test_what_is_not_recorded_says_so() -> None:
    with pytest.warns(UserWarning, match="does not record times on devices other than the CPU"):
        profiler.profile(use_device="cuda")
    with pytest.raises(NotImplementedError, match="emit_nvtx"):
        profiler.emit_nvtx()


def test_function_modes_and_subclasses_still_get_their_calls() -> None:
    seen = []

    class Spy(torchlite.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = torchlite.ones(3)
    with profiler.profile() as p, Spy():
        torchlite.exp(x)
    assert seen == ["exp"]
    assert [event.name for event in p.function_events] == ["aten::exp"]
