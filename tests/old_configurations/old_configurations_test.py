#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Old configurations decide as they did, and decide the same once they are converted.

    old_configurations_test.py --berth PROGRAM --plugins DIR --files DIR --cluster FILE

cases/*.json: a configuration, a cluster, a pod, and what the documented formulas give it: scores of nodes by plugin
(weighted), the node, the message. FILES are configurations without an expectation: they must start.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CASES = pathlib.Path(__file__).parent / "cases"
OPTIONS = None


def berth(*arguments, text=None):
    environment = {**os.environ, "BERTH_PLUGIN_DIR": OPTIONS.plugins}
    return subprocess.run([OPTIONS.berth, *map(str, arguments)], input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120, env=environment)


def documents(parts):
    """One document as JSON, several as YAML, of which JSON is a part."""
    return json.dumps(parts[0]) if len(parts) == 1 else "".join(f"---\n{json.dumps(part)}\n" for part in parts)


def node(name, cpu, memory, **more):
    labels = {"kubernetes.io/hostname": name, **more.pop("labels", {})}
    allocatable = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": labels, "annotations": more.pop("annotations", {})},
            "spec": more, "status": {"allocatable": allocatable, "capacity": allocatable}}


def pod(name, cpu="0", memory="0", on=None, **more):
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": more.pop("labels", {})}
    if "owner" in more:
        metadata["ownerReferences"] = [{**more.pop("owner"), "apiVersion": "apps/v1", "controller": True}]
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    if "host_port" in more:
        port = more.pop("host_port")
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"schedulerName": "default-scheduler", "containers": [container], **({"nodeName": on} if on else {}), **more}}


def objects(case):
    shown = [node(**short) for short in case["nodes"]] + [pod(**short) for short in case["pods"]]
    return "".join(f"---\n{json.dumps(shown_object)}\n" for shown_object in shown + case.get("objects", []))


class OldConfigurations(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def put(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def converted(self, path, *options):
        run = berth("config", "convert", *options, path)
        self.assertEqual(run.returncode, 0, run.stderr)
        converted = self.put(f"converted{''.join(options)}.yaml", run.stdout)
        check = berth("config", "check", converted)
        self.assertEqual(check.returncode, 0, check.stderr + run.stdout)
        return converted

    def decisions(self, config, cluster):
        to = self.folder / "decisions.json"
        run = berth("simulate", "--config", config, "--cluster", cluster, "--decisions", to)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(to.read_text())["decisions"]

    def test_cases_come_to_what_the_formulas_of_then_give(self):
        files = sorted(CASES.glob("*.json"))
        self.assertTrue(files)
        for file in files:
            with self.subTest(file.stem):
                case = json.loads(file.read_text())
                config = self.put("old.yaml", documents(case["configuration"]))
                cluster = self.put("cluster.yaml", objects(case))
                run = berth("simulate", "--config", config, "--cluster", cluster, "--explain", f"default/{case['pod']}",
                            "-o", "json")
                self.assertEqual(run.returncode, 0, run.stderr)
                shown, expect = json.loads(run.stdout), case["expect"]
                if "node" in expect:
                    self.assertEqual(shown.get("node"), expect["node"], run.stdout)
                for on, plugins in expect.get("scores", {}).items():
                    scores = shown["scores"][on]["plugins"]
                    self.assertEqual({name: scores.get(name) for name in plugins}, plugins, on)
                if "message" in expect:
                    self.assertEqual(shown["attempts"][-1].get("message"), expect["message"])
                self.assertEqual(self.decisions(config, cluster), self.decisions(self.converted(config), cluster))

    def test_files_start_and_decide_the_same_after_conversion(self):
        files = [f for f in sorted(pathlib.Path(OPTIONS.files).iterdir())
                 if ".today." not in f.name and "Mine" not in f.read_text() and "file: {path:" not in f.read_text()]
        self.assertGreater(len(files), 3)
        for file in files:
            with self.subTest(file.name):
                self.assertEqual(berth("config", "check", file).returncode, 0, berth("config", "check", file).stderr)
                # Lots are drawn again at each start, so only what had to be decided is compared there.
                if "search: v1.16" in file.read_text():
                    continue
                self.assertEqual(self.decisions(file, OPTIONS.cluster),
                                 self.decisions(self.converted(file), OPTIONS.cluster))

    def test_files_start_with_the_policies_of_today(self):
        for file in sorted(pathlib.Path(OPTIONS.files).iterdir()):
            text = file.read_text()
            if ".today." in file.name or "Mine" in text or "file: {path:" in text or "search: v1.16" in text:
                continue
            with self.subTest(file.name):
                decisions = self.decisions(self.converted(file, "--modern"), OPTIONS.cluster)
                # The example's pods are those of default-scheduler.
                self.assertEqual(bool(decisions), "schedulerName: my-scheduler" not in text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--berth", "--plugins", "--files", "--cluster"):
        parser.add_argument(option, required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
