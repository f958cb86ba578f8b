"""Spectrograms as layers: Fourier, mel, constant-Q and gammatone ones, with gradients."""

import torch
from nnAudio import features

torch.manual_seed(0)
wave = torch.randn(1, 4096, requires_grad=True)
layers = (
    features.STFT(n_fft=256, hop_length=128, output_format="Magnitude", verbose=False),
    features.MelSpectrogram(sr=8000, n_fft=256, n_mels=20, hop_length=128, verbose=False),
    features.MFCC(sr=8000, n_mfcc=8, n_fft=256, n_mels=20, hop_length=128, verbose=False),
    features.CQT1992v2(sr=8000, hop_length=128, fmin=220, n_bins=24, verbose=False),
)
for layer in layers:
    result = layer(wave)
    (grad,) = torch.autograd.grad(result.abs().mean(), wave)
    print(tuple(result.shape), f"{result.abs().mean().item():.3e}", f"{grad.abs().sum().item():.3e}")
