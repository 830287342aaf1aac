#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler places pods on a real API server, and berth, in its shadow, decides about each of them once more.

Held: berth, with the rights of conf/deploy/shadow and no others, writes nothing; every pod is compared; what kube-scheduler
decided is the same here, a tie, or a race: with percentageOfNodesToScore: 100 nothing else is left. Pods are of all kinds, come a
few at a time or many at once, and end, so that the nodes stay half full; nodes have taints and images.
Exit codes: 0 everything held, 1 something did not, 2 it could not be run.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import kinds
from cluster import NODES, PODS, NAMESPACE, Pods, Workers, node
from control_plane import AUDIT, KUBE_SCHEDULER, ROLES, NotThere, RealServers, deploy_roles, end

SHADOW_ROLES = ROLES.parents[2] / "shadow/rbac.yaml"
SHADOW_ACCOUNT = "system:serviceaccount:kube-system:berth-shadow"
CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 100
leaderElection: {{leaderElect: false}}
clientConnection: {{kubeconfig: {kubeconfig}, qps: 1000, burst: 1000}}
"""
PATIENCE_S = 240.0
PODS_PER_NODE = 5   # of ten or so that have room
WAITING_MAX = 200   # pods that kube-scheduler is behind


def wait(what, is_so, patience_s=PATIENCE_S):
    end_s = time.monotonic() + patience_s
    while not is_so():
        if time.monotonic() > end_s:
            raise NotThere(f"{what}: not within {patience_s:.0f} s")
        time.sleep(0.2)


def drawn_node(number):
    """One of ten is tainted, one of ten is avoided where others are left, half have the image of most pods."""
    made = node(f"n-{number}", number)
    effect = {3: "NoSchedule", 6: "PreferNoSchedule"}.get(number % 10)
    if effect:
        made["spec"] = {"taints": [{"key": "flap", "value": "yes", "effect": effect}]}
    if number % 2:
        made["status"]["images"] = [{"names": ["registry.example.com/job:1"], "sizeBytes": 700 << 20}]
    return made


def waiting(pods):
    """Those that wait for no others to end."""
    return [name for name in pods.waiting() if not name.startswith(kinds.CROWDED)]


def load(client, workers, pods, options, dice):
    """Pods come, a few at a time or many at once, until enough were bound; others end, so that nodes stay half full."""
    made, there = 0, []
    last_s = time.monotonic()
    while pods.bound < options.pods:
        for _ in range(dice.choice((1, 5, 100))):
            body = kinds.draw(dice, made)
            made += 1
            there.append(body["metadata"]["name"])
            workers.put(there[-1], lambda body=body: client.made(PODS, body))
        while len(there) > options.nodes * PODS_PER_NODE:
            name = there.pop(dice.randrange(len(there) // 2))  # of the older ones
            workers.put(name, lambda name=name: client.removed(f"{PODS}/{name}"))
        while (workers.behind() or len(waiting(pods)) > WAITING_MAX) and pods.bound < options.pods:
            time.sleep(0.02)
        if time.monotonic() - last_s > 15:
            last_s = time.monotonic()
            print(f"made {made}, bound {pods.bound}, there {len(there)}, waiting {len(pods.waiting())}; load {os.getloadavg()[0]:.1f}", flush=True)
    workers.finish()
    return made


def show(differences):
    """What explains them, and how often."""
    causes = collections.Counter((each["result"], re.sub("node n-[0-9]+", "node ...", each["why"])) for each in differences)
    for (result, why), count in causes.most_common():
        print(f"  {count} {result}: {why}")


def run(options, folder):
    dice = random.Random(options.seed)
    AUDIT["rules"].insert(0, {"level": "Metadata", "users": [SHADOW_ACCOUNT], "verbs": ["create", "update", "patch", "delete"]})
    AUDIT["rules"].insert(1, {"level": "Metadata", "verbs": ["delete"], "resources": [{"group": "", "resources": ["pods"]}]})
    servers = RealServers(options.servers, folder, names={"a": KUBE_SCHEDULER, "b": SHADOW_ACCOUNT})
    children = []
    try:
        client = servers.client
        for name in ("kube-system", NAMESPACE):
            client.made("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        deploy_roles(client, SHADOW_ROLES)
        kinds.build(client)
        workers = Workers(4)
        for number in range(options.nodes):
            workers.put(f"n-{number}", lambda number=number: client.made(NODES, drawn_node(number)))
        workers.finish()
        configs = {}
        for user in ("a", "b"):
            configs[user] = folder / f"config-{user}.yaml"
            configs[user].write_text(CONFIG.format(kubeconfig=servers.kubeconfig(user)))
        report_path, log_path = folder / "report.json", folder / "shadow.log"
        with open(report_path, "wb") as report, open(log_path, "wb") as log:
            shadow = subprocess.Popen([options.berth, "run", "--shadow", "-o", "json", "--config", configs["b"], "--secure-port=0",
                                       "--plugin-dir", options.plugins], stdin=subprocess.DEVNULL, stdout=report, stderr=log)
        children.append(shadow)
        wait("the shadow follows", lambda: "Shadow mode: repeating" in log_path.read_text())
        with open(folder / "kube-scheduler.log", "wb") as log:
            children.append(subprocess.Popen([options.servers / "kube-scheduler", "--config", configs["a"], "--secure-port=0"],
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT))
        pods = Pods(client, lambda name, node_name: None)
        made = load(client, workers, pods, options, dice)
        last = [-1, time.monotonic()]

        def settled():
            if pods.bound != last[0]:
                last[:] = [pods.bound, time.monotonic()]
            return time.monotonic() - last[1] > 8  # what waits for room waits on
        wait("pods are bound", settled)
        shadow.send_signal(signal.SIGTERM)
        status = shadow.wait(30)
        wrong = [] if status == 0 else [f"the shadow ended with {status}"]
        said = json.loads(report_path.read_text())
        results = said["results"]
        print(f"seed {options.seed}: {options.nodes} nodes, {made} pods, {said['compared']} decisions: {json.dumps(results)}, "
              f"{said['decisionMicroseconds']} us each, {said['scoreLost']} points, waiting {said['waiting']}")
        show(said["differences"])
        if workers.failures:
            wrong.append(f"requests that failed: {workers.failures[:3]}")
        bindings = sum(1 for line in servers.audit_path.read_text().splitlines()
                       if '"subresource":"binding"' in line and json.loads(line)["responseStatus"]["code"] == 201)
        if said["compared"] + said["notSeenBefore"] + said["waiting"] != bindings:
            wrong.append(f"{bindings} pods were bound")
        for result in ("rejected", "unexplained"):
            if results[result]:
                wrong.append(f"{results[result]} {result}")
                for each in [d for d in said["differences"] if d["result"] == result][:10]:
                    print(f"  {result}: {each['pod']} on {each['node']}, here {each['nodeHere']}: {each['why']}")
        writes = [line for line in servers.audit_path.read_text().splitlines() if SHADOW_ACCOUNT in line]
        if writes:
            wrong.append(f"{len(writes)} writes: {writes[0][:300]}")
        for sentence in wrong:
            print(f"wrong: {sentence}")
        return 1 if wrong else 0
    finally:
        for child in children:
            if child.poll() is None:
                end(child, 5)
        servers.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--servers", type=pathlib.Path, default=os.environ.get("KUBEBUILDER_ASSETS"),
                        help="directory with etcd, kube-apiserver and kube-scheduler (KUBEBUILDER_ASSETS)")
    parser.add_argument("--berth", type=pathlib.Path, required=True)
    parser.add_argument("--plugins", type=pathlib.Path, help="directory of plugins; without it, plugins in the directory of the program")
    parser.add_argument("--nodes", type=int, default=300)
    parser.add_argument("--pods", type=int, default=2000, help="how many are bound; default 2000")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--keep", type=pathlib.Path, help="keep logs and the report in this directory")
    options = parser.parse_args()
    options.plugins = options.plugins or options.berth.parent / "plugins"
    try:
        if options.servers is None:
            raise NotThere("--servers (or KUBEBUILDER_ASSETS) names no directory")
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            return run(options, options.keep)
        with tempfile.TemporaryDirectory() as folder:
            return run(options, pathlib.Path(folder))
    except NotThere as why:
        print(why, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
