"""What a dispatch mode sees of expressions and models, forwards and backwards, is what it sees of them in PyTorch."""

from __future__ import annotations

import ast

import pytest

import torchlite

from .test_dispatch_everyday import train
from .test_dispatch_modes import seen

torch = pytest.importorskip("torch")

# Of a square matrix.
OPERATIONS = """
    x.asinh() ; (x+2).acosh() ; (x*x+1).rsqrt() ; (x*x+1).sqrt() ; x.sin() ; x.cos() ; x.tan() ; (x/10).asin() ;
    (x/10).acos() ; x.atan() ; x.sinh() ; x.cosh() ; x.erf() ; x.erfc() ; (x/10).erfinv() ; x.expm1() ;
    (x*x).log1p() ; (x*x+1).log2() ; (x*x+1).log10() ; x.exp2() ; (x*x+1).lgamma() ; x.sign() ; x.abs() ; x.frac() ;
    x.round() ; x.trunc() ; x.floor() ; lib.special.entr(x*x) ; lib.i0(x) ; x.square() ; -x ; x**3 ; (x*x+1)**0.5 ;
    2**x ; x.fmod(2) ; x.remainder(2) ; x%2 ; 1-x ; 1+x ; lib.lerp(x,x+1,0.5) ; lib.addcmul(x,x,x,value=2) ;
    x.mean() ; x.norm(1) ; lib.linalg.norm(x) ; lib.linalg.vector_norm(x) ; lib.dot(x[0],x[1]) ; x.reciprocal() ;
    x.max(1).values ; x.median(1).values ; x.kthvalue(2,1).values ; x.mode(1).values ; x.sort(1).values ;
    x.topk(2)[0] ; x.cumsum(1) ; x.softmax(1) ; lib.nn.functional.softmin(x,1) ;
    lib.nn.functional.gumbel_softmax(x) ; x.diag() ; x.diag_embed() ; x.diagonal() ; x.tril() ; x.triu(1) ;
    x.flip(0) ; x.roll(1,0) ; x.rot90() ; x.repeat(2,1) ; x.repeat_interleave(2,0) ; x.tile(2) ;
    x[None].expand(2,3,3) ; lib.stack([x,x]) ; lib.cat([x,x],1) ; lib.hstack([x,x]) ; lib.vstack([x,x]) ;
    x.chunk(3)[0] ; x.split(2)[0] ; x.split([1,2])[1] ; x.unbind()[0] ; x.tensor_split(2)[0] ;
    x.gather(1,lib.zeros(3,1).long()) ; x.scatter(1,lib.zeros(3,1).long(),1.) ;
    lib.zeros(3,3).scatter_add(1,lib.zeros(3,3).long(),x) ; x.index_select(0,lib.tensor([0,1])) ;
    x[lib.tensor([0,1])] ; x[:,lib.tensor([0,1])] ; x[x>0] ; x.masked_fill(x>0,0.) ; x.take(lib.tensor([0,1])) ;
    lib.where(x>0,x,-x) ; x.clone().index_put((lib.tensor([0]),),lib.tensor(1.)) ; x.unfold(0,2,1) ;
    x.permute(1,0) ; x.movedim(0,1) ; x.swapaxes(0,1) ; x.T ; x.mT ; x.t().flatten() ;
    x.flatten().unflatten(0,(3,3)) ; x.reshape_as(x) ; x.view(9) ; x[None].squeeze(0) ; x.t().contiguous() ;
    x.clone() ; x.double() ; x.half().float() ; x.to(lib.bfloat16) ; x.type_as(lib.ones(1).double()) ;
    x.detach()*x ; x@x ; x@x[0] ; x[None]@x[None] ; x[None,None]@x ; x.expand(2,3,3)@x ; x.expand(2,3,3)@x[0] ;
    lib.outer(x[0],x[1]) ; lib.ger(x[0],x[1]) ; lib.kron(x,x) ; lib.cross(x,x+1,dim=1) ; lib.addmm(x,x,x) ;
    lib.addmm(x,x,x,beta=.5,alpha=2) ; lib.baddbmm(x[None],x[None],x[None]) ; lib.addmv(x[0],x,x[0]) ;
    lib.addr(x,x[0],x[1]) ; lib.linalg.multi_dot([x,x,x]) ; lib.linalg.matrix_power(x,3)
"""

