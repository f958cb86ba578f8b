"""What importing torchlite and PyTorch costs in CPU seconds, beyond importing NumPy.

    python -m bench.import_time [--runs 15]

Each figure is the median, over that many fresh interpreters, of the user and system time of one process less that of a
process beside it that imports NumPy only.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys


def cpu_seconds(statement: str) -> float:
    """User and system time of a fresh interpreter that runs one statement."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def beyond_numpy(module: str, runs: int) -> float:
    """Median extra CPU seconds of `import module` in an interpreter that has NumPy."""
    statement = f"import numpy, {module}"
    cpu_seconds(statement)  # compiles what is not compiled yet
    return statistics.median(cpu_seconds(statement) - cpu_seconds("import numpy") for _ in range(runs))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.import_time", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=15, help="interpreters a module (default: %(default)s)")
    parser.add_argument("modules", nargs="*", default=["torchlite", "torch"], help="default: torchlite torch")
    options = parser.parse_args()
    for module in options.modules:
        print(f"{module:<12}{beyond_numpy(module, options.runs):7.3f} s CPU beyond numpy")


if __name__ == "__main__":
    main()
