#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_trace.py [--nodes N] [--pods N] [--seed S]: a synthetic GPU cluster as a Kubernetes List on standard output.

The shape of a production GPU cluster: about 1,500 nodes of a dozen kinds, most with 2 to 8 devices of one of seven models; about
8,000 pods of 151 request classes, most of them wanting a share of one device, some whole devices, a few only CPU, and some
pinned to models by node affinity. Equal arguments give equal output.
"""
import argparse
import json
import random
import sys

MODELS = ["A10", "G2", "G3", "P100", "T4", "V100M16", "V100M32"]

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--nodes", type=int, default=1523)
options.add_argument("--pods", type=int, default=8152)
options.add_argument("--seed", type=int, default=20231)
args = options.parse_args()
rng = random.Random(args.seed)

kinds = [(32000, 262144, 0, None)] * 4
for model in MODELS:
    for gpus in (2, 4, 8):
        kinds.append((rng.choice([64000, 96000, 104000, 128000]), rng.choice([262144, 393216, 524288, 786432]), gpus, model))

items = []
for i in range(args.nodes):
    cpu, memory, gpus, model = rng.choice(kinds)
    name = f"node-{i:04}"
    resources = {"cpu": f"{cpu}m", "memory": f"{memory}Mi", "pods": "250"}
    labels = {"kubernetes.io/hostname": name}
    if gpus:
        resources["example.com/gpu-milli"] = str(gpus * 1000)
        labels["gpu-model"] = model
    items.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {},
                  "status": {"allocatable": resources, "capacity": resources}})

classes = []
while len(classes) < 151:
    cpu = rng.choice([1000, 2000, 4000, 6000, 8000, 12000, 16000, 32000])
    memory = rng.choice([2048, 4096, 8192, 12288, 16384, 32768, 65536])
    share = rng.random()
    gpu = 0 if share < 0.12 else rng.randrange(50, 1001, 10) if share < 0.75 else rng.choice([1000, 2000, 4000, 8000])
    models = "|".join(sorted(rng.sample(MODELS, rng.choice([1, 1, 2, 3])))) if gpu and rng.random() < 0.25 else ""
    if (cpu, memory, gpu, models) not in classes:
        classes.append((cpu, memory, gpu, models))
weights = [1 / (1 + i) for i in range(len(classes))]

for i in range(args.pods):
    cpu, memory, gpu, models = rng.choices(classes, weights)[0]
    requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    if gpu:
        requests["example.com/gpu-milli"] = str(gpu)
    spec = {"schedulerName": "default-scheduler",
            "containers": [{"name": "main", "image": "example.com/job:1", "resources": {"requests": requests}}]}
    if models:
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "gpu-model", "operator": "In", "values": models.split("|")}]}]}}}
    items.append({"apiVersion": "v1", "kind": "Pod",
                  "metadata": {"name": f"job-{i:05}", "namespace": "default", "uid": f"uid-{i:05}",
                               "labels": {"qos": rng.choice(["LS", "BE", "Burstable"])}},
                  "spec": spec, "status": {"phase": "Pending"}})
json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout, separators=(",", ":"))
