# SPDX-License-Identifier: Apache-2.0
"""An API server that keeps objects as the real one does, and answers as a case tells it to."""
import bisect
import json
import re
import socket
import ssl
import threading
import time
import urllib.parse

from parts import bytes_of, envelope, field, object_of, watch_frame

KINDS = {
    "/api/v1/": {"namespaces": "Namespace", "nodes": "Node", "pods": "Pod", "services": "Service", "events": "Event",
                 "replicationcontrollers": "ReplicationController", "persistentvolumes": "PersistentVolume",
                 "persistentvolumeclaims": "PersistentVolumeClaim", "configmaps": "ConfigMap"},
    "/apis/apps/v1/": {"replicasets": "ReplicaSet", "statefulsets": "StatefulSet"},
    "/apis/policy/v1/": {"poddisruptionbudgets": "PodDisruptionBudget"},
    "/apis/storage.k8s.io/v1/": {"storageclasses": "StorageClass", "csinodes": "CSINode", "csidrivers": "CSIDriver",
                                 "csistoragecapacities": "CSIStorageCapacity",
                                 "volumeattachments": "VolumeAttachment"},
    "/apis/resource.k8s.io/v1/": {"resourceclaims": "ResourceClaim", "resourceslices": "ResourceSlice",
                                  "deviceclasses": "DeviceClass"},
    "/apis/coordination.k8s.io/v1/": {"leases": "Lease"},
    "/apis/events.k8s.io/v1/": {"events": "Event"},
}
BINARY = {"pods", "nodes", "namespaces"}  # written as protobuf for those who take it, where a case asks for it
PLURALS = {kind: (prefix, plural) for prefix, kinds in KINDS.items() for plural, kind in kinds.items()}
PLURALS["Event"] = ("/apis/events.k8s.io/v1/", "events")


def split_path(path):
    """(prefix, resource, namespace, name, subresource), or None for what is no resource."""
    for prefix, kinds in KINDS.items():
        if path.startswith(prefix):
            rest, ns = path[len(prefix):].split("/"), ""
            if rest[0] == "namespaces" and len(rest) > 2:
                ns, rest = rest[1], rest[2:]
            if rest[0] in kinds:
                rest += ["", ""]
                return prefix, rest[0], ns, rest[1], rest[2]
    return None


def shown(made):
    """Without what is for protobuf streams only."""
    return {k: v for k, v in made.items() if k != "$protobuf"}


def matches(made, selector):
    """Whether an object has what a field selector asks for."""
    for path, different, wanted in re.findall(r"([\w.]+)(!?)=([^,]*)", selector):
        value = made
        for step in path.split("."):
            value = value.get(step, "") if isinstance(value, dict) else ""
        if (str(value) == wanted) == bool(different):
            return False
    return True


def merged(target, patch):
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            target[key] = merged(dict(target.get(key) or {}), value)
        elif not key.startswith("$"):
            target[key] = value
    return target


def status(code, reason, text):
    return code, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": text,
                  "reason": reason, "code": code}


class Rule:
    """From here on, these requests are answered so; see README.md."""

    def __init__(self, data):
        self.data, self.left = data, data.get("times", 1 << 30)
        # Made before a test waits for it: some take a while.
        self.body, self.raw, self.piece = (bytes_of(data.get(key, "")) for key in ("body", "raw", "endless"))
        self.pattern = re.compile(data["on"])


