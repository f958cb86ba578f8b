"""Calls that are easily refused: numbers for tensors, None for dimensions, 0-dim inputs of transforms, anomaly mode."""

from __future__ import annotations

import operator
import warnings

import pytest

import torchlite

from .side_by_side import same_story


def _tried(tell, call, *values):
    try:
        tell(call(*values))
    except (AttributeError, TypeError, ValueError, RuntimeError, IndexError, OverflowError) as error:
        tell(type(error).__name__, str(error).splitlines()[0])


@pytest.mark.parametrize("name", ["jacrev", "jacfwd", "hessian"])
def test_jacobians_of_a_number(name):
    @same_story
    def program(torch, tell):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's own, of its compiler
            for required in (False, True):
                for f in (lambda x: x**3, lambda x: (x * 2, x.sin()), lambda x: {"a": x * torch.arange(3.0)}):
                    x = torch.tensor(3.0, requires_grad=required)
                    found = torch.utils._pytree.tree_leaves(getattr(torch.func, name)(f)(x))
                    tell([(t.detach(), t.shape) for t in found])
                with torch.no_grad():
                    tell(getattr(torch.func, name)(torch.sin)(torch.tensor(0.5, requires_grad=required)))

    program()


@pytest.mark.parametrize("name", ["grad", "jacrev", "jacfwd", "hessian", "vmap(grad)"])
def test_transforms_under_anomaly_mode(name):
    @same_story
    def program(torch, tell):
        func = torch.func
        transform = (lambda f: func.vmap(func.grad(f))) if name == "vmap(grad)" else getattr(func, name)
        x = torch.arange(6.0).reshape(3, 2) + 1
        with torch.autograd.set_detect_anomaly(True):
            tell(transform(lambda x: (x**3).sum())(x))

    program()


@same_story
def test_anomaly_mode_sees_nan_inside_of_transforms(torch, tell):
    def wild(x):
        return (x.sqrt() * 0).sum()

    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("ignore")
        _tried(tell, lambda: torch.func.grad(wild)(torch.tensor([0.0, 1.0])))
        _tried(tell, lambda: torch.func.vmap(torch.func.grad(wild))(torch.tensor([[0.0, 1.0], [1.0, 2.0]])))


@same_story
def test_missing_gradients_made_zero_may_be_differentiated(torch, tell):
    x, y = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    for create in (False, True):
        found = torch.autograd.grad((x * x).sum(), [x, y], create_graph=create, materialize_grads=True)
        tell([(g.detach(), g.requires_grad, g.is_leaf) for g in found])


@same_story
def test_numbers_are_copied_as_tensors_are(torch, tell):
    for d in (torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64):
        for number in (3.7, 3, True, 1 + 2j):
            tell(torch.zeros(2, dtype=d).copy_(number))
    x = torch.zeros(2, requires_grad=True) * 1
    tell(x.copy_(other=2.0), x._version, x.grad_fn.name(), x.grad_fn.next_functions[1])
    for other in (None, [1.0], "1"):
        _tried(tell, lambda other=other: torch.zeros(2).copy_(other))


@same_story
def test_powers_of_truth_values(torch, tell):
    x = torch.tensor([True, False])
    for exponent in (True, False):
        tell(x**exponent, torch.pow(x, exponent), x.clone().pow_(exponent), torch.tensor([2, 3]) ** exponent)
        _tried(tell, lambda exponent=exponent: exponent**x)
    _tried(tell, lambda: x**x)


@same_story
def test_data_of_parameters_without_a_shape(torch, tell):
    for what in (torch.nn.LazyLinear(3).weight, torch.nn.LazyConv1d(2, 1).bias):
        tell(type(what.data) is torch.Tensor, what.data.normal_().shape, what.data.add_(1))


@same_story
def test_random_integers_like_a_tensor(torch, tell):
    x = torch.zeros(4, dtype=torch.float64)
    torch.manual_seed(0)
    tell(torch.randint_like(x, 9), torch.randint_like(x, high=9), torch.randint_like(input=x, high=9))
    tell(torch.randint_like(x, 5, 9), torch.randint_like(x, low=5, high=9), torch.randint_like(x, torch.tensor(9)))
    tell(torch.randint_like(x, high=torch.tensor(9), dtype=torch.int64))
    for wrong in ({}, {"low": 3}, {"high": 2.5}):
        with pytest.raises(TypeError):
            torch.randint_like(x, **wrong)


