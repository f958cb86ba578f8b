"""Gives way to torchlite, in a process that has this folder's parent on its search path."""

import importlib
import sys

from torchlite import alias  # by its name, since this module is called torch

del sys.modules["torch"]
if alias.from_environment() is None:
    from torchlite.alias.naming import SITE

    sys.path[:] = [place for place in sys.path if place != SITE]
sys.modules["torch"] = importlib.import_module("torch")
