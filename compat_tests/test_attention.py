"""Scaled dot-product attention, attention in several heads, and transformers."""

from __future__ import annotations

import copy
import functools
import warnings

import pytest

from compat_tests.side_by_side import same_story


def quietly(program):
    """The program without its warnings: PyTorch says there that it is slow, or a prototype."""

    @functools.wraps(program)
    def run(torch, tell):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return program(torch, tell)

    return run


# ---- scaled dot-product attention

SHAPES = {
    "heads": ((2, 4), 5, 5, 4), "fewer keys": ((2, 4), 7, 5, 4), "more keys": ((3,), 5, 7, 4),
    "one head": ((), 4, 6, 4),
    "other values": ((2, 3), 4, 6, 3), "more dimensions": ((2, 3, 2), 3, 3, 4), "one query": ((2, 2), 1, 6, 4),
    "no keys": ((2, 2), 3, 0, 4), "no queries": ((2, 2), 0, 3, 4),
}  # fmt: skip
MASKS = {
    "no mask": lambda torch, lead, n, m: {},
    "bool": lambda torch, lead, n, m: {"attn_mask": torch.ones(n, m).tril(1) > 0},
    "nothing to look at": lambda torch, lead, n, m: {"attn_mask": torch.ones(n, m).tril(-1) > 0},
    "added": lambda torch, lead, n, m: {"attn_mask": torch.randn(n, m).double()},
    "by batch": lambda torch, lead, n, m: {"attn_mask": torch.randn(*lead[:1], *[1] * (len(lead) - 1), n, m).double()},
    "differentiated": lambda torch, lead, n, m: {"attn_mask": torch.randn(n, m).double().requires_grad_()},
    "causal": lambda torch, lead, n, m: {"is_causal": True},
    "dropout": lambda torch, lead, n, m: {"dropout_p": 0.25},
    "scale": lambda torch, lead, n, m: {"scale": 0.75},
}


@pytest.fixture(params=["at once", "in blocks", "in blocks, kept"])
def blocks(request, monkeypatch):
    """How much the kernels take at a time, and whether they keep the weights."""
    from torchlite.operations.products import attention

    if request.param != "at once":
        monkeypatch.setattr(attention, "BLOCK", 12)
    if request.param == "in blocks":
        monkeypatch.setattr(attention, "KEPT", 0)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("shape", SHAPES)
def test_scaled_dot_product_attention(shape, mask, blocks):
    if shape.startswith("no ") and mask == "differentiated":
        pytest.skip("PyTorch takes the mask as unused there")

    @same_story
    def program(torch, tell):
        torch.manual_seed(0)
        lead, queries, keys, features = SHAPES[shape]
        sizes = ((queries, 4), (keys, 4), (keys, features))
        q, k, v = (torch.randn(*lead, *size).double().requires_grad_() for size in sizes)
        more = MASKS[mask](torch, lead, queries, keys)
        made = torch.nn.functional.scaled_dot_product_attention(q, k, v, **more)
        tell(made.detach(), made.stride())
        asked = [q, k, v, *[t for t in more.values() if getattr(t, "requires_grad", False)]]
        tell(torch.autograd.grad((made * made).sum(), asked))

    program()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_dtypes(dtype):
    @same_story
    def program(torch, tell):
        torch.manual_seed(0)
        q, k, v = (torch.randn(2, 2, 4, 8).to(getattr(torch, dtype)).requires_grad_() for _ in range(3))
        for more in ({}, {"attn_mask": torch.zeros(4, 4)}, {"is_causal": True}):
            made = torch.nn.functional.scaled_dot_product_attention(q, k, v, **more)
            grads = torch.autograd.grad(made.sum(), (q, k, v))
            tell(made.dtype, made.detach().double().mul(4).round(), [(g.dtype, g.shape) for g in grads])

    program()


@same_story
def test_second_derivatives(torch, tell):
    torch.manual_seed(0)
    inputs = [torch.randn(3, n, 4).double().requires_grad_() for n in (4, 5, 5)]
    for more in ({}, {"is_causal": True}, {"attn_mask": torch.ones(4, 5).tril() > 0}):
        made = torch.nn.functional.scaled_dot_product_attention(*inputs, **more)
        first = torch.autograd.grad((made**3).sum(), inputs, create_graph=True)
        tell([g.detach() for g in first], torch.autograd.grad(sum((g * g).sum() for g in first), inputs))


