"""Ops that change what shape elements are in, and which stand beside which."""
