"""What every test of the compatibility suite shares."""

import gc
import importlib.metadata
import os
import sys
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, settings

# What draws programs, calls and files that are others every day.
SEED = os.environ.get("TORCHLITE_SEED") or datetime.now(UTC).date().isoformat()

# Where it is set, PyTorch's testers report as its own servers want it, with packages that nobody else needs.
os.environ.pop("CI", None)

# Hypothesis reads all modules of a checkout for constants when it first draws, longer than it lets draws take.
settings.register_profile("of a checkout", suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("of a checkout")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis draws by the day's seed, too, so that what a run found can be found again."""
    if getattr(config.option, "hypothesis_seed", "") is None:
        config.option.hypothesis_seed = SEED


def pytest_collection_finish() -> None:
    """What is loaded by now, PyTorch's tables of operators and all, stays: nobody need look through it for garbage.

    A search through a million objects takes longer than most tests, and in a forked child it copies them all.
    """
    gc.collect()
    gc.freeze()


def pytest_report_header() -> list[str]:
    """Says whether the live comparisons run, which need real PyTorch, and what is drawn today."""
    try:
        compared = f"compared with: torch {importlib.metadata.version('torch')}"
    except importlib.metadata.PackageNotFoundError:
        compared = "compared with: recorded golden values (no torch here)"
    return [compared, f"drawn with: TORCHLITE_SEED={SEED}"]


@pytest.fixture(scope="session")
def forward_level_was_open() -> None:
    """PyTorch compiles something for the first dual tensor of a process, and warns."""
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.forward_ad.dual_level():
            torch.autograd.forward_ad.make_dual(torch.ones(1), torch.ones(1))


@pytest.fixture(scope="session")
def jvp_was_taken() -> None:
    """PyTorch's first jvp of a process warns of what it is made of."""
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.func.jvp(torch.sin, (torch.ones(1),), (torch.ones(1),))


@pytest.fixture(autouse=True)
def distributions_go_on_checking() -> Iterator[None]:
    """PyTorch turns that off for all of the process once it compiles."""
    yield
    distributions = sys.modules.get("torch.distributions")
    if distributions is not None:
        distributions.Distribution.set_default_validate_args(__debug__)


@pytest.fixture(scope="session")
def without_cuda() -> None:
    """For tests that ask PyTorch about GPUs that are not there."""
    torch = pytest.importorskip("torch")
    if torch.version.cuda is not None:
        pytest.skip("the PyTorch here is built for CUDA, and speaks otherwise of GPUs that are not there")
