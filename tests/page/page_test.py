#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page_test.py BERTH [--pictures FOLDER] [--api-server PROGRAM]: the page in a browser, as the file of `berth simulate -o html`
and as `berth ui` serves it, says what -o json says, loads nothing, takes hostile names for text, works by keyboard, and fits 1280
pixels in light and dark. With PROGRAM (tests/churn/churn_server) also of a live cluster. Screenshots go to FOLDER."""
import argparse
import json
import os
import re
import subprocess
import sys
import urllib.parse

from checks import check, go, looks, run_parts
from live import LiveCluster
from served import Served, check_strangers

arguments = argparse.ArgumentParser()
arguments.add_argument("berth", type=os.path.abspath)
arguments.add_argument("--pictures")
arguments.add_argument("--api-server", type=os.path.abspath)
arguments = arguments.parse_args()
berth, pictures = arguments.berth, arguments.pictures
HOSTILE = '</script><script>window.taken=1</script><img src=x onerror="window.taken=2"><!-- & \' "'
LONG = "x" * 240


def node(number, **spec):
    name = f"node-{number}" if number else f"n{HOSTILE}"
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": "abc"[number % 3],
                                                  "team": HOSTILE if number % 2 else LONG}},
            "spec": spec, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"}}}


def pod(name, cpu, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"},
            "spec": {**spec, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}


def cluster():
    nodes = [node(i, **({"unschedulable": True} if i == 3 else {})) for i in range(12)]
    nodes[1]["spec"]["taints"] = [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]
    pods = [pod(f"before-{i}", "1", nodeName=f"node-{i % 11 + 1}") for i in range(130)][:25]
    pods += [pod(f"fits-{i}", "100m") for i in range(110)]
    pods += [pod("huge-1", "9"), pod("huge-2", "9"), pod(HOSTILE, "9"), pod(LONG, "1", nodeSelector={"team": "none" + HOSTILE}),
             pod("gated", "1", schedulingGates=[{"name": HOSTILE}])]
    return {"apiVersion": "v1", "kind": "List", "items": nodes + pods}


def simulate(path, *arguments):
    run = subprocess.run([berth, "simulate", "--cluster", path, *arguments], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"berth simulate {arguments} ended with {run.returncode}:\n{run.stderr}")
    return run.stdout



def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    parts = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def rows(browser):
    """The table's rows, all of them."""
    while browser.evaluate("(() => { const more = [...document.querySelectorAll('main button')].find((b) => "
                           "b.textContent.startsWith('Show more')); more?.click(); return Boolean(more); })()"):
        pass
    return browser.evaluate("[...document.querySelectorAll('main tbody tr')].map((row) => [...row.cells].map((c) => c.textContent))")


def check_colours(browser):
    for scheme in ("light", "dark"):
        browser.colours(scheme)
        of = browser.evaluate("Object.fromEntries(['back','panel','text','soft','link','strong','warn','mark'].map((name) => "
                              "[name, getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim()]))")
        weak = [f"{front} on {behind}" for front in ("text", "soft", "link", "strong", "warn") for behind in ("back", "panel")
                if contrast(of[front], of[behind]) < 4.5]
        weak += [f"{front} on mark" for front in ("text", "soft") if contrast(of[front], of["mark"]) < 4.5]
        check(f"texts are readable in {scheme}", not weak, weak)


def check_pending(browser, said):
    waiting = [p for p in said["pods"] if p["state"] in ("pending", "gated")]
    text = browser.evaluate("document.getElementById('main').innerText")
    check("the first view is the pending pods", f"{len(waiting)} pods pending" in text, text[:200])
    missing = [p["message"] for p in waiting if p["message"] not in text]
    check("every reason is on it", not missing, missing)
    missing = [p["name"] for p in waiting if f"shop/{p['name']}" not in text]
    check("every pending pod is on it", not missing, missing)


