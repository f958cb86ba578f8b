"""The small modules beside the big ones, `torch.utils._device`, `torch.monitor`, …, beside PyTorch's."""

from __future__ import annotations

import datetime
import gc
import importlib
import io
from typing import Any

import pytest

from .side_by_side import same_story
from .test_data import attempt


def module(torch: Any, name: str) -> Any:
    return importlib.import_module(f"{torch.__name__}.{name}")


@same_story
def test_a_device_for_what_a_function_makes(torch, tell):
    on = module(torch, "utils._device")

    @on.set_device("meta")
    def made():
        return torch.ones(2)

    @on.set_device("meta")
    def pieces():
        yield torch.ones(1).device.type
        yield torch.zeros(1, device="cpu").device.type

    tell(made().device.type, made.__name__)
    going = pieces()
    tell(next(going), torch.ones(1).device.type, next(going), on.CURRENT_DEVICE)
    with on.DeviceContext(torch.device("meta")):
        tell(torch.ones(1).device.type)
    attempt(tell, "class", lambda: on.set_device("meta")(type("Kept", (), {})))


@same_story
def test_tensors_gathered_and_parted(torch, tell):
    helpers = module(torch, "_utils")
    tensors = [torch.ones(2, 2), torch.zeros(3)]
    flat = helpers._flatten_dense_tensors(tensors)
    tell(flat, helpers._unflatten_dense_tensors(flat, tensors))
    mixed = [torch.ones(2), torch.ones(3), torch.ones(2).double(), torch.ones(1)]
    tell([list(group) for group in helpers._take_tensors(mixed, 20)])
    tell(helpers._reorder_tensors_as([mixed[0], mixed[2]], [mixed[2], mixed[0]]))
    grouped = module(torch, "utils._foreach_utils")._group_tensors_by_device_and_dtype
    found = grouped([mixed, [None] * 4, []], with_indices=True)
    tell(sorted([str(key[1]), value] for key, value in found.items()))


@same_story
def test_devices_by_number(torch, tell):
    index = module(torch, "_utils")._get_device_index
    for args in (("cuda:1",), (3,), (None,), ("cpu",), ("cpu", False, True), (torch.device("cuda"),)):
        attempt(tell, str(args), lambda args=args: index(*args))


@same_story
def test_calls_are_shown_in_short(torch, tell):
    helpers = module(torch, "_utils")
    tell(helpers.render_call(torch.sum, [torch.ones(100)], {"dim": 0}))
    tell(helpers.render_call(torch.add, [torch.tensor(1), [torch.ones(2, 2)]], {"alpha": "a"}))
    tell(helpers.try_import("no_such_module_here"), helpers.try_import("math").pi)


def _old_sum(a, b):
    return a + b


def test_a_deprecated_function_gets_a_name_that_warns() -> None:
    from torchlite._utils_internal import deprecated

    assert deprecated()(_old_sum) is _old_sum
    try:
        with pytest.warns(UserWarning, match="old_sum is DEPRECATED"):
            assert globals()["old_sum"](1, 2) == 3
    finally:
        del globals()["old_sum"]


@same_story
def test_weak_keys_and_ordered_sets(torch, tell):
    weak = module(torch, "utils.weak")
    kept = weak.WeakTensorKeyDictionary()
    a, b = torch.ones(2), torch.ones(2)
    kept[a], kept[b] = 1, 2
    ref = weak.TensorWeakRef(b)
    tell(len(kept), kept[a], b in kept, 5 in kept, list(kept.values()), ref() is b)
    del b
    gc.collect()
    tell(len(kept), ref() is None, kept.pop(a), len(kept))
    ordered = module(torch, "utils._ordered_set").OrderedSet([3, 1, 2, 1])
    tell(str(ordered), str(ordered | {5}), str(ordered & {1, 3}), str(ordered - {1}), ordered == {1, 2, 3})
    tell(ordered.pop(), str(ordered.union([7], [3])), ordered.issubset([1, 3]), str(ordered.difference([1])))
    ordered.update([9], [1])
    attempt(tell, "hash", lambda: hash(ordered))
    tell(list(ordered), list(reversed(ordered)))


