"""Gives way to torchlite's, as torch beside it does."""

import importlib
import sys

import torch

del sys.modules["functorch"]
sys.modules["functorch"] = importlib.import_module("functorch")
