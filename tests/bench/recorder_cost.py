#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the flight recorder costs the decision loop. Within a run, slices of decisions are recorded and not recorded in turns, so
that what slows the machine slows both; memory is compared between runs with and without it.

    recorder_cost.py [NAME ...] [--runs N] [--pods N] [--priority N]       NAME: a file of tests/bench/workloads without .yaml

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
SLICE = 2000  # decisions


class Failed(Exception):
    """A run ended with something else than a measurement."""


def measure(options, workload, record):
    """The result of one run, and MiB at its peak; `record`: a directory, or None."""
    words = [options.build / "bench/decision_loop", workload, "--plugin-dir", options.build / "plugins", "--no-check", "--json",
             *(["--record", record, "--record-in-turns", SLICE] if record else [])]
    first = ["chrt", "-f", str(options.priority)] if options.priority else []
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as log:
        child = subprocess.Popen([*first, *map(str, words)], stdin=subprocess.DEVNULL, stdout=said, stderr=log)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        log.seek(0)
        text = log.read()
        if child.returncode != 0:
            raise Failed(f"{workload}: exit {child.returncode}: {text}")
        result = json.loads(said.read())
    dropped = re.search(r"dropped (\d+)", text)
    if record and (dropped is None or int(dropped[1])):
        raise Failed(f"{workload}: records were dropped: {text}")
    return result, usage.ru_maxrss / 1024


def compare(options, name, folder):
    text = (ROOT / f"tests/bench/workloads/{name}.yaml").read_text()
    workload = folder / f"{name}.yaml"
    workload.write_text(re.sub(r"^(pods: \{count: )\d+", rf"\g<1>{options.pods}", text, flags=re.M))
    more, base, peak_without, peak_with = [], [], [], []
    for _ in range(options.runs):
        peak_without.append(measure(options, workload, None)[1])
        with tempfile.TemporaryDirectory(dir=folder) as record:
            result, peak = measure(options, workload, record)
        peak_with.append(peak)
        base.append(result["not_recorded_us"])
        more.append(result["recorded_us"] - result["not_recorded_us"])
    percent = [100 * m / b for m, b in zip(more, base)]
    low, middle, high = statistics.quantiles(percent, n=4)
    print(f"| `{name}` | {options.runs}, {os.getloadavg()[0]:.1f} | {statistics.median(base):.2f} us | {statistics.median(more) * 1000:.0f} ns "
          f"({middle:.1f} %) | {low:.1f} to {high:.1f} % | {statistics.median(peak_without):.1f} and {statistics.median(peak_with):.1f} MiB |",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"workloads; default: {' '.join(NAMES)}")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", metavar="DIR", help="default: build/release")
    parser.add_argument("--runs", type=int, default=9, help="of each, 2 at least; default 9")
    parser.add_argument("--pods", type=int, default=150_000, help="in each run; default 150,000")
    parser.add_argument("--priority", type=int, default=0, help="SCHED_FIFO with this priority, which only root may give; default: none")
    options = parser.parse_args()
    if not os.access(options.build / "bench/decision_loop", os.X_OK):
        parser.error(f"{options.build / 'bench/decision_loop'} is not there: build the target decision_loop")
    if options.runs < 2:
        parser.error("--runs: quartiles need 2 at least")
    print("| workload | runs, load average | CPU of a decision that is not recorded | more when it is | quartiles of the runs | "
          "peak memory without and with |\n|---|---|---|---|---|---|")
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in options.names or NAMES:
                compare(options, name, pathlib.Path(folder))
    except Failed as why:
        print(why, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
