"""What later random programs found to differ: values and gradients that are not finite, layouts, order of checks."""

from __future__ import annotations

import math
import warnings

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


def test_numbers_are_squeezed_along_the_dimension_that_they_count_as_having():
    @same_story
    def program(torch, tell):
        x = torch.tensor(0.5, requires_grad=True)
        for dim in (0, -1, (0,), ()):
            for create_graph in (False, True):
                (g,) = torch.autograd.grad((x * 2).squeeze(dim), x, create_graph=create_graph)
                tell(g.detach())

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


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (1,), (3, 2)])
def test_products_of_one_hand_their_gradient_on(shape):
    @same_story
    def program(torch, tell):
        x = torch.ones(shape, requires_grad=True)
        (g,) = torch.autograd.grad(x.cumprod(-1).sum(), x, create_graph=True)
        tell(g.detach(), g.requires_grad)

    program()


def test_a_view_last_written_through_forgets_where_it_led_once_memory_was_written_to_again():
    @same_story
    def program(torch, tell):
        for again in (False, True):
            x = torch.ones(1, 2, 2, requires_grad=True)
            base = x + 1
            view = base.diagonal()
            view.add_(-0.5)
            if again:
                view.detach().add_(0)
            base.detach_()
            tell([node is None for node, _ in view.grad_fn.next_functions])
            view.sum().backward()
            tell(x.grad)

    program()


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_variances_of_nothing_are_no_numbers_whatever_the_correction():
    @same_story
    def program(torch, tell):
        for made in (torch.var(torch.ones(5, 0), 1, correction=-5), *torch.std_mean(torch.ones(0), correction=-1)):
            tell(made)
        _tried(tell, lambda: torch.cov(torch.ones(2, 0), fweights=torch.ones(0, dtype=torch.int64)))

    program()


# ---- operands that have no gradient


