"""Kernels that several backends or rooms share: from arrays to arrays, knowing of no tensor."""
