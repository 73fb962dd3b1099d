# SPDX-License-Identifier: Apache-2.0
"""What the tests measure: a line of their output, and a row of the benchmark when CONSOLE_RESULTS names a file for it.

scripts/bench-console says how; Benchmarks/README.md has the fields of a row.
"""
import json
import os
import statistics
import subprocess
import time

from server import ROOT

BEGAN = os.environ.get("CONSOLE_BEGAN") or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def keep(work, figure, unit, floor=None, **more):
    """Keeps a figure; `floor` is the same in the same run without the console, and their ratio is made here."""
    beside = f", the floor {rounded(floor):g} {unit}" if floor else ""
    print(f"        {work}: {rounded(figure):g} {unit}{beside}")
    path = os.environ.get("CONSOLE_RESULTS")
    if not path:
        return
    row = {"ratio": rounded(floor / figure)} if floor else {}
    row |= {"work": work, "program": "Console", "engine": "console", "figure": rounded(figure), "unit": unit}
    row |= {"floor": rounded(floor)} if floor else {}
    row |= {**more, "commit": commit(), "date": BEGAN, "machine": machine()}
    with open(path, "a", encoding="utf-8") as results:
        results.write(json.dumps(row) + "\n")


def rounded(number):
    """No run repeats the fourth digit."""
    return float(f"{number:.3g}")


def median(numbers):
    return statistics.median(numbers)


def commit():
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip() or "unknown"


def machine():
    """The machine in one line, as in the other rows."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1_000_000_000
    return f"{models[0] if models else 'unknown processor'}, {os.cpu_count()} cores, {memory} GB, load {os.getloadavg()[0]:.2f}"
