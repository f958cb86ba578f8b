"""The CPU's random streams are PyTorch's, bit for bit: the numbers, and the generator's state after them."""
# ruff: noqa: B023 (the lambdas in loops are called at once)

import hashlib
import math
import threading
import warnings

import ml_dtypes
import numpy as np
import pytest

from torchlite.kernels.cpu_random import MT19937Stream, normals, permutation

F2, F4, F8, BF16 = np.float16, np.float32, np.float64, ml_dtypes.bfloat16
I8, I4, U1 = np.int64, np.int32, np.uint8


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*out of bounds.*")
        yield


def digest(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()[:12]


def eighths(first, last, dtype=F4):
    return (np.arange(first, last) / 8).astype(dtype)


# Seed, draws, and what real PyTorch 2.13 gave (with glibc): digests of the numbers and of the state after them.
RECORDED = [
    (0, lambda s: s.uniform(3, F4), "125b0c33fa03", "30ba57011b00"),
    (1234567890123, lambda s: s.uniform(3, F4), "5dfbcba17f9d", "235007e86242"),
    (-5, lambda s: s.uniform(3, F4), "e28f1eda6ad7", "466413d4f9bd"),
    (3, lambda s: s.normal(100003, F4, block=True), "c60616b9ff91", "437a98882355"),
    (3, lambda s: s.normal(5, F4, block=False), "ebbf67d19ed8", "fc17f6d63e15"),
    (4, lambda s: s.normal(17, F8, block=True), "69c28087eed5", "ad8359c0113d"),
    (5, lambda s: s.normal(33, BF16, block=True), "bb82d1c9ef4e", "1144ff5db788"),
    (5, lambda s: s.normal(33, F2, block=True), "7ccdb4e525dd", "1144ff5db788"),
    (7, lambda s: (s.normal(3, F4, block=False), s.normal(16, F4, block=True), s.normal(2, F8, block=False)),
     "635f2ba679d7", "2eba05bba26f"),
    (7, lambda s: (s.normal(5, F4, 2, 3, block=False), s.log_normal(3, F4, 0.5, 0.25)), "f1a6aaf45f8c", "d2ec846d4e04"),
    (8, lambda s: s.uniform(40, F4, -0.3, 0.7), "665a2df6b3bc", "8e101a0682bc"),
    (8, lambda s: s.uniform(40, F8, -1 / 3, 1 / 3), "0d1eecce5429", "ebb2e1f0154d"),
    (8, lambda s: s.uniform(40, BF16, -0.3, 0.7), "40f6e3e9ce72", "8e101a0682bc"),
    (8, lambda s: s.uniform(40, F2, 5, 5.0001), "e67166f51d48", "8e101a0682bc"),
    (8, lambda s: s.normal(50, F4, 0.1, 0.02, block=True), "a9df910af8d4", "3c7040794b93"),
    (8, lambda s: s.normal(7, F8, 0.1, 0.02, block=False), "ea644dcdd5b6", "c628eb6f038e"),
    (11, lambda s: s.randint(9, I8, 0, 2**28 - 1), "251722739884", "3f2e7e3963ae"),
    (11, lambda s: s.randint(9, I8, 0, 2**28), "78cbc353e88e", "8fd8079d8d77"),
    (11, lambda s: s.randint(9, I8, -(2**63), 2**63 - 1), "edaae94fb989", "8fd8079d8d77"),
    (11, lambda s: s.randint(9, BF16, 0, 100), "e875dbbca234", "3f2e7e3963ae"),
    (12, lambda s: s.random_full(9, I8), "9140683d9663", "626701773da2"),
    (12, lambda s: s.random_full(9, F4), "687fb3ed7269", "78788b81c176"),
    (12, lambda s: s.random_from(9, I8, -(2**63)), "d87578a4e592", "626701773da2"),
    (12, lambda s: s.random_from(9, F4, 5), "c97e4f1dea4b", "78788b81c176"),
    (12, lambda s: s.randint(9, F2, 0, 65504), "44935fc98ec9", "78788b81c176"),
    (13, lambda s: s.randperm(10, I8), "df65e6e617e7", "dd29087a2a99"),
    (13, lambda s: s.randperm(30000, I8), "cf0ccd7c7e5c", "0ed918c4f279"),
    (14, lambda s: s.bernoulli_scalar(100003, 0.3, F4), "9923edd57a3e", "b3757a5d8e8f"),
    (14, lambda s: s.bernoulli_tensor(eighths(0, 9)), "30f8f7dd8839", "6730635d8070"),
    (14, lambda s: s.bernoulli_tensor(eighths(0, 9, F8)), "28c3cc57cc9b", "187b8fc1a948"),
    (16, lambda s: s.multinomial(eighths(1, 29).reshape(4, 7), 10, True), "a4f11b3b4fd9", "eafb778f3571"),
    (16, lambda s: s.multinomial(eighths(1, 29).reshape(4, 7), 5, False), "e0eff598adfe", "085b39e37377"),
    (16, lambda s: s.multinomial(eighths(1, 29).reshape(4, 7).T, 3, False), "67381be843a4", "085b39e37377"),
    (17, lambda s: s.exponential(20, F8, 1.7), "ba56861a0fc3", "1e9f21a24f69"),
    (17, lambda s: s.cauchy(20, F4, 0.5, 0.7), "d8e987b61c53", "1e9f21a24f69"),
    (17, lambda s: s.geometric(20, I8, 0.3), "4a74780b5231", "1e9f21a24f69"),
    (18, lambda s: s.poisson(eighths(0, 80)), "83261e8051e6", "f4ba36066903"),
    (18, lambda s: s.poisson(eighths(80, 900, F8)), "c6e6784a880b", "e34dc6c1be48"),
    (18, lambda s: s.binomial(np.full(7, 40, F8), eighths(1, 8, F8)), "33d3c476d64e", "8aed5ed39e38"),
    (18, lambda s: s.binomial(np.full(7, 5000, F4), eighths(1, 8)), "e81390e98eae", "9dba8cc0aebf"),
    (18, lambda s: s.standard_gamma(eighths(1, 73)), "1ed076672108", "ce50d28a682a"),
    (18, lambda s: s.dirichlet(eighths(1, 73, F8).reshape(6, 12)), "b981c4b37fd9", "ce50d28a682a"),
]  # fmt: skip


@pytest.mark.parametrize(("seed", "draw", "numbers", "state"), RECORDED, ids=range(len(RECORDED)))
def test_recorded(seed, draw, numbers, state):
    stream = MT19937Stream(seed)
    drawn = draw(stream)
    assert digest(*(drawn if isinstance(drawn, tuple) else [drawn])) == numbers
    assert digest(stream.get_state()) == state


def test_first_numbers():
    stream = MT19937Stream(0)
    assert stream.uniform(3, F4).tolist() == [0.49625658988952637, 0.7682217955589294, 0.08847743272781372]
    assert MT19937Stream().initial_seed == 67280421310721
    assert MT19937Stream(-1).initial_seed == 2**64 - 1


# Beside real PyTorch


def torch_dtypes(torch, *kinds):
    floats = {torch.float32: F4, torch.float64: F8, torch.float16: F2, torch.bfloat16: BF16}
    integers = {torch.int64: I8, torch.int32: I4, torch.int16: np.int16, torch.int8: np.int8, torch.uint8: U1}
    return floats | (integers | {torch.bool: np.bool_} if "integers" in kinds else {})


class Pair:
    """A generator of PyTorch's and ours, side by side."""

    def __init__(self, torch, seed):
        self.torch = torch
        self.generator = torch.Generator().manual_seed(seed)
        self.stream = MT19937Stream(seed)

    def check(self, theirs, ours):
        """Both results, or both errors, are the same, and so are the states."""
        outcomes = []
        for run in (lambda: theirs(self.generator), lambda: ours(self.stream)):
            try:
                outcomes.append(run())
            except (RuntimeError, ValueError, TypeError) as error:
                outcomes.append((type(error), str(error).rstrip()))
        expected, got = outcomes
        if isinstance(expected, tuple) or isinstance(got, tuple):
            assert got == expected
        else:
            assert got.shape == tuple(expected.shape)
            raw = expected.clone(memory_format=self.torch.contiguous_format).flatten().view(self.torch.uint8).numpy()
            assert np.ascontiguousarray(got).tobytes() == raw.tobytes()
        np.testing.assert_array_equal(self.stream.get_state(), self.generator.get_state().numpy())


SIZES = (0, 1, 3, 15, 16, 17, 32, 100, 311, 623, 624, 625, 1000, 2001, 70001)
LAWS = {
    "rand": (lambda t, g: t.uniform_(generator=g), lambda s, n, d: s.uniform(n, d)),
    "uniform": (lambda t, g: t.uniform_(-1 / 3, 0.7, generator=g), lambda s, n, d: s.uniform(n, d, -1 / 3, 0.7)),
    "narrow uniform": (lambda t, g: t.uniform_(9, 9.01, generator=g), lambda s, n, d: s.uniform(n, d, 9, 9.01)),
    "wide uniform": (lambda t, g: t.uniform_(-3e4, 3e4, generator=g), lambda s, n, d: s.uniform(n, d, -3e4, 3e4)),
    "randn": (lambda t, g: t.normal_(generator=g), lambda s, n, d: s.normal(n, d, block=n >= 16)),
    "normal": (
        lambda t, g: t.normal_(0.1, 0.02, generator=g),
        lambda s, n, d: s.normal(n, d, 0.1, 0.02, block=n >= 16),
    ),
    "log_normal": (lambda t, g: t.log_normal_(0.5, 9, generator=g), lambda s, n, d: s.log_normal(n, d, 0.5, 9)),
    "exponential": (lambda t, g: t.exponential_(1.7, generator=g), lambda s, n, d: s.exponential(n, d, 1.7)),
    "cauchy": (lambda t, g: t.cauchy_(0.5, 0.7, generator=g), lambda s, n, d: s.cauchy(n, d, 0.5, 0.7)),
}
INTEGER_LAWS = {
    "random": (lambda t, g: t.random_(generator=g), lambda s, n, d: s.random_full(n, d)),
    "randint": (lambda t, g: t.random_(1, 100, generator=g), lambda s, n, d: s.randint(n, d, 1, 100)),
    "long randint": (lambda t, g: t.random_(-9, 2**40, generator=g), lambda s, n, d: s.randint(n, d, -9, 2**40)),
    "whole randint": (
        lambda t, g: t.random_(-(2**63), None, generator=g),
        lambda s, n, d: s.random_from(n, d, -(2**63)),
    ),
    "random from": (lambda t, g: t.random_(1, None, generator=g), lambda s, n, d: s.random_from(n, d, 1)),
    "geometric": (lambda t, g: t.geometric_(0.3, generator=g), lambda s, n, d: s.geometric(n, d, 0.3)),
    "bernoulli": (lambda t, g: t.bernoulli_(0.3, generator=g), lambda s, n, d: s.bernoulli_scalar(n, 0.3, d)),
}


@pytest.mark.parametrize("law", [*LAWS, *INTEGER_LAWS])
def test_law(law):
    torch = pytest.importorskip("torch")
    theirs, ours = (LAWS | INTEGER_LAWS)[law]
    pair = Pair(torch, 20)
    for dtype, numpy_dtype in torch_dtypes(torch, "integers" if law in INTEGER_LAWS else "floats").items():
        for n in SIZES:
            pair.check(lambda g: theirs(torch.empty(n, dtype=dtype), g), lambda s: ours(s, n, numpy_dtype))


def test_normals_of_a_tensor_with_gaps_come_one_by_one():
    torch = pytest.importorskip("torch")
    pair = Pair(torch, 21)
    for n in (1, 16, 33, 64, 5):
        pair.check(
            lambda g: torch.empty(2 * n)[::2].normal_(2, 3, generator=g),
            lambda s: s.normal(n, F4, 2, 3, block=False),
        )


@pytest.mark.parametrize("n", [0, 1, 2, 10, 255, 999, 1000, 1001, 5000, 70000])
def test_randperm(n):
    torch = pytest.importorskip("torch")
    pair = Pair(torch, n)
    for dtype, numpy_dtype in torch_dtypes(torch, "integers").items():
        pair.check(
            lambda g: torch.randperm(n, dtype=dtype, generator=g),
            lambda s: s.randperm(n, numpy_dtype),
        )


@pytest.mark.parametrize("n", [2, 99, 100, 101, 3000, 50_000])
def test_permutations_where_lapack_cannot_be_called(monkeypatch, n):
    with_lapack = MT19937Stream(n).randperm(n, I8)
    monkeypatch.setattr(permutation, "interchanger", lambda: None)
    assert (MT19937Stream(n).randperm(n, I8) == with_lapack).all()


def test_permutation_from_the_end(monkeypatch):
    monkeypatch.setattr(permutation, "_LONG", 0)
    for n in (1, 2, 3, 50, 2000):
        words = MT19937Stream(n).words64(n).tolist()
        order = list(range(n))
        for i, word in enumerate(words):
            j = word % (i + 1)
            order[i], order[j] = order[j], i
        assert MT19937Stream(n).randperm(n, I8).tolist() == order


def test_laws_with_a_parameter_for_each_number():
    torch = pytest.importorskip("torch")
    pair = Pair(torch, 22)
    base = torch.rand(300, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for dtype, numpy_dtype in torch_dtypes(torch).items():
        p = base.to(dtype)
        p_ = base.numpy().astype(F4).astype(numpy_dtype) if dtype.itemsize == 2 else base.numpy().astype(numpy_dtype)
        pair.check(lambda g: torch.bernoulli(p, generator=g), lambda s: s.bernoulli_tensor(p_))
        for scale in (1, 9, 64, 1024):
            pair.check(
                lambda g: torch.poisson(p * scale, generator=g),
                lambda s: s.poisson(p_ * p_.dtype.type(scale)),
            )
        if dtype.itemsize == 2:
            continue
        for scale in (0.125, 1, 64):
            pair.check(
                lambda g: torch._standard_gamma(p * scale, generator=g),
                lambda s: s.standard_gamma(p_ * p_.dtype.type(scale)),
            )
        for k in (1, 2, 5, 30, 100):
            pair.check(
                lambda g: torch._sample_dirichlet(p.reshape(-1, k), generator=g),
                lambda s: s.dirichlet(p_.reshape(-1, k)),
            )
        for count in (0, 3, 40, 5000, 2**26):
            pair.check(
                lambda g: torch.binomial(torch.full_like(p, count), p, generator=g),
                lambda s: s.binomial(np.full_like(p_, count), p_),
            )


@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial(replacement):
    torch = pytest.importorskip("torch")
    pair = Pair(torch, 23)
    weights = torch.rand(7, 60, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    for p in (weights, weights.float(), weights.t(), weights[:, ::2], weights[:1].expand(3, 60), weights[:0]):
        for n in (1, 2, 7):
            pair.check(
                lambda g: torch.multinomial(p, n, replacement, generator=g),
                lambda s: s.multinomial(p.numpy(), n, replacement),
            )


NAN, INF = math.nan, math.inf
WRONG = {
    "seed": lambda t, g: g.manual_seed(2**64),
    "uniform bounds": lambda t, g: t.empty(3).uniform_(2, 1, generator=g),
    "uniform from": lambda t, g: t.empty(3).uniform_(NAN, 1, generator=g),
    "uniform to": lambda t, g: t.empty(3, dtype=t.half).uniform_(0, 1e5, generator=g),
    "uniform span": lambda t, g: t.empty(3, dtype=t.double).uniform_(-1e308, 1e308, generator=g),
    "uniform dtype": lambda t, g: t.empty(3, dtype=t.long).uniform_(0, 1, generator=g),
    "std": lambda t, g: t.empty(3).normal_(0, -1, generator=g),
    "normal dtype": lambda t, g: t.empty(3, dtype=t.long).normal_(generator=g),
    "empty range": lambda t, g: t.empty(3).random_(5, 5, generator=g),
    "randint from": lambda t, g: t.empty(3, dtype=t.uint8).random_(-1, 3, generator=g),
    "randint to": lambda t, g: t.empty(3, dtype=t.bool).random_(0, 3, generator=g),
    "random from": lambda t, g: t.empty(3).random_(2**24, None, generator=g),
    "random dtype": lambda t, g: t.empty(3, dtype=t.uint16).random_(generator=g),
    "whole dtype": lambda t, g: t.empty(3, dtype=t.int32).random_(-(2**63), None, generator=g),
    "randperm": lambda t, g: t.randperm(-1, generator=g),
    "randperm half": lambda t, g: t.randperm(3000, dtype=t.half, generator=g),
    "randperm int8": lambda t, g: t.randperm(129, dtype=t.int8, generator=g),
    "bernoulli": lambda t, g: t.empty(3).bernoulli_(1.5, generator=g),
    "bernoulli tensor": lambda t, g: t.bernoulli(t.tensor([0.5, 0.5, 1.5, 0.5]), generator=g),
    "exponential": lambda t, g: t.empty(3).exponential_(0, generator=g),
    "exponential dtype": lambda t, g: t.empty(3, dtype=t.long).exponential_(generator=g),
    "geometric": lambda t, g: t.empty(3).geometric_(1, generator=g),
    "cauchy": lambda t, g: t.empty(3).cauchy_(0, -1, generator=g),
    "cauchy dtype": lambda t, g: t.empty(3, dtype=t.long).cauchy_(generator=g),
    "log_normal": lambda t, g: t.empty(3).log_normal_(0, NAN, generator=g),
    "poisson": lambda t, g: t.poisson(t.tensor([2.0, 3, -1, 2]), generator=g),
    "no samples": lambda t, g: t.multinomial(t.ones(1, 3), 0, generator=g),
    "too many samples": lambda t, g: t.multinomial(t.ones(1, 3), 4, generator=g),
    "weights": lambda t, g: t.multinomial(t.tensor([[1, INF]]), 1, generator=g),
    "no weight": lambda t, g: t.multinomial(t.tensor([[0.0, 0]]), 1, generator=g),
    "second row": lambda t, g: t.multinomial(t.tensor([[0.5, 0.5], [1, NAN]]), 2, True, generator=g),
    "second row infinite": lambda t, g: t.multinomial(t.tensor([[0.5, 0.5], [1, INF]]), 2, True, generator=g),
}
WRONG_OURS = {
    "seed": lambda s: s.seed(2**64),
    "uniform bounds": lambda s: s.uniform(3, F4, 2, 1),
    "uniform from": lambda s: s.uniform(3, F4, NAN, 1),
    "uniform to": lambda s: s.uniform(3, F2, 0, 1e5),
    "uniform span": lambda s: s.uniform(3, F8, -1e308, 1e308),
    "uniform dtype": lambda s: s.uniform(3, I8),
    "std": lambda s: s.normal(3, F4, 0, -1, block=False),
    "normal dtype": lambda s: s.normal(3, I8, block=False),
    "empty range": lambda s: s.randint(3, F4, 5, 5),
    "randint from": lambda s: s.randint(3, U1, -1, 3),
    "randint to": lambda s: s.randint(3, np.bool_, 0, 3),
    "random from": lambda s: s.random_from(3, F4, 2**24),
    "random dtype": lambda s: s.random_full(3, np.uint16),
    "whole dtype": lambda s: s.random_from(3, I4, -(2**63)),
    "randperm": lambda s: s.randperm(-1, I8),
    "randperm half": lambda s: s.randperm(3000, F2),
    "randperm int8": lambda s: s.randperm(129, np.int8),
    "bernoulli": lambda s: s.bernoulli_scalar(3, 1.5, F4),
    "bernoulli tensor": lambda s: s.bernoulli_tensor(np.array([0.5, 0.5, 1.5, 0.5], F4)),
    "exponential": lambda s: s.exponential(3, F4, 0),
    "exponential dtype": lambda s: s.exponential(3, I8),
    "geometric": lambda s: s.geometric(3, F4, 1),
    "cauchy": lambda s: s.cauchy(3, F4, 0, -1),
    "cauchy dtype": lambda s: s.cauchy(3, I8),
    "log_normal": lambda s: s.log_normal(3, F4, 0, NAN),
    "poisson": lambda s: s.poisson(np.array([2, 3, -1, 2], F4)),
    "no samples": lambda s: s.multinomial(np.ones((1, 3), F4), 0, False),
    "too many samples": lambda s: s.multinomial(np.ones((1, 3), F4), 4, False),
    "weights": lambda s: s.multinomial(np.array([[1, INF]], F4), 1, False),
    "no weight": lambda s: s.multinomial(np.array([[0, 0]], F4), 1, False),
    "second row": lambda s: s.multinomial(np.array([[0.5, 0.5], [1, NAN]], F4), 2, True),
    "second row infinite": lambda s: s.multinomial(np.array([[0.5, 0.5], [1, INF]], F4), 2, True),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_arguments(what):
    torch = pytest.importorskip("torch")
    Pair(torch, 24).check(lambda g: WRONG[what](torch, g), WRONG_OURS[what])


# The state


def test_state_travels_both_ways_at_every_place():
    torch = pytest.importorskip("torch")
    for drawn in [*range(8), *range(617, 632), *range(1245, 1252)]:
        pair = Pair(torch, 25)
        torch.rand(drawn, generator=pair.generator)
        pair.stream.set_state(pair.generator.get_state().numpy())
        pair.check(lambda g: torch.randn(3, generator=g), lambda s: s.normal(3, F4, block=False))
        pair.generator.set_state(torch.from_numpy(pair.stream.get_state()))
        pair.check(lambda g: torch.randn(40, generator=g), lambda s: s.normal(40, F4, block=True))
        pair.check(lambda g: torch.randn(2, generator=g), lambda s: s.normal(2, F4, block=False))


def test_clone_goes_its_own_way():
    stream = MT19937Stream(26)
    stream.normal(3, F4, block=False)
    twin = stream.clone()
    assert twin.normal(5, F8, block=False).tolist() == stream.normal(5, F8, block=False).tolist()
    stream.uniform(1, F4)
    assert twin.uniform(1, F4) != stream.uniform(1, F4)


def test_set_state_refuses():
    stream = MT19937Stream(27)
    before = stream.get_state()
    wrong = {
        TypeError("RNG state must be a torch.ByteTensor"): np.zeros(5056, F4),
        RuntimeError("RNG state must be contiguous"): np.zeros(2 * 5056, U1)[::2],
        RuntimeError(
            "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size to be 5055"
        ): np.zeros(5055, U1),
        RuntimeError("Invalid mt19937 state"): np.zeros(5056, U1),
    }
    for error, state in wrong.items():
        with pytest.raises(type(error), match=f"^{error}$"):
            stream.set_state(state)
    assert stream.get_state().tobytes() == before.tobytes()


def test_threads_share_a_stream_in_whole_draws():
    stream, drawn = MT19937Stream(28), []

    def draw():
        for _ in range(50):
            drawn.append(stream.words32(100).tobytes())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    serial = MT19937Stream(28)
    assert sorted(drawn) == sorted(serial.words32(100).tobytes() for _ in range(200))


# The polynomials of float32 normals


def untempered(words):
    """The state words from which the generator makes these."""
    words = words ^ (words >> 18)
    words ^= (words << 15) & 0xEFC60000
    state = words
    for _ in range(4):
        state = words ^ ((state << 7) & 0x9D2C5680)
    words = state
    for _ in range(2):
        state = words ^ (state >> 11)
    return state


@pytest.mark.parametrize("offset", [0, 5, 10, 15])
def test_float32_normals_of_every_sixteenth_uniform(offset):
    torch = pytest.importorskip("torch")
    generator = torch.Generator()
    state = generator.get_state().numpy()
    state[8:24] = np.array([624, 1, 1, 0], np.int32).view(U1)  # at its second word, with 623 to go
    state_words = state[24:5016].view(np.uint64)
    out = torch.empty(38 * 16)
    uniforms = np.arange(offset, 2**24, 16, dtype=np.uint32)
    uniforms = uniforms[: uniforms.size // 304 * 304].reshape(-1, 38, 1, 8)
    for some in uniforms:
        words = np.broadcast_to(some, (38, 2, 8)).ravel()  # the same for radius and angle
        state_words[1:609] = untempered(words)
        generator.set_state(torch.from_numpy(state))
        ours = np.empty(words.size, F4)
        normals.join_blocks(*normals.normals_of_words(words), out=ours)
        np.testing.assert_array_equal(ours, out.normal_(generator=generator).numpy())