@same_story
def test_events_and_statistics(torch, tell):
    monitor = module(torch, "monitor")
    A = monitor.Aggregation
    heard: list[Any] = []
    handle = monitor.register_event_handler(heard.append)
    event = monitor.Event("began", datetime.datetime(2020, 1, 1), {"a": 1.5, "b": "x"})
    monitor.log_event(event)
    day = datetime.timedelta(days=1)
    stat = monitor.Stat("size", (A.SUM, A.MEAN, A.COUNT, A.MAX, A.MIN), day, 3)
    for value in (3, 5.5, 1, 8):
        stat.add(value)
        tell(stat.count, sorted((key.name, found) for key, found in stat.get().items()))
    rest = monitor.Stat("rest", (A.SUM,), day)
    rest.add(2)
    del rest
    monitor.unregister_event_handler(handle)
    monitor.log_event(event)
    tell([[e.name, sorted(e.data.items())] for e in heard])
    for args in (("a", 5, {}), ("a", datetime.datetime.now(), {"a": [1]})):
        with pytest.raises(TypeError, match="incompatible constructor arguments"):
            monitor.Event(*args)


@same_story
def test_settings_of_files_for_a_while(torch, tell):
    config = module(torch, "utils.serialization.config")
    serialization = module(torch, "serialization")
    with config.patch("save.storage_alignment", 4096):
        file = io.BytesIO()
        torch.save({"a": torch.ones(2)}, file)
        tell(len(file.getvalue()) > 4096, config.save.storage_alignment)

    @config.patch({"load.mmap": True, "save.compute_crc32": False})
    def inside():
        return config.load.mmap, config.save.compute_crc32

    tell(inside(), config.load.mmap, config.save.compute_crc32)
    before = config.save_config()
    config.load.mmap = True
    config.load_config(before)
    tell(config.load.mmap)
    attempt(tell, "no such", lambda: config.load.nothing)
    with serialization.skip_data():
        attempt(tell, "old", lambda: torch.save(1, io.BytesIO(), _use_new_zipfile_serialization=False))


@same_story
def test_an_optimizer_written_with_the_helpers_of_others(torch, tell):
    o = module(torch, "optim.optimizer")

    class Plain(torch.optim.Optimizer):
        def __init__(self, params, lr, differentiable=False):
            super().__init__(params, {"lr": lr, "differentiable": differentiable})

        @o._use_grad_for_differentiable
        def step(self, closure=None):
            self._cuda_graph_capture_health_check()
            for group in self.param_groups:
                params, grads = [*group["params"]], [p.grad for p in group["params"]]
                o._view_as_real(params, grads)
                for p, grad in zip(params, grads):
                    p.sub_(grad, alpha=o._get_value(group["lr"]))
            return torch.is_grad_enabled()

    params = [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2, dtype=torch.complex64))]
    for p in params:
        p.grad = torch.ones_like(p)
    tell(Plain(params, torch.tensor(0.5)).step(), params)
    tell(o._default_to_fused_or_foreach(params[:1], False, True), o._default_to_fused_or_foreach(params, True, True))
    tell(o._get_scalar_dtype(), o._to_scalar(torch.ones(1)), o._to_scalar(3.0), o._get_capturable_supported_devices())


@same_story
def test_a_schedule_written_with_the_helpers_of_others(torch, tell):
    schedules = module(torch, "optim.lr_scheduler")

    class Halving(schedules.LRScheduler):
        def get_lr(self):
            schedules._warn_get_lr_called_within_step(self)
            return [rate / 2 for rate in schedules._param_groups_val_list(self.optimizer, "lr")]

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=torch.tensor(1.0))
    halving = Halving(optimizer)
    optimizer.step()
    halving.step()
    tell(halving.get_last_lr(), halving.get_lr())
    with schedules._enable_get_lr_call(halving):
        halving.get_lr()
    attempt(tell, "too many", lambda: schedules._format_param("lr", optimizer, [1.0, 2.0]))