# Of tensors of these shapes: x, y, z and w.
FUNCTIONAL = {
    "(3,4)": """
    F.relu6(x) ; F.leaky_relu(x) ; F.elu(x) ; F.selu(x) ; F.celu(x) ; F.gelu(x,approximate="tanh") ; F.silu(x) ;
    F.mish(x) ; F.softplus(x) ; F.hardswish(x) ; F.hardsigmoid(x) ; F.hardtanh(x) ; F.hardshrink(x) ;
    F.softshrink(x) ; F.tanhshrink(x) ; F.threshold(x,0.,1.) ; F.glu(x) ; F.layer_norm(x,(4,)) ; F.dropout(x) ;
    F.softsign(x) ; F.dropout(x,training=False)+x ;
    F.cross_entropy(x,lib.tensor([0,1,2])) ;
    F.nll_loss(x,lib.tensor([0,1,2]),reduction="sum") ; F.binary_cross_entropy(x.sigmoid(),lib.ones(3,4)) ;
    F.soft_margin_loss(x,lib.ones(3,4)) ; F.multi_margin_loss(x,lib.tensor([0,1,2])) ; F.l1_loss(x,x+1) ;
    F.l1_loss(x,x.detach()+1,reduction="none")
    """,
    "(3,4),(1,)": """
    F.prelu(x,y)
    """,
    "(2,3,5),(4,3,3),(4,)": """
    F.conv1d(x,y,z,padding=1)
    """,
    "(2,3,5,5),(4,3,3,3)": """
    F.conv2d(x,y,padding="same")
    """,
    "(2,3,4,4,4),(4,3,2,2,2)": """
    F.conv3d(x,y)
    """,
    "(2,3,4,4),(3,4,2,2)": """
    F.conv_transpose2d(x,y,stride=2)
    """,
    "(2,3,4),(3,4,2),(4,)": """
    F.conv_transpose1d(x,y,z,stride=2,output_padding=1)
    """,
    "(2,3,4,4),(3,1,2,2)": """
    F.conv2d(x,y,groups=3)
    """,
    "(3,4,4),(4,3,2,2)": """
    F.conv2d(x,y)
    """,
    "(2,3,6)": """
    F.avg_pool1d(x,2) ; F.adaptive_avg_pool1d(x,2) ; F.adaptive_max_pool1d(x,2)
    """,
    "(2,3,6,6)": """
    F.max_pool2d(x,2) ; F.pad(x,(1,1)) ; F.pad(x,(-1,1)) ;
    F.adaptive_avg_pool2d(x,2) ; F.adaptive_avg_pool2d(x,1) ; F.adaptive_max_pool2d(x,2)
    """,
    "(2,3,4,4,4)": """
    F.adaptive_avg_pool3d(x,2)
    """,
    "(4,3),(3,),(3,)": """
    F.batch_norm(x,None,None,y,z,training=True)
    """,
    "(3,4),(4,),(4,)": """
    F.layer_norm(x,(4,),y,z)
    """,
    "(2,4,3)": """
    F.instance_norm(x)
    """,
    "(1,2,3,3)": """
    F.pad(x,(1,1,1,1),mode="reflect") ; F.unfold(x,2)
    """,
    "(1,2,3)": """
    F.pad(x,(1,1),mode="replicate")
    """,
    "(1,2,3,3),(1,2,2,2)": """
    F.grid_sample(x,y,align_corners=False)
    """,
    "(1,4,3,3)": """
    F.pixel_shuffle(x,2) ; lib.channel_shuffle(x,2)
    """,
    "(1,2,4,4)": """
    F.pixel_unshuffle(x,2)
    """,
    "(1,8,4)": """
    F.fold(x,(3,3),2)
    """,
    "(5,3)": """
    F.embedding(lib.tensor([0,1]),x,padding_idx=0) ; F.embedding(lib.tensor([0,1]),x,scale_grad_by_freq=True)
    """,
}