class ApiServer:
    def __init__(self, rules=(), tls=None, streaming_lists=True, protobuf=False):
        self.changed = threading.Condition()  # guards all below
        self.rules = [Rule(r) for r in rules]
        self.objects, self.history, self.version, self.requests = {}, [], 100, []
        self.stopping = False
        self.streaming_lists, self.protobuf = streaming_lists, protobuf
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.context = None
        if tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*tls)
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def url(self):
        return f"{'https' if self.context else 'http'}://127.0.0.1:{self.port}"

    def stop(self):
        with self.changed:
            self.stopping = True
            self.changed.notify_all()
        self.listener.close()

    # --- the store

    def put(self, data, event="ADDED"):
        """Creates or replaces an object, or with "DELETED" removes it."""
        made = object_of(data)
        prefix, plural = PLURALS[made["kind"]]
        meta = made.setdefault("metadata", {})
        key = (prefix + plural, meta.get("namespace", ""), meta["name"])
        with self.changed:
            self.version += 1
            meta["resourceVersion"] = str(self.version)
            meta.setdefault("uid", f"uid-{meta['name']}")
            meta.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
            if made["kind"] == "Pod":
                made.setdefault("spec", {}).setdefault("schedulerName", "default-scheduler")
                made.setdefault("status", {}).setdefault("phase", "Pending")
            if event == "ADDED" and key in self.objects:
                event = "MODIFIED"
            if event == "DELETED":
                self.objects.pop(key, None)
            else:
                self.objects[key] = made
            self.history.append((self.version, key[0], event, made))
            self.changed.notify_all()
        return made

    def find(self, kind, ns, name):
        prefix, plural = PLURALS[kind]
        with self.changed:
            return self.objects.get((prefix + plural, ns, name))

    def wait(self, condition, seconds):
        """Whether it becomes true in that time; it is asked again after every change and every request."""
        end = time.monotonic() + seconds
        with self.changed:
            while not condition():
                left = end - time.monotonic()
                if left <= 0:
                    return False
                self.changed.wait(min(left, 0.2))
        return True

    def count(self, pattern):
        with self.changed:
            return sum(bool(re.search(pattern, f"{r[0]} {r[1]}")) for r in self.requests)

    # --- connections

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            with connection:
                stream = connection.makefile("rb")
                while self.exchange(connection, stream):
                    pass
        except OSError:
            pass

    def exchange(self, connection, stream):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = stream.readline()
            if not line:
                return False
            head += line
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:] if line)}
        body = stream.read(int(headers.get("content-length", 0)))
        with self.changed:
            self.requests.append((method, target, head.decode("latin-1"), body))
            rule = next((r for r in self.rules if r.left > 0 and r.pattern.fullmatch(f"{method} {target}")), None)
            if rule:
                rule.left -= 1
            self.changed.notify_all()
        if rule:
            return self.answer_so(connection, rule)
        url = urllib.parse.urlsplit(target)
        query = dict(urllib.parse.parse_qsl(url.query))
        if query.get("watch") in ("1", "true") and split_path(url.path):
            return self.watch(connection, url.path, query, "protobuf" in headers.get("accept", ""))
        if self.protobuf and method == "GET" and "protobuf" in headers.get("accept", ""):
            packed = self.protobuf_list(url.path)
            if packed:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.kubernetes.protobuf\r\n"
                                   b"Content-Length: %d\r\n\r\n" % len(packed) + packed)
                return True
        code, answer = self.answer(method, url.path, body, query)
        text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        connection.sendall(b"HTTP/1.1 %d x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" %
                           (code, len(text)) + text)
        return True

    def answer_so(self, connection, rule):
        """True when the connection goes on."""
        data = rule.data
        if "after_s" in data:
            with self.changed:
                self.changed.wait_for(lambda: self.stopping, data["after_s"])
        if data.get("silent"):
            with self.changed:
                self.changed.wait_for(lambda: self.stopping)
            return False
        connection.sendall(rule.raw)
        for _ in range(data.get("pieces", 0)):
            connection.sendall(rule.piece)
        if "raw" in data or "endless" in data:
            if data.get("stays_open"):
                with self.changed:
                    self.changed.wait_for(lambda: self.stopping)
            return False
        headers = {"Content-Type": "application/json", "Content-Length": len(rule.body), **data.get("headers", {})}
        head = f"HTTP/1.1 {data['status']} x\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n"
        connection.sendall(head.encode("latin-1") + rule.body)
        return True

    # --- what the real one does

    def answer(self, method, path, body, query):
        given = json.loads(body) if body else {}
        if path.endswith("/tokenreviews"):
            given["status"] = {"authenticated": given["spec"].get("token") == "good", "user": {"username": "someone"}}
            return 201, given
        if path.endswith("accessreviews"):
            given["status"] = {"allowed": given["spec"].get("user") != "system:anonymous"}
            return 201, given
        parts = split_path(path)
        if parts is None:
            return status(404, "NotFound", "404 page not found")
        prefix, plural, ns, name, sub = parts
        key = (prefix + plural, ns, name)
        with self.changed:
            if method == "POST" and sub == "binding":
                pod = self.objects.get(key)
                if pod is None:
                    return status(404, "NotFound", f"pods \"{name}\" not found")
                if pod["spec"].get("nodeName"):
                    return status(409, "Conflict", "already assigned")
                bound = json.loads(json.dumps(pod))
                bound["spec"]["nodeName"] = given["target"]["name"]
                self.put(bound)
                return 201, {"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}
            if method == "GET" and not name:
                items = [shown(o) for k, o in self.objects.items() if k[0] == key[0] and ns in ("", k[1])]
                meta, first = {"resourceVersion": str(self.version)}, int(query.get("continue", 0))
                if limit := int(query.get("limit", 0)):
                    if first + limit < len(items):
                        meta["continue"] = str(first + limit)
                    items = items[first:first + limit]
                items = [o for o in items if matches(o, query.get("fieldSelector", ""))]
                return 200, {"kind": KINDS[prefix][plural] + "List", "apiVersion": prefix.strip("/").split("/", 1)[1],
                             "metadata": meta, "items": items}
            if method == "POST" and not name:
                if plural == "events":
                    return 201, given
                made = given["metadata"].get("name") or "generated"
                if (key[0], ns, made) in self.objects:
                    return status(409, "AlreadyExists", f"{plural} \"{made}\" already exists")
                given["metadata"]["namespace"] = ns
                return 201, self.put({**given, "kind": KINDS[prefix][plural]})
            found = self.objects.get(key)
            if found is None:
                return status(404, "NotFound", f"{plural} \"{name}\" not found")
            if method == "GET":
                return 200, shown(found)
            if method == "PUT":
                return 200, self.put({**given, "kind": KINDS[prefix][plural]})
            if method == "PATCH":
                return 200, self.put(merged(json.loads(json.dumps(found)), given))
            return 200, self.put(found, "DELETED")

    def protobuf_list(self, path):
        """Of the kinds whose objects are written as protobuf here; None of others."""
        parts = split_path(path)
        if parts is None or parts[1] not in BINARY or parts[3]:
            return None
        collection, kind = parts[0] + parts[1], KINDS[parts[0]][parts[1]]
        with self.changed:
            items = [o for k, o in self.objects.items() if k[0] == collection]
            content = field(1, [[2, str(self.version)]]) + b"".join(field(2, protobuf_of(kind, o)) for o in items)
        return envelope("v1", kind + "List", content)

    def event_bytes(self, binary, collection, event, made):
        prefix, plural = collection.rsplit("/", 1)
        api_version, kind = prefix.strip("/").split("/", 1)[1], KINDS[prefix + "/"][plural]
        if binary:
            return watch_frame(event, api_version, kind, protobuf_of(kind, made))
        return json.dumps({"type": event, "object": shown({"kind": kind, "apiVersion": api_version, **made})}).encode() + b"\n"

    def watch(self, connection, path, query, accepts_protobuf):
        prefix, plural, ns, _, _ = split_path(path)
        collection = prefix + plural
        binary = self.protobuf and accepts_protobuf and plural in BINARY
        initial = query.get("sendInitialEvents") == "true"
        if initial and not self.streaming_lists:
            code, text = status(422, "Invalid", "sendInitialEvents is forbidden")
            text = json.dumps(text).encode()
            connection.sendall(b"HTTP/1.1 422 x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" %
                               len(text) + text)
            return True
        kind = b"application/vnd.kubernetes.protobuf;stream=watch" if binary else b"application/json"
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n" % kind)

        def send(*what):
            text = self.event_bytes(binary, collection, *what)
            connection.sendall(b"%x\r\n%s\r\n" % (len(text), text))
        with self.changed:
            seen = int(query.get("resourceVersion") or 0) if not initial else self.version
            first = [o for k, o in self.objects.items() if k[0] == collection] if initial else []
        for made in first:
            send("ADDED", made)
        if initial:
            send("BOOKMARK", {"metadata": {"resourceVersion": str(seen),
                                           "annotations": {"k8s.io/initial-events-end": "true"}}})
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.stopping or self.version > seen, 60)
                if self.stopping:
                    return False
                newer = bisect.bisect_right(self.history, seen, key=lambda h: h[0])
                news = [h for h in self.history[newer:] if h[1] == collection]
                seen = self.version
            for _, _, event, made in news:
                if ns in ("", made["metadata"].get("namespace", "")):
                    send(event, made)