@same_story
def test_results_put_into_out_have_a_type_of_their_own(torch, tell):
    x = torch.tensor([[1.0, 2.0, 2.0], [3.0, 0.0, 1.0]])
    for name, more in (("mode", ()), ("sort", ()), ("max", (1,)), ("median", (1,)), ("topk", (2,)), ("cummax", (1,))):
        made = getattr(torch, name)(x, *more, out=(torch.empty(0), torch.empty(0, dtype=torch.int64)))
        tell(type(made).__name__, made.__class__.__module__, tuple(made), made[1] is made.indices)
    tell(type(torch.linalg.qr(x, out=(torch.empty(0), torch.empty(0)))).__name__)


@same_story
def test_extremes_along_no_dimension_in_particular(torch, tell):
    x = torch.arange(6.0).reshape(2, 3)
    for name in ("amax", "amin"):
        f = getattr(torch, name)
        tell(f(x, None), f(x, dim=None), f(x, dim=None, keepdim=True), getattr(x, name)(dim=None), f(x, ()))


def _walk(node):
    """A graph by the names of its nodes."""
    if node is None or node.name().endswith("AccumulateGrad"):
        return node and "leaf"
    return (node.name(), *[_walk(n) for n, _ in node.next_functions])


@pytest.mark.parametrize("shape", [(5, 4), (1, 4), (0, 4), (2, 3, 4), (2, 0, 4), (2, 1, 3, 4)], ids=str)
@pytest.mark.parametrize("required", ["iwb", "w", "ib"])
def test_the_graph_of_a_linear_map(shape, required):
    @same_story
    def program(torch, tell):
        count = 1
        for n in shape:
            count *= n
        for with_bias in (True, False):
            x, w, b = (torch.arange(n * 1.0).reshape(s) - 2 for n, s in ((count, shape), (12, (3, 4)), (3, (3,))))
            for t, name in ((x, "i"), (w, "w"), (b, "b")):
                t.requires_grad_(name in required)
            y = torch.nn.functional.linear(x, w, b if with_bias else None)
            if not y.requires_grad:
                continue
            tell(_walk(y.grad_fn))
            inputs = [t for t in (x, w, *[b] * with_bias) if t.requires_grad]
            first = torch.autograd.grad((y**3).sum(), inputs, create_graph=True)
            tell([g.detach() for g in first])
            tell(torch.autograd.grad(sum((g * g).sum() for g in first), inputs))

    program()


@same_story
def test_what_the_nodes_of_a_linear_map_saved(torch, tell):
    x, w, b = (torch.arange(n * 1.0).reshape(s).requires_grad_() for n, s in ((8, (2, 4)), (12, (3, 4)), (3, (3,))))
    node = torch.nn.functional.linear(x, w, b).grad_fn
    tell(node._saved_mat1 is x, node._saved_mat2, node._saved_alpha, node._saved_beta)
    node = torch.nn.functional.linear(x.reshape(1, 2, 4), w).grad_fn
    tell(node._saved_self_sym_sizes, node.next_functions[0][0]._saved_self, node.next_functions[0][0]._saved_mat2)


@same_story
def test_hooks_in_the_middle_of_a_linear_map(torch, tell):
    x, w, b = (torch.arange(n * 1.0).reshape(s).requires_grad_() for n, s in ((8, (2, 4)), (12, (3, 4)), (3, (3,))))
    y = torch.nn.functional.linear(x, w, b)
    turned = y.grad_fn.next_functions[2][0]
    turned.register_prehook(lambda grads: tell("into", grads) or tuple(g * 2 for g in grads))
    turned.register_hook(lambda made, given: tell("out of", made, given))
    y.sum().backward()
    tell(x.grad, w.grad, w.grad.stride(), b.grad)
    with torch.no_grad():
        y = torch.nn.functional.linear(x, w.requires_grad_(), b)
    tell(y.grad_fn)


