#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_table.py RESULTS JSON: medians of benchmark runs (one JSON object a line), as a table, or as JSON when JSON is 1."""
import collections
import json
import statistics
import sys

runs = collections.OrderedDict()
for line in open(sys.argv[1]):
    result = json.loads(line)
    runs.setdefault((result["workload"], result["policies"], result["reuse"]), []).append(result)

rows = []
for (workload, policies, reuse), results in runs.items():
    rows.append({
        "workload": workload, "policies": policies, "reuse": reuse, "nodes": results[0]["nodes"],
        "decisions": results[0]["decisions"], "runs": len(results),
        "rate": statistics.median(r["rate"] for r in results),
        "rate_min": min(r["rate"] for r in results), "rate_max": max(r["rate"] for r in results),
        "us_per_decision": 1e6 / statistics.median(r["rate"] for r in results),
        "allocations_per_cycle": statistics.median(r["allocations_per_cycle"] for r in results),
        "wrong": next((r["wrong"] for r in results if r["wrong"]), ""),
    })
if sys.argv[2] == "1":
    print(json.dumps(rows, indent=1))
else:
    print(f"{'workload':14} {'policies':8} {'reuse':5} {'nodes':>6} {'decisions/s':>12} {'min':>9} {'max':>9} {'us each':>8} {'allocs':>7}")
    for r in rows:
        print(f"{r['workload']:14} {r['policies']:8} {r['reuse']:5} {r['nodes']:6} {r['rate']:12,.0f} {r['rate_min']:9,.0f} "
              f"{r['rate_max']:9,.0f} {r['us_per_decision']:8.2f} {r['allocations_per_cycle']:7.0f}{'  WRONG: ' + r['wrong'] if r['wrong'] else ''}")
sys.exit(1 if any(r["wrong"] for r in rows) else 0)