def check_pod(browser, path):
    go(browser, "pending")
    browser.evaluate("[...document.querySelectorAll('main a')].find((a) => a.textContent === 'shop/huge-1').click(); "
                     "new Promise((done) => setTimeout(done))")
    text = browser.evaluate("document.getElementById('main').innerText")
    explained = json.loads(simulate(path, "--explain", "shop/huge-1", "-o", "json"))
    options = [option["text"] for option in explained["fit"]["options"]]
    check("a click on a pod says what would make it fit", bool(options) and all(option in text for option in options), text[:400])
    said = {name: {node_of["plugin"], *node_of["reasons"]} for name, node_of in explained["rejected"].items()}
    heads = browser.evaluate("[...[...document.querySelectorAll('main table')].at(-1).tHead.rows[0].cells].map((cell) => "
                             "cell.textContent)")
    shown = {row[0]: {word for head, cell in zip(heads[1:], row[1:]) if cell != "·" for word in (head, *cell.split(", "))}
             for row in browser.evaluate("[...[...document.querySelectorAll('main table')].at(-1).tBodies[0].rows].map((row) => "
                                         "[...row.cells].map((cell) => cell.textContent))")}
    check("nodes and policies are as explained", shown == said, f"{shown} is not {said}")
    looks(browser, "pod", pictures)


def check_pods(browser, said):
    go(browser, "pods")
    shown = {(row[0], row[1], row[2], row[3]) for row in rows(browser)}
    wanted = {(f"shop/{p['name']}", p["state"], p["node"] or "–", str(p["priority"])) for p in said["pods"]}
    check("the list of pods is that of -o json", shown == wanted, shown ^ wanted)
    looks(browser, "pods", pictures)


def check_nodes(browser, said):
    for line in said["nodes"]:
        go(browser, "node/" + urllib.parse.quote(line["name"], safe=""))
        cells = {row[0]: row[1] for row in browser.evaluate(
            "[...document.querySelector('main table').tBodies[0].rows].map((row) => [...row.cells].map((c) => c.textContent))")}
        cpu = next(r for r in line["resources"] if r["name"] == "cpu")
        check(f"node {line['name'][:12]} is used as -o json says",
              cells["cpu"].endswith(f"{cpu['requested'] / 1000:g} of {cpu['allocatable'] / 1000:g}"), cells)
    looks(browser, "node", pictures)


def check_keyboard(browser):
    go(browser, "map")
    looks(browser, "map", pictures)
    browser.evaluate("document.querySelector('canvas').focus()")
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        browser.key(key)
    browser.evaluate("new Promise((done) => setTimeout(done))")
    check("arrows and Enter open a node of the map", browser.evaluate("location.hash").startswith("#node/"),
          browser.evaluate("location.hash"))
    browser.key("/")
    check("/ goes to the search", browser.evaluate("document.activeElement.id") == "search")


