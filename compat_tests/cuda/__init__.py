"""What runs on the device `cuda`: a GPU, or `python -m torchlite.testing.cuda_on_host -m pytest compat_tests/cuda`."""
