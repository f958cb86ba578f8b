"""Datasets as pipelines: each pipe takes samples from others."""

from __future__ import annotations

from . import iter, map
