"""Fourier transforms: torch.fft, stft and istft beside PyTorch's, and what the transforms mean."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import torchlite
from compat_tests.side_by_side import same_story

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = tuple(f"{name}{n}" for name in ONE for n in ("2", "n"))
REAL_ONLY = ("rfft", "ihfft")


def signal(torch, *shape, complex=False):
    count = math.prod(shape)
    x = torch.linspace(-1, 1, count, dtype=torch.float64).mul(7).cos().reshape(shape)
    return torch.complex(x, x.flip(0)) if complex else x


def attempt(tell, call):
    try:
        result = call()
    except (RuntimeError, IndexError, TypeError) as error:
        tell(type(error).__name__, str(error))
    else:
        tell(result, result.shape, result.stride(), result.dtype)


@same_story
def test_transforms_along_one_dimension(torch, tell):
    for name in ONE:
        call = getattr(torch.fft, name)
        for x in (signal(torch, 3, 6), signal(torch, 3, 6, complex=True)):
            for keywords in ({}, {"n": 4}, {"n": 9}, {"dim": 0}, {"norm": "ortho"}, {"norm": "forward"}):
                attempt(tell, lambda call=call, x=x, keywords=keywords: call(x, **keywords))


@same_story
def test_transforms_along_several_dimensions(torch, tell):
    x = signal(torch, 3, 4, 5)
    for name in SEVERAL:
        for keywords in ({}, {"s": (3, 6)}, {"dim": (0, 2)}, {"s": (2, -1), "dim": (2, 0)}, {"norm": "ortho"}):
            attempt(tell, lambda name=name, keywords=keywords: getattr(torch.fft, name)(x, **keywords))


@same_story
def test_results_lie_in_memory_as_pytorchs(torch, tell):
    x = signal(torch, 2, 3, 4, 5, complex=True).permute(2, 0, 3, 1)
    for dims in ((0,), (2, 0), (1, 3), (3, 1), (0, 1, 2, 3)):
        tell(torch.fft.fftn(x, dim=dims).stride(), torch.fft.rfftn(x.real, dim=dims).stride())
    tell(torch.fft.irfft(x, dim=0).stride(), torch.fft.irfft(x, dim=2).stride())


@same_story
def test_what_is_conjugated_keeps_its_layout_where_it_is_resized(torch, tell):
    for name in ONE:
        x = signal(torch, 3, 4, 5, complex=name in ("fft", "irfft", "hfft"))
        for dim in (0, 1, -1):
            call = getattr(torch.fft, name)
            made = call(x, dim=dim)
            tell(name, dim, call(x, dim=dim, out=made.new_empty(0)).stride())
            attempt(tell, lambda call=call, x=x, made=made: call(x, out=made.to(made.dtype.to_complex()).cfloat()))


@same_story
def test_types(torch, tell):
    for d in (torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.complex64):
        x = torch.ones(4).to(d)
        for name in (*ONE, *SEVERAL):
            attempt(tell, lambda name=name, x=x: getattr(torch.fft, name)(x.reshape(2, 2)))


@same_story
def test_errors(torch, tell):
    x = signal(torch, 4, 5)
    for name in (*ONE, "fftn", "rfftn", "irfftn"):
        call = getattr(torch.fft, name)
        size = "s" if name.endswith("n") else "n"
        for keywords in ({size: 0}, {size: -3}, {"dim": 3}, {"norm": "half"}, {"norm": 1}):
            attempt(tell, lambda call=call, keywords=keywords: call(x, **keywords))
        attempt(tell, lambda call=call: call(torch.tensor(1.0)))
        attempt(tell, lambda call=call: call(x, out=torch.ones(1, dtype=torch.int64)))
    for keywords in ({"s": (1, 2, 3)}, {"s": (3,), "dim": (0, 1)}, {"dim": (0, -2)}):
        attempt(tell, lambda keywords=keywords: torch.fft.fftn(x, **keywords))


@same_story
def test_out(torch, tell):
    x = signal(torch, 2, 6)
    half = torch.fft.rfft(x)
    for name, source in (("fft", x), ("irfft", half), ("hfft", half), ("ifft2", x), ("rfftn", x)):
        call = getattr(torch.fft, name)
        out = torch.empty_like(call(source))
        tell(call(source, out=out) is out, out)


@same_story
def test_frequencies_and_shifts(torch, tell):
    for n in range(6):
        tell(torch.fft.fftfreq(n), torch.fft.rfftfreq(n, 0.25, dtype=torch.float64))
        tell(torch.fft.fftshift(torch.arange(n)), torch.fft.ifftshift(torch.arange(n)))
    x = torch.arange(12).reshape(3, 4)
    tell(torch.fft.fftshift(x), torch.fft.fftshift(x, 1), torch.fft.ifftshift(x, (0, 1)))
    attempt(tell, lambda: torch.fft.fftfreq(3, dtype=torch.int64))
    attempt(tell, lambda: torch.fft.fftshift(x, 2))


@same_story
def test_gradients_twice(torch, tell):
    for name in (*ONE, "fft2", "rfftn", "irfft2", "hfftn", "ihfft2"):
        call = getattr(torch.fft, name)
        x = signal(torch, 3, 4, complex=not name.startswith(REAL_ONLY)).requires_grad_()
        result = call(x)
        tell(result.grad_fn.name())
        (g,) = torch.autograd.grad(result.abs().pow(3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(g.abs().pow(2).sum(), x)
        tell(g, second)


def test_tangents_are_transformed_alike():
    for name in (*ONE, *SEVERAL):
        call = getattr(torchlite.fft, name)
        x = signal(torchlite, 3, 4, complex=not name.startswith(REAL_ONLY))
        torchlite.testing.assert_close(torchlite.func.jvp(call, (x,), (x.flip(0),))[1], call(x.flip(0)))


@same_story
def test_batches(torch, tell):
    x = signal(torch, 2, 3, 4)
    tell(torch.vmap(torch.fft.fft)(x), torch.vmap(torch.fft.rfft2)(x), torch.vmap(torch.fft.irfft, 2)(x))
    tell(torch.vmap(lambda row: torch.fft.fftn(row, dim=(0,)), in_dims=1)(x))


@given(st.integers(1, 12), st.integers(0, 2**31), st.sampled_from(["backward", "ortho", "forward"]))
@settings(max_examples=20, deadline=None)
def test_transforms_are_what_they_say(n, seed, norm):
    x = np.random.default_rng(seed).normal(size=n)
    k = np.arange(n)
    matrix = np.exp(-2j * np.pi * np.outer(k, k) / n) / {"backward": 1, "ortho": math.sqrt(n), "forward": n}[norm]
    t = torchlite.from_numpy(x)
    np.testing.assert_allclose(torchlite.fft.fft(t, norm=norm).numpy(), matrix @ x, atol=1e-12)
    np.testing.assert_allclose(
        torchlite.fft.irfft(torchlite.fft.rfft(t, norm=norm), n, norm=norm).numpy(), x, atol=1e-12
    )


def test_an_empty_batch_has_empty_spectra():
    assert torchlite.fft.rfft(torchlite.ones(0, 6)).shape == (0, 4)


# ---- short stretches


@same_story
def test_stft(torch, tell):
    x, w = signal(torch, 2, 40), torch.hann_window(16, dtype=torch.float64)
    for keywords in (
        {}, {"hop_length": 5}, {"onesided": False}, {"normalized": True}, {"center": False}, {"pad_mode": "constant"},
        {"win_length": 10, "window": w[:10]}, {"center": False, "align_to_window": True},
    ):  # fmt: skip
        for signal_ in (x, x[0]):
            made = torch.stft(signal_, 16, **{"window": w, "return_complex": True, **keywords})
            tell(made, made.stride())
    tell(x[0].stft(16, window=w, return_complex=True), torch.stft(torch.complex(x, x), 16, window=w))


@same_story
def test_istft(torch, tell):
    x, w = signal(torch, 2, 40), torch.hann_window(16, dtype=torch.float64)
    S = torch.stft(x, 16, window=w, return_complex=True)
    whole = torch.stft(torch.complex(x, -x), 16, window=w)
    tell(torch.istft(S, 16, window=w), S[0].istft(16, window=w, length=30), torch.istft(S, 16, window=w, length=50))
    tell(torch.istft(whole, 16, window=w, return_complex=True), torch.istft(S, 16, 4, 12, w[:12], normalized=True))


@same_story
def test_what_stft_and_istft_refuse(torch, tell):
    x, w = signal(torch, 40), torch.hann_window(16, dtype=torch.float64)
    S = torch.stft(x, 16, window=w, return_complex=True)
    for positional, keywords in (
        ((0,), {}), ((16, 0), {}), ((16,), {"win_length": 20}), ((16,), {"window": w[:3]}), ((60,), {"center": False}),
        ((16,), {"align_to_window": True}), ((16,), {"return_complex": None}), ((16,), {"pad_mode": "odd"}),
    ):  # fmt: skip
        attempt(tell, lambda p=positional, k=keywords: torch.stft(x, *p, **{"window": w, "return_complex": True, **k}))
    for spectra, keywords in (
        (S, {"n_fft": 20}), (S, {"hop_length": 20}), (S, {"window": w[:3]}), (S, {"center": False}), (S[:, :0], {}),
        (S.real, {}), (S, {"return_complex": True}), (S, {"window": w * 0}),
    ):  # fmt: skip
        attempt(tell, lambda s=spectra, k=keywords: torch.istft(s, **{"n_fft": 16, "window": w, **k}))


@same_story
def test_gradients_through_stft_and_back(torch, tell):
    x = signal(torch, 40).requires_grad_()
    w = torch.hann_window(16, dtype=torch.float64).requires_grad_()
    S = torch.stft(x, 16, window=w, return_complex=True)
    tell(*torch.autograd.grad(S.abs().pow(2).sum(), (x, w), retain_graph=True))
    tell(*torch.autograd.grad(torch.istft(S * 2j, 16, window=w).pow(3).sum(), (x, w)))
