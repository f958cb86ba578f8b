"""Models of several kinds, in plain PyTorch: all they need is in the library they are given.

Each file has `build(torch)`, a fresh model and a function that gives the loss of one step.
"""
