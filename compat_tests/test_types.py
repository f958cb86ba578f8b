"""Dtypes, promotion, limits, devices, sizes: the small objects every tensor is described with."""

import copy
import itertools
import pickle

import pytest

import torchlite

torch = pytest.importorskip("torch")

NAMES = [
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e8m0fnu",
]  # fmt: skip


def outcome(f, *args):
    """What a call gives: its result's text, or the type and text of what it raises."""
    try:
        return str(f(*args))
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("a, b", list(itertools.product(NAMES, NAMES)))
def test_promotion(a, b):
    def promoted(m):
        return outcome(lambda: m.promote_types(getattr(m, a), getattr(m, b)))

    theirs, ours = promoted(torch), promoted(torchlite)
    assert ours[0] == theirs[0] if isinstance(theirs, tuple) else ours == theirs
    assert torch.can_cast(getattr(torch, a), getattr(torch, b)) == torchlite.can_cast(
        getattr(torchlite, a), getattr(torchlite, b)
    )


@pytest.mark.parametrize("name", NAMES)
def test_dtype_attributes_and_limits(name):
    ours, theirs = getattr(torchlite, name), getattr(torch, name)
    for attribute in ("itemsize", "is_floating_point", "is_complex", "is_signed"):
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert repr(ours) == repr(theirs)
    assert str(ours.to_real()) == str(theirs.to_real())
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert copy.deepcopy(ours) is ours
    for limits in ("finfo", "iinfo"):
        assert outcome(getattr(torchlite, limits), ours) == outcome(getattr(torch, limits), theirs)


OPERANDS = {
    "tensor": lambda m, d: m.ones(2, dtype=d),
    "0-dim": lambda m, d: m.ones((), dtype=d),
}
NUMBERS = [True, 3, 2.5, 1j]


@pytest.mark.parametrize("form_a, form_b", list(itertools.product(OPERANDS, OPERANDS)))
def test_result_type_of_tensors(form_a, form_b):
    computed = [n for n in NAMES if not n.startswith(("float8", "uint1", "uint3", "uint64"))]
    for a, b in itertools.product(computed, computed):
        kinds = [
            str(m.result_type(OPERANDS[form_a](m, getattr(m, a)), OPERANDS[form_b](m, getattr(m, b))))
            for m in (torch, torchlite)
        ]
        assert kinds[0] == kinds[1], (a, b)


@pytest.mark.parametrize("number", NUMBERS)
def test_result_type_with_numbers(number):
    for name, form in itertools.product(NAMES[:15], OPERANDS):
        kinds = [outcome(m.result_type, OPERANDS[form](m, getattr(m, name)), number) for m in (torch, torchlite)]
        assert kinds[0] == kinds[1], (name, form)


@pytest.mark.parametrize("default", ["float64", "bfloat16", "float32"])
def test_default_dtype_reaches_what_is_made_of_floats(default):
    made = []
    for m in (torch, torchlite):
        m.set_default_dtype(getattr(m, default))
        try:
            made.append([
                str(t.dtype)
                for t in (m.tensor(1.5), m.zeros(2), m.ones(2, dtype=m.int64) / 2, m.arange(3.0), m.eye(2))
            ])  # fmt: skip
        finally:
            m.set_default_dtype(m.float32)
    assert made[0] == made[1]


@pytest.mark.parametrize(
    "make",
    [
        lambda m: m.device("cpu"), lambda m: m.device("cpu", 0), lambda m: m.device("cpu:1"),
        lambda m: m.device(m.device("meta")), lambda m: m.device("cuda:x"), lambda m: m.device("cpu:-1"),
        lambda m: m.device("cuda", 1).index, lambda m: m.device("cuda:1") == m.device("cuda", 1),
        lambda m: m.device("cuda") == m.device("cuda", 0), lambda m: str(m.device("cuda", 1)),
        lambda m: m.Size([2, 3]), lambda m: m.Size([2, 3]).numel(), lambda m: m.Size([2, 3]).__add__((1,)),
        lambda m: m.Size([2, 3, 4])[1:], lambda m: m.Size([2, 3])[0], lambda m: m.Size([2]) * 2,
        lambda m: m.Size(["a"]), lambda m: m.Size([]), lambda m: tuple(m.Size([2])), lambda m: m.Size([2, 3]) == (2, 3),
        lambda m: m.strided, lambda m: m.channels_last, lambda m: m.contiguous_format,
        lambda m: m.set_default_dtype(m.int64), lambda m: m.zeros(2).layout,
    ],
)  # fmt: skip
def test_small_objects(make):
    assert outcome(lambda: make(torchlite)) == outcome(lambda: make(torch))


def test_sizes_devices_and_formats_survive_pickling_and_copying():
    for thing in (torchlite.Size([2, 3]), torchlite.device("cuda", 1), torchlite.channels_last, torchlite.strided):
        again = pickle.loads(pickle.dumps(thing))
        assert again == thing
        assert type(again) is type(thing)
        assert copy.deepcopy(thing) == thing


def test_default_device_is_where_tensors_are_made():
    with torchlite.device("meta"):
        assert torchlite.zeros(2).device.type == "meta"
        with torchlite.device("cpu"):
            assert torchlite.ones(2).device.type == "cpu"
        assert torchlite.arange(3).device.type == "meta"
    assert torchlite.zeros(2).device.type == "cpu"


@pytest.mark.parametrize(
    "name", ["qint8", "quint4x2", "bits8", "bits16", "int4", "uint1", "float4_e2m1fn_x2"]
)
def test_types_that_may_be_named_though_no_tensor_has_them(name):
    described = [
        (repr(d), d.itemsize, d.is_floating_point, d.is_complex, d.abbr, str(d.to_real()), copy.copy(d) is d)
        for d in (getattr(torch, name), getattr(torchlite, name))
    ]
    assert described[0] == described[1]
    assert pickle.loads(pickle.dumps(getattr(torchlite, name))) is getattr(torchlite, name)
    with pytest.raises(NotImplementedError, match=f"torchlite has no tensors of torch.{name}"):
        torchlite.ones(2, dtype=getattr(torchlite, name))


@pytest.mark.parametrize(
    "name", ["bool", "int8", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
)
def test_promotion_with_half_complex(name):
    kinds = [str(m.promote_types(m.complex32, getattr(m, name))) for m in (torch, torchlite)]
    assert kinds[0] == kinds[1]
