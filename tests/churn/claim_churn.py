#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pods with device claims come and go while two replicas of a scheduler take over from each other and the API server is restarted.

Held at every look: no device belongs to two claims, and every pod that has a node has its claims: allocated there, and reserved for it.
Held in the end: every pod has a node, no claim is allocated that no pod uses, and after the last pod none is left. What the
controllers of claims and garbage would do is written by this program. Berth runs as the service account of conf/deploy.
Exit codes: 0 everything held, 1 something did not, 2 it could not be run.
"""
import argparse
import itertools
import pathlib
import random
import statistics
import sys
import tempfile
import time

from control_plane import KUBE_SCHEDULER, SERVICE_ACCOUNT, NotThere, RealServers, deploy_roles
from replicas import Replica, add_programs, check_programs

RESOURCE = "/apis/resource.k8s.io/v1"
PODS, CLAIMS = "/api/v1/namespaces/default/pods", f"{RESOURCE}/namespaces/default/resourceclaims"
DRIVER, FINALIZER = "d.example.com", "resource.kubernetes.io/delete-protection"
NODES, DEVICES = 20, 4  # of each node
LIVE_MAX = 60           # devices that the pods at hand ask for
LOOK_S = 0.5
RESTART_S, KILL_S = 60.0, 45.0
SETTLE_S = 120.0
KINDS = ("own", "shared", "template", "extended")


def build(client):
    for name in ("kube-system", "default"):
        client.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    client.made(f"{RESOURCE}/deviceclasses", {"metadata": {"name": "gpu"}, "spec": {
        "extendedResourceName": "example.com/gpu", "selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]}})
    amounts = {"cpu": "64", "memory": "64Gi", "pods": "110"}
    for i in range(NODES):
        name = f"n{i}"
        client.made("/api/v1/nodes", {"metadata": {"name": name}})
        client.patched(f"/api/v1/nodes/{name}/status", {"status": {"capacity": amounts, "allocatable": amounts}})
        client.made(f"{RESOURCE}/resourceslices", {"metadata": {"name": name}, "spec": {
            "driver": DRIVER, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}, "nodeName": name,
            "devices": [{"name": f"g{d}"} for d in range(DEVICES)]}})


class Load:
    """Pods of every kind: made, and deleted some time after they have a node."""

    def __init__(self, client, dice):
        self.client, self.dice, self.numbers = client, dice, itertools.count()
        self.made_at, self.bound_after, self.due = {}, {}, {}  # by name of the pod
        self.devices = {}

    def spec(self):
        return {"devices": {"requests": [{"name": "r", "exactly": {
            "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": self.dice.choice((1, 1, 2))}}]}}

    def pod(self, name, **spec):
        container = {"name": "c", "image": "i", **spec.pop("container", {"resources": {"requests": {"cpu": "10m"}}})}
        body = {"metadata": {"name": name}, "spec": {"automountServiceAccountToken": False, "containers": [container], **spec}}
        status, answer = self.client.send("POST", PODS, body)
        if status == 409:
            answer = self.client.send("GET", f"{PODS}/{name}")[1]
        elif status != 201:
            raise RuntimeError(f"POST {PODS}: {status} {answer}")
        self.made_at[name] = time.monotonic()
        return answer

    def add(self):
        number, kind = next(self.numbers), self.dice.choice(KINDS)
        name = f"{kind}-{number}"
        spec = self.spec()
        count = spec["devices"]["requests"][0]["exactly"]["count"]
        names = [name, f"{name}-b"] if kind == "shared" else [name]
        self.devices[name] = count
        if kind in ("own", "shared"):
            self.client.made(CLAIMS, {"metadata": {"name": name, "labels": {"made-by": "claim-churn"}}, "spec": spec})
            for each in names:
                self.pod(each, resourceClaims=[{"name": "k", "resourceClaimName": name}])
        elif kind == "extended":
            amounts = {"example.com/gpu": str(count)}
            self.pod(name, container={"resources": {"requests": amounts, "limits": amounts}})
        else:
            pod = self.pod(name, resourceClaims=[{"name": "k", "resourceClaimTemplateName": "t"}])
            owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod["metadata"]["uid"], "controller": True}
            self.client.made(CLAIMS, {"metadata": {"name": f"{name}-k", "ownerReferences": [owner]}, "spec": spec})
            self.client.send("PATCH", f"{PODS}/{name}/status", {"status": {"resourceClaimStatuses": [
                {"name": "k", "resourceClaimName": f"{name}-k"}]}}, "application/strategic-merge-patch+json")

    def look(self, pods):
        """Notes which pods have nodes now, and deletes those that are due; a few before they have one."""
        now = time.monotonic()
        for pod in pods:
            name = pod["metadata"]["name"]
            if pod["spec"].get("nodeName") and name not in self.bound_after:
                self.bound_after[name] = now - self.made_at[name]
                self.due[name] = now + self.dice.uniform(1, 12)
        for name in [name for name, at in self.due.items() if at < now]:
            self.remove(name)
        waiting = [name for name in self.made_at if name not in self.bound_after and name not in self.due]
        if waiting and self.dice.random() < 0.05:
            self.remove(self.dice.choice(waiting))

    def remove(self, name):
        self.client.removed(f"{PODS}/{name}")
        self.due.pop(name, None)
        self.made_at.pop(name, None)
        self.devices.pop(name, None)

    def asked(self):
        return sum(self.devices.values())


def claim_names(pod):
    """Of the claims that the pod uses; None stands for one that it does not name yet."""
    status = pod.get("status", {})
    generated = {each["name"]: each.get("resourceClaimName") for each in status.get("resourceClaimStatuses") or []}
    names = [use.get("resourceClaimName") or generated.get(use["name"]) for use in pod["spec"].get("resourceClaims", [])]
    if "limits" in pod["spec"]["containers"][0].get("resources", {}):
        names.append((status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName"))
    return names


def reserved(claim):
    return {each["uid"] for each in claim.get("status", {}).get("reservedFor", [])}


def devices(claim):
    return [(each["pool"], each["device"]) for each in claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])]


def judge(pods, claims):
    """What is wrong at this moment, as sentences. `claims` were listed after `pods`, and no pod was deleted between."""
    by_name = {claim["metadata"]["name"]: claim for claim in claims}
    owner_of = {}
    for name, claim in by_name.items():
        for device in devices(claim):
            if device in owner_of:
                yield f"{'/'.join(device)} belongs to {owner_of[device]} and to {name}"
            owner_of[device] = name
    for pod in pods:
        node, name = pod["spec"].get("nodeName"), pod["metadata"]["name"]
        for claim_name in claim_names(pod) if node else []:
            claim = by_name.get(claim_name)
            if claim is None or "allocation" not in claim.get("status", {}):
                yield f"{name} is on {node} and its claim {claim_name} is not allocated"
            elif pod["metadata"]["uid"] not in reserved(claim):
                yield f"{name} is on {node} and its claim {claim_name} is not reserved for it"
            elif any(pool != node for pool, _ in devices(claim)):
                yield f"{name} is on {node} and its claim {claim_name} has devices elsewhere"


def control(client, claims, pods):
    """What the controller of claims and the garbage collector do. `pods` were listed after `claims`."""
    uids = {pod["metadata"]["uid"] for pod in pods}
    used = {name for pod in pods for name in claim_names(pod)}
    for claim in claims:
        meta, status, path = claim["metadata"], claim.get("status", {}), f"{CLAIMS}/{claim['metadata']['name']}"
        left = [each for each in status.get("reservedFor", []) if each["uid"] in uids]
        owners = {owner["uid"] for owner in meta.get("ownerReferences", [])}
        if len(left) != len(status.get("reservedFor", [])):
            status["reservedFor"] = left
            # As upstream's: a claim with an owner is deallocated with its last user, another one stays for the next.
            if not left:
                for field in ("allocation", "devices", "reservedFor"):
                    status.pop(field, None)
            client.send("PUT", f"{path}/status", claim)
        elif "allocation" not in status and FINALIZER in meta.get("finalizers", []) and "deletionTimestamp" in meta:
            meta["finalizers"].remove(FINALIZER)
            client.send("PUT", path, claim)
        elif "deletionTimestamp" not in meta and (owners - uids if owners else meta["name"] not in used and not left):
            client.send("DELETE", path)


class Run:
    def __init__(self, options, folder):
        account = SERVICE_ACCOUNT if options.is_berth else KUBE_SCHEDULER
        options.election = {"resourceName": "berth"} if options.is_berth else {}
        self.options, self.dice = options, random.Random(options.seed)
        self.plane = RealServers(options.servers, folder, names={"a": account, "b": account})
        self.client = self.plane.client
        self.load = Load(self.client, self.dice)
        self.wrong, self.kills, self.looks, self.reigns = {}, 0, 0, set()
        self.replicas = [Replica(name, self.plane, options) for name in ("a", "b")]

    def note(self, sentence):
        if sentence not in self.wrong:
            print("WRONG:", sentence, flush=True)
        self.wrong[sentence] = self.wrong.get(sentence, 0) + 1

    def look(self):
        pods, _ = self.client.listed(PODS)
        claims, _ = self.client.listed(CLAIMS)
        for sentence in judge(pods, claims):
            self.note(sentence)
        self.load.look(pods)
        control(self.client, claims, self.client.listed(PODS)[0])
        self.looks += 1
        return pods, claims

    def holder(self):
        name = "berth" if self.options.is_berth else "kube-scheduler"
        lease = self.client.send("GET", f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{name}")[1]
        return lease.get("spec", {}).get("holderIdentity")

    def leader(self):
        """The replica whose log says that it took the lease under the holder's name; None while that is unclear."""
        holder = self.holder()
        for replica in self.replicas:
            log = (self.plane.folder / f"replica-{replica.name}.log").read_text(errors="replace").rsplit("--- life", 1)[-1]
            if holder and any("acquired lease" in line.lower() and (holder in line or not self.options.is_berth) for line in log.splitlines()):
                return replica
        return None

    def run(self):
        build(self.client)
        if self.options.is_berth:
            deploy_roles(self.client)
        for replica in self.replicas:
            replica.start()
        began = time.monotonic()
        end = began + self.options.minutes * 60
        restart_at, kill_at, next_look, next_add = began + RESTART_S, began + KILL_S, began, began
        while (now := time.monotonic()) < end:
            if now >= next_add and self.load.asked() < LIVE_MAX:
                self.load.add()
                next_add = now + self.dice.expovariate(self.options.rate)
            if now >= next_look:
                self.look()
                next_look = time.monotonic() + LOOK_S
            if now >= restart_at:
                self.plane.restart(kindly=self.dice.random() < 0.5)
                restart_at = time.monotonic() + RESTART_S
            if now >= kill_at and (leader := self.leader()) is not None:
                self.reigns.add(self.holder())
                leader.kill()
                self.kills += 1
                leader.start()
                kill_at = time.monotonic() + KILL_S
            time.sleep(0.02)
        self.settle()

    def settle(self):
        end = time.monotonic() + SETTLE_S
        waiting = None
        while time.monotonic() < end:
            pods, _ = self.look()
            waiting = [pod["metadata"]["name"] for pod in pods if not pod["spec"].get("nodeName")]
            if not waiting:
                break
            time.sleep(LOOK_S)
        for name in waiting or []:
            self.note(f"{name} has no node in the end")
        for name in list(self.load.made_at):
            self.load.remove(name)
        claims = None
        while time.monotonic() < end + SETTLE_S:
            pods, claims = self.look()
            if not claims and not pods:
                break
            time.sleep(LOOK_S)
        for claim in claims or []:
            self.note(f"{claim['metadata']['name']} is left over: {claim.get('status')}")

    def stop(self):
        for replica in self.replicas:
            replica.stop()
        self.plane.stop()

    def table(self):
        after = sorted(self.load.bound_after.values())
        ends = [f"{replica.name}: {how}" for replica in self.replicas for _, how in replica.ends]
        rows = [("pods that got a node", len(after)),
                ("from the pod to its node, seen every half second: median, 99 %, longest",
                 f"{statistics.median(after):.1f} s, {after[int(len(after) * 0.99)]:.1f} s, {after[-1]:.1f} s" if after else "-"),
                ("API server restarts; longest absence", f"{self.plane.restarts}; {self.plane.longest_away_s:.1f} s"),
                ("leaders killed; reigns seen to end", f"{self.kills}; {len(self.reigns)}"),
                ("looks at all pods and claims", self.looks),
                ("replicas that ended by themselves", ", ".join(ends) or 0),
                ("wrong", len(self.wrong))]
        for name, value in rows:
            print(f"| {name} | {value} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_programs(parser)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--rate", type=float, default=4, help="pods or pairs a second, while there are devices for them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="logs stay there")
    options = parser.parse_args()
    check_programs(parser, options)
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            run = Run(options, folder.resolve())
        except NotThere as why:
            print(why, file=sys.stderr)
            return 2
        try:
            run.run()
        finally:
            run.stop()
        run.table()
    return 1 if run.wrong or not run.load.bound_after or any(r.ends for r in run.replicas) else 0


if __name__ == "__main__":
    sys.exit(main())
