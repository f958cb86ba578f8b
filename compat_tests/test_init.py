"""First values of parameters: the same from the same seed."""

from __future__ import annotations

import pytest

from compat_tests.side_by_side import same_story

FILLS = {
    "uniform_": lambda init, t: init.uniform_(t),
    "uniform_ between": lambda init, t: init.uniform_(t, -3, b=2),
    "normal_": lambda init, t: init.normal_(t, 1, 2.5),
    "trunc_normal_": lambda init, t: init.trunc_normal_(t),
    "trunc_normal_ of a narrow range": lambda init, t: init.trunc_normal_(t, 0.5, 1.0, -0.1, 0.4),
    "trunc_normal_ beside the mean": lambda init, t: init.trunc_normal_(t, 0.0, 1.0, 0.5, 3.0),
    "trunc_normal_ far from the mean": lambda init, t: init.trunc_normal_(t, 0.0, 2.0, 5.0, 6.0),
    "trunc_normal_ of no range": lambda init, t: init.trunc_normal_(t, 0.0, 1.0, 2.0, 1.0),
    "trunc_normal_ without spread": lambda init, t: init.trunc_normal_(t, 0.0, 0.0),
    "constant_": lambda init, t: init.constant_(t, 2.5),
    "ones_": lambda init, t: init.ones_(t),
    "zeros_": lambda init, t: init.zeros_(t),
    "eye_": lambda init, t: init.eye_(t),
    "dirac_": lambda init, t: init.dirac_(t),
    "dirac_ in groups": lambda init, t: init.dirac_(t, 2),
    "xavier_uniform_": lambda init, t: init.xavier_uniform_(t),
    "xavier_uniform_ with gain": lambda init, t: init.xavier_uniform_(t, gain=2.0),
    "xavier_normal_": lambda init, t: init.xavier_normal_(t, 0.5),
    "kaiming_uniform_": lambda init, t: init.kaiming_uniform_(t),
    "kaiming_uniform_ with slope": lambda init, t: init.kaiming_uniform_(t, a=5**0.5),
    "kaiming_uniform_ for relu": lambda init, t: init.kaiming_uniform_(t, mode="fan_out", nonlinearity="relu"),
    "kaiming_normal_": lambda init, t: init.kaiming_normal_(t),
    "kaiming_normal_ for selu": lambda init, t: init.kaiming_normal_(t, mode="FAN_OUT", nonlinearity="selu"),
    "kaiming of no such mode": lambda init, t: init.kaiming_uniform_(t, mode="fan"),
    "kaiming of no such nonlinearity": lambda init, t: init.kaiming_normal_(t, nonlinearity="gelu"),
    "orthogonal_": lambda init, t: init.orthogonal_(t),
    "orthogonal_ with gain": lambda init, t: init.orthogonal_(t, gain=2),
    "sparse_": lambda init, t: init.sparse_(t, 0.3),
    "sparse_ and wide": lambda init, t: init.sparse_(t, 0.9, std=2.0),
}
SHAPES = [(4, 3), (3, 5), (6, 6), (4, 3, 3), (4, 2, 3, 3), (2, 3, 2, 2, 2), (3,), (0, 3), (3, 0)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("fill", FILLS)
def test_filling(fill, shape):
    @same_story
    def program(torch, tell):
        torch.manual_seed(7)
        t = torch.zeros(shape)
        made = FILLS[fill](torch.nn.init, t)
        # An orthogonal matrix is exact to a part of its largest elements, and of its small ones to no more.
        tell(made is t, 10 + t.double() if "orthogonal" in fill else t, t._version > 0)
        tell(torch.rand(2))

    program()


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int64", "complex64"])
@pytest.mark.parametrize("fill", [name for name in FILLS if " " not in name])
def test_dtypes(fill, dtype):
    @same_story
    def program(torch, tell):
        torch.manual_seed(7)
        tell(FILLS[fill](torch.nn.init, torch.zeros(4, 3, dtype=getattr(torch, dtype))))

    program()


@pytest.mark.parametrize("fill", FILLS)
def test_parameters_stay_leaves(fill):
    @same_story
    def program(torch, tell):
        torch.manual_seed(7)
        p = torch.nn.Parameter(torch.zeros(4, 3).t())
        FILLS[fill](torch.nn.init, p)
        tell(p, p.is_leaf, p.requires_grad, p.stride(), type(p).__name__)

    program()


@same_story
def test_generators(torch, tell):
    generator = torch.Generator().manual_seed(3)
    for name in ("uniform_", "normal_", "trunc_normal_", "xavier_normal_", "kaiming_uniform_", "orthogonal_"):
        tell(getattr(torch.nn.init, name)(torch.zeros(3, 3), generator=generator))


GAINS = ["linear", "conv1d", "conv_transpose3d", "sigmoid", "tanh", "relu", "leaky_relu", "selu", "gelu"]


@pytest.mark.parametrize("param", [None, 0, 2, 0.5, True, "x"])
@pytest.mark.parametrize("name", GAINS)
def test_gains(name, param):
    @same_story
    def program(torch, tell):
        tell(torch.nn.init.calculate_gain(name, param))

    program()


@same_story
def test_fans(torch, tell):
    init = torch.nn.init
    for shape in ((3, 4), (3, 4, 5), (3, 4, 5, 6), (0, 2)):
        tell(init._calculate_fan_in_and_fan_out(torch.zeros(shape)))
    tell(init._calculate_correct_fan(torch.zeros(3, 4), "fan_out"))
    init._calculate_fan_in_and_fan_out(torch.zeros(3))


@same_story
def test_old_names(torch, tell):
    init = torch.nn.init
    torch.manual_seed(0)
    tell(init.uniform(torch.zeros(2)), init.normal(torch.zeros(2)), init.constant(torch.zeros(2), 3))
    tell(init.kaiming_uniform(torch.zeros(2, 2)), init.xavier_normal(torch.zeros(2, 2)), init.uniform.__name__)


@same_story
def test_handlers_get_arguments_by_name(torch, tell):
    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func in watched:
                plain = [v for v in kwargs.values() if isinstance(v, (int, str))]
                tell(func.__name__, len(args), sorted(kwargs), plain)
            return super().__torch_function__(func, types, args, kwargs or {})

    init = torch.nn.init
    watched = [init.uniform_, init.normal_, init.constant_, init.kaiming_uniform_]
    t = torch.zeros(2, 2).as_subclass(Watched)
    init.uniform_(t, 3, b=4)
    init.normal_(t)
    init.constant_(t, 3)
    init.kaiming_uniform_(t, 1)


LAYERS = {
    "Linear": lambda nn: nn.Linear(5, 3),
    "Linear without bias": lambda nn: nn.Linear(5, 3, bias=False),
    "Linear in double": lambda nn: nn.Linear(2, 3).double(),
    "Linear of nothing": lambda nn: nn.Linear(0, 3),
    "Linear to nothing": lambda nn: nn.Linear(3, 0),
    "Linear of less": lambda nn: nn.Linear(-3, 1),
    "Bilinear": lambda nn: nn.Bilinear(2, 3, 4),
    "Bilinear without bias": lambda nn: nn.Bilinear(2, 3, 4, bias=False),
    "Bilinear of nothing": lambda nn: nn.Bilinear(0, 1, 1),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_begin_alike(layer):
    @same_story
    def program(torch, tell):
        torch.manual_seed(11)
        m = LAYERS[layer](torch.nn)
        tell(repr(m), m.state_dict(), [p._version for p in m.parameters()])

    program()
