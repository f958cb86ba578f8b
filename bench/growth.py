"""How time grows with sizes, depth, batch and parameters, and shrinks with threads: ``python -m bench.growth`` writes
``docs/pictures/growth.svg``, for both builds and PyTorch, each in a process of its own, on one thread but for the last.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
import timeit
from pathlib import Path

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "growth.svg"
BUILDS = {
    "native": ("torchlite", "required", "#2a7"), "pure Python": ("torchlite", "0", "#c64"),
    "PyTorch": ("torch", "", "#555"),
}  # fmt: skip
NET = """
layers = [layer for _ in range({depth}) for layer in (nn.Linear(64, 64), nn.ReLU())]
net, x = nn.Sequential(*layers), torch.randn({batch}, 64)
optimizer = torch.optim.SGD(net.parameters(), 0.01)
def step():
    optimizer.zero_grad()
    net(x).square().mean().backward()
    optimizer.step()
"""
ADAM = """
parameters = [torch.randn(64, 64, requires_grad=True) for _ in range({n})]
for p in parameters: p.grad = torch.randn(64, 64)
step = torch.optim.Adam(parameters).step
"""
GELU = "x = torch.randn({n})\ndef step(): F.gelu(x)"
SHARED = """
torch.set_num_threads({n})
x, y, out = torch.randn(10**7), torch.randn(10**7), torch.empty(10**7)
def step(): torch.add(x, y, out=out), torch.exp(x, out=out), out.mul_(0.5).sum()
"""
THREADS = "threads, four operations on 10⁷ numbers"
GROWTHS = {  # what grows, through which numbers, and the step for each
    "numbers, gelu": ((1, 10, 100, 1000, 10**4, 10**5, 10**6, 10**7), GELU),
    "layers, a step of training": ((1, 2, 4, 8, 16, 32), NET.replace("{depth}", "{n}").replace("{batch}", "32")),
    "samples, a step of training": ((1, 8, 64, 512, 4096), NET.replace("{depth}", "3").replace("{batch}", "{n}")),
    "parameters of 64x64, a step of Adam": ((1, 4, 16, 64), ADAM),
    THREADS: ((1, 2), SHARED),
}


def times_in(library: str) -> dict[str, list[float]]:
    """The microseconds of each step, of processor time but where threads share it: the fastest of some rounds."""
    torch = __import__(library)
    torch.set_num_threads(1)
    found: dict[str, list[float]] = {}
    for name, (numbers, setup) in GROWTHS.items():
        found[name], clock = [], time.perf_counter if name is THREADS else time.process_time
        for n in numbers:
            names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
            exec(setup.replace("{n}", str(n)), names)
            timer = timeit.Timer("step()", timer=clock, globals=names)
            once = max(1e-7, min(timer.repeat(3, 1)))
            runs = max(1, min(10**4, round(0.01 / once)))
            found[name].append(min(timer.repeat(9, runs)) / runs * 1e6)
    return found


def panel(name: str, numbers: tuple[int, ...], lines: dict[str, list[float]], left: float, wide: int, high: int) -> str:
    """Both scales are logarithmic."""
    every = [t for times in lines.values() for t in times]
    low, reach = math.log(min(every)), math.log(max(every) / min(every)) or 1.0
    span = math.log(numbers[-1] / numbers[0])
    parts = [f'<text x="{left}" y="14" font-weight="bold">{name}</text>']
    for label, times in lines.items():
        at = [
            (left + wide * math.log(n / numbers[0]) / span, 24 + high * (1 - (math.log(t) - low) / reach))
            for n, t in zip(numbers, times, strict=True)
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{BUILDS[label][2]}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{BUILDS[label][2]}"/>' for x, y in at]
    for n, anchor in ((numbers[0], "start"), (numbers[-1], "end")):
        x = left if anchor == "start" else left + wide
        parts.append(f'<text x="{x}" y="{high + 44}" text-anchor="{anchor}">{n}</text>')
    for t, y in ((max(every), 28), (min(every), high + 28)):
        parts.append(f'<text x="{left - 6}" y="{y}" text-anchor="end">{t:,.0f} µs</text>')
    return "\n".join(parts)


def picture(found: dict[str, dict[str, list[float]]], wide: int = 260, high: int = 170) -> str:
    apart, tall = wide + 110, high + 60
    rows = -(-len(GROWTHS) // 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * apart} {rows * tall + 24}"'
        ' font-family="sans-serif" font-size="11">'
    ]
    for i, (name, (numbers, _)) in enumerate(GROWTHS.items()):
        lines = {label: found[label][name] for label in found}
        drawn = panel(name, numbers, lines, 80 + i % 2 * apart, wide, high)
        parts.append(f'<g transform="translate(0 {i // 2 * tall})">\n{drawn}\n</g>')
    for k, (label, (_, _, colour)) in enumerate(BUILDS.items()):
        parts.append(
            f'<text x="{80 + 100 * k}" y="{rows * tall + 14}" fill="{colour}" font-weight="bold">{label}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    found = {}
    for label, (library, native, _) in BUILDS.items():
        environment = {**os.environ, "TORCHLITE_NATIVE": native}
        command = [sys.executable, "-m", "bench.growth", library]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        found[label] = json.loads(done.stdout)
        for name, times in found[label].items():
            print(f"{label:<12}{name:<40}{'  '.join(f'{t:.1f}' for t in times)}", flush=True)
    PICTURE.write_text(picture(found))


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(times_in(sys.argv[1])))
    else:
        main()
