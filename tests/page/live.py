# SPDX-License-Identifier: Apache-2.0
"""The tests' API server as a process with a cluster in it."""
import http.client
import json
import os
import ssl
import subprocess

USER = "token-of-page"
END_S = 60


class LiveCluster:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def __enter__(self):
        self.process = subprocess.Popen([self.program, "--audit-log", os.path.join(self.folder, "audit"), "--token", USER],
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.kubeconfig = os.path.join(self.folder, "kubeconfig")
        with open(self.kubeconfig, "w") as out:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                       "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{self.port}",
                                                              "insecure-skip-tls-verify": True}}],
                       "users": [{"name": "u", "user": {"token": USER}}]}, out)
        self.make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(END_S)
        self.process.stdout.close()

    def make(self, item):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=END_S, context=context)
        kind, ns = item["kind"].lower() + "s", item["metadata"].get("namespace")
        path = f"/api/v1/namespaces/{ns}/{kind}" if ns else f"/api/v1/{kind}"
        connection.request("POST", path, json.dumps(item), {"Authorization": f"Bearer {USER}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        if answer.status not in (200, 201):
            raise SystemExit(f"POST {path}: {answer.status} {body}")
