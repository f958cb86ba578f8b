"""Signals: resampling, filters by convolution and by FFT, bands, and gradients through them."""

import julius
import torch

torch.manual_seed(0)
wave = torch.randn(2, 400, requires_grad=True)
made = {
    "resampled": julius.resample_frac(wave, 4, 3), "low": julius.lowpass_filter(wave, 0.1),
    "lows": julius.lowpass_filters(wave, [0.05, 0.2]), "high": julius.highpass_filter(wave, 0.2),
    "band": julius.bandpass_filter(wave, 0.1, 0.3), "bands": julius.split_bands(wave, sample_rate=16000, n_bands=3),
    "fft": julius.fft_conv1d(wave[:, None], torch.randn(1, 1, 30), stride=2),
}  # fmt: skip
for name, value in made.items():
    print(name, tuple(value.shape), value.double().mean().item(), value.double().std().item())
    if value.requires_grad:
        (gradient,) = torch.autograd.grad(value.square().sum(), wave)
        print(gradient.norm().item())
