#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each bundled policy with one of its points enabled and the rest left out, as a profile may ask for.

A point that needs what another one left has to say so; it must not take the scheduler down. Every point is tried twice:
alone, and together with policies that reject pods, evict others and undo reservations.

Usage: points_alone_test.py BERTH PLUGIN_DIR SCENE_DIR
"""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BERTH, PLUGINS = sys.argv[1], Path(sys.argv[2])
SCENE = Path(sys.argv[3])

POINTS = ["preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit",
          "preBind", "bind", "postBind"]
COMPANY = {"preFilter": ["NodeResourcesFit"], "filter": ["NodeResourcesFit"], "postFilter": ["DefaultPreemption"]}
# Fails without its preFilter, so that everything reserved before it is given back.
UNDOES = {"reserve": ["VolumeBinding"]}
# What those that cannot do without arguments are told.
ARGS = {
    "CheckNodeLabelPresence": {"labels": ["rack"], "presence": True},
    "NodeLabelPriority": {"label": "rack", "presence": True},
    "NodeLabel": {"presentLabels": ["rack"], "presentLabelsPreference": ["rack"]},
    "RequestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]},
    "CheckServiceAffinity": {"labels": ["rack"]},
    "ServiceAntiAffinity": {"label": "rack"},
    "ServiceAffinity": {"affinityLabels": ["rack"], "antiAffinityLabelsPreference": ["rack"]},
}


def policies():
    """Names of all that the files in the plugin directory offer."""
    files = sorted(str(file) for file in PLUGINS.glob("*.so"))
    done = subprocess.run([BERTH, "plugin", "inspect", "--json", *files], capture_output=True, text=True, timeout=60, check=True)
    return [plugin["name"] for file in json.loads(done.stdout) for plugin in file["plugins"]]


def profile(name, policy, point, company):
    # Orders the queue and binds, unless that is what is tried.
    plugins = {"multiPoint": {"disabled": [{"name": "*"}]},
               "queueSort": {"enabled": [{"name": policy if point == "queueSort" else "PrioritySort"}]}}
    for at, names in {"bind": ["DefaultBinder"], **(COMPANY if company else {}),
                      **(UNDOES if company and point == "reserve" else {})}.items():
        plugins[at] = {"enabled": [{"name": other} for other in names if other != policy]}
    if point != "queueSort":
        plugins.setdefault(point, {"enabled": []})["enabled"].insert(0, {"name": policy})
    args = [{"name": policy, "args": ARGS[policy]}] if policy in ARGS else []
    return {"schedulerName": name, "plugins": plugins, "pluginConfig": args}


def pods_of(scheduler):
    pods = json.loads((SCENE / "pods.json").read_text(encoding="utf-8"))
    for pod in pods:
        pod.update(apiVersion="v1", kind="Pod")
        pod["metadata"].update(name=f"{scheduler.lower()}-{pod['metadata']['name']}", namespace="ns")
        spec = pod.setdefault("spec", {})
        spec["schedulerName"] = scheduler
        spec.setdefault("containers", [{"name": "main", "image": "other"}])
    return pods


class PointsAlone(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def run_berth(self, *arguments):
        return subprocess.run([BERTH, *map(str, arguments), "--plugin-dir", str(PLUGINS)], capture_output=True, text=True,
                              timeout=300, check=False)

    def write(self, name, content):
        path = self.directory / name
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    def configuration(self, profiles):
        return self.write("berth.yaml", {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                                         "profiles": profiles})

    def points_of(self, policy):
        """Those at which a configuration may enable it."""
        everywhere = {"multiPoint": {"disabled": [{"name": "*"}]}, **{point: {"enabled": [{"name": policy}]} for point in POINTS}}
        checked = self.run_berth("config", "check", self.configuration(
            [{"schedulerName": "all", "plugins": everywhere, "pluginConfig": profile("all", policy, "bind", False)["pluginConfig"]}]))
        offers = re.findall(r"\.plugins\.(\w+)\.enabled\[0\]: .*does not extend", checked.stdout + checked.stderr)
        return [point for point in POINTS if point not in offers]

    def try_points(self, policy, points):
        profiles = [profile(f"{point}-{'with-others' if company else 'alone'}", policy, point, company)
                    for point in points for company in (False, True)]
        pods = [pod for each in profiles for pod in pods_of(each["schedulerName"])]
        cluster = self.write("pods.json", {"apiVersion": "v1", "kind": "List", "items": pods})
        done = self.run_berth("simulate", "--cluster", SCENE / "cluster.yaml", cluster, "--config", self.configuration(profiles),
                              "-o", "json")
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
        decided = [pod for pod in json.loads(done.stdout)["pods"] if pod["name"] in {pod["metadata"]["name"] for pod in pods}]
        self.assertEqual(len(decided), len(pods))
        return {pod["name"]: pod.get("message", "") for pod in decided}

    def test_no_point_of_any_policy_needs_another_one_to_stay_alive(self):
        tried = 0
        for policy in policies():
            points = self.points_of(policy)
            self.assertTrue(points, policy)
            # All profiles of a configuration order the queue alike.
            for together in ([point for point in points if point != "queueSort"], [point for point in points if point == "queueSort"]):
                if together:
                    with self.subTest(policy=policy, points=together):
                        self.try_points(policy, together)
                        tried += len(together)
        self.assertGreater(tried, 100)

    def test_a_point_without_the_one_before_says_what_is_missing(self):
        for policy, point in (("GpuShare", "filter"), ("GpuShare", "score"), ("GpuShare", "reserve"), ("NodeResourcesFit", "filter")):
            messages = self.try_points(policy, [point])
            self.assertIn(f'error reading "PreFilter{policy}" from cycleState: not found', messages[f"{point.lower()}-alone-cards"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
