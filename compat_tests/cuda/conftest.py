"""Nothing here runs without a CUDA device."""

import contextlib
from collections.abc import Iterator
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


@contextlib.contextmanager
def numbers_of_the_cpu() -> Iterator[None]:
    """Inside, CUDA's generator draws the numbers of the CPU's, with which results can be compared."""
    (generator,) = torch.cuda.default_generators
    own, generator.stream = generator.stream, torch.default_generator.stream.clone()
    try:
        yield
    finally:
        generator.stream = own
