"""Models of several kinds, in plain PyTorch: what they and their training need is taken from the library they are given.

Each file has `build(torch)`, a fresh model and a function that gives the loss of one step.
"""
