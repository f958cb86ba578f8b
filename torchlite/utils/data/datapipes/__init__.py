"""Datasets as pipelines: each pipe takes samples from others."""

from . import iter, map
