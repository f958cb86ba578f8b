"""Nothing here runs without a CUDA device."""

from pathlib import Path

import pytest

import torchlite as torch
from torchlite.testing import cuda_on_host

HERE = Path(__file__).parent
RUN = "python -m torchlite.testing.cuda_on_host -m pytest compat_tests/cuda"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not torch.cuda.is_available():
        lacking = cuda_on_host.missing()
        why = f"no CUDA device; for one on the host there is no {lacking}" if lacking else f"no CUDA device: {RUN}"
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session")
def stand_in() -> None:
    """For tests that count what the device is asked for, which a GPU does not tell."""
    if not cuda_on_host.is_enabled():
        pytest.skip(f"for the stand-in: {RUN}")
