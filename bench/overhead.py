"""What one small operation costs in torchlite and in PyTorch, measured side by side in one process on one thread.

    python -m bench.overhead                        a table
    python -m bench.overhead --json > before.json   the same figures for later
    python -m bench.overhead --baseline before.json the table, and each snippet's change since then
    python -m bench.overhead --module torch         PyTorch against itself: what the noise alone does

Each snippet runs in many short rounds, the two libraries taking turns and each going first in every other round. CPU
time is counted, so that other processes on the machine hardly matter. The times shown are the fastest round's. The
ratio is the median of the per-round ratios, torchlite's time over PyTorch's: a slow moment of the machine falls on both
halves of a round and cancels.
"""

import argparse
import importlib
import json
import math
import os
import statistics
import time
import timeit
from dataclasses import asdict, dataclass
from types import ModuleType

SETUP = """
x, y = torch.full((4, 4), 1.25), torch.full((4, 4), 0.75)
w = torch.full((4, 4), 1.1, requires_grad=True)
def power(w):
    z = w
    for _ in range(20):
        z = z * w
    return z
"""

SNIPPETS = {
    "add": "x + y",
    "mul": "x * y",
    "add, one operand with grad": "w + y",
    "add a number": "x + 1.0",
    "add in place": "x.add_(y)",
    "matmul": "x @ y",
    "relu": "torch.relu(x)",
    "sum": "x.sum()",
    "getitem": "x[0]",
    "reshape": "x.reshape(2, 8)",
    "20 mul forward": "power(w)",
    "20 mul, sum, backward": "power(w).sum().backward()",
}


@dataclass(frozen=True)
class Row:
    """One snippet's figures: microseconds a run in each library, and how they compare."""

    snippet: str
    torch_us: float
    module_us: float
    ratio: float


def timer(statement: str, setup: str, module: ModuleType) -> timeit.Timer:
    return timeit.Timer(statement, setup, time.process_time, globals={"torch": module})


def runs_in(seconds: float, clock: timeit.Timer) -> int:
    """How often the snippet runs in about that time, at least once."""
    clock.timeit(10)  # warm
    return max(1, round(seconds * 20 / clock.timeit(20)))


def measure(
    snippet: str, statement: str, setup: str, libraries: tuple[ModuleType, ModuleType], rounds: int, seconds: float
) -> Row:
    """Time one snippet in `rounds` rounds of about `seconds` a library."""
    clocks = [timer(statement, setup, library) for library in libraries]
    runs = [runs_in(seconds, clock) for clock in clocks]
    times: list[tuple[float, float]] = []
    for turn in range(rounds):
        pair = [0.0, 0.0]
        for which in (0, 1) if turn % 2 else (1, 0):
            pair[which] = clocks[which].timeit(runs[which]) / runs[which] * 1e6
        times.append((pair[0], pair[1]))
    torch_us, module_us = (min(column) for column in zip(*times))
    return Row(snippet, torch_us, module_us, statistics.median(mine / theirs for theirs, mine in times))


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def table(rows: list[Row], name: str, before: dict[str, float]) -> str:
    """The figures as text; `before` has an earlier run's ratio for each snippet."""

    def change(snippet: str, ratio: float) -> str:
        return f"  {ratio / before[snippet] - 1:+8.1%}" if snippet in before else ""

    mean = geometric_mean([row.ratio for row in rows])
    lines = [f"{'snippet':<28}{'torch µs':>10}{f'{name} µs':>14}{'ratio':>8}" + ("    change" if before else "")]
    lines += [
        f"{row.snippet:<28}{row.torch_us:>10.2f}{row.module_us:>14.2f}{row.ratio:>8.2f}{change(row.snippet, row.ratio)}"
        for row in rows
    ]
    lines += [f"{'geometric mean':<52}{mean:>8.2f}{change('geometric mean', mean)}"]
    return "\n".join(lines)


def load_ratios(path: str) -> dict[str, float]:
    """An earlier run's ratio by snippet, and their geometric mean, from the file that --json wrote."""
    with open(path) as file:
        ratios = {row["snippet"]: row["ratio"] for row in json.load(file)["rows"]}
    return {**ratios, "geometric mean": geometric_mean(list(ratios.values()))}


def main(name: str, about: str, snippets: dict[str, str], setup: str) -> None:
    """The command line of a benchmark: `snippets` of Python by their names, to be run after `setup`."""
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=about.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds: about four seconds in all")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--baseline", metavar="FILE", help="show the change since an earlier run saved with --json")
    parser.add_argument("--module", default="torchlite", help="what to compare with torch (default: %(default)s)")
    options = parser.parse_args()

    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before either library starts its threads
    torch, module = importlib.import_module("torch"), importlib.import_module(options.module)
    torch.set_num_threads(1)

    rounds, seconds = (60, 0.002) if options.quick else (300, 0.004)
    rows = [
        measure(snippet, statement, setup, (torch, module), rounds, seconds) for snippet, statement in snippets.items()
    ]
    if options.json:
        print(json.dumps({"module": options.module, "rows": [asdict(row) for row in rows]}, indent=1))
    else:
        print(table(rows, options.module, load_ratios(options.baseline) if options.baseline else {}))


if __name__ == "__main__":
    main("bench.overhead", __doc__, SNIPPETS, SETUP)
