#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_table.py RESULTS JSON: medians of benchmark runs (one JSON object a line), as a table, or as JSON when JSON is 1.

Runs of the decision loop have a rate, searches for victims a time. What kube-scheduler needs for the same is in
tests/bench/upstream.json."""
import collections
import json
import pathlib
import statistics
import sys

UPSTREAM = json.loads((pathlib.Path(__file__).parents[2] / "tests/bench/upstream.json").read_text())


def median(results, field):
    return statistics.median(r[field] for r in results)


def wrong(results):
    return next((r["wrong"] for r in results if r["wrong"]), "")


def loop_row(key, results):
    workload, policies, reuse = key
    rate = median(results, "rate")
    return {
        "workload": workload, "policies": policies, "reuse": reuse, "nodes": results[0]["nodes"],
        "decisions": results[0]["decisions"], "runs": len(results), "rate": rate,
        "rate_min": min(r["rate"] for r in results), "rate_max": max(r["rate"] for r in results),
        "us_per_decision": 1e6 / rate, "allocations_per_cycle": median(results, "allocations_per_cycle"),
        "upstream": UPSTREAM.get(workload), "wrong": wrong(results),
    }


def search_row(key, results):
    return {
        "workload": key[0], "nodes": results[0]["nodes"], "victims": results[0]["victims"],
        "searches": results[0]["searches"], "runs": len(results), "median_ms": median(results, "median_ms"),
        "first_ms": median(results, "first_ms"), "worst_ms": median(results, "worst_ms"),
        "attempt_ms": median(results, "attempt_ms"), "upstream": UPSTREAM.get("preemption/" + key[0]),
        "wrong": wrong(results),
    }


def ratio(row):
    """What upstream needs, and how many times faster this is."""
    upstream = row["upstream"]
    if upstream is None:
        return f"{'-':>14}"
    if "rate" in upstream:
        return f"{upstream['rate']:6,}/s {row['rate'] / upstream['rate']:5,.0f}x"
    return f"{upstream['ms']:5.0f} ms {upstream['ms'] / row['median_ms']:5,.0f}x"


def print_loop(rows):
    print(f"{'workload':14} {'policies':8} {'reuse':5} {'nodes':>6} {'decisions/s':>12} {'min':>9} {'max':>9} "
          f"{'us each':>8} {'allocs':>7} {'upstream':>14}")
    for r in rows:
        print(f"{r['workload']:14} {r['policies']:8} {r['reuse']:5} {r['nodes']:6} {r['rate']:12,.0f} {r['rate_min']:9,.0f} "
              f"{r['rate_max']:9,.0f} {r['us_per_decision']:8.2f} {r['allocations_per_cycle']:7.0f} {ratio(r)}"
              f"{'  WRONG: ' + r['wrong'] if r['wrong'] else ''}")


def print_searches(rows):
    print(f"{'workload':18} {'nodes':>6} {'victims':>8} {'search':>9} {'first':>9} {'worst':>9} {'attempt':>9} {'upstream':>14}")
    for r in rows:
        print(f"{r['workload']:18} {r['nodes']:6} {r['victims']:8} {r['median_ms']:6.2f} ms {r['first_ms']:6.1f} ms "
              f"{r['worst_ms']:6.2f} ms {r['attempt_ms']:6.2f} ms {ratio(r)}"
              f"{'  WRONG: ' + r['wrong'] if r['wrong'] else ''}")


def main():
    runs = collections.OrderedDict()
    for line in open(sys.argv[1]):
        result = json.loads(line)
        workload = result["workload"].removesuffix(".yaml")
        runs.setdefault((workload, result.get("policies"), result.get("reuse")), []).append(result)
    searches = any("median_ms" in results[0] for results in runs.values())
    rows = [(search_row if searches else loop_row)(key, results) for key, results in runs.items()]
    if sys.argv[2] == "1":
        print(json.dumps(rows, indent=1))
    else:
        (print_searches if searches else print_loop)(rows)
    return 1 if any(r["wrong"] for r in rows) else 0


sys.exit(main())
