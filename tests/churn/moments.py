#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single moments of a scheduler's life on real servers, measured by the server's audit log.

    moments.py [replace] [pause] [backlog] [affinity] [recorder] --servers DIR --berth PROGRAM

replace   5,000 pods are bound while 150 of 5,000 nodes are replaced, 15 a second
pause     the leader is stopped for 30 s in the middle of a backlog, while another one takes over
affinity  5,000 pods that all keep away from each other (required anti-affinity) are bound to 5,000 nodes: the peak of memory
backlog   SIGTERM while thousands of pods wait and requests are limited to 20 a second
recorder  1,000 pods are bound again and again, with a flight recorder and without, in turns: CPU of all threads for a pod,
          the share of the recorder's thread, and memory

Exit codes: 0 everything held; 1 something did not; 2 it could not be run.
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import signal
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cluster import NAMESPACE, NODES, PODS, Pods, Workers, node, pod  # noqa: E402
from control_plane import NotThere, RealServers  # noqa: E402
from ledger import Ledger  # noqa: E402
from replicas import Replica, add_programs, check_programs  # noqa: E402

PATIENCE_S = 300
REPLACED, REPLACED_PER_S = 150, 15
PAUSE_S = 30
END_S = 5
AFFINITY_MB = 200
TURNS, TURN_PODS = 8, 1000
RECORDER_NODES, RECORDER_MIB, RECORDER_MEMORY_MIB, RECORDER_SHARE = 2000, 256, 16, 0.03


