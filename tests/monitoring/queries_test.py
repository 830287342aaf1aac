#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""queries_test.py METRICS: every query of the dashboard and of the alerts finds something in METRICS, a page of a running
scheduler; every alert has its page, and every page its alert. Ends with 77 where promtool is missing."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "conf", "deploy", "monitoring")
# Series that only trouble makes: there is nothing of them in a good run.
SELDOM = {'scheduler_schedule_attempts_total{result="error"}', "berth_oldest_plugin_call_seconds",
          'rest_client_requests_total{code=~"5..|<error>"}'}


def samples(path):
    """Series as PromQL writes them, with their values."""
    for line in open(path):
        match = re.match(r"([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)$", line.strip())
        if match and not line.startswith("#"):
            labels = (match[2] or "{}")[1:-1]
            yield match[1] + "{" + (labels + "," if labels else "") + 'job="berth",instance="one"}', match[3]


def selectors(query):
    return {name + (labels or "") for name, labels in
            re.findall(r"\b((?:berth|scheduler|rest_client|leader_election|process)_\w+)(\{[^}]*\})?", query)}


def alerts():
    text = open(os.path.join(folder, "alerts.yaml")).read()
    for name, query in re.findall(r"- alert: (\w+)\n\s+expr: >-\n\s+(.*)\n", text):
        yield name, query


def dashboard():
    for panel in json.load(open(os.path.join(folder, "dashboard.json")))["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"].replace("$job", ".+").replace("$__rate_interval", "5m")


def empty_ones(queries, page):
    """Those that find nothing: a test that expects nothing holds for them alone."""
    series = [{"series": name, "values": f"{value}+0x30"} for name, value in samples(page) if value.lower() != "nan"]
    tests = [{"expr": query, "eval_time": "20m", "exp_samples": []} for query in queries]
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "test.yaml")
        with open(path, "w") as out:  # JSON is YAML
            json.dump({"evaluation_interval": "1m", "tests": [{"interval": "1m", "input_series": series,
                                                               "promql_expr_test": tests}]}, out)
        run = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True)
    said = run.stdout + run.stderr
    found = {json.loads('"' + text + '"') for text in re.findall(r'expr: "((?:[^"\\]|\\.)*)", time', said)}
    if "FAILED" not in said or not found:
        sys.exit(f"promtool did not answer:\n{said[:2000]}")
    return [query for query in queries if query not in found]


def main():
    if shutil.which("promtool") is None:
        print("no promtool (Debian package prometheus)")
        sys.exit(77)
    wrong = []
    check = subprocess.run(["promtool", "check", "rules", os.path.join(folder, "alerts.yaml")], capture_output=True, text=True)
    if check.returncode != 0:
        wrong.append(check.stdout + check.stderr)
    names = {name for name, _ in alerts()}
    pages = {file.removesuffix(".md") for file in os.listdir(os.path.join(folder, "runbooks"))}
    if names != pages:
        wrong.append(f"alerts without a page, or pages without an alert: {sorted(names ^ pages)}")
    for name, query in alerts():
        if name in pages and query not in open(os.path.join(folder, "runbooks", name + ".md")).read():
            wrong.append(f"the page of {name} shows another query")
    shown = list(dashboard())
    parts = sorted(set().union(*(selectors(query) for _, query in (*alerts(), *shown))) - SELDOM)
    queries = sorted({query for _, query in shown if not selectors(query) & SELDOM} | set(parts))
    missing = empty_ones(queries, sys.argv[1])
    wrong += [f"finds nothing: {query}" for query in missing]
    print(f"{len(names)} alerts, {len(shown)} queries of the dashboard, {len(parts)} selectors: {len(wrong)} wrong")
    if wrong:
        sys.exit("\n".join(wrong))


main()
