# SPDX-License-Identifier: Apache-2.0
"""The nodes and pods of a churn: made, changed and taken away again, and what the watch says of them."""
import heapq
import queue
import random
import threading
import time
import zlib

from client import Watch

NAMESPACE = "churn"
PODS, NODES = f"/api/v1/namespaces/{NAMESPACE}/pods", "/api/v1/nodes"
ZONES = 3
NODE_MILLI = 2000
POOLS = 100  # a node in so many is of the same pool
HUGE, LATE = 5, 20  # pods that never fit; pods that fit when, at the end, one node gets a label


def node(name, number):
    offered = {"cpu": f"{NODE_MILLI}m", "memory": "16Gi", "ephemeral-storage": "50Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {
        "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{number % ZONES}", "kubernetes.io/os": "linux",
        "pool": f"pool-{number % POOLS}"}},
        "status": {"capacity": offered, "allocatable": offered,
                   "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}]}}


def pod(name, milli, more=None, labels=None, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"job": name, **(labels or {})}, **(more or {})},
            "spec": {"containers": [{"name": "c", "image": "registry.example.com/job:1", "resources": {
                "requests": {"cpu": f"{milli}m", "memory": "64Mi"}}}], "terminationGracePeriodSeconds": 0, **spec}}


def drawn_pod(rng, number):
    """One of the shapes that clusters see, with names of its own as jobs have."""
    name, milli = f"p-{number}", rng.choice((100, 200, 200, 300))
    more = {"annotations": {"example.com/run": f"run-{number}", "example.com/commit": f"{number:040x}"}}
    app = f"app-{number % 25}"
    shape = rng.random()
    spec, labels = {}, {"app": app}
    if shape < 0.10:
        spec["nodeSelector"] = {"topology.kubernetes.io/zone": f"zone-{number % ZONES}"}
    elif shape < 0.20:
        spec["topologySpreadConstraints"] = [{"maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone",
                                              "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"app": app}}}]
    elif shape < 0.28:
        spec["tolerations"] = [{"key": "flap", "operator": "Exists"}]
    elif shape < 0.34:
        spec["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "podAffinityTerm": {
            "topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}}]}}
    elif shape < 0.38:
        labels["alone"] = app
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
            "topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"alone": app}}}]}}
    elif shape < 0.42:
        spec["containers"] = pod(name, milli)["spec"]["containers"]
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 20000 + number % 500}]
    return pod(name, milli, more, labels, **spec)


class Pods:
    """What the watch of pods has shown. Threads: the watch's, and any that ask."""

    def __init__(self, client, on_bound):
        self.lock = threading.Lock()  # guards all below
        self.on_bound = on_bound
        self.there, self.used = {}, {}                      # name -> node ("" while it waits); node -> millis
        self.millis, self.seen_s, self.waits = {}, {}, []   # seconds from the first sight to the node
        self.bound = self.ended = self.moved = self.never_bound = 0
        self.crowded = []                                   # nodes with more on them than they have
        self.synced = threading.Event()
        self.watch = Watch(client, PODS, self.told)

    def told(self, kind, made):
        now_s = time.monotonic()
        if kind == "LISTED":
            with self.lock:
                names = {o["metadata"]["name"] for o in made}
                for name in [n for n in self.there if n not in names]:
                    self.forget(name)
            for each in made:
                self.take(each, now_s)
            self.synced.set()
        elif kind == "DELETED":
            with self.lock:
                self.forget(made["metadata"]["name"])
        else:
            self.take(made, now_s)

    def forget(self, name):
        node_name = self.there.pop(name, None)
        if node_name is None:
            return
        self.ended += 1
        self.never_bound += not node_name
        if node_name:
            self.used[node_name] -= self.millis[name]
        del self.millis[name], self.seen_s[name]

    def take(self, made, now_s):
        name, node_name = made["metadata"]["name"], made["spec"].get("nodeName", "")
        with self.lock:
            before = self.there.get(name)
            if before is None:
                self.millis[name] = sum(int(c["resources"]["requests"]["cpu"].removesuffix("m")) for c in made["spec"]["containers"])
                self.seen_s[name] = now_s
            self.there[name] = node_name
            if node_name == (before or ""):
                return
            if before:
                self.moved += 1
                self.used[before] -= self.millis[name]
            self.bound += 1
            if not name.startswith("late-"):
                self.waits.append((now_s, now_s - self.seen_s[name]))
            used = self.used[node_name] = self.used.get(node_name, 0) + self.millis[name]
            if used > NODE_MILLI:
                self.crowded.append((node_name, used))
        self.on_bound(name, node_name)

    def on(self, node_name):
        with self.lock:
            return [name for name, where in self.there.items() if where == node_name]

    def emptiest(self, nodes):
        """The node with the most room."""
        with self.lock:
            return min(nodes, key=lambda node_name: self.used.get(node_name, 0))

    def waiting(self):
        with self.lock:
            return [name for name, where in self.there.items() if not where]


class Workers:
    """Threads that carry out what is put in line; what is about one name, in the order in which it came."""

    def __init__(self, count):
        self.lines, self.failures = [queue.Queue() for _ in range(count)], []
        for line in self.lines:
            threading.Thread(target=self.work, args=(line,), daemon=True).start()

    def work(self, line):
        while True:
            task = line.get()
            try:
                task()
            except Exception as wrong:  # the run goes on, and fails in the end
                self.failures.append(repr(wrong))
            finally:
                line.task_done()

    def put(self, name, task):
        self.lines[zlib.crc32(name.encode()) % len(self.lines)].put(task)

    def behind(self):
        return sum(line.qsize() for line in self.lines)

    def finish(self):
        for line in self.lines:
            line.join()


class Cluster:
    """Keeps `count` nodes and a stream of pods going, and removes the pods of nodes that are gone, as the garbage collector
    of pods does. Threads: one calls; its workers send."""

    def __init__(self, client, count, pods_per_second, lifetime_s, seed, draw=drawn_pod):
        """`draw`: a pod, of a random.Random and a number that no other pod has."""
        self.client, self.rng, self.draw = client, random.Random(seed), draw
        self.workers = Workers(8)
        self.lock = threading.Lock()  # guards alive and the state of flapping
        self.alive, self.next_node, self.next_pod = {}, count, 0  # name -> number
        self.cordoned, self.tainted, self.resting = set(), set(), []
        self.counts = {"replaced": 0, "rebooted": 0, "cordoned": 0, "tainted": 0, "deleted": 0, "heartbeats": 0}
        self.rate, self.lifetime_s = pods_per_second, lifetime_s
        self.to_end = []  # a heap of (when, name)
        client.made("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for number in range(count):
            self.add_node(f"node-{number}", number)
        for number in range(HUGE):
            self.workers.put(f"huge-{number}", lambda n=number: client.made(PODS, pod(f"huge-{n}", NODE_MILLI * 4)))
        for number in range(LATE):
            self.workers.put(f"late-{number}", lambda n=number: client.made(PODS, pod(f"late-{n}", 50, nodeSelector={"late": "yes"})))
        self.workers.finish()
        self.pods = Pods(client, self.bound)
        self.pods.synced.wait(60)

    # --- nodes

    def add_node(self, name, number):
        with self.lock:
            self.alive[name] = number
        self.workers.put(name, lambda: self.client.made(NODES, node(name, number)))

    def remove_node(self, name):
        """Returns its number; its pods go with it."""
        with self.lock:
            number = self.alive.pop(name)
            self.cordoned.discard(name)
            self.tainted.discard(name)

        def remove():
            self.client.removed(f"{NODES}/{name}")
            for lost in self.pods.on(name):
                self.client.removed(f"{PODS}/{lost}")
        self.workers.put(name, remove)
        return number

    def bound(self, name, node_name):
        with self.lock:
            known = node_name in self.alive
        if not known:
            self.workers.put(name, lambda: self.client.removed(f"{PODS}/{name}"))

    def some_node(self):
        with self.lock:
            return self.rng.choice(sorted(self.alive))

    def replace(self):
        """Gone, and another one comes, as autoscalers do."""
        number = self.remove_node(self.some_node())
        self.next_node += 1
        self.add_node(f"node-{self.next_node}", number)
        self.counts["replaced"] += 1

    def flap(self, now_s):
        """One of the smaller things that happen to a node."""
        name = self.some_node()
        what = self.rng.random()
        if what < 0.3:
            self.set_cordon(name, name not in self.cordoned)
        elif what < 0.6:
            self.set_taint(name, name not in self.tainted)
        elif what < 0.8:  # the same name, another machine
            number = self.remove_node(name)
            self.resting.append((now_s + self.rng.uniform(0, 1), name, number))
            self.counts["rebooted"] += 1
        else:
            number = self.remove_node(name)
            self.resting.append((now_s + self.rng.uniform(5, 20), name, number))
            self.counts["deleted"] += 1

    def set_cordon(self, name, wanted):
        (self.cordoned.add if wanted else self.cordoned.discard)(name)
        self.counts["cordoned"] += wanted
        self.workers.put(name, lambda: self.client.patched(f"{NODES}/{name}", {"spec": {"unschedulable": wanted or None}}))

    def set_taint(self, name, wanted):
        (self.tainted.add if wanted else self.tainted.discard)(name)
        self.counts["tainted"] += wanted
        taints = [{"key": "flap", "value": "yes", "effect": "NoSchedule"}] if wanted else None
        self.workers.put(name, lambda: self.client.patched(f"{NODES}/{name}", {"spec": {"taints": taints}}))

    def heartbeat(self, number):
        """What a kubelet writes of its node."""
        name = self.some_node()
        self.counts["heartbeats"] += 1
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.workers.put(name, lambda: self.client.patched(f"{NODES}/{name}/status", {"status": {"conditions": [
            {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": f"beat {number}", "lastHeartbeatTime": stamp}]}}))

    def wake(self, now_s):
        for entry in [r for r in self.resting if r[0] <= now_s]:
            self.resting.remove(entry)
            self.add_node(entry[1], entry[2])

    def settle(self):
        """All nodes are there, open and untainted."""
        self.wake(float("inf"))
        for name in sorted(self.cordoned):
            self.set_cordon(name, False)
        for name in sorted(self.tainted):
            self.set_taint(name, False)
        self.workers.finish()

    # --- pods

    def make_pod(self, now_s):
        self.next_pod += 1
        made = self.draw(self.rng, self.next_pod)
        # One of ten goes before it is likely to have a node.
        lives_s = self.rng.uniform(0, 0.3) if self.rng.random() < 0.1 else self.rng.uniform(0.5, 1.5) * self.lifetime_s
        name = made["metadata"]["name"]
        heapq.heappush(self.to_end, (now_s + lives_s, name))
        self.workers.put(name, lambda: self.client.made(PODS, made))

    def end_pods(self, now_s):
        while self.to_end and self.to_end[0][0] <= now_s:
            name = heapq.heappop(self.to_end)[1]
            self.workers.put(name, lambda n=name: self.client.removed(f"{PODS}/{n}"))
