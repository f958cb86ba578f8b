"""Bad calls: a good one with something replaced, added or left out."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from .call import Call

OBJECTS = (
    "None",
    "'a'",
    "''",
    "b'x'",
    "[]",
    "()",
    "{}",
    "{'a': 1}",
    "object()",
    "torch",
    "torch.Tensor",
    "int",
    "Spiteful()",
    "Ellipsis",
    "slice(None)",
    "range(3)",
    "set()",
    "lambda: 1",
    "['a']",
    "[None]",
    "[[1], [1, 2]]",
    "(1, 'a')",
    "Endless()",
    "endless()",
    "torch.nn.ReLU()",
    "torch.float32",
    "torch.int64",
    "float",
    "'cuda:77'",
    "'meta'",
    "'nowhere'",
    "torch.device('cpu')",
    "torch.strided",
    "torch.channels_last",
    "torch.Generator()",
    "np.array(['a'])",
    "np.array(None)",
    "np.ones(3)",
    "np.float32(2)",
    "np.int64(3)",
    "np.True_",
    "np.complex64(1j)",
    "np.float64(nan)",
    "np.array(2)",
    "np.ones((2, 4))[:, ::-2]",
    "Index(2)",
    "Index(-1)",
    "Whole(2)",
    "Real(0.5)",
    "Text('mean')",
    "Fraction(1, 2)",
    "Decimal('1.5')",
    "iter([1, 2])",
    "frozenset({1})",
    "bytearray(2)",
    "memoryview(b'ab')",
    "NotImplemented",
)
NUMBERS = (
    "0",
    "1",
    "-1",
    "5",
    "-7",
    "100",
    "10**12",
    "-10**12",
    "2**31",
    "2**62",
    "2**63 - 1",
    "2**63",
    "-2**63",
    "-2**63 - 1",
    "2**64",
    "10**30",
    "-10**30",
    "True",
    "False",
    "2.0",
    "0.5",
    "-1.5",
    "1e12",
    "1e300",
    "nan",
    "inf",
    "-inf",
    "1j",
    "2 + 0j",
)
LISTS = (
    "[0, 0]",
    "[1.5]",
    "[2.0, 3.0]",
    "[-1]",
    "[-1, -1]",
    "[10**12]",
    "[2**31, 2**31]",
    "[2**63]",
    "[10**30, 1]",
    "[1, 2, 3, 4, 5, 6, 7]",
    "[True]",
    "[nan]",
    "[0]",
    "(1, 2, 3)",
    "[2**62, 4]",
    "torch.Size([2, 3])",
    "[torch.tensor(2)]",
    "[torch.eye(2), 1]",
    "[np.int64(2), 1]",
    "[Index(1), Whole(2)]",
    "[T('float32').requires_grad_()]",
    "(torch.ones(2), 'a')",
)
TENSORS = (
    "T('float32', 2, 3)",
    "T('float32')",
    "T('float32', 0)",
    "T('float32', 2, 0, 3)",
    "T('float64', 5)",
    "T('int64', 3, 3)",
    "T('bool', 3)",
    "T('uint8', 2, 2)",
    "T('float16', 3)",
    "T('bfloat16', 3, 3)",
    "T('complex64', 3, 3)",
    "T('complex128')",
    "T('int32', 4)",
    "torch.tensor(10**12)",
    "torch.tensor([-5, 100])",
    "torch.tensor([nan, inf])",
    "torch.ones(2, 3, device='meta')",
    "torch.empty(0, device='meta')",
    "T('float32', 3, 3).to_sparse()",
    "T('float32', 3, 3).expand(2, 3, 3)",
    "T('float32', 3, 3).requires_grad_()",
    "T('float32').requires_grad_()",
    "T('float32', 1, 1).requires_grad_()",
    "T('complex64').requires_grad_()",
    "torch.nn.Parameter(T('float32', 3, 3)).mul(2)",
    "T('float32', 3, 3).t()",
    "T('float32', 3, 4)[:, ::2]",
    "T('float64', 3, 1).expand(3, 3)",
    "torch.inference_mode()(lambda: T('float32', 3, 3))()",
    "T('float32', 1, 1, 1, 1, 1, 1)",
    "torch.tensor(2)",
    "torch.tensor(True)",
    "torch.ones(3).share_memory_()",
    "T('complex64', 3).conj()",
    "T('complex64', 3).conj().imag",
    "T('uint16', 3)",
    "T('float8_e5m2', 3)",
)
VALUES = (*OBJECTS, *NUMBERS, *LISTS, *TENSORS)

_WORDS = (
    "dim",
    "out",
    "dtype",
    "nothing",
    "input",
    "self",
    "keepdim",
    "alpha",
    "device",
    "requires_grad",
    "generator",
    "size",
    "axis",
    "other",
    "reduction",
    "inplace",
    "memory_format",
    "correction",
    "dims",
    "value",
)


def _value(random: Random) -> str:
    return random.choice(random.choice((OBJECTS, NUMBERS, NUMBERS, LISTS, TENSORS)))


def worse(call: Call, random: Random, fixed: int) -> Call:
    """The call with something wrong; the first `fixed` arguments stay tensors."""
    arguments, keywords = list(call.arguments), list(call.keywords)

    def replace() -> None:
        at = random.randrange(len(arguments) + len(keywords)) if arguments or keywords else -1
        if at < 0:
            arguments.append(_value(random))
        elif at < len(arguments):
            arguments[at] = random.choice(TENSORS) if at < fixed else _value(random)
        else:
            keywords[at - len(arguments)] = (keywords[at - len(arguments)][0], _value(random))

    how = random.random()
    if how < 0.6:
        replace()
    elif how < 0.7:
        replace()
        replace()
    elif how < 0.78 and len(arguments) + len(keywords) > fixed:
        at = random.randrange(fixed, len(arguments) + len(keywords))
        if at < len(arguments):
            del arguments[at]
        else:
            del keywords[at - len(arguments)]
    elif how < 0.9:
        arguments.append(_value(random))
    else:
        word = random.choice(_WORDS)
        keywords = [(k, v) for k, v in keywords if k != word] + [(word, _value(random))]
    return Call(call.function, tuple(arguments), tuple(keywords))


def bad_calls(good: list[Call], random: Random, fixed: int) -> Iterator[Call]:
    """Bad versions of good calls, without end; none comes twice."""
    seen = {str(call) for call in good}
    misses = 0
    while misses < 1000:
        call = worse(random.choice(good), random, fixed)
        if str(call) in seen:
            misses += 1
        else:
            seen.add(str(call))
            yield call
