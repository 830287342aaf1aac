#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_scale.py RESULTS: time per pod over the number of nodes, from runs of the decision loop (one JSON object a line).

Medians of the runs, start included. The exponent is the slope of a straight line through the logarithms of both: 0 where the
time does not depend on the nodes, 1 where twice the nodes take twice as long."""
import collections
import json
import math
import statistics
import sys


def exponent(points):
    """Least squares over (nodes, time)."""
    x = [math.log(nodes) for nodes, _ in points]
    y = [math.log(time) for _, time in points]
    x_mean, y_mean = statistics.fmean(x), statistics.fmean(y)
    return sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y)) / sum((a - x_mean) ** 2 for a in x)


def main():
    runs = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(sys.argv[1], encoding="utf-8") as results:
        for line in results:
            run = json.loads(line)
            runs[run["workload"]][run["nodes"]].append(1e6 / run["rate"])
    for workload, by_nodes in runs.items():
        points = [(nodes, statistics.median(times)) for nodes, times in sorted(by_nodes.items())]
        times = "  ".join(f"{nodes:,}: {time:.1f} us" for nodes, time in points)
        growth = f"  exponent {exponent(points):.2f}" if len(points) > 1 else ""
        print(f"{workload:24} {times}{growth}")


if __name__ == "__main__":
    main()
