#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the flight recorder costs the decision loop: runs with and without it take turns, and medians are compared.

    recorder_cost.py [NAME ...] [--runs N] [--priority N]       NAME: a file of tests/bench/workloads without .yaml

With --priority the measured program goes before all others of the machine (SCHED_FIFO), as other work would take its time.
Exit codes: 0 measured; 1 a run failed, or records were dropped; 2 it could not be run.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = ["plain-5000", "affinity-zone-5000"]


class Failed(Exception):
    """A run ended with something else than a measurement."""


def measure(options, name, record):
    """(decisions/s, seconds of the deciding thread's CPU, MiB at the peak) of one run; `record`: a directory, or None."""
    words = [options.build / "bench/decision_loop", ROOT / f"tests/bench/workloads/{name}.yaml", "--plugin-dir",
             options.build / "plugins", "--no-check", "--json", *(["--record", record] if record else [])]
    first = ["chrt", "-f", str(options.priority)] if options.priority else []
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as log:
        child = subprocess.Popen([*first, *map(str, words)], stdin=subprocess.DEVNULL, stdout=said, stderr=log)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        log.seek(0)
        text = log.read()
        if child.returncode != 0:
            raise Failed(f"{name}: exit {child.returncode}: {text}")
        result = json.loads(said.read())
    dropped = re.search(r"dropped (\d+)", text)
    if record and (dropped is None or int(dropped[1])):
        raise Failed(f"{name}: records were dropped: {text}")
    return result["rate"], result["cpu_seconds"] / result["decisions"] * 1e6, usage.ru_maxrss / 1024


def compare(options, name):
    without, with_it = [], []
    for run in range(options.runs):
        with tempfile.TemporaryDirectory() as folder:
            pair = [(without, None), (with_it, folder)]
            for results, record in pair if run % 2 else reversed(pair):
                results.append(measure(options, name, record))
    middle = [[statistics.median(values) for values in zip(*results)] for results in (without, with_it)]
    (rate_a, cpu_a, peak_a), (rate_b, cpu_b, peak_b) = middle
    print(f"| `{name}` | {options.runs}, {os.getloadavg()[0]:.1f} | {rate_a:,.0f}/s | {rate_b:,.0f}/s ({(1 - rate_b / rate_a) * 100:.1f} % less) | "
          f"{cpu_a:.3f} and {cpu_b:.3f} us ({(cpu_b / cpu_a - 1) * 100:+.1f} %) | {peak_a:.1f} and {peak_b:.1f} MiB |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"workloads; default: {' '.join(NAMES)}")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", metavar="DIR", help="default: build/release")
    parser.add_argument("--runs", type=int, default=5, help="of each; default 5")
    parser.add_argument("--priority", type=int, default=0, help="SCHED_FIFO with this priority, which only root may give; default: none")
    options = parser.parse_args()
    if not os.access(options.build / "bench/decision_loop", os.X_OK):
        parser.error(f"{options.build / 'bench/decision_loop'} is not there: build the target decision_loop")
    print("| workload | pairs, load average | without | with | CPU of the deciding thread for each | peak memory |\n|---|---|---|---|---|---|")
    try:
        for name in options.names or NAMES:
            compare(options, name)
    except Failed as why:
        print(why, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
