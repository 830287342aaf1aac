#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The policies of kubernetes-sigs/scheduler-plugins among the samples, together in one profile.

    policies_test.py --berth build/release/berth --samples DIR [--cost]

DIR has a folder per sample with what its README has built. A cluster of 1,000 nodes, with quotas, topologies and loads, is decided
by the default profile with all of them, and again with kept answers compared. --cost prints instead what each adds to the time of a
decision. Ends with "N passed, N failed".
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sdk/examples/trimaran"))
from prometheus import answer_of, serve  # noqa: E402

NODES, PODS, NAMESPACES = 1000, 10_000, 20
SAMPLES = ["node_resources_allocatable", "pod_state", "capacity_scheduling", "node_resource_topology_match", "trimaran"]
POLICIES = ["NodeResourcesAllocatable", "PodState", "CapacityScheduling", "NodeResourceTopologyMatch", "TargetLoadPacking",
            "LoadVariationRiskBalancing"]


def zone(index):
    amounts = [{"name": name, "capacity": amount, "allocatable": amount, "available": amount}
               for name, amount in (("cpu", "16"), ("memory", "64Gi"))]
    return {"name": f"node-{index}", "type": "Node", "resources": amounts}


def cluster():
    amounts = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    items = []
    for number in range(NODES):
        name = f"node-{number}"
        items.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
                      "status": {"capacity": amounts, "allocatable": amounts}})
        items.append({"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology", "metadata": {"name": name},
                      "attributes": [{"name": "topologyManagerPolicy", "value": "single-numa-node"}], "zones": [zone(0), zone(1)]})
    for number in range(NAMESPACES):
        items.append({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota",
                      "metadata": {"name": "quota", "namespace": f"team-{number}"},
                      "spec": {"min": {"cpu": "1000", "memory": "4Ti"}, "max": {"cpu": "2000", "memory": "8Ti"}}})
    asked = {"cpu": "1", "memory": "2Gi"}
    for number in range(PODS):
        items.append({"apiVersion": "v1", "kind": "Pod",
                      "metadata": {"name": f"pod-{number}", "namespace": f"team-{number % NAMESPACES}"},
                      "spec": {"containers": [{"name": "c", "image": "example.com/c:1",
                                               "resources": {"requests": asked, "limits": asked}}]}})
    return {"apiVersion": "v1", "kind": "List", "items": items}


def profile(policies, address):
    plugins = {"multiPoint": {"enabled": [{"name": name} for name in policies]}}
    if "CapacityScheduling" in policies:
        plugins["postFilter"] = {"enabled": [{"name": "CapacityScheduling"}], "disabled": [{"name": "*"}]}
    args = [{"name": name, "args": {"metricProvider": {"address": address}}} for name in policies[-2:] if name in POLICIES[-2:]]
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins, "pluginConfig": args}]}


def compares():
    return {"apiVersion": "config.berth.dev/v1alpha1", "kind": "BerthConfiguration", "plugins": {"verdictReuse": "verify"}}


class Decisions:
    def __init__(self, berth, samples, folder):
        self.berth, self.folder = berth, folder
        self.plugins = folder / "plugins"
        for sample in SAMPLES:
            shutil.copytree(samples / sample / "loaded", self.plugins, dirs_exist_ok=True)
        (folder / "cluster.json").write_text(json.dumps(cluster()))
        port = serve(answer_of({f"node-{n}": [n % 90, 5.0, 40.0, 3.0] for n in range(NODES)}))
        self.address = f"http://127.0.0.1:{port}"

    def run(self, policies, documents=()):
        configuration = profile(policies, self.address)
        path = self.folder / "berth.json"
        path.write_text("\n---\n".join(json.dumps(each) for each in [configuration, *documents]))
        return subprocess.run([self.berth, "simulate", "--cluster", str(self.folder / "cluster.json"), "--config", str(path),
                               "--plugin-dir", str(self.plugins), "-o", "json"], capture_output=True, text=True, timeout=500)

    def microseconds(self, policies):
        """Of a decision, without reading the cluster."""
        done = self.run(policies)
        assert done.returncode == 0, done.stderr[-2000:]
        decided, seconds = re.search(r"decided (\d+) in ([0-9.]+) s", done.stderr).groups()
        return float(seconds) * 1e6 / int(decided)


def test(decisions):
    failed = 0
    for name, documents in (("all policies decide", []), ("and kept answers are true", [compares()])):
        done = decisions.run(POLICIES, documents=documents)
        placed = json.loads(done.stdout)["totals"]["placed"] if done.returncode == 0 else 0
        if done.returncode or placed != PODS:
            failed += 1
            print(f"{name}: exit {done.returncode}, {placed} of {PODS} placed\n{done.stderr[-2000:]}")
    print(f"{2 - failed} passed, {failed} failed")
    return failed


def cost(decisions, turns=5):
    profiles = [[], *([each] for each in POLICIES), POLICIES]
    times = [[] for _ in profiles]
    for _ in range(turns):
        for policies, own in zip(profiles, times):
            own.append(decisions.microseconds(policies))
    least = [min(each) for each in times]
    print(f"{'the default profile':32} {least[0]:8.1f} us a pod, the least of {turns}")
    for policies, time in zip(profiles[1:], least[1:]):
        print(f"{policies[0] if len(policies) == 1 else 'all of them':32} {time - least[0]:+8.1f}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", required=True)
    parser.add_argument("--samples", required=True, type=pathlib.Path)
    parser.add_argument("--cost", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="berth-policies-") as folder:
        decisions = Decisions(options.berth, options.samples, pathlib.Path(folder))
        return cost(decisions) if options.cost else test(decisions)


if __name__ == "__main__":
    sys.exit(main())
