"""Filterbanks for speech: free, analytic and parametrised ones and Fourier's, there and back, with gradients."""

import torch
from asteroid_filterbanks import (
    STFTFB,
    AnalyticFreeFB,
    Decoder,
    Encoder,
    FreeFB,
    ParamSincFB,
    make_enc_dec,
    transforms,
)  # fmt: skip

torch.manual_seed(0)
wave = torch.randn(2, 1, 4000)

BANKS = {
    "free": FreeFB(32, 16, stride=8),
    "analytic": AnalyticFreeFB(32, 16, stride=8),
    "sinc": ParamSincFB(32, 17, stride=8, sample_rate=8000),
    "Fourier": STFTFB(64, 64, stride=16),
}

for name, bank in BANKS.items():
    made = Encoder(bank)(wave)
    made.pow(2).mean().backward() if any(p.requires_grad for p in bank.parameters()) else None
    moved = sum(p.grad.abs().sum().item() for p in bank.parameters() if p.grad is not None)
    print(name, list(made.shape), f"{made.abs().mean().item():.4f} {moved:.4f}")

encoder, decoder = make_enc_dec("stft", n_filters=128, kernel_size=128, stride=32)
spectrum = encoder(wave)
again = decoder(spectrum)[..., 128:-128]
print("back", f"{(again - wave[..., 128 : 128 + again.shape[-1]]).abs().max().item() < 1e-4}")
magnitude, phase = transforms.mag(spectrum), transforms.angle(spectrum)
print("parts", f"{magnitude.sum().item():.2f} {phase.cos().sum().item():.2f}")
masked = transforms.apply_mag_mask(spectrum, torch.sigmoid(magnitude))
print("masked", f"{Decoder(STFTFB(128, 128, stride=32))(masked).abs().sum().item():.3f}")
