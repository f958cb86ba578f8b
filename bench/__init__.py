"""Benchmarks of torchlite beside real PyTorch: `python -m bench`."""
