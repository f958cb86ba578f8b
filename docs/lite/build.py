"""A JupyterLite page on which torchlite runs in the browser: ``python docs/lite/build.py FOLDER``.

It takes the extra ``lite``. The wheel is built here, without compiled code, and is the one that the page installs;
NumPy and ml_dtypes come with Pyodide. Look at it by ``python -m http.server --directory FOLDER``.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
INSTALL = "%pip install -q torchlite-numpy"


def for_browser(notebook: Path) -> str:
    """A notebook that installs torchlite first."""
    told = json.loads(notebook.read_text(encoding="utf-8"))
    first = {"cell_type": "code", "id": "install", "metadata": {}, "execution_count": None, "outputs": []}
    told["cells"].insert(1, {**first, "source": [INSTALL]})
    told["metadata"]["kernelspec"] = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}
    return json.dumps(told, indent=1)


def build(page: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        wheels, contents = Path(scratch, "wheels"), Path(scratch, "contents")
        contents.mkdir()
        (contents / "tour.ipynb").write_text(for_browser(ROOT / "examples" / "tour.ipynb"), encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, ROOT]
        subprocess.run(pip, check=True, env={**os.environ, "TORCHLITE_PURE": "1"})
        (wheel,) = wheels.glob("torchlite_numpy-*-py3-none-any.whl")
        lite = [sys.executable, "-m", "jupyter", "lite", "build", "--lite-dir", Path(scratch), "--contents", contents]
        subprocess.run([*lite, "--piplite-wheels", wheel, "--output-dir", page], check=True, cwd=scratch)


if __name__ == "__main__":
    build(Path(sys.argv[1]).resolve())