LOSSES = {
    "logits, weight": lambda f, x, w, classes: f.binary_cross_entropy_with_logits(x, x.detach(), w),
    "logits, pos_weight": lambda f, x, w, classes: f.binary_cross_entropy_with_logits(x, x.detach(), pos_weight=w),
    "probabilities": lambda f, x, w, classes: f.binary_cross_entropy(x, x.detach(), w.expand(2, 3)),
    "margins": lambda f, x, w, classes: f.multi_margin_loss(x, classes, weight=w),
    "soft margins": lambda f, x, w, classes: f.soft_margin_loss(x, w.expand(2, 3)),
    "running statistics": lambda f, x, w, classes: f.batch_norm(x, w, w.detach(), training=True),
    "pooling": lambda f, x, w, classes: f.fractional_max_pool2d(
        x.new_ones(1, 1, 6, 6), 2, 2, _random_samples=w[:2].reshape(1, 1, 2)
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_operands_without_a_derivative_may_not_require_grad(name):
    @same_story
    def program(torch, tell):
        x, w = torch.full((2, 3), 0.5, requires_grad=True), torch.full((3,), 0.5, requires_grad=True)
        classes = torch.tensor([0, 1])
        for input, weight in ((x, w), (x.detach(), w), (x, w.detach())):
            _tried(tell, lambda input=input, weight=weight: LOSSES[name](torch.nn.functional, input, weight, classes))
        with torch.no_grad():
            _tried(tell, lambda: LOSSES[name](torch.nn.functional, x, w, classes))

    program()


def test_functions_that_nobody_differentiates_give_results_without_a_history():
    @same_story
    def program(torch, tell):
        x = torch.ones(2, requires_grad=True)
        for name in ("airy_ai", "bessel_j0", "modified_bessel_k1", "spherical_bessel_j0"):
            tell(name, getattr(torch.special, name)(x).requires_grad)
        for name in ("chebyshev_polynomial_t", "hermite_polynomial_he", "legendre_polynomial_p"):
            tell(name, getattr(torch.special, name)(x, 2).requires_grad, getattr(torch.special, name)(2, x).is_leaf)
        _tried(tell, lambda: torch.geqrf(torch.eye(2, dtype=torch.complex64, requires_grad=True)))

    program()


# ---- dtypes that kernels do not take


KERNELS = {
    "max_unpool1d": lambda torch, d: torch.nn.functional.max_unpool1d(
        torch.ones(1, 2, 4).to(d), torch.arange(4).repeat(1, 2, 1), 2
    ),
    "max_unpool2d": lambda torch, d: torch.nn.functional.max_unpool2d(
        torch.ones(1, 1, 2, 2).to(d), torch.arange(4).reshape(1, 1, 2, 2), 2
    ),
    "max_unpool2d by channels": lambda torch, d: torch.nn.functional.max_unpool2d(
        torch.ones(1, 2, 2, 2).to(d).contiguous(memory_format=torch.channels_last), torch.ones(1, 2, 2, 2).long(), 2
    ),
    "avg_pool3d": lambda torch, d: torch.nn.functional.avg_pool3d(torch.ones(1, 2, 2, 2).to(d), 2),
    "adaptive_avg_pool3d of none": lambda torch, d: torch.nn.functional.adaptive_avg_pool3d(
        torch.ones(0, 1, 4, 4, 4).to(d), 2
    ),
    "local_response_norm": lambda torch, d: torch.nn.functional.local_response_norm(torch.ones(1, 4, 3).to(d), 2),
    "local_response_norm of images": lambda torch, d: torch.nn.functional.local_response_norm(
        torch.ones(1, 4, 3, 3).to(d), 3
    ),
    "cholesky": lambda torch, d: torch.cholesky(torch.eye(2).to(d)),
    "cholesky_inverse": lambda torch, d: torch.cholesky_inverse(torch.eye(2).to(d)),
    "cholesky_solve": lambda torch, d: torch.cholesky_solve(torch.ones(2, 1).to(d), torch.eye(2).to(d)),
    "triangular_solve": lambda torch, d: torch.triangular_solve(torch.ones(2, 1).to(d), torch.eye(2).to(d))[0],
    "solve_triangular": lambda torch, d: torch.linalg.solve_triangular(
        torch.eye(2).to(d), torch.ones(2, 1).to(d), upper=True
    ),
    "lu_solve": lambda torch, d: torch.linalg.lu_solve(
        torch.eye(2).to(d), torch.tensor([1, 2], dtype=torch.int32), torch.ones(2, 1).to(d)
    ),
    "solve": lambda torch, d: torch.linalg.solve(torch.eye(2).to(d), torch.ones(2, 1).to(d)),
    "logdet": lambda torch, d: torch.logdet(torch.eye(2).to(d)),
    "bincount": lambda torch, d: torch.bincount(torch.ones(0).to(d), torch.ones(0), 1),
    "atan2_": lambda torch, d: torch.ones(3, 1).to(d).atan2_(torch.ones(3, 3).to(d)),
    "lt_": lambda torch, d: torch.ones(3, 1).to(d).lt_(torch.ones(3, 3).to(d)),
}


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float64", "complex64"])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_dtypes_without_a_kernel_are_refused_by_its_name(name, dtype):
    @same_story
    def program(torch, tell):
        _tried(tell, lambda: KERNELS[name](torch, getattr(torch, dtype)))

    program()


# ---- where results and gradients lie in memory


def test_results_lie_as_what_they_are_added_to_and_by_columns_where_systems_are_solved():
    @same_story
    def program(torch, tell):
        matrix, ones = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).t(), torch.ones(2)
        for made in (torch.addr(matrix, ones, ones), torch.addr(matrix, ones, ones, beta=0), matrix.addr(ones, ones)):
            tell(made, made.stride())
        for batch in ((2,), (3, 2), (0,)):
            made = torch.linalg.solve(torch.eye(2).expand(*batch, 2, 2) * 2, torch.ones(*batch, 2))
            tell(made, made.stride())

    program()


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


@pytest.mark.parametrize("call", ["reshape(7)", "view(7)", "repeat_interleave(2, 0)", "unsqueeze(5)", "sum(5)"])
def test_histories_that_may_not_be_asked_for_are_told_of_before_arguments(call):
    @same_story
    def program(torch, tell):
        base = torch.ones(2, requires_grad=True).clone()
        v = base.split([1, 1])[1].view(())
        base[0] = 5.0
        _tried(tell, lambda: eval(f"v.{call}", {"v": v}))
        _tried(tell, lambda: eval(f"v.{call}", {"v": v.detach()}))

    program()


@pytest.mark.parametrize("call", ["softmax", "log_softmax", "softmin", "cumsum", "cumprod"])
@pytest.mark.parametrize("dim", [0, 1])
def test_what_is_converted_before_dimensions_are_looked_at_is_told_of(call, dim):
    @same_story
    def program(torch, tell):
        x = torch.ones(2, dtype=torch.complex64)
        function = getattr(torch.nn.functional, call, None) or getattr(torch, call)
        _tried(tell, lambda: function(x, dim, dtype=torch.float32))
        if call.startswith("cum"):
            _tried(tell, lambda: getattr(x, f"{call}_")(dim, dtype=torch.float32))

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


def test_singular_values_of_infinities_are_no_numbers_and_come_to_an_end():
    @same_story
    def program(torch, tell):
        for size in (2, 5, 8):
            for place in range(size):
                matrix = torch.arange(1.0, size * size + 1, dtype=torch.float64).reshape(size, size).sin()
                matrix[place, 0] = math.inf
                batch = torch.stack([matrix, torch.eye(size, dtype=torch.float64)])
                tell(torch.linalg.svdvals(matrix), torch.norm(matrix, "nuc"), torch.linalg.svdvals(batch).isnan())

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


# ---- words of refusals


REFUSED = {
    "nanquantile of nothing": lambda torch: torch.nanquantile(torch.ones(0), 0.5),
    "nanquantile of ints": lambda torch: torch.nanquantile(torch.ones(2).int(), 0.5),
    "nanquantile beyond": lambda torch: torch.nanquantile(torch.ones(2), 2.0),
    "index_add of a number": lambda torch: torch.tensor(1.0).index_add(0, torch.ones(0).long(), torch.tensor(1.0)),
    "addmm_": lambda torch: torch.ones(2).addmm_(torch.ones(2, 2), torch.ones(2, 2)),
    "addmm_ of a larger": lambda torch: torch.ones(3, 3).addmm_(torch.ones(2, 2), torch.ones(2, 2)),
    "addmm_ of ints": lambda torch: torch.ones(2).addmm_(torch.ones(2, 2).int(), torch.ones(2, 2)),
    "addmm_ of numbers": lambda torch: torch.ones(2).addmm_(torch.ones(()), torch.ones(())),
    "addmv_": lambda torch: torch.ones(()).addmv_(torch.ones(2, 2), torch.ones(2)),
    "addmv_ of what does not fit": lambda torch: torch.ones(2).addmv_(torch.ones(2, 2), torch.ones(3)),
    "addmv of a number that does not fit": lambda torch: torch.addmv(torch.ones(()), torch.ones(2, 2), torch.ones(3)),
    "baddbmm_": lambda torch: torch.ones(2).baddbmm_(torch.ones(1, 2, 2), torch.ones(1, 2, 2)),
    "unique along a dimension": lambda torch: torch.unique(torch.ones(2).cfloat(), dim=0),
    "histogram of ints": lambda torch: torch.histogram(torch.ones(2).int(), torch.ones(3).int()),
    "too much padding": lambda torch: torch.constant_pad_nd(torch.ones(2, 3), (1, 1, 1, 1, 1, 1)),
    "polygamma": lambda torch: torch.polygamma(3, torch.ones(2).cfloat()),
    "index_reduce without what was there": lambda torch: torch.ones(3).bool().index_reduce(
        0, torch.tensor([0]), torch.ones(1).bool(), "prod", include_self=False
    ),
    "the derivative of a factorization": lambda torch: (
        torch.linalg.ldl_factor(torch.eye(2, requires_grad=True))[0].sum().backward()
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_have_torch_words(name):
    @same_story
    def program(torch, tell):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*in beta")  # which is told once in a process
            _tried(tell, lambda: REFUSED[name](torch))

    program()


# ---- nodes


@pytest.mark.parametrize("steps", ["index_add(0, i, s)", "index_add(0, i, s).clone()", "clone().index_add(0, i, s)"])
def test_nodes_that_have_kept_nothing_run_again(steps):
    @same_story
    def program(torch, tell):
        for _ in range(3):  # from the third call on, nodes are made by a plan
            x = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
            first = x.split(2, 0)[0]
            y = eval(f"first.{steps}", {"first": first, "i": torch.tensor([1, 0]), "s": first.detach() * 1.5})
            (y / (x.unsqueeze(0) * x)).sum().backward()
            _tried(tell, lambda y=y: y.backward(torch.ones_like(y)))
            tell(x.grad)

    program()


@pytest.mark.parametrize("again", [None, "v.mul_(2)"])
def test_the_node_of_what_was_written_through_has_its_place_from_then(again):
    @same_story
    def program(torch, tell):
        base = torch.tensor([1.25, 0.75, 2.0], requires_grad=True).clone()
        v = base[0]
        v.exp_()
        if again:
            exec(again)
        total = base.sum()
        total.register_hook(lambda g: tell("sum"))
        v.register_hook(lambda g: tell("view"))
        (v * total).backward()

    program()


@pytest.mark.parametrize("index", ["[True, True, True]", "[0, 1]", "[[1]]"])
def test_gradients_of_numbers_are_sums_of_everything(index):
    @same_story
    def program(torch, tell):
        value = torch.tensor(-0.25, requires_grad=True)
        y = torch.ones(3, 4, requires_grad=True) * 2
        y[torch.tensor(eval(index))] = value
        node = torch.autograd.grad(y.square().sum() + (value * y.detach()).sum(), value, create_graph=True)[0].grad_fn
        tell(type(node).__name__, [type(n).__name__ for n, _ in node.next_functions])

    program()


@pytest.mark.parametrize("write", ["random_(4)", "uniform_()", "bernoulli_(0.5)", "add_(torch.ones(5))", "fill_(1)"])
@pytest.mark.parametrize("bits", ["_neg_view()", "to(torch.complex64).conj()"])
def test_views_with_bits_are_refused_when_they_are_written_back(write, bits):
    @same_story
    def program(torch, tell):
        torch.manual_seed(0)
        t = eval(f"torch.tensor(1.25).{bits}").expand(4)
        _tried(tell, lambda: eval(f"t.{write}", {"torch": torch, "t": t}))
        tell(torch.rand(2))

    program()