@same_story
@quietly
def test_transforms(torch, tell):
    torch.manual_seed(0)
    attention = torch.nn.functional.scaled_dot_product_attention
    q, k, v = (torch.randn(3, 2, 2, 4, 4).double() for _ in range(3))
    mask = torch.ones(4, 4).tril() > 0
    tell(torch.func.vmap(attention)(q, k, v), torch.func.vmap(attention, (0, None, None))(q, k[0], v[0]))
    tell(torch.func.vmap(lambda q: attention(q, k[0], v[0], mask))(q))
    tell(torch.func.vmap(torch.func.grad(lambda q: (attention(q, k[0], v[0]) ** 2).sum()))(q))
    one = [t[0, 0] for t in (q, k, v)]
    tell([t.detach() for t in torch.func.jvp(attention, tuple(one), tuple(torch.ones_like(t) for t in one))])


@same_story
def test_where_it_lies_in_memory(torch, tell):
    q = torch.randn(2, 5, 3, 4).transpose(1, 2)
    tell(torch.nn.functional.scaled_dot_product_attention(q, q, q).stride())


@same_story
def test_groups_of_heads(torch, tell):
    torch.manual_seed(0)
    attention = torch.nn.functional.scaled_dot_product_attention
    q = torch.randn(2, 6, 3, 4).double().requires_grad_()
    k, v = (torch.randn(2, 2, 5, 4).double().requires_grad_() for _ in range(2))
    made = attention(q, k, v, enable_gqa=True)
    tell(made.detach(), torch.autograd.grad((made**2).sum(), (q, k, v)))
    made = attention(q, k[:, :1], v[:, :1])
    tell(made.detach(), torch.autograd.grad((made**2).sum(), (q, k, v)))
    attention(q, k.repeat(1, 2, 1, 1), v, enable_gqa=True)


CALLS = {
    "mask and causal": lambda f, t: f(t(2, 2, 3, 4), t(2, 2, 3, 4), t(2, 2, 3, 4), t(3, 3) > 0, is_causal=True),
    "mask and causal, three dimensions": lambda f, t: f(t(2, 3, 4), t(2, 3, 4), t(2, 3, 4), t(3, 3), is_causal=True),
    "another dtype": lambda f, t: f(t(2, 3, 4), t(2, 3, 4).double(), t(2, 3, 4)),
    "a vector": lambda f, t: f(t(4), t(2, 3, 4), t(2, 3, 4)),
    "a mask of ints": lambda f, t: f(t(2, 3, 4), t(2, 3, 4), t(2, 3, 4), t(3, 3).int()),
    "a mask of doubles": lambda f, t: f(t(2, 3, 4), t(2, 3, 4), t(2, 3, 4), t(3, 3).double()),
    "other features": lambda f, t: f(t(2, 3, 4), t(2, 3, 2), t(2, 3, 4)),
    "other keys": lambda f, t: f(t(2, 3, 4), t(2, 3, 4), t(2, 5, 4)),
    "dropout out of range": lambda f, t: f(t(2, 3, 4), t(2, 3, 4), t(2, 3, 4), dropout_p=1.5),
    "a mask that does not fit": lambda f, t: f(t(2, 3, 4), t(2, 3, 4), t(2, 3, 4), t(5, 5) > 0),
    "a scale of zero": lambda f, t: f(t(2, 3, 4), t(2, 3, 4), t(2, 3, 4), scale=0.0),
    "on meta": lambda f, t: f(*[t(2, 2, 3, 4).to("meta")] * 3),
}


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    @same_story
    def program(torch, tell):
        tell(CALLS[call](torch.nn.functional.scaled_dot_product_attention, torch.ones).shape)

    program()


@same_story
def test_the_choice_of_kernels_is_accepted(torch, tell):
    from_name = torch.nn.attention
    q = torch.ones(1, 1, 2, 2)
    with from_name.sdpa_kernel([from_name.SDPBackend.MATH, from_name.SDPBackend.FLASH_ATTENTION], set_priority=True):
        tell(torch.nn.functional.scaled_dot_product_attention(q, q, q))
    tell(str(from_name.SDPBackend.MATH), [int(b) for b in (from_name.SDPBackend.ERROR, from_name.SDPBackend.MATH)])
    with from_name.sdpa_kernel("math"):
        pass


# ---- several heads

MODULES = {
    "usual": {}, "batch first": {"batch_first": True}, "no bias": {"bias": False}, "more keys": {"add_bias_kv": True},
    "zero": {"add_zero_attn": True}, "other sizes": {"kdim": 5, "vdim": 6}, "dropout": {"dropout": 0.25},
    "all": {"add_bias_kv": True, "add_zero_attn": True, "batch_first": True},
}  # fmt: skip
HEAD_CALLS = {
    "usual": {}, "no weights": {"need_weights": False}, "each head's weights": {"average_attn_weights": False},
    "bool mask": {"attn_mask": "bool"}, "added mask": {"attn_mask": "added", "need_weights": False},
    "mask by head": {"attn_mask": "heads"}, "mask by head, no weights": {"attn_mask": "heads", "need_weights": False},
    "padding": {"key_padding_mask": "bool"}, "both": {"key_padding_mask": "added", "attn_mask": "added"},
    "both, no weights": {"key_padding_mask": "bool", "attn_mask": "bool", "need_weights": False},
    "of several types": {"key_padding_mask": "added", "attn_mask": "bool"},
    "causal": {"attn_mask": "bool", "is_causal": True, "need_weights": False}, "causal alone": {"is_causal": True},
    "mask of another size": {"attn_mask": "large"}, "mask of ints": {"attn_mask": "ints"},
    "padding of another size": {"key_padding_mask": "short"}, "padding of another batch": {"key_padding_mask": "batch"},
}  # fmt: skip


