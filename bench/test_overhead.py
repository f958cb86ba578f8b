"""Single operations under pytest-benchmark, torch and torchlite next to each other in one group an operation.

python -m pytest bench --benchmark-columns=min,median,iqr
"""

import pytest

from bench.overhead import SETUP, SNIPPETS


@pytest.mark.parametrize("module", ["torch", "torchlite"])
@pytest.mark.parametrize("snippet", SNIPPETS)
def test_overhead(benchmark, snippet: str, module: str) -> None:
    benchmark.group = snippet
    namespace = {"torch": pytest.importorskip(module)}
    exec(SETUP, namespace)
    benchmark(eval(f"lambda: {SNIPPETS[snippet]}", namespace))
