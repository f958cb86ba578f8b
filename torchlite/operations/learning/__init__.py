"""Losses, normalization and recurrent layers."""
