# SPDX-License-Identifier: Apache-2.0
"""API servers on this machine that can be restarted and that log what is written: the real one, and that of the tests."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from client import Client

KUBE_SCHEDULER = "system:kube-scheduler"  # of kube-scheduler in a cluster: the server itself makes its roles
SERVICE_ACCOUNT = "system:serviceaccount:kube-system:berth"  # whom conf/deploy gives its roles
ROLES = pathlib.Path(__file__).resolve().parents[2] / "conf/deploy/kustomize/base/rbac.yaml"
USERS = ("driver", "a", "b")  # the churn itself, and the two replicas: the audit log tells them apart
START_S = 90
# What the ledger reads. Bodies only where they say which node or which holder.
AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"], "rules": [
    {"level": "Request", "verbs": ["create"], "resources": [{"group": "", "resources": ["pods/binding"]}]},
    {"level": "Request", "verbs": ["create", "update", "patch"], "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]},
    {"level": "Metadata", "verbs": ["create", "delete"], "resources": [{"group": "", "resources": ["nodes"]}]},
    {"level": "None"}]}


def deploy_roles(client, roles=ROLES):
    """What a file of conf/deploy says, but for the account, which these servers take from a token."""
    for document in re.split(r"^---\n", roles.read_text(), flags=re.M):
        kind = re.search(r"^kind: (\w+)$", document, re.M)[1]
        if kind == "ServiceAccount":
            continue
        place = "" if kind.startswith("Cluster") else "/namespaces/kube-system"
        path = f"/apis/rbac.authorization.k8s.io/v1{place}/{kind.lower()}s"
        status, answer = client.send("POST", path, document.encode(), "application/yaml")
        if status >= 300:
            raise NotThere(f"POST {path}: {status} {answer}")


class NotThere(Exception):
    """The servers cannot be started; the text says why and what to do."""


def free_port():
    """Free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def end(child, patience_s):
    """SIGTERM, and SIGKILL when that is not enough. Whether SIGTERM was enough."""
    child.terminate()
    try:
        child.wait(patience_s)
        return True
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return False


class Plane:
    """A server on 127.0.0.1:`port` that can be restarted, with a user for each of USERS and a log of what was written."""

    def __init__(self, folder):
        self.folder, self.port, self.restarts, self.longest_away_s = folder, 0, 0, 0.0
        self.audit_path = folder / "audit.jsonl"
        self.audit_path.touch()
        self.tokens = {name: f"token-of-{name}" for name in USERS}

    def restart(self, kindly):
        """Seconds without a server."""
        began = time.monotonic()
        self.exchange(kindly)
        away_s = time.monotonic() - began
        self.restarts += 1
        self.longest_away_s = max(self.longest_away_s, away_s)
        return away_s

    def kubeconfig(self, user):
        """The path of a kubeconfig for one of USERS."""
        path = self.folder / f"kubeconfig-{user}"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{self.port}", "insecure-skip-tls-verify": True}}],
            "users": [{"name": "c", "user": {"token": self.tokens[user]}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]}))
        return path


class TestServer(Plane):
    """The server of the tree's own tests, as a program; a restart ends its connections and its history."""

    def __init__(self, program, folder):
        super().__init__(folder)
        flags = [f"--token={token}" for token in self.tokens.values()]
        with open(folder / "server.log", "wb") as log:
            self.server = subprocess.Popen([program, f"--audit-log={self.audit_path}", *flags], stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=log, text=True)
        said = self.server.stdout.readline()
        if not said:
            raise NotThere(f"{program} does not start; its log is {folder}/server.log")
        self.port = int(said)
        self.client = Client(self.port, self.tokens["driver"])
        for name in ("kube-system", "default"):
            self.client.made("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def exchange(self, kindly):
        self.server.send_signal(signal.SIGHUP)

    def stop(self):
        end(self.server, 5)


class RealServers(Plane):
    """kube-apiserver and etcd."""

    def __init__(self, programs, folder, gates="", names=None):
        """`names`: by user, the name under which it is known to the server; such a user has no rights but those granted to the name."""
        super().__init__(folder)
        for name in ("etcd", "kube-apiserver"):
            if not os.access(programs / name, os.X_OK):
                raise NotThere(f"{programs / name} is no program: --servers (or KUBEBUILDER_ASSETS) names a directory with etcd "
                               "and kube-apiserver; setup-envtest of sigs.k8s.io/controller-runtime fetches one")
        self.programs, self.gates = programs, [f"--feature-gates={gates}"] if gates else []
        self.port, self.etcd_port, peer_port = free_port(), free_port(), free_port()
        names = names or {}
        (folder / "tokens.csv").write_text("".join(
            f'{token},{names[user]},{user},\n' if user in names else f'{token},{user},{user},"system:masters"\n'
            for user, token in self.tokens.items()))
        (folder / "audit.yaml").write_text(json.dumps(AUDIT))
        subprocess.run(["openssl", "genrsa", "-out", folder / "sa.key", "2048"], check=True, capture_output=True)
        etcd, peer = (f"http://127.0.0.1:{port}" for port in (self.etcd_port, peer_port))
        self.etcd = self.start("etcd", "--data-dir", folder / "etcd", "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
                               "--listen-peer-urls", peer, "--unsafe-no-fsync", "--quota-backend-bytes", "6442450944")
        self.server = None
        self.client = Client(self.port, self.tokens["driver"])
        try:
            self.start_server()
        except BaseException:
            self.stop()
            raise

    def start(self, name, *flags):
        with open(self.folder / f"{name}.log", "ab") as log:
            return subprocess.Popen([str(self.programs / name), *map(str, flags)], stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=subprocess.STDOUT)

    def start_server(self):
        began, folder = time.monotonic(), self.folder
        self.server = self.start(
            "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self.etcd_port}", f"--secure-port={self.port}",
            "--bind-address=127.0.0.1", f"--cert-dir={folder}/certs", f"--service-account-key-file={folder}/sa.key",
            f"--service-account-signing-key-file={folder}/sa.key", "--service-account-issuer=https://kubernetes.default.svc",
            f"--token-auth-file={folder}/tokens.csv", "--authorization-mode=RBAC",
            # There are no controllers that would make service accounts, or take the taint of a new node away.
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition", "--service-cluster-ip-range=10.0.0.0/24",
            "--event-ttl=2m", "--etcd-compaction-interval=2m", f"--audit-policy-file={folder}/audit.yaml",
            f"--audit-log-path={self.audit_path}", "--audit-log-maxsize=100000", *self.gates)
        while True:
            try:
                if self.client.once("GET", "/readyz")[0] == 200:
                    return
            except (OSError, ValueError):
                pass
            except Exception as broken:  # http.client has many names for an answer that is none
                if time.monotonic() - began > START_S:
                    raise NotThere(f"kube-apiserver: {broken!r}") from broken
            if self.server.poll() is not None or time.monotonic() - began > START_S:
                raise NotThere(f"kube-apiserver does not become ready; its log is {folder}/kube-apiserver.log")
            time.sleep(0.1)

    def exchange(self, kindly):
        """SIGTERM and up to 2 s, or SIGKILL; then a new one on the same port and data."""
        if kindly:
            end(self.server, 2)
        else:
            self.server.kill()
            self.server.wait()
        self.start_server()

    def stop(self):
        for child, patience_s in ((self.server, 2), (self.etcd, 5)):
            if child is not None and child.poll() is None:
                end(child, patience_s)
