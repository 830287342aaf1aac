# SPDX-License-Identifier: Apache-2.0
"""berth as a process of its own, started by a case and looked at from outside."""
import json
import os
import pathlib
import random
import re
import signal
import socket
import ssl
import subprocess
import tempfile
import time

from api_server import ApiServer
from parts import bytes_of, each

PATIENCE_S = 60          # for what must happen; a machine may be slow
SHORT_PATIENCE_S = 6     # for what is known not to happen yet


class Wrong(Exception):
    """What a case expects does not hold."""


def expect(holds, text):
    if not holds:
        raise Wrong(text)


def environment():
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "KUBE", "BERTH_"))}
    return {**kept, "NO_PROXY": "*", "LANG": "C.UTF-8"}


def ended_as(code):
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit {code}"


def peak_mb(pid):
    """The most memory that a process had since its start, or since that was forgotten; 0 when it has ended."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())
    except OSError:
        found = None
    return int(found[1]) / 1024 if found else 0


class Finished:
    """A program that ran to its end: how, what it said, the most memory that it had."""

    def __init__(self, command, folder, limit_s, text=b""):
        out = tempfile.TemporaryFile(dir=folder)
        given = tempfile.TemporaryFile(dir=folder)
        given.write(text)
        given.seek(0)
        child = subprocess.Popen([str(c) for c in command], stdin=given, stdout=out, stderr=subprocess.STDOUT, cwd=folder,
                                 env=environment())
        # What wait4() tells of memory begins with this process's own, from which the child was forked.
        self.memory_mb, end = 0, time.monotonic() + limit_s
        while child.poll() is None and time.monotonic() < end:
            self.memory_mb = max(self.memory_mb, peak_mb(child.pid))
            time.sleep(0.01)
        self.in_time = child.poll() is not None
        if not self.in_time:
            child.kill()
        child.wait()
        self.ending = ended_as(child.returncode) if self.in_time else f"still ran after {limit_s} s"
        out.seek(0)
        self.output = out.read()

    def check(self, case):
        shown = self.output[-2000:].decode(errors="backslashreplace")
        ending = case.get("ending", f"exit {case.get('exit', 0)}")
        expect(re.fullmatch(ending, self.ending), f"{self.ending}, not {ending}:\n{shown}")
        for pattern in case.get("says", []):
            expect(re.search(pattern.encode(), self.output), f"does not say {pattern!r}:\n{shown}")
        for pattern in case.get("never_says", []):
            expect(not re.search(pattern.encode(), self.output), f"says {pattern!r}:\n{shown}")
        if "output_bytes_max" in case:
            expect(len(self.output) <= case["output_bytes_max"], f"says {len(self.output)} bytes")
        if "memory_mb_max" in case:
            expect(self.memory_mb <= case["memory_mb_max"], f"took {self.memory_mb:.0f} MB")


def free_port():
    """Free a moment ago, and below the ports that the kernel gives to connections and to those that ask for any port: one
    of those may have been taken again before the program listens on it."""
    first_ephemeral = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(first_ephemeral // 2, first_ephemeral)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue


NODE = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}},
        "status": {n: {"cpu": "8", "memory": "32Gi", "pods": "110"} for n in ("allocatable", "capacity")}}
PROBE = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "probe", "namespace": "default"},
         "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]}}


def certificate(folder):
    """(certificate, key) for 127.0.0.1; None where there is no openssl to make it."""
    cert, key = folder / "server.crt", folder / "server.key"
    try:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                        key, "-out", cert], check=True, capture_output=True, timeout=60)
    except FileNotFoundError:
        return None
    return cert, key


def stranger(presents=None):
    """TLS to a server whose certificate no authority signed, perhaps with a certificate and key of one's own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if presents:
        context.load_cert_chain(*presents)
    return context