def masks(torch, queries, keys, given):
    """The arguments of a call, with masks in place of their names."""
    padding = torch.zeros(2, keys, dtype=torch.bool)
    padding[1, -1] = True
    known = {
        "attn_mask": {
            "bool": torch.ones(queries, keys).triu(1) > 0, "added": torch.randn(queries, keys).double(),
            "heads": torch.randn(4, queries, keys).double(), "large": torch.zeros(queries, keys + 1),
            "ints": torch.ones(queries, keys, dtype=torch.int32),
        },
        "key_padding_mask": {
            "bool": padding, "added": torch.zeros(2, keys).double().masked_fill(padding, -2.0),
            "short": padding[:, 1:], "batch": padding[:1],
        },
    }  # fmt: skip
    return {name: known[name][value] if name in known else value for name, value in given.items()}


@pytest.mark.parametrize("call", HEAD_CALLS)
@pytest.mark.parametrize("name", MODULES)
def test_several_heads(name, call):
    @same_story
    def program(torch, tell):
        torch.manual_seed(0)
        settings = MODULES[name]
        m = torch.nn.MultiheadAttention(8, 2, **settings).double()
        sizes = [(3, 8), (4, settings.get("kdim", 8)), (4, settings.get("vdim", 8))]
        inputs = [torch.randn(2, *size).double().requires_grad_() for size in sizes]
        if not settings.get("batch_first"):
            inputs = [t.detach().transpose(0, 1).requires_grad_() for t in inputs]
        output, weights = m(*inputs, **masks(torch, 3, 4, HEAD_CALLS[call]))
        tell(output.detach(), None if weights is None else weights.detach())
        loss = (output**2).sum() + (0 if weights is None else (weights**3).sum())
        tell(torch.autograd.grad(loss, [*inputs, *m.parameters()], allow_unused=True))

    program()


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("call", ["usual", "no weights", "bool mask", "padding", "both, no weights", "causal"])
def test_attention_to_itself(call, train):
    @same_story
    def program(torch, tell):
        for batch_first in (True, False):
            torch.manual_seed(0)
            m = torch.nn.MultiheadAttention(8, 2, batch_first=batch_first).double().train(train)
            x = torch.randn(*((2, 4, 8) if batch_first else (4, 2, 8))).double()
            tell([t if t is None else t.detach() for t in m(x, x, x, **masks(torch, 4, 4, HEAD_CALLS[call]))])
            with torch.no_grad():
                tell(m(x, x, x, **masks(torch, 4, 4, HEAD_CALLS[call])))
            y = torch.randn(3, 8).double()
            tell([t.detach() for t in m(y, y, y)])

    program()


@same_story
def test_keys_and_values_that_are_projected_already(torch, tell):
    torch.manual_seed(0)
    m = torch.nn.MultiheadAttention(8, 2)
    x, k, v = torch.randn(3, 2, 8), torch.randn(4, 5, 4), torch.randn(4, 5, 4)
    args = (8, 2, m.in_proj_weight, m.in_proj_bias, None, None, False, 0.0, m.out_proj.weight, m.out_proj.bias)
    attend = torch.nn.functional.multi_head_attention_forward
    tell([t.detach() for t in attend(x, x, x, *args, static_k=k, static_v=v)])
    attend(x, x, x, *args, static_k=k[:3], static_v=v)


