"""What later random programs found to differ: values and gradients that are not finite, layouts, order of checks."""

from __future__ import annotations

import math

import pytest

import torchlite

from .side_by_side import same_story

INF, NAN = math.inf, math.nan


def _tried(tell, call):
    """Tell what a call gives, or how it fails."""
    try:
        tell(call())
    except Exception as error:
        tell(type(error).__name__, str(error).split("\n")[0])


# ---- gradients that are not finite


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    ("factors", "given"),
    [
        ([0.5, 0.0, -1.75, -0.75], [1.0, NAN, 1.0, 1.0]),
        ([0.5, 0.0, -1.75, -0.75], [1.0, 1.0, INF, 1.0]),
        ([0.5, 2.0, 0.0, 0.0], [1.0, 1.0, 1.0, NAN]),
        ([0.0, 0.0, 1.0], [1.0, 1.0, NAN]),
        ([0.0, NAN, 1.0], [1.0, 1.0, 2.0]),
        ([1.0, 0.0, NAN], [1.0, 1.0, 2.0]),
        ([1.0, 0.0, INF], [1.0, 1.0, 2.0]),
    ],
)
def test_products_after_a_zero_move_nothing_unless_differentiated_again(factors, given, create_graph):
    @same_story
    def program(torch, tell):
        x = torch.tensor(factors, requires_grad=True)
        (g,) = torch.autograd.grad(x.cumprod(0), x, torch.tensor(given), create_graph=create_graph)
        tell((g + 0.0).detach())

    program()


@pytest.mark.parametrize("name", ["var", "std", "var_mean"])
@pytest.mark.parametrize("correction", [0, 1, 2])
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_the_variance_of_a_number_along_its_dimension_is_that_of_all(name, correction):
    @same_story
    def program(torch, tell):
        x = torch.tensor(-1.0, requires_grad=True)
        made = getattr(torch, name)(x, -1, correction=correction)
        made = made[0] if name == "var_mean" else made
        (g,) = torch.autograd.grad(made, x, create_graph=True)
        tell(g.detach(), g.requires_grad)

    program()


def test_attention_of_three_dimensions_is_as_exact_as_a_softmax():
    torch = pytest.importorskip("torch")

    def gradient(library, dtype, scale):
        x = (library.arange(32, dtype=library.float64).reshape(2, 4, 4).sin() * scale).to(dtype).requires_grad_()
        made = library.nn.functional.scaled_dot_product_attention(x, x, x)
        made.backward(library.arange(32, dtype=library.float64).reshape(2, 4, 4).cos().to(dtype))
        return torch.tensor(x.grad.tolist(), dtype=torch.float64)

    for scale in (1.0, 6.0, 10.0):
        truth = gradient(torch, torch.float64, scale)
        theirs, ours = [gradient(library, library.float32, scale) - truth for library in (torch, torchlite)]
        assert ours.abs().max() <= 2 * theirs.abs().max() + 1e-7 * truth.abs().max()


# ---- where results and gradients lie in memory


@pytest.mark.parametrize("with_bias", [False, True])
def test_gradients_of_linear_lie_as_the_operands_do(with_bias):
    @same_story
    def program(torch, tell):
        for input in (torch.ones(2, 3), torch.ones(3, 2).t(), torch.ones(5, 2, 3)):
            for weight in (torch.ones(4, 3), torch.ones(3, 4).t()):
                x, w = (t.requires_grad_().view_as(t) for t in (input, weight))
                bias = torch.ones(4, requires_grad=True) if with_bias else None
                made = torch.nn.functional.linear(x, w, bias)
                for create_graph in (False, True):
                    for g in torch.autograd.grad(made.sum(), (x, w), create_graph=create_graph):
                        tell(g.detach(), g.stride())

    program()


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_draws_of_several_have_memory_of_their_own(count):
    @same_story
    def program(torch, tell):
        for weights in (torch.ones(4), torch.ones(2, 4)):
            drawn = torch.multinomial(weights, count)
            tell(drawn.shape, drawn.stride(), drawn.untyped_storage().nbytes())

    program()


def test_slices_without_elements_of_a_column_are_made_again():
    @same_story
    def program(torch, tell):
        for columns in [torch.tensor([[-0.75, -0.25]]).unbind(-1) for _ in range(3)]:  # by plan, too
            for column in columns:
                tell(column[1:], column.narrow(0, 1, 0), *column.tensor_split(2), *column[:, None].split([1, 0]))

    program()


# ---- which error comes first


@pytest.mark.parametrize("name", ["median", "nanmedian", "logcumsumexp", "nansum", "mode", "kthvalue", "cummax"])
@pytest.mark.parametrize("dtype", ["bool", "complex64", "float32"])
def test_dimensions_are_looked_at_before_dtypes(name, dtype):
    @same_story
    def program(torch, tell):
        x = torch.ones(1).to(getattr(torch, dtype))
        place = [1] if name == "kthvalue" else []
        _tried(tell, lambda: getattr(torch, name)(x, *place, dim=1))
        _tried(tell, lambda: getattr(torch, name)(x, *place, dim=-2))

    program()


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin", "gcd", "lcm", "bitwise_and", "bitwise_or"])
def test_operands_are_looked_at_before_the_memory_of_out_and_kernels_after_its_dtype(name):
    @same_story
    def program(torch, tell):
        x = torch.ones(4, dtype=torch.complex64)
        _tried(tell, lambda: getattr(torch, name)(x[0], x[0], out=x))
        y = torch.ones(2)
        _tried(tell, lambda: getattr(torch, name)(y, y, out=torch.ones(2, dtype=torch.bool)))

    program()


# ---- sizes beyond memory and beyond 64 bits


HUGE = {
    "arange": lambda torch, n: torch.arange(n),
    "linspace": lambda torch, n: torch.linspace(0, 1, n),
    "logspace": lambda torch, n: torch.logspace(0, 1, n),
    "vander": lambda torch, n: torch.vander(torch.ones(3), n),
    "triu_indices": lambda torch, n: torch.triu_indices(n, 2),
    "constant pad": lambda torch, n: torch.nn.functional.pad(torch.ones(3), (n, 0)),
    "replication pad": lambda torch, n: torch.nn.functional.pad(torch.ones(1, 3), (n, 0), "replicate"),
    "square eye": lambda torch, n: torch.eye(n),
    "an expanded matrix, computed with": lambda torch, n: torch.zeros(1).expand(n, n) + 1,
    "a storage that grows": lambda torch, n: torch.zeros(3).untyped_storage().resize_(min(n, 1 << 46)),
}


@pytest.mark.parametrize("size", [1 << 46, 1 << 61])
@pytest.mark.parametrize("name", HUGE)
def test_sizes_are_refused_before_they_are_looped_over(name, size):
    @same_story
    def program(torch, tell):
        try:
            tell(HUGE[name](torch, size))
        except RuntimeError as error:
            tell(str(error).split(":")[0].split(" with sizes")[0])

    program()
