"""A layered layout: every arrow leads down, and boxes of a layer are ordered so that few arrows cross."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

GAP, FALL = 28.0, 46.0  # between boxes of a layer, and between layers


class Layout(NamedTuple):
    """The middles of boxes, the ways of arrows between them, and the size of it all."""

    places: list[tuple[float, float]]
    ways: list[list[tuple[float, float]]]
    width: float
    height: float


def lay(sizes: Sequence[tuple[float, float]], arrows: Sequence[tuple[int, int]]) -> Layout:
    """Places for boxes of these sizes. An arrow that passes layers has a bend in each of them."""
    levels = _levels(len(sizes), arrows)
    boxes = list(sizes)
    chains = []
    for start, end in arrows:
        chain = [start]
        for level in range(levels[start] + 1, levels[end]):
            chain.append(len(boxes))
            boxes.append((1.0, 0.0))
            levels.append(level)
        chains.append([*chain, end])
    steps = [step for chain in chains for step in itertools.pairwise(chain)]
    layers = _ordered(levels, steps)
    across = _across(layers, [width for width, _ in boxes], steps)
    down, top = [0.0] * len(boxes), 0.0
    for layer in layers:
        tall = max(boxes[box][1] for box in layer)
        for box in layer:
            down[box] = top + tall / 2
        top += tall + FALL
    left = min(across[box] - boxes[box][0] / 2 for box in range(len(boxes)))
    right = max(across[box] + boxes[box][0] / 2 for box in range(len(boxes)))
    places = [(across[box] - left, down[box]) for box in range(len(boxes))]
    return Layout(places[: len(sizes)], [[places[box] for box in chain] for chain in chains], right - left, top - FALL)


def _levels(count: int, arrows: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each box: as low as the boxes that it leads to allow, so that leaves stand near their use."""
    into, out_of = defaultdict(list), defaultdict(list)
    for start, end in arrows:
        into[end].append(start)
        out_of[start].append(end)
    left = [len(out_of[box]) for box in range(count)]
    ready = [box for box in range(count) if not left[box]]
    height = [0] * count  # above the lowest layer
    for box in ready:  # which grows as it is read
        for start in into[box]:
            height[start] = max(height[start], height[box] + 1)
            left[start] -= 1
            if not left[start]:
                ready.append(start)
    return [max(height, default=0) - h for h in height]


def _ordered(levels: Sequence[int], steps: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The boxes of each layer, each near the middle of those that it is joined to in the layer before or after."""
    layers: list[list[int]] = [[] for _ in range(max(levels, default=0) + 1)]
    for box, level in enumerate(levels):
        layers[level].append(box)
    above, below = defaultdict(list), defaultdict(list)
    for start, end in steps:
        above[end].append(start)
        below[start].append(end)
    for sweep in range(8):
        joined, order = (above, layers) if sweep % 2 else (below, layers[::-1])
        rank = {box: i for layer in layers for i, box in enumerate(layer)}
        for layer in order:
            middle = {
                box: sum(rank[b] for b in joined[box]) / len(joined[box]) if joined[box] else rank[box] for box in layer
            }
            layer.sort(key=middle.__getitem__)
            rank |= {box: i for i, box in enumerate(layer)}
    return layers


def _across(layers: Sequence[Sequence[int]], widths: Sequence[float], steps: Sequence[tuple[int, int]]) -> list[float]:
    """The middle of each box, from left to right: drawn towards those it is joined to, and off its neighbours."""
    joined = defaultdict(list)
    for start, end in steps:
        joined[start].append(end)
        joined[end].append(start)
    place = [0.0] * len(widths)
    for layer in layers:
        _apart(layer, widths, place)
    for sweep in range(24):
        for layer in layers if sweep % 2 else reversed(layers):
            for box in layer:
                if joined[box]:
                    place[box] = sum(place[b] for b in joined[box]) / len(joined[box])
            _apart(layer, widths, place)
    return place


def _apart(layer: Sequence[int], widths: Sequence[float], place: list[float]) -> None:
    """Push boxes of a layer apart, and leave their middle where it was."""
    wanted = sum(place[box] for box in layer)
    for before, box in itertools.pairwise(layer):
        place[box] = max(place[box], place[before] + (widths[before] + widths[box]) / 2 + GAP)
    shift = (wanted - sum(place[box] for box in layer)) / len(layer)
    for box in layer:
        place[box] += shift
