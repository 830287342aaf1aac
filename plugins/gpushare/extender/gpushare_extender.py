#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An HTTP extender that lets pods share GPUs: the policy of plugins/gpushare, over the network.

    gpushare_extender.py --port 8888 --api http://127.0.0.1:8001    # next to `kubectl proxy`

Prints "listening on URL" once it is ready. Verbs: filter, prioritize, bind; it is sent whole nodes (nodeCacheCapable:
false). With --api, a binding is written there with the card as an annotation, and what is on the cards is read from the
pods there. Without it, nothing is written and only its own bindings are known: that is for `berth simulate`.
"""
import argparse
import json
import ssl
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FULL_SCORE = 10
# Cards of a node beyond so many are not used, as by the plugin.
CARDS_MAX = 16
# A binding that the list of pods does not show yet is believed for so long.
BELIEVED_S = 30
# What a pod asked for is kept for its binding, which may wait for permission; longer than any such wait.
WANTED_S = 1800


def amount(quantity):
    """Whole numbers with an optional binary or decimal suffix: what extended resources are."""
    text = str(quantity)
    for suffix, factor in (("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30), ("Ti", 1 << 40),
                           ("k", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12)):
        if text.endswith(suffix):
            return int(text[: -len(suffix)]) * factor
    return int(text)


def asked_for(pod, resource):
    """The sum over containers, or the largest init container."""
    def of(container):
        resources = container.get("resources") or {}
        both = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        return amount(both.get(resource, 0))
    spec = pod.get("spec") or {}
    return max([sum(of(c) for c in spec.get("containers") or [])] + [of(c) for c in spec.get("initContainers") or []])


def card_of(pod, annotation):
    """The card that the pod names, or None: it is not known."""
    text = (pod["metadata"].get("annotations") or {}).get(annotation) or ""
    return int(text) if text.isascii() and text.isdigit() else None


class Api:
    """The few requests to an API server that the extender needs."""

    def __init__(self, url, token_file="", ca_file=""):
        self.url = url.rstrip("/")
        self.token_file = token_file
        self.context = ssl.create_default_context(cafile=ca_file or None) if url.startswith("https") else None

    def call(self, method, path, body=None, content_type="application/json"):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data=data, method=method, headers={"Content-Type": content_type})
        if self.token_file:
            with open(self.token_file, encoding="utf-8") as file:
                request.add_header("Authorization", "Bearer " + file.read().strip())
        with urllib.request.urlopen(request, context=self.context, timeout=4) as answer:
            return json.load(answer)


class Cards:
    """Which pod has how much of which card. Its lock is held while it is read or changed."""

    def __init__(self, options, api, now_s=time.monotonic):
        self.options, self.api, self.now_s = options, api, now_s
        self.lock = threading.Lock()
        self.nodes = {}      # name -> (memory of a card, number of cards)
        self.wanted = {}     # uid -> (amount, when), of pods that were asked about, the last one at the end
        self.on_card = {}    # node -> {uid: (card, amount)}, of the API server; card None: not known, so every one
        self.booked = {}     # uid -> (node, card, amount, when)
        self.listed_s = float("-inf")

    def learn(self, nodes):
        for node in nodes:
            have = (node.get("status") or {}).get("allocatable") or {}
            cards = amount(have.get(self.options.cards_resource, 0))
            memory = amount(have.get(self.options.memory_resource, 0))
            self.nodes[node["metadata"]["name"]] = (memory // cards if cards > 0 else 0, min(max(cards, 0), CARDS_MAX))

    def remember(self, uid, wanted):
        now_s = self.now_s()
        self.wanted.pop(uid, None)
        self.wanted[uid] = (wanted, now_s)
        while now_s - next(iter(self.wanted.values()))[1] > WANTED_S:
            del self.wanted[next(iter(self.wanted))]

    def refresh(self):
        """Reads the pods again, if it knows where and the last time is long ago."""
        now_s = self.now_s()
        if self.api is None or now_s - self.listed_s < self.options.refresh_s:
            return
        on_card = {}
        for pod in self.api.call("GET", "/api/v1/pods").get("items") or []:
            uid, node = pod["metadata"]["uid"], (pod.get("spec") or {}).get("nodeName")
            much = asked_for(pod, self.options.memory_resource)
            if not node or much <= 0 or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
                continue
            card = card_of(pod, self.options.annotation)
            if card is None and uid in self.booked:
                continue
            on_card.setdefault(node, {})[uid] = (card, much)
            self.booked.pop(uid, None)
        self.on_card, self.listed_s = on_card, now_s
        for uid in [uid for uid, booking in self.booked.items() if now_s - booking[3] > BELIEVED_S]:
            del self.booked[uid]

    def free(self, name):
        """By card."""
        size, count = self.nodes.get(name, (0, 0))
        free = [size] * count
        used = list(self.on_card.get(name, {}).values())
        used += [(card, much) for node, card, much, _ in self.booked.values() if node == name]
        for used_card, much in used:
            for card in range(count) if used_card is None else (used_card,):
                if card < count:
                    free[card] -= much
        return free

    def best(self, name, wanted):
        """The card on which the least is left over and what that is, or None."""
        fits = [(free - wanted, card) for card, free in enumerate(self.free(name)) if free >= wanted]
        return min(fits) if fits else None


class Extender:
    """The protocol's verbs; each takes and returns what is in the JSON."""

    def __init__(self, cards, options):
        self.cards, self.options = cards, options

    def filter(self, question):
        pod, nodes = question["Pod"], (question.get("Nodes") or {}).get("items") or []
        wanted = asked_for(pod, self.options.memory_resource)
        with self.cards.lock:
            self.cards.learn(nodes)
            self.cards.refresh()
            self.cards.remember(pod["metadata"]["uid"], wanted)
            fitting, failed, hopeless = [], {}, {}
            for node in nodes:
                name = node["metadata"]["name"]
                if self.cards.nodes[name][1] == 0:
                    hopeless[name] = "node(s) had no GPU to share"
                elif self.cards.best(name, wanted) is None:
                    failed[name] = "node(s) had no card with enough free GPU memory"
                else:
                    fitting.append(node)
        return {"Nodes": {"metadata": {}, "items": fitting}, "NodeNames": None, "FailedNodes": failed,
                "FailedAndUnresolvableNodes": hopeless, "Error": ""}

    def prioritize(self, question):
        wanted = asked_for(question["Pod"], self.options.memory_resource)
        scores = []
        with self.cards.lock:
            for node in (question.get("Nodes") or {}).get("items") or []:
                name = node["metadata"]["name"]
                best, size = self.cards.best(name, wanted), self.cards.nodes.get(name, (0, 0))[0]
                left = best[0] if best and size else size
                scores.append({"Host": name, "Score": FULL_SCORE - left * FULL_SCORE // size if size else 0})
        return scores

    def bind(self, question):
        uid, name = question["PodUID"], question["Node"]
        with self.cards.lock:
            wanted, _ = self.cards.wanted.get(uid, (None, None))
            best = self.cards.best(name, wanted) if wanted is not None else None
            if best is None:
                return {"Error": f"no card of node {name} has room for pod {question['PodName']}"}
            self.cards.booked[uid] = (name, best[1], wanted, self.cards.now_s())
        try:
            if self.cards.api is not None:
                self.write(question, best[1])
        except (OSError, ValueError) as error:
            with self.cards.lock:
                self.cards.booked.pop(uid, None)
            return {"Error": f"binding of pod {question['PodName']}: {error}"}
        with self.cards.lock:
            self.cards.wanted.pop(uid, None)
        return {"Error": ""}

    def write(self, question, card):
        pod = f"/api/v1/namespaces/{question['PodNamespace']}/pods/{question['PodName']}"
        meta = {"uid": question["PodUID"], "annotations": {self.options.annotation: str(card)}}
        self.cards.api.call("PATCH", pod, {"metadata": meta}, "application/merge-patch+json")
        self.cards.api.call("POST", pod + "/binding", {
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": question["PodName"], "namespace": question["PodNamespace"], "uid": question["PodUID"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": question["Node"]}})


def handler_for(extender):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):  # the name that http.server looks for
            verb = self.path.rsplit("/", 1)[-1]
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if verb not in ("filter", "prioritize", "bind"):
                return self.answer(404, {"Error": f"no verb {verb}"})
            try:
                return self.answer(200, getattr(extender, verb)(json.loads(body)))
            except (KeyError, TypeError, ValueError, AttributeError, OSError) as error:
                return self.answer(200, [] if verb == "prioritize" else {"Error": f"{verb}: {error!r}"})

        def answer(self, status, value):
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--api", default="", help="URL of the API server; empty: nothing is written")
    parser.add_argument("--token-file", default="", help="bearer token for it")
    parser.add_argument("--ca-file", default="", help="its authority, PEM")
    parser.add_argument("--refresh-s", type=float, default=1, help="pods are read again after so long")
    parser.add_argument("--memory-resource", default="example.com/gpu-mem")
    parser.add_argument("--cards-resource", default="example.com/gpu-count")
    parser.add_argument("--annotation", default="example.com/gpu-card")
    options = parser.parse_args()
    api = Api(options.api, options.token_file, options.ca_file) if options.api else None
    server = ThreadingHTTPServer((options.host, options.port), handler_for(Extender(Cards(options, api), options)))
    server.daemon_threads = True
    print(f"listening on http://{options.host}:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