BAD_HEADS = {
    "no heads": lambda nn, t: nn.MultiheadAttention(8, 0),
    "heads that do not fit": lambda nn, t: nn.MultiheadAttention(8, 3),
    "one dimension": lambda nn, t: nn.MultiheadAttention(8, 2)(t(8), t(8), t(8)),
    "keys of two dimensions": lambda nn, t: nn.MultiheadAttention(8, 2)(t(3, 1, 8), t(3, 8), t(3, 8)),
    "keys of three dimensions": lambda nn, t: nn.MultiheadAttention(8, 2)(t(3, 8), t(3, 1, 8), t(3, 8)),
    "another size": lambda nn, t: nn.MultiheadAttention(8, 2)(t(3, 1, 6), t(3, 1, 6), t(3, 1, 6)),
    "keys of another size": lambda nn, t: nn.MultiheadAttention(8, 2)(t(3, 1, 8), t(3, 1, 8), t(4, 1, 8)),
    "wrong projections": lambda nn, t: nn.MultiheadAttention(8, 2, kdim=4)(t(3, 1, 8), t(3, 1, 5), t(3, 1, 8)),
    "a padding of three dimensions": lambda nn, t: nn.MultiheadAttention(8, 2)(*[t(3, 1, 8)] * 3, t(1, 1, 3)),
    "a mask of one dimension": lambda nn, t: nn.MultiheadAttention(8, 2)(*[t(3, 1, 8)] * 3, attn_mask=t(3)),
    "a mask by head, no batch": lambda nn, t: nn.MultiheadAttention(8, 2)(*[t(3, 8)] * 3, attn_mask=t(3, 3, 3)),
    "no such activation": lambda nn, t: nn.TransformerEncoderLayer(8, 2, activation="abs"),
    "other batches": lambda nn, t: nn.Transformer(8, 2, 1, 1, 8)(t(3, 2, 8), t(3, 1, 8)),
    "other features": lambda nn, t: nn.Transformer(8, 2, 1, 1, 8)(t(3, 2, 8), t(3, 2, 6)),
    "norm first": lambda nn, t: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 8, norm_first=True), 1),
    "odd heads": lambda nn, t: nn.TransformerEncoder(nn.TransformerEncoderLayer(9, 3, 8, batch_first=True), 1),
    "other layers": lambda nn, t: nn.TransformerEncoder(nn.Linear(2, 2), 1),
}


@pytest.mark.parametrize("call", BAD_HEADS)
def test_what_is_refused_or_warned_of(call):
    @same_story
    def program(torch, tell):
        BAD_HEADS[call](torch.nn, torch.ones)

    program()


# ---- transformers

LAYERS = {
    "usual": {}, "batch first": {"batch_first": True}, "norm first": {"norm_first": True},
    "gelu": {"activation": "gelu"}, "no bias": {"bias": False}, "no dropout": {"dropout": 0.0, "batch_first": True},
    "a function": {"activation": lambda x: x * x},
}  # fmt: skip


def transformer(torch, name, **more):
    torch.manual_seed(0)
    return torch.nn.Transformer(8, 2, 2, 2, 16, **LAYERS[name], **more).double()


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_transformers(name, train):
    @same_story
    @quietly
    def program(torch, tell):
        m = transformer(torch, name).train(train)
        src, tgt = torch.randn(2, 5, 8).double(), torch.randn(2, 4, 8).double()
        if not m.batch_first:
            src, tgt = src.transpose(0, 1), tgt.transpose(0, 1)
        padding = torch.arange(5) > torch.tensor([[4], [2]])
        causal = m.generate_square_subsequent_mask(4, dtype=torch.float64)
        calls = (
            {}, {"tgt_mask": causal}, {"tgt_mask": causal, "tgt_is_causal": True}, {"src_key_padding_mask": padding},
            {"src_key_padding_mask": padding, "memory_key_padding_mask": padding, "tgt_mask": causal},
            {"src_mask": torch.ones(5, 5).triu(1) > 0},
        )  # fmt: skip
        for more in calls:
            output = m(src, tgt, **more)
            tell(output.detach())
            grads = torch.autograd.grad((output**3).sum(), [*m.parameters()])
            tell([g.sum() for g in grads])
            with torch.no_grad():
                tell(m(src, tgt, **more), m.encoder(src, src_key_padding_mask=padding))

    program()


@same_story
@quietly
def test_padding_in_evaluation(torch, tell):
    """It comes out of the encoder as zeros, where PyTorch runs on nested tensors."""
    m = transformer(torch, "batch first").encoder.eval()
    m.norm = None
    x = torch.randn(2, 5, 8).double()
    aligned, not_aligned = torch.arange(5) > torch.tensor([[4], [2]]), torch.arange(5) < torch.tensor([[0], [2]])
    with torch.no_grad():
        tell(m(x, src_key_padding_mask=aligned), m(x, src_key_padding_mask=not_aligned))
        tell(m(x, torch.zeros(5, 5).double(), aligned))
        m.use_nested_tensor = False
        tell(m(x, src_key_padding_mask=aligned))


@same_story
def test_modules_as_they_show_themselves(torch, tell):
    m = transformer(torch, "usual")
    tell(repr(m), [*m.state_dict()], m.encoder.layers[0].activation_relu_or_gelu)
    tell({k: v.get("version") for k, v in m.state_dict()._metadata.items()})
    tell(type(m).__module__, type(m.encoder.layers[0].self_attn).__module__, m.generate_square_subsequent_mask(3))
    tell([p.sum() for p in torch.nn.MultiheadAttention(8, 2, add_bias_kv=True, kdim=3).parameters()])
    other = copy.deepcopy(m.encoder)
    tell([a is b for a, b in zip(other.parameters(), m.encoder.parameters())])
