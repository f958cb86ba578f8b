"""What CONTRIBUTING.md and the guides show runs as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.any_build

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/backends.md"])
def test_code_blocks_run(page: str) -> None:
    blocks = BLOCK.findall((ROOT / page).read_text())
    assert blocks
    # In a process of its own: what is declared stays declared.
    done = subprocess.run([sys.executable, "-c", "\n".join(blocks)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
