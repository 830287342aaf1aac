#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_trace.py [--nodes N] [--pods N] [--seed S] | --openb NODES.csv PODS.csv: a synthetic GPU cluster as a Kubernetes List on standard output.

The shape of a production GPU cluster: about 1,500 nodes of a dozen kinds, most with 2 to 8 devices of one of seven models; about
8,000 pods of 151 request classes, most of them wanting a share of one device, some whole devices, a few only CPU, and some
pinned to models by node affinity. Equal arguments give equal output. --openb: nodes and pods of a trace of that shape in two CSV
files, as cluster-trace-gpu-v2023 of github.com/alibaba/clusterdata has them.
"""
import argparse
import csv
import json
import random
import sys

MODELS = ["A10", "G2", "G3", "P100", "T4", "V100M16", "V100M32"]

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--nodes", type=int, default=1523)
options.add_argument("--pods", type=int, default=8152)
options.add_argument("--seed", type=int, default=20231)
options.add_argument("--openb", nargs=2, metavar="CSV")
args = options.parse_args()

items = []


def add_node(name, cpu, memory, gpus, model):
    resources = {"cpu": f"{cpu}m", "memory": f"{memory}Mi", "pods": "250"}
    labels = {"kubernetes.io/hostname": name}
    if gpus:
        resources["example.com/gpu-milli"] = str(gpus * 1000)
        labels["gpu-model"] = model
    items.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {},
                  "status": {"allocatable": resources, "capacity": resources}})


def add_pod(name, cpu, memory, gpu, models, qos):
    requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    if gpu:
        requests["example.com/gpu-milli"] = str(gpu)
    spec = {"schedulerName": "default-scheduler",
            "containers": [{"name": "main", "image": "example.com/job:1", "resources": {"requests": requests}}]}
    if models:
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "gpu-model", "operator": "In", "values": models.split("|")}]}]}}}
    items.append({"apiVersion": "v1", "kind": "Pod",
                  "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": {"qos": qos}},
                  "spec": spec, "status": {"phase": "Pending"}})


def read_openb(nodes, pods):
    for node in csv.DictReader(open(nodes)):
        add_node(node["sn"], node["cpu_milli"], node["memory_mib"], int(node["gpu"]), node["model"])
    for pod in csv.DictReader(open(pods)):
        add_pod(pod["name"], pod["cpu_milli"], pod["memory_mib"], int(pod["num_gpu"]) * int(pod["gpu_milli"] or 0),
                pod["gpu_spec"], pod["qos"])


def draw(rng):
    kinds = [(32000, 262144, 0, None)] * 4
    for model in MODELS:
        for gpus in (2, 4, 8):
            kinds.append((rng.choice([64000, 96000, 104000, 128000]), rng.choice([262144, 393216, 524288, 786432]), gpus,
                          model))
    for i in range(args.nodes):
        add_node(f"node-{i:04}", *rng.choice(kinds))
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
        add_pod(f"job-{i:05}", *rng.choices(classes, weights)[0], rng.choice(["LS", "BE", "Burstable"]))


if args.openb:
    read_openb(*args.openb)
else:
    draw(random.Random(args.seed))
json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout, separators=(",", ":"))
