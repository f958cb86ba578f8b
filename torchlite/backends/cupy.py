"""CUDA devices: CuPy arrays."""
