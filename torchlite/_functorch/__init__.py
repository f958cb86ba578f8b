"""`torch._functorch`: where PyTorch keeps its transforms of functions, whose home here is `torchlite.func`."""
