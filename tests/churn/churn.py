#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two replicas of berth against a real API server, while pods come and go, nodes flap, and everything is restarted.

    churn.py --servers DIR --berth PROGRAM --plugins DIR [--minutes N] [--pods-per-second N] [--seed N]

Ends with a table of what was seen and what must hold. README.md says what each line means, and what was measured.

Exit codes: 0 everything held; 1 something did not; 2 it could not be run (arguments, servers that do not start);
130 interrupted.
"""
import argparse
import os
import pathlib
import random
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cluster import HUGE, LATE, NODES, PODS, Cluster, drawn_pod  # noqa: E402
from control_plane import NotThere, RealServers, TestServer  # noqa: E402
from ledger import Ledger  # noqa: E402
from replicas import Replica, add_programs, check_programs  # noqa: E402

TICK_S = 0.05
PATIENCE_S = 90          # until everything that fits has a node, when the faults have ended
REPLACED_PER_S = 15      # in ten seconds of every sixty
FLAPS_PER_S = 2
HEARTBEATS_PER_S = 5
MEMORY_PERCENT = 5
MEMORY_WINDOW_S = 60
WARM_UP = 0.3            # of the run, behind the last fault of a replica
GONE_MAX_S = 5.0         # how late a binding may be sent to a node that is gone; kube-scheduler: 3.7


def parser_of(description, pods_per_second=100, pod_seconds=12, nodes=200, faults_until=0.4):
    """The flags of a churn, with these defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_programs(parser)
    parser.add_argument("--test-server", type=pathlib.Path, help="the program churn_server of this tree, in place of real servers")
    parser.add_argument("--pods-per-second", type=float, default=pods_per_second,
                        help=f"created and deleted; default {pods_per_second}")
    parser.add_argument("--pod-seconds", type=float, default=pod_seconds, help=f"how long a pod lives on average; default {pod_seconds}")
    parser.add_argument("--nodes", type=int, default=nodes, help=f"default {nodes}, each with room for about ten pods")
    parser.add_argument("--restart-seconds", type=float, default=60, help="between restarts of the API server; 0: none; default 60")
    parser.add_argument("--fault-seconds", type=float, default=75,
                        help="between faults of a replica, in the first part of the run; 0: none; default 75")
    parser.add_argument("--faults-until", type=float, default=faults_until, help="the part of the run with faults of replicas; "
                        f"behind it the memory of both is measured; default {faults_until}")
    parser.add_argument("--seed", type=int, help="of what is drawn; default: the clock; it is printed")
    parser.add_argument("--keep", type=pathlib.Path, help="directory for logs, the audit log and samples, which stay; "
                        "default: a temporary one that is removed when everything held")
    return parser


def arguments():
    parser = parser_of(__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="how long the churn lasts; default 30")
    return read(parser)


def read(parser):
    options = parser.parse_args()
    check_programs(parser, options)
    options.seed = options.seed if options.seed is not None else int(time.time())
    return options


