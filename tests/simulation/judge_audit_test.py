#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""judge_audit on logs of a few lines: judge_audit_test.py PROGRAM"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""


def event(second, verb, resource, name, answer=None, **more):
    time = f"2026-01-01T00:00:{second:02}.000000Z"
    out = {"stage": "ResponseComplete", "verb": verb, "requestReceivedTimestamp": time,
           "stageTimestamp": time.replace(".000000", ".500000"), "user": {"username": more.pop("user", "admin")},
           "objectRef": {"resource": resource, "name": name, "namespace": "" if resource == "nodes" else "default"},
           "responseStatus": {"code": 200}}
    if answer is not None:
        out["responseObject"] = answer
    if resource == "leases":
        out["objectRef"]["namespace"] = "kube-system"
    if "binds_to" in more:
        out["objectRef"]["subresource"] = "binding"
        out["requestObject"] = {"target": {"name": more["binds_to"]}}
    return out


def node(second, name, cpu="1", **spec):
    return event(second, "create", "nodes", name,
                 {"metadata": {"name": name}, "spec": spec, "status": {"allocatable": {"cpu": cpu, "memory": "1Gi", "pods": "9"}}})


def pod(second, name, cpu="600m", **spec):
    containers = [{"resources": {"requests": {"cpu": cpu}}}]
    return event(second, "create", "pods", name,
                 {"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": {"containers": containers, **spec}})


def binding(second, name, to, user="system:kube-scheduler"):
    return event(second, "create", "pods", name, user=user, binds_to=to)


class JudgeAudit(unittest.TestCase):
    def judge(self, *events):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "audit.log")
            log.write_text("".join(json.dumps(one) + "\n" for one in events))
            return subprocess.run([PROGRAM, str(log)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    def test_good_bindings_break_no_rule(self):
        run = self.judge(node(0, "n"), pod(1, "a"), binding(2, "a", "n"))
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("1 bindings and 0 evictions judged", run.stdout)

    def test_bindings_that_cannot_be_judged_are_no_good_ones(self):
        run = self.judge(node(0, "n"), event(1, "create", "pods", "a"), binding(2, "a", "n"))
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn("0 bindings", run.stdout)
        self.assertIn("1 bindings are of pods that the log does not show", run.stderr)

    def test_a_node_that_is_too_full_is_found(self):
        run = self.judge(node(0, "n"), pod(1, "a"), pod(1, "b"), binding(2, "a", "n"), binding(3, "b", "n"))
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("BROKEN: no node is over-committed: n has 1000m CPU", run.stdout)

    def test_what_was_there_before_the_log_counts(self):
        there = {"items": [{"metadata": {"name": "old", "namespace": "default", "uid": "old"},
                            "spec": {"nodeName": "n", "containers": [{"resources": {"requests": {"cpu": "600m"}}}]}}]}
        run = self.judge(node(0, "n"), event(1, "list", "pods", "", there), pod(2, "a"), binding(3, "a", "n"))
        self.assertIn("BROKEN: no node is over-committed", run.stdout)

    def test_a_pod_that_is_created_on_its_node_counts_there(self):
        run = self.judge(node(0, "n"), pod(1, "a"), pod(1, "b", nodeName="n"), binding(2, "a", "n"))
        self.assertIn("BROKEN: no node is over-committed", run.stdout)

    def test_pods_that_are_deleted_together_are_gone(self):
        gone = event(3, "deletecollection", "pods", "", {"items": [{"metadata": {"name": "a", "namespace": "default"}}]})
        run = self.judge(node(0, "n"), pod(1, "a"), pod(1, "b"), binding(2, "a", "n"), gone, binding(4, "b", "n"))
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_a_change_may_be_answered_before_the_binding_that_it_saw(self):
        started = pod(1, "a", nodeName="n")["responseObject"]
        patch = event(2, "patch", "pods", "a", started)
        patch["stageTimestamp"] = "2026-01-01T00:00:02.400000Z"
        run = self.judge(node(0, "n"), pod(1, "a"), patch, binding(2, "a", "n"))
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("1 bindings and 0 evictions judged", run.stdout)

    def test_an_older_answer_that_comes_late_unbinds_no_pod(self):
        late = event(3, "patch", "pods", "a", pod(1, "a")["responseObject"])
        run = self.judge(node(0, "n"), pod(1, "a"), binding(2, "a", "n"), late)
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_an_answer_of_metadata_alone_leaves_the_rest_as_it_was(self):
        metadata = {"kind": "PartialObjectMetadata", "metadata": {"name": "a", "namespace": "default", "uid": "a"}}
        asked = event(2, "patch", "pods", "a", metadata)
        run = self.judge(node(0, "n"), pod(1, "a"), pod(1, "b"), asked, binding(3, "a", "n"), binding(4, "b", "n"))
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("BROKEN: no node is over-committed: n has 1000m CPU", run.stdout)

    def test_a_pod_without_a_spec_ends_nothing(self):
        bare = event(1, "create", "pods", "a", {"metadata": {"name": "a", "namespace": "default", "uid": "a"}})
        run = self.judge(node(0, "n"), bare, binding(2, "a", "n"))
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_a_taint_that_is_not_tolerated_is_found(self):
        taint = {"key": "for", "value": "x", "effect": "NoSchedule"}
        run = self.judge(node(0, "n", taints=[taint]), pod(1, "a"), binding(2, "a", "n"))
        self.assertIn("BROKEN: what a pod asks for is met: a is on n, and the taint for=x is not tolerated", run.stdout)

    def test_a_binding_after_the_term_of_its_sender_is_found(self):
        def lease(second, user):
            spec = {"holderIdentity": f"host_{user}", "leaseDurationSeconds": 15}
            return event(second, "update", "leases", "kube-scheduler", {"spec": spec}, user=user)

        run = self.judge(node(0, "n"), pod(1, "a"), pod(1, "b", cpu="100m"), lease(2, "one"), binding(3, "a", "n", "one"),
                         lease(20, "two"), binding(21, "b", "n", "one"), binding(30, "b", "n", "two"))
        self.assertEqual(run.stdout.count("BROKEN"), 1, run.stdout)
        self.assertIn("BROKEN: only the leader binds: one sent a binding of b 3500 ms after its term", run.stdout)

    def test_an_eviction_for_no_one_is_found(self):
        gone = event(4, "delete", "pods", "a", user="system:kube-scheduler")
        run = self.judge(node(0, "n"), pod(1, "a"), binding(2, "a", "n"), gone)
        self.assertIn("BROKEN: nothing is evicted for no one: system:kube-scheduler evicts a", run.stdout)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
