"""The compatibility suite: torchlite beside real PyTorch."""
