"""What every test of the compatibility suite shares."""

import importlib.metadata


def pytest_report_header() -> str:
    """Says whether the live comparisons run: they need real PyTorch."""
    try:
        return f"compared with: torch {importlib.metadata.version('torch')}"
    except importlib.metadata.PackageNotFoundError:
        return "compared with: recorded golden values (no torch here)"
