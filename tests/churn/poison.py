#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Objects that a tenant or a kubelet may write into a real API server, and whether pods are still bound afterwards.

    poison.py --servers DIR --berth PROGRAM

Each object is written while the scheduler runs, changed, and found at the start of another one; with the list streamed and
with the list by pages. A pod behind it must be bound in time, and a node that a poisoned pod fills must not be given away.

Exit codes: 0 everything held; 1 something did not; 2 it could not be run.
"""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "hostile")]
from cluster import NAMESPACE, NODES, PODS, node, pod  # noqa: E402
from control_plane import NotThere, RealServers  # noqa: E402
from parts import envelope, field  # noqa: E402
from replicas import Replica, add_programs, check_programs  # noqa: E402

PROTOBUF = "application/vnd.kubernetes.protobuf"
BOUND_S = 2.0     # from a probe's creation to its node, behind a poisoned object
START_S = 30.0    # from the start of a scheduler to the first binding
NO_TEXT = b"a\xff\xfe\x80z"


def binary_pod(name, annotation=None, argument=None, variable=None, scheduler="default-scheduler", on=None, milli=10):
    """A pod as protobuf, which may hold texts that JSON cannot."""
    meta = [[1, name], [3, NAMESPACE]]
    if annotation:
        meta.append([12, [[1, "example.com/a"], [2, annotation]]])
    container = [[1, "c"], [2, "i"], [8, [[2, [[1, "cpu"], [2, [[1, f"{milli}m"]]]]]]]]
    if argument:
        container.append([4, argument])
    if variable:
        container.append([7, [[1, "V"], [2, variable]]])
    spec = [[2, container], [19, scheduler], *([[10, on]] if on else [])]
    return envelope("v1", "Pod", b"".join(field(*f) for f in ([1, meta], [2, spec])))


def wide_pod(name, what, count):
    """A pod of another scheduler that is large in one way."""
    made = pod(name, 10, schedulerName="another")
    if what == "labels":
        made["metadata"]["labels"].update({f"l{n}": "" for n in range(count)})
    elif what == "annotations":
        made["metadata"]["annotations"] = {f"a{n}": "" for n in range(count)}
    elif what == "resources":
        both = {f"example.com/r{n}": "1" for n in range(count)}
        made["spec"]["containers"][0]["resources"] = {"requests": both, "limits": both}
    elif what == "containers":
        made["spec"]["containers"] = [{"name": f"c{n}", "image": "i"} for n in range(count)]
    elif what == "tolerations":
        made["spec"]["tolerations"] = [{"key": f"k{n}", "operator": "Exists"} for n in range(count)]
    elif what == "terms":
        made["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": f"k{n}", "operator": "Exists"}]} for n in range(count)]}}}
    return made


def post(path, body, content_type="application/json"):
    def write(client):
        status, answer = client.send("POST", path, body, content_type)
        return "" if status == 201 else f"refused: {status} {answer.get('message', '')[:100]}"
    return write


def heartbeat(client):
    """The year 0, as a kubelet may write it."""
    status = client.send("PATCH", f"{NODES}/odd/status", {"status": {"conditions": [
        {"type": "Ready", "status": "True", "reason": "r", "message": "m", "lastHeartbeatTime": "0000-01-01T00:00:00Z"}]}},
        "application/merge-patch+json")[0]
    return "" if status == 200 else f"refused: {status}"


POISONS = {  # name -> (how it is written, the pod to change and delete afterwards)
    "R01 an annotation that is no UTF-8": (post(PODS, binary_pod("r01", annotation=NO_TEXT, scheduler="another"), PROTOBUF), "r01"),
    "R01 its own pod, an argument that is no UTF-8": (post(PODS, binary_pod("r01b", argument=NO_TEXT), PROTOBUF), "r01b"),
    "R01 its own pod, a variable that is no UTF-8": (post(PODS, binary_pod("r01c", variable=NO_TEXT), PROTOBUF), "r01c"),
    "R07 a heartbeat in the year 0": (heartbeat, None),
    "G25 a bound pod with an annotation that is no UTF-8": (
        post(PODS, binary_pod("g25", annotation=NO_TEXT, on="full", milli=1900), PROTOBUF), "g25"),
    "H3 40,000 labels": (post(PODS, wide_pod("h3-labels", "labels", 40_000)), "h3-labels"),
    "H3 80,000 labels": (post(PODS, wide_pod("h3-labels-2", "labels", 80_000)), "h3-labels-2"),
    "H3 30,000 annotations": (post(PODS, wide_pod("h3-annotations", "annotations", 30_000)), "h3-annotations"),
    "H3 15,000 resources": (post(PODS, wide_pod("h3-resources", "resources", 15_000)), "h3-resources"),
    "H3 10,000 containers": (post(PODS, wide_pod("h3-containers", "containers", 10_000)), "h3-containers"),
    "H3 4,000 tolerations": (post(PODS, wide_pod("h3-tolerations", "tolerations", 4_000)), "h3-tolerations"),
    "H3 15,000 terms": (post(PODS, wide_pod("h3-terms", "terms", 15_000)), "h3-terms"),
}


class Table:
    def __init__(self, options, folder, gates):
        folder.mkdir(parents=True)
        self.options, self.plane = options, RealServers(options.servers, folder, gates)
        self.client, self.replica, self.probes, self.rows = self.plane.client, None, 0, []
        self.client.made("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for number, name in enumerate(("free", "odd", "full")):
            self.client.made(NODES, node(name, number))

    def run(self, kind):
        self.start()
        self.note(f"{kind}: no poison", self.probe(), START_S)
        for name, (write, pod_name) in POISONS.items():
            refused = write(self.client)
            if refused:
                self.rows.append((f"{kind}: {name}", refused, True))
                continue
            self.note(f"{kind}: {name}, while it runs", self.probe(), BOUND_S)
            if pod_name and self.change(pod_name):
                self.note(f"{kind}: {name}, changed", self.probe(), BOUND_S)
            self.replica.stop()
            self.start()
            self.note(f"{kind}: {name}, found at the start", self.probe(), START_S)
            if name.startswith("G25"):
                self.give_away(kind, name)
            if pod_name:
                self.client.removed(f"{PODS}/{pod_name}")
                self.note(f"{kind}: {name}, deleted", self.probe(), BOUND_S)
        self.rows.append((f"{kind}: the scheduler ended by itself", str(self.replica.ends or "no"), not self.replica.ends))

    def start(self):
        self.replica = Replica("a", self.plane, self.options, elects=False)
        self.replica.start()

    def change(self, pod_name):
        """One annotation more. False: the server refuses to change that pod at all."""
        return self.client.send("PATCH", f"{PODS}/{pod_name}", {"metadata": {"annotations": {"example.com/changed": "yes"}}},
                                "application/merge-patch+json")[0] == 200

    def probe(self):
        """Seconds until a small pod has a node; None after a minute."""
        self.probes += 1
        name = f"probe-{self.probes}"
        self.client.made(PODS, pod(name, 1))
        began = time.monotonic()
        while time.monotonic() - began < 2 * START_S:
            if self.client.send("GET", f"{PODS}/{name}")[1]["spec"].get("nodeName"):
                return time.monotonic() - began
            time.sleep(0.01)
        return None

    def give_away(self, kind, name):
        """A pod that only fits where the poisoned one is must wait."""
        self.client.made(PODS, pod("greedy", 500, nodeSelector={"kubernetes.io/hostname": "full"}))
        self.probe()
        bound = self.client.send("GET", f"{PODS}/greedy")[1]["spec"].get("nodeName")
        self.rows.append((f"{kind}: {name}, its room given away", "yes" if bound else "no", not bound))
        self.client.removed(f"{PODS}/greedy")

    def note(self, what, took_s, limit_s):
        held = took_s is not None and took_s <= limit_s
        self.rows.append((what, "not bound" if took_s is None else f"{took_s:.2f} s", held))
        print(f"{what:95} {self.rows[-1][1]:>10}  {'held' if held else 'FAILED'}", flush=True)
        self.replica.look(0)

    def stop(self):
        if self.replica:
            self.replica.stop()
        self.plane.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_programs(parser)
    parser.add_argument("--keep", type=pathlib.Path, help="directory for logs, which must not be there; default: none are kept")
    options = parser.parse_args()
    check_programs(parser, options)
    folder = (options.keep or pathlib.Path(tempfile.mkdtemp(prefix="berth-poison-"))).resolve()
    print(f"files in {folder}; load average {os.getloadavg()[0]:.1f}", flush=True)
    rows = []
    for kind, gates in (("streamed", ""), ("paged", "WatchList=false")):
        try:
            table = Table(options, folder / kind, gates)
        except NotThere as why:
            print(why, file=sys.stderr)
            return 2
        try:
            table.run(kind)
        finally:
            table.stop()
        rows += table.rows
    if not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    print()
    for what, was, held in rows:
        print(f"{what:95} {was:>10}  {'held' if held else 'FAILED'}")
    passed = sum(held for *_, held in rows)
    print(f"{passed} passed, {len(rows) - passed} failed")
    return 0 if passed == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
