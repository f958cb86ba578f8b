"""`torch.library`: operators of one's own."""

# Annotations are evaluated here: operators are declared by those of local functions.

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from compat_tests.side_by_side import same_story


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (RuntimeError, AttributeError, ValueError, NotImplementedError) as error:
        return type(error).__name__, str(error).split(". ")[0]


@same_story
def test_a_function_becomes_an_operator(torch: Any, tell: Any) -> None:
    Tensor = torch.Tensor

    @torch.library.custom_op("torchlite_tests::scaled", mutates_args=())
    def scaled(x: Tensor, by: float = 2.0) -> Tensor:
        return x.clone() * by

    x = torch.ones(2, requires_grad=True)
    y = scaled(x)
    tell(y, repr(scaled), type(y.grad_fn).__name__, torch.ops.torchlite_tests.scaled(x, by=3.0))
    tell(torch.ops.torchlite_tests.scaled.default(x, 4.0), outcome(lambda: y.sum().backward()))
    for wrong in (lambda: scaled(x, 1.0, 2), lambda: torch.ops.torchlite_tests.never, lambda: torch.ops.never.never):
        tell(outcome(wrong))

    scaled.register_fake(lambda x, by=2.0: torch.empty_like(x))
    tell(scaled(torch.ones(2, device="meta")).shape)

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        tell(inputs, output)
        ctx.by = inputs[1]

    scaled.register_autograd(lambda ctx, grad: (grad * ctx.by, None), setup_context=setup)
    scaled(x, by=5.0).sum().backward()
    tell(x.grad)


@same_story
def test_kernels_by_device(torch: Any, tell: Any) -> None:
    Tensor = torch.Tensor

    @torch.library.custom_op("torchlite_tests::there", mutates_args=(), device_types="cuda")
    def there(x: Tensor) -> Tensor:
        return x + 1

    tell(outcome(lambda: there(torch.ones(1)))[0])
    there.register_kernel("cpu", lambda x: x + 5)
    tell(there(torch.ones(1)))

    @torch.library.custom_op("torchlite_tests::added", mutates_args={"x"})
    def added(x: Tensor) -> None:
        x.add_(1)

    x = torch.zeros(2)
    tell(added(x), x)


@same_story
def test_a_library_of_definitions(torch: Any, tell: Any) -> None:
    library = torch.library.Library("torchlite_defined", "DEF")
    tell(library.define("times(Tensor x, int n=2, *, str how='plainly') -> Tensor"))
    tell(outcome(lambda: torch.ops.torchlite_defined.times(torch.ones(1)))[0])
    library.impl("times", lambda x, n=2, how="plainly": x * n, "CPU")
    tell(torch.ops.torchlite_defined.times(torch.ones(1), n=5))
    more = torch.library.Library("torchlite_defined", "FRAGMENT")
    more.define("grown(Tensor x) -> Tensor")
    more.impl("grown", lambda x: x.exp(), "CompositeImplicitAutograd")
    tell(torch.ops.torchlite_defined.grown(torch.zeros(1, requires_grad=True)))
    torch.library.define("torchlite_defined::bent", "(Tensor x) -> Tensor")
    torch.library.impl("torchlite_defined::bent", "cpu", lambda x: x.sin())
    tell(torch.ops.torchlite_defined.bent(torch.ones(1)), torch.ops.aten.mm(torch.ones(1, 2), torch.ones(2, 1)))
    for wrong in (
        lambda: torch.library.Library("torchlite_defined", "NOPE"),
        lambda: torch.library.register_fake("torchlite_defined::never", lambda x: x),
    ):
        tell(outcome(wrong))


@same_story
def test_schemas_are_inferred(torch: Any, tell: Any) -> None:
    Tensor = torch.Tensor

    def f(x: Tensor, y: int = 3, *, z: bool = False, s: str = "a", o: Tensor | None = None) -> tuple[Tensor, int]:
        raise NotImplementedError

    def written(x: Tensor, others: list[Tensor]) -> None:
        raise NotImplementedError

    tell(torch.library.infer_schema(f, mutates_args=()), torch.library.infer_schema(written, mutates_args={"x"}))
    tell(outcome(lambda: torch.library.infer_schema(lambda x: x, mutates_args=())))


@same_story
def test_lists_of_tensors_have_gradients(torch: Any, tell: Any) -> None:
    Tensor = torch.Tensor

    @torch.library.custom_op("torchlite_tests::doubled", mutates_args=())
    def doubled(xs: list[Tensor]) -> list[Tensor]:
        return [x * 2 for x in xs]

    doubled.register_autograd(lambda ctx, grads: ([grad * 2 for grad in grads],))
    a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    results = doubled([a, b])
    sum(r.sum() for r in results).backward()
    tell(type(results).__name__, a.grad, b.grad)


