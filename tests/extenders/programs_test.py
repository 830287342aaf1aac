#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`berth simulate` with extenders that are programs of their own: the one of plugins/gpushare, and one as extenders were
written for Kubernetes 1.16.

Usage: programs_test.py BERTH PLUGIN_DIR SOURCE_DIR
"""
import json
import re
import runpy
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

BERTH, PLUGINS, SOURCE = sys.argv[1], sys.argv[2], Path(sys.argv[3])
GPUSHARE = SOURCE / "plugins/gpushare"


def simulate(cluster, config, *more):
    command = [BERTH, "simulate", "--cluster", str(cluster), "--config", str(config), "--plugin-dir", PLUGINS, *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def placements(output):
    """Pod -> node, and pod -> why it waits."""
    report = json.loads(output)
    nodes, waiting = {}, {}
    for pod in report["pods"]:
        if pod.get("node"):
            nodes[pod["name"]] = pod["node"]
        else:
            waiting[pod["name"]] = pod.get("message", "")
    return nodes, waiting


class OldExtender(BaseHTTPRequestHandler):
    """Lower-case keys, HTTP/1.0: as many extenders in the wild are."""

    asked = []

    def do_POST(self):
        question = {key.lower(): value for key, value in json.loads(self.rfile.read(int(self.headers["Content-Length"]))).items()}
        self.asked.append(self.path)
        if self.path.endswith("/filter"):
            items = [n for n in question["nodes"]["items"] if n["metadata"]["name"] != "gpu-a"]
            answer = {"nodes": {"items": items}, "nodenames": None, "failedNodes": {"gpu-a": "reserved by hand"}, "error": ""}
        elif self.path.endswith("/prioritize"):
            answer = [{"host": n["metadata"]["name"], "score": 10 if n["metadata"]["name"] == "plain" else 0}
                      for n in question["nodes"]["items"]]
        else:
            answer = {"error": ""}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Programs(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def config(self, url, template):
        path = Path(self.directory.name) / "berth.yaml"
        path.write_text(template.replace("http://127.0.0.1:8888", url), encoding="utf-8")
        return path

    def start_gpushare(self):
        process = subprocess.Popen([sys.executable, str(GPUSHARE / "extender/gpushare_extender.py")], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return re.match(r"listening on (\S+)", process.stdout.readline())[1]

    def test_gpushare_as_an_extender_decides_as_the_plugin_does(self):
        config = self.config(self.start_gpushare(), (GPUSHARE / "extender/berth.yaml").read_text(encoding="utf-8"))
        by_extender, waits = placements(simulate(GPUSHARE / "cluster.yaml", config, "-o", "json"))
        by_plugin, also_waits = placements(simulate(GPUSHARE / "cluster.yaml", GPUSHARE / "berth.yaml", "-o", "json"))
        self.assertEqual(set(by_extender), set(by_plugin))
        self.assertEqual(set(waits), {"wants-8"})
        self.assertEqual(set(also_waits), {"wants-8"})
        for why in (waits["wants-8"], also_waits["wants-8"]):
            self.assertIn("2 node(s) had no card with enough free GPU memory", why)
        for nodes in (by_extender, by_plugin):
            cards = [nodes[f"train-{i}"] for i in range(4)]
            self.assertEqual(sorted(cards), ["gpu-a", "gpu-a", "gpu-b", "gpu-b"])

    def test_one_of_1_16_with_lower_case_keys_and_http_1_0(self):
        server = HTTPServer(("127.0.0.1", 0), OldExtender)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        config = self.config(f"http://127.0.0.1:{server.server_address[1]}", """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- {urlPrefix: "http://127.0.0.1:8888/old/", filterVerb: filter, prioritizeVerb: prioritize, bindVerb: bind, weight: 100}
""")
        nodes, waiting = placements(simulate(GPUSHARE / "cluster.yaml", config, "-o", "json"))
        self.assertEqual(nodes["web"], "plain")
        self.assertNotIn("gpu-a", nodes.values())
        self.assertTrue(all("1 reserved by hand" in why for why in waiting.values()), waiting)
        self.assertEqual({path.rsplit("/", 1)[1] for path in OldExtender.asked}, {"filter", "prioritize", "bind"})

    def test_an_extender_that_is_down_leaves_its_pods_pending_with_the_reason(self):
        config = self.config("http://127.0.0.1:1", (GPUSHARE / "extender/berth.yaml").read_text(encoding="utf-8"))
        nodes, waiting = placements(simulate(GPUSHARE / "cluster.yaml", config, "-o", "json"))
        self.assertEqual(set(nodes), {"web"})
        for why in waiting.values():
            self.assertIn('Post "http://127.0.0.1:1/filter": ', why)


class GpuShareExtender(unittest.TestCase):
    """Its bookkeeping, without the network."""

    class PodList:
        def __init__(self, *pods):
            self.pods = list(pods)

        def call(self, method, path, *_):
            assert (method, path) == ("GET", "/api/v1/pods"), (method, path)
            return {"items": self.pods}

    @staticmethod
    def pod(uid, memory, node=None, annotations=None):
        return {"metadata": {"uid": uid, "name": uid, "annotations": annotations}, "spec": {"nodeName": node, "containers": [
            {"resources": {"limits": {"example.com/gpu-mem": str(memory)}}}]}}

    def extender(self, api=None, cards=2, memory=32):
        source = runpy.run_path(str(GPUSHARE / "extender/gpushare_extender.py"))
        options = types.SimpleNamespace(memory_resource="example.com/gpu-mem", cards_resource="example.com/gpu-count",
                                        annotation="example.com/gpu-card", refresh_s=0)
        self.now_s, self.kept_s = 0.0, source["WANTED_S"]
        self.cards = source["Cards"](options, api, lambda: self.now_s)
        self.nodes = {"items": [{"metadata": {"name": "n"}, "status": {
            "allocatable": {"example.com/gpu-mem": str(memory), "example.com/gpu-count": str(cards)}}}]}
        return source["Extender"](self.cards, options)

    def fits(self, extender, memory, uid="asks"):
        return bool(extender.filter({"Pod": self.pod(uid, memory), "Nodes": self.nodes})["Nodes"]["items"])

    def test_a_pod_that_names_no_card_counts_on_every_one(self):
        for annotations in (None, {"example.com/gpu-card": "first"}, {"example.com/gpu-card": "-1"}):
            extender = self.extender(self.PodList(self.pod("old", 10, "n", annotations), self.pod("free", 0, "n")))
            self.assertTrue(self.fits(extender, 6))
            self.assertFalse(self.fits(extender, 7))
        extender = self.extender(self.PodList(self.pod("old", 10, "n", {"example.com/gpu-card": "1"})))
        self.assertTrue(self.fits(extender, 16))

    def test_no_more_than_16_cards_of_a_node_are_used(self):
        extender = self.extender(cards=20, memory=20)
        for i in range(16):
            self.assertTrue(self.fits(extender, 1, f"p{i}"))
            self.assertEqual(extender.bind({"PodUID": f"p{i}", "PodName": f"p{i}", "Node": "n"}), {"Error": ""})
        self.assertFalse(self.fits(extender, 1))

    def test_a_pod_that_is_never_bound_is_forgotten(self):
        extender = self.extender()
        self.fits(extender, 1, "gone")
        self.now_s = self.kept_s
        self.fits(extender, 1, "asks")
        self.assertEqual(set(self.cards.wanted), {"gone", "asks"})
        self.now_s += 1
        self.fits(extender, 1, "asks")
        self.assertEqual(set(self.cards.wanted), {"asks"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
