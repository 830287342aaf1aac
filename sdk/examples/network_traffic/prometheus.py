#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Prometheus of one's own, with a small exporter, for trying the plugin.

    prometheus.py --rate NODE=BYTES_PER_SECOND… --config IN OUT… -- COMMAND…
        writes IN, with its own address in the place of PROMETHEUS_ADDRESS, to OUT, runs the command, and ends
    prometheus.py --rate NODE=BYTES_PER_SECOND… --port-file FILE
        runs until it is killed; its port stands in FILE

Goes on when Prometheus knows the bandwidth of every node. Both listen on loopback, on free ports.
"""
import argparse
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "http_client"))
from server_for_command import add_options, run, serve  # noqa: E402

METRIC = "node_network_receive_bytes_total"
PATIENCE_S = 120
LOOK_AGAIN_S = 0.2


def exporter(rates):
    """Counters that grow as they would on the interfaces of these nodes."""
    started = time.monotonic()

    def answer(_method, _path, _query):
        elapsed = time.monotonic() - started
        lines = [f"# TYPE {METRIC} counter"]
        lines += [f'{METRIC}{{device="eth0",kubernetes_node="{node}"}} {rate * elapsed:.3f}' for node, rate in rates.items()]
        return 200, "\n".join(lines) + "\n"

    return serve(answer)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Prometheus:
    """Runs until stop(). The port may be taken by another process before it listens: then it is tried on another."""

    def __init__(self, folder, target):
        config = folder / "prometheus.yml"
        config.write_text(json.dumps({"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [
            {"job_name": "nodes", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}]}))
        self.log = folder / "log"
        for _ in range(5):
            self.port = free_port()
            with self.log.open("w") as log:
                self.process = subprocess.Popen(
                    # Prometheus ends with this script.
                    ["setpriv", "--pdeathsig", "KILL", "prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
                     f"--web.listen-address=127.0.0.1:{self.port}"],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            if self.becomes_ready():
                return
        raise SystemExit(f"prometheus does not start:\n{self.log.read_text()}")

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE_S) as answer:
            return answer.read()

    def becomes_ready(self):
        def ready():
            try:
                return self.process.poll() is not None or self.get("/-/ready") != b""
            except OSError:
                return False
        return until(ready) and self.process.poll() is None

    def knows(self, count):
        query = urllib.parse.quote(f"rate({METRIC}[1m])")
        return until(lambda: len(json.loads(self.get(f"/api/v1/query?query={query}"))["data"]["result"]) == count)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def until(condition):
    end, pause = time.monotonic() + PATIENCE_S, threading.Event()
    while not condition():
        if time.monotonic() > end:
            return False
        pause.wait(LOOK_AGAIN_S)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", action="append", default=[], metavar="NODE=BYTES")
    add_options(parser)
    options = parser.parse_args()
    rates = {node: float(rate) for node, rate in (text.split("=") for text in options.rate)}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with tempfile.TemporaryDirectory(prefix="berth-prometheus-") as folder:
        prometheus = Prometheus(pathlib.Path(folder), exporter(rates))
        try:
            if not prometheus.knows(len(rates)):
                raise SystemExit(f"prometheus does not see the nodes:\n{prometheus.log.read_text()}")
            return run(parser, options, "PROMETHEUS_ADDRESS", prometheus.port)
        finally:
            prometheus.stop()


if __name__ == "__main__":
    sys.exit(main())
