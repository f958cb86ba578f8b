"""Every example runs unmodified in both libraries, and the losses of its first steps are the same."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = [path for path in sorted((ROOT / "examples").glob("*/*.py")) if '"--steps"' in path.read_text()]
LOSS = re.compile(r"^step +\d+ +loss +(\S+)", re.MULTILINE)


@pytest.fixture(scope="module")
def told() -> dict[str, dict[str, dict[str, str]]]:
    """For each library there is, what `compat_tests.examples` tells of each script; both run at the same time."""
    libraries = {"torchlite": ["-m", "torchlite"]} | ({"torch": []} if importlib.util.find_spec("torch") else {})
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    running = {}
    for library, arguments in libraries.items():
        command = [sys.executable, "-W", "ignore", *arguments, "-m", "compat_tests.examples", "5", *map(str, SCRIPTS)]
        running[library] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT)
    found = {}
    for library, process in running.items():
        lines = process.communicate()[0].splitlines()
        found[library] = {line["script"]: line for line in map(json.loads, lines)}
    return found


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_example(script: Path, told: dict[str, dict[str, dict[str, str]]]) -> None:
    if "from digits import" in script.read_text():
        pytest.importorskip("sklearn")
    ours = told["torchlite"][str(script)]
    assert not ours["failure"], ours["failure"]
    losses = [float(loss) for loss in LOSS.findall(ours["printed"])]
    assert len(losses) >= 5 and all(map(math.isfinite, losses))

    if "torch" not in told:
        pytest.skip("torch is not here to compare with")
    theirs = told["torch"][str(script)]
    assert not theirs["failure"], theirs["failure"]
    assert losses == pytest.approx([float(loss) for loss in LOSS.findall(theirs["printed"])], rel=1e-4)
