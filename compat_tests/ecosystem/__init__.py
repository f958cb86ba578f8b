"""Programs as users of packages made for PyTorch write them; `python -m compat_tests.ecosystem` runs them on both."""
