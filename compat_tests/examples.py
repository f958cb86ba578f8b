"""Runs scripts one after the other in this process, and tells as JSON lines what each printed and how long it took.

python -m compat_tests.examples 5 examples/images/vae.py …                  with PyTorch, five steps of each
python -m torchlite -m compat_tests.examples 5 examples/images/vae.py …     with torchlite
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
import time
import traceback
from pathlib import Path


def run(script: Path, steps: str) -> dict[str, str | float]:
    """What a script prints, the error it ends with if there is one, and the seconds of CPU time it took."""
    printed, failure = io.StringIO(), ""
    arguments, path, modules = sys.argv, list(sys.path), set(sys.modules)
    sys.argv = [str(script), *(["--steps", steps] if steps != "all" else [])]
    sys.path.insert(0, str(script.parent))
    begun = time.process_time()
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(script), run_name="__main__")
    except (Exception, SystemExit):
        failure = traceback.format_exc()
    seconds = time.process_time() - begun
    sys.argv, sys.path[:] = arguments, path
    for name in sys.modules.keys() - modules:  # what lies beside this script is not to be found by others
        if Path(getattr(sys.modules[name], "__file__", None) or "").parent == script.parent:
            del sys.modules[name]
    return {"script": str(script), "printed": printed.getvalue(), "failure": failure, "seconds": seconds}


if __name__ == "__main__":
    for script in sys.argv[2:]:
        print(json.dumps(run(Path(script), sys.argv[1])), flush=True)
