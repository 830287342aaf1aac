#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_kube_table.py RESULTS JSON: runs of schedulers against kube-apiserver (one JSON object a line) as medians, and what
the first scheduler does better than the second; as JSON when JSON is 1."""
import collections
import json
import statistics
import sys

COLUMNS = [  # key, heading, format, is more better
    ("pods_per_s", "pods/s", "{:.0f}", True),
    ("cpu_ms_per_pod", "CPU ms/pod", "{:.3f}", False),
    ("peak_mib", "peak MiB", "{:.0f}", False),
    ("after_list_s", "list->bind s", "{:.3f}", False),
    ("first_bind_s", "start->bind s", "{:.3f}", False),
]

runs = collections.OrderedDict()
for line in open(sys.argv[1]):
    result = json.loads(line)
    runs.setdefault(result["name"], []).append(result)
if not runs:
    sys.exit("no run came to its end")

medians = {name: {key: statistics.median(r[key] for r in results) for key, *_ in COLUMNS}
           for name, results in runs.items()}
names = list(runs)
ratios = {}
if len(names) == 2:
    for key, _, _, more_is_better in COLUMNS:
        a, b = medians[names[0]][key], medians[names[1]][key]
        ratios[key] = (a / b if more_is_better else b / a) if a > 0 and b > 0 else None

if sys.argv[2] == "1":
    print(json.dumps({"runs": [r for results in runs.values() for r in results], "medians": medians, "better_by": ratios},
                     indent=1))
    sys.exit(0)
first = next(iter(runs.values()))[0]
print(f"{first['nodes']} nodes, {first['pods']} pods that wait, {first['bound_before']} that are bound before; "
      f"{len(next(iter(runs.values())))} runs each, medians (lowest to highest)")
print(f"{'':16}" + "".join(f"{heading:>24}" for _, heading, _, _ in COLUMNS) + f"{'load before':>14}")
for name, results in runs.items():
    cells = ""
    for key, _, form, _ in COLUMNS:
        values = [r[key] for r in results]
        text = form.format(medians[name][key])
        if len(values) > 1:
            text += f" ({form.format(min(values))} to {form.format(max(values))})"
        cells += f"{text:>24}"
    loads = [r["load"] for r in results]
    print(f"{name:16}{cells}{f'{min(loads):.1f} to {max(loads):.1f}':>14}")
if ratios:
    print(f"{'better by':16}" + "".join(f"{'' if ratios[key] is None else f'{ratios[key]:.1f} x':>24}" for key, *_ in COLUMNS))
