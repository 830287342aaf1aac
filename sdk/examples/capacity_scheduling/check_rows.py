#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the rows of upstream's tables that speak of preemption to berth itself, on an embedded cluster.

    check_rows.py --plugin-dir loaded [ROWS.json]

A row is a cluster of one node with 150 bytes of memory, a pod that does not fit, and what becomes of it in one attempt. Where upstream
asks its function directly about a pod that would fit, a host port in use keeps it out. Ends with "N passed, N failed".
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

PROFILE = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [{
    "schedulerName": "default-scheduler", "plugins": {
        "multiPoint": {"enabled": [{"name": "CapacityScheduling"}]},
        "postFilter": {"enabled": [{"name": "CapacityScheduling"}], "disabled": [{"name": "*"}]}}}]}


def node(name, tainted=False, cordoned=False):
    spec = {"unschedulable": True} if cordoned else {}
    if tainted:
        spec["taints"] = [{"key": "k", "value": "v", "effect": "NoSchedule"}]
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec,
            "status": {"allocatable": {"cpu": "10", "memory": "150" if name == "node-a" else "1000", "pods": "110"}}}


def pod(row, node_name=None, port=None):
    container = {"name": "c", "image": "example.com/c:1", "resources": {"requests": {"memory": str(row["memory"])}}}
    if port:
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    spec = {"schedulerName": "default-scheduler", "priority": row.get("priority", 0), "containers": [container]}
    metadata = {"name": row["name"], "namespace": row["ns"], "uid": row["name"], "creationTimestamp": "2026-01-01T00:00:00Z"}
    status = {}
    if node_name:
        spec["nodeName"] = node_name
        status = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}
    if row.get("terminating"):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if "preemptionPolicy" in row:
        spec["preemptionPolicy"] = row["preemptionPolicy"]
    if "nominated" in row:
        status["nominatedNodeName"] = row["nominated"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def quota(ns, row):
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota", "metadata": {"name": "quota", "namespace": ns},
            "spec": {"min": {"memory": str(row["min"])}, "max": {"memory": str(row["max"])}}}


def cluster_of(row, port=None):
    items = [node("node-a", row.get("tainted", False)), node("elsewhere", cordoned=True)]
    items += [quota(ns, each) for ns, each in row["quotas"].items()]
    # What a quota says is in use, and no pod of the row uses, is used elsewhere.
    items += [pod({"name": f"used-by-{ns}", "ns": ns, "memory": each["used"]}, "elsewhere")
              for ns, each in row["quotas"].items() if "used" in each]
    items += [pod(each, "node-a", port) for each in row["placed"]] + [pod(row["pod"], None, port)]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def attempt(cluster, plugin_dir, folder):
    (folder / "cluster.json").write_text(json.dumps(cluster))
    (folder / "berth.json").write_text(json.dumps(PROFILE))
    done = subprocess.run(["berth", "simulate", "--cluster", str(folder / "cluster.json"), "--config", str(folder / "berth.json"),
                           "--plugin-dir", str(plugin_dir), "--single-pass", "-o", "json"], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plugin-dir", required=True, type=pathlib.Path)
    parser.add_argument("rows", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent / "rows.json")
    options = parser.parse_args()
    rows = json.loads(options.rows.read_text())
    passed, failed = 0, 0

    def judge(name, expected, got):
        nonlocal passed, failed
        if expected == got:
            passed += 1
        else:
            failed += 1
            print(f"{name}: expected {expected}, got {got}")

    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for row in rows["preemption"]:
            out = attempt(cluster_of(row), options.plugin_dir, folder)
            if "victims" in row:
                judge(row["name"], row["victims"], victims_of(out))
            else:
                judge(row["name"], row["nominated"], pod_of(out, row).get("nominatedNode"))
        for row in rows["eligible"]:
            message = pod_of(attempt(cluster_of(row, 8080), options.plugin_dir, folder), row).get("message", "")
            judge(row["name"], row["eligible"], "not eligible" not in message)
    print(f"{passed} passed, {failed} failed")
    return failed


def pod_of(out, row):
    return next(p for p in out["pods"] if (p["namespace"], p["name"]) == (row["pod"]["ns"], row["pod"]["name"]))


def victims_of(out):
    return sorted(each["pod"].split("/")[1] for each in out.get("evictions", []))


if __name__ == "__main__":
    sys.exit(main())
