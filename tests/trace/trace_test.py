#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trace_test.py BERTH [NODES.csv PODS.csv]: the synthetic GPU trace, decided with and without verdict reuse and with each kept
verdict held against a fresh one, gives the same decisions, and no node ends up with more than it has. With two files the trace in
them instead (gpu_trace.py --openb)."""
import json
import os
import subprocess
import sys
import tempfile

berth, here = os.path.abspath(sys.argv[1]), os.path.dirname(os.path.abspath(__file__))
REUSE = """apiVersion: config.berth.dev/v1alpha1
kind: BerthConfiguration
plugins: {verdictReuse: "%s"}
"""


def milli(quantity, resource):
    if quantity.endswith("m"):
        return int(quantity[:-1])
    scale = 1024 if quantity.endswith("Mi") else 1
    return int(quantity.removesuffix("Mi")) * scale * (1000 if resource == "cpu" else 1)


with tempfile.TemporaryDirectory() as folder:
    trace = os.path.join(folder, "trace.json")
    with open(trace, "w") as out:
        subprocess.run([sys.executable, os.path.join(here, "gpu_trace.py")] +
                       (["--openb", *sys.argv[2:4]] if len(sys.argv) > 2 else []), stdout=out, check=True)
    objects = json.load(open(trace))["items"]
    answers = {}
    for reuse in ("auto", "off", "verify"):
        config = os.path.join(folder, f"{reuse}.yaml")
        open(config, "w").write(REUSE % reuse)
        run = subprocess.run([berth, "simulate", "--single-pass", "--cluster", trace, "--config", config, "-o", "json"],
                             capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"berth simulate failed with {run.returncode}:\n{run.stderr}")
        print(f"reuse {reuse}: {run.stderr.strip().splitlines()[-1]}")
        if "kept answer" in run.stderr:
            sys.exit(f"reuse {reuse}: a kept verdict is another than a fresh one:\n{run.stderr}")
        answers[reuse] = {p["name"]: (p["node"], p.get("message", "")) for p in json.loads(run.stdout)["pods"]}

for reuse in ("auto", "verify"):
    differing = [name for name in answers["off"] if answers[reuse][name] != answers["off"][name]]
    if differing:
        name = differing[0]
        sys.exit(f"{len(differing)} decisions differ, first {name}: {answers[reuse][name]} with reuse {reuse}, "
                 f"{answers['off'][name]} without")

free = {o["metadata"]["name"]: {r: milli(q, r) for r, q in o["status"]["allocatable"].items()} for o in objects if o["kind"] == "Node"}
placed = 0
for pod in (o for o in objects if o["kind"] == "Pod"):
    node = answers["auto"][pod["metadata"]["name"]][0]
    if node is None:
        continue
    placed += 1
    free[node]["pods"] -= 1
    for resource, quantity in pod["spec"]["containers"][0]["resources"]["requests"].items():
        free[node][resource] -= milli(quantity, resource)
        if free[node][resource] < 0:
            sys.exit(f"{node} is over-committed in {resource}")
if placed < len(answers["auto"]) // 2:
    sys.exit(f"only {placed} of {len(answers['auto'])} pods were placed: the trace no longer tests anything")
print(f"{placed} of {len(answers['auto'])} pods placed, equal with and without reuse, no node over-committed")
