"""Benchmarks of torchlite beside real PyTorch."""