def split(text):
    return [expression.strip() for expression in text.replace("\n", " ").split(" ;")]


EXPRESSIONS = [
    *[(expression, ((3, 3),)) for expression in split(OPERATIONS)],
    *[(e, ast.literal_eval(f"{shapes},")) for shapes, text in FUNCTIONAL.items() for e in split(text)],
]


def listed(program):
    """What is seen of a program in either library."""
    found = []
    for lib in (torchlite, torch):
        lib.manual_seed(0)
        found.append(seen(lib, program(lib)))
    return found


def of_expression(expression, shapes):
    code = compile(expression, expression, "eval")

    def program(lib):
        tensors = dict(zip("xyzw", [lib.randn(*shape, requires_grad=True) for shape in shapes], strict=False))
        scope = {"lib": lib, "F": lib.nn.functional, **tensors}

        def run(lib):
            made = eval(code, scope)
            for result in made if isinstance(made, tuple | list) else [made]:
                result.sum().backward()

        return run

    return program


@pytest.mark.parametrize(("expression", "shapes"), EXPRESSIONS, ids=[e for e, _ in EXPRESSIONS])
def test_expressions(expression, shapes):
    mine, real = listed(of_expression(expression, shapes))
    assert mine == real


def model(make, *shapes, call=lambda made, *inputs: made(*inputs), optimizer=None, steps=1):
    """Training of a module with random inputs of these shapes."""

    def program(lib):
        made, inputs = make(lib.nn), [lib.randn(*shape) for shape in shapes]

        def forward(_):
            result = call(made, *inputs)
            return result[0] if isinstance(result, tuple) else result

        return train(lib, _Called(made, forward), lambda result, _: result.sum(), None, None, optimizer, steps)

    return program


class _Called:
    """A module that is called in a way of its own."""

    def __init__(self, module, call):
        self.parameters, self.call = module.parameters, call

    def __call__(self, x):
        return self.call(x)


def recurrent(name, *sizes, **options):
    return model(lambda nn: getattr(nn, name)(3, 4, **options), sizes)


def attention(call=lambda made, x: made(x, x, x), *shapes, **options):
    return model(lambda nn: nn.MultiheadAttention(8, 2, **options), *(shapes or [(4, 2, 8)]), call=call)


def attended(*shape, mask=False, **options):
    def program(lib):
        q, k, v = [lib.randn(*shape, requires_grad=True) for _ in range(3)]
        allowed = lib.ones(shape[-2], shape[-2]).bool().tril() if mask else None
        return lambda lib: lib.nn.functional.scaled_dot_product_attention(q, k, v, allowed, **options).sum().backward()

    return program


def resized(*shape, **options):
    def program(lib):
        x = lib.randn(*shape, requires_grad=True)
        return lambda lib: lib.nn.functional.interpolate(x, **options).sum().backward()

    return program


def optimized(name, **options):
    return model(
        lambda nn: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), (2, 3), steps=2,
        optimizer=lambda optim, parameters: getattr(optim, name)(parameters, **options),
    )  # fmt: skip


def layer(kind, *shapes, call=lambda made, *inputs: made(*inputs), **options):
    return model(
        lambda nn: getattr(nn, f"Transformer{kind}Layer")(8, 2, 16, **options), *shapes, call=call, steps=2,
        optimizer=lambda optim, parameters: optim.AdamW(parameters),
    )  # fmt: skip


def masked_layer(lib):
    mask = lib.nn.Transformer.generate_square_subsequent_mask(3)
    call = lambda made, x: made(x, src_mask=mask, is_causal=True)
    return layer("Encoder", (3, 2, 8), call=call, norm_first=True, activation="gelu")(lib)


