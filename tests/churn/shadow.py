#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler places pods on a real API server, and berth, in its shadow, decides about each of them once more.

Held: berth, with the rights of conf/deploy/shadow and no others, writes nothing; every pod is compared; what kube-scheduler
decided is the same here, a tie, or a race: with percentageOfNodesToScore: 100 nothing else is left.
Exit codes: 0 everything held, 1 something did not, 2 it could not be run.
"""
import argparse
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

from cluster import NODES, PODS, NAMESPACE, drawn_pod, node
from control_plane import AUDIT, KUBE_SCHEDULER, ROLES, NotThere, RealServers, end

SHADOW_ROLES = ROLES.parents[2] / "shadow/rbac.yaml"
SHADOW_ACCOUNT = "system:serviceaccount:kube-system:berth-shadow"
CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 100
leaderElection: {{leaderElect: false}}
clientConnection: {{kubeconfig: {kubeconfig}, qps: 1000, burst: 1000}}
"""
PATIENCE_S = 240.0


def grant(client):
    """What conf/deploy/shadow says, but for the account, which this server takes from a token."""
    for document in re.split(r"^---\n", SHADOW_ROLES.read_text(), flags=re.M):
        kind = re.search(r"^kind: (\w+)$", document, re.M)[1]
        if kind == "ServiceAccount":
            continue
        path = f"/apis/rbac.authorization.k8s.io/v1/{kind.lower()}s"
        status, answer = client.send("POST", path, document.encode(), "application/yaml")
        if status >= 300:
            raise NotThere(f"POST {path}: {status} {answer}")


def wait(what, is_so, patience_s=PATIENCE_S):
    end_s = time.monotonic() + patience_s
    while not is_so():
        if time.monotonic() > end_s:
            raise NotThere(f"{what}: not within {patience_s:.0f} s")
        time.sleep(0.2)


def bound(client):
    return sum(1 for pod in client.listed(PODS)[0] if pod["spec"].get("nodeName"))


def load(client, options, dice):
    """Pods come, a few at a time or many at once, and some of them go."""
    made = 0
    while made < options.pods:
        for _ in range(min(dice.choice((1, 5, 100)), options.pods - made)):
            client.made(PODS, drawn_pod(dice, made))
            made += 1
        if dice.random() < 0.3:
            client.removed(f"{PODS}/p-{dice.randrange(made)}")


def run(options, folder):
    dice = random.Random(options.seed)
    AUDIT["rules"].insert(0, {"level": "Metadata", "users": [SHADOW_ACCOUNT], "verbs": ["create", "update", "patch", "delete"]})
    servers = RealServers(options.servers, folder, names={"a": KUBE_SCHEDULER, "b": SHADOW_ACCOUNT})
    children = []
    try:
        client = servers.client
        for name in ("kube-system", NAMESPACE):
            client.made("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        grant(client)
        for number in range(options.nodes):
            client.made(NODES, node(f"n-{number}", number))
        configs = {}
        for user in ("a", "b"):
            configs[user] = folder / f"config-{user}.yaml"
            configs[user].write_text(CONFIG.format(kubeconfig=servers.kubeconfig(user)))
        report_path, log_path = folder / "report.json", folder / "shadow.log"
        with open(report_path, "wb") as report, open(log_path, "wb") as log:
            shadow = subprocess.Popen([options.berth, "run", "--shadow", "-o", "json", "--config", configs["b"], "--secure-port=0",
                                       "--plugin-dir", options.plugins], stdin=subprocess.DEVNULL, stdout=report, stderr=log)
        children.append(shadow)
        wait("the shadow follows", lambda: "In the shadow" in log_path.read_text())
        with open(folder / "kube-scheduler.log", "wb") as log:
            children.append(subprocess.Popen([options.servers / "kube-scheduler", "--config", configs["a"], "--secure-port=0"],
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT))
        load(client, options, dice)
        last = [-1, time.monotonic()]

        def settled():
            now = bound(client)
            if now != last[0]:
                last[:] = [now, time.monotonic()]
            return time.monotonic() - last[1] > 8  # what waits for room waits on
        wait("pods are bound", settled)
        shadow.send_signal(signal.SIGTERM)
        status = shadow.wait(30)
        wrong = [] if status == 0 else [f"the shadow ended with {status}"]
        said = json.loads(report_path.read_text())
        results = said["results"]
        print(f"seed {options.seed}: {said['compared']} decisions: {json.dumps(results)}, "
              f"{said['decisionMicroseconds']} us each, {said['scoreLost']} points, waiting {said['waiting']}")
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
    parser.add_argument("--pods", type=int, default=2000)
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