@pytest.mark.parametrize("name", ["grad", "jacrev", "jacfwd", "hessian", "jvp", "vjp"])
def test_transforms_in_inference_mode(name):
    @same_story
    def program(torch, tell):
        func = torch.func
        calls = {
            "jvp": lambda f, x: func.jvp(f, (x,), (torch.ones_like(x),)),
            "vjp": lambda f, x: func.vjp(f, x)[1](torch.ones(())),
        }
        call = calls.get(name) or (lambda f, x: getattr(func, name)(f)(x))
        with torch.inference_mode(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for f in (lambda x: (x * x).sum(), torch.norm, lambda x: x.softmax(0)[0], lambda x: x.cumprod(0)[-1]):
                found = torch.utils._pytree.tree_leaves(call(f, torch.tensor([3.0, 4.0])))
                tell([(t, t.is_inference()) for t in found])

    program()


@same_story
def test_parameters_by_their_names(torch, tell):
    x, v = torch.ones(2, 2), torch.ones(2)
    tell(torch.mm(x, mat2=x), torch.mm(input=x, mat2=x), x.mm(mat2=x), torch.bmm(x[None], mat2=x[None]))
    tell(torch.mv(x, vec=v), torch.dot(v, tensor=v), torch.pow(x, exponent=2), torch.matmul(x, other=x))
    tell(torch.roll(x, 1, dims=None), torch.nn.functional.avg_pool2d(x[None], 2, stride=None), x.amin(dim=None))


@pytest.mark.parametrize("low", ["bfloat16", "float16"])
def test_autocast_of_what_has_no_low_precision(low):
    @same_story
    def program(torch, tell):
        a = (torch.eye(3) * 2 + 0.5).to(getattr(torch, low))
        with torch.autocast("cpu", dtype=getattr(torch, low)), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            linalg = torch.linalg
            for f in (linalg.inv, linalg.cholesky, linalg.svdvals, linalg.eigvalsh, linalg.qr, torch.lu, torch.svd):
                made = f(a)
                tell([t.dtype for t in made] if isinstance(made, tuple) else made.dtype)
            tell(linalg.solve(a, a).dtype, linalg.lstsq(a, a)[0].dtype, torch.quantile(a, 0.5).dtype)
            q = torch.ones(1, 2, 3, 4)
            attention = torch.nn.functional.scaled_dot_product_attention
            tell(attention(q, q, q).dtype, attention(q.to(getattr(torch, low)), q, q.double().float()).dtype)

    program()


@same_story
def test_imaginary_parts_are_not_lost_in_silence(torch, tell):
    z = torch.tensor([1 + 2j, 3j])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for lose in (z.float, z.long, lambda: torch.zeros(2).copy_(z), lambda: z.sum(dtype=torch.float32)):
            lose()
            tell([(w.category.__name__, str(w.message).partition(" (Trig")[0]) for w in seen])
        seen.clear()
        z.bool(), z.to(torch.complex128), torch.zeros(0, dtype=torch.complex64).float()
        (torch.ones(2, requires_grad=True) * z).sum().real.backward()
        tell(len(seen))


@same_story
def test_new_random_tensors_have_not_been_written_to(torch, tell):
    x = torch.zeros(3)
    tell([t._version for t in (torch.rand(3), torch.randn(2, 0), torch.randint(3, (3,)), torch.randperm(3))])
    tell([t._version for t in (torch.rand_like(x), torch.randn_like(x), torch.randint_like(x, 3))])
    tell(x.normal_()._version, torch.rand(3, out=x)._version, torch.nn.Linear(2, 2).weight._version)


@same_story
def test_nodes_lead_to_what_has_a_derivative(torch, tell):
    x, w = torch.ones(3, 2, requires_grad=True), torch.ones(2, requires_grad=True)
    places = torch.zeros(3, 2, dtype=torch.int64)
    functional = torch.nn.functional
    for made in (
        x.scatter_reduce(0, places, x, "amax"), x.lerp(x, 0.5), torch.copysign(x, 2.0), functional.prelu(x, w),
        functional.batch_norm(x, torch.zeros(2), torch.ones(2), w, w), torch.linalg.solve(torch.eye(3), x),
        torch.linalg.cholesky(x.t() @ x + torch.eye(2)), torch.quantile(x, 0.3, 0, keepdim=True),
        functional.embedding_bag(places, x), torch.masked.sum(x, 0, mask=x > 0),
    ):  # fmt: skip
        tell(made.grad_fn.name(), [n and n.name() for n, _ in made.grad_fn.next_functions], made.stride())


@same_story
def test_out_again_and_again(torch, tell):
    x, m = torch.arange(3.0), torch.ones(2, 3)
    for _ in range(4):
        tell(torch.amax(x, 0, out=torch.empty(())), torch.addcmul(x, x, x, out=torch.empty(3)))
        tell(torch.mv(m, x, out=torch.empty(2)), torch.sum(x, 0, out=torch.empty(())))
        tell(torch.cat([x, x], out=torch.empty(6)), torch.softmax(x, 0, out=torch.empty(3)), x.take(x.long()))


@same_story
def test_strides_of_what_is_made_of_transposed_tensors(torch, tell):
    functional = torch.nn.functional
    x, image = torch.ones(4, 6).t(), torch.ones(2, 4, 3, 3).to(memory_format=torch.channels_last)
    for _ in range(3):  # the second time a call of some form is planned, and the third made by the plan
        tell(functional.glu(x, 0).stride(), functional.glu(x, 1).stride(), functional.glu(image, 1).stride())
        block = torch.ones(3, 2, 4).transpose(0, 2)
        tell(functional.rms_norm(block, (3,)).stride(), functional.rms_norm(x, (4,), torch.ones(4)).stride())
        tell(functional.batch_norm(block, torch.zeros(2), torch.ones(2)).stride(), torch.mvlgamma(x + 2, 2).stride())
        tell(torch.select_scatter(x, torch.zeros(4), 0, 1).stride(), torch.diagonal_scatter(x, torch.zeros(4)).stride())
        tell(x.gather(0, torch.zeros(4, 6, dtype=torch.int64).t()).stride())


@same_story
def test_conversions_are_one_node(torch, tell):
    x = torch.ones(2, 3, 4, 4, requires_grad=True)
    for options in (
        {"dtype": torch.float64, "memory_format": torch.channels_last}, {"dtype": torch.float32, "copy": True},
        {"dtype": torch.float32, "memory_format": torch.channels_last}, {"dtype": torch.float32},
    ):  # fmt: skip
        made = x.to(**options)
        tell(made is x, made.stride(), made.grad_fn and (made.grad_fn.name(), made.grad_fn.next_functions[0][0].name()))


@same_story
def test_ints_beyond_64_signed_bits_promote_as_uint64(torch, tell):
    big = 2**63
    calls = (
        lambda x: x + big, lambda x: big * x, lambda x: x | big, lambda x: x / big, lambda x: x == big,
        lambda x: torch.where(x > 0, x, big), lambda x: torch.result_type(x, big),
        lambda x: torch.add(x, x, alpha=big),
    )  # fmt: skip
    for x in (torch.tensor([True]), torch.tensor(True), torch.tensor([1]), torch.ones(2, dtype=torch.bfloat16)):
        for call in calls:
            _tried(tell, call, x)
    _tried(tell, lambda: torch.tensor([1]) ** big)
    for value in (300, -1, 1e5, 1e39):
        for dtype in (torch.uint8, torch.int8, torch.float16, torch.float32):
            _tried(tell, torch.where, torch.tensor([True, False]), torch.ones(2, dtype=dtype), value)


@same_story
def test_one_number_is_filled_in_by_masks_of_bool_alone(torch, tell):
    mask = torch.tensor([1, 0, 1, 0], dtype=torch.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in (7.0, torch.tensor(7.0), torch.tensor([7.0, 8.0])):
            for places in (mask, mask[:3]):
                x = torch.arange(4.0)
                _tried(tell, x.__setitem__, places, value)
                tell(x)
        _tried(tell, lambda: torch.arange(4.0).index_put((mask,), torch.tensor(3.0), accumulate=True))
        tell(torch.arange(4.0)[mask])


@same_story
def test_take_along_dim_goes_round_a_dimension_alone(torch, tell):
    x = torch.arange(12.0).view(3, 4)
    for i in (-13, -5, -1, 0, 3, 4, 12):
        _tried(tell, torch.take_along_dim, x, torch.tensor([[i], [0], [1]]), 1)
        _tried(tell, torch.take_along_dim, x, torch.tensor([i]))
    _tried(tell, torch.take_along_dim, torch.tensor(3.0), torch.tensor(0), 0)


OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "lshift", "matmul")


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_leave_what_they_cannot_take_to_the_other_operand(name):
    @same_story
    def program(torch, tell):
        class Other:
            def __radd__(self, other):
                return "added"

        Other.__rsub__ = Other.__rmul__ = Other.__rtruediv__ = Other.__rpow__ = Other.__rmatmul__ = Other.__radd__
        x = torch.arange(1, 4) if name in ("and", "or", "lshift") else torch.arange(1.0, 4.0)
        plain, in_place = getattr(operator, f"__{name}__"), getattr(operator, f"__i{name}__")
        for other in (Other(), "a", None, [1]):
            _tried(tell, plain, x, other)
            _tried(tell, plain, other, x)
            _tried(tell, in_place, x, other)
        for form in ("r", "i"):
            method = getattr(x, f"__{form}{name}__", None)
            if method is not None:
                tell(method("a") is NotImplemented)
        tell(getattr(x, f"__r{name}__")(x, x) is NotImplemented)

    program()


@same_story
def test_handlers_are_told_of_the_method_behind_an_operator(torch, tell):
    told = []

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            told.append(func)
            return torch.ones(3)

    x = torch.ones(3).as_subclass(Sub)
    methods = {"add": "add", "radd": "add", "iadd": "add_", "sub": "sub", "mul": "mul", "imul": "mul_", "lt": "lt",
               "truediv": "div", "mod": "remainder", "ror": "bitwise_or", "or": "__or__", "eq": "__eq__"}  # fmt: skip
    for operator_name, method in methods.items():
        getattr(x, f"__{operator_name}__")(1)
        tell(told.pop() == getattr(torch.Tensor, method))


@pytest.mark.parametrize(
    "call",
    [
        "sparse.storage_type()",
        "sparse.double(memory_format=torch.contiguous_format)",
        "sparse.short(memory_format=torch.channels_last)",
        "sparse.float(memory_format=torch.contiguous_format).dtype",
        "torch.sparse_csc_tensor(torch.zeros(4), torch.zeros(1, 2), [2, 3])",
        "torch.sparse_csr_tensor(torch.zeros(1, 2, 2), torch.zeros(1, 2, 2), [2, 3])",
        "torch.sparse_bsc_tensor(torch.zeros(2), torch.zeros(()), [])",
        "torch.eye(3).to_sparse_bsc([1, 1, 1])",
        "torch.eye(3).cuda('cpu')",
        "torch.fbgemm_linear_quantize_weight(torch.ones(2, 2, dtype=torch.uint8))",
        "torch.parse_schema(3)",
        "torch.unravel_index(torch.tensor([0, 3]), torch.zeros(0))",
    ],
)
def test_what_was_accepted_in_silence(call):
    @same_story
    def program(torch, tell):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _tried(tell, lambda: eval(call, {"torch": torch, "sparse": torch.eye(3).to_sparse()}))

    program()


def test_more_dimensions_than_an_array_can_have():
    with pytest.raises(RuntimeError, match="only tensors with up to 64 dims are supported"):
        torchlite.zeros((1,) * 65)


@same_story
def test_a_refused_grid_tells_of_its_imaginary_part(torch, tell):
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        for d in (torch.complex64, torch.float32):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                with pytest.raises(RuntimeError, match="Expected 0D or 1D tensor"):
                    torch.meshgrid(torch.ones(2, 2, dtype=d), indexing="ij")
            tell([str(one.message).split(" (Triggered")[0] for one in told])
    finally:
        torch.set_warn_always(always)


CLOSED = """
torch.dtype()
torch.dtype('float32')
torch.layout('strided')
torch.qscheme()
type('Own', (torch.dtype,), {})
type('Own', (torch.layout,), {})
type('Own', (torch.memory_format,), {})
type('Own', (torch.device,), {})
setattr(torch.float32, 'is_complex', True)
setattr(torch.float32, 'nothing', True)
delattr(torch.float32, 'itemsize')
setattr(torch.strided, 'nothing', True)
setattr(torch.device('cpu'), 'type', 'meta')
setattr(torch.device('cpu'), 'nothing', 1)
delattr(torch.device('cpu'), 'index')
torch.Tensor._make_subclass(torch.Tensor, 3)
torch.Tensor._make_subclass(torch.Tensor, torch.ones(2), 'a')
torch.Tensor._make_subclass(int, torch.ones(2))
"""


@same_story
def test_what_stands_for_facts_stays_as_it_is(torch, tell):
    """There is one object for each dtype, layout and device: who could write to it would change it for everybody."""
    for text in CLOSED.strip().split("\n"):
        _tried(tell, eval, text, {"torch": torch})
    tell(torch.float32.is_complex, str(torch.device("cpu")))
