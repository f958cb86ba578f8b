"""Pictures: the autograd graph as SVG, the layers of a model, profiles as tables and traces."""

import doctest
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import torchlite as torch
from torchlite import nn, viz
from torchlite.viz import layers


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def texts(drawing: viz.Drawing) -> list[str]:
    svg = ElementTree.fromstring(drawing.svg())
    return [e.text or "" for e in svg.iter("{http://www.w3.org/2000/svg}text")]


def test_a_graph_has_the_nodes_of_autograd_and_what_they_keep(tmp_path: Path) -> None:
    net = model()
    loss = net(torch.ones(5, 3)).pow(2).mean()
    drawing = viz.graph(loss, net)
    shown = texts(drawing)
    assert {"MeanBackward0", "PowBackward0", "AddmmBackward0", "ReluBackward0", "output"} <= set(shown)
    assert {"0.weight", "0.bias", "2.weight", "2.bias"} <= set(shown)
    assert "4×3 float32, 48 B" in shown
    assert "self: 5×2 float32, 40 B" in shown and "exponent = 2" in shown
    drawing.save(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == drawing._repr_svg_()
    assert len(texts(viz.graph(loss, net, saved=False))) < len(shown)

    loss.backward()
    assert "self: freed" in texts(viz.graph(loss, net))


def test_nodes_that_outputs_share_are_drawn_once() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    drawing = viz.graph([y.sum(), y.prod()], {"x": x})
    assert [box.title for box in drawing.boxes].count("ExpBackward0") == 1
    assert [box.title for box in drawing.boxes if box.kind == "output"] == ["output 0", "output 1"]
    assert viz.graph(torch.ones(2)).arrows == []
    assert "boxes" in repr(drawing)


def test_deep_graphs_are_drawn() -> None:
    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(2000):
        y = y + 1
    assert len(viz.graph(y).boxes) == 2002


@pytest.mark.parametrize(
    "arrows", [[(0, 1), (1, 2), (0, 2)], [(0, 3), (1, 3), (2, 3), (3, 4), (0, 4)], [(0, 1), (0, 2), (1, 3), (2, 3)]]
)
def test_arrows_lead_down_and_boxes_do_not_overlap(arrows: list[tuple[int, int]]) -> None:
    sizes = [(40.0 + 10 * i, 20.0) for i in range(1 + max(end for _, end in arrows))]
    layout = layers.lay(sizes, arrows)
    for start, end in arrows:
        assert layout.places[start][1] < layout.places[end][1]
    for i, (x, y) in enumerate(layout.places):
        assert x - sizes[i][0] / 2 >= 0 and x + sizes[i][0] / 2 <= layout.width + 1e-6
        for j in range(i):
            if layout.places[j][1] == y:
                assert abs(layout.places[j][0] - x) >= (sizes[i][0] + sizes[j][0]) / 2


def test_the_summary_of_a_model() -> None:
    net = model()
    net[0].weight.requires_grad_(False)
    told = viz.summary(net, torch.ones(5, 3))
    assert [(layer.depth, layer.name, layer.kind, layer.shapes, layer.params) for layer in told.layers] == [
        (0, "model", "Sequential", "5×2", 26), (1, "0", "Linear", "5×4", 16), (1, "1", "ReLU", "5×4", 0),
        (1, "2", "Linear", "5×2", 10),
    ]  # fmt: skip
    assert "26 parameters, of which 14 are trained" in repr(told) and "26 parameters" in told._repr_html_()
    assert not net[0]._forward_hooks and not net[0]._forward_pre_hooks


def test_tables_have_words_to_the_left_and_numbers_to_the_right() -> None:
    shown = viz.summary(model(), torch.ones(5, 3))._repr_html_()
    sides = {text: side for side, text in re.findall(r'text-align:(\w+)">([^<]*)<', shown)}
    assert {sides[text] for text in ("layer", "class", "ReLU", "model")} == {"left"}
    assert {sides[text] for text in ("output", "5×4", "parameters", "16", "time")} == {"right"}


def test_a_profile_shows_as_a_table_and_is_a_trace(tmp_path: Path) -> None:
    with torch.profiler.profile(record_shapes=True) as profile:
        model()(torch.ones(5, 3)).sum().backward()
    table = profile._repr_html_()
    assert "aten::linear" in table and "Own time in all" in table
    assert "aten::linear" in profile.key_averages()._repr_html_()
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert "aten::linear" in {e["name"] for e in events if e["ph"] == "X" and e["dur"] >= 0}


def test_tensors_show_themselves_by_switch_only() -> None:
    small, image = torch.eye(2), torch.rand(3, 16, 16)
    assert not hasattr(small, "_repr_html_")
    viz.show_tensors()
    try:
        assert "<td" in small._repr_html_() and "2×2 torch.float32 on cpu" in small._repr_html_()
        assert "data:image/png" in image._repr_html_() and "data:image/png" in (image * 255).byte()._repr_html_()
        elsewhere = torch.empty(2, 2, device="meta")
        for other in (image * 2, torch.ones(50, 50), torch.ones(3), small.to_sparse(), elsewhere):
            assert other._repr_html_() is None
        assert "1+1j" in torch.full((1, 1), 1 + 1j).conj().conj()._repr_html_()
        assert repr(small) == "tensor([[1., 0.],\n        [0., 1.]])"
    finally:
        viz.show_tensors(False)
    assert not hasattr(small, "_repr_html_")


@pytest.mark.parametrize("function", [viz.graph, viz.summary, viz.show_tensors])
def test_examples_in_texts(function: object) -> None:
    found = doctest.DocTestFinder().find(function, globs={"torch": torch, "nn": nn})
    assert sum(doctest.DocTestRunner().run(test).failed for test in found) == 0