PROGRAMS = {
    "RNN": recurrent("RNN", 5, 2, 3),
    "RNN, both ways": recurrent("RNN", 5, 2, 3, num_layers=2, bidirectional=True),
    "RNN, batches first": recurrent("RNN", 5, 2, 3, batch_first=True),
    "GRU": recurrent("GRU", 5, 2, 3),
    "GRU, both ways": recurrent("GRU", 5, 2, 3, num_layers=2, bidirectional=True),
    "GRU, batches first": recurrent("GRU", 5, 2, 3, batch_first=True),
    "RNNCell": recurrent("RNNCell", 2, 3),
    "LSTMCell": recurrent("LSTMCell", 2, 3),
    "GRUCell": recurrent("GRUCell", 2, 3),
    "attention": attended(2, 2, 4, 8),
    "causal attention": attended(2, 2, 4, 8, is_causal=True),
    "masked attention": attended(2, 2, 4, 8, mask=True),
    "attention with dropout": attended(2, 2, 4, 8, dropout_p=0.2),
    "attention of one head": attended(2, 4, 8),
    "several heads": attention(),
    "several heads without weights": attention(lambda made, x: made(x, x, x, need_weights=False), batch_first=True),
    "several heads of others": attention(
        lambda made, x, y: made(x, y, y), (4, 2, 8), (4, 3, 6), batch_first=True, dropout=0.1, kdim=6, vdim=6
    ),
    "an encoder": layer("Encoder", (2, 3, 8), batch_first=True),
    "an encoder with a mask": masked_layer,
    "a decoder": layer("Decoder", (2, 3, 8), (2, 4, 8), batch_first=True),
    "nearest": resized(2, 3, 4, 4, scale_factor=2),
    "nearest, of a size": resized(2, 3, 4, 4, size=(6, 5)),
    "nearest, exact": resized(2, 3, 4, 4, scale_factor=2, mode="nearest-exact"),
    "bilinear": resized(2, 3, 4, 4, mode="bilinear", scale_factor=1.5, align_corners=False),
    "bilinear, corners aligned": resized(2, 3, 4, 4, mode="bilinear", size=7, align_corners=True),
    "bilinear, smoothed": resized(2, 3, 4, 4, mode="bilinear", size=3, antialias=True),
    "bicubic": resized(2, 3, 4, 4, mode="bicubic", scale_factor=2),
    "linear": resized(2, 3, 4, mode="linear", scale_factor=2),
    "trilinear": resized(2, 3, 4, 4, 4, mode="trilinear", size=6),
    "area": resized(2, 3, 4, 4, mode="area", size=2),
    "RMSprop": optimized("RMSprop", weight_decay=0.1),
    "RMSprop, centered": optimized("RMSprop", momentum=0.9, centered=True, maximize=True),
    "Adagrad": optimized("Adagrad", weight_decay=0.1, lr_decay=0.1),
    "Adadelta": optimized("Adadelta", weight_decay=0.1),
    "NAdam": optimized("NAdam", maximize=True),
    "NAdam, decoupled": optimized("NAdam", weight_decay=0.1, decoupled_weight_decay=True),
    "RAdam": optimized("RAdam", weight_decay=0.1),
    "Rprop": optimized("Rprop", maximize=True),
    "ASGD": optimized("ASGD", weight_decay=0.1),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_models(program):
    mine, real = listed(program)
    assert mine == real


@pytest.mark.parametrize("name", ["RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "Rprop", "ASGD", "Adamax"])
def test_a_watched_step_is_the_same_step(name):
    found = []
    for watched in (False, True):
        torchlite.manual_seed(0)
        weight = torchlite.nn.Parameter(torchlite.randn(3, 4))
        optimizer = getattr(torchlite.optim, name)([weight], lr=0.1)

        def steps(lib, weight=weight, optimizer=optimizer):
            for _ in range(8):
                optimizer.zero_grad()
                (weight**2).sum().backward()
                optimizer.step()

        seen(torchlite, steps) if watched else steps(torchlite)
        found.append(weight.flatten().tolist())
    assert found[0] == pytest.approx(found[1], rel=1e-4, abs=1e-6)
