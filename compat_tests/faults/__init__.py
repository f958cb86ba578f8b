"""Exceptions at any line, and real interrupts: afterwards the thread and the process are as they were.

    python -m compat_tests.faults --count 5000 --interrupts 1000 [--seed 0]

Each program of a catalogue (`catalogue.py`) changes some state: modes, levels of transforms, hooks, the profiler,
random streams, modules. It is run with an exception raised at one of the lines (or instructions) of torchlite that it
runs through, or interrupted by a timer. Then all state there is (`state.py`) is compared with what it was before, and
what small programs compute with what they must.
"""
