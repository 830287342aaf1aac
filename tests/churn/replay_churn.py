#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A churn that both replicas record, and that `berth replay` decides again: every decision comes out as it was made.

    replay_churn.py --servers DIR --berth PROGRAM [--nodes N] [--pods N] [--seed N]

Pods of all kinds come and go, nodes flap, the API server is restarted, and so are the replicas: what churn.py holds is held.
Held besides: both replicas have decided; no record was dropped; each binding that the API server accepted is a decision of the
recording of the replica that sent it, but for one that was killed within a tenth of a second; each decision is decided again,
and comes out the same.

Exit codes: 0 everything held; 1 something did not; 2 it could not be run; 130 interrupted.
"""
import json
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kinds  # noqa: E402
from churn import Run, parser_of, play, read  # noqa: E402
from ledger import seconds  # noqa: E402

REPLAY_S = 3600
LOST_BY_KILL_S = 0.1  # what a process that is killed has not written yet: 50 ms by the README, and the way to the API server


def arguments():
    parser = parser_of(__doc__, pods_per_second=80, pod_seconds=60, nodes=2000, faults_until=1.0)
    parser.add_argument("--pods", type=int, default=20000, help="how many are made; default 20000")
    parser.add_argument("--recorder-mib", type=int, default=256, help="size of each replica's recording; default 256")
    options = read(parser)
    options.minutes = options.pods / options.pods_per_second / 60
    return options


class Recording:
    """What one replica has recorded in all its lives."""

    def __init__(self, options, replica):
        self.options, self.folder = options, replica.recording
        self.info = json.loads(self.said("record", "info", "--json", replica.recording))
        self.decided = {}  # pod -> [(when, node)]
        for line in self.said("record", "export", "--kinds", "attempt", replica.recording).splitlines():
            record = json.loads(line)
            if record.get("node"):
                pod = record["pod"]
                self.decided.setdefault(f'{pod["namespace"]}/{pod["name"]}', []).append((seconds(record["at"]), record["node"]))

    def said(self, *words, codes=(0,)):
        done = subprocess.run([self.options.scheduler, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=REPLAY_S, check=False)
        if done.returncode not in codes or done.stderr:
            print(f"{' '.join(map(str, words[:2]))}: exit {done.returncode}: {done.stderr[-2000:]}", flush=True)
        return done.stdout

    def replay(self):
        return json.loads(self.said("replay", "-o", "json", "--plugin-dir", self.options.plugins, self.folder, codes=(0, 1)))

    def knows(self, binding):
        return any(node == binding.node for _, node in self.decided.get(binding.pod, ()))


class RecordedRun(Run):
    draw = staticmethod(kinds.draw)
    may_wait = (kinds.CROWDED,)

    def is_over(self):
        return self.cluster.next_pod >= self.options.pods

    def prepare(self):
        kinds.build(self.plane.client)

    def run(self):
        held = super().run()
        self.stop()
        return self.replayed() and held

    def unrecorded(self, recording, replica):
        """(bindings that no decision stands for, those of them that a kill explains)."""
        missing = [b for b in self.ledger.bindings if b.user == replica.name and b.code == 201 and not recording.knows(b)]
        killed = [b for b in missing if any(b.received_s > at - LOST_BY_KILL_S for at in replica.killed_at if b.received_s < at + 1)]
        return len(missing), len(killed)

    def replayed(self):
        self.ledger.read_on()
        rows = []
        for replica in self.replicas:
            recording = Recording(self.options, replica)
            info = recording.info
            said = recording.replay()
            (self.folder / f"replay-{replica.name}.json").write_text(json.dumps(said, indent=1))
            missing, killed = self.unrecorded(recording, replica)
            of = f"replica {replica.name}: "
            print(f"\n{of}{info['bytes'] / 2 ** 20:.1f} MiB in {info['segments']} segments, {info['runs']} lives, {info['decisions']} decisions, "
                  f"{info['placed']} with a node; records: {info['records']}")
            print(f"{of}{said['same']} decisions came out the same, {said['different']} did not, {said['notDecidable']} could not be "
                  f"decided again, {said['groupsNotComplete']} looked at no node; {said['contradictions']} contradictions")
            for each in said["differences"][:5]:
                print(f"  {each['at']} {each['pod']} (attempt {each['attempt']})\n    recorded: {each['recorded']}\n    "
                      f"replayed: {each['replayed']}")
            rows += [(of + "decisions with a node", "> 0", info["placed"], info["placed"] > 0),
                     (of + "records that were dropped", 0, info["missing"], info["missing"] == 0),
                     (of + f"bindings without a recorded decision, and no kill ({killed} with)", 0, missing - killed, missing == killed),
                     (of + "decisions that came out differently", 0, said["different"], said["different"] == 0),
                     (of + "decisions that could not be made again", 0, said["notDecidable"], said["notDecidable"] == 0),
                     (of + "changes that contradict those before", 0, said["contradictions"], said["contradictions"] == 0),
                     (of + "decisions compared, of all", info["decisions"], said["same"] + said["different"],
                      said["same"] + said["different"] == info["decisions"])]
        print()
        for what, wanted, was, holds in rows:
            print(f"{what:70} {wanted!s:>10} {was!s:>10}  {'held' if holds else 'FAILED'}")
        passed = sum(holds for *_, holds in rows)
        print(f"\n{passed} passed, {len(rows) - passed} failed", flush=True)
        return passed == len(rows)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(play(RecordedRun, arguments()))
