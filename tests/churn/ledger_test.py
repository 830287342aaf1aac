#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ledger finds in an audit log what must not be there."""
import datetime
import json
import pathlib
import tempfile
import unittest

from ledger import Ledger


def stamp(at_s):
    return datetime.datetime.fromtimestamp(at_s, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def event(at_s, user, verb, resource, name, code, body=None, subresource=None, took_s=0.01):
    ref = {"resource": resource, "name": name, "namespace": "churn"}
    if subresource:
        ref["subresource"] = subresource
    return {"verb": verb, "user": {"username": user}, "objectRef": ref, "responseStatus": {"code": code}, "requestObject": body,
            "requestReceivedTimestamp": stamp(at_s), "stageTimestamp": stamp(at_s + took_s)}


def bind(at_s, user, pod, node, code=201):
    return event(at_s, user, "create", "pods", pod, code, {"target": {"name": node}}, "binding")


def lease(at_s, user, identity, code=200, name="kube-scheduler"):
    return event(at_s, user, "update", "leases", name, code, {"spec": {"holderIdentity": identity}})


class LedgerTest(unittest.TestCase):
    def ledger(self, *events, rest=""):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "audit"
        path.write_text("".join(json.dumps(e) + "\n" for e in events) + rest)
        made = Ledger(path)
        made.read_on()
        return made

    def test_two_accepted_bindings_of_a_pod_are_one_too_many(self):
        made = self.ledger(bind(1, "a", "p", "n"), bind(2, "a", "p", "m"), bind(1, "a", "q", "n"), bind(2, "a", "q", "n", 409))
        self.assertEqual(made.bound_twice(), ["churn/p"])
        self.assertEqual(made.sent_again(), 2)

    def test_a_binding_counts_as_sent_again_only_after_the_answer(self):
        self.assertEqual(self.ledger(bind(1, "a", "p", "n", 500), bind(2, "a", "p", "n")).sent_again(), 0)

    def test_the_lease_says_who_may_bind(self):
        made = self.ledger(lease(1, "a", "a_1"), bind(2, "a", "p", "n"), lease(3, "a", "a_1"), lease(10, "b", "b_1"),
                           bind(11, "a", "q", "n"), bind(12, "b", "r", "n"))
        self.assertEqual([(b.pod, round(late)) for b, late in made.by_others()], [("churn/q", 1)])

    def test_a_refused_lease_changes_nothing(self):
        made = self.ledger(lease(1, "a", "a_1"), lease(2, "b", "b_1", 409), bind(3, "a", "p", "n"))
        self.assertEqual(made.by_others(), [])
        self.assertEqual(made.holder_user(), "a")

    def test_leases_of_others_are_not_looked_at(self):
        made = self.ledger(lease(1, "a", "a_1"), lease(2, "driver", "x", name="apiserver-1"), bind(3, "a", "p", "n"))
        self.assertEqual(made.by_others(), [])

    def test_who_gave_the_lease_back_binds_no_more(self):
        made = self.ledger(lease(1, "a", "a_1"), lease(2, "a", ""), bind(3, "a", "p", "n"))
        self.assertEqual(len(made.by_others()), 1)

    def test_a_node_is_gone_between_its_deletion_and_its_return(self):
        made = self.ledger(event(1, "driver", "delete", "nodes", "n", 200), bind(3, "a", "p", "n"),
                           event(5, "driver", "create", "nodes", "n", 201), bind(6, "a", "q", "n"), bind(6, "a", "r", "m"))
        self.assertEqual([(b.pod, round(late, 1)) for b, late in made.to_gone_nodes()], [("churn/p", 2.0)])

    def test_half_a_line_is_waited_for(self):
        made = self.ledger(bind(1, "a", "p", "n"), rest='{"verb": "cre')
        self.assertEqual((len(made.bindings), made.unreadable), (1, 0))


if __name__ == "__main__":
    unittest.main()