def check_page(browser, url, path, said):
    """The page at that address, which is of the manifests in `path`, about which -o json says `said`."""
    browser.problems, browser.requests = [], []
    browser.open(url)
    check_pending(browser, said)
    looks(browser, "pending", pictures)
    check_colours(browser)
    check_pod(browser, path)
    check_pods(browser, said)
    check_nodes(browser, said)
    check_keyboard(browser)
    go(browser, "pod/" + urllib.parse.quote(f"shop/{HOSTILE}", safe=""))
    check("a hostile name is text", HOSTILE in browser.evaluate("document.querySelector('h2').textContent"))
    go(browser, "plugins")
    looks(browser, "plugins", pictures)
    rows = browser.evaluate("[...document.querySelectorAll('main tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
    counted = {row[0]: row for row in rows}
    check("the calls of a simulation are counted", int(counted["NodeResourcesFit"][2].replace(",", "")) > 0, counted["NodeResourcesFit"])
    check("no hostile text ran", browser.evaluate("window.taken") is None, browser.evaluate("window.taken"))
    check_quiet(browser, url)


def check_quiet(browser, url):
    browser.evaluate("fetch('http://127.0.0.1:9/').catch(() => 0)")
    refused = [text for text in browser.problems if "Content Security Policy" in text]
    check("the policy of content refuses loads", bool(refused), browser.problems)
    others = [text for text in browser.problems if text not in refused and "127.0.0.1:9" not in text]
    check("nothing is logged or thrown", not others, others)
    elsewhere = [each for each in browser.requests if each.split("#")[0] != url and "127.0.0.1:9" not in each]
    check("nothing is loaded", not elsewhere, elsewhere)


def write(path, value):
    with open(path, "w") as out:
        out.write(value if isinstance(value, str) else json.dumps(value))


def look_again(browser):
    browser.after_load(lambda: browser.evaluate("document.getElementById('again').click()"), "the page, again")


def check_served(browser, path):
    with Served([berth, "ui", "--cluster", path]) as served:
        check_strangers(served, check)
        check_page(browser, served.url, path, json.loads(simulate(path, "-o", "json")))
        changed = cluster()
        changed["items"].append(pod("late", "9"))
        write(path, changed)
        go(browser, "pending")
        look_again(browser)
        check("a pod that came later is there when the page is loaded again",
              "shop/late" in browser.evaluate("document.getElementById('main').innerText"))
        write(path, "kind: [")
        browser.open(served.url)
        text = browser.evaluate("document.body.innerText")
        check("what is wrong with a cluster is said", "cannot be looked at" in text and path in text, text)
    check("a signal ends it well", served.status == 0, served.status)
    refused = subprocess.run([berth, "ui", "--cluster", path], capture_output=True, text=True)
    check("a cluster that cannot be read is not served", refused.returncode == 1 and path in refused.stderr, refused)


def check_live(browser, folder):
    with LiveCluster(arguments.api_server, folder) as live:
        for i in range(5):
            live.make({"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{i}", "labels": {
                "topology.kubernetes.io/zone": "ab"[i % 2]}}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"}}})
        for item in (pod("huge-1", "9"), pod("huge-2", "9"), pod("runs", "1", nodeName="node-1")):
            live.make(item)
        with Served([berth, "ui", "--kubeconfig", live.kubeconfig]) as served:
            browser.problems, browser.requests = [], []
            browser.open(served.url)
            text = browser.evaluate("document.getElementById('main').innerText")
            check("who waits in a live cluster is on the page, and for how long", re.search(r"shop/huge-1\s+\d+ (s|min)", text), text)
            check("it says of when it is", "looked at " in browser.evaluate("document.querySelector('header').innerText"))
            explained = json.loads(subprocess.run([berth, "explain", "shop/huge-1", "--kubeconfig", live.kubeconfig, "-o", "json"],
                                                  capture_output=True, text=True, check=True).stdout)
            go(browser, "pod/shop%2Fhuge-1")
            text = browser.evaluate("document.getElementById('main').innerText")
            options = [option["text"] for option in explained["fit"]["options"]]
            check("it would fit there as berth explain says", bool(options) and all(each in text for each in options), text[:400])
            looks(browser, "live-pod", pictures)
            go(browser, "node/node-1")
            check("what runs is on its node", "shop/runs" in browser.evaluate("document.getElementById('main').innerText"))
            go(browser, "pending")
            looks(browser, "live-pending", pictures)
            live.make(pod("late", "9"))
            for _ in range(60):  # the watch tells of it soon
                look_again(browser)
                if "shop/late" in browser.evaluate("document.getElementById('main').innerText"):
                    break
            check("what the watch told is there when the page is loaded again",
                  "shop/late" in browser.evaluate("document.getElementById('main').innerText"))
            check_quiet(browser, served.url)


def check_all(browser, folder):
    path, page = os.path.join(folder, "cluster.json"), os.path.join(folder, "page.html")
    write(path, cluster())
    write(page, simulate(path, "-o", "html"))
    check_page(browser, "file://" + page, path, json.loads(simulate(path, "-o", "json")))
    check_served(browser, path)
    if arguments.api_server:
        check_live(browser, folder)


run_parts(check_all)