@same_story
def test_a_batch_runs_by_its_rule_or_one_by_one(torch: Any, tell: Any) -> None:
    Tensor = torch.Tensor

    @torch.library.custom_op("torchlite_tests::sine", mutates_args=())
    def sine(x: Tensor) -> Tensor:
        return torch.from_numpy(x.numpy().copy()).sin()

    tell(torch.vmap(sine)(torch.ones(2, 3)))

    def rule(info: Any, in_dims: Any, x: Tensor) -> Any:
        tell(info.batch_size, in_dims)
        return sine(x), in_dims[0]

    sine.register_vmap(rule)
    tell(torch.vmap(sine, in_dims=1)(torch.ones(2, 3)))


@same_story
def test_what_an_operator_refuses(torch: Any, tell: Any) -> None:
    Tensor = torch.Tensor

    @torch.library.custom_op("torchlite_tests::picky", mutates_args=())
    def picky(x: Tensor, n: int, *, how: str = "well") -> Tensor:
        return x * n

    x = torch.ones(2)
    for call in (
        lambda: picky(x),
        lambda: picky(1, 2),
        lambda: picky(x, "a"),
        lambda: picky(x, 2, "a"),
        lambda: picky(x, 2, how=3),
        lambda: picky(x, 2, how="a", why=3),
    ):
        try:
            call()
        except RuntimeError as error:
            tell(str(error).split("\nCast error")[0])

    @torch.library.custom_op("torchlite_tests::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    try:
        same(x)
    except RuntimeError as error:
        tell("may not alias any inputs" in str(error))


@same_story
def test_operators_end_with_their_library(torch: Any, tell: Any) -> None:
    library = torch.library.Library("torchlite_scoped", "FRAGMENT")
    library.define("kept.first(Tensor x) -> Tensor")
    library.define("kept.second(Tensor x, str how) -> Tensor")
    library.impl("kept.first", lambda x: x + 1, "CPU")
    library.impl("kept.second", lambda x, how: x - 1, "CPU")
    kept = torch.ops.torchlite_scoped.kept
    tell(kept.overloads(), repr(kept), repr(kept.second), str(kept.first._schema), kept.first.name())
    tell(kept(torch.ones(1)), kept(torch.ones(1), "so"), outcome(lambda: kept.third))
    library._destroy()
    tell(outcome(lambda: torch.ops.torchlite_scoped.kept))
    tell(repr(torch.ops.aten.mul.Tensor), isinstance(torch.ops.aten.mul.Tensor, torch._ops.OpOverload))


@same_story
def test_overloads_of_aten_are_listed(torch: Any, tell: Any) -> None:
    aten = torch.ops.aten
    for name in ("add", "add_", "sin", "sum", "topk", "bmm", "view", "lstm", "native_layer_norm", "_softmax"):
        packet = getattr(aten, name)
        tell(name, packet.overloads(), [str(getattr(packet, overload)) for overload in packet.overloads()])
    tell(hasattr(aten.add, "Tensor"), outcome(lambda: aten.add.sum))
    x, made = torch.ones(2), torch.zeros(2)
    tell(aten.add.out(x, x, out=made), made, str(aten.exp.out._schema), str(aten.mm.out._schema))


@same_story
def test_a_kernel_above_autograd_sees_to_gradients(torch: Any, tell: Any) -> None:
    class Tripled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 3

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 7

    library = torch.library.Library("torchlite_above", "FRAGMENT")
    library.define("tripled(Tensor x) -> Tensor")
    library.impl("tripled", Tripled.apply, "Autograd")
    x = torch.ones(2, requires_grad=True)
    y = torch.ops.torchlite_above.tripled(x)
    y.sum().backward()
    tell(y, x.grad)


@same_story
def test_annotations_tell_a_schema(torch: Any, tell: Any) -> None:
    Tensor = torch.Tensor

    def fits(x: Tensor, y: Tensor | None, n: list[int], f: int | float | bool, d: torch.dtype = torch.float32, *, s: str = "a") -> tuple[Tensor, Tensor]: ...  # fmt: skip  # noqa: E501
    def no_result(x: Tensor): ...
    def starred(x: Tensor, *rest: Tensor) -> Tensor: ...
    def listed(x: Tensor, n: list[int] = [1]) -> Tensor: ...  # noqa: B006

    infer = torch.library.infer_schema
    tell(infer(fits, mutates_args=()), infer(fits, mutates_args={"x", "y"}), infer(fits, mutates_args="unknown"))
    for call in (
        lambda: infer(no_result, mutates_args=()),
        lambda: infer(starred, mutates_args=()),
        lambda: infer(listed, mutates_args=()),
        lambda: infer(fits, mutates_args={"n"}),
        lambda: infer(fits, mutates_args={"z"}),
        lambda: infer(fits, mutates_args="x"),
    ):
        tell(outcome(call))


@same_story
def test_no_namespace_is_taken(torch: Any, tell: Any) -> None:
    """A program may call its namespace as it likes: `torch.ops` has no names of its own."""
    for space in ("loss", "conv", "fold", "copy", "random", "special", "linalg", "images", "making", "norm"):
        torch.library.define(f"{space}::twice", "(Tensor x) -> Tensor")
        torch.library.impl(f"{space}::twice", "default")(lambda x: x * 2)
        tell(getattr(torch.ops, space).twice(torch.ones(2)), str(getattr(torch.ops, space).twice))
    tell([name for name in dir(torch.ops) if name in ("activation", "arithmetic", "pointwise", "shape")])


@pytest.mark.parametrize("stem", ["_C", "_C_stable"])
def test_of_torchvisions_libraries_operators_are_there(stem: str) -> None:
    """Whichever of its names the package gives its library; where none would be loaded, it could not be imported."""
    program = f"""if True:
        import torchlite as torch
        torch.ops.load_library("site-packages/torchvision/{stem}.so")
        torch.library.register_fake("torchvision::nms")(lambda dets, scores, iou_threshold: dets.new_empty(0))
        boxes = torch.tensor([[0.0, 0, 2, 2], [0, 0, 2, 2.1], [3, 3, 4, 4]])
        print(torch.ops.torchvision.nms(boxes, torch.tensor([0.5, 0.9, 0.3]), 0.5).tolist())
    """
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.split() == ["[1,", "2]"], run.stderr


def test_of_torchaudios_libraries_operators_are_there() -> None:
    """Those that its modules look up while they are imported, and what they compute."""
    program = """if True:
        import torchlite as torch
        for stem in ("_torchaudio", "libtorchaudio"):
            torch.ops.load_library(f"site-packages/torchaudio/lib/{stem}.abi3.so")
        print(torch.ops._torchaudio.cuda_version(), torch.ops._torchaudio.is_align_available())
        padded = torch.zeros(1, 2, 6)
        coefficients = torch.tensor([[0.25, -0.5, 1.0], [0.0, -1.0, 1.0]])
        torch.ops.torchaudio._lfilter_core_loop(torch.ones(1, 2, 4), coefficients, padded)
        print(padded[0].tolist())
        made, zero = torch.zeros(1, 2), torch.zeros(1)
        torch.ops.torchaudio._overdrive_core_loop(torch.ones(1, 2), torch.ones(1, 2), zero, torch.zeros(1), made)
        print([round(value, 5) for value in made[0].tolist()], zero.tolist())
    """
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.splitlines() == [
        "None False", "[[0.0, 0.0, 1.0, 1.5, 1.5, 1.375], [0.0, 0.0, 1.0, 2.0, 3.0, 4.0]]", "[1.25, 1.24625] [1.0]",
    ], run.stderr  # fmt: skip


@same_story
def test_schemas_may_say_that_a_tensor_is_written_to_without_a_name_for_its_memory(torch, tell):
    lib = torch.library.Library("compat_written", "DEF")
    for text in ("first.out(Tensor A, Tensor! out) -> ()", "second(Tensor! x, Tensor(a!) y, *, Tensor!? z) -> Tensor!"):
        lib.define(text)
    ops = torch.ops.compat_written
    for op in (ops.first.out, ops.second.default):
        schema = op._schema
        tell(str(schema), schema.is_mutable, [a.is_out for a in schema.arguments])
        infos = [a.alias_info for a in schema.arguments]
        tell([info and (info.is_write, set(info.before_set), set(info.after_set)) for info in infos])

    def fill(A, out):
        out.copy_(A + 1)

    lib.impl("first.out", fill, "CompositeExplicitAutograd")
    out = torch.zeros(2)
    ops.first.out(torch.ones(2), out)
    tell(out)


@same_story
def test_a_kernel_by_default_is_for_devices_that_have_none(torch, tell):
    lib = torch.library.Library("compat_default", "DEF")
    for text in ("with_cpu(Tensor x) -> Tensor", "without(Tensor x) -> Tensor"):
        lib.define(text)
    torch.library.register_kernel("compat_default::with_cpu", "default", lambda x: x - 1, lib=lib)
    torch.library.register_kernel("compat_default::with_cpu", "cpu", lambda x: x + 1, lib=lib)
    torch.library.register_kernel("compat_default::without", ["default"], lambda x: -x, lib=lib)
    tell(torch.ops.compat_default.with_cpu(torch.ones(2)), torch.ops.compat_default.without(torch.ones(2)))
    for device in ("nowhere", ("cpu", "nowhere")):
        with pytest.raises(RuntimeError) as refused:
            torch.library.register_kernel("compat_default::without", device, lambda x: x, lib=lib)
        tell(str(refused.value).split(", ")[0], str(refused.value).split(": ")[-1])  # between are all types
