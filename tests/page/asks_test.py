#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""asks_test.py BERTH [--pictures FOLDER]: what the page of `berth ui` asks its server for, in a browser: moments of a recording and
changes of manifests. It shows what the commands say with -o json, asks for one thing at a time, and refuses what they refuse."""
import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import time
import urllib.parse

from checks import check, go, looks, run_parts
from served import Served

arguments = argparse.ArgumentParser()
arguments.add_argument("berth", type=os.path.abspath)
arguments.add_argument("--pictures")
arguments = arguments.parse_args()
berth, pictures = arguments.berth, arguments.pictures
HOSTILE = "</script><img src=x onerror=window.taken=1>"
END_S = 60


def run(*words):
    return subprocess.run([berth, *words], capture_output=True, text=True)


def said(*words):
    done = run(*words, "-o", "json")
    if done.returncode != 0:
        sys.exit(f"berth {words} ended with {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def node(name, cpu="4", **labels):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
            "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "20"}}}


def pod(name, cpu, owner=None, labels=None, meta=None, **spec):
    metadata = {"name": name, "namespace": "shop", "labels": labels or {}, **(meta or {})}
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": "u-" + owner,
                                        "controller": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {**spec, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}


def write(path, items):
    with open(path, "w") as out:
        json.dump({"apiVersion": "v1", "kind": "List", "items": items}, out)
    return path


def wait_for(browser, expression, what):
    end = time.monotonic() + END_S
    while not browser.evaluate(expression):
        if time.monotonic() > end:
            sys.exit(f"{what} did not come in a minute")
        time.sleep(0.05)


def shown_pods(browser):
    """Of the view of all pods: name to (state, node)."""
    go(browser, "pods")
    rows = browser.evaluate("[...document.querySelectorAll('main tbody tr')].map((row) => [...row.cells].map((c) => c.textContent))")
    return {row[0]: (row[1], row[2]) for row in rows}


def check_quiet(browser, served, refused=0):
    """Nothing was logged but the answers that refuse, and no other server was asked."""
    failed = [text for text in browser.problems if "status of 400" in text]
    others = [text for text in browser.problems if text not in failed]
    check("nothing is logged or thrown", not others and len(failed) == refused, browser.problems)
    elsewhere = [each for each in browser.requests if not each.startswith(served.url)]
    check("only its server is asked", not elsewhere, elsewhere)
    check("no hostile text ran", browser.evaluate("window.taken") is None)


def answers(browser):
    return [url for url in browser.requests if url.endswith("&data") or url.endswith("?data")]


# The time of a recording.

def make_recording(folder):
    """A pod that is evicted takes its time to end: until then the one that gets its place waits. Others wait for good."""
    path = write(os.path.join(folder, "cluster.json"), [
        node("node-1"), node("node-2", "1"), pod("ends", "3", nodeName="node-1", terminationGracePeriodSeconds=30),
        pod("waits", "3", priority=1000), pod("small", "500m"), pod("huge", "9"), pod(HOSTILE.replace("/", ""), "9")])
    recording = os.path.join(folder, "recording")
    said("simulate", "--cluster", path, "--record", recording)
    return recording


def moved(browser):
    wait_for(browser, "!document.getElementById('moment').hasAttribute('aria-busy')", "the moment")
    return urllib.parse.parse_qs(urllib.parse.urlsplit(browser.evaluate("location.href")).query).get("at", [""])[0]


def check_moment(browser, recording, at):
    """What is shown is what `berth explain` says of each pod at that moment."""
    shown = shown_pods(browser)
    check(f"pods are shown at {at}", bool(shown))
    for name, (state, place) in shown.items():
        if "<" in name:
            continue
        explained = said("explain", name, "--record", recording, *(["--at", at] if at else []))
        wanted = (explained["state"], explained.get("node") or "–")
        check(f"{name} at {at or 'the end'} is as berth explain says", (state, place) == wanted, f"{(state, place)} is not {wanted}")
    return shown


def exported(recording, kind):
    return [json.loads(line) for line in run("record", "export", recording, "--kinds", kind).stdout.splitlines()]


def check_time_page(browser, recording, info):
    """The page of what took the time says what the records of the recording add up to."""
    go(browser, "time")
    rows = browser.evaluate("[...document.querySelectorAll('main tbody')].map((body) => [...body.rows].map((row) => "
                            "[...row.cells].map((cell) => cell.textContent)))")
    figures = {row[0]: row[1] for row in rows[0]}
    check("the page counts all decisions", figures["Decisions"] == str(info["decisions"]), figures)
    rejections = collections.Counter(name for each in exported(recording, "attempt") for name in each.get("rejected", {}).get("rejectors", []))
    shown = {row[0]: int(row[1]) for row in rows[1]}
    check("each plugin rejected as many as recorded", {name: count for name, count in shown.items() if count} == dict(rejections), shown)
    timed = {each["plugin"] for record in exported(recording, "plugin_times") for each in record["pluginTimes"]["all"]}
    said_time = {row[0] for row in rows[1] if row[3] != "–"}
    check("each plugin that was called has its time", said_time == timed, said_time ^ timed)
    looks(browser, "time-plugins", pictures)
    go(browser, "pods")


def check_time(browser, folder):
    recording = make_recording(folder)
    with Served([berth, "ui", "--record", recording]) as served:
        browser.problems, browser.requests = [], []
        browser.open(served.url)
        check("a recording has a slider with a name", ("slider", "Moment") in list(browser.named_roles()), list(browser.named_roles()))
        at_end = check_moment(browser, recording, "")
        check("the recording ends with the pod placed", at_end["shop/waits"][0] != "pending", at_end)
        times = browser.evaluate("JSON.parse(document.getElementById('data').textContent).times")
        info = json.loads(run("record", "info", recording, "--json").stdout)
        check("all decisions are in the slices", sum(times["decisions"]) == info["decisions"], times)
        check("those without a node, too", sum(times["withoutNode"]) == info["decisions"] - info["placed"], times)
        check("so many wait at the end", times["pending"][-1] == sum(state == "pending" for state, _ in at_end.values()), times["pending"])
        looks(browser, "time-end", pictures)
        check_time_page(browser, recording, info)

        browser.evaluate("document.getElementById('moment').focus()")
        for key in ("Home", "ArrowRight", "ArrowRight"):
            browser.key(key)
        at = moved(browser)
        check("keys move it, and the address says where it is", at != "", browser.evaluate("location.href"))
        check("the keyboard stays on it", browser.evaluate("document.activeElement.id") == "moment")
        before = check_moment(browser, recording, at)
        check("before the end, the pod waits", before["shop/waits"][0] == "pending", before)
        go(browser, "pending")
        looks(browser, "time-before", pictures)
        link = browser.evaluate("location.href")
        words = browser.evaluate("document.getElementById('moment').getAttribute('aria-valuetext')")
        check("it says the time in words", "after it begins" in words and ":" in words, words)

        browser.requests = []
        busy = browser.evaluate("(() => { const slider = document.getElementById('moment'); for (const value of [100, 200, 300, 400, 900])"
                                " { slider.value = value; slider.dispatchEvent(new Event('input')); } "
                                "return document.getElementById('moment-said').textContent; })()")
        check("it says that it looks", "Looking at" in busy, busy)
        at = moved(browser)
        check("the newest position replaces those that wait", len(answers(browser)) == 2, answers(browser))
        check("and is shown", at in urllib.parse.unquote(answers(browser)[-1]), at)
        check_moment(browser, recording, at)

        browser.open(link)
        check("a link shows its moment", shown_pods(browser) == before)
        browser.open(served.url + "?at=2001-01-01T00:00:00Z")
        check("a moment before the recording is refused", "nothing was recorded up to then" in browser.evaluate("document.body.innerText"))
        for query, status in (("?at=", 400), ("?at=soon", 400), ("?at=" + "9" * 100, 400), ("?drain=node-1", 400), ("?other=1", 400)):
            check(f"refused: {query[:12]}", served.ask(path=served.path + query)[0] == status)
        wrong = served.path[:-2] + ("0" if served.path[-2] != "0" else "1") + "/"
        check("no data without the secret", served.ask(path=wrong + "?data")[0] == 404)
        check("no data for another name", served.ask(path=served.path + "?data", Host="evil.example")[0] == 421)
        check("no data within other sites", served.ask(path=served.path + "?data", Sec_Fetch_Site="cross-site")[0] == 403)
        browser.open(served.url)
        check_quiet(browser, served, refused=1)
    check("a signal ends it well", served.status == 0, served.status)


# Changes of manifests.

def make_manifests(folder):
    items = [node(f"node-{i}", "4", **{"topology.kubernetes.io/zone": "ab"[i % 2]}) for i in range(4)]
    items += [pod(f"web-{i}", "1", "web", {"app": "web"}, nodeName=f"node-{i % 4}") for i in range(8)]
    items += [pod(f"db-{i}", "2", "db", {"app": "db"}) for i in range(5)]
    items += [pod(HOSTILE.replace("/", ""), "9")]
    return write(os.path.join(folder, "cluster.json"), items)


def try_change(browser, kind, **fields):
    """As an operator fills the form in. What it says when the answer is there."""
    browser.evaluate(f"(() => {{ const kind = document.getElementById('change-kind'); kind.value = {json.dumps(kind)}; "
                     "kind.dispatchEvent(new Event('change')); "
                     f"for (const [name, value] of Object.entries({json.dumps({k.replace('_', '-'): v for k, v in fields.items()})})) "
                     "document.querySelector(`.change input[name='${name}']`).value = value; "
                     "document.querySelector('.change form').requestSubmit(); })()")
    return settled(browser)


def settled(browser):
    wait_for(browser, "!document.querySelector('.change form button').hasAttribute('aria-disabled')", "the simulation")
    return browser.evaluate("document.getElementById('change-said').textContent")


def tables(browser):
    """Of the view of what changed: heading to rows; the first table has none."""
    go(browser, "changed")
    return browser.evaluate("Object.fromEntries([...document.querySelectorAll('main table')].map((t) => [t.caption.textContent, "
                            "[...t.tBodies[0].rows].map((row) => [...row.cells].map((c) => c.textContent))]))")


def check_changed(browser, path, *changes):
    """The page is as berth simulate says with and without the changes."""
    before, after = said("simulate", "--cluster", path), said("simulate", "--cluster", path, *changes)
    what = " ".join(changes)
    key = lambda each: f"{each['namespace']}/{each['name']}"
    check(f"pods are those of {what}", shown_pods(browser) == {key(p): (p["state"], p["node"] or "–") for p in after["pods"]})
    old, new = ({key(p): p for p in each["pods"]} for each in (before, after))
    shown = tables(browser)
    waits = lambda p: p["state"] in ("pending", "gated")
    counts = {row[0]: row[1:3] for row in shown["Counts before and after"]}
    wanted = {"Nodes": [len(before["nodes"]), len(after["nodes"])], "Pods": [len(old), len(new)],
              "Pods pending": [sum(map(waits, old.values())), sum(map(waits, new.values()))]}
    check("the counts are theirs", all(counts[name] == list(map(str, value)) for name, value in wanted.items()), counts)
    moved = {(k, old[k]["node"], p["node"]) for k, p in new.items() if k in old and old[k]["node"] and p["node"] and old[k]["node"] != p["node"]}
    seen = {tuple(row[:3]) for row in shown.get("Moved to another node", [])}
    check("what moved is theirs", seen == moved, f"{seen} is not {moved}")
    stuck = {k for k, p in new.items() if waits(p) and not (k in old and waits(old[k]))}
    check("what is pending now is theirs", {row[0] for row in shown.get("Pending now", [])} == stuck, shown)
    gone = set(old) - set(new)
    check("what is gone is theirs", {row[0] for row in shown.get("Gone", [])} == gone, shown)
    cpu = lambda each: {n["name"]: next(r["requested"] for r in n["resources"] if r["name"] == "cpu") for n in each["nodes"]}
    was, now = cpu(before), cpu(after)
    uses = {row[0].split(" ")[0]: row[1] for row in shown.get("Use of nodes before and after", [])}
    for name in {name for name in now if was.get(name) != now[name] or name in uses}:
        text = f"{was[name] / 1000:g}" if name in was else "–"
        check(f"the use of {name} is theirs", uses.get(name, "").startswith(f"{text} → {now[name] / 1000:g} of "), uses)


def check_change(browser, folder):
    path = make_manifests(folder)
    with Served([berth, "ui", "--cluster", path]) as served:
        browser.problems, browser.requests = [], []
        browser.open(served.url)
        check("the form has a name", ("combobox", "What if") in list(browser.named_roles()), list(browser.named_roles()))
        looks(browser, "change-none", pictures)
        check("a drain is simulated", try_change(browser, "drain", drain="node-1") == "")
        check_changed(browser, path, "--drain", "node-1")
        looks(browser, "change-drain", pictures)
        check("then nodes are added", try_change(browser, "add-nodes", add_nodes="2", like="node-0") == "")
        check_changed(browser, path, "--drain", "node-1", "--add-nodes", "2", "--like", "node-0")
        check("then a workload is scaled", try_change(browser, "scale", scale="shop/ReplicaSet/db=7") == "")
        check("then pods are removed", try_change(browser, "remove-pods", remove_pods="shop:app in (web,none)") == "")
        all_four = ["--drain", "node-1", "--add-nodes", "2", "--like", "node-0", "--scale", "shop/ReplicaSet/db=7",
                    "--remove-pods", "shop:app in (web,none)"]
        check_changed(browser, path, *all_four)
        go(browser, "changed")
        looks(browser, "change-four", pictures)
        browser.evaluate("scrollTo(0, document.body.scrollHeight)")
        looks(browser, "change-four-below", pictures)
        link = browser.evaluate("location.href")

        refused = 0
        for kind, fields in (("drain", {"drain": "nosuch"}), ("drain", {"drain": HOSTILE}), ("add-nodes", {"add_nodes": "3", "like": "nosuch"}),
                             ("scale", {"scale": "shop/db"}), ("remove-pods", {"remove_pods": "app=web"})):
            words = [word for name, value in fields.items() for word in ("--" + name.replace("_", "-"), value)]
            command = run("simulate", "--cluster", path, *all_four, *words)
            plain = command.stderr.replace("berth: ", "").strip().splitlines()[-1]
            text = try_change(browser, kind, **fields)
            check(f"what the command refuses is refused: {' '.join(words)[:40]}", command.returncode != 0 and plain in text, f"{text} / {plain}")
            refused += 1
        check("a refused change is not kept", browser.evaluate("document.querySelectorAll('#changes-made li').length") == 4)
        looks(browser, "change-refused", pictures)

        browser.evaluate("document.querySelector('#changes-made li:nth-child(2) button').click()")
        check("a change can be taken out", settled(browser) == "")
        check_changed(browser, path, *all_four[:2], *all_four[6:])
        browser.open(link)
        check("a link has its changes", browser.evaluate("document.querySelectorAll('#changes-made li').length") == 4)
        check_changed(browser, path, *all_four)
        for _ in range(4):
            browser.evaluate("document.querySelector('#changes-made li button').click()")
            settled(browser)
        check("without changes it is the cluster", browser.evaluate("location.search") == "" and shown_pods(browser) ==
              {f"{p['namespace']}/{p['name']}": (p["state"], p["node"] or "–") for p in said("simulate", "--cluster", path)["pods"]})

        add = "?add-nodes=1&like=node-0"
        for what, query in (("many changes", "?" + "&".join(["drain=node-1"] * 21)), ("a long change", "?drain=" + "x" * 1001),
                            ("many nodes", "?add-nodes=10001&like=node-0"), ("many nodes by several changes", add + "&add-nodes=10000&like=node-0"),
                            ("many pods", "?scale=shop/ReplicaSet/db=20000"), ("nodes like none", "?add-nodes=2"), ("like alone", "?like=node-1"),
                            ("moments of no recording", "?at=2026-01-01T00:00:00Z")):
            status, _, body = served.ask(path=served.path + query + "&data")
            check(f"refused: {what}", status == 400 and body.strip() != "" and "<" not in body, (status, body))
        status, fields, body = served.ask(path=served.path + add + "&data")
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            statuses = list(pool.map(lambda _: served.ask(path=served.path + "?add-nodes=9000&like=node-0&data")[0], range(12)))
        check("of many looks at once some are refused", set(statuses) == {200, 503}, statuses)
        check("data is JSON", status == 200 and fields["content-type"].startswith("application/json") and "before" in json.loads(body), status)
        check_quiet(browser, served, refused)
    check("a signal ends it well", served.status == 0, served.status)


run_parts(check_time, check_change)
