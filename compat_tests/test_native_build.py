"""Which build runs, and that loading it leaves the process as it was."""

import os
import subprocess
import sys

import pytest

from torchlite.core.native import native


def run(code, **variables):
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_denormals_survive_an_import():
    # Code linked for fast mathematics would flush them to zero, in the program's own arrays too.
    code = (
        "import numpy as np, torchlite; x = np.array([1e-40, 2e-38], np.float32); "
        "print(x[0] != 0, x[0] * np.float32(1) != 0, x[1] / np.float32(1e3) != 0, torchlite.tensor(1e-40) * 1 != 0)"
    )
    assert run(code) == "True True True tensor(True)"


def test_the_native_build_can_be_turned_off():
    code = "from torchlite.core.native import native, build; print(native, build)"
    assert run(code, TORCHLITE_NATIVE="0") == "None pure Python"


def test_info_says_which_build_runs():
    code = "from torchlite.__main__ import main; main(['--info'])"
    build = dict(line.split(":", 1) for line in run(code, TORCHLITE_NATIVE="0").splitlines())["build"]
    assert build.strip() == "pure Python"


@pytest.mark.skipif(native is None, reason="without the native build")
def test_the_native_build_can_be_insisted_upon():
    code = "from torchlite.core.native import build; print(build)"
    assert run(code, TORCHLITE_NATIVE="required").startswith("native")
