"""Losses of audio: of spectrograms at several resolutions and of waveforms, weighed by the ear, with gradients."""

import auraloss
import torch

torch.manual_seed(0)
target = torch.randn(2, 1, 4096)
guess = (target + 0.3 * torch.randn(2, 1, 4096)).requires_grad_()
stereo = torch.randn(2, 2, 4096)

LOSSES = {
    "at one resolution": auraloss.freq.STFTLoss(),
    "of magnitudes": auraloss.freq.STFTLoss(w_sc=0.0, w_log_mag=0.5, w_lin_mag=1.0, mag_distance="L2"),
    "at several": auraloss.freq.MultiResolutionSTFTLoss([256, 512], [64, 128], [256, 512]),
    "weighed by the ear": auraloss.freq.MultiResolutionSTFTLoss(
        [512], [128], [512], perceptual_weighting=True, sample_rate=44100
    ),
    "signal to noise": auraloss.time.SNRLoss(),
    "without scale": auraloss.time.SISDRLoss(),
    "dependent on scale": auraloss.time.SDSDRLoss(),
    "error to signal": auraloss.time.ESRLoss(),
    "constant part": auraloss.time.DCLoss(),
    "log cosh": auraloss.time.LogCoshLoss(),
}

for name, loss in LOSSES.items():
    guess.grad = None
    made = loss(guess, target)
    made.backward()
    print(name, f"{made.item():.4f} {guess.grad.abs().sum().item():.4f}")

both = stereo + 0.1 * torch.randn(2, 2, 4096)
print("sum and difference", f"{auraloss.freq.SumAndDifferenceSTFTLoss([256], [64], [256])(both, stereo).item():.4f}")
shaped = auraloss.perceptual.FIRFilter(filter_type="hp", coef=0.85)(guess.detach(), target)
print("filtered", *[f"{part.abs().sum().item():.3f}" for part in shaped])
