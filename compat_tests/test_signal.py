"""The windows of torch.signal beside PyTorch's."""

from __future__ import annotations

from compat_tests.side_by_side import same_story

NAMES = (
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
)  # fmt: skip


def window(torch, name, *args, **keywords):
    own = {"a": [0.4, 0.5, 0.1]} if name == "general_cosine" else {}
    return getattr(torch.signal.windows, name)(*args, **own, **keywords)


@same_story
def test_windows(torch, tell):
    assert sorted(torch.signal.windows.__all__) == sorted(NAMES)
    for name in NAMES:
        for length in (0, 1, 2, 5, 8):
            tell(name, window(torch, name, length), window(torch, name, length, sym=False, dtype=torch.float64))


@same_story
def test_parameters(torch, tell):
    w = torch.signal.windows
    tell(w.exponential(5, tau=2.0), w.exponential(5, center=1.0, sym=False), w.gaussian(5, std=0.5))
    tell(w.kaiser(5, beta=0.0), w.kaiser(6, beta=3.0), w.general_hamming(5, alpha=0.3), w.general_cosine(4, a=(1, 2)))


@same_story
def test_refused(torch, tell):
    w = torch.signal.windows

    def attempt(call):
        try:
            call()
        except (ValueError, TypeError) as error:
            tell(type(error).__name__, str(error))

    for name in NAMES:
        attempt(lambda name=name: window(torch, name, -1))
        attempt(lambda name=name: window(torch, name, 3, dtype=torch.int64))
        attempt(lambda name=name: window(torch, name, 3, dtype=torch.float16))
        attempt(lambda name=name: window(torch, name, 3, layout=torch.sparse_coo))
    for call in (
        lambda: w.exponential(5, center=1.0), lambda: w.exponential(5, tau=0), lambda: w.gaussian(5, std=0),
        lambda: w.kaiser(5, beta=-1), lambda: w.general_cosine(5, a=[]), lambda: w.general_cosine(5, a=3),
    ):  # fmt: skip
        attempt(call)


@same_story
def test_what_is_made_can_be_differentiated(torch, tell):
    for name in NAMES:
        made = window(torch, name, 4, requires_grad=True)
        tell(name, made.requires_grad, made.is_leaf)