class RunningBerth:
    """`berth run` against an API server, both of one case."""

    def __init__(self, options, case, folder, rules=()):
        self.case, self.folder = case, folder
        self.patience_s = SHORT_PATIENCE_S if "waits_for" in case else PATIENCE_S
        server = case.get("server", {})
        tls = certificate(folder) if server.get("tls") else None
        if server.get("tls") and tls is None:
            raise FileNotFoundError("openssl")
        self.server = ApiServer([*rules, *case.get("rules", [])], tls, server.get("streaming_lists", True),
                                server.get("protobuf", False))
        for made in ({"kind": "Namespace", "metadata": {"name": "default"}},
                     {"kind": "Namespace", "metadata": {"name": "kube-system"}}, NODE,
                     *(o for e in case.get("objects", []) for o in (each(e) if "object" in e else [e]))):
            self.server.put(json.loads(json.dumps(made)))
        for name, content in case.get("files", {}).items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(bytes_of(content).replace(b"{folder}", str(folder).encode()))
            path.chmod(0o755 if name.endswith(".sh") else 0o600)
        for name in case.get("fifos", []):
            os.mkfifo(folder / name, 0o600)
        for name, target in case.get("links", {}).items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).symlink_to(folder / target)
        self.port = free_port() if case.get("serves") or case.get("strangers") else 0
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(json.dumps(self.kubeconfig(case.get("user", {}), tls)))
        command = [options.berth, "run", f"--plugin-dir={options.plugins}", "--bind-address=127.0.0.1",
                   f"--secure-port={self.port}"]
        if "configuration" in case:
            config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                      "clientConnection": {"kubeconfig": str(kubeconfig), "qps": -1}, **case["configuration"]}
            (folder / "berth.yaml").write_text(json.dumps(config).replace("{folder}", str(folder)))
            command += ["--config=berth.yaml"]
        else:
            command += [f"--kubeconfig={kubeconfig}", "--kube-api-qps=-1"]
        if self.port:
            command += [f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}"]
        if not case.get("elects"):
            command += ["--leader-elect=false"]
        if "open_files_max" in case:  # the hard limit too, or the process would take more for itself
            command = ["bash", "-c", f"ulimit -n {case['open_files_max']}; exec \"$@\"", "bash", *command]
        if "address_space_mb" in case:
            command = ["bash", "-c", f"ulimit -v {case['address_space_mb'] * 1024}; exec \"$@\"", "bash", *command]
        self.log_path, self.unread = folder / "log", None
        self.log_path.touch()
        if case.get("unread_log"):
            self.unread = os.pipe()
        with open(self.unread[1], "wb") if self.unread else open(self.log_path, "wb") as log:
            self.child = subprocess.Popen([str(c) for c in command + case.get("flags", [])], stdin=subprocess.DEVNULL,
                                          stdout=log, stderr=subprocess.STDOUT, cwd=folder, env=environment(),
                                          preexec_fn=case.get("confine"))

    def kubeconfig(self, user, tls):
        cluster = {"server": self.server.url}
        if tls:
            cluster["certificate-authority"] = str(tls[0])
        user = json.loads(json.dumps(user).replace("{folder}", str(self.folder)))
        return {"apiVersion": "v1", "kind": "Config", "current-context": "test",
                "clusters": [{"name": "test", "cluster": cluster}], "users": [{"name": "test", "user": user}],
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}

    def fill_log(self):
        """From here on, a thread that writes to the log without care waits for ever."""
        with open(f"/proc/self/fd/{self.unread[0]}", "wb", buffering=0) as writer:
            os.set_blocking(writer.fileno(), False)
            while writer.write(b"." * 4096) is not None:
                pass

    def log(self):
        return self.log_path.read_bytes()

    def shown_log(self):
        return self.log()[-1500:].decode(errors="backslashreplace")

    def forget_peak(self):
        try:
            pathlib.Path(f"/proc/{self.child.pid}/clear_refs").write_text("5")
        except PermissionError:
            pass  # for root alone, as berth is not dumpable; growth then counts from the highest so far

    def memory_mb(self):
        return peak_mb(self.child.pid)

    def cpu_s(self):
        words = pathlib.Path(f"/proc/{self.child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def is_alive(self):
        return self.child.poll() is None

    def binds(self, name, seconds):
        def bound():
            pod = self.server.find("Pod", "default", name)
            return not self.is_alive() or (pod and pod["spec"].get("nodeName"))
        return self.server.wait(bound, seconds) and self.is_alive()

    def ask(self, path="/healthz", seconds=PATIENCE_S):
        """The status of one well-behaved request; None when there is no answer."""
        try:
            text = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            return self.say(text.encode(), seconds).split(b" ")[1].decode()
        except (OSError, IndexError):
            return None

    def say(self, request, seconds, until=None, presents=None):
        """What comes back for these bytes until the other side closes, it matches, or nothing more comes in that time."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as plain:
            with stranger(presents).wrap_socket(plain) as stream:
                try:
                    stream.sendall(request)
                except OSError:
                    pass  # it need not listen to the end
                try:
                    while piece := stream.recv(65536):
                        answer += piece
                        if until and until.match(answer):
                            break
                except OSError:
                    pass
        return answer

    def knock(self):
        """A connection that says nothing."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def serves(self):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and self.is_alive():
            if self.ask(seconds=5) == "200":
                return True
            time.sleep(0.05)
        return False

    def wait_end(self, seconds):
        try:
            return ended_as(self.child.wait(seconds))
        except subprocess.TimeoutExpired:
            return f"still ran after {seconds} s"

    def stop(self):
        if self.is_alive():
            self.child.kill()
        self.child.wait()
        self.server.stop()
        if self.unread:
            os.close(self.unread[0])
