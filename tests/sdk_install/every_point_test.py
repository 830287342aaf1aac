#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins in C and C++, built outside the tree, against the host: call order, every return code, waiting, undoing.

    every_point_test.py --berth build/release/berth --plugins build/release/plugins --built OUT/plugins [--name CASE]

A profile has three plugins at every point: First and Second from every_point_c.so, Third from every_point_cpp.so. Pods
say by annotation what a plugin answers; the plugins trace their calls. A case is a pod's annotations, the calls that are
expected in the pod's first attempt, and what becomes of the pod. Ends with "N passed, N failed".
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import every_point_cases

PLUGINS = {"F": "berth.test/First", "S": "berth.test/Second", "T": "berth.test/Third"}
LETTER = {"First": "F", "Second": "S", "Third": "T"}
POINTS = ["preEnqueue", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit", "preBind", "postBind"]
LINE = re.compile(r"(?P<plugin>First|Second|Third) (?P<point>\w+) (?P<pod>\S+/\S+)(?P<more>.*)")


def configuration(trace):
    every = [{"name": name} for name in PLUGINS.values()]
    plugins = {point: {"enabled": every} for point in POINTS}
    plugins["queueSort"] = {"enabled": every[:1]}
    plugins["bind"] = {"enabled": [*every, {"name": "DefaultBinder"}]}
    plugins["multiPoint"] = {"disabled": [{"name": "*"}]}
    args = [{"name": name, "args": {"trace": str(trace)}} for name in PLUGINS.values()]
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins, "pluginConfig": args}]}


def node(name):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}


def pod(name, annotations, **more):
    spelled = {f"{name_of(key)}": value for key, value in annotations.items()}
    # A pod with a uid counts as written by an API server: nothing is filled in.
    spec = {"schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "i"}], **more.get("spec", {})}
    return {"apiVersion": "v1", "kind": "Pod", "status": more.get("status", {}), "spec": spec,
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "annotations": spelled,
                         "creationTimestamp": "2026-01-01T00:00:00Z"}}


def name_of(key):
    """"S/permit" is Second's answer at permit."""
    letter, point = key.split("/")
    return f"{PLUGINS[letter].split('/')[1]}/{point}"


class Run:
    """One simulation: what the plugins traced and what became of the pods."""

    def __init__(self, berth, plugin_dir, pods):
        with tempfile.TemporaryDirectory(prefix="berth-every-point-") as temporary:
            folder = pathlib.Path(temporary)
            trace = folder / "trace"
            trace.touch()
            items = {"apiVersion": "v1", "kind": "List", "items": [node("n0"), node("n1"), *pods]}
            (folder / "cluster.json").write_text(json.dumps(items))
            (folder / "config.json").write_text(json.dumps(configuration(trace)))
            self.done = subprocess.run(
                [berth, "simulate", "--cluster", str(folder / "cluster.json"), "--config", str(folder / "config.json"),
                 "--plugin-dir", str(plugin_dir), "-o", "json"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            self.lines = trace.read_text().splitlines()
        if self.done.returncode:
            raise AssertionError(f"exit {self.done.returncode}: {self.done.stderr[-2000:]}")
        self.pods = {f"{p['namespace']}/{p['name']}": p for p in json.loads(self.done.stdout)["pods"]}

    def calls(self, pod_name):
        """(point, plugin letter, rest of the line) of each call for a pod."""
        for line in self.lines:
            match = LINE.fullmatch(line)
            if match and match["pod"] == pod_name:
                yield match["point"], LETTER[match["plugin"]], match["more"].strip()

    def first_attempt(self, pod_name):
        """The calls from the first pre_filter to the next one, as "pre_filter:FST filter:FS …"."""
        groups, started = [], False
        for point, plugin, _ in self.calls(pod_name):
            if point in ("hint", "pre_enqueue", "fits_without", "pod_added", "pod_removed"):
                continue
            if point == "pre_filter" and plugin == "F":
                if started:
                    break
                started = True
            if groups and groups[-1][0] == point:
                # Blocks, and a second pass for reasons, call a filter again.
                if plugin not in groups[-1][1]:
                    groups[-1][1] += plugin
            else:
                groups.append([point, plugin])
        return " ".join(f"{point}:{plugins}" for point, plugins in scores_first(groups))


def scores_first(groups):
    """A plugin's scores may be normalised before the next one scores; only its own order is certain."""
    out = []
    for point, plugins in groups:
        earlier = next((g for g in reversed(out[-2:]) if g[0] == point), None)
        if point in ("score", "normalize") and earlier:
            earlier[1] += plugins
        else:
            out.append([point, plugins])
    return out


def judge(case, run):
    """Sentences about what is not as the case says."""
    got = run.first_attempt("default/p")
    if case.calls is not None and got != case.calls:
        yield f"calls: expected {case.calls}\n                got {got}"
    state = run.pods.get("default/p", {})
    placed_on, message = state.get("node") or None, state.get("message") or ""
    if case.node == "any":
        if not placed_on:
            yield f"expected a node, got {state}"
    elif placed_on != case.node:
        yield f"expected node {case.node}, got {state}"
    if case.message is not None and not re.search(case.message, message):
        yield f"expected a message like {case.message!r}, got {message!r}"
    for wanted in case.traced:
        if wanted not in run.lines:
            yield f"not traced: {wanted!r} in\n  " + "\n  ".join(run.lines)
    for unwanted in case.not_traced:
        if any(unwanted in line for line in run.lines):
            yield f"traced, but should not be: {unwanted!r}"
    if case.check:
        yield from case.check(run)
    for plugin in LETTER:
        if f"{plugin} create" not in run.lines or f"{plugin} destroy" not in run.lines:
            yield f"{plugin} was not created and destroyed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", required=True)
    parser.add_argument("--plugins", required=True, type=pathlib.Path, help="berth's own plugins")
    parser.add_argument("--built", required=True, type=pathlib.Path, help="what package_test.py built")
    parser.add_argument("--name", action="append", help="only this case; may be repeated")
    options = parser.parse_args()

    passed, failed = 0, 0
    with tempfile.TemporaryDirectory(prefix="berth-plugins-") as temporary:
        plugin_dir = pathlib.Path(temporary)
        for file in (options.plugins / "default_binder.so", options.built / "every_point_c.so",
                     options.built / "every_point_cpp.so"):
            shutil.copy(file, plugin_dir)
        for case in every_point_cases.CASES:
            if options.name and case.name not in options.name:
                continue
            pods = [pod("p", case.answers, **case.pod), *(pod(name, answers, **more) for name, answers, more in case.others)]
            try:
                problems = list(judge(case, Run(options.berth, plugin_dir, pods)))
            except (AssertionError, ValueError, KeyError, subprocess.TimeoutExpired) as problem:
                problems = [str(problem)]
            passed += not problems
            failed += bool(problems)
            for problem in problems:
                print(f"{case.name}: {problem}")
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
