# SPDX-License-Identifier: Apache-2.0
"""Two replicas of a scheduler: started, stopped, killed, started again, and looked at from outside."""
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

from client import Client
from control_plane import end, free_port


def memory_mb(pid):
    """(resident, its anonymous part) in MiB; None when the process has ended."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
        return tuple(int(re.search(rf"{name}:\s+(\d+) kB", text)[1]) / 1024 for name in ("VmRSS", "RssAnon"))
    except (OSError, TypeError):
        return None


def add_programs(parser):
    """The flags that say which servers and which scheduler."""
    parser.add_argument("--servers", type=pathlib.Path, default=os.environ.get("KUBEBUILDER_ASSETS"), metavar="DIR",
                        help="directory with etcd and kube-apiserver; default: $KUBEBUILDER_ASSETS")
    parser.add_argument("--berth", type=pathlib.Path, metavar="PROGRAM", help="the program of berth")
    parser.add_argument("--plugins", type=pathlib.Path, metavar="DIR", help="its plugins; default: plugins next to the program")
    parser.add_argument("--kube-scheduler", type=pathlib.Path, metavar="PROGRAM", help="takes the place of berth, to compare")
    parser.add_argument("--scheduler-flag", action="append", default=[], dest="scheduler_flags", metavar="FLAG",
                        help="one more flag for the scheduler; may be repeated")
    parser.add_argument("--client-qps", type=float, default=-1, help="clientConnection.qps of the scheduler; -1: no limit (default)")


def check_programs(parser, options):
    """Ends the program with a message and 2 when they do not name what is needed."""
    options.is_berth = options.kube_scheduler is None
    options.scheduler = options.berth if options.is_berth else options.kube_scheduler
    if options.scheduler is None or not os.access(options.scheduler, os.X_OK):
        parser.error("--berth (or --kube-scheduler) names the program to be tested")
    if options.servers is None and getattr(options, "test_server", None) is None:
        parser.error("--servers, or KUBEBUILDER_ASSETS, names the directory of etcd and kube-apiserver")
    options.servers = options.servers and pathlib.Path(options.servers)
    options.scheduler = options.scheduler.resolve()
    options.plugins = (options.plugins or options.scheduler.parent / "plugins").resolve()


class Replica:
    """A slot: at most one process of it runs at a time, as in a pod that the kubelet restarts."""

    def __init__(self, name, plane, options, elects=True, qps=None):
        self.name, self.plane, self.options, self.folder = name, plane, options, plane.folder
        self.elects, self.qps = elects, options.client_qps if qps is None else qps
        self.recording = self.folder / f"recording-{name}"  # of all lives; with options.recorder_mib
        self.lock = threading.Lock()  # guards child and what is expected of it
        self.child, self.port, self.expected_end, self.started, self.lives = None, 0, False, 0.0, 0
        self.ends = []     # (seconds of the run, how): of processes that ended by themselves
        self.told = True   # whether the last of them was said
        self.samples = []  # (monotonic, life, resident, anonymous)
        self.killed_at = []  # seconds since the epoch

    def command(self):
        config = self.folder / f"config-{self.name}.yaml"
        config.write_text(json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self.plane.kubeconfig(self.name)), "qps": self.qps,
                                 "burst": max(1, int(2 * self.qps))},
            "leaderElection": {"leaderElect": self.elects, **getattr(self.options, "election", {})}}))
        program = str(self.options.scheduler)
        own = ["run", f"--plugin-dir={self.options.plugins}"] if self.options.is_berth else []
        if getattr(self.options, "recorder_mib", 0):
            own += [f"--recorder-dir={self.recording}", f"--recorder-size-mib={self.options.recorder_mib}"]
        return [program, *own, f"--config={config}", "--bind-address=127.0.0.1", f"--secure-port={self.port}",
                "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics", *self.options.scheduler_flags]

    def start(self):
        with self.lock:
            self.port = free_port()
            self.lives += 1
            self.expected_end, self.started = False, time.monotonic()
            with open(self.folder / f"replica-{self.name}.log", "ab") as log:
                log.write(f"--- life {self.lives}\n".encode())
                log.flush()
                self.child = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def signal(self, number, ends):
        with self.lock:
            if self.child.poll() is None:
                self.expected_end = self.expected_end or ends
                self.child.send_signal(number)

    def kill(self):
        self.killed_at.append(time.time())
        self.signal(signal.SIGKILL, True)
        self.child.wait()

    def terminate(self, patience_s):
        """(seconds, whether SIGTERM was enough)."""
        with self.lock:
            self.expected_end = True
        began = time.monotonic()
        enough = end(self.child, patience_s)
        return time.monotonic() - began, enough

    def look(self, at_s):
        """Notes memory and unexpected ends. Whether it runs."""
        with self.lock:
            code = self.child.poll()
            if code is not None:
                if not self.expected_end:
                    how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit {code}"
                    self.ends.append((at_s, how))
                    self.told = False
                    self.expected_end = True
                return False
            mb = memory_mb(self.child.pid)
        if mb:
            self.samples.append((time.monotonic(), self.lives, *mb))
        return True

    def metrics(self):
        """The text of /metrics; empty when it does not answer."""
        try:
            status, body = Client(self.port, "none").once("GET", "/metrics")
            return body.decode() if status == 200 else ""
        except Exception:  # away, ended, stopped: no metrics
            return ""

    def stop(self):
        if self.child is not None:
            with self.lock:
                self.expected_end = True
            if self.child.poll() is None:
                self.child.send_signal(signal.SIGCONT)
                end(self.child, 10)