class Stage:
    """Servers of its own with nodes and pods that wait, and a watch of them."""

    def __init__(self, options, folder, nodes, pods, spec):
        folder.mkdir(parents=True)
        self.options = options
        self.plane = RealServers(options.servers, folder)
        self.ledger, self.replicas, self.workers = Ledger(self.plane.audit_path), [], Workers(8)
        client = self.client = self.plane.client
        client.made("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for n in range(nodes):
            self.workers.put(f"node-{n}", lambda n=n: client.made(NODES, node(f"node-{n}", n)))
        for n in range(pods):
            self.workers.put(f"p-{n}", lambda n=n: client.made(PODS, pod(f"p-{n}", 100, **spec)))
        self.workers.finish()
        self.pods = Pods(client, lambda name, node_name: None)
        self.pods.synced.wait(PATIENCE_S)

    def start(self, name, **how):
        self.replicas.append(Replica(name, self.plane, self.options, **how))
        self.replicas[-1].start()
        return self.replicas[-1]

    def wait_bound(self, count):
        end = time.monotonic() + PATIENCE_S
        while self.pods.bound < count and time.monotonic() < end:
            time.sleep(0.005)
        return self.pods.bound >= count

    def stop(self):
        for replica in self.replicas:
            replica.stop()
        self.plane.stop()
        self.ledger.read_on()


def replace(stage):
    stage.start("a", elects=False)
    stage.wait_bound(1)
    began = time.monotonic()
    for n in range(REPLACED):
        time.sleep(max(0.0, began + n / REPLACED_PER_S - time.monotonic()))
        stage.client.removed(f"{NODES}/node-{n * 7}")
        stage.workers.put(f"new-{n}", lambda n=n: stage.client.made(NODES, node(f"new-{n}", n)))
    replaced_s = time.monotonic() - began
    all_bound = stage.wait_bound(5000)
    bound_s = stage.pods.waits[-1][0] - stage.pods.waits[0][0]
    stage.stop()
    gone = stage.ledger.to_gone_nodes()
    left = [b for b in stage.ledger.bindings if b.code == 201 and stage.ledger.gone.get(b.node)]
    latest_s = max((late for _, late in gone), default=0.0)
    print(f"replace: {len(stage.ledger.bindings)} bindings in {bound_s:.1f} s, {REPLACED} nodes replaced in {replaced_s:.1f} s; to "
          f"nodes that were gone: {len(gone)}, the latest {latest_s:.3f} s after; pods on deleted nodes: {len(left)}", flush=True)
    return all_bound and latest_s <= END_S


def pause(stage):
    """With a limit of requests the stopped leader has thousands of decisions that wait to be sent."""
    held = True
    for replica in (stage.start("a", qps=100), stage.start("b", qps=100)):
        del replica
    stage.wait_bound(300)
    stage.ledger.read_on()
    leader = next(r for r in stage.replicas if r.name == stage.ledger.holder_user())
    leader.signal(signal.SIGSTOP, ends=True)
    stopped_at, bound_before = time.monotonic(), stage.pods.bound
    time.sleep(PAUSE_S)
    bound_by_other = stage.pods.bound - bound_before
    leader.signal(signal.SIGCONT, ends=True)
    resumed_at = time.monotonic()
    while leader.child.poll() is None and time.monotonic() < resumed_at + 30:
        time.sleep(0.01)
    ended_s, code = time.monotonic() - resumed_at, leader.child.poll()
    all_bound = stage.wait_bound(3000)
    stage.stop()
    others, again = stage.ledger.by_others(), stage.ledger.sent_again()
    held = all_bound and not others and not stage.ledger.bound_twice() and bound_by_other > 0
    print(f"pause: {PAUSE_S} s, in which the other bound {bound_by_other} pods; bindings of the ex-leader while the other led: "
          f"{len(others)}; it ended {ended_s:.2f} s after it went on, exit {code}; bound twice: {len(stage.ledger.bound_twice())}; sent "
          f"again: {again}; all bound: {all_bound}, {time.monotonic() - stopped_at:.0f} s after the stop", flush=True)
    return held


def backlog(stage):
    leader = stage.start("a", qps=20)
    stage.wait_bound(200)
    waiting = len(stage.pods.waiting())
    took_s, enough = leader.terminate(60)
    time.sleep(2)
    stage.stop()
    print(f"backlog: SIGTERM with {waiting} pods waiting ends it in {took_s:.2f} s{'' if enough else ', by SIGKILL'}; the lease is "
          f"{'held by ' + stage.ledger.holder_user() if stage.ledger.holder_user() else 'given back'}", flush=True)
    return enough and took_s <= END_S and not stage.ledger.by_others()


def affinity(stage):
    scheduler = stage.start("a", elects=False)
    all_bound = stage.wait_bound(5000)
    status = pathlib.Path(f"/proc/{scheduler.child.pid}/status").read_text()
    peak_mb = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024
    stage.stop()
    nodes = {b.node for b in stage.ledger.bindings if b.code == 201}
    print(f"affinity: {len(stage.ledger.bindings)} bindings to {len(nodes)} nodes in "
          f"{stage.pods.waits[-1][0] - stage.pods.waits[0][0]:.1f} s; memory at its peak: {peak_mb:.1f} MiB", flush=True)
    return all_bound and len(nodes) == 5000 and peak_mb <= AFFINITY_MB


def spent(pid):
    """Seconds of CPU of its threads that are there, and MiB at its peak."""
    ran_ns = sum(int((task / "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir())
    peak = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())
    return ran_ns / 1e9, int(peak[1]) / 1024


def by_thread(process):
    """CPU seconds by the name of the thread, as far as they have not ended."""
    out = collections.Counter()
    for task in pathlib.Path(f"/proc/{process}/task").iterdir():
        try:
            out[(task / "comm").read_text().strip()] += int((task / "schedstat").read_text().split()[0]) / 1e9
        except FileNotFoundError:
            continue  # it has ended
    return out


def recorder(stage):
    """Each turn is a scheduler of its own. Its start ends with its first pod; what it then spends goes into the pods."""
    if not stage.options.is_berth:
        return True  # there is nothing to compare
    results, threads = {0: [], RECORDER_MIB: []}, collections.Counter()
    for turn in range(2 * TURNS):
        mib = stage.options.recorder_mib = RECORDER_MIB * (turn % 4 in (1, 2))
        there, first = stage.pods.bound, turn * TURN_PODS
        scheduler = stage.start(f"{'ab'[turn % 2]}", elects=False)
        stage.client.made(PODS, pod(f"first-{turn}", 100))
        if not stage.wait_bound(there + 1):
            return False
        start_s, _ = spent(scheduler.child.pid)
        threads_before = by_thread(scheduler.child.pid)
        for n in range(first, first + TURN_PODS):
            stage.workers.put(f"p-{n}", lambda n=n: stage.client.made(PODS, pod(f"p-{n}", 100)))
        stage.workers.finish()
        if not stage.wait_bound(there + 1 + TURN_PODS):
            return False
        end_s, peak_mib = spent(scheduler.child.pid)
        if mib:
            threads += by_thread(scheduler.child.pid) - threads_before
        results[mib].append((start_s, (end_s - start_s) / TURN_PODS * 1e6, peak_mib))
        scheduler.terminate(30)
    print(f"recorder: {2 * TURNS} turns of {TURN_PODS} pods, {RECORDER_NODES} nodes, load average {os.getloadavg()[0]:.1f}; CPU of all threads, "
          "medians and quartiles")
    peak = {}
    for mib, turns in results.items():
        start_s, pod_us, peaks = zip(*turns)
        peak[mib] = statistics.median(peaks)
        low, middle_us, high = statistics.quantiles(pod_us, n=4)
        print(f"  {'with' if mib else 'without'}: {statistics.median(start_s):.2f} s to the first pod, then {middle_us:.0f} us a pod ({low:.0f} to "
              f"{high:.0f}); memory at its peak: {peak[mib]:.1f} MiB", flush=True)
    all_s = sum(threads.values())
    print(f"  with, by thread, of {all_s / TURNS / TURN_PODS * 1e6:.0f} us a pod: " + ", ".join(
        f"{name} {used_s / TURNS / TURN_PODS * 1e6:.1f} us ({used_s / all_s:.1%})" for name, used_s in threads.most_common(8)), flush=True)
    share = threads["recorder"] / all_s
    print(f"  the recorder's thread: {share:.1%} of a pod's CPU")
    return peak[RECORDER_MIB] - peak[0] < RECORDER_MEMORY_MIB and share < RECORDER_SHARE


KEEPS_AWAY = {"labels": {"app": "alone"}, "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "alone"}}}]}}}
MOMENTS = {"replace": (replace, 5000, 5000, {}), "pause": (pause, 500, 3000, {}), "backlog": (backlog, 500, 3000, {}),
           "affinity": (affinity, 5000, 5000, KEEPS_AWAY), "recorder": (recorder, RECORDER_NODES, 0, {})}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_programs(parser)
    parser.add_argument("moments", nargs="*", choices=[[], *MOMENTS], help="which; default: all")
    parser.add_argument("--keep", type=pathlib.Path, help="directory for logs, which must not be there; default: none are kept")
    options = parser.parse_args()
    check_programs(parser, options)
    folder = (options.keep or pathlib.Path(tempfile.mkdtemp(prefix="berth-moments-"))).resolve()
    print(f"files in {folder}; load average {os.getloadavg()[0]:.1f}", flush=True)
    failed = 0
    for name in options.moments or MOMENTS:
        do, nodes, pods, spec = MOMENTS[name]
        try:
            stage = Stage(options, folder / name, nodes, pods, spec)
        except NotThere as why:
            print(why, file=sys.stderr)
            return 2
        try:
            failed += not do(stage)
        finally:
            stage.stop()
    if not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(options.moments or MOMENTS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
