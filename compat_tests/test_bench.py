"""The benchmarks: they time only what gives the same results in both libraries."""

import importlib
import xml.etree.ElementTree

import pytest

import torchlite

pytestmark = pytest.mark.any_build

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("group", ("overhead", "surroundings", "func", "training"))
def test_workloads_give_the_same_in_both_libraries(group):
    from bench.timing import same_results

    workloads = importlib.import_module(f"bench.{group}").WORKLOADS
    assert [w.name for w in workloads if not same_results(w, (torchlite, torch))] == []


def test_results_that_differ_are_seen():
    from bench.timing import Workload, same_results

    other = "(torch.__name__ == 'torch')"
    for statement in (f"torch.ones(2) * (1 + {other})", f"torch.ones(2 + {other})"):
        assert not same_results(Workload("", statement), (torchlite, torch))


def test_figures_are_saved_with_charts(tmp_path):
    from bench.report import save, saved_ratios
    from bench.timing import Row

    rows = [Row("kernels", "relu", 1.0, 2.0, 0.5), Row("kernels", "gelu & co.", 3.0, 2.0, 1.5)]
    save(tmp_path, {"threads": 1}, rows)
    assert saved_ratios(tmp_path / "figures.json") == {"relu": 0.5, "gelu & co.": 1.5}
    xml.etree.ElementTree.parse(tmp_path / "kernels.svg")