def protobuf_of(kind, made):
    """Metadata, and of a pod and a node what deciding needs; $protobuf adds what JSON has no way to say."""
    meta, odd = made["metadata"], made.get("$protobuf", {})
    fields = [[1, meta.get("name", "")], [3, meta.get("namespace", "")], [5, meta.get("uid", "")],
              [6, meta["resourceVersion"]], [8, [[1, 1767225600]]]]
    fields += [[12, [[1, k], [2, v]]] for k, v in meta.get("annotations", {}).items()]
    fields += [[12, [[1, k], [2, bytes_of(v)]]] for k, v in odd.get("annotations", {}).items()]
    content = [[1, fields]]
    if kind == "Pod" and "spec" in made:
        args = [[4, bytes_of(a)] for a in odd.get("args", [])]
        first = (made["spec"].get("containers") or [{}])[0]
        asked = first.get("resources", {}).get("requests", {}).items()
        asked = [[8, [[2, [[1, k], [2, [[1, v]]]]] for k, v in asked]]]
        spec = [[2, [[1, "c"], [2, "i"], *args, *asked]], [19, made["spec"]["schedulerName"]]]
        if made["spec"].get("nodeName"):
            spec.append([10, made["spec"]["nodeName"]])
        content += [[2, spec], [3, [[1, made["status"]["phase"]]]]]
    if kind == "Node" and "status" in made:
        offered = made["status"]["allocatable"].items()
        state = [[n, [[1, k], [2, [[1, v]]]]] for n in (1, 2) for k, v in offered]
        if "heartbeat_s" in odd:
            state.append([4, [[1, "Ready"], [2, "True"], [3, [[1, odd["heartbeat_s"]]]]]])
        content.append([3, state])
    return b"".join(field(*f) for f in content)
