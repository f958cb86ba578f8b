"""Modules that keep little for their backward pass."""
