# SPDX-License-Identifier: Apache-2.0
"""Requests to an API server that may be away for a while, and a watch that follows it."""
import http.client
import json
import ssl
import threading
import time

AWAY_S = 0.1  # between two tries while the server does not answer


class Unanswered(Exception):
    """The server did not answer for as long as was waited."""


def trusting():
    """TLS to a server on this machine, whose certificate it made itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class Client:
    """One user of the API server at 127.0.0.1:`port`. Threads: any; each has a connection of its own."""

    def __init__(self, port, token):
        self.port, self.context, self.local = port, trusting(), threading.local()
        self.headers = {"Authorization": f"Bearer {token}", "Accept": "application/json", "User-Agent": "churn"}

    def connect(self, timeout_s=30):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout_s, context=self.context)

    def once(self, method, path, body=None, content_type="application/json"):
        """(status, body) of one request; raises OSError or HTTPException when it is not answered."""
        connection = getattr(self.local, "connection", None)
        if connection is None:
            connection = self.local.connection = self.connect()
        try:
            connection.request(method, path, body, {**self.headers, "Content-Type": content_type})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            self.local.connection = None
            raise

    def send(self, method, path, body=None, content_type="application/json", patience_s=120):
        """(status, object), sent again until the server answers with something else than that it has trouble."""
        text = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        end = time.monotonic() + patience_s
        while True:
            try:
                status, answer = self.once(method, path, text, content_type)
                if status < 500 and status != 429:
                    return status, json.loads(answer) if answer[:1] == b"{" else {}
                why = f"{status} {answer[:200]!r}"
            except (OSError, http.client.HTTPException) as error:
                why = repr(error)
            if time.monotonic() > end:
                raise Unanswered(f"{method} {path}: {why}")
            time.sleep(AWAY_S)

    def made(self, path, body):
        """Creates an object; also when an earlier try got through unheard."""
        status, answer = self.send("POST", path, body)
        if status not in (200, 201, 409):
            raise RuntimeError(f"POST {path}: {status} {answer.get('message')}")

    def removed(self, path):
        """Deletes it at once, as the kubelet does in the end. False: it was gone."""
        return self.send("DELETE", path, {"gracePeriodSeconds": 0})[0] == 200

    def patched(self, path, patch):
        """False: there is no such object."""
        status, answer = self.send("PATCH", path, patch, "application/merge-patch+json")
        if status not in (200, 404):
            raise RuntimeError(f"PATCH {path}: {status} {answer.get('message')}")
        return status == 200

    def listed(self, path):
        """All objects and the version of the list, by pages."""
        items, more = [], ""
        while True:
            status, answer = self.send("GET", f"{path}?limit=1000{more}")
            if status == 410:
                items, more = [], ""
                continue
            items += answer["items"]
            if not answer["metadata"].get("continue"):
                return items, answer["metadata"]["resourceVersion"]
            more = "&continue=" + answer["metadata"]["continue"]


class Watch:
    """Calls `tell(type, object)` for every change of a collection, and `tell("LISTED", [objects])` for each list, on a thread
    of its own until stop(). Changes are not missed: a version that is too old leads to a new list."""

    def __init__(self, client, path, tell):
        self.client, self.path, self.tell, self.stopping = client, path, tell, False
        self.failure = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def stop(self):
        self.stopping = True
        self.thread.join(60)

    def run(self):
        version = None
        while not self.stopping:
            try:
                if version is None:
                    items, version = self.client.listed(self.path)
                    self.tell("LISTED", items)
                version = self.follow(version)
            except (OSError, http.client.HTTPException, Unanswered):
                time.sleep(AWAY_S)
            except Exception as error:  # what the caller made of it: said by the code that looks at `failure`
                self.failure = error
                raise

    def follow(self, version):
        """The version to go on from; None when that is too old."""
        connection = self.client.connect(timeout_s=5)
        try:
            connection.request("GET", f"{self.path}?watch=1&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds=300",
                               headers=self.client.headers)
            answer = connection.getresponse()
            if answer.status != 200:
                time.sleep(AWAY_S)
                return None if answer.status == 410 else version
            rest = b""
            while not self.stopping:
                try:
                    piece = answer.read1(1 << 18)
                except TimeoutError:
                    return version  # quiet: asked again, which also finds a connection that is dead
                if not piece:
                    return version
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        return None if event["object"].get("code") == 410 else version
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self.tell(event["type"], event["object"])
            return version
        except (OSError, http.client.HTTPException):
            time.sleep(AWAY_S)
            return version
        finally:
            connection.close()
