"""Nested tensors in the jagged layout: values one after the other, and where each component begins."""
