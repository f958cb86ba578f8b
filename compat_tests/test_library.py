"""`torch.library`: operators of one's own."""

# Annotations are evaluated here: operators are declared by those of local functions.

from collections.abc import Callable
from typing import Any

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
