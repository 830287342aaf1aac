#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kinds of pods with device claims on real servers: scheduled by kube-scheduler, then by berth on fresh servers, and compared.

What is compared: node, conditions and extended claim status of each pod, its events, what is written to its claims, and the metrics
that concern claims: names and labels, and what they count. Times, uids and generated suffixes are left out. Prints a row per kind
and exits 1 when something differs. No kubelet, drivers or controllers are needed: what these would do is written by this program.

Each scheduler has the rights that it has in a cluster and no more: kube-scheduler those that the server gives system:kube-scheduler,
berth those of conf/deploy.
"""
import argparse
import json
import os
import pathlib
import re
import sys
import tempfile
import time
import types

from control_plane import KUBE_SCHEDULER, SERVICE_ACCOUNT, NotThere, RealServers, deploy_roles
from replicas import Replica

DECIDED_S = 30.0  # until a pod has a node or a condition
QUIET_S = 1.5     # for its events, which are written later
RESOURCE = "/apis/resource.k8s.io/v1"
DOMAIN = "d.example.com"


def exactly(name, device_class, **more):
    return {"name": name, "exactly": {"deviceClassName": device_class, **more}}


def devices(*requests, **more):
    return {"devices": {"requests": list(requests), **more}}


BIG = {"selectors": [{"cel": {"expression": f"device.attributes['{DOMAIN}'].model == 'big'"}}]}
# Kind, spec of the claim, pods that use it.
KINDS = [
    ("one-gpu", devices(exactly("r", "gpu")), 1),
    ("by-selector", devices(exactly("r", "gpu", **BIG)), 1),
    ("first-available", devices({"name": "r", "firstAvailable": [
        {"name": "many", "deviceClassName": "gpu", "count": 20}, {"name": "few", "deviceClassName": "gpu", "count": 1}]}), 1),
    ("match-pair", devices(exactly("g", "gpu"), exactly("n", "nic"), constraints=[{"matchAttribute": f"{DOMAIN}/root"}]), 1),
    ("admin-access", devices(exactly("r", "gpu", adminAccess=True)), 1),
    ("all", devices(exactly("r", "all", allocationMode="All")), 1),
    ("shared", devices(exactly("r", "gpu")), 2),
    ("template", devices(exactly("r", "gpu")), 1),
    ("extended", None, 1),
    ("unallocatable", devices(exactly("r", "gpu", count=20)), 1),
    ("missing-class", devices(exactly("r", "none")), 1),
    ("tainted", devices(exactly("r", "tainted")), 1),
    ("bad-selector", devices(exactly("r", "gpu", selectors=[{"cel": {
        "expression": f"device.attributes['{DOMAIN}'].absent == 'x'"}}])), 1),
    # Stored as it is written here, with spaces.
    ("configured", devices(exactly("r", "gpu"), config=[{"requests": ["r"], "opaque": {"driver": DOMAIN, "parameters": {"a": 1}}}]), 1),
    ("capacity", devices(exactly("r", "divided", capacity={"requests": {"memory": "4Gi"}})), 1),
    ("capacity-again", devices(exactly("r", "divided", capacity={"requests": {"memory": "5Gi"}})), 1),
    ("capacity-spent", devices(exactly("r", "divided", capacity={"requests": {"memory": "4Gi"}})), 1),
    ("partition", devices(exactly("r", "partition")), 1),
    ("partition-spent", devices(exactly("r", "partition", count=2)), 1),
    # Devices that a driver prepares once they are allocated: the first is, the second cannot be.
    ("prepared", devices(exactly("r", "prepared")), 1),
    ("unprepared", devices(exactly("r", "prepared")), 1),
]
CONDITIONS = {"prepared": "Ready", "unprepared": "Broken"}


def device(name, kind, root, **more):
    return {"name": name, "attributes": {"kind": {"string": kind}, "root": {"int": root},
                                         "model": {"string": "big" if root == 1 else "small"}}, **more}


def slice_of(name, pool, *found):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": {
        "driver": DOMAIN, "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1}, "nodeName": "a", "devices": list(found)}}


def device_class(name, **more):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": {
        "selectors": [{"cel": {"expression": f"device.attributes['{DOMAIN}'].kind == '{name}'"}}], **more}}


def build(client):
    for name in ("kube-system", "default"):
        client.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    client.send("PATCH", "/api/v1/namespaces/default", {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}},
                "application/merge-patch+json")
    for name in ("a", "b"):
        made(client, "/api/v1/nodes", {"metadata": {"name": name}})
        amounts = {"cpu": "8", "memory": "16Gi", "pods": "110"}
        client.send("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"capacity": amounts, "allocatable": amounts}},
                    "application/merge-patch+json")
    for name in ("gpu", "nic", "all", "tainted"):
        made(client, f"{RESOURCE}/deviceclasses", device_class(name, **({"extendedResourceName": "example.com/gpu"} if name == "gpu" else {})))
    for name in ("divided", "partition", "prepared"):
        made(client, f"{RESOURCE}/deviceclasses", device_class(name))
    parts = slice_of("counters", "c")
    parts["spec"]["pool"]["resourceSliceCount"] = 2
    made(client, f"{RESOURCE}/resourceslices", {**parts, "spec": {**{k: v for k, v in parts["spec"].items() if k != "devices"}, "sharedCounters": [
        {"name": "card", "counters": {"memory": {"value": "10Gi"}}}]}})
    parts["metadata"] = {"name": "partitions"}
    parts["spec"]["devices"] = [device(f"part-{i}", "partition", 7, consumesCounters=[
        {"counterSet": "card", "counters": {"memory": {"value": "4Gi"}}}]) for i in range(3)]
    made(client, f"{RESOURCE}/resourceslices", parts)
    made(client, f"{RESOURCE}/resourceslices", slice_of(
        "more", "m", device("divided-0", "divided", 8, allowMultipleAllocations=True, capacity={"memory": {"value": "10Gi"}}),
        *(device(f"prepared-{i}", "prepared", 9, bindsToNode=True, bindingConditions=["Ready"], bindingFailureConditions=["Broken"])
          for i in range(2))))
    taint = {"key": "example.com/broken", "value": "yes", "effect": "NoSchedule"}
    made(client, f"{RESOURCE}/resourceslices", slice_of("s", "a", *(device(f"gpu-{i}", "gpu", i // 4) for i in range(10)),
                                                        *(device(f"nic-{i}", "nic", i) for i in range(2)),
                                                        *(device(f"all-{i}", "all", 5) for i in range(2)),
                                                        device("tainted-0", "tainted", 6, taints=[taint])))


def made(client, path, body):
    status, answer = client.send("POST", path, body)
    if status >= 300:
        raise SystemExit(f"POST {path}: {status} {answer}")
    return answer


def create_kind(client, kind, spec, pods):
    """The names of its pods, each of which is decided before the next is made."""
    names = [kind if i == 0 else f"{kind}-{i + 1}" for i in range(pods)]
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m"}}}
    if kind not in ("extended", "template"):
        made(client, f"{RESOURCE}/namespaces/default/resourceclaims", {"metadata": {"name": kind}, "spec": spec})
    if kind == "extended":
        container["resources"] = {"requests": {"example.com/gpu": "2"}, "limits": {"example.com/gpu": "2"}}
    for name in names:
        uses = {"name": "k", "resourceClaimName": kind} if kind != "template" else {"name": "k", "resourceClaimTemplateName": "t"}
        pod = made(client, "/api/v1/namespaces/default/pods", {"metadata": {"name": name}, "spec": {
            "automountServiceAccountToken": False, "containers": [container], **({} if kind == "extended" else {"resourceClaims": [uses]})}})
        if kind == "template":  # as the controller of claims does it
            owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod["metadata"]["uid"], "controller": True,
                     "blockOwnerDeletion": True}
            claim = made(client, f"{RESOURCE}/namespaces/default/resourceclaims", {"metadata": {
                "generateName": f"{name}-k-", "ownerReferences": [owner],
                "annotations": {"resource.kubernetes.io/pod-claim-name": "k"}}, "spec": spec})
            client.send("PATCH", f"/api/v1/namespaces/default/pods/{name}/status", {"status": {"resourceClaimStatuses": [
                {"name": "k", "resourceClaimName": claim["metadata"]["name"]}]}}, "application/strategic-merge-patch+json")
        await_decision(client, name)
    return names


def act_as_driver(client, name):
    """Says once of each device of the claim how its preparation went, and that it ended. Whether it did so now."""
    path = f"{RESOURCE}/namespaces/default/resourceclaims/{name}"
    claim = client.send("GET", path)[1]
    results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
    if not results or claim["status"].get("devices"):
        return False
    condition = {"type": CONDITIONS[name], "status": "True", "reason": "Tried", "message": 'so\tit "is"', "lastTransitionTime": "2026-01-01T00:00:00Z"}
    claim["status"]["devices"] = [{**{k: result[k] for k in ("driver", "pool", "device")}, "conditions": [condition]} for result in results]
    return client.send("PUT", path + "/status", claim)[0] == 200


def await_decision(client, name):
    end = time.monotonic() + DECIDED_S
    while name in CONDITIONS and not act_as_driver(client, name) and time.monotonic() < end:
        time.sleep(0.05)
    while time.monotonic() < end:
        if name == "unprepared":  # its devices are given up, and it waits for others
            status = client.send("GET", f"{RESOURCE}/namespaces/default/resourceclaims/{name}")[1].get("status", {})
            if "allocation" in status and not status.get("devices"):
                return
            time.sleep(0.05)
            continue
        pod = client.send("GET", f"/api/v1/namespaces/default/pods/{name}")[1]
        if pod["spec"].get("nodeName") or any(c.get("message") for c in pod["status"].get("conditions", [])):
            return
        time.sleep(0.05)


def without_chance(value):
    """Times, uids and generated suffixes replaced."""
    text = json.dumps(value, sort_keys=True)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
    text = re.sub(r"((?:extended-resources|template-k)-)[a-z0-9]{5}\b", r"\1XXXXX", text)
    return json.loads(text)


def look(client, names):
    """What is compared of the pods of one kind."""
    pods, events, claims = {}, {}, {}
    for name in names:
        pod = client.send("GET", f"/api/v1/namespaces/default/pods/{name}")[1]
        status = pod["status"]
        pods[name] = {"node": pod["spec"].get("nodeName"), "extended": status.get("extendedResourceClaimStatus"),
                      "conditions": [{k: c.get(k) for k in ("type", "status", "reason", "message")} for c in status.get("conditions", [])]}
    for event in client.send("GET", "/apis/events.k8s.io/v1/namespaces/default/events")[1].get("items", []):
        if event["regarding"]["name"] in names:
            seen = {k: event.get(k) for k in ("type", "reason", "note", "action", "reportingController")}
            if seen not in events.setdefault(event["regarding"]["name"], []):
                events[event["regarding"]["name"]].append(seen)
    for claim in client.send("GET", f"{RESOURCE}/namespaces/default/resourceclaims")[1].get("items", []):
        meta = claim["metadata"]
        if meta["name"] in names or any(o["name"] in names for o in meta.get("ownerReferences", [])):
            kept = {k: meta.get(k) for k in ("generateName", "finalizers", "annotations", "ownerReferences", "labels")}
            claims[meta["name"]] = {"metadata": kept, "spec": claim["spec"], "status": claim.get("status")}
    return without_chance({"pods": pods, "events": {n: sorted(e, key=json.dumps) for n, e in events.items()}, "claims": claims})


def claim_metrics(text):
    """The metrics that concern claims: "name{labels}" of all, and with values those that count what happened to claims."""
    seen = set()
    for line in text.splitlines():
        counted = re.match(r"(scheduler_(?:dra_|resourceclaim)\w*?(?:_total|_count))(\{[^}]*\})? (\d+)$", line)
        if counted:
            seen.add(f"{counted[1]}{{{','.join(sorted((counted[2] or '{}')[1:-1].split(',')))}}} {counted[3]}")
        match = re.match(r"(\w*(?:claim|device|dra_|dynamic_resource)\w*?)(?:_bucket|_sum|_count)?(\{[^}]*\})? ", line)
        if match:
            labels = sorted(set(re.findall(r'(\w+)="', match[2] or "")) - {"le"})
            seen.add(match[1] + "{" + ",".join(labels) + "}")
    return sorted(seen)


def run(folder, options, program, is_berth):
    folder.mkdir()
    plane = RealServers(options.servers, folder, names={"a": SERVICE_ACCOUNT if is_berth else KUBE_SCHEDULER})
    replica = None
    try:
        build(plane.client)
        if is_berth:
            deploy_roles(plane.client)
        replica = Replica("a", plane, types.SimpleNamespace(scheduler=program, is_berth=is_berth, plugins=options.plugins, client_qps=-1,
                                                            scheduler_flags=[]), elects=False)
        replica.start()
        seen = {}
        for kind, spec, pods in KINDS:
            names = create_kind(plane.client, kind, spec, pods)
            time.sleep(QUIET_S)
            seen[kind] = look(plane.client, names)
        return seen, claim_metrics(replica.metrics())
    finally:
        if replica is not None:
            replica.stop()
        plane.stop()


def differences(one, other, path=""):
    """Where two values part, as lines."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [line for key in sorted(set(one) | set(other)) for line in differences(one.get(key), other.get(key), f"{path}.{key}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [line for i, pair in enumerate(zip(one, other)) for line in differences(*pair, f"{path}[{i}]")]
    return [] if one == other else [f"{path.lstrip('.')}\n      kube-scheduler: {json.dumps(one)}\n      berth:          {json.dumps(other)}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=pathlib.Path, default=os.environ.get("KUBEBUILDER_ASSETS"), metavar="DIR",
                        help="directory with etcd and kube-apiserver; default: $KUBEBUILDER_ASSETS")
    parser.add_argument("--kube-scheduler", type=pathlib.Path, metavar="PROGRAM", help="default: the one in --servers")
    parser.add_argument("--berth", type=pathlib.Path, required=True, metavar="PROGRAM")
    parser.add_argument("--plugins", type=pathlib.Path, metavar="DIR", help="its plugins; default: plugins next to the program")
    options = parser.parse_args()
    if options.servers is None:
        parser.error("--servers, or KUBEBUILDER_ASSETS, names the directory of etcd and kube-apiserver")
    options.servers = pathlib.Path(options.servers).resolve()
    options.plugins = (options.plugins or options.berth.parent / "plugins").resolve()
    upstream = (options.kube_scheduler or options.servers / "kube-scheduler").resolve()
    with tempfile.TemporaryDirectory() as folder:
        try:
            theirs, their_metrics = run(pathlib.Path(folder) / "kube-scheduler", options, upstream, False)
            ours, our_metrics = run(pathlib.Path(folder) / "berth", options, options.berth.resolve(), True)
        except NotThere as why:
            sys.exit(str(why))
    bad = 0
    for kind, _, _ in KINDS:
        found = differences(theirs[kind], ours[kind])
        pod = theirs[kind]["pods"][kind]
        print(f"{'differs' if found else 'equal':8} {kind:16} {'on ' + pod['node'] if pod['node'] else 'pending'}")
        for line in found:
            print("    " + line)
        bad += bool(found)
    missing = sorted(set(their_metrics) - set(our_metrics))
    print(f"{'differs' if missing else 'equal':8} metrics          {', '.join(their_metrics)}")
    for name in missing:
        print("    berth has no " + name)
    return 1 if bad or missing else 0


if __name__ == "__main__":
    sys.exit(main())
