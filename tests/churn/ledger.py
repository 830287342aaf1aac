# SPDX-License-Identifier: Apache-2.0
"""What the audit log of the API server says of bindings, leases and nodes, and what follows from it."""
import bisect
import collections
import datetime
import json
import typing


LEASE = "kube-scheduler"  # the servers hold others, of their own


def seconds(stamp):
    """Of an audit timestamp, since the epoch."""
    return datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


class Binding(typing.NamedTuple):
    received_s: float   # when the request came
    answered_s: float
    user: str           # the replica
    pod: str            # namespace/name, which no two pods share
    node: str
    code: int


class Ledger:
    """Reads the log as it grows. Threads: one reads; the answers are for after the end, but for holder_user()."""

    def __init__(self, path):
        self.path, self.offset, self.rest = path, 0, b""
        self.bindings = []                              # Binding
        self.reigns = []                                # (since when, user; "" for a lease that was given back)
        self.gone = collections.defaultdict(list)       # node -> [(since, until)], until None while it is gone
        self.unreadable = 0
        self.identity = None

    def read_on(self):
        with open(self.path, "rb") as log:
            log.seek(self.offset)
            while piece := log.read(1 << 22):
                self.offset += len(piece)
                *lines, self.rest = (self.rest + piece).split(b"\n")
                for line in lines:
                    try:
                        self.take(json.loads(line))
                    except ValueError:
                        self.unreadable += 1  # a server that was killed leaves half a line

    def take(self, event):
        ref, code = event.get("objectRef", {}), event.get("responseStatus", {}).get("code", 0)
        received_s, answered_s = seconds(event["requestReceivedTimestamp"]), seconds(event["stageTimestamp"])
        user, kind = event["user"]["username"], (ref.get("resource"), ref.get("subresource"))
        body = event.get("requestObject") or {}
        if kind == ("pods", "binding"):
            node = body.get("target", {}).get("name", "")
            self.bindings.append(Binding(received_s, answered_s, user, f"{ref.get('namespace')}/{ref.get('name')}", node, code))
        elif kind == ("leases", None) and ref.get("name") == LEASE and code in (200, 201):
            identity = body.get("spec", {}).get("holderIdentity") or ""
            if identity != self.identity:
                self.identity = identity
                self.reigns.append((answered_s, user if identity else ""))
        # A server that was killed may have done it and written nothing: then the next try says so.
        elif kind == ("nodes", None) and event["verb"] == "delete" and code in (200, 404):
            periods = self.gone[ref["name"]]
            if not periods or periods[-1][1] is not None:
                periods.append((answered_s, None))
        elif kind == ("nodes", None) and event["verb"] == "create" and code in (201, 409):
            periods = self.gone.get(ref.get("name"))
            if periods and periods[-1][1] is None:
                periods[-1] = (periods[-1][0], received_s)

    def holder_user(self):
        return self.reigns[-1][1] if self.reigns else ""

    # --- what follows

    def bound_twice(self):
        """Pods of which the server accepted two bindings."""
        accepted = collections.Counter(b.pod for b in self.bindings if b.code == 201)
        return [pod for pod, count in accepted.items() if count > 1]

    def sent_again(self):
        """Bindings of a pod that the server had already accepted one of."""
        accepted, again = {}, 0
        for binding in sorted(self.bindings):
            again += accepted.get(binding.pod, float("inf")) < binding.received_s
            if binding.code == 201:
                accepted.setdefault(binding.pod, binding.answered_s)
        return again

    def by_others(self):
        """Bindings that came from a replica after the lease had gone to another one, or been given back."""
        reigns = sorted(self.reigns)
        since = [r[0] for r in reigns]
        out = []
        for binding in self.bindings:
            place = bisect.bisect_left(since, binding.received_s) - 1
            if place >= 0 and reigns[place][1] != binding.user:
                out.append((binding, binding.received_s - since[place]))
        return out

    def to_gone_nodes(self):
        """[(binding, seconds after the node's deletion was answered)]; the API server accepts them."""
        out = []
        for binding in self.bindings:
            for since, until in self.gone.get(binding.node, ()):
                if binding.received_s > since and (until is None or binding.received_s < until):
                    out.append((binding, binding.received_s - since))
        return out
