"""Programs of `torch.fx`, by theme."""