class Run:
    draw = staticmethod(drawn_pod)
    may_wait = ()  # how names of pods begin that are not missed when they wait in the end

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.rng = random.Random(options.seed + 1)  # of faults; the load has its own
        self.length_s = options.minutes * 60
        self.stopping = threading.Event()
        self.failures = []
        # Tables have budgets, which take some time to fill after a start.
        self.memory_from_s = self.length_s * options.faults_until + max(60, self.length_s * WARM_UP)
        self.plane = TestServer(options.test_server, folder) if options.test_server else RealServers(options.servers, folder)
        self.replicas = []
        self.ledger = Ledger(self.plane.audit_path)
        self.began, self.restart_times, self.faults = 0.0, [], []

    def at_s(self):
        return time.monotonic() - self.began

    def say(self, text):
        print(f"{self.at_s():7.1f} s  {text}", flush=True)

    def start(self):
        self.began = time.monotonic()
        self.cluster = Cluster(self.plane.client, self.options.nodes, self.options.pods_per_second, self.options.pod_seconds,
                               self.options.seed, self.draw)
        self.prepare()
        for name in "ab":
            self.replicas.append(Replica(name, self.plane, self.options))
            self.replicas[-1].start()
        self.began = time.monotonic()

    def prepare(self):
        """What pods name, before they come."""

    # --- threads

    def guarded(self, work):
        def run():
            try:
                work()
            except Exception as wrong:  # the run ends, and fails
                self.failures.append(f"{work.__name__}: {wrong!r}")
                self.stopping.set()
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def pause(self, seconds):
        """False when the run is over."""
        return not self.stopping.wait(seconds)

    def restart_servers(self):
        every_s = self.options.restart_seconds
        while every_s and self.pause(every_s - self.at_s() % every_s):
            kindly = self.rng.random() < 0.5
            away_s = self.plane.restart(kindly)
            self.restart_times.append((self.at_s() - away_s, self.at_s()))
            self.say(f"API server restarted with {'SIGTERM' if kindly else 'SIGKILL'}: {away_s:.1f} s without one")

    def disturb_replicas(self):
        every_s = self.options.fault_seconds
        until_s = self.length_s * self.options.faults_until - 5
        while every_s and self.pause(every_s) and self.at_s() < until_s:
            leader = self.leader()
            if leader is None:
                continue
            standby = next(r for r in self.replicas if r is not leader)
            target, role = (leader, "leader") if self.rng.random() < 0.7 else (standby, "standby")
            what = self.rng.choice(["SIGKILL", "SIGTERM", "SIGSTOP"] if until_s - self.at_s() > 35 else ["SIGKILL", "SIGTERM"])
            self.faults.append((self.at_s(), what, role))
            if what == "SIGKILL":
                target.kill()
                self.say(f"SIGKILL to the {role} {target.name}")
            elif what == "SIGTERM":
                took_s, enough = target.terminate(30)
                self.say(f"SIGTERM to the {role} {target.name}: ended in {took_s:.1f} s{'' if enough else ' only by SIGKILL'}")
                if not enough:
                    self.failures.append(f"SIGTERM did not end replica {target.name}")
            else:
                self.say(f"SIGSTOP for 30 s to the {role} {target.name}")
                target.signal(signal.SIGSTOP, ends=True)  # a leader that was away ends when it finds out
                self.pause(30)
                target.signal(signal.SIGCONT, ends=True)

    def leader(self):
        user = self.ledger.holder_user()
        return next((r for r in self.replicas if r.name == user), None)

    def look(self):
        while self.pause(0.5):
            self.ledger.read_on()
            for replica in self.replicas:
                if not replica.look(self.at_s()):
                    if replica.ends and not replica.told:
                        replica.told = True
                        self.say(f"replica {replica.name} ended by itself: {replica.ends[-1][1]}")
                    replica.start()

    def is_over(self):
        return self.at_s() >= self.length_s

    def drive(self):
        """Pods and nodes, until it is over."""
        owed = {"pods": 0.0, "replaced": 0.0, "flaps": 0.0, "beats": 0.0}
        last_s, shown_s = self.at_s(), 0.0
        while not self.is_over() and self.pause(TICK_S):
            now_s = self.at_s()
            passed_s, last_s = now_s - last_s, now_s
            if self.cluster.workers.behind() < 500:  # without a server nothing is asked
                owed["pods"] += passed_s * self.options.pods_per_second
                owed["replaced"] += passed_s * REPLACED_PER_S * (35 <= now_s % 60 < 45)
                owed["flaps"] += passed_s * FLAPS_PER_S
                owed["beats"] += passed_s * HEARTBEATS_PER_S
            for what, do in (("pods", lambda: self.cluster.make_pod(now_s)), ("replaced", self.cluster.replace),
                             ("flaps", lambda: self.cluster.flap(now_s)), ("beats", lambda: self.cluster.heartbeat(int(now_s * 100)))):
                while owed[what] >= 1:
                    owed[what] -= 1
                    do()
            self.cluster.end_pods(now_s)
            self.cluster.wake(now_s)
            if now_s - shown_s >= 15:
                shown_s = now_s
                self.progress()

    def progress(self):
        pods, memory = self.cluster.pods, []
        for replica in self.replicas:
            mb = replica.samples[-1][2] if replica.samples else 0
            memory.append(f"{replica.name}{'*' if replica is self.leader() else ''} {mb:.1f} MiB")
        self.say(f"made {self.cluster.next_pod}, bound {pods.bound}, ended {pods.ended}, there {len(pods.there)}, waiting "
                 f"{len(pods.waiting())}; nodes {len(self.cluster.alive)}, replaced {self.cluster.counts['replaced']}; "
                 f"{', '.join(memory)}; load {os.getloadavg()[0]:.1f}")

    # --- the end

    def wait_for(self, condition, seconds):
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.1)
        return condition()

    def run(self):
        self.start()
        threads = [self.guarded(work) for work in (self.restart_servers, self.disturb_replicas, self.look)]
        self.drive()
        finished_s = self.at_s()
        self.stopping.set()
        for thread in threads:
            thread.join(120)
        self.keep_metrics()
        self.cluster.settle()
        # From here on nothing is broken and nothing is deleted.
        self.stopping.clear()
        looking = self.guarded(self.look)
        self.say(f"no more faults; {len(self.cluster.pods.waiting())} pods wait")
        for _ in range(int(self.options.pods_per_second)):
            self.cluster.make_pod(float("inf"))
        self.cluster.workers.finish()
        kept = ("huge-", "late-", *self.may_wait)
        self.wait_for(lambda: all(n.startswith(kept) for n in self.cluster.pods.waiting()), PATIENCE_S)
        calm_s = self.at_s()
        roomy = self.cluster.pods.emptiest(sorted(self.cluster.alive))
        self.plane.client.patched(f"{NODES}/{roomy}", {"metadata": {"labels": {"late": "yes"}}})
        self.wait_for(lambda: not any(n.startswith("late-") for n in self.cluster.pods.waiting()), PATIENCE_S)
        self.say(f"everything bound {calm_s - finished_s:.1f} s after the last fault")
        self.stopping.set()
        looking.join(30)
        self.ledger.read_on()
        return self.verdict()

    def keep_metrics(self):
        for replica in self.replicas:
            (self.folder / f"metrics-{replica.name}.txt").write_text(replica.metrics())
            (self.folder / f"memory-{replica.name}.csv").write_text("second,life,resident_mib,anonymous_mib\n" + "".join(
                f"{at - self.began:.1f},{life},{rss:.2f},{anon:.2f}\n" for at, life, rss, anon in replica.samples))

    def memory(self, replica):
        """(first, last) median of resident MiB in the part without faults; None when a new process began in it."""
        part = [s for s in replica.samples if self.memory_from_s <= s[0] - self.began <= self.length_s]
        if not part or part[0][1] != part[-1][1] or self.length_s - self.memory_from_s < 4 * MEMORY_WINDOW_S:
            return None
        first = [s[2] for s in part if s[0] < part[0][0] + MEMORY_WINDOW_S]
        last = [s[2] for s in part if s[0] > part[-1][0] - MEMORY_WINDOW_S]
        return statistics.median(first), statistics.median(last)

    def verdict(self):
        """Prints the table; whether everything held."""
        listed, _ = self.plane.client.listed(PODS)
        waiting = [p for p in listed if not p["spec"].get("nodeName")]
        named = lambda start: [p for p in waiting if p["metadata"]["name"].startswith(start)]  # noqa: E731
        lost = [p["metadata"]["name"] for p in waiting if not p["metadata"]["name"].startswith(("huge-", "late-", *self.may_wait))]
        unexplained = [p for p in named("huge-") if not any(
            c["type"] == "PodScheduled" and c["status"] == "False" for c in p["status"].get("conditions", []))]
        pods, ledger = self.cluster.pods, self.ledger
        gone, others = ledger.to_gone_nodes(), ledger.by_others()
        latest_s = max((late for _, late in gone), default=0.0)
        crashes = [f"{r.name} {how} at {at:.0f} s" for r in self.replicas for at, how in r.ends]
        killed = [c for c in crashes if "killed by" in c]
        rows = [("pods made and still without a node though they fit", 0, len(lost), not lost),
                (f"pods that fit only in the end, of {LATE}, without a node", 0, len(named("late-")), not named("late-")),
                (f"pods that fit nowhere, of {HUGE}, that say so", HUGE, len(named("huge-")) - len(unexplained),
                 len(named("huge-")) == HUGE and not unexplained),
                ("pods of which two bindings were accepted", 0, len(ledger.bound_twice()), not ledger.bound_twice()),
                ("pods that changed their node", 0, pods.moved, not pods.moved),
                ("times that a node had more on it than it offers", 0, len(pods.crowded), not pods.crowded),
                ("bindings of a replica while the lease was not its own", 0, len(others), not others),
                ("latest binding to a node that was gone, in s", f"<= {GONE_MAX_S}", f"{latest_s:.2f}", latest_s <= GONE_MAX_S),
                ("replicas that ended by a signal of their own", 0, len(killed), not killed),
                ("requests of the churn itself that failed", 0, len(self.cluster.workers.failures), not self.cluster.workers.failures)]
        for replica in self.replicas:
            measured = self.memory(replica)
            if measured is None:
                rows.append((f"memory of replica {replica.name}", "told", "the calm part was too short or had a restart", True))
            else:
                grown = (measured[1] / measured[0] - 1) * 100
                rows.append((f"memory of replica {replica.name}: {measured[0]:.1f} MiB, in the end {measured[1]:.1f}, in %",
                             f"<= {MEMORY_PERCENT}", f"{grown:+.1f}", grown <= MEMORY_PERCENT))
        rows += [(text, "none", "", False) for text in self.failures]
        print(f"\n{'what':70} {'must be':>10} {'was':>10}")
        for what, wanted, was, holds in rows:
            print(f"{what:70} {wanted!s:>10} {was!s:>10}  {'held' if holds else 'FAILED'}")
        waits = sorted(w for _, w in pods.waits)
        at = lambda part: waits[int(part * (len(waits) - 1))] if waits else 0  # noqa: E731
        codes = {c: sum(b.code == c for b in ledger.bindings) for c in sorted({b.code for b in ledger.bindings})}
        print(f"\nseed {self.options.seed}; {self.cluster.next_pod} pods made, {pods.bound} seen bound, {pods.never_bound} ended "
              f"without a node; from pod to node {at(.5):.3f} s (median), {at(.99):.1f} s (99 %), {at(1):.1f} s (longest)")
        print(f"bindings by answer: {codes}; sent though one was accepted before: {ledger.sent_again()}; to nodes that were "
              f"gone: {len(gone)}, of which accepted: {sum(b.code == 201 for b, _ in gone)}")
        print(f"nodes: {self.cluster.counts}; API server: {self.plane.restarts} restarts, at most {self.plane.longest_away_s:.1f} s "
              f"away; reigns: {sum(bool(u) for _, u in ledger.reigns)}; faults of replicas: {len(self.faults)}")
        print(f"replicas that ended by themselves: {', '.join(crashes) or 'none'}; half lines in the audit log: {ledger.unreadable}")
        for binding, late_s in others[:5]:
            print(f"  not its lease: {binding.user} bound {binding.pod} {late_s:.3f} s late")
        for name in lost[:5]:
            print(f"  lost: {name}")
        for failure in self.cluster.workers.failures[:5]:
            print(f"  failed: {failure}")
        passed = sum(holds for *_, holds in rows)
        print(f"\n{passed} passed, {len(rows) - passed} failed", flush=True)
        return passed == len(rows)

    def stop(self):
        self.stopping.set()
        for replica in self.replicas:
            replica.stop()
        self.plane.stop()


def play(run_class, options):
    """The exit code of one run."""
    folder = options.keep or pathlib.Path(tempfile.mkdtemp(prefix="berth-churn-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    print(f"seed {options.seed}; files in {folder}; load average {os.getloadavg()[0]:.1f}", flush=True)
    run, held = None, False
    try:
        run = run_class(options, folder)
        held = run.run()
        return 0 if held else 1
    except NotThere as why:
        print(why, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        if run is not None:
            run.stop()
        if held and not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(play(Run, arguments()))
